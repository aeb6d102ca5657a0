## out = 2 * x + y with the C interface from Nim.
##
## `nim c --passL:"-LFOLDER -lamdgpu -Wl,-rpath,FOLDER" --run saxpy.nim`, with the folder that holds libamdgpu.so.

const source = """
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""

type
  Handle = distinct pointer
  ErrorInfo {.bycopy.} = object
    sizeBytes: uint64
    status: int32
    reserved: uint32
    name, className, message, hint, language: cstring
  Argument {.bycopy.} = object
    kind, reserved: uint32
    value, bytes: uint64
  LaunchShape {.bycopy.} = object
    sizeBytes: uint64
    grid, `block`: array[3, uint32]
    sharedBytes: uint64

const none = Handle(nil)

proc agpuLastError(info: var ErrorInfo): int32 {.importc: "agpu_last_error", cdecl.}
proc agpuRelease(handle: Handle): int32 {.importc: "agpu_release", cdecl, discardable.}
proc agpuDeviceOpen(name: cstring, options: pointer, device: var Handle): int32 {.importc: "agpu_device_open", cdecl.}
proc agpuMemoryAllocate(device: Handle, bytes: uint64, options: pointer, memory: var Handle): int32
  {.importc: "agpu_memory_allocate", cdecl.}
proc agpuMemoryWrite(memory: Handle, offset: uint64, data: pointer, bytes: uint64, stream: Handle): int32
  {.importc: "agpu_memory_write", cdecl.}
proc agpuMemoryRead(memory: Handle, offset: uint64, data: pointer, bytes: uint64, stream: Handle): int32
  {.importc: "agpu_memory_read", cdecl.}
proc agpuKernelCompile(device: Handle, source: cstring, options: pointer, kernel: var Handle): int32
  {.importc: "agpu_kernel_compile", cdecl.}
proc agpuKernelLaunch(kernel: Handle, shape: ptr LaunchShape, arguments: ptr Argument, count: csize_t, stream: Handle): int32
  {.importc: "agpu_kernel_launch", cdecl.}

proc check(status: int32) =
  if status == 0: return
  var info = ErrorInfo(sizeBytes: uint64(sizeof(ErrorInfo)))
  discard agpuLastError(info)
  raise newException(CatchableError, $info.name & ": " & $info.message)

# Kinds of arguments: 1 is memory, 3 an integer, 5 a floating-point number (amdgpu/kernel.h).
func memory(handle: Handle): Argument = Argument(kind: 1, value: cast[uint64](handle))
func integer(value: int): Argument = Argument(kind: 3, value: cast[uint64](value))
func real(value: float): Argument = Argument(kind: 5, value: cast[uint64](value))

proc main() =
  var x, y, sums: array[1000, float32]
  for i in 0 ..< x.len:
    x[i] = float32(i)
    y[i] = 1
  let bytes = uint64(sizeof(x))
  var device, kernel, a, b, c: Handle
  check agpuDeviceOpen(nil, nil, device)
  defer: agpuRelease(device)
  check agpuKernelCompile(device, source, nil, kernel)
  defer: agpuRelease(kernel)
  check agpuMemoryAllocate(device, bytes, nil, a)
  defer: agpuRelease(a)
  check agpuMemoryAllocate(device, bytes, nil, b)
  defer: agpuRelease(b)
  check agpuMemoryAllocate(device, bytes, nil, c)
  defer: agpuRelease(c)
  check agpuMemoryWrite(a, 0, addr x, bytes, none)
  check agpuMemoryWrite(b, 0, addr y, bytes, none)
  var arguments = [real(2), memory(a), memory(b), memory(c), integer(x.len)]
  var shape = LaunchShape(sizeBytes: uint64(sizeof(LaunchShape)), grid: [4'u32, 1, 1], `block`: [256'u32, 1, 1])
  check agpuKernelLaunch(kernel, addr shape, addr arguments[0], csize_t(arguments.len), none)
  check agpuMemoryRead(c, 0, addr sums, bytes, none)
  echo "2 * 10 + 1 = ", int(sums[10])

main()
