// amdgpu/graph.hpp: graphs of operations for C++20, a part of amdgpu.hpp. The rules of amdgpu/graph.h hold.
#ifndef AMDGPU_GRAPH_HPP
#define AMDGPU_GRAPH_HPP

#include "amdgpu.hpp"

namespace amdgpu {

// A graph; copies are references to the same one. Nodes are numbers.
class Graph : public Object<agpu_graph> {
public:
    using Node = std::uint32_t;

    Graph() : Object(create()) {}

    // The graph of a text, with its constants in order.
    static Graph parse(const std::string &text, const std::vector<Array> &constants = {}) {
        const std::vector<agpu_array> handles = handles_of(constants);
        agpu_graph graph = nullptr;
        check(agpu_graph_parse(text.c_str(), handles.data(), handles.size(), &graph));
        return Graph(graph);
    }

    Node input(const std::string &dtype, std::span<const std::int64_t> shape) const {
        return made([&](Node *node) {
            return agpu_graph_add_input(get(), dtype.c_str(), static_cast<std::uint32_t>(shape.size()), shape.data(), node);
        });
    }
    Node input(const std::string &dtype, std::initializer_list<std::int64_t> shape) const {
        return input(dtype, std::span<const std::int64_t>(shape.begin(), shape.size()));
    }
    Node constant(const Array &array) const {
        return made([&](Node *node) { return agpu_graph_add_constant(get(), array.get(), node); });
    }
    // An operation by name, with options as in texts: "axes = [1], keepdims = true".
    Node add(const std::string &operation, std::initializer_list<Node> inputs, const std::string &options = "") const {
        return made([&](Node *node) {
            return agpu_graph_add(get(), operation.c_str(), inputs.begin(), inputs.size(), options.c_str(), node);
        });
    }
    // Result `index` of an operation that has several; 0 is the operation's own node.
    Node result(Node operation, std::uint32_t index) const {
        return made([&](Node *node) { return agpu_graph_add_result(get(), operation, index, node); });
    }
    Node reshape(Node input, std::initializer_list<std::int64_t> shape) const {
        return made([&](Node *node) {
            return agpu_graph_add_reshape(get(), input, static_cast<std::uint32_t>(shape.size()), shape.begin(), node);
        });
    }
    Node permuted(Node input, std::initializer_list<std::int64_t> axes) const {
        return made([&](Node *node) {
            return agpu_graph_add_permuted(get(), input, axes.begin(), static_cast<std::uint32_t>(axes.size()), node);
        });
    }
    std::uint32_t node_count() const {
        return made([&](Node *count) { return agpu_graph_node_count(get(), count); });
    }
    agpu_graph_node_facts info(Node node) const {
        agpu_graph_node_facts facts = AGPU_GRAPH_NODE_FACTS_INIT;
        check(agpu_graph_node_info(get(), node, &facts));
        return facts;
    }
    void set_outputs(const std::vector<Node> &nodes) const { check(agpu_graph_set_outputs(get(), nodes.data(), nodes.size())); }

    std::string text() const { return text_of(agpu_graph_text); }
    std::string dot() const { return text_of(agpu_graph_dot); }
    std::string explain() const { return text_of(agpu_graph_explain); }

    // Makes it ready to run on a device. With a limit, a graph whose values need more memory is refused.
    void compile(const Device &device, bool leaves_operations = false, std::uint64_t workspace_bytes = 0) const {
        const agpu_graph_compile_options options = {sizeof(agpu_graph_compile_options), leaves_operations ? 1U : 0U, 0, workspace_bytes};
        check(agpu_graph_compile(get(), device.get(), &options));
    }
    // The outputs, of which the graph has that many.
    std::vector<Array> run(const std::vector<Array> &inputs, std::size_t output_count) const {
        const std::vector<agpu_array> handles = handles_of(inputs);
        std::vector<agpu_array> outputs(output_count);
        check(agpu_graph_run(get(), handles.data(), handles.size(), outputs.data(), outputs.size()));
        return {outputs.begin(), outputs.end()};
    }
    // The same; a line of the report for each node: number, operation, seconds.
    std::pair<std::vector<Array>, std::string> profile(const std::vector<Array> &inputs, std::size_t output_count) const {
        const std::vector<agpu_array> handles = handles_of(inputs);
        std::vector<agpu_array> outputs(output_count);
        agpu_text report = nullptr;
        check(agpu_graph_profile(get(), handles.data(), handles.size(), outputs.data(), outputs.size(), &report));
        return {{outputs.begin(), outputs.end()}, take_text(report)};
    }

private:
    explicit Graph(agpu_graph graph) noexcept : Object(graph) {}
    static agpu_graph create() {
        agpu_graph graph = nullptr;
        check(agpu_graph_create(&graph));
        return graph;
    }
    static std::vector<agpu_array> handles_of(const std::vector<Array> &arrays) {
        std::vector<agpu_array> handles;
        for (const Array &array : arrays) handles.push_back(array.get());
        return handles;
    }
    template <typename Call>
    static Node made(Call &&call) {
        Node node = 0;
        check(call(&node));
        return node;
    }
    std::string text_of(agpu_status (*function)(agpu_graph, agpu_text *)) const {
        agpu_text text = nullptr;
        check(function(get(), &text));
        return take_text(text);
    }
};

} // namespace amdgpu

#endif
