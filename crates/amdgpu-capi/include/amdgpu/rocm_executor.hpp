// amdgpu/rocm_executor.hpp: a part of rocm.hpp. Graphs of operations that run with joined kernels and planned memory.
#ifndef AMDGPU_ROCM_EXECUTOR_HPP
#define AMDGPU_ROCM_EXECUTOR_HPP

#include <chrono>
#include <optional>
#include <sstream>

#include "ir_graph.hpp"
#include "rocm_memory.hpp"

namespace amdgpu {
namespace rocm {

// What becomes one kernel.
enum class FusedOpType { MATMUL_BIAS, MATMUL_BIAS_RELU, MATMUL_BIAS_GELU, CONV_BIAS, CONV_BIAS_RELU, CONV_BN_RELU, ADD_RELU, MUL_ADD };

// Whether operations, each of which alone reads the one before, can be one kernel; nothing where they cannot. The executor does so where an ADD
// behind a product or a convolution adds a bias, and joins more than these: any chain of elementwise operations.
inline std::optional<FusedOpType> can_fuse(const std::vector<ir::OpType> &ops) {
    using Op = ir::OpType;
    static const std::vector<std::pair<std::vector<Op>, FusedOpType>> known = {
        {{Op::MATMUL, Op::ADD}, FusedOpType::MATMUL_BIAS},
        {{Op::MATMUL, Op::ADD, Op::RELU}, FusedOpType::MATMUL_BIAS_RELU},
        {{Op::MATMUL, Op::ADD, Op::GELU}, FusedOpType::MATMUL_BIAS_GELU},
        {{Op::CONV2D, Op::ADD}, FusedOpType::CONV_BIAS},
        {{Op::CONV2D, Op::ADD, Op::RELU}, FusedOpType::CONV_BIAS_RELU},
        {{Op::CONV2D, Op::BATCH_NORM, Op::RELU}, FusedOpType::CONV_BN_RELU},
        {{Op::ADD, Op::RELU}, FusedOpType::ADD_RELU},
        {{Op::MUL, Op::ADD}, FusedOpType::MUL_ADD},
    };
    for (const auto &[chain, type] : known) {
        if (chain == ops) return type;
    }
    return std::nullopt;
}

// A result in memory of the device, which lives as long as this.
struct ExecutionOutput {
    ir::NodeId node;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::shared_ptr<const detail::Array> array;

    // Address of the values, in row-major order.
    void *data() const {
        agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
        detail::check(agpu_array_info(array->get(), &facts));
        return facts.address;
    }
    // Copies the values to the host, once they are there.
    void copy_to_host(void *destination, std::size_t bytes) const { detail::check(agpu_array_read(array->get(), destination, bytes)); }
};

struct ExecutionResult {
    struct NodeTime {
        ir::NodeId node;
        std::string operation;
        double seconds;
    };
    std::vector<ExecutionOutput> outputs;
    double total_seconds = 0;
    std::vector<NodeTime> node_times;  // with enable_profiling: of the nodes that ran, as they were joined
    std::string error;                 // empty: it went well
    explicit operator bool() const noexcept { return error.empty(); }
};

// Runs graphs on one device. One executor for each thread.
class ROCmExecutor {
public:
    struct Config {
        int device_id = 0;
        bool enable_profiling = false;
        bool sync_after_launch = false;
        std::size_t workspace_size_mb = 256;  // what values within a graph may take
    };

    ROCmExecutor() : ROCmExecutor(Config{}) {}
    // Throws std::runtime_error for a device that is not there.
    explicit ROCmExecutor(Config config) : config_(config), device_(detail::open_device(config.device_id)) {}
    ~ROCmExecutor() = default;

    // The values of nodes. Throws std::invalid_argument for nodes that do not exist and arguments that are not bound; what fails on the device,
    // a workspace that is too small among it, is the result's error. A graph is made ready once for the same outputs.
    ExecutionResult execute(ir::Graph &graph, const std::vector<ir::NodeId> &output_ids) {
        if (output_ids.empty()) detail::refuse("execute: name at least one output");
        std::vector<detail::Array> lent;
        std::vector<agpu_array> inputs;
        for (const ir::Graph::Input &input : graph.inputs()) {
            if (input.address == nullptr) {
                detail::refuse("execute: the argument %" + std::to_string(input.node) + " has no memory: call bind first");
            }
            lent.push_back(detail::array_at(device_, input.address, dtype_name(input.dtype), input.shape));
            inputs.push_back(lent.back().get());
        }
        prepare_outputs(graph, output_ids);
        ExecutionResult result;
        try {
            compile(graph, output_ids);
            run(graph, inputs, output_ids, result);
        } catch (const std::runtime_error &error) {
            result.outputs.clear();
            result.error = error.what();
        }
        return result;
    }

    DeviceInfo get_device_info() const { return rocm::get_device_info(config_.device_id); }
    MemoryStats get_memory_stats() const { return get_memory_manager().get_stats(); }

private:
    void prepare_outputs(ir::Graph &graph, const std::vector<ir::NodeId> &output_ids) const {
        detail::check(agpu_graph_set_outputs(graph.get(), output_ids.data(), output_ids.size()));
    }
    void compile(ir::Graph &graph, const std::vector<ir::NodeId> &output_ids) {
        const Ready wanted{graph.get(), graph.size(), output_ids};
        if (ready_ == wanted && graph.prepared_by == this) return;
        const agpu_graph_compile_options options = {sizeof(agpu_graph_compile_options), 0, 0,
                                                    static_cast<std::uint64_t>(config_.workspace_size_mb) << 20};
        detail::check(agpu_graph_compile(graph.get(), device_, &options));
        ready_ = wanted;
        graph.prepared_by = this;
    }
    void run(ir::Graph &graph, const std::vector<agpu_array> &inputs, const std::vector<ir::NodeId> &output_ids, ExecutionResult &result) const {
        std::vector<agpu_array> outputs(output_ids.size(), nullptr);
        agpu_text report = nullptr;
        const auto begin = std::chrono::steady_clock::now();
        if (config_.enable_profiling) {
            detail::check(agpu_graph_profile(graph.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), &report));
        } else {
            detail::check(agpu_graph_run(graph.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
        }
        for (std::size_t i = 0; i < outputs.size(); i++) {
            result.outputs.push_back({output_ids[i], graph.dtype(output_ids[i]), graph.shape(output_ids[i]),
                                      std::make_shared<const detail::Array>(outputs[i])});
        }
        if (report != nullptr) read_report(report, result);
        if (config_.sync_after_launch) detail::check(agpu_device_synchronize(device_));
        result.total_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    static void read_report(agpu_text report, ExecutionResult &result) {
        const char *data = nullptr;
        const agpu_status status = agpu_text_get(report, &data, nullptr);
        std::istringstream lines(status == AGPU_OK ? data : "");
        agpu_release(report);
        detail::check(status);
        char percent = 0;
        ExecutionResult::NodeTime time{};
        while (lines >> percent >> time.node >> time.operation >> time.seconds) result.node_times.push_back(time);
    }

    struct Ready {
        agpu_graph graph = nullptr;
        std::uint32_t nodes = 0;
        std::vector<ir::NodeId> outputs{};
        bool operator==(const Ready &other) const { return graph == other.graph && nodes == other.nodes && outputs == other.outputs; }
    };

    Config config_;
    agpu_device device_;
    Ready ready_{};
};

}  // namespace rocm
}  // namespace amdgpu

#endif
