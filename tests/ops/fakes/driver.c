/* Stands for libcuda.so.1 or, with -DHIP, for libamdhip64.so.7: one device whose memory is the host's and whose streams run every command at
   once. Modules load and kernels do nothing, so that what is computed was computed by a library above. STAND_IN_ARCHITECTURE names the
   processor, by default gfx942 or the compute capability 90; STAND_IN_MEMORY_BYTES is the most that one allocation may take. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HIP
#define NAME(cuda, hip) hip
#else
#define NAME(cuda, hip) cuda
#endif

typedef uint64_t address;
static __thread void *current;
static size_t next_handle = 1;
enum { MEMORY_BYTES = 1 << 30 };

static int give(void *place) {
    *(size_t *)place = __atomic_fetch_add(&next_handle, 1, __ATOMIC_RELAXED);
    return 0;
}

int NAME(cuInit, hipInit)(unsigned flags) { return flags != 0; }
int NAME(cuDriverGetVersion, hipDriverGetVersion)(int *version) { *version = NAME(13000, 70200000); return 0; }
int NAME(cuGetErrorName, hipDrvGetErrorName)(int status, const char **text) { *text = status ? "STAND_IN_ERROR" : "SUCCESS"; return 0; }
int NAME(cuGetErrorString, hipDrvGetErrorString)(int status, const char **text) { (void)status; *text = "an error of the stand-in"; return 0; }
int NAME(cuDeviceGetCount, hipGetDeviceCount)(int *count) { *count = 1; return 0; }
int NAME(cuDeviceGet, hipDeviceGet)(int *device, int ordinal) { *device = ordinal; return ordinal != 0; }
int NAME(cuDeviceGetName, hipDeviceGetName)(char *name, int len, int device) { (void)device; snprintf(name, (size_t)len, "stand-in"); return 0; }
int NAME(cuDeviceGetUuid_v2, hipDeviceGetUuid)(void *uuid, int device) { (void)device; memset(uuid, 0, 16); return 0; }
int NAME(cuDeviceTotalMem_v2, hipDeviceTotalMem)(size_t *bytes, int device) { (void)device; *bytes = MEMORY_BYTES; return 0; }
int NAME(cuDeviceGetAttribute, hipDeviceGetAttribute)(int *value, int number, int device) {
    (void)device;
    const char *architecture = getenv("STAND_IN_ARCHITECTURE");
    int capability = architecture ? atoi(architecture) : 90;
    /* The two numbers of the compute capability, bytes of shared memory; everything else is large enough. */
    int is_shared = number == NAME(8, 74) || number == NAME(97, 74);
    *value = number == NAME(75, -1) ? capability / 10 : number == NAME(76, -1) ? capability % 10 : is_shared ? 65536 : 1024;
    return 0;
}
#ifdef HIP
int hipGetDevicePropertiesR0600(void *record, int device) {
    (void)device;
    memset(record, 0, 1472);
    strcpy(record, "stand-in");
    const char *architecture = getenv("STAND_IN_ARCHITECTURE");
    strcpy((char *)record + 1160, architecture ? architecture : "gfx942");
    return 0;
}
#else
int cuFuncSetAttribute(void *function, int attribute, int value) { (void)function; (void)attribute; (void)value; return 0; }
#endif
int NAME(cuDevicePrimaryCtxReset_v2, hipDevicePrimaryCtxReset)(int device) { return device; }
int NAME(cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain)(size_t *context, int device) { (void)device; *context = 0xc0de; return 0; }
int NAME(cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease)(int device) { return device; }
int NAME(cuCtxGetCurrent, hipCtxGetCurrent)(void **context) { *context = current; return 0; }
int NAME(cuCtxSetCurrent, hipCtxSetCurrent)(void *context) { current = context; return 0; }
/* The libraries of the tests ask whether the caller made it current. */
int stand_in_is_current(void) { return current == (void *)0xc0de; }

int NAME(cuMemGetInfo_v2, hipMemGetInfo)(size_t *left, size_t *total) { *left = *total = MEMORY_BYTES; return 0; }
int NAME(cuPointerGetAttribute, hipPointerGetAttribute)(void *value, int number, address at) { (void)value; (void)number; (void)at; return 1; }
int NAME(cuMemAlloc_v2, hipMalloc)(address *at, size_t bytes) {
    const char *limit = getenv("STAND_IN_MEMORY_BYTES");
    if (bytes > (limit ? (size_t)atoll(limit) : MEMORY_BYTES)) return 2;
    void *memory = NULL;
    int status = posix_memalign(&memory, 512, bytes);
    if (!status) memset(memory, 0xa5, bytes);
    *at = (address)memory;
    return status ? 2 : 0;
}
int NAME(cuMemFree_v2, hipFree)(address at) { free((void *)at); return 0; }
int NAME(cuMemHostAlloc, hipHostMalloc)(address *at, size_t bytes, unsigned flags) { (void)flags; return NAME(cuMemAlloc_v2, hipMalloc)(at, bytes); }
int NAME(cuMemFreeHost, hipHostFree)(address at) { free((void *)at); return 0; }
int NAME(cuMemAllocManaged, hipMallocManaged)(address *at, size_t bytes, unsigned flags) { (void)flags; return NAME(cuMemAlloc_v2, hipMalloc)(at, bytes); }
int NAME(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync)(address to, address from, size_t bytes, void *stream) { (void)stream; memcpy((void *)to, (void *)from, bytes); return 0; }
int NAME(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(address to, address from, size_t bytes, void *stream) { (void)stream; memcpy((void *)to, (void *)from, bytes); return 0; }
int NAME(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync)(address to, address from, size_t bytes, void *stream) { (void)stream; memcpy((void *)to, (void *)from, bytes); return 0; }
int NAME(cuMemsetD8Async, hipMemsetD8Async)(address to, uint8_t value, size_t bytes, void *stream) { (void)stream; memset((void *)to, value, bytes); return 0; }

int NAME(cuStreamCreate, hipStreamCreateWithFlags)(void *stream, unsigned flags) { (void)flags; return give(stream); }
int NAME(cuStreamDestroy_v2, hipStreamDestroy)(void *stream) { (void)stream; return 0; }
int NAME(cuStreamSynchronize, hipStreamSynchronize)(void *stream) { (void)stream; return 0; }
int NAME(cuStreamQuery, hipStreamQuery)(void *stream) { (void)stream; return 0; }
int NAME(cuStreamWaitEvent, hipStreamWaitEvent)(void *stream, void *event, unsigned flags) { (void)stream; (void)event; (void)flags; return 0; }
int NAME(cuStreamBeginCapture_v2, hipStreamBeginCapture)(void *stream, unsigned mode) { (void)stream; (void)mode; return 0; }
int NAME(cuStreamEndCapture, hipStreamEndCapture)(void *stream, void *graph) { (void)stream; return give(graph); }
int NAME(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags)(void *executable, void *graph, uint64_t flags) { (void)graph; (void)flags; return give(executable); }
int NAME(cuGraphLaunch, hipGraphLaunch)(void *graph, void *stream) { (void)graph; (void)stream; return 0; }
int NAME(cuGraphDestroy, hipGraphDestroy)(void *graph) { (void)graph; return 0; }
int NAME(cuGraphExecDestroy, hipGraphExecDestroy)(void *graph) { (void)graph; return 0; }
int NAME(cuEventCreate, hipEventCreateWithFlags)(void *event, unsigned flags) { (void)flags; return give(event); }
int NAME(cuEventDestroy_v2, hipEventDestroy)(void *event) { (void)event; return 0; }
int NAME(cuEventRecord, hipEventRecord)(void *event, void *stream) { (void)event; (void)stream; return 0; }
int NAME(cuEventQuery, hipEventQuery)(void *event) { (void)event; return 0; }
int NAME(cuEventSynchronize, hipEventSynchronize)(void *event) { (void)event; return 0; }
int NAME(cuEventElapsedTime, hipEventElapsedTime)(float *ms, void *from, void *to) { (void)from; (void)to; *ms = 0; return 0; }
int NAME(cuModuleLoadDataEx, hipModuleLoadDataEx)(void *module, const void *image, unsigned count, int *options, void **values) { (void)image; (void)count; (void)options; (void)values; return give(module); }
int NAME(cuModuleUnload, hipModuleUnload)(void *module) { (void)module; return 0; }
int NAME(cuModuleGetFunction, hipModuleGetFunction)(void *function, void *module, const char *name) { (void)module; (void)name; return give(function); }
int NAME(cuModuleGetGlobal_v2, hipModuleGetGlobal)(address *at, size_t *bytes, void *module, const char *name) { (void)at; (void)bytes; (void)module; (void)name; return 500; }
int NAME(cuFuncGetAttribute, hipFuncGetAttribute)(int *value, int number, void *function) { (void)number; (void)function; *value = 32; return 0; }
int NAME(cuOccupancyMaxActiveBlocksPerMultiprocessor, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, void *function, int threads, size_t shared) { (void)function; (void)threads; (void)shared; *blocks = 1; return 0; }
int NAME(cuLaunchKernel, hipModuleLaunchKernel)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
    (void)function; (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)stream; (void)parameters; (void)extra;
    return 0;
}
