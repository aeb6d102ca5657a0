// Graphs of operations through amdgpu.hpp.
#include "check.hpp"

int main() {
    using amdgpu::Array;
    {
        const amdgpu::Device device("cpu:0");
        const amdgpu::Graph graph;
        const auto x = graph.input("float32", {2, 2});
        const auto weight = graph.constant(array_of<float>(device, "float32", {2, 2}, {1, 2, 3, 4}));
        const auto product = graph.add("matmul", {x, weight});
        const auto sums = graph.add("sum", {graph.add("multiply", {product, product})}, "axes = [0]");
        const auto transposed = graph.reshape(graph.permuted(product, {1, 0}), {4, 1});
        graph.set_outputs({sums, transposed});
        CHECK(graph.node_count() == 8 && graph.info(sums).shape[0] == 2);
        CHECK(graph.text().find("return %4") != std::string::npos && graph.dot().starts_with("digraph"));
        graph.compile(device);
        const Array identity = array_of<float>(device, "float32", {2, 2}, {1, 0, 0, 1});
        const auto outputs = graph.run({identity}, 2);
        CHECK((outputs[0].read<float>() == std::vector<float>{10, 20}));
        CHECK((outputs[1].read<float>() == std::vector<float>{1, 3, 2, 4}));
        CHECK(graph.profile({identity}, 2).second.find("sum") != std::string::npos);
        CHECK(graph.explain().find("memory of values") != std::string::npos);
        const auto again = amdgpu::Graph::parse("%0 = input : float32[2, 2]\n%1 = exp(%0)\nreturn %1\n");
        again.compile(device, true);
        CHECK(again.run({identity}, 1)[0].read<float>()[1] == 1);
        const amdgpu::Graph best;
        const auto values = best.add("top_k", {best.input("float32", {2, 2})}, "k = 1");
        best.set_outputs({best.result(values, 1)});
        best.compile(device);
        CHECK((best.run({identity}, 1)[0].read<std::int64_t>() == std::vector<std::int64_t>{0, 1}));
        expect(AGPU_ERROR_INVALID_ARGUMENT, "it has results 0 to 1", [&] { (void)best.result(values, 2); });
        expect(AGPU_ERROR_INVALID_ARGUMENT, "there is no operation", [&] { (void)graph.add("adds", {x}); });
        expect(AGPU_ERROR_OUT_OF_MEMORY, "workspace_bytes allows 1", [&] { graph.compile(device, true, 1); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
