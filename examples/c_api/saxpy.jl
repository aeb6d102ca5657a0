# out = 2 * x + y with the C interface from Julia.
#
# `julia saxpy.jl FOLDER`, with the folder that holds libamdgpu.so.

const LIBRARY = joinpath(ARGS[1], "libamdgpu.so")

const SOURCE = """
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""

const Handle = Ptr{Cvoid}

mutable struct ErrorInfo
    size_bytes::UInt64
    status::Int32
    reserved::UInt32
    name::Cstring
    class_name::Cstring
    message::Cstring
    hint::Cstring
    language::Cstring
    ErrorInfo() = new(sizeof(ErrorInfo), 0, 0, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL)
end

struct Argument
    kind::UInt32
    reserved::UInt32
    value::UInt64
    bytes::UInt64
end

struct LaunchShape
    size_bytes::UInt64
    grid::NTuple{3,UInt32}
    block::NTuple{3,UInt32}
    shared_bytes::UInt64
end

# Kinds of arguments: 1 is memory, 3 an integer, 5 a floating-point number (amdgpu/kernel.h).
memory(handle) = Argument(1, 0, UInt64(handle), 0)
integer(value) = Argument(3, 0, reinterpret(UInt64, Int64(value)), 0)
real_number(value) = Argument(5, 0, reinterpret(UInt64, Float64(value)), 0)

function check(status)
    status == 0 && return nothing
    info = ErrorInfo()
    ccall((:agpu_last_error, LIBRARY), Int32, (Ref{ErrorInfo},), info)
    return error(unsafe_string(info.name), ": ", unsafe_string(info.message))
end

release(handle) = ccall((:agpu_release, LIBRARY), Int32, (Handle,), handle)

function allocate(device, bytes)
    handle = Ref{Handle}()
    check(ccall((:agpu_memory_allocate, LIBRARY), Int32, (Handle, UInt64, Ptr{Cvoid}, Ref{Handle}), device, bytes, C_NULL, handle))
    return handle[]
end

function upload(device, values)
    handle = allocate(device, sizeof(values))
    check(
        ccall(
            (:agpu_memory_write, LIBRARY),
            Int32,
            (Handle, UInt64, Ptr{Cvoid}, UInt64, Handle),
            handle,
            0,
            values,
            sizeof(values),
            C_NULL,
        ),
    )
    return handle
end

function main()
    x = Float32.(0:999)
    result = similar(x)
    device, kernel = Ref{Handle}(), Ref{Handle}()
    check(ccall((:agpu_device_open, LIBRARY), Int32, (Cstring, Ptr{Cvoid}, Ref{Handle}), C_NULL, C_NULL, device))
    check(
        ccall(
            (:agpu_kernel_compile, LIBRARY),
            Int32,
            (Handle, Cstring, Ptr{Cvoid}, Ref{Handle}),
            device[],
            SOURCE,
            C_NULL,
            kernel,
        ),
    )
    a, b, c = upload(device[], x), upload(device[], ones(Float32, 1000)), allocate(device[], sizeof(x))
    arguments = [real_number(2), memory(a), memory(b), memory(c), integer(length(x))]
    shape = LaunchShape(sizeof(LaunchShape), (4, 1, 1), (256, 1, 1), 0)
    check(
        ccall(
            (:agpu_kernel_launch, LIBRARY),
            Int32,
            (Handle, Ref{LaunchShape}, Ptr{Argument}, Csize_t, Handle),
            kernel[],
            shape,
            arguments,
            length(arguments),
            C_NULL,
        ),
    )
    check(
        ccall(
            (:agpu_memory_read, LIBRARY),
            Int32,
            (Handle, UInt64, Ptr{Cvoid}, UInt64, Handle),
            c,
            0,
            result,
            sizeof(result),
            C_NULL,
        ),
    )
    foreach(release, (a, b, c, kernel[], device[]))
    return println("2 * 10 + 1 = ", Int(result[11]))
end

main()
