/* amdgpu/raw.h: memory by its address, as CUDA and HIP programs have it. The rules of amdgpu/runtime.h hold.
 *
 * An address is one of the device's address space: one that `agpu_raw_allocate` gave, any place inside of such memory, or one of another
 * library. What the library allocated is checked: a range that leaves its allocation, memory of another device and memory that was freed
 * are refused, and work on it is ordered as for arrays. Memory of other libraries is taken as the caller says; operations on it end before
 * they return.
 *
 * A `stream` may also be a stream of the GPU's driver (`hipStream_t`, `cudaStream_t`). NULL is the default stream, in which calls wait.
 */
#ifndef AMDGPU_RAW_H
#define AMDGPU_RAW_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of a device, not initialised, aligned to 512 bytes; `options` may be NULL. 0 bytes give NULL. */
agpu_status agpu_raw_allocate(agpu_device device, uint64_t bytes, const agpu_memory_options *options, void **address);

/* Free what `agpu_raw_allocate` gave, behind the work of `stream`. Copies and operations that still use the memory keep it; kernels that other
 * streams were given with the address alone must be done. NULL is no memory and frees nothing; anything else than the first address of live
 * memory is refused. */
agpu_status agpu_raw_free(void *address, agpu_stream stream);

typedef struct agpu_raw_facts {
    uint64_t size_bytes;
    void *first;     /* first address of the allocation */
    uint64_t bytes;  /* its size */
    char device[64]; /* whose memory it is: "hip:0" */
    uint32_t kind;   /* AGPU_MEMORY_DEVICE and so on */
    uint32_t reserved;
} agpu_raw_facts;
#define AGPU_RAW_FACTS_INIT {sizeof(agpu_raw_facts), NULL, 0, {0}, 0, 0}

/* The allocation that an address lies in; AGPU_ERROR_USE_AFTER_FREE where no live one holds it. */
agpu_status agpu_raw_info(const void *address, agpu_raw_facts *info);

/* Directions of copies. */
#define AGPU_COPY_HOST_TO_DEVICE 0
#define AGPU_COPY_DEVICE_TO_HOST 1
#define AGPU_COPY_DEVICE_TO_DEVICE 2
#define AGPU_COPY_BETWEEN_DEVICES 3 /* either range, or both, may be memory of another GPU of the same driver */

/* Copy `bytes`: in `stream` and return at once, or with NULL wait. Memory of the host, and of another device than `device`, must stay until the
 * stream has passed the copy; what other devices do with theirs is ordered by events (agpu_stream_wait_event). Ranges of a device must not
 * overlap. */
agpu_status agpu_raw_copy(agpu_device device, void *destination, const void *source, uint64_t bytes, uint32_t direction, agpu_stream stream);

/* Set each of `bytes` to `value`: in `stream` and return at once, or with NULL wait. */
agpu_status agpu_raw_fill(agpu_device device, void *address, uint64_t bytes, uint8_t value, agpu_stream stream);

/* An array over memory at an address, which it does not own; memory that the library allocated stays until the array is released, also when it
 * is freed before. Strides count elements; NULL is row-major order. */
agpu_status agpu_array_from_address(agpu_device device, void *address, const char *dtype, uint32_t dimensions, const int64_t *shape,
                                    const int64_t *strides, agpu_array *array);

/* Let operations on arrays begin behind what `stream` was given so far; nothing for NULL. */
agpu_status agpu_device_wait_stream(agpu_device device, agpu_stream stream);

/* Hold back what `stream` is given from now on until the operations that the device was given so far are done; nothing for NULL. */
agpu_status agpu_stream_wait_device(agpu_device device, agpu_stream stream);

#ifdef __cplusplus
}
#endif

#endif
