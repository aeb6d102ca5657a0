import assert from "node:assert/strict";
import { test } from "node:test";

import { readBoundaries } from "../src/data/facts";
import { type KernelFacts, readKernels } from "../src/data/kernel_facts";
import { type Dot, memoryRoof, placeBoundary, placeKernel, readWork, roofsOf, shareOfRoof } from "../src/data/work";
import { hasPlace } from "../src/ui/roofline";

const EXACT = { operations: 2, bytes: 12, bound: "exact", open_loops: [] };
const OPEN = { operations: 3, bytes: 8, bound: "at_least", open_loops: [4, 9] };
const COUNTED = { operations: 6400, bytes: 3200, work_items: 64 };

function kernel(work: unknown, counted: unknown = null, others: object = {}): KernelFacts {
  const [facts] = readKernels({ kernels: [{ name: "k", core: "aura", work, counted, ...others }] }, 7);
  assert.ok(facts !== undefined);
  return facts;
}

test("what the compiler knows exactly goes before a checked launch, and that before a bound", () => {
  assert.equal(readWork(EXACT, COUNTED)?.operations, 2);
  assert.deepEqual(readWork(OPEN, COUNTED), {
    operations: 100,
    bytes: 50,
    bound: "exact",
    openLoops: [],
    source: "checked launch",
  });
  assert.equal(readWork(OPEN, null)?.bound, "at least");
  assert.equal(readWork(null, null), null);
  assert.equal(readWork({ bound: "other" }, { work_items: 0 }), null);
});

test("a kernel stands where its operations, bytes and time put it", () => {
  const { dot, remark } = placeKernel(kernel(EXACT), 1e-3, 1_000_000, 0.25);
  assert.equal(remark, "counted by the compiler");
  assert.ok(dot !== null);
  assert.ok(Math.abs(dot.flopsPerSecond / 2e9 - 1) < 1e-9);
  assert.ok(Math.abs(dot.bytesPerSecond / 12e9 - 1) < 1e-9);
  assert.ok(Math.abs(dot.intensity - 1 / 6) < 1e-12);
});

test("what has no place says why, and bounds say what to do", () => {
  const remarks = [
    placeKernel(kernel(null), 1, 1, 0),
    placeKernel(kernel(EXACT), Number.NaN, 1, 0),
    placeKernel(kernel(EXACT), 1, Number.NaN, 0),
    placeKernel(kernel({ ...EXACT, operations: 0, bytes: 0 }), 1, 1, 0),
    placeKernel(kernel(EXACT, null, { is_checked: true }), 1, 1, 0),
  ];
  for (const placed of remarks) {
    assert.equal(placed.dot, null);
    assert.ok(placed.remark.length > 10);
  }
  const open = placeKernel(kernel(OPEN), 1, 1, 0);
  assert.match(open.remark, /loops at line 4, 9; launch it once with checked=True/);
  assert.equal(open.dot?.bound, "at least");
});

test("a kernel that only moves data has a share of the memory's roof, and no place among the dots", () => {
  const { dot } = placeKernel(kernel({ ...EXACT, operations: 0 }), 1e-3, 1_000_000, 0);
  assert.ok(dot !== null && !hasPlace(dot));
  const roofs = roofsOf({ flops: 1e12, bytes: 24e9, source: "computed" }, [dot]);
  assert.ok(Math.abs(shareOfRoof(dot, roofs) - 0.5) < 1e-9);
});

test("the share is that of the lower roof, and there is none below roofs that were only seen", () => {
  const dot: Dot = {
    name: "k",
    core: "aura",
    intensity: 100,
    flopsPerSecond: 5e11,
    bytesPerSecond: 5e9,
    loadRatio: 0,
    bound: "exact",
  };
  assert.equal(shareOfRoof(dot, roofsOf({ flops: 1e12, bytes: 1e11, source: "" }, [dot])), 0.5);
  const seen = roofsOf(undefined, [dot]);
  assert.deepEqual([seen.flopsPerSecond, seen.bytesPerSecond, seen.isOnlySeen], [5e11, 5e9, true]);
  assert.ok(Number.isNaN(shareOfRoof(dot, seen)));
});

test("a dot above the memory's roof is held against the slowest cache that could have brought its data", () => {
  const dot = (bytesPerSecond: number): Dot => ({
    name: "k",
    core: "aura",
    intensity: 0.1,
    flopsPerSecond: bytesPerSecond / 10,
    bytesPerSecond,
    loadRatio: 0,
    bound: "exact",
  });
  const caches = [
    { name: "L1", bytesPerSecond: 8e10 },
    { name: "L2", bytesPerSecond: 4e10 },
  ];
  const roofs = roofsOf({ flops: 1e12, bytes: 1e10, source: "", caches }, []);
  const held = (speed: number): [string, number] => [
    memoryRoof(dot(speed), roofs).name,
    shareOfRoof(dot(speed), roofs),
  ];
  assert.deepEqual(held(5e9), ["memory", 0.5]);
  assert.deepEqual(held(2e10), ["L2", 0.5]);
  assert.deepEqual(held(6e10), ["L1", 0.75]);
  assert.deepEqual(held(1.6e11), ["L1", 2]);
});

test("functions of native libraries have a place where their operands tell what they do", () => {
  const [product, plain] = readBoundaries([
    { from: "rust", to: "zig", name: "agpu_matrix_matmul", count: 4, total_seconds: 2, operations: 8e9, bytes: 4e8 },
    { from: "rust", to: "zig", name: "agpu_matrix_scan", count: 4, total_seconds: 2, operations: 0, bytes: 0 },
  ]);
  assert.ok(product !== undefined && plain !== undefined);
  assert.deepEqual([placeBoundary(product).dot?.flopsPerSecond, placeBoundary(product).dot?.intensity], [4e9, 20]);
  assert.equal(placeBoundary(plain).dot, null);
});
