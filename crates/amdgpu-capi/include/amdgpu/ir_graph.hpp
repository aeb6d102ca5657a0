// amdgpu/ir_graph.hpp: graphs of operations for ROCmExecutor, over amdgpu/graph.h. C++17. A part of rocm.hpp.
#ifndef AMDGPU_IR_GRAPH_HPP
#define AMDGPU_IR_GRAPH_HPP

#include <memory>

#include "graph.h"
#include "rocm_device.hpp"

namespace amdgpu {
namespace ir {

// A node of one graph, by its place.
using NodeId = std::uint32_t;

// Nodes in the order of their computation. Shapes and dtypes follow from those of the inputs; what does not fit throws std::invalid_argument.
// Constants and arguments are memory of the calling thread's current device. One thread at a time uses an instance.
class Graph {
public:
    Graph() {
        agpu_graph graph = nullptr;
        rocm::detail::check(agpu_graph_create(&graph));
        handle_ = graph;
    }
    ~Graph() {
        // A destructor has nobody to tell.
        if (handle_ != nullptr) agpu_release(handle_);
    }
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;

    // An argument. `bind` says where its values are.
    NodeId add_input(DType dtype, const std::vector<std::int64_t> &shape) {
        NodeId node = 0;
        rocm::detail::check(agpu_graph_add_input(handle_, dtype_name(dtype), static_cast<std::uint32_t>(shape.size()), shape.data(), &node));
        inputs_.push_back({node, dtype, shape, nullptr});
        return node;
    }

    // An array in row-major order at an address of the device, which stays as it is as long as the graph is used.
    NodeId add_constant(DType dtype, const std::vector<std::int64_t> &shape, const void *address) {
        rocm::detail::require(address, "add_constant", "address");
        return add_array(rocm::detail::array_at(rocm::detail::current_device(), address, dtype_name(dtype), shape));
    }

    // A number, of the dtype of what it is computed with.
    NodeId add_number(double value, DType dtype = DType::Float32) {
        return add_array(rocm::detail::number(rocm::detail::current_device(), value, dtype));
    }

    // An operation with its options as in amdgpu/graph.h: "stride = [2, 2], padding = [1, 1]", "axes = [1], keepdims = true", "shape = [2, -1]" of
    // RESHAPE, "axes = [1, 0]" of TRANSPOSE. MATMUL and CONV2D take "bias = true" with one input more.
    NodeId add_node(OpType op, const std::vector<NodeId> &inputs, const std::string &options = "") {
        switch (op) {
            case OpType::RESHAPE: return add_view(inputs, options, "shape");
            case OpType::TRANSPOSE: return add_view(inputs, options, "axes");
            case OpType::MSE_LOSS: return add_mse(inputs);
            case OpType::BCE_LOSS: return add_bce(inputs);
            case OpType::CROSS_ENTROPY_LOSS: return add_cross_entropy(inputs);
            default: return add(operation_name(op), inputs, op == OpType::CONV2D ? without_bias(options) : options);
        }
    }

    // Where the values of an argument are, from the next execution on.
    void bind(NodeId input, const void *address) {
        for (Input &known : inputs_) {
            if (known.node == input) {
                known.address = address;
                return;
            }
        }
        rocm::detail::refuse("bind: node " + std::to_string(input) + " is no argument of the graph");
    }

    std::vector<std::int64_t> shape(NodeId node) const {
        const agpu_graph_node_facts facts = info(node);
        return {facts.shape, facts.shape + facts.dimensions};
    }
    std::string dtype(NodeId node) const { return info(node).dtype; }
    std::uint32_t size() const {
        std::uint32_t count = 0;
        rocm::detail::check(agpu_graph_node_count(handle_, &count));
        return count;
    }
    std::string text() const { return taken(agpu_graph_text); }
    std::string explain() const { return taken(agpu_graph_explain); }

    agpu_graph get() const noexcept { return handle_; }

    // Who made the graph ready last.
    const void *prepared_by = nullptr;

    struct Input {
        NodeId node;
        DType dtype;
        std::vector<std::int64_t> shape;
        const void *address;
    };
    const std::vector<Input> &inputs() const noexcept { return inputs_; }

private:
    NodeId add_array(const rocm::detail::Array &array) {
        NodeId node = 0;
        rocm::detail::check(agpu_graph_add_constant(handle_, array.get(), &node));
        return node;
    }
    NodeId add(const char *operation, const std::vector<NodeId> &inputs, const std::string &options = "") {
        NodeId node = 0;
        rocm::detail::check(agpu_graph_add(handle_, operation, inputs.data(), inputs.size(), options.c_str(), &node));
        return node;
    }
    // The list behind `name = [`.
    NodeId add_view(const std::vector<NodeId> &inputs, const std::string &options, const char *name) {
        const std::size_t open = options.find('['), close = options.find(']');
        if (inputs.size() != 1 || options.find(name) == std::string::npos || open == std::string::npos || close == std::string::npos) {
            rocm::detail::refuse(std::string("RESHAPE and TRANSPOSE take one input and an option such as \"") + name + " = [1, 0]\"");
        }
        std::vector<std::int64_t> values;
        std::string text = options.substr(open + 1, close - open - 1);
        for (std::size_t at = 0; at < text.size();) {
            std::size_t used = 0;
            values.push_back(std::stoll(text.substr(at), &used));
            at = text.find(',', at + used);
            if (at == std::string::npos) break;
            at++;
        }
        NodeId node = 0;
        const auto count = static_cast<std::uint32_t>(values.size());
        rocm::detail::check(std::string(name) == "shape" ? agpu_graph_add_reshape(handle_, inputs[0], count, values.data(), &node)
                                                         : agpu_graph_add_permuted(handle_, inputs[0], values.data(), count, &node));
        return node;
    }
    // A convolution knows by the number of its inputs whether there is a bias.
    static std::string without_bias(const std::string &options) {
        const std::size_t at = options.find("bias = true");
        if (at == std::string::npos) return options;
        std::string rest = options.substr(0, at) + options.substr(at + 11);
        const std::size_t comma = rest.find_first_not_of(", ");
        return comma == std::string::npos ? "" : rest.substr(comma);
    }
    static void require_two(const std::vector<NodeId> &inputs, const char *loss) {
        if (inputs.size() != 2) rocm::detail::refuse(std::string(loss) + " takes two inputs, not " + std::to_string(inputs.size()));
    }
    // The mean of (prediction - target)².
    NodeId add_mse(const std::vector<NodeId> &inputs) {
        require_two(inputs, "MSE_LOSS");
        return add("mean", {add("square", {add("subtract", inputs)})});
    }
    // The mean of -(t log p + (1 - t) log(1 - p)), with logarithms of at least -100.
    NodeId add_bce(const std::vector<NodeId> &inputs) {
        require_two(inputs, "BCE_LOSS");
        const NodeId one = add_number(1), least = add_number(-100);
        const auto log = [&](NodeId x) { return add("maximum", {add("log", {x}), least}); };
        const NodeId yes = add("multiply", {inputs[1], log(inputs[0])});
        const NodeId no = add("multiply", {add("subtract", {one, inputs[1]}), log(add("subtract", {one, inputs[0]}))});
        return add("negative", {add("mean", {add("add", {yes, no})})});
    }
    // The mean of -log(softmax(logits))[row, target], of logits (rows, classes) and int32 targets (rows,).
    NodeId add_cross_entropy(const std::vector<NodeId> &inputs) {
        require_two(inputs, "CROSS_ENTROPY_LOSS");
        const std::vector<std::int64_t> logits = shape(inputs[0]);
        if (logits.size() != 2) rocm::detail::refuse("CROSS_ENTROPY_LOSS: logits have two dimensions, rows and classes");
        std::vector<std::int32_t> classes(static_cast<std::size_t>(logits[1]));
        for (std::size_t i = 0; i < classes.size(); i++) classes[i] = static_cast<std::int32_t>(i);
        agpu_array array = nullptr;
        rocm::detail::check(agpu_array_create(rocm::detail::current_device(), "int32", 1, &logits[1], nullptr, &array));
        const rocm::detail::Array owned(array);
        rocm::detail::check(agpu_array_write(array, classes.data(), classes.size() * sizeof(std::int32_t)));
        NodeId column = 0;
        const std::int64_t rows[2] = {logits[0], 1};
        rocm::detail::check(agpu_graph_add_reshape(handle_, inputs[1], 2, rows, &column));
        const NodeId chosen = add("equal", {column, add_array(owned)});
        const NodeId kept = add("where", {chosen, add("log_softmax", {inputs[0]}), add_number(0)});
        return add("negative", {add("mean", {add("sum", {kept}, "axes = [1]")})});
    }
    agpu_graph_node_facts info(NodeId node) const {
        agpu_graph_node_facts facts = AGPU_GRAPH_NODE_FACTS_INIT;
        rocm::detail::check(agpu_graph_node_info(handle_, node, &facts));
        return facts;
    }
    std::string taken(agpu_status (*function)(agpu_graph, agpu_text *)) const {
        agpu_text text = nullptr;
        rocm::detail::check(function(handle_, &text));
        const char *data = nullptr;
        const agpu_status status = agpu_text_get(text, &data, nullptr);
        const std::string copy = status == AGPU_OK ? data : "";
        agpu_release(text);
        rocm::detail::check(status);
        return copy;
    }

    agpu_graph handle_ = nullptr;
    std::vector<Input> inputs_{};
};

}  // namespace ir
}  // namespace amdgpu

#endif
