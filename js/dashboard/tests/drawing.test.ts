import assert from "node:assert/strict";
import { test } from "node:test";

import type { Crossing } from "../src/data/facts";
import { type FlameNode, flameTree } from "../src/ui/flame";
import { cividis } from "../src/ui/palette";
import { decadesAround } from "../src/ui/roofline";
import { niceCeiling } from "../src/ui/strip_chart";
import { sortRows } from "../src/ui/table";

function crossing(name: string, seconds: number, parent = -1, [from, to] = ["python", "rust"]): Crossing {
  return { from: from ?? "", to: to ?? "", name, parent, calls: seconds > 0 ? 10 : 0, seconds };
}

function widest(node: FlameNode): void {
  const inner = node.children.reduce((sum, child) => sum + child.value, 0);
  assert.ok(inner <= node.value * (1 + 1e-9), `${node.name}: ${inner} inside of ${node.value}`);
  for (const child of node.children) widest(child);
}

function shape({ name, value, children }: FlameNode): unknown[] {
  return [name, value, children.map(shape)];
}

test("a call lies below the one that made it, and below no other", () => {
  const tree = flameTree([
    crossing("SpikingNetwork.run", 3),
    crossing("matmul", 1),
    crossing("agpu_matrix_matmul", 0.9, 1, ["rust", "zig"]),
  ]);
  const expected = [
    ["SpikingNetwork.run", 3, []],
    ["matmul", 1, [["agpu_matrix_matmul", 0.9, []]]],
  ];
  assert.deepEqual(shape(tree), ["all", 4, [["python", 4, expected]]]);
  widest(tree);
});

test("a call that has not come back is as wide as what is inside of it", () => {
  const tree = flameTree([crossing("run", 0), crossing("hook", 2, 0, ["rust", "python"]), crossing("matmul", 1, 1)]);
  assert.deepEqual(shape(tree), ["all", 2, [["python", 2, [["run", 2, [["hook", 2, [["matmul", 1, []]]]]]]]]]);
  widest(tree);
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
