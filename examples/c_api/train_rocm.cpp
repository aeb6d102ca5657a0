// A network with one hidden layer learns XOR through the ROCm interface.
//
// c++ -std=c++17 train_rocm.cpp $(pkg-config --cflags --libs amdgpu) -o train && AMDGPU_ROCM_DEVICES=cpu ./train
#include <amdgpu/rocm.hpp>

#include <cmath>
#include <cstdio>

namespace rocm = pyflame::backend::rocm;
using pyflame::ir::OpType;

// A column-major matrix in device memory.
struct Matrix {
    int rows, columns;
    float *data = static_cast<float *>(rocm::get_memory_manager().allocate(bytes()));
    std::size_t bytes() const { return sizeof(float) * static_cast<std::size_t>(rows * columns); }
    std::int64_t count() const { return std::int64_t{rows} * columns; }
    void set(const std::vector<float> &values) const { rocm::get_memory_manager().copy_host_to_device(data, values.data(), bytes()); }
    ~Matrix() { rocm::get_memory_manager().deallocate(data); }
};

// c = alpha * op(a) * op(b) + beta * c
void multiply(float alpha, const Matrix &a, bool ta, const Matrix &b, bool tb, float beta, const Matrix &c) {
    const auto op = [](bool transposed) { return transposed ? rocblas_operation_transpose : rocblas_operation_none; };
    rocm::get_blas().gemm(op(ta), op(tb), c.rows, c.columns, ta ? a.rows : a.columns, alpha, a.data, a.rows, b.data, b.rows, beta, c.data, c.rows);
}

int main() try {
    rocm::set_device(0);
    const int samples = 4, inputs = 3, hidden = 8;  // the third input is 1: a bias
    const Matrix x{samples, inputs}, target{samples, 1}, first{inputs, hidden}, second{hidden, 1};
    const Matrix h{samples, hidden}, by_h{samples, hidden}, slope{samples, hidden}, ones{samples, hidden}, y{samples, 1}, error{samples, 1}, loss{1, 1};
    x.set({0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1});
    target.set({0, 1, 1, 0});
    ones.set(std::vector<float>(samples * hidden, 1));
    std::vector<float> start(inputs * hidden), out(hidden);
    for (std::size_t i = 0; i < start.size(); i++) start[i] = std::sin(1.7f * static_cast<float>(i + 1));
    for (std::size_t i = 0; i < out.size(); i++) out[i] = std::cos(2.3f * static_cast<float>(i));
    first.set(start);
    second.set(out);

    float value = 0;
    for (int step = 0; step <= 2000; step++) {
        multiply(1, x, false, first, false, 0, h);
        rocm::launch_elementwise_unary(OpType::TANH, h.data, h.data, h.count(), nullptr);
        multiply(1, h, false, second, false, 0, y);
        rocm::launch_mse_loss(loss.data, y.data, target.data, y.count(), nullptr);
        rocm::get_memory_manager().copy_device_to_host(&value, loss.data, sizeof value);
        if (step % 500 == 0) std::printf("step %4d  loss %.6f\n", step, static_cast<double>(value));

        rocm::launch_elementwise_binary(OpType::SUB, error.data, y.data, target.data, y.count(), nullptr);
        multiply(1, error, false, second, true, 0, by_h);
        rocm::launch_elementwise_binary(OpType::MUL, slope.data, h.data, h.data, h.count(), nullptr);
        rocm::launch_elementwise_binary(OpType::SUB, slope.data, ones.data, slope.data, h.count(), nullptr);
        rocm::launch_elementwise_binary(OpType::MUL, by_h.data, by_h.data, slope.data, h.count(), nullptr);
        const float rate = 0.2f;
        multiply(-rate, h, true, error, false, 1, second);
        multiply(-rate, x, true, by_h, false, 1, first);
    }
    std::printf("%s\n", value < 1e-3f ? "learned" : "not learned");
    return value < 1e-3f ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
