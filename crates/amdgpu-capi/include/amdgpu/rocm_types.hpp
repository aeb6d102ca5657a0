// amdgpu/rocm_types.hpp: a part of rocm.hpp. The types of ROCm that programs name: from ROCm's headers where they are installed, else declared
// here, so that programs compile without ROCm. AMDGPU_ROCM_NO_HEADERS leaves ROCm's headers alone; do not include them behind this one then.
#ifndef AMDGPU_ROCM_TYPES_HPP
#define AMDGPU_ROCM_TYPES_HPP

#include <stdexcept>
#include <string>

#if !defined(AMDGPU_ROCM_NO_HEADERS) && __has_include(<hip/hip_runtime_api.h>)
#if !defined(__HIP_PLATFORM_AMD__) && !defined(__HIP_PLATFORM_NVIDIA__)
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>
#define AMDGPU_HAS_HIP_HEADERS 1
#else
#define AMDGPU_HAS_HIP_HEADERS 0
typedef struct ihipStream_t *hipStream_t;
// With the numbers of hip/hip_runtime_api.h.
typedef enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNotInitialized = 3,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidHandle = 400,
    hipErrorNotReady = 600,
    hipErrorUnknown = 999
} hipError_t;

inline const char *hipGetErrorString(hipError_t error) {
    switch (error) {
        case hipSuccess: return "no error";
        case hipErrorInvalidValue: return "invalid argument";
        case hipErrorOutOfMemory: return "out of memory";
        case hipErrorNotInitialized: return "initialization error";
        case hipErrorInvalidDevice: return "invalid device ordinal";
        case hipErrorInvalidHandle: return "invalid resource handle";
        case hipErrorNotReady: return "device not ready";
        case hipErrorUnknown: break;
    }
    return "unknown error";
}
#endif

#if !defined(AMDGPU_ROCM_NO_HEADERS) && __has_include(<rocblas/rocblas.h>)
#include <rocblas/rocblas.h>
#define AMDGPU_HAS_ROCBLAS_HEADERS 1
#else
#define AMDGPU_HAS_ROCBLAS_HEADERS 0
typedef struct _rocblas_handle *rocblas_handle;
// With the numbers of rocblas/internal/rocblas-types.h.
typedef enum rocblas_operation_ {
    rocblas_operation_none = 111,
    rocblas_operation_transpose = 112,
    rocblas_operation_conjugate_transpose = 113
} rocblas_operation;
typedef enum rocblas_status_ {
    rocblas_status_success = 0,
    rocblas_status_invalid_handle = 1,
    rocblas_status_not_implemented = 2,
    rocblas_status_invalid_pointer = 3,
    rocblas_status_invalid_size = 4,
    rocblas_status_memory_error = 5,
    rocblas_status_internal_error = 6
} rocblas_status;
#endif

#if !defined(AMDGPU_ROCM_NO_HEADERS) && __has_include(<miopen/miopen.h>)
#include <miopen/miopen.h>
#define AMDGPU_HAS_MIOPEN_HEADERS 1
#else
#define AMDGPU_HAS_MIOPEN_HEADERS 0
typedef struct miopenHandle *miopenHandle_t;
// With the numbers of miopen/miopen.h.
typedef enum miopenStatus_t {
    miopenStatusSuccess = 0,
    miopenStatusNotInitialized = 1,
    miopenStatusInvalidValue = 2,
    miopenStatusBadParm = 3,
    miopenStatusAllocFailed = 4,
    miopenStatusInternalError = 5,
    miopenStatusNotImplemented = 6,
    miopenStatusUnknownError = 7
} miopenStatus_t;
#endif

// Calls of ROCm's own libraries, whose failures become exceptions. Each evaluates `call` once.
#define HIP_CHECK(call)                                                                                          \
    do {                                                                                                         \
        const hipError_t amdgpu_hip_error_ = (call);                                                             \
        if (amdgpu_hip_error_ != hipSuccess) {                                                                   \
            throw std::runtime_error(std::string("HIP error: ") + hipGetErrorString(amdgpu_hip_error_));         \
        }                                                                                                        \
    } while (0)

#define MIOPEN_CHECK(call)                                                                                       \
    do {                                                                                                         \
        const miopenStatus_t amdgpu_miopen_status_ = (call);                                                     \
        if (amdgpu_miopen_status_ != miopenStatusSuccess) {                                                      \
            throw std::runtime_error("MIOpen error: " + std::to_string(static_cast<int>(amdgpu_miopen_status_))); \
        }                                                                                                        \
    } while (0)

#define ROCBLAS_CHECK(call)                                                                                        \
    do {                                                                                                           \
        const rocblas_status amdgpu_rocblas_status_ = (call);                                                      \
        if (amdgpu_rocblas_status_ != rocblas_status_success) {                                                    \
            throw std::runtime_error("rocBLAS error: " + std::to_string(static_cast<int>(amdgpu_rocblas_status_))); \
        }                                                                                                          \
    } while (0)

#endif
