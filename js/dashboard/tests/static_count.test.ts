import assert from "node:assert/strict";
import { test } from "node:test";

import { countIr, scalarIr } from "../src/data/static_count";

const SAXPY = `kernel @saxpy(y: ptr.global, x: ptr.global, a: f32, n: i32) -> void line 1 {
  %0 = parameter 0 : ptr.global
  %2 = parameter 1 : ptr.global
  %4 = parameter 2 : f32
b0:
  %9 = special thread_index.x : i32 !1
  branch %9, b1, b2 !1
b1:
  %23 = offset %2, %9 scale 4 : ptr.global !1
  %24 = load %23 : f32 !1
  %30 = offset %0, %9 scale 4 : ptr.global !1
  %31 = load %30 : f32 !1
  %25 = intrinsic fused_multiply_add %4, %24, %31 : f32 !1
  %35 = store %30, %25 : void !1
  jump b2 !1
b2:
  return !1
}
`;

test("operations and bytes of one work-item", () => {
  assert.deepEqual(countIr(SAXPY, "saxpy"), { operations: 2, bytes: 12, hasLoop: false });
});

test("a loop makes the count a lower bound", () => {
  const looped = SAXPY.replace("  jump b2 !1", "  branch %9, b1, b2 !1");
  assert.equal(countIr(looped, "saxpy")?.hasLoop, true);
});

test("shared memory is not global memory, and integers are not floating point", () => {
  const ir = `kernel @k(p: ptr.shared) -> void line 1 {
  %0 = parameter 0 : ptr.shared
b0:
  %1 = load %0 : f32 !1
  %2 = add %1, %1 : i32 !1
  %3 = multiply_float %1, %1 : <4 x f32> !1
  return !1
}`;
  assert.deepEqual(countIr(ir, "k"), { operations: 4, bytes: 0, hasLoop: false });
});

test("a kernel that is not in the text has no count", () => {
  assert.equal(countIr(SAXPY, "sax"), null);
  assert.equal(countIr("", "saxpy"), null);
});

test("the count is taken before work-items become lanes", () => {
  const pass = (name: string, before: string, after: string) => ({ name, before, after });
  assert.equal(scalarIr([pass("dead-code", "a", "b"), pass("work-item-vectorization", "b", "c")]), "b");
  assert.equal(scalarIr([pass("dead-code", "a", "b")]), "b");
  assert.equal(scalarIr([]), "");
});
