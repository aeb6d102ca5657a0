/* amdgpu/runtime.h: devices, memory, streams and events; errors; references. Part of the C interface of libamdgpu.so.
 *
 * Rules of the whole interface (docs/c_api.md has them with examples)
 *  - C11 and 64-bit Linux. Functions return `agpu_status`: AGPU_OK, or a code of amdgpu/errors.h. `agpu_last_error` describes the last
 *    failure of the calling thread. Nothing exits, aborts or unwinds into the caller.
 *  - Handles (`agpu_device`, `agpu_stream`, ...) are opaque numbers in the form of pointers: never follow one. A function that makes an
 *    object gives a handle with one reference; `agpu_retain` adds one, `agpu_release` takes one away, and with the last one the handle is
 *    gone. What an object needs it keeps alive itself: a stream its device, a graph its memory. NULL, released, foreign and made-up
 *    handles are AGPU_ERROR_INVALID_HANDLE; a handle from before fork() is AGPU_ERROR_FORKED in the child.
 *  - Every function may be called from every thread at the same time, with the same handles. One exception: a graph is recorded by one
 *    thread (amdgpu/kernel.h).
 *  - Texts given to a call end with a null byte, are UTF-8 and belong to the caller; the library copies what it keeps. Other pointers are
 *    used during the call only, unless the function says otherwise.
 *  - Structs begin with `size_bytes`. Initialise them with their _INIT macro; what is zero has its default. So programs built for an older
 *    header run with a newer library, and a library that does not know an option which is set says so.
 *  - Work given to a stream runs in order, and beside that of other streams; an event orders two of them. With NULL for the stream, a
 *    function returns when its work is done. It does not wait for what streams have been given: synchronize first.
 *  - A process has one device table and one allocator for each device, which it shares with the Python package `amdgpu`.
 */
#ifndef AMDGPU_RUNTIME_H
#define AMDGPU_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function or a struct changes incompatibly; `agpu_interface_version` says that of the library. */
#define AGPU_INTERFACE_VERSION 1

typedef int32_t agpu_status;

/* Any handle. */
typedef const void *agpu_handle;

typedef struct agpu_device_object *agpu_device;
typedef struct agpu_stream_object *agpu_stream;
typedef struct agpu_event_object *agpu_event;
typedef struct agpu_memory_object *agpu_memory;
typedef struct agpu_text_object *agpu_text;

/* Version of the library as text, for example "0.1.0"; it lives as long as the process. */
const char *agpu_version(void);

/* AGPU_INTERFACE_VERSION of the library. */
uint32_t agpu_interface_version(void);

/* Name of a status in kebab-case ("out-of-memory", "ok"), or "unknown"; it lives as long as the process. */
const char *agpu_status_name(agpu_status status);

/* The last failure of the calling thread. The texts are valid until the next call on this thread that fails. */
typedef struct agpu_error_info {
    uint64_t size_bytes;
    agpu_status status;     /* AGPU_OK before the first failure */
    uint32_t reserved;
    const char *name;       /* kebab-case, stable */
    const char *class_name; /* the exception that Python raises */
    const char *message;    /* what happened, with the values that matter */
    const char *hint;       /* what to do; empty where the message says it */
    const char *language;   /* where it arose: rust, zig, nim, julia, python */
} agpu_error_info;
#define AGPU_ERROR_INFO_INIT {sizeof(agpu_error_info), 0, 0, NULL, NULL, NULL, NULL, NULL}

/* Describe the last failure of the calling thread. Does not change what it describes, whatever it returns. */
agpu_status agpu_last_error(agpu_error_info *info);

/* Another reference to what a handle of any kind stands for. */
agpu_status agpu_retain(agpu_handle handle);

/* One reference less. With the last one the handle is gone; what the device still does with the object is finished first. Releasing a
 * stream waits for it, and releasing a device that nothing else uses closes it. */
agpu_status agpu_release(agpu_handle handle);

/* How many handles are alive in this process, for tests of leaks. */
agpu_status agpu_handle_count(uint64_t *count);

/* The characters of a text, ended by a null byte, valid until the handle is released; `length` may be NULL. */
agpu_status agpu_text_get(agpu_text text, const char **data, uint64_t *length);

/* Facts of a device. Numbers that nobody knows are 0. */
typedef struct agpu_device_facts {
    uint64_t size_bytes;
    char name[64];          /* "cpu:0", "hip:1": how the device is addressed */
    char product_name[128];
    char architecture[64];  /* "gfx1100", "sm_90", the CPU's own */
    char kind[8];           /* hip, cuda, cpu, sim, null */
    uint32_t ordinal;
    uint32_t compute_units;
    uint32_t physical_cores;
    uint32_t logical_cores;
    uint32_t warp_size;
    uint32_t max_threads_per_block;
    uint32_t max_block[3];
    uint32_t max_grid[3];
    uint64_t shared_memory_per_block_bytes;
    uint64_t total_memory_bytes;
    uint64_t clock_hertz;
} agpu_device_facts;
#define AGPU_DEVICE_FACTS_INIT {sizeof(agpu_device_facts), {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, {0}, {0}, 0, 0, 0}

/* How many devices this machine has; AMDGPU_DEVICES restricts them. GPUs come first, the CPU is always a device. */
agpu_status agpu_device_count(uint32_t *count);

/* Facts of a device by its place in the list, without opening it. */
agpu_status agpu_device_info_at(uint32_t index, agpu_device_facts *info);

typedef struct agpu_device_options {
    uint64_t size_bytes;
    const char *optimization_level; /* none, low, high (default), max: of kernels that say nothing else */
    const char *telemetry;          /* off, standard (default), detailed: which launches leave records */
} agpu_device_options;
#define AGPU_DEVICE_OPTIONS_INIT {sizeof(agpu_device_options), NULL, NULL}

/* Open a device by name ("cpu", "hip:0", "null:gfx1100"); NULL is the first of the list. A device may be opened more than once: memory,
 * allocator and default stream are shared, kernels are not. `options` may be NULL. */
agpu_status agpu_device_open(const char *name, const agpu_device_options *options, agpu_device *device);

/* Facts of an open device. */
agpu_status agpu_device_info(agpu_device device, agpu_device_facts *info);

/* Memory of the device as it is now, other processes included. */
typedef struct agpu_memory_info {
    uint64_t size_bytes;
    uint64_t free_bytes;
    uint64_t total_bytes;
    uint64_t used_bytes;
} agpu_memory_info;
#define AGPU_MEMORY_INFO_INIT {sizeof(agpu_memory_info), 0, 0, 0}

/* Free and used memory of a device. */
agpu_status agpu_device_memory(agpu_device device, agpu_memory_info *memory);

/* Kinds of memory. */
#define AGPU_MEMORY_DEVICE 0  /* on the device */
#define AGPU_MEMORY_PINNED 1  /* on the host, for fast copies */
#define AGPU_MEMORY_UNIFIED 2 /* moves between both */

/* What the allocator of the device did for one kind of memory since the process opened it, whoever asked: C, Python or a library. */
typedef struct agpu_memory_statistics {
    uint64_t size_bytes;
    uint64_t allocations;          /* alive now */
    uint64_t allocated_bytes;      /* alive now */
    uint64_t allocated_bytes_peak;
    uint64_t reserved_bytes;       /* taken from the system, in use or cached */
    uint64_t reserved_bytes_peak;
    uint64_t allocations_total;
    uint64_t cache_hits;
    uint64_t cache_misses;
    uint64_t out_of_memory;        /* requests that were refused */
} agpu_memory_statistics;
#define AGPU_MEMORY_STATISTICS_INIT {sizeof(agpu_memory_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* What the allocator did for one kind of memory, AGPU_MEMORY_DEVICE and so on. */
agpu_status agpu_device_memory_statistics(agpu_device device, uint32_t kind, agpu_memory_statistics *statistics);

/* Let the peaks of the statistics of all kinds of memory begin again at what is there now. */
agpu_status agpu_device_reset_memory_peaks(agpu_device device);

/* Give cached memory back to the system; `freed_bytes` may be NULL. */
agpu_status agpu_device_empty_cache(agpu_device device, uint64_t *freed_bytes);

/* Give cached memory of one kind, AGPU_MEMORY_DEVICE and so on, back to the system; `freed_bytes` may be NULL. */
agpu_status agpu_device_empty_pool(agpu_device device, uint32_t kind, uint64_t *freed_bytes);

/* Reserve memory of one kind in advance: the allocator then has a free block for each of `count` sizes in bytes, so that requests of these
 * sizes take nothing from the system. `reserved_bytes`, by how much that grew what is reserved, may be NULL. */
agpu_status agpu_device_warm_up(agpu_device device, uint32_t kind, const uint64_t *sizes, uint64_t count, uint64_t *reserved_bytes);

/* Wait for everything that the device was given by this process. */
agpu_status agpu_device_synchronize(agpu_device device);

/* A new stream. Releasing it waits until it is idle. */
agpu_status agpu_stream_create(agpu_device device, agpu_stream *stream);

/* Another handle of the stream in which operations on arrays run, and in which calls with NULL for the stream wait. */
agpu_status agpu_device_default_stream(agpu_device device, agpu_stream *stream);

/* Wait until everything that the stream was given is done; gives the error that its work left. */
agpu_status agpu_stream_synchronize(agpu_stream stream);

/* Whether everything that the stream was given is done. */
agpu_status agpu_stream_is_idle(agpu_stream stream, bool *is_idle);

/* What `agpu_stream_lend` calls: submits work to `native_stream`, the driver's own handle of the stream (CUstream, hipStream_t). It answers 0, or
 * another number where it failed. It calls no function with the stream that is lent. */
typedef int (*agpu_native_work)(void *native_stream, void *data);

/* Let another library (NCCL, cuDNN, a kernel of one's own) submit work behind everything that the stream was given: `work` is called once, before
 * this returns, with `data`, while the device is the driver's current one on this thread. The memory of that work must stay until the stream has
 * passed it. `was_lent` becomes false, and `work` is not called, where there is no driver: on the CPU. */
agpu_status agpu_stream_lend(agpu_stream stream, agpu_native_work work, void *data, bool *was_lent);

/* Hold back what the stream is given from now on until the event, of the same device or of another GPU of the same driver, has happened. An event
 * that was not recorded holds nothing back. */
agpu_status agpu_stream_wait_event(agpu_stream stream, agpu_event event);

/* A new event, not recorded. */
agpu_status agpu_event_create(agpu_device device, agpu_event *event);

/* Mark the point of a stream behind everything that it was given so far; an event can be recorded again. */
agpu_status agpu_event_record(agpu_event event, agpu_stream stream);

/* Wait until the point is reached; returns at once for an event that was not recorded. */
agpu_status agpu_event_synchronize(agpu_event event);

/* Whether everything before the point is done; true for an event that was not recorded. */
agpu_status agpu_event_is_complete(agpu_event event, bool *is_complete);

/* Nanoseconds from one event to another of the same device, both of which have happened; negative if they happened in the other order. */
agpu_status agpu_event_elapsed_ns(agpu_event start, agpu_event end, int64_t *elapsed_ns);

typedef struct agpu_memory_options {
    uint64_t size_bytes;
    uint32_t kind;      /* AGPU_MEMORY_DEVICE and so on */
    uint32_t reserved;
    agpu_stream stream; /* where the memory is used mostly, so that it is handed on in the order of this stream; NULL: the default stream */
} agpu_memory_options;
#define AGPU_MEMORY_OPTIONS_INIT {sizeof(agpu_memory_options), AGPU_MEMORY_DEVICE, 0, NULL}

/* Memory of a device, not initialised, aligned to 512 bytes; `options` may be NULL. `agpu_release` frees it: at any time, also while a
 * stream still uses it, for the allocator waits for that stream before it hands the memory on. */
agpu_status agpu_memory_allocate(agpu_device device, uint64_t bytes, const agpu_memory_options *options, agpu_memory *memory);

/* Its address, and whether the host may use it (CPU device, pinned and unified memory); `is_host_visible` may be NULL. */
agpu_status agpu_memory_address(agpu_memory memory, void **address, bool *is_host_visible);

/* Its size. */
agpu_status agpu_memory_size(agpu_memory memory, uint64_t *bytes);

/* Copy `bytes` from the host behind the work of `stream`, and wait for it. */
agpu_status agpu_memory_write(agpu_memory memory, uint64_t offset, const void *data, uint64_t bytes, agpu_stream stream);

/* Copy `bytes` to the host behind the work of `stream`, and wait for it. */
agpu_status agpu_memory_read(agpu_memory memory, uint64_t offset, void *data, uint64_t bytes, agpu_stream stream);

/* Copy inside of a device: in `stream` and return at once, or with NULL wait. The ranges must not overlap. */
agpu_status agpu_memory_copy(agpu_memory destination, uint64_t destination_offset, agpu_memory source, uint64_t source_offset,
                             uint64_t bytes, agpu_stream stream);

/* Set each of `bytes` to `value`: in `stream` and return at once, or with NULL wait. */
agpu_status agpu_memory_fill(agpu_memory memory, uint64_t offset, uint64_t bytes, uint8_t value, agpu_stream stream);

#ifdef __cplusplus
}
#endif

#endif
