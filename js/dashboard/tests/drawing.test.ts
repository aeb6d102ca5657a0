import assert from "node:assert/strict";
import { test } from "node:test";

import type { Boundary } from "../src/data/facts";
import { type FlameNode, flameTree } from "../src/ui/flame";
import { cividis } from "../src/ui/palette";
import { decadesAround } from "../src/ui/roofline";
import { niceCeiling } from "../src/ui/strip_chart";
import { sortRows } from "../src/ui/table";

function boundary(from: string, to: string, name: string, seconds: number): Boundary {
  return {
    from,
    to,
    name,
    pid: 1,
    calls: 10,
    seconds,
    medianSeconds: Number.NaN,
    slowestSeconds: Number.NaN,
    operations: Number.NaN,
    bytes: Number.NaN,
  };
}

function widest(node: FlameNode): void {
  const inner = node.children.reduce((sum, child) => sum + child.value, 0);
  assert.ok(inner <= node.value * (1 + 1e-9), `${node.name}: ${inner} inside of ${node.value}`);
  for (const child of node.children) widest(child);
}

test("what a language calls lies below the functions that lead into it", () => {
  const tree = flameTree([
    boundary("python", "rust", "launch", 3),
    boundary("python", "rust", "copy", 1),
    boundary("rust", "zig", "gemm", 2),
  ]);
  const python = tree.children[0];
  assert.equal(python?.name, "python");
  assert.deepEqual(
    python?.children.map((node) => [node.name, node.value]),
    [
      ["launch", 3],
      ["copy", 1],
    ],
  );
  assert.equal(python?.children[0]?.children[0]?.value, 1.5);
  widest(tree);
});

test("languages that call each other end, and no child is wider than its parent", () => {
  const tree = flameTree([
    boundary("python", "rust", "run", 1),
    boundary("rust", "python", "hook", 5),
    boundary("rust", "nim", "step", 9),
  ]);
  widest(tree);
  widest(flameTree([boundary("a", "b", "x", 1), boundary("b", "a", "y", 1)]));
  assert.equal(flameTree([]).value, 0);
});

test("axes have whole decades around all values", () => {
  assert.deepEqual(decadesAround([20, 4000], 2), { low: 1, high: 4 });
  assert.deepEqual(decadesAround([Number.NaN, -1], 3), { low: -2, high: 1 });
  const tight = decadesAround([1e9], 3);
  assert.ok(tight.high - tight.low >= 3 && tight.low <= 9 && tight.high >= 9);
});

test("the end of an axis is a round number that holds the value", () => {
  for (const value of [0.013, 1, 7.2, 99, 1001, 3.3e12]) {
    const ceiling = niceCeiling(value);
    assert.ok(ceiling >= value && ceiling <= value * 2.51);
  }
  assert.equal(niceCeiling(0), 1);
  assert.equal(niceCeiling(Number.NaN), 1);
});

test("rows without a value come last whichever way they are sorted", () => {
  const rows = [3, Number.NaN, 1, 2];
  assert.deepEqual(
    sortRows(rows, (row) => row, true),
    [3, 2, 1, Number.NaN],
  );
  assert.deepEqual(
    sortRows(rows, (row) => row, false),
    [1, 2, 3, Number.NaN],
  );
  assert.deepEqual(
    sortRows(["b", "a"], (row) => row, false),
    ["a", "b"],
  );
});

test("the colours of heat maps grow lighter with the value", () => {
  let before = -1;
  for (let step = 0; step <= 20; step += 1) {
    const [red, green, blue] = cividis(step / 20);
    const lightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    assert.ok(lightness > before);
    before = lightness;
  }
});
