// Every function of the interface but ops.h's other families through amdgpu.hpp.
#include "check.hpp"

#include <numeric>
#include <thread>

namespace {

constexpr auto source = R"(
struct Pair { float scale; int shift; };
template <typename T> __global__ void affine(T *out, const T *x, Pair pair, double factor, bool negate, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (negate ? -1 : 1) * (pair.scale * x[i] + pair.shift) * factor;
}
extern "C" __global__ void add(float *x) { x[threadIdx.x] += STEP; }
)";

struct Pair {
    float scale;
    int shift;
};

void devices() {
    CHECK(agpu_interface_version() == AGPU_INTERFACE_VERSION && !amdgpu::version().empty());
    const auto all = amdgpu::list_devices();
    CHECK(!all.empty() && std::string_view(all.back().name) == "cpu:0");
    const amdgpu::Device best, cpu("cpu", {.optimization_level = "high", .telemetry = "off"});
    CHECK(std::string_view(best.info().name) == all.front().name);
    CHECK(cpu.memory().total_bytes == cpu.info().total_memory_bytes);
    cpu.synchronize();
    expect(AGPU_ERROR_DEVICE_NOT_FOUND, "toaster", [] { amdgpu::Device("toaster"); });
}

void memory(const amdgpu::Device &device) {
    const auto before = device.memory_statistics();
    std::vector<float> x(1000);
    std::iota(x.begin(), x.end(), 0.0F);
    {
        const amdgpu::Memory memory = device.upload(std::span<const float>(x)), other = device.allocate(memory.size_bytes());
        const amdgpu::Memory shared = memory;
        CHECK(device.memory_statistics().allocations == before.allocations + 2);
        CHECK(memory.is_host_visible() && std::memcmp(memory.address(), x.data(), 4000) == 0);
        other.fill(0);
        other.copy_from(shared, 400, 0, 40);
        CHECK(other.read<float>(1)[0] == 10.0F && other.read<float>(1, 400)[0] == 0.0F);
        const amdgpu::Memory pinned = device.allocate(64, {.kind = AGPU_MEMORY_PINNED});
        CHECK(device.memory_statistics(AGPU_MEMORY_PINNED).allocations == 1);
        expect(AGPU_ERROR_INVALID_ARGUMENT, "do not fit", [&] { (void)other.read<float>(1001); });
    }
    CHECK(device.memory_statistics().allocations == before.allocations);
    device.reset_memory_peaks();
    CHECK(device.memory_statistics().allocated_bytes_peak == device.memory_statistics().allocated_bytes);
    CHECK(device.empty_cache() > 0);
    const std::vector<std::uint64_t> sizes{32 << 20, 32 << 20};
    CHECK(device.warm_up(sizes) == 64 << 20 && device.warm_up(sizes) == 0);
    CHECK(device.empty_pool(AGPU_MEMORY_DEVICE) == 64 << 20);
}

void streams_and_kernels(const amdgpu::Device &device) {
    const amdgpu::Stream stream = device.create_stream(), second = device.create_stream();
    amdgpu::Event start = device.create_event(), end = device.create_event();
    std::vector<float> x(1000, 2.0F);
    const amdgpu::Memory out = device.allocate(4000, {.stream = stream});
    const amdgpu::Kernel kernel = device.compile(source, {.kernel_name = "affine<float>", .defines = {{"STEP", "1"}}});
    CHECK(kernel.info().parameter_count == 6);
    start.record(stream);
    kernel.launch({4}, {256}, {out, std::span<float>(x), Pair{3.0F, 1}, 0.5, false, 1000U}, stream);
    end.record(stream);
    second.wait(end);
    device.default_stream().wait(end);
    device.default_stream().synchronize();
    second.synchronize();
    CHECK(second.is_idle() && end.is_complete());
    CHECK(!second.lend([](void *) { CHECK(false); }));
    end.synchronize();
    CHECK(start.until(end).count() > 0);
    for (const float value : out.read<float>(1000)) CHECK(value == 3.5F);
    expect(AGPU_ERROR_ARGUMENT_COUNT, "affine", [&] { kernel.launch({1}, {1}, {out}); });
    expect(AGPU_ERROR_COMPILE_FAILED, "kernel.hip", [&] { (void)device.compile("__global__ void f( { }"); });

    const amdgpu::Kernel add = device.compile(source, {.kernel_name = "add", .defines = {{"STEP", "2"}}});
    const amdgpu::Launch launch = add.prepare({1}, {8}, {out});
    launch();
    launch(stream);
    stream.synchronize();
    CHECK(out.read<float>(1)[0] == 7.5F);
    const amdgpu::CapturedGraph graph = device.record([&] {
        out.fill(0);
        launch(stream);
        launch(stream);
    });
    CHECK(graph.node_count() == 3 && out.read<float>(1)[0] == 7.5F);
    graph.replay();
    graph.replay(stream);
    stream.synchronize();
    CHECK(out.read<float>(1)[0] == 4.0F);
    try {
        (void)device.record([] { throw std::runtime_error("on the way"); });
        CHECK(false);
    } catch (const std::runtime_error &error) {
        CHECK(std::string_view(error.what()) == "on the way");
    }
    // The recording was given up, so this runs.
    launch();
    CHECK(out.read<float>(1)[0] == 6.0F);
}

void threads(const amdgpu::Device &device) {
    const amdgpu::Kernel kernel = device.compile("__global__ void count(unsigned *x) { atomicAdd(x, 1u); }");
    const amdgpu::Memory sum = device.allocate(4);
    sum.fill(0);
    std::vector<std::thread> all;
    for (int i = 0; i < 16; i++)
        all.emplace_back([kernel, sum] {
            for (int round = 0; round < 50; round++) kernel.launch({1}, {4}, {sum});
        });
    for (std::thread &thread : all) thread.join();
    CHECK(sum.read<unsigned>(1)[0] == 16 * 50 * 4);
}

void networks(const amdgpu::Device &device) {
    const amdgpu::Network network(R"(neuralNetwork tiny:
  layer input(2, activation: identity)
  layer output(1, activation: identity)
  connect input -> output (weight: 0.25)
)",
                                  {.seed = 3});
    CHECK(network.info().inputs == 2);
    const std::vector<float> input = {1, 3, 5, 7};
    CHECK((network.forward(input) == std::vector<float>{1, 3}));
    CHECK(network.weights("input -> output").first[0] == 0.25F && network.weights("input -> output").second == 1);
    network.set_weights("input -> output", std::vector<float>{1, -1});
    CHECK((network.forward(input) == std::vector<float>{-2, -2}));
    expect(AGPU_ERROR_NETWORK_INVALID, "error", [] { amdgpu::Network("nothing"); });

    const amdgpu::SpikingNetwork spiking(device, R"(neuralNetwork driven:
  dt = 0.1.ms
  neuron cell:
    params(tau = 10.ms)
    dv/dt = (2.0 - v) / tau
    threshold: v > 1
    reset: v = 0
  population cells(5, model: cell)
  record spikes(cells)
)",
                                         {.threads = 1});
    const amdgpu::Run run = spiking.run(200);
    CHECK(run.info().steps == 200 && run.population(0).spikes == 10 && spiking.info().step_number == 200);
    const amdgpu::Spikes spikes = run.spikes(0);
    CHECK(spikes.neurons.size() == 10 && std::abs(spikes.times_seconds[0] - 0.0069) < 1e-4);
    spiking.set_state("cells.v", std::vector<float>(5, 0.5F));
    CHECK((spiking.state("cells.v") == std::vector<float>(5, 0.5F)));
}

void arrays(const amdgpu::Device &device) {
    const amdgpu::Array x(device, "float32", {2, 3});
    x.write(std::span<const float>(std::vector<float>{1, 2, 3, 4, 5, 6}));
    const amdgpu::Array turned = x.view({3, 2}, {1, 3});
    CHECK((turned.shape() == std::vector<std::int64_t>{3, 2}) && !turned.info().is_contiguous);
    CHECK((x.reshape({-1}).shape() == std::vector<std::int64_t>{6}));
    const amdgpu::Array sum = amdgpu::ops::elementwise("add", {x, x});
    sum.synchronize();
    CHECK((sum.read<float>() == std::vector<float>{2, 4, 6, 8, 10, 12}));
    CHECK((amdgpu::ops::reduce("sum", x, {.axes = {1}}).read<float>() == std::vector<float>{6, 15}));
    CHECK((amdgpu::ops::matmul(x, x, {.activation = "relu", .transpose_b = true}).read<float>() == std::vector<float>{14, 32, 32, 77}));
    const amdgpu::Array back = amdgpu::Array::from_dlpack(turned.to_dlpack());
    CHECK(back.info().address == x.info().address && back.info().strides[1] == 3);
    const amdgpu::Array copy(device, "float32", {2, 3});
    copy.fill(7.0F);
    copy.copy_from(x);
    CHECK(copy.read<float>() == x.read<float>());
    expect(AGPU_ERROR_SHAPE_MISMATCH, "", [&] { (void)x.reshape({4}); });
}

}  // namespace

int main() {
    devices();
    {
        const amdgpu::Device device("cpu:0");
        memory(device);
        streams_and_kernels(device);
        threads(device);
        networks(device);
        arrays(device);
    }
    amdgpu::telemetry::set_enabled(true);
    CHECK(!amdgpu::telemetry::is_watched());
    amdgpu::telemetry::mark("a piece of work", 1, 2);
    CHECK(amdgpu::telemetry::snapshot().find("a piece of work") != std::string::npos);
    CHECK(amdgpu::telemetry::prometheus().find("# TYPE amdgpu_") != std::string::npos);
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
