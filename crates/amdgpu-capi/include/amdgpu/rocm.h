/* amdgpu/rocm.h: devices by ROCm's ids, and the current device of a thread. The rules of amdgpu/runtime.h hold.
 *
 * ROCm devices are the AMD GPUs of the device list, in its order; AMDGPU_ROCM_DEVICES=cpu lets the CPU stand in for one. `agpu_device_open`
 * takes "rocm:1" as well. Each thread has one current device, which is that of the Python package, too: operations that neither an operand nor
 * an argument gives a device run there.
 */
#ifndef AMDGPU_ROCM_H
#define AMDGPU_ROCM_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_rocm_device_facts {
    uint64_t size_bytes;
    int32_t device_id;
    uint32_t compute_units;      /* 0 where nobody knows them */
    char name[128];              /* "AMD Instinct MI100" */
    char architecture[64];       /* "gfx908" */
    char device[64];             /* how `agpu_device_open` calls it: "hip:0" */
    uint64_t total_memory_bytes;
    uint64_t free_memory_bytes;  /* now, other processes included */
} agpu_rocm_device_facts;
#define AGPU_ROCM_DEVICE_FACTS_INIT {sizeof(agpu_rocm_device_facts), 0, 0, {0}, {0}, {0}, 0, 0}

/* Number of ROCm devices; 0 where ROCm is not available. */
agpu_status agpu_rocm_device_count(uint32_t *count);

/* Facts of a ROCm device; opens it. */
agpu_status agpu_rocm_device_info(int32_t device_id, agpu_rocm_device_facts *info);

/* Make a ROCm device the current one of the calling thread. */
agpu_status agpu_rocm_set_device(int32_t device_id);

/* The id of the calling thread's current device; -1 where it chose none, or one that is no ROCm device. */
agpu_status agpu_rocm_get_device(int32_t *device_id);

/* Wait for what this process gave to the thread's ROCm device; to the first one where it chose none. */
agpu_status agpu_rocm_synchronize(void);

/* Make a device the current one of the calling thread: "cpu", "rocm", "rocm:1", "cuda:0", "sim:gfx1100". A text that names no device is
 * AGPU_ERROR_INVALID_ARGUMENT; "cerebras" and "cerebras:simulator" are known and AGPU_ERROR_DEVICE_NOT_FOUND, as all that is not there. */
agpu_status agpu_set_current_device(const char *device);

/* The text of the calling thread's current device: "cpu", "rocm:0", "cuda:0". Without a choice it is the first of the device list. */
agpu_status agpu_get_current_device(agpu_text *device);

/* Wait for what this process gave to the calling thread's current device. */
agpu_status agpu_synchronize_current_device(void);

#ifdef __cplusplus
}
#endif

#endif
