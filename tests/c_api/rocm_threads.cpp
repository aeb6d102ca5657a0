// Eight threads on one memory manager, each with its own BLAS and DNN instance and its own stream.
#include <amdgpu/rocm.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace rocm = pyflame::backend::rocm;

namespace {

constexpr int threads = 8, rounds = 60;
std::atomic<int> wrong{0};

void work(int number) {
    rocm::set_device(0);
    rocm::ROCmMemoryManager &manager = rocm::get_memory_manager();
    hipStream_t stream = rocm::create_stream();
    rocm::get_blas().set_stream(stream);
    rocm::get_dnn().set_stream(stream);
    for (int round = 0; round < rounds; round++) {
        const std::int64_t count = 64 + 16 * ((number * 31 + round * 7) % 40);
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
        std::vector<float> host(static_cast<std::size_t>(count), static_cast<float>(number + 1)), back(host.size());
        auto *const a = static_cast<float *>(manager.allocate_async(bytes, stream));
        auto *const b = static_cast<float *>(manager.allocate(bytes));
        auto *const product = static_cast<float *>(manager.allocate(sizeof(float)));
        manager.copy_host_to_device_async(a, host.data(), bytes, stream);
        rocm::launch_elementwise_binary(pyflame::ir::OpType::MUL, b, a, a, count, stream);
        rocm::get_dnn().activation_forward(pyflame::ir::OpType::RELU, pyflame::DType::Float32, {count}, b, a);
        // A row times a column.
        const int length = static_cast<int>(count);
        rocm::get_blas().gemm(rocblas_operation_none, rocblas_operation_none, 1, 1, length, 1, a, 1, b, length, 0, product, 1);
        float sum = 0;
        manager.copy_device_to_host_async(&sum, product, sizeof sum, stream);
        manager.copy_device_to_host_async(back.data(), b, bytes, stream);
        rocm::synchronize_stream(stream);
        const float square = static_cast<float>((number + 1) * (number + 1));
        for (const float value : back) wrong += value != square;
        // Whole numbers below 2^24.
        wrong += sum != square * square * static_cast<float>(count);
        manager.deallocate_async(a, stream);
        manager.deallocate(b);
        manager.deallocate(product);
        if (round % 16 == 0) manager.clear_pool();
        (void)manager.get_stats();
    }
    rocm::get_blas().set_stream(nullptr);
    rocm::get_dnn().set_stream(nullptr);
    rocm::destroy_stream(stream);
}

}  // namespace

// The device, for which the CPU is the default.
int main(int count, char **arguments) {
    // No other device is looked for: the runtimes of GPUs keep memory of threads that have ended.
    for (const char *variable : {"AMDGPU_ROCM_DEVICES", "AMDGPU_DEVICES"}) setenv(variable, count > 1 ? arguments[1] : "cpu", 1);
    std::vector<std::thread> all;
    for (int number = 0; number < threads; number++) all.emplace_back(work, number);
    for (std::thread &one : all) one.join();
    const rocm::MemoryStats stats = (rocm::set_device(0), rocm::get_memory_manager().get_stats());
    if (wrong != 0 || stats.total_allocated != 0 || stats.total_allocations != 3 * threads * rounds ||
        stats.total_deallocations != stats.total_allocations) {
        std::fprintf(stderr, "%d values are wrong; %zu bytes are left\n", wrong.load(), stats.total_allocated);
        return 1;
    }
    std::puts("ok");
    return 0;
}
