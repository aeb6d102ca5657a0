/* amdgpu/array.h: arrays in the memory of a device: shape, strides, dtype, DLPack. The rules of amdgpu/runtime.h hold.
 *
 * An array is a view of memory; views share it, and the memory goes back when the last of them is released. Reading and writing wait for what
 * streams were given to do with the array. dtypes are named as in NumPy: float64, float32, float16, bfloat16, int8 to int64, uint8 to
 * uint64, bool.
 */
#ifndef AMDGPU_ARRAY_H
#define AMDGPU_ARRAY_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGPU_MAX_DIMENSIONS 16

typedef struct agpu_array_object *agpu_array;

typedef struct agpu_array_options {
    uint64_t size_bytes;
    uint32_t kind; /* AGPU_MEMORY_DEVICE and so on */
    uint32_t reserved;
} agpu_array_options;
#define AGPU_ARRAY_OPTIONS_INIT {sizeof(agpu_array_options), AGPU_MEMORY_DEVICE, 0}

/* A new array whose elements are not set; `options` may be NULL. With no dimensions it has one element, and `shape` may be NULL. */
agpu_status agpu_array_create(agpu_device device, const char *dtype, uint32_t dimensions, const int64_t *shape,
                              const agpu_array_options *options, agpu_array *array);

typedef struct agpu_array_facts {
    uint64_t size_bytes;
    char device[64];
    char dtype[16];
    void *address;       /* of the element with index 0 */
    uint64_t elements;
    uint32_t item_bytes;
    uint32_t dimensions;
    int64_t shape[AGPU_MAX_DIMENSIONS];
    int64_t strides[AGPU_MAX_DIMENSIONS]; /* in elements */
    uint32_t is_contiguous;
    uint32_t is_read_only;
} agpu_array_facts;
#define AGPU_ARRAY_FACTS_INIT {sizeof(agpu_array_facts), {0}, {0}, NULL, 0, 0, 0, {0}, {0}, 0, 0}

/* Facts of an array. */
agpu_status agpu_array_info(agpu_array array, agpu_array_facts *info);

/* Set the elements of a contiguous array from the host, in row-major order; `bytes` are those of the whole array. */
agpu_status agpu_array_write(agpu_array array, const void *data, uint64_t bytes);

/* Get the elements of a contiguous array, in row-major order; `bytes` are those of the whole array. */
agpu_status agpu_array_read(agpu_array array, void *data, uint64_t bytes);

/* Set all elements to the one of `bytes` bytes at `element`. */
agpu_status agpu_array_fill(agpu_array array, const void *element, uint64_t bytes);

/* Copy the elements of an array of the same shape and dtype, which may be on another device. Views with gaps are copied element by element. */
agpu_status agpu_array_copy(agpu_array destination, agpu_array source);

/* The same elements of a contiguous array under another shape; -1 once, for the extent that is left. */
agpu_status agpu_array_reshape(agpu_array array, uint32_t dimensions, const int64_t *shape, agpu_array *view);

/* Another view of a contiguous array from its first element on: a transposed one, every second element, a block. Strides count elements; a
 * view that reaches beyond the array is refused. */
agpu_status agpu_array_view(agpu_array array, uint32_t dimensions, const int64_t *shape, const int64_t *strides, agpu_array *view);

/* Wait for what streams and operations were given to do with the array. */
agpu_status agpu_array_synchronize(agpu_array array);

/* DLPack 1.1: a `DLManagedTensorVersioned *`, or with `is_versioned` false a `DLManagedTensor *`, over the memory of the array. It keeps the
 * memory alive until its deleter is called. What was given to streams has been waited for. */
agpu_status agpu_array_to_dlpack(agpu_array array, bool is_versioned, void **managed);

/* An array over the memory of another library, whose deleter is called when the last view is released. A tensor of another major version stays
 * the caller's; one whose dtype or device no array can have is given back with its deleter. */
agpu_status agpu_array_from_dlpack(void *managed, bool is_versioned, agpu_array *array);

#ifdef __cplusplus
}
#endif

#endif
