/** Graphs of operations as `graph:list` describes them. */

import { fields, num, numbers, numOr, rows, text } from "./readers";

export interface GraphFacts {
  readonly pid: number;
  readonly name: string;
  readonly device: string;
  readonly nodes: readonly GraphNode[];
  /** With those that the process left out. */
  readonly nodeCount: number;
  readonly outputs: readonly number[];
  /** What was joined, and what was not and why. */
  readonly notes: readonly string[];
  readonly sharedBytes: number;
  readonly unsharedBytes: number;
  readonly runs: number;
  readonly madeNs: number;
  readonly lastRunNs: number;
  /** NaN where the graph was never profiled. */
  readonly profiledNs: number;
}

export interface GraphNode {
  readonly id: number;
  readonly operation: string;
  readonly name: string;
  readonly inputs: readonly number[];
  readonly shape: readonly number[];
  readonly dtype: string;
  /** Operations that it joins. */
  readonly steps: readonly string[];
  readonly bytes: number;
  /** In the last profile; NaN where there is none. */
  readonly seconds: number;
}

export function readGraphs(answer: unknown, pid: number): GraphFacts[] {
  return rows(fields(answer)["graphs"]).map((graph) => {
    const nodes = rows(graph["nodes"]).map((node) => ({
      id: num(node["id"]),
      operation: text(node["operation"], "?"),
      name: text(node["name"]),
      inputs: numbers(node["inputs"]),
      shape: numbers(node["shape"]),
      dtype: text(node["dtype"], "?"),
      steps: texts(node["steps"]),
      bytes: numOr(node["bytes"], 0),
      seconds: num(node["seconds"]),
    }));
    return {
      pid,
      name: text(graph["name"], "graph"),
      device: text(graph["device"], "?"),
      nodes,
      nodeCount: numOr(graph["node_count"], nodes.length),
      outputs: numbers(graph["outputs"]),
      notes: texts(graph["notes"]),
      sharedBytes: numOr(graph["shared_bytes"], 0),
      unsharedBytes: numOr(graph["unshared_bytes"], 0),
      runs: numOr(graph["runs"], 0),
      madeNs: num(graph["made_ns"]),
      lastRunNs: num(graph["last_run_ns"]),
      profiledNs: num(graph["profiled_ns"]),
    };
  });
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map((one) => text(one)) : [];
}

/** What a node computes, in a few words. */
export function titleOf(node: GraphNode): string {
  if (node.steps.length > 0) return node.steps.join(", ");
  return node.name === "" ? node.operation : `${node.operation} ${node.name}`;
}
