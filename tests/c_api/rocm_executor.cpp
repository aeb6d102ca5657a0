// The graph executor of the ROCm layer, on the CPU device.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <amdgpu/rocm.hpp>

#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

namespace rocm = pyflame::backend::rocm;
namespace ir = pyflame::ir;
using pyflame::DType;
using ir::OpType;
using Values = std::vector<float>;

static void *upload(const void *values, std::size_t bytes) {
    void *address = rocm::get_memory_manager().allocate(bytes);
    rocm::get_memory_manager().copy_host_to_device(address, values, bytes);
    return address;
}

static void *upload(const Values &values) { return upload(values.data(), values.size() * sizeof(float)); }

static Values values_of(const rocm::ExecutionOutput &output) {
    std::size_t count = 1;
    for (const std::int64_t extent : output.shape) count *= static_cast<std::size_t>(extent);
    Values values(count);
    output.copy_to_host(values.data(), count * sizeof(float));
    return values;
}

static void products() {
    ir::Graph graph;
    const auto x = graph.add_input(DType::Float32, {2, 2});
    const auto w = graph.add_constant(DType::Float32, {2, 2}, upload(Values{1, -2, 3, 4}));
    const auto bias = graph.add_constant(DType::Float32, {2}, upload(Values{1, -1}));
    const auto product = graph.add_node(OpType::MATMUL, {x, w});
    const auto hidden = graph.add_node(OpType::RELU, {graph.add_node(OpType::ADD, {product, bias})});
    const auto transposed = graph.add_node(OpType::TRANSPOSE, {hidden}, "axes = [1, 0]");
    const auto flat = graph.add_node(OpType::RESHAPE, {transposed}, "shape = [-1]");
    const auto total = graph.add_node(OpType::REDUCE_SUM, {graph.add_node(OpType::MUL, {flat, graph.add_number(2)})});
    CHECK((graph.shape(flat) == std::vector<std::int64_t>{4} && graph.dtype(total) == "float32"));

    rocm::ROCmExecutor::Config config;
    config.enable_profiling = true;
    config.sync_after_launch = true;
    rocm::ROCmExecutor executor(config);
    CHECK(executor.get_device_info().device_id == 0 && executor.get_memory_stats().total_allocated > 0);
    graph.bind(x, upload(Values{1, 0, 0, 1}));
    const auto result = executor.execute(graph, {hidden, total});
    CHECK(result && result.outputs.size() == 2 && result.total_seconds > 0);
    // The weights and the bias: {2, -3} and {4, 3}, without what is negative.
    CHECK((values_of(result.outputs[0]) == Values{2, 0, 4, 3} && values_of(result.outputs[1]) == Values{18}));
    // The product, the bias and the activation are one node.
    CHECK(!result.node_times.empty() && result.node_times[0].operation == "matmul");
    for (const auto &time : result.node_times) CHECK(time.seconds > 0 && time.operation != "relu");
    CHECK(graph.explain().find("is part of the product") != std::string::npos);
    graph.bind(x, upload(Values{0, 1, 1, 0}));
    CHECK((values_of(executor.execute(graph, {hidden}).outputs[0]) == Values{4, 3, 2, 0}));
}

static void losses() {
    ir::Graph graph;
    const auto p = graph.add_input(DType::Float32, {3}), t = graph.add_input(DType::Float32, {3});
    const auto logits = graph.add_input(DType::Float32, {2, 3}), labels = graph.add_input(DType::Int32, {2});
    const auto mse = graph.add_node(OpType::MSE_LOSS, {p, t}), bce = graph.add_node(OpType::BCE_LOSS, {p, t});
    const auto entropy = graph.add_node(OpType::CROSS_ENTROPY_LOSS, {logits, labels});
    const std::int32_t chosen[2] = {2, 0};
    graph.bind(p, upload(Values{0.5f, 0.25f, 1}));
    graph.bind(t, upload(Values{1, 0, 1}));
    graph.bind(logits, upload(Values{1, 2, 3, 0, 0, 0}));
    graph.bind(labels, upload(chosen, sizeof chosen));
    rocm::ROCmExecutor executor;
    const auto result = executor.execute(graph, {mse, bce, entropy});
    CHECK(result);
    const double wanted[3] = {(0.25 + 0.0625) / 3, -(std::log(0.5) + std::log(0.75)) / 3,
                              ((std::log(std::exp(1) + std::exp(2) + std::exp(3)) - 3) + std::log(3)) / 2};
    for (std::size_t i = 0; i < 3; i++) CHECK(std::abs(values_of(result.outputs[i])[0] - wanted[i]) < 1e-6);
}

static void images() {
    ir::Graph graph;
    const auto x = graph.add_input(DType::Float32, {1, 1, 2, 2});
    const auto w = graph.add_constant(DType::Float32, {1, 1, 1, 1}, upload(Values{2}));
    const auto statistics = [&](float value) { return graph.add_constant(DType::Float32, {1}, upload(Values{value})); };
    const auto convolved = graph.add_node(OpType::CONV2D, {x, w});
    const auto normalised = graph.add_node(OpType::BATCH_NORM, {convolved, statistics(1), statistics(4)}, "eps = 0.0");
    const auto y = graph.add_node(OpType::RELU, {normalised});
    const auto pooled = graph.add_node(OpType::MAX_POOL2D, {y}, "window = 2");
    graph.bind(x, upload(Values{0, 1, 2, 3}));
    rocm::ROCmExecutor executor;
    const auto result = executor.execute(graph, {y, pooled});
    CHECK(result && (values_of(result.outputs[0]) == Values{0, 0.5f, 1.5f, 2.5f}) && (values_of(result.outputs[1]) == Values{2.5f}));
    CHECK(graph.explain().find("part of the weights") != std::string::npos);
}

template <typename Error, typename Call>
static void refuses(const char *words, Call &&call) {
    try {
        call();
    } catch (const Error &error) {
        CHECK(std::strstr(error.what(), words) != nullptr);
        return;
    }
    CHECK(false);
}

static void bad_input() {
    ir::Graph graph;
    const auto x = graph.add_input(DType::Float32, {512, 512});
    rocm::ROCmExecutor executor;
    refuses<std::invalid_argument>("name at least one output", [&] { (void)executor.execute(graph, {}); });
    refuses<std::invalid_argument>("call bind first", [&] { (void)executor.execute(graph, {x}); });
    refuses<std::invalid_argument>("is no argument", [&] { graph.bind(7, &graph); });
    refuses<std::invalid_argument>("axes = [1, 0]", [&] { (void)graph.add_node(OpType::TRANSPOSE, {x}); });
    refuses<std::invalid_argument>("takes two inputs", [&] { (void)graph.add_node(OpType::MSE_LOSS, {x}); });
    refuses<std::invalid_argument>("takes 2 inputs", [&] { (void)graph.add_node(OpType::ADD, {x}); });
    refuses<std::invalid_argument>("address is NULL", [&] { (void)graph.add_constant(DType::Float32, {1}, nullptr); });
    graph.bind(x, upload(Values(512 * 512)));
    refuses<std::invalid_argument>("node 99 does not exist", [&] { (void)executor.execute(graph, {99}); });
    auto y = x;
    for (int i = 0; i < 4; i++) y = graph.add_node(OpType::SOFTMAX, {y});
    rocm::ROCmExecutor::Config config;
    config.workspace_size_mb = 1;
    rocm::ROCmExecutor small(config);
    const auto result = small.execute(graph, {y});
    CHECK(!result && result.error.find("need 2097152 bytes, workspace_bytes allows 1048576") != std::string::npos);
    CHECK(executor.execute(graph, {y}));
}

static void chains() {
    CHECK(rocm::can_fuse({OpType::MATMUL, OpType::ADD}) == rocm::FusedOpType::MATMUL_BIAS);
    CHECK(rocm::can_fuse({OpType::MATMUL, OpType::ADD, OpType::RELU}) == rocm::FusedOpType::MATMUL_BIAS_RELU);
    CHECK(rocm::can_fuse({OpType::MATMUL, OpType::ADD, OpType::GELU}) == rocm::FusedOpType::MATMUL_BIAS_GELU);
    CHECK(rocm::can_fuse({OpType::CONV2D, OpType::ADD}) == rocm::FusedOpType::CONV_BIAS);
    CHECK(rocm::can_fuse({OpType::CONV2D, OpType::ADD, OpType::RELU}) == rocm::FusedOpType::CONV_BIAS_RELU);
    CHECK(rocm::can_fuse({OpType::CONV2D, OpType::BATCH_NORM, OpType::RELU}) == rocm::FusedOpType::CONV_BN_RELU);
    CHECK(rocm::can_fuse({OpType::ADD, OpType::RELU}) == rocm::FusedOpType::ADD_RELU);
    CHECK(rocm::can_fuse({OpType::MUL, OpType::ADD}) == rocm::FusedOpType::MUL_ADD);
    CHECK(!rocm::can_fuse({OpType::RELU, OpType::ADD}) && !rocm::can_fuse({}));
}

int main() {
    setenv("AMDGPU_ROCM_DEVICES", "cpu", 1);
    products();
    losses();
    images();
    bad_input();
    chains();
    std::puts("ok");
}
