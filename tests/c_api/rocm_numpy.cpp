// The C++ layer for test_rocm.py: every function of rocm.hpp behind a C function that answers what was thrown.
// Beside NumPy there is no HIP to link with.
#define AMDGPU_ROCM_NO_HEADERS
#include <amdgpu/rocm.hpp>

#include <string>

namespace rocm = pyflame::backend::rocm;
using pyflame::DType;
using pyflame::ir::OpType;

namespace {

// NULL, or "class: message".
template <typename Work>
const char *caught(Work &&work) {
    thread_local std::string text;
    try {
        work();
        return nullptr;
    } catch (const std::invalid_argument &error) {
        text = std::string("invalid_argument: ") + error.what();
    } catch (const std::runtime_error &error) {
        text = std::string("runtime_error: ") + error.what();
    }
    return text.c_str();
}

std::vector<std::int64_t> shape_of(const std::int64_t *extents, int count) { return {extents, extents + count}; }
std::vector<int> numbers_of(const int *numbers, int count) { return {numbers, numbers + count}; }
OpType op_of(int number) { return static_cast<OpType>(number); }
DType dtype_of(int number) { return static_cast<DType>(number); }

}  // namespace

extern "C" {

const char *name_of_op(int number) { return pyflame::ir::op_name(op_of(number)); }
const char *name_of_dtype(int number) { return amdgpu::dtype_name(dtype_of(number)); }

const char *gemm(int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c,
                 int ldc) {
    return caught([&] {
        rocm::get_blas().gemm(static_cast<rocblas_operation>(trans_a), static_cast<rocblas_operation>(trans_b), m, n, k, alpha, a, lda, b, ldb, beta,
                              c, ldc);
    });
}

const char *gemm_strided_batched(int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda, std::int64_t stride_a,
                                 const float *b, int ldb, std::int64_t stride_b, float beta, float *c, int ldc, std::int64_t stride_c,
                                 int batches) {
    return caught([&] {
        rocm::get_blas().gemm_strided_batched(static_cast<rocblas_operation>(trans_a), static_cast<rocblas_operation>(trans_b), m, n, k, alpha, a,
                                              lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batches);
    });
}

const char *geam(int trans_a, int trans_b, int m, int n, float alpha, const float *a, int lda, float beta, const float *b, int ldb, float *c,
                 int ldc) {
    return caught([&] {
        rocm::get_blas().geam(static_cast<rocblas_operation>(trans_a), static_cast<rocblas_operation>(trans_b), m, n, alpha, a, lda, beta, b, ldb, c,
                              ldc);
    });
}

const char *conv2d(int dtype, const std::int64_t *input_shape, const void *input, const std::int64_t *weight_shape, const void *weight,
                   const std::int64_t *output_shape, void *output, const int *params, int count, int groups, void *workspace,
                   std::size_t workspace_size) {
    return caught([&] {
        rocm::ConvParams all;
        if (count == 6) all = rocm::ConvParams::Conv2D(params[0], params[1], params[2], params[3], params[4], params[5], groups);
        all.groups = groups;
        if (count == 1) all.padding = numbers_of(params, 1);
        const auto x = shape_of(input_shape, 4), w = shape_of(weight_shape, 4), y = shape_of(output_shape, 4);
        if (rocm::get_dnn().conv2d_forward_workspace_size(dtype_of(dtype), x, w, y, all) != 0) throw std::runtime_error("a workspace is wanted");
        rocm::get_dnn().conv2d_forward(dtype_of(dtype), x, input, w, weight, y, output, all, workspace, workspace_size);
    });
}

const char *pooling2d(int op, int dtype, const std::int64_t *input_shape, const void *input, const std::int64_t *output_shape, void *output,
                      const int *params, int ceil_mode) {
    return caught([&] {
        rocm::PoolParams all = rocm::PoolParams::Pool2D(params[0], params[1], params[2], params[3], params[4], params[5]);
        all.ceil_mode = ceil_mode != 0;
        rocm::get_dnn().pooling2d_forward(op_of(op), dtype_of(dtype), shape_of(input_shape, 4), input, shape_of(output_shape, 4), output, all);
    });
}

const char *batchnorm_training(int dtype, const std::int64_t *shape, int rank, const void *input, void *output, const void *scale, const void *bias,
                               void *running_mean, void *running_var, void *saved_mean, void *saved_inv_var, double epsilon, double momentum,
                               int training) {
    return caught([&] {
        rocm::get_dnn().batchnorm_forward_training(dtype_of(dtype), shape_of(shape, rank), input, output, scale, bias, running_mean, running_var,
                                                   saved_mean, saved_inv_var, {epsilon, momentum, training != 0});
    });
}

const char *batchnorm_inference(int dtype, const std::int64_t *shape, int rank, const void *input, void *output, const void *scale,
                                const void *bias, const void *running_mean, const void *running_var, double epsilon) {
    return caught([&] {
        rocm::BatchNormParams params;
        params.epsilon = epsilon;
        rocm::get_dnn().batchnorm_forward_inference(dtype_of(dtype), shape_of(shape, rank), input, output, scale, bias, running_mean, running_var,
                                                    params);
    });
}

const char *activation(int op, int dtype, const std::int64_t *shape, int rank, const void *input, void *output, float alpha) {
    return caught([&] { rocm::get_dnn().activation_forward(op_of(op), dtype_of(dtype), shape_of(shape, rank), input, output, alpha); });
}

const char *softmax(int dtype, const std::int64_t *shape, int rank, const void *input, void *output, int axis, int is_log) {
    return caught([&] { rocm::get_dnn().softmax_forward(dtype_of(dtype), shape_of(shape, rank), input, output, axis, is_log != 0); });
}

const char *reduce(int op, int dtype, const std::int64_t *input_shape, int rank, const void *input, const std::int64_t *output_shape,
                   int output_rank, void *output, const int *dims, int count, void *workspace, std::size_t workspace_size) {
    return caught([&] {
        rocm::get_dnn().reduce(op_of(op), dtype_of(dtype), shape_of(input_shape, rank), input, shape_of(output_shape, output_rank), output,
                               numbers_of(dims, count), workspace, workspace_size);
    });
}

const char *gelu(float *output, const float *input, std::int64_t numel) {
    return caught([&] { rocm::launch_gelu_forward(output, input, numel, nullptr); });
}

const char *silu(float *output, const float *input, std::int64_t numel) {
    return caught([&] { rocm::launch_silu_forward(output, input, numel, nullptr); });
}

const char *binary(int op, float *output, const float *a, const float *b, std::int64_t numel) {
    return caught([&] { rocm::launch_elementwise_binary(op_of(op), output, a, b, numel, nullptr); });
}

const char *unary(int op, float *output, const float *input, std::int64_t numel) {
    return caught([&] { rocm::launch_elementwise_unary(op_of(op), output, input, numel, nullptr); });
}

const char *comparison(int op, float *output, const float *a, const float *b, std::int64_t numel) {
    return caught([&] { rocm::launch_comparison(op_of(op), output, a, b, numel, nullptr); });
}

const char *where(float *output, const float *condition, const float *x, const float *y, std::int64_t numel) {
    return caught([&] { rocm::launch_where(output, condition, x, y, numel, nullptr); });
}

const char *clamp(float *output, const float *input, float min_val, float max_val, std::int64_t numel) {
    return caught([&] { rocm::launch_clamp(output, input, min_val, max_val, numel, nullptr); });
}

const char *mse(float *output, const float *predictions, const float *targets, std::int64_t numel) {
    return caught([&] { rocm::launch_mse_loss(output, predictions, targets, numel, nullptr); });
}

const char *bce(float *output, const float *predictions, const float *targets, std::int64_t numel) {
    return caught([&] { rocm::launch_bce_loss(output, predictions, targets, numel, nullptr); });
}

const char *cross_entropy(float *output, const float *logits, const std::int32_t *targets, std::int64_t rows, std::int64_t classes) {
    return caught([&] { rocm::launch_cross_entropy_loss(output, logits, targets, rows, classes, nullptr); });
}

}  // extern "C"
