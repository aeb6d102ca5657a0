/* Graphs of operations (amdgpu/graph.h). */
#include "arrays.h"

#include <amdgpu/graph.h>

static agpu_graph build(agpu_device device) {
    const float values[6] = {1, -1, 2, 0.5f, -2, 1};
    agpu_array weight = ARRAY(device, "float32", values, 3, 2);
    agpu_graph graph = NULL;
    uint32_t x = 0, w = 0, product = 0, sums = 0, transposed = 0, flat = 0, count = 0;
    DO(agpu_graph_create(&graph));
    DO(agpu_graph_add_input(graph, "float32", 2, (const int64_t[]){2, 3}, &x));
    DO(agpu_graph_add_constant(graph, weight, &w));
    DO(agpu_release(weight));
    DO(agpu_graph_add(graph, "matmul", (const uint32_t[]){x, w}, 2, "activation = \"relu\"", &product));
    DO(agpu_graph_add(graph, "sum", &product, 1, "axes = [1], keepdims = true", &sums));
    DO(agpu_graph_add_permuted(graph, product, (const int64_t[]){1, 0}, 2, &transposed));
    DO(agpu_graph_add_reshape(graph, transposed, 1, (const int64_t[]){-1}, &flat));
    DO(agpu_graph_set_outputs(graph, (const uint32_t[]){sums, transposed}, 2));
    DO(agpu_graph_node_count(graph, &count));
    CHECK(count == 7); /* A transposed view is copied before it is reshaped. */
    agpu_graph_node_facts facts = AGPU_GRAPH_NODE_FACTS_INIT;
    DO(agpu_graph_node_info(graph, sums, &facts));
    CHECK(strcmp(facts.operation, "sum") == 0 && facts.dimensions == 2 && facts.shape[0] == 2 && facts.shape[1] == 1);
    return graph;
}

static void check_outputs(agpu_array outputs[2]) {
    float sums[2], transposed[4];
    DO(agpu_array_read(outputs[0], sums, sizeof sums));
    agpu_array dense = NULL;
    DO(agpu_ops_contiguous(outputs[1], NULL, &dense));
    DO(agpu_array_read(dense, transposed, sizeof transposed));
    /* {1, 2, 3} and {-1, 0, 1} times the weights are {-1, 3} and {-3, 2}. */
    CHECK(sums[0] == 3 && sums[1] == 2);
    CHECK(transposed[0] == 0 && transposed[1] == 0 && transposed[2] == 3 && transposed[3] == 2);
    DO(agpu_release(dense));
    DO(agpu_release(outputs[0]));
    DO(agpu_release(outputs[1]));
}

static void runs(agpu_device device) {
    const float values[6] = {1, 2, 3, -1, 0, 1};
    agpu_array x = ARRAY(device, "float32", values, 2, 3);
    agpu_graph graph = build(device);
    agpu_array outputs[2];
    agpu_text text = NULL;
    REFUSED(agpu_graph_run(graph, &x, 1, outputs, 2), AGPU_ERROR_INVALID_ARGUMENT, "call agpu_graph_compile first");
    DO(agpu_graph_compile(graph, device, NULL));
    DO(agpu_graph_run(graph, &x, 1, outputs, 2));
    check_outputs(outputs);
    DO(agpu_graph_profile(graph, &x, 1, outputs, 2, &text));
    const char *data = NULL;
    DO(agpu_text_get(text, &data, NULL));
    CHECK(strstr(data, "matmul") != NULL && strstr(data, "sum") != NULL);
    DO(agpu_release(text));
    check_outputs(outputs);
    DO(agpu_graph_explain(graph, &text));
    DO(agpu_text_get(text, &data, NULL));
    CHECK(strstr(data, "memory of values within the graph") != NULL);
    DO(agpu_release(text));
    DO(agpu_graph_dot(graph, &text));
    DO(agpu_release(text));

    /* The text gives the same graph. */
    const float weights[6] = {1, -1, 2, 0.5f, -2, 1};
    agpu_array weight = ARRAY(device, "float32", weights, 3, 2);
    agpu_graph again = NULL;
    DO(agpu_graph_text(graph, &text));
    DO(agpu_text_get(text, &data, NULL));
    DO(agpu_graph_parse(data, &weight, 1, &again));
    DO(agpu_release(text));
    const agpu_graph_compile_options plain = {sizeof plain, 1, 0, 0};
    DO(agpu_graph_compile(again, device, &plain));
    DO(agpu_graph_run(again, &x, 1, outputs, 2));
    check_outputs(outputs);

    REFUSED(agpu_graph_run(graph, NULL, 0, outputs, 2), AGPU_ERROR_INVALID_ARGUMENT, "the graph takes 1 arguments");
    REFUSED(agpu_graph_run(graph, &x, 1, outputs, 1), AGPU_ERROR_INVALID_ARGUMENT, "output_count is 1");
    REFUSED(agpu_graph_run(graph, &weight, 1, outputs, 2), AGPU_ERROR_SHAPE_MISMATCH, "argument 0 has shape");
    DO(agpu_release(again));
    DO(agpu_release(weight));
    DO(agpu_release(graph));
    DO(agpu_release(x));
}

/* Values and indices of the two largest of each row. */
static void several_results(agpu_device device) {
    const float values[6] = {1, 5, 3, 9, -1, 2};
    agpu_array x = ARRAY(device, "float32", values, 2, 3);
    agpu_graph graph = NULL;
    uint32_t input = 0, best = 0, indices = 0, again = 0;
    DO(agpu_graph_create(&graph));
    DO(agpu_graph_add_input(graph, "float32", 2, (const int64_t[]){2, 3}, &input));
    DO(agpu_graph_add(graph, "top_k", &input, 1, "k = 2", &best));
    DO(agpu_graph_add_result(graph, best, 1, &indices));
    DO(agpu_graph_add_result(graph, best, 0, &again));
    CHECK(again == best);
    agpu_graph_node_facts facts = AGPU_GRAPH_NODE_FACTS_INIT;
    DO(agpu_graph_node_info(graph, indices, &facts));
    CHECK(strcmp(facts.operation, "result") == 0 && strcmp(facts.dtype, "int64") == 0 && facts.shape[1] == 2);
    REFUSED(agpu_graph_add_result(graph, best, 2, &again), AGPU_ERROR_INVALID_ARGUMENT, "it has results 0 to 1");
    REFUSED(agpu_graph_add_result(graph, input, 1, &again), AGPU_ERROR_INVALID_ARGUMENT, "it is no operation");
    DO(agpu_graph_set_outputs(graph, (const uint32_t[]){indices, best}, 2));
    DO(agpu_graph_compile(graph, device, NULL));
    agpu_array outputs[2];
    int64_t places[4];
    float largest[4];
    DO(agpu_graph_run(graph, &x, 1, outputs, 2));
    DO(agpu_array_read(outputs[0], places, sizeof places));
    DO(agpu_array_read(outputs[1], largest, sizeof largest));
    CHECK(places[0] == 1 && places[1] == 2 && places[2] == 0 && places[3] == 2);
    CHECK(largest[0] == 5 && largest[1] == 3 && largest[2] == 9 && largest[3] == 2);
    DO(agpu_release(outputs[0]));
    DO(agpu_release(outputs[1]));
    DO(agpu_release(graph));
    DO(agpu_release(x));
}

static void bad_input(agpu_device device) {
    agpu_graph graph = NULL;
    uint32_t x = 0, node = 0, nodes[24];
    DO(agpu_graph_create(&graph));
    DO(agpu_graph_add_input(graph, "float32", 2, (const int64_t[]){100, 100}, &x));
    REFUSED(agpu_graph_add(graph, "adds", &x, 1, NULL, &node), AGPU_ERROR_INVALID_ARGUMENT, "there is no operation");
    REFUSED(agpu_graph_add(graph, "exp", (const uint32_t[]){7}, 1, NULL, &node), AGPU_ERROR_INVALID_ARGUMENT, "node 7 does not exist");
    REFUSED(agpu_graph_add(graph, "add", &x, 1, NULL, &node), AGPU_ERROR_INVALID_ARGUMENT, "takes 2 inputs, not 1");
    REFUSED(agpu_graph_add(graph, "sum", &x, 1, "axis = 1", &node), AGPU_ERROR_INVALID_ARGUMENT, "no option axis");
    REFUSED(agpu_graph_add_input(graph, "float32", 1, (const int64_t[]){-1}, &node), AGPU_ERROR_INVALID_ARGUMENT, "negative");
    REFUSED(agpu_graph_add_input(graph, "float33", 0, NULL, &node), AGPU_ERROR_UNSUPPORTED_DTYPE, "float33");
    REFUSED(agpu_graph_add_reshape(graph, x, 1, (const int64_t[]){3}, &node), AGPU_ERROR_SHAPE_MISMATCH, "has no shape");
    REFUSED(agpu_graph_compile(graph, device, NULL), AGPU_ERROR_INVALID_ARGUMENT, "no outputs");
    REFUSED(agpu_graph_parse("%0 = input : float32[2]\n%1 = exp(%2)\n%2 = exp(%1)\nreturn %2", NULL, 0, &graph), AGPU_ERROR_INVALID_ARGUMENT, "without cycles");
    /* Two values live at a time. */
    DO(agpu_graph_add(graph, "softmax", &x, 1, NULL, &nodes[0]));
    for (int i = 1; i < 24; i++) DO(agpu_graph_add(graph, "softmax", &nodes[i - 1], 1, NULL, &nodes[i]));
    DO(agpu_graph_set_outputs(graph, &nodes[23], 1));
    const agpu_graph_compile_options small = {sizeof small, 0, 0, 1000};
    REFUSED(agpu_graph_compile(graph, device, &small), AGPU_ERROR_OUT_OF_MEMORY, "need 80384 bytes, workspace_bytes allows 1000");
    const agpu_graph_compile_options enough = {sizeof enough, 0, 0, 80384};
    DO(agpu_graph_compile(graph, device, &enough));
    DO(agpu_release(graph));
    REFUSED(agpu_graph_node_count(NULL, &node), AGPU_ERROR_INVALID_HANDLE, "graph is NULL");
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu:0", NULL, &device));
    runs(device);
    several_results(device);
    bad_input(device);
    DO(agpu_release(device));
    uint64_t left = 0;
    DO(agpu_handle_count(&left));
    CHECK(left == 0);
    puts("ok");
    return 0;
}
