// Memory, streams and devices of an AMD GPU, for which tests/ops/fakes/driver.c stands in: its memory is the host's, its kernels do nothing.
#define AMDGPU_ROCM_NO_HEADERS
#include <amdgpu/rocm.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

namespace rocm = pyflame::backend::rocm;

namespace {

void copies(hipStream_t stream) {
    rocm::ROCmMemoryManager &manager = rocm::get_memory_manager();
    const std::size_t bytes = 4096;
    std::vector<unsigned char> host(bytes, 7), back(bytes);
    void *const a = manager.allocate_async(bytes, stream), *const b = manager.allocate(bytes);
    auto *const pinned = static_cast<unsigned char *>(manager.allocate_pinned(bytes));
    std::memset(pinned, 9, bytes);
    manager.copy_host_to_device_async(a, host.data(), bytes, stream);
    manager.copy_device_to_device_async(b, a, bytes / 2, stream);
    manager.copy_host_to_device_async(static_cast<char *>(b) + bytes / 2, pinned, bytes / 2, stream);
    manager.memset_async(b, 5, 16, stream);
    manager.copy_device_to_host_async(back.data(), b, bytes, stream);
    rocm::synchronize();
    CHECK(back[0] == 5 && back[15] == 5 && back[16] == 7 && back[bytes / 2 - 1] == 7 && back[bytes / 2] == 9 && back[bytes - 1] == 9);
    // The fake's kernels compute nothing; that the launch comes through in the order of the stream is all there is to see.
    rocm::launch_elementwise_unary(pyflame::ir::OpType::NEG, static_cast<float *>(a), static_cast<float *>(b), bytes / sizeof(float), stream);
    manager.deallocate_async(a, stream);
    manager.deallocate(b);
    manager.deallocate_pinned(pinned);
    CHECK(manager.get_stats().total_allocated == 0);
}

template <typename Work>
void refuses(const char *words, Work work) {
    try {
        work();
    } catch (const std::exception &error) {
        if (std::string_view(error.what()).find(words) != std::string_view::npos) return;
        std::fprintf(stderr, "%s\n", error.what());
    }
    std::fprintf(stderr, "nothing was thrown with %s\n", words);
    std::exit(1);
}

}  // namespace

int main() {
    CHECK(rocm::is_available() && rocm::get_device_count() == 1 && rocm::get_current_device() == -1);
    const rocm::DeviceInfo info = rocm::get_device_info(0);
    CHECK(info.name == "stand-in" && info.architecture == "gfx942" && info.total_memory == 1 << 30);
    rocm::set_device(0);
    CHECK(rocm::get_current_device() == 0);
    hipStream_t stream = rocm::create_stream();
    // Neither of the default stream nor of ours: a stream of the driver.
    for (hipStream_t one : {hipStream_t{nullptr}, stream, reinterpret_cast<hipStream_t>(std::uintptr_t{0x40})}) copies(one);
    rocm::destroy_stream(stream);
    // Memory of the host is none of the GPU's.
    std::vector<float> host(4);
    rocm::ROCmMemoryManager &manager = rocm::get_memory_manager();
    float *const memory = static_cast<float *>(manager.allocate(16));
    refuses("is no memory of hip:0", [&] { manager.copy_device_to_device(memory, host.data(), 16); });
    refuses("is no memory of hip:0", [&] { manager.memset(host.data(), 0, 16); });
    refuses("is no memory of hip:0", [&] { rocm::launch_silu_forward(memory, host.data(), 4, nullptr); });
    refuses("is no memory of hip:0", [&] {
        rocm::get_blas().gemm(rocblas_operation_none, rocblas_operation_none, 2, 2, 1, 1, host.data(), 2, memory, 1, 0, memory, 2);
    });
    manager.deallocate(memory);
    std::puts("ok");
    return 0;
}
