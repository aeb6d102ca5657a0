// amdgpu/rocm_blas.hpp: a part of rocm.hpp. Matrix products and sums with the arguments of rocBLAS.
#ifndef AMDGPU_ROCM_BLAS_HPP
#define AMDGPU_ROCM_BLAS_HPP

#include <algorithm>

#include "ops.h"
#include "rocm_device.hpp"

namespace amdgpu {
namespace rocm {

// Matrices are column-major, as in rocBLAS: element (i, j) of a matrix with leading dimension `ld` is at `i + j * ld`. op(A) is A or its
// transpose; the conjugate transpose of real numbers is the transpose. Where alpha is 0 (or K is), A and B are not read; where beta is 0, what
// C holds is not read, be it NaN. One thread at a time uses an instance.
//
// Throws std::invalid_argument for sizes, leading dimensions, strides and pointers that cannot be.
class ROCmBLAS {
public:
    // For the calling thread's current device. Throws std::runtime_error where there is none.
    ROCmBLAS() : device_(detail::current_device()) {}
    ~ROCmBLAS() = default;
    ROCmBLAS(const ROCmBLAS &) = delete;
    ROCmBLAS &operator=(const ROCmBLAS &) = delete;

    // The stream that later calls take their place in.
    void set_stream(hipStream_t stream) { stream_ = stream; }

    // Names the device that the instance works on; it is no handle for functions of librocblas.
    rocblas_handle handle() const { return reinterpret_cast<rocblas_handle>(device_); }

    // C = alpha * op(A) * op(B) + beta * C, where op(A) is M x K, op(B) is K x N and C is M x N.
    void gemm(rocblas_operation trans_a, rocblas_operation trans_b, int M, int N, int K, float alpha, const float *A, int lda, const float *B,
              int ldb, float beta, float *C, int ldc) {
        multiply("gemm", {M, N, K, 1}, alpha, {A, lda, 0, is_transposed("gemm", "trans_a", trans_a)},
                 {B, ldb, 0, is_transposed("gemm", "trans_b", trans_b)}, beta, {C, ldc, 0, false});
    }

    // `gemm` of `batch_count` matrices, whose first elements lie strides apart, in elements. A or B with stride 0 is the same for all.
    void gemm_strided_batched(rocblas_operation trans_a, rocblas_operation trans_b, int M, int N, int K, float alpha, const float *A, int lda,
                              std::int64_t stride_a, const float *B, int ldb, std::int64_t stride_b, float beta, float *C, int ldc,
                              std::int64_t stride_c, int batch_count) {
        const char *const name = "gemm_strided_batched";
        multiply(name, {M, N, K, batch_count}, alpha, {A, lda, stride_a, is_transposed(name, "trans_a", trans_a)},
                 {B, ldb, stride_b, is_transposed(name, "trans_b", trans_b)}, beta, {C, ldc, stride_c, false});
    }

    // C = alpha * op(A) + beta * op(B), where all three are M x N. C may be A or B itself where that is not transposed and has the leading
    // dimension of C. A matrix whose factor is 0 is not read.
    void geam(rocblas_operation trans_a, rocblas_operation trans_b, int M, int N, float alpha, const float *A, int lda, float beta, const float *B,
              int ldb, float *C, int ldc) {
        const char *const name = "geam";
        const Matrix a{A, lda, 0, is_transposed(name, "trans_a", trans_a)}, b{B, ldb, 0, is_transposed(name, "trans_b", trans_b)};
        const Matrix c{C, ldc, 0, false};
        detail::require_at_least(M, 0, name, "M");
        detail::require_at_least(N, 0, name, "N");
        check_matrix(name, "a", a, M, N);
        check_matrix(name, "b", b, M, N);
        check_matrix(name, "c", c, M, N);
        if (M == 0 || N == 0) return;
        detail::require(C, name, "C");
        if (alpha != 0) detail::require(A, name, "A");
        if (beta != 0) detail::require(B, name, "B");
        add(alpha, a, beta, b, seen(c, 1, M, N), M, N);
    }

private:
    struct Sizes {
        std::int64_t m, n, k, batches;
    };
    struct Matrix {
        const float *data;
        std::int64_t leading, stride;
        bool is_transposed;
    };

    static bool is_transposed(const char *function, const char *name, rocblas_operation operation) {
        switch (operation) {
            case rocblas_operation_none: return false;
            case rocblas_operation_transpose:
            case rocblas_operation_conjugate_transpose: return true;
        }
        detail::refuse(std::string(function) + ": " + name + " is " + std::to_string(static_cast<int>(operation)) +
                       "; known are rocblas_operation_none, _transpose and _conjugate_transpose");
    }

    // Checks a matrix of which op(matrix) has so many rows and columns.
    static void check_matrix(const char *function, const char *name, const Matrix &matrix, std::int64_t rows, std::int64_t columns) {
        const std::int64_t least = std::max<std::int64_t>(1, matrix.is_transposed ? columns : rows);
        if (matrix.leading >= least) return;
        detail::refuse(std::string(function) + ": ld" + name + " is " + std::to_string(matrix.leading) + "; the columns of the matrix have " +
                       std::to_string(least) + " elements, which it must not be less than");
    }

    static void check_sizes(const char *function, const Sizes &sizes, const Matrix &a, const Matrix &b, const Matrix &c) {
        detail::require_at_least(sizes.m, 0, function, "M");
        detail::require_at_least(sizes.n, 0, function, "N");
        detail::require_at_least(sizes.k, 0, function, "K");
        detail::require_at_least(sizes.batches, 0, function, "batch_count");
        check_matrix(function, "a", a, sizes.m, sizes.k);
        check_matrix(function, "b", b, sizes.k, sizes.n);
        check_matrix(function, "c", c, sizes.m, sizes.n);
        detail::require_at_least(a.stride, 0, function, "stride_a");
        detail::require_at_least(b.stride, 0, function, "stride_b");
        const std::int64_t bytes_of_c = sizes.m > 0 && sizes.n > 0 ? (sizes.n - 1) * c.leading + sizes.m : 0;
        if (sizes.batches > 1) detail::require_at_least(c.stride, bytes_of_c, function, "stride_c");
    }

    // op(matrix) transposed, in row-major order: (batches, columns, rows).
    detail::Array seen(const Matrix &matrix, std::int64_t batches, std::int64_t rows, std::int64_t columns) const {
        const std::int64_t by_column = matrix.is_transposed ? 1 : matrix.leading, by_row = matrix.is_transposed ? matrix.leading : 1;
        return detail::array_at(device_, matrix.data, "float32", {batches, columns, rows}, {matrix.stride, by_column, by_row});
    }

    // As products of row-major matrices: C^T = op(B)^T op(A)^T.
    void multiply(const char *function, const Sizes &sizes, float alpha, const Matrix &a, const Matrix &b, float beta, const Matrix &c) {
        check_sizes(function, sizes, a, b, c);
        if (sizes.m == 0 || sizes.n == 0 || sizes.batches == 0) return;
        detail::require(c.data, function, "C");
        const bool has_product = alpha != 0 && sizes.k > 0;
        if (!has_product && beta == 1) return;
        const detail::Array out = seen(c, sizes.batches, sizes.m, sizes.n);
        const detail::Ordered order(device_, stream_);
        if (has_product) {
            detail::require(a.data, function, "A");
            detail::require(b.data, function, "B");
            const detail::Array left = seen(b, sizes.batches, sizes.k, sizes.n), right = seen(a, sizes.batches, sizes.m, sizes.k);
            agpu_ops_matmul_options options = AGPU_OPS_MATMUL_OPTIONS_INIT;
            options.out = out.get();
            options.precision = "fp32";
            options.alpha = static_cast<double>(alpha);
            options.beta = static_cast<double>(beta);
            options.has_factors = 1;
            agpu_array result = nullptr;
            detail::check(agpu_ops_matmul(left.get(), right.get(), &options, &result));
            detail::check(agpu_release(result));
        } else {
            scale(out, beta);
        }
        order.done();
    }

    // Transposed, as all matrices are here.
    void add(float alpha, const Matrix &a, float beta, const Matrix &b, const detail::Array &out, std::int64_t rows, std::int64_t columns) const {
        const detail::Ordered order(device_, stream_);
        if (alpha == 0 && beta == 0) {
            scale(out, 0);
        } else {
            // What is not read need not be there: the other matrix stands in its place.
            const Matrix &read = alpha != 0 ? a : b;
            const detail::Array left = seen(alpha != 0 ? a : read, 1, rows, columns), right = seen(beta != 0 ? b : read, 1, rows, columns);
            agpu_ops_geam_options options = AGPU_OPS_GEAM_OPTIONS_INIT;
            options.out = out.get();
            options.alpha = static_cast<double>(alpha);
            options.beta = static_cast<double>(beta);
            options.has_factors = 1;
            agpu_array result = nullptr;
            detail::check(agpu_ops_geam(left.get(), right.get(), &options, &result));
            detail::check(agpu_release(result));
        }
        order.done();
    }

    void scale(const detail::Array &out, float beta) const {
        if (beta == 0) {
            const float zero = 0;
            detail::check(agpu_array_fill(out.get(), &zero, sizeof zero));
            return;
        }
        const detail::Array factor = detail::number(device_, static_cast<double>(beta));
        const agpu_array inputs[] = {out.get(), factor.get()};
        const agpu_ops_elementwise_options options = {sizeof(agpu_ops_elementwise_options), out.get(), 0};
        agpu_array result = nullptr;
        detail::check(agpu_ops_elementwise("multiply", inputs, 2, &options, &result));
        detail::check(agpu_release(result));
    }

    agpu_device device_;
    hipStream_t stream_ = nullptr;
};

// An instance for the calling thread's current device: each thread has one for each device.
inline ROCmBLAS &get_blas() {
    thread_local std::map<agpu_device, ROCmBLAS> instances;
    return instances[detail::current_device()];
}

}  // namespace rocm
}  // namespace amdgpu

#endif
