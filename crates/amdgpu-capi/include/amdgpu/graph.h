/* amdgpu/graph.h: graphs of operations. The rules of amdgpu/runtime.h hold.
 *
 *  - Nodes are numbers, in the order of computation; each has one value of a known shape and dtype, an operation with several results a node for each. Nothing is computed before `agpu_graph_run`.
 *  - `agpu_graph_compile` joins operations where one kernel computes them, and plans memory, so that values share it whose lives do not overlap.
 *  - Constants are arrays that the graph refers to; they must not change as long as it lives.
 *  - Several threads may run one graph at the same time. Building it is for one thread at a time.
 */
#ifndef AMDGPU_GRAPH_H
#define AMDGPU_GRAPH_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_graph_object *agpu_graph;

/* A graph without nodes. */
agpu_status agpu_graph_create(agpu_graph *graph);

/* The graph that a text describes, as `agpu_graph_text` writes it; `constants` are its constants, in order. Messages name the line. */
agpu_status agpu_graph_parse(const char *text, const agpu_array *constants, size_t count, agpu_graph *graph);

/* Add an argument. */
agpu_status agpu_graph_add_input(agpu_graph graph, const char *dtype, uint32_t dimensions, const int64_t *shape, uint32_t *node);

/* Add an array that is there. One without dimensions stands for a number. */
agpu_status agpu_graph_add_constant(agpu_graph graph, agpu_array array, uint32_t *node);

/* Add an operation of amdgpu/ops.h by name: "add", "matmul", "conv2d", "softmax", "sum", ... `options` are as in texts, for example
 * "axes = [1], keepdims = true" or "bias = true, activation = \"relu\""; NULL for none. Messages list the names and options there are. */
agpu_status agpu_graph_add(agpu_graph graph, const char *operation, const uint32_t *inputs, size_t count, const char *options, uint32_t *node);

/* Add result `index` of an operation that has several, such as the indices of "top_k": the node that `agpu_graph_add` gave is result 0. */
agpu_status agpu_graph_add_result(agpu_graph graph, uint32_t operation, uint32_t index, uint32_t *node);

/* Add the elements of a node in row-major order under another shape, one extent of which may be -1. */
agpu_status agpu_graph_add_reshape(agpu_graph graph, uint32_t input, uint32_t dimensions, const int64_t *shape, uint32_t *node);

/* Add a node whose axis i is axis `axes[i]` of the input. */
agpu_status agpu_graph_add_permuted(agpu_graph graph, uint32_t input, const int64_t *axes, uint32_t count, uint32_t *node);

/* How many nodes the graph has. */
agpu_status agpu_graph_node_count(agpu_graph graph, uint32_t *count);

typedef struct agpu_graph_node_facts {
    uint64_t size_bytes;
    char operation[32];
    char dtype[16];
    uint32_t dimensions;
    uint32_t reserved;
    int64_t shape[AGPU_MAX_DIMENSIONS];
} agpu_graph_node_facts;
#define AGPU_GRAPH_NODE_FACTS_INIT {sizeof(agpu_graph_node_facts), {0}, {0}, 0, 0, {0}}

/* Facts of a node. */
agpu_status agpu_graph_node_info(agpu_graph graph, uint32_t node, agpu_graph_node_facts *info);

/* Name the nodes whose values a run gives. */
agpu_status agpu_graph_set_outputs(agpu_graph graph, const uint32_t *nodes, size_t count);

/* The graph as text, a line for each node. */
agpu_status agpu_graph_text(agpu_graph graph, agpu_text *text);

/* The graph in the language of Graphviz. */
agpu_status agpu_graph_dot(agpu_graph graph, agpu_text *text);

typedef struct agpu_graph_compile_options {
    uint64_t size_bytes;
    uint32_t leaves_operations; /* 1: every operation stays as it is */
    uint32_t reserved;
    uint64_t workspace_bytes;   /* what values within the graph may take at most; 0: no limit */
} agpu_graph_compile_options;
#define AGPU_GRAPH_COMPILE_OPTIONS_INIT {sizeof(agpu_graph_compile_options), 0, 0, 0}

/* Make the graph ready to run on a device. A workspace that is too small is refused; the message says how much is needed. */
agpu_status agpu_graph_compile(agpu_graph graph, agpu_device device, const agpu_graph_compile_options *options);

/* What runs, what was joined, and how much memory it takes, as text. */
agpu_status agpu_graph_explain(agpu_graph graph, agpu_text *text);

/* Run the graph for arrays of the shapes and dtypes of its arguments. The outputs are new arrays. */
agpu_status agpu_graph_run(agpu_graph graph, const agpu_array *inputs, size_t input_count, agpu_array *outputs, size_t output_count);

/* The same, waiting for the device after each node: the report has a line for each, with its number, its operation and the seconds it took. */
agpu_status agpu_graph_profile(agpu_graph graph, const agpu_array *inputs, size_t input_count, agpu_array *outputs, size_t output_count,
                               agpu_text *report);

#ifdef __cplusplus
}
#endif

#endif
