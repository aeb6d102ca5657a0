/* amdgpu/ops.h: operations on arrays (docs/guide.md, `amdgpu.ops`). The rules of amdgpu/runtime.h hold.
 *
 * Operations run on the device of their arrays and broadcast as NumPy does. The result is a new array of that device, or `out` of the options,
 * of which the result is then another reference. On a GPU a call returns before the result is computed; reading it waits. Names of
 * operations are those of `amdgpu.ops`: "add", "multiply", "exp", "where", "relu", ...; "sum", "mean", "max", "argmax", "var", ...
 */
#ifndef AMDGPU_OPS_H
#define AMDGPU_OPS_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_ops_elementwise_options {
    uint64_t size_bytes;
    agpu_array out; /* NULL: a new array */
    double alpha;   /* the slope of leaky_relu, the scale of elu */
} agpu_ops_elementwise_options;
#define AGPU_OPS_ELEMENTWISE_OPTIONS_INIT {sizeof(agpu_ops_elementwise_options), NULL, 0}

/* `operation(inputs...)` with as many arrays as the operation takes; `options` may be NULL. */
agpu_status agpu_ops_elementwise(const char *operation, const agpu_array *inputs, size_t count, const agpu_ops_elementwise_options *options,
                                 agpu_array *result);

typedef struct agpu_ops_reduce_options {
    uint64_t size_bytes;
    agpu_array out;      /* NULL: a new array */
    const int64_t *axes; /* negative ones count from the end */
    uint64_t axis_count; /* 0: all axes */
    double correction;   /* of var and std: taken off the number of values */
    uint32_t keeps_axes; /* 1: reduced axes stay, with extent 1 */
    uint32_t reserved;
} agpu_ops_reduce_options;
#define AGPU_OPS_REDUCE_OPTIONS_INIT {sizeof(agpu_ops_reduce_options), NULL, NULL, 0, 0, 0, 0}

/* `operation(x)` over axes; `options` may be NULL. */
agpu_status agpu_ops_reduce(const char *operation, agpu_array x, const agpu_ops_reduce_options *options, agpu_array *result);

typedef struct agpu_ops_matmul_options {
    uint64_t size_bytes;
    agpu_array out;         /* NULL: a new array */
    agpu_array bias;        /* shape (n,), or NULL */
    agpu_array residual;    /* broadcast to the result, or NULL */
    const char *activation; /* identity (NULL), relu, leaky_relu, sigmoid, tanh, gelu, silu, softplus, elu */
    const char *precision;  /* fp64, fp32, tf32, fp16, bf16, int8; NULL: what the dtypes ask for */
    double alpha;           /* factors, where has_factors is 1; else 1 and 0 */
    double beta;
    uint32_t has_factors;
    uint32_t transpose_a;   /* 1 swaps the last two axes */
    uint32_t transpose_b;
    uint32_t reserved;
} agpu_ops_matmul_options;
#define AGPU_OPS_MATMUL_OPTIONS_INIT {sizeof(agpu_ops_matmul_options), NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, 0, 0}

/* `activation(alpha * (a @ b) + beta * out + bias + residual)` with the axes of `numpy.matmul`; `options` may be NULL. */
agpu_status agpu_ops_matmul(agpu_array a, agpu_array b, const agpu_ops_matmul_options *options, agpu_array *result);

#ifdef __cplusplus
}
#endif

#endif
