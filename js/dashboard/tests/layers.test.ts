import assert from "node:assert/strict";
import { test } from "node:test";

import { readGraphs, titleOf } from "../src/data/graph_facts";
import { type Linked, layersOf } from "../src/ui/layers";

/** Numbers that are the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

function random(count: number, seed: number): Linked[] {
  const next = numbers(seed);
  return Array.from({ length: count }, (_, id) => ({
    id,
    inputs: id === 0 ? [] : Array.from({ length: Math.floor(next() * 4) }, () => Math.floor(next() * id)),
  }));
}

test("a node stands below all that it reads, and no two in one place", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const nodes = random(60, seed);
    const placed = layersOf(nodes);
    assert.equal(placed.size, nodes.length);
    const places = new Set([...placed.values()].map(({ layer, place }) => `${layer} ${place}`));
    assert.equal(places.size, nodes.length);
    for (const node of nodes)
      for (const read of node.inputs)
        assert.ok((placed.get(read)?.layer ?? 0) < (placed.get(node.id)?.layer ?? 0), `${read} above ${node.id}`);
  }
});

test("places of a layer begin at 0 and have no gaps", () => {
  const placed = [...layersOf(random(80, 7)).values()];
  for (const layer of new Set(placed.map((one) => one.layer))) {
    const places = placed.filter((one) => one.layer === layer).map((one) => one.place);
    assert.deepEqual(
      places.sort((left, right) => left - right),
      places.map((_, index) => index),
    );
  }
});

test("chains that do not meet do not cross", () => {
  const placed = layersOf([
    { id: 0, inputs: [] },
    { id: 1, inputs: [] },
    { id: 2, inputs: [1] },
    { id: 3, inputs: [0] },
  ]);
  const order = (left: number, right: number): number =>
    Math.sign((placed.get(left)?.place ?? 0) - (placed.get(right)?.place ?? 0));
  assert.equal(order(0, 1), order(3, 2));
});

test("a constant stands right above its reader, not at the top", () => {
  const placed = layersOf([
    { id: 0, inputs: [] },
    { id: 1, inputs: [0] },
    { id: 2, inputs: [1] },
    { id: 3, inputs: [] },
    { id: 4, inputs: [2, 3] },
  ]);
  assert.equal(placed.get(3)?.layer, 2);
});

test("links to nodes that are not there are passed over", () => {
  const placed = layersOf([{ id: 5, inputs: [4, Number.NaN] }]);
  assert.deepEqual(placed.get(5), { layer: 0, place: 0 });
});

test("a graph is read with what is missing left out", () => {
  const [graph] = readGraphs(
    { graphs: [{ name: "f", nodes: [{ id: 0, operation: "rows", steps: ["add", "softmax"], inputs: [1, "x"] }] }] },
    7,
  );
  assert.ok(graph);
  assert.deepEqual([graph.pid, graph.name, graph.nodeCount, graph.notes], [7, "f", 1, []]);
  const [node] = graph.nodes;
  assert.ok(node);
  assert.equal(titleOf(node), "add, softmax");
  assert.ok(Number.isNaN(node.seconds) && Number.isNaN(graph.profiledNs));
});
