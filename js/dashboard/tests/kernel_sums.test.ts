import assert from "node:assert/strict";
import { test } from "node:test";

import type { FrameSchema } from "@amdgpu-framework/sdk";

import { coreSums } from "../src/data/core_sums";
import { FrameStore } from "../src/data/frame_store";
import { kernelTitles, readKernelSums } from "../src/data/kernel_sums";

const ROW = { pid: 7, device: "cpu:0", core: "aura", name: "fold", id: "00112233445566aa", calls_per_second: 5 };

test("kernels of one name have figures of their own", () => {
  const sums = readKernelSums([
    { ...ROW, calls: 22_800_000, timed_calls: 356_250, seconds: 37.2, busy_ratio: 0.5 },
    { ...ROW, id: "00112233445566bb", calls: 3, timed_calls: 3, seconds: 0.1, busy_ratio: 0.01 },
  ]);
  const [large, small] = [...sums.values()];
  assert.deepEqual([large?.calls, large?.isEstimated, large?.timedCalls], [22_800_000, true, 356_250]);
  assert.deepEqual([small?.calls, small?.isEstimated, small?.seconds], [3, false, 0.1]);
});

test("names that several kernels have are told apart by their signatures, or by their ids", () => {
  const one = { pid: 1, device: "cpu:0", name: "fold", id: "0011223344556677", signature: "fold(float* x)" };
  const titles = (...kernels: (typeof one)[]): string[] => [...kernelTitles(kernels).values()];
  assert.deepEqual(titles(one, { ...one, pid: 2 }), ["fold", "fold"]);
  const other = { ...one, id: "8899aabbccddeeff", signature: "fold(int* x)" };
  assert.deepEqual(titles(one, other), ["fold(float* x)", "fold(int* x)"]);
  assert.deepEqual(titles(one, { ...other, signature: one.signature }), ["fold [00112233]", "fold [8899aabb]"]);
});

test("a core shows what programs count of it, with no launch received", () => {
  const core = (name: string) => ({ name, labels: { core: "matrix" }, unit: "", scale: 1 });
  const names = ["amdgpu_busy_ratio", "amdgpu_kernel_launches_per_second", "amdgpu_operations_per_second"];
  const schema = {
    devices: [
      { name: "cpu:0", kind: "cpu", description: "" },
      { name: "cuda:0", kind: "cuda", description: "" },
    ],
    metrics: names.map(core),
    rateHz: 10,
  } as unknown as FrameSchema;
  const store = new FrameStore(6, 10, 10);
  store.push(1, 5, new Float32Array([0.25, 0, 2000, Number.NaN, Number.NaN, Number.NaN]));
  const sums = coreSums(store, schema, "matrix", 6);
  assert.deepEqual([sums.busyRatio, sums.launchesPerSecond, sums.operationsPerSecond], [0.25, 0, 2000]);
  assert.ok(Math.abs(sums.meanSeconds - 0.25 / 2000) < 1e-9);
  assert.ok(Number.isNaN(coreSums(store, schema, "neuromorphic", 6).operationsPerSecond));
});
