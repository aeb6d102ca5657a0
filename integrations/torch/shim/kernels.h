/* kernels.h: what the shim and the kernel library (libamdgpu_torch.so, the crate amdgpu-torch) give each other. C11; no header of torch.
 *
 * The shim opens the kernel library, hands it `agpu_torch_host` through `agpu_torch_attach`, and asks it for its operators: it registers one
 * boxed function for each of them, which calls `agpu_torch_call`. So operators with arguments that the stable interface of torch cannot carry
 * (Scalar, Generator) go the same way as all others.
 */
#ifndef AMDGPU_TORCH_KERNELS_H
#define AMDGPU_TORCH_KERNELS_H

#include <amdgpu/raw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when this file changes incompatibly. */
#define AGPU_TORCH_INTERFACE_VERSION 2

/* An `AtenTensorHandle` of torch's stable C interface: an `at::Tensor *`. */
typedef void *agpu_torch_handle;

/* `device` of tensors that are on no device of rdna. */
#define AGPU_TORCH_ON_CPU -1
#define AGPU_TORCH_ELSEWHERE -2

/* A tensor and what there is to know of it, valid during the call. Where `handle` is NULL it was left out, and the rest says nothing. */
typedef struct agpu_torch_tensor {
    agpu_torch_handle handle;
    void *address;
    const int64_t *sizes;
    const int64_t *strides;
    uint32_t rank;
    /* torch's number of the dtype. */
    int32_t dtype;
    /* The index of the rdna device, or one of the above. */
    int32_t device;
    uint32_t reserved;
} agpu_torch_tensor;

/* What `agpu_torch_scalar` holds. */
#define AGPU_TORCH_NONE 0      /* nothing: an optional argument that was left out */
#define AGPU_TORCH_BOOL 1      /* `integer`, 0 or 1 */
#define AGPU_TORCH_INT 2       /* `integer` */
#define AGPU_TORCH_DOUBLE 3    /* `real` */
#define AGPU_TORCH_COMPLEX 4   /* `real` and `imaginary` */
#define AGPU_TORCH_TEXT 5      /* `data`: characters ended by a null byte */
#define AGPU_TORCH_INTS 6      /* `data`: `integer` values of int64_t */
#define AGPU_TORCH_DOUBLES 7   /* `data`: `integer` values of double */
#define AGPU_TORCH_BOOLS 8     /* `data`: `integer` bytes, 0 or 1 */
#define AGPU_TORCH_SCALARS 9   /* `data`: `integer` values of agpu_torch_scalar */
#define AGPU_TORCH_GENERATOR 10 /* `data`: for `agpu_torch_host.take_random`; NULL is the default generator of the device */
#define AGPU_TORCH_TENSORS 11  /* the next `integer` tensors of `tensors` belong to one list */

/* An argument that is no tensor. dtypes, layouts and memory formats are AGPU_TORCH_INT with torch's numbers. */
typedef struct agpu_torch_scalar {
    uint32_t kind;
    uint32_t reserved;
    int64_t integer;
    double real;
    double imaginary;
    const void *data;
} agpu_torch_scalar;

/* What `agpu_torch_result` holds. */
#define AGPU_TORCH_RESULT_TENSOR 1 /* `tensor`, which the shim deletes */
#define AGPU_TORCH_RESULT_INT 2    /* `integer` */
#define AGPU_TORCH_RESULT_BOOL 3   /* `integer`, 0 or 1 */

/* A result that is none of the arguments. */
typedef struct agpu_torch_result {
    uint32_t kind;
    uint32_t reserved;
    int64_t integer;
    agpu_torch_handle tensor;
} agpu_torch_result;

/* What the shim gives the kernel library. The functions of this struct answer 0, or 1 with a text in `last_error`, unless they say otherwise. */
typedef struct agpu_torch_host {
    uint64_t size_bytes;
    /* Bits that an address of tensor memory has and the address that libamdgpu knows has not: `address & ~poison_bits` is the latter. 0 unless
     * AMDGPU_TORCH_POISON=1, where tensors show addresses that nobody can read. */
    uint64_t poison_bits;
    /* The open device beneath rdna:`index`. */
    int32_t (*device)(int32_t index, agpu_device *device);
    /* The current stream of the calling thread on rdna:`index`; NULL where it is the default stream, in which operations run anyway. Where it
     * is another one, operations stand between agpu_device_wait_stream and agpu_stream_wait_device. */
    int32_t (*current_stream)(int32_t index, agpu_stream *stream);
    /* Takes `words` numbers of 32 bits of a generator (NULL: the default one of rdna:`index`): those of `key` from `position` on. */
    int32_t (*take_random)(const void *generator, int32_t index, uint64_t words, uint64_t *key, uint64_t *position);
    /* Why the last of these functions on this thread failed. */
    const char *(*last_error)(void);
    /* torch's library `libtorch_cpu.so` as dlopen gives it. */
    void *torch_library;
    /* 1 where convolutions of float32 may be computed by matrix units that cut it to tf32 (torch.backends.cudnn.allow_tf32), else 0. */
    int32_t (*allows_tf32)(void);
    /* A new tensor of rdna:`index` whose elements are not set, which the kernel library deletes or gives back as a result, and its address. */
    int32_t (*empty)(const int64_t *sizes, const int64_t *strides, uint32_t rank, int32_t dtype, int32_t index, agpu_torch_handle *tensor,
                     void **address);
} agpu_torch_host;

/* Exported by the kernel library. */

/* AGPU_TORCH_INTERFACE_VERSION of the kernel library. */
uint32_t agpu_torch_interface_version(void);

/* Keeps what the shim gives. `host` lives as long as the process. 0, or 1 with a text in
 * `agpu_torch_last_error`. */
int32_t agpu_torch_attach(const agpu_torch_host *host);

/* Operators that the shim registers, by place: "aten::add.out"; NULL behind the last one. */
const char *agpu_torch_boxed_operator(uint64_t place);

/* Runs the operator of a place. `tensors` are its tensors in the order of the schema, those of lists one after the other, with a NULL handle for
 * an optional one that was left out; `scalars` its other arguments in that order, and for each list of tensors its length (AGPU_TORCH_TENSORS).
 * `result_count` becomes the number of results that `agpu_torch_take_result` gives; where there are none the operator returns the arguments that
 * it writes to. 0: done; 1: refused, with a text in `agpu_torch_last_error`; 2: no kernel for these arguments, and the caller may run the operator
 * on the CPU. */
int32_t agpu_torch_call(uint64_t place, const agpu_torch_tensor *tensors, uint64_t tensor_count, const agpu_torch_scalar *scalars,
                        uint64_t scalar_count, uint64_t *result_count);

/* Sets bytes of a tensor of rdna:`index` to zero, as the operator of the place would. 0: done; 1: refused, with a text in `agpu_torch_last_error`;
 * 2: telemetry wants to hear of the operator, so call it. */
int32_t agpu_torch_zero(uint64_t place, int32_t index, void *address, uint64_t bytes);

/* Takes the next result of the last call on this thread, in the order of the schema, those of a list one after the other; 1: there is none left. */
int32_t agpu_torch_take_result(agpu_torch_result *result);

/* Why the last call on this thread failed. */
const char *agpu_torch_last_error(void);

/* Native calls by place, for `torch.rdna.native_report()`: name of the operator and how often it ran; 0, or 1 behind the last one. */
int32_t agpu_torch_native_calls(uint64_t place, const char **name, uint64_t *calls);

#ifdef __cplusplus
}
#endif

#endif
