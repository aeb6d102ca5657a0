// Every name of amdgpu/rocm.hpp on a device, in its memory and in streams. test_rocm.py compares results with NumPy.
#ifndef WITH_ROCM_HEADERS
#define AMDGPU_ROCM_NO_HEADERS
#endif
#include <amdgpu/rocm.hpp>

#include <cmath>
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
using pyflame::DType;
using pyflame::ir::OpType;

// The numbers of ROCm's headers, and of our declarations without them.
static_assert(hipSuccess == 0 && hipErrorInvalidValue == 1 && hipErrorOutOfMemory == 2 && hipErrorNotInitialized == 3);
static_assert(hipErrorInvalidDevice == 101 && hipErrorInvalidHandle == 400 && hipErrorNotReady == 600 && hipErrorUnknown == 999);
static_assert(rocblas_operation_none == 111 && rocblas_operation_transpose == 112 && rocblas_operation_conjugate_transpose == 113);
static_assert(rocblas_status_success == 0 && rocblas_status_invalid_handle == 1 && rocblas_status_not_implemented == 2);
static_assert(rocblas_status_invalid_pointer == 3 && rocblas_status_invalid_size == 4 && rocblas_status_memory_error == 5);
static_assert(rocblas_status_internal_error == 6 && miopenStatusSuccess == 0 && miopenStatusNotInitialized == 1);
static_assert(miopenStatusInvalidValue == 2 && miopenStatusBadParm == 3 && miopenStatusAllocFailed == 4 && miopenStatusInternalError == 5);
static_assert(miopenStatusNotImplemented == 6 && miopenStatusUnknownError == 7);

namespace {

// Whether the device is the CPU.
bool computes_on_host = true;

template <typename Thrown, typename Work>
void expect(const char *words, Work work) {
    try {
        work();
    } catch (const Thrown &error) {
        if (std::string_view(error.what()).find(words) != std::string_view::npos) return;
        std::fprintf(stderr, "%s\n  has no %s\n", error.what(), words);
        std::exit(1);
    }
    std::fprintf(stderr, "nothing was thrown with %s\n", words);
    std::exit(1);
}

// Device memory for as long as the object lives.
class Buffer {
public:
    explicit Buffer(const std::vector<float> &values) : count_(values.size()), data_(rocm::get_memory_manager().allocate(bytes())) {
        rocm::get_memory_manager().copy_host_to_device(data_, values.data(), bytes());
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { rocm::get_memory_manager().deallocate(data_); }
    float *get() const { return static_cast<float *>(data_); }
    std::vector<float> read() const {
        std::vector<float> values(count_);
        rocm::get_memory_manager().copy_device_to_host(values.data(), data_, bytes());
        return values;
    }
    bool is(const std::vector<float> &wanted) const {
        const std::vector<float> found = read();
        for (std::size_t i = 0; i < found.size(); i++)
            if (!(std::abs(found[i] - wanted[i]) <= 2e-6f * std::max(1.0f, std::abs(wanted[i])))) return false;
        return found.size() == wanted.size();
    }

private:
    std::size_t bytes() const { return count_ * sizeof(float); }
    std::size_t count_;
    void *data_;
};

void without_devices() {
    setenv("AMDGPU_ROCM_DEVICES", "hip:4095", 1);
    CHECK(!rocm::is_available() && rocm::get_device_count() == 0 && rocm::get_current_device() == -1);
    expect<std::runtime_error>("AMDGPU_ROCM_DEVICES=cpu", [] { rocm::set_device(0); });
    expect<std::runtime_error>("ROCm is not available", [] { (void)rocm::get_device_info(0); });
    expect<std::runtime_error>("ROCm is not available", [] { rocm::synchronize(); });
    expect<std::runtime_error>("ROCm is not available", [] { (void)rocm::get_memory_manager().allocate(4); });
    expect<std::runtime_error>("ROCm is not available", [] { (void)rocm::get_blas(); });
    expect<std::runtime_error>("ROCm is not available", [] { rocm::ROCmDNN dnn; });
}

void devices(const std::string &device) {
    setenv("AMDGPU_ROCM_DEVICES", (device + ",null:gfx1100").c_str(), 1);
    CHECK(rocm::is_available() && rocm::get_device_count() == 2 && rocm::get_current_device() == -1);
    const rocm::DeviceInfo info = rocm::get_device_info(0);
    CHECK(info.device_id == 0 && !info.name.empty() && !info.architecture.empty() && info.compute_units > 0);
    CHECK(info.free_memory > 0 && info.free_memory <= info.total_memory);
    CHECK(rocm::get_device_info(1).architecture == "gfx1100");
    expect<std::runtime_error>("1 is null:gfx1100", [] { (void)rocm::get_device_info(2); });
    expect<std::runtime_error>("rocm:-1", [] { rocm::set_device(-1); });
    rocm::set_device(1);
    CHECK(rocm::get_current_device() == 1);
    rocm::synchronize();
    rocm::set_device(0);
    // The names of the C interface that this layer leaves to others.
    agpu_text text = nullptr;
    CHECK(agpu_set_current_device("rocm:0") == AGPU_OK && agpu_get_current_device(&text) == AGPU_OK && agpu_release(text) == AGPU_OK);
    CHECK(agpu_synchronize_current_device() == AGPU_OK);
}

void memory() {
    rocm::ROCmMemoryManager::Config config;
    CHECK(config.enable_pooling && config.pool_size_mb == 256 && config.max_pool_size_mb == 4096 && config.use_pinned_host);
    config.pool_size_mb = 1;
    rocm::ROCmMemoryManager manager(config);
    char *const a = static_cast<char *>(manager.allocate(1 << 20)), *const b = static_cast<char *>(manager.allocate(4096));
    rocm::MemoryStats stats = manager.get_stats();
    CHECK(stats.total_allocated == (1 << 20) + 4096 && stats.peak_allocated == stats.total_allocated);
    CHECK(stats.total_allocations == 2 && stats.total_deallocations == 0 && stats.cache_hits + stats.cache_misses == 2);
    agpu_raw_facts facts = AGPU_RAW_FACTS_INIT;
    CHECK(agpu_raw_info(a + 1, &facts) == AGPU_OK && facts.first == a && facts.bytes == 1 << 20);
    manager.memset(a, 0x1ff, 4096);
    manager.copy_device_to_device(b, a, 4096);
    unsigned char host[4096] = {0};
    manager.copy_device_to_host(host, b, sizeof host);
    CHECK(host[0] == 0xff && host[4095] == 0xff);
    manager.deallocate(a);
    stats = manager.get_stats();
    CHECK(stats.total_allocated == 4096 && stats.peak_allocated == (1 << 20) + 4096 && stats.total_deallocations == 1);
    manager.deallocate(manager.allocate(1 << 20));
    CHECK(manager.get_stats().cache_hits > 0);
    manager.reset_stats();
    stats = manager.get_stats();
    CHECK(stats.total_allocated == 4096 && stats.peak_allocated == 4096 && stats.total_allocations == 0 && stats.cache_hits == 0);
    manager.clear_pool();
    std::size_t free = 0, total = 0;
    manager.get_memory_info(&free, &total);
    manager.get_memory_info(nullptr, nullptr);
    CHECK(free > 0 && free <= total);
    manager.deallocate(b);
    manager.deallocate(nullptr);
    CHECK(manager.allocate(0) == nullptr && manager.allocate_pinned(0) == nullptr);
    expect<std::invalid_argument>("freed already", [&] { manager.deallocate(b); });
    expect<std::invalid_argument>("not the beginning", [&] { manager.deallocate(host); });
    expect<std::runtime_error>("", [&] { (void)manager.allocate(std::size_t{1} << 60); });
    // What is left is freed with the manager.
    (void)manager.allocate(64);
    (void)manager.allocate_pinned(64);
}

// Handles that are no streams are refused where the CPU computes; a GPU's driver takes every handle that is not ours for a stream of another
// library, and reads it.
template <typename Call> void refuses_strangers(Call call) {
    if (!computes_on_host) return;
    char stranger[64] = {0};
    expect<std::runtime_error>("stream", [&] { call(reinterpret_cast<hipStream_t>(stranger)); });
}

void pinned_memory_and_streams() {
    for (const bool is_pinned : {true, false}) {
        rocm::ROCmMemoryManager::Config config;
        config.use_pinned_host = is_pinned;
        config.enable_pooling = false;
        rocm::ROCmMemoryManager manager(config);
        hipStream_t stream = rocm::create_stream();
        const std::size_t bytes = 1 << 16;
        auto *const host = static_cast<std::uint8_t *>(manager.allocate_pinned(bytes));
        for (std::size_t i = 0; i < bytes; i++) host[i] = static_cast<std::uint8_t>(i * 7);
        void *const a = manager.allocate_async(bytes, stream), *const b = manager.allocate_async(bytes, stream);
        std::vector<std::uint8_t> back(bytes);
        manager.copy_host_to_device_async(a, host, bytes, stream);
        manager.copy_device_to_device_async(b, a, bytes, stream);
        manager.memset_async(static_cast<char *>(b) + bytes / 2, 9, bytes / 2, stream);
        manager.copy_device_to_host_async(back.data(), b, bytes, stream);
        rocm::synchronize_stream(stream);
        CHECK(std::memcmp(back.data(), host, bytes / 2) == 0 && back[bytes / 2] == 9 && back[bytes - 1] == 9);
        expect<std::invalid_argument>("deallocate_pinned", [&] { manager.deallocate(host); });
        expect<std::invalid_argument>("free it with deallocate", [&] { manager.deallocate_pinned(a); });
        refuses_strangers([&](hipStream_t stranger) { manager.deallocate_async(a, stranger); });
        manager.deallocate_async(a, stream);
        manager.deallocate_async(b, stream);
        manager.deallocate_pinned(host);
        manager.deallocate_pinned(nullptr);
        CHECK(manager.get_stats().total_allocated == 0 && manager.get_stats().total_deallocations == 3);
        rocm::destroy_stream(stream);
    }
    rocm::ROCmMemoryManager::Config config;
    config.pool_size_mb = 5000;
    expect<std::invalid_argument>("must not exceed max_pool_size_mb", [&] { rocm::ROCmMemoryManager manager(config); });
}

void bad_ranges() {
    rocm::ROCmMemoryManager &manager = rocm::get_memory_manager();
    char *const a = static_cast<char *>(manager.allocate(256));
    char host[512] = {0};
    expect<std::invalid_argument>("leave the allocation of 256 bytes", [&] { manager.copy_host_to_device(a, host, 257); });
    expect<std::invalid_argument>("leave the allocation", [&] { manager.copy_device_to_host(host, a + 1, 256); });
    expect<std::invalid_argument>("overlap", [&] { manager.copy_device_to_device(a, a + 8, 16); });
    expect<std::invalid_argument>("destination is NULL", [&] { manager.copy_host_to_device(nullptr, host, 4); });
    expect<std::invalid_argument>("source is NULL", [&] { manager.copy_device_to_host(host, nullptr, 4); });
    expect<std::invalid_argument>("address is NULL", [&] { manager.memset(nullptr, 0, 4); });
    expect<std::invalid_argument>("leave the allocation", [&] { manager.memset(a + 255, 0, 2); });
    refuses_strangers([&](hipStream_t stranger) { manager.memset_async(a, 0, 2, stranger); });
    manager.copy_host_to_device(nullptr, nullptr, 0);
    manager.deallocate(a);
}

void blas(hipStream_t stream) {
    rocm::ROCmBLAS own;
    own.set_stream(stream);
    rocm::get_blas().set_stream(nullptr);
    CHECK(own.handle() != nullptr && own.handle() == rocm::get_blas().handle());
    // Column-major: A is (1 3; 2 4), B is (5 7; 6 8).
    const Buffer a({1, 2, 3, 4}), b({5, 6, 7, 8}), c({1, 1, 1, 1}), batches({1, 1, 1, 1, 1, 1, 1, 1});
    own.gemm(rocblas_operation_none, rocblas_operation_none, 2, 2, 2, 1, a.get(), 2, b.get(), 2, 0, c.get(), 2);
    CHECK(c.is({23, 34, 31, 46}));
    own.gemm(rocblas_operation_transpose, rocblas_operation_conjugate_transpose, 2, 2, 2, 1, a.get(), 2, b.get(), 2, 1, c.get(), 2);
    CHECK(c.is({23 + 19, 34 + 43, 31 + 22, 46 + 50}));
    own.gemm_strided_batched(rocblas_operation_none, rocblas_operation_none, 2, 2, 2, 1, a.get(), 2, 0, b.get(), 2, 0, 1, batches.get(), 2, 4, 2);
    CHECK(batches.is({24, 35, 32, 47, 24, 35, 32, 47}));
    own.geam(rocblas_operation_none, rocblas_operation_transpose, 2, 2, 2, a.get(), 2, -1, b.get(), 2, c.get(), 2);
    CHECK(c.is({-3, -3, 0, 0}));
    expect<std::invalid_argument>("leave the allocation", [&] {
        own.gemm(rocblas_operation_none, rocblas_operation_none, 2, 2, 2, 1, a.get(), 3, b.get(), 2, 0, c.get(), 2);
    });
    refuses_strangers([&](hipStream_t stranger) {
        own.set_stream(stranger);
        own.gemm(rocblas_operation_none, rocblas_operation_none, 2, 2, 2, 1, a.get(), 2, b.get(), 2, 0, c.get(), 2);
    });
}

void dnn(hipStream_t stream) {
    rocm::ROCmDNN own;
    own.set_stream(stream);
    rocm::get_dnn().set_stream(nullptr);
    CHECK(own.handle() != nullptr && own.handle() == rocm::get_dnn().handle());
    const rocm::ConvParams convolution = rocm::ConvParams::Conv2D(0, 0);
    CHECK(convolution.stride == std::vector<int>({1, 1}) && convolution.groups == 1);
    const Buffer x({1, 2, 3, 4, 5, 6, 7, 8, 9}), weight({1, 2, 3, 4}), y({0, 0, 0, 0}), one({0});
    const std::size_t wanted = own.conv2d_forward_workspace_size(DType::Float32, {1, 1, 3, 3}, {1, 1, 2, 2}, {1, 1, 2, 2}, convolution);
    own.conv2d_forward(DType::Float32, {1, 1, 3, 3}, x.get(), {1, 1, 2, 2}, weight.get(), {1, 1, 2, 2}, y.get(), convolution, nullptr, wanted);
    CHECK(y.is({37, 47, 67, 77}));
    const rocm::PoolParams window = rocm::PoolParams::Pool2D(2, 2);
    CHECK(!window.ceil_mode && window.stride == std::vector<int>({1, 1}));
    own.pooling2d_forward(OpType::MAX_POOL2D, DType::Float32, {1, 1, 3, 3}, x.get(), {1, 1, 2, 2}, y.get(), window);
    CHECK(y.is({5, 6, 8, 9}));
    own.pooling2d_forward(OpType::AVG_POOL2D, DType::Float32, {1, 1, 3, 3}, x.get(), {1, 1, 2, 2}, y.get(), window);
    CHECK(y.is({3, 4, 6, 7}));
    const Buffer scale({2}), bias({1}), mean({0}), variance({1}), saved_mean({0}), saved_inv_var({0});
    rocm::BatchNormParams norm;
    CHECK(norm.training && norm.epsilon == 1e-5 && norm.momentum == 0.1);
    norm.epsilon = 0;
    norm.momentum = 0.5;
    own.batchnorm_forward_training(DType::Float32, {2, 1, 2}, weight.get(), y.get(), scale.get(), bias.get(), mean.get(), variance.get(),
                                   saved_mean.get(), saved_inv_var.get(), norm);
    const float step = 1 / std::sqrt(1.25f);
    CHECK(y.is({1 - 3 * step, 1 - step, 1 + step, 1 + 3 * step}) && saved_mean.is({2.5}) && saved_inv_var.is({step}));
    CHECK(mean.is({1.25}) && variance.is({0.5f + 5.0f / 6}));
    const Buffer zero({0}), four({4});
    own.batchnorm_forward_inference(DType::Float32, {4, 1}, weight.get(), y.get(), scale.get(), bias.get(), zero.get(), four.get(), norm);
    CHECK(y.is({2, 3, 4, 5}));
    own.activation_forward(OpType::LEAKY_RELU, DType::Float32, {4}, weight.get(), y.get(), 0.5f);
    CHECK(y.is({1, 2, 3, 4}));
    own.softmax_forward(DType::Float32, {2, 2}, weight.get(), y.get(), -1, true);
    const float low = -std::log1p(std::exp(1.0f)), high = -std::log1p(std::exp(-1.0f));
    CHECK(y.is({low, high, low, high}));
    own.reduce(OpType::REDUCE_PROD, DType::Float32, {4}, weight.get(), {}, one.get(), {}, nullptr, 0);
    CHECK(one.is({24}));
}

void kernels(hipStream_t stream) {
    const Buffer x({-1, 0, 2}), y({3, -2, 2}), out({0, 0, 0});
    rocm::launch_gelu_forward(out.get(), x.get(), 3, stream);
    CHECK(out.is({-0.15865525f, 0, 1.9544997f}));
    rocm::launch_silu_forward(out.get(), x.get(), 3, stream);
    CHECK(out.is({-0.26894142f, 0, 1.7615942f}));
    rocm::launch_elementwise_binary(OpType::SUB, out.get(), x.get(), y.get(), 3, stream);
    CHECK(out.is({-4, 2, 0}));
    rocm::launch_elementwise_unary(OpType::ABS, out.get(), x.get(), 3, stream);
    CHECK(out.is({1, 0, 2}));
    rocm::launch_comparison(OpType::GE, out.get(), x.get(), y.get(), 3, stream);
    CHECK(out.is({0, 1, 1}));
    rocm::launch_where(out.get(), x.get(), y.get(), x.get(), 3, stream);
    CHECK(out.is({3, 0, 2}));
    rocm::launch_clamp(out.get(), y.get(), -1, 2.5f, 3, stream);
    CHECK(out.is({2.5f, -1, 2}));
    const Buffer loss({0}), chances({0.5f, 0.25f}), truths({1, 0}), logits({0, 0, 0, 1});
    rocm::launch_mse_loss(loss.get(), x.get(), y.get(), 3, stream);
    CHECK(loss.is({20.0f / 3}));
    rocm::launch_bce_loss(loss.get(), chances.get(), truths.get(), 2, stream);
    CHECK(loss.is({-(std::log(0.5f) + std::log(0.75f)) / 2}));
    void *const classes = rocm::get_memory_manager().allocate(2 * sizeof(std::int32_t));
    rocm::get_memory_manager().memset(classes, 0, 2 * sizeof(std::int32_t));
    rocm::launch_cross_entropy_loss(loss.get(), logits.get(), static_cast<const std::int32_t *>(classes), 2, 2, stream);
    CHECK(loss.is({(std::log(2.0f) + std::log1p(std::exp(1.0f))) / 2}));
    rocm::get_memory_manager().deallocate(classes);
}

void macros() {
    int calls = 0;
    HIP_CHECK((calls++, hipSuccess));
    MIOPEN_CHECK((calls++, miopenStatusSuccess));
    ROCBLAS_CHECK((calls++, rocblas_status_success));
    CHECK(calls == 3);
    expect<std::runtime_error>("MIOpen error: 3", [] { MIOPEN_CHECK(miopenStatusBadParm); });
    expect<std::runtime_error>("rocBLAS error: 4", [] { ROCBLAS_CHECK(rocblas_status_invalid_size); });
    expect<std::runtime_error>((std::string("HIP error: ") + hipGetErrorString(hipErrorOutOfMemory)).c_str(), [] { HIP_CHECK(hipErrorOutOfMemory); });
#if !AMDGPU_HAS_HIP_HEADERS
    for (const hipError_t error : {hipErrorInvalidValue, hipErrorOutOfMemory, hipErrorNotInitialized, hipErrorInvalidDevice, hipErrorInvalidHandle,
                                   hipErrorNotReady, hipErrorUnknown})
        expect<std::runtime_error>((std::string("HIP error: ") + hipGetErrorString(error)).c_str(), [&] { HIP_CHECK(error); });
    expect<std::runtime_error>("HIP error: out of memory", [] { HIP_CHECK(hipErrorOutOfMemory); });
    CHECK(std::strcmp(hipGetErrorString(hipSuccess), "no error") == 0);
#endif
    CHECK(std::strcmp(pyflame::ir::op_name(OpType::REDUCE_MEAN), "REDUCE_MEAN") == 0);
    CHECK(std::strcmp(pyflame::ir::operation_name(OpType::CLAMP), "clip") == 0 && amdgpu::dtype_size(DType::BFloat16) == 2);
}

}  // namespace

// The device, for which the CPU is the default.
int main(int count, char **arguments) {
    without_devices();
    const std::string_view device = count > 1 ? arguments[1] : "cpu";
    computes_on_host = device.substr(0, 3) == "cpu";
    devices(device.data());
    memory();
    pinned_memory_and_streams();
    bad_ranges();
    hipStream_t stream = rocm::create_stream();
    for (hipStream_t one : {hipStream_t{nullptr}, stream}) {
        blas(one);
        dnn(one);
        kernels(one);
    }
    rocm::destroy_stream(stream);
    macros();
    CHECK(rocm::get_memory_manager().get_stats().total_allocated == 0);
    std::puts("ok");
    return 0;
}
