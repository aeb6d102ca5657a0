import assert from "node:assert/strict";
import { test } from "node:test";

import { LAUNCH_CAPACITY, Launches, MAX_KERNELS, quantile } from "../src/data/launches";

function launch(name: string, startSeconds: number, durationSeconds = 0.001, core = "aura"): Record<string, unknown> {
  return {
    pid: 7,
    name,
    id: "00000000000000aa",
    core,
    language: "hip-c",
    device: "cpu:0",
    start_ns: startSeconds * 1e9,
    duration_ns: durationSeconds * 1e9,
    work_items: 1024,
  };
}

test("a kernel's row keeps its newest durations", () => {
  const launches = new Launches();
  launches.take({ kernels: [launch("saxpy", 1, 0.002), launch("saxpy", 2, 0.004)], dropped: 3 });
  const [row] = launches.kernels.values();
  assert.equal(row?.received, 2);
  assert.equal(launches.dropped, 3);
  assert.deepEqual(row && launches.recent(row), [0.002, 0.004]);
});

test("the same name in another process, on another device or of another source is another row", () => {
  const launches = new Launches();
  const k = launch("k", 1);
  const others = [{ pid: 8 }, { device: "cuda:0" }, { id: "00000000000000bb" }].map((other) => ({ ...k, ...other }));
  launches.take({ kernels: [k, ...others, k] });
  assert.deepEqual(
    [...launches.kernels.values()].map((row) => row.received),
    [2, 1, 1, 1],
  );
});

test("columns hold the work and the number of launches of their core only", () => {
  const launches = new Launches();
  launches.take({ kernels: [launch("a", 10.05, 0.02), launch("b", 10.15, 0.03, "matrix"), launch("a", 10.95, 0.01)] });
  const busy = new Float32Array(10);
  const counts = new Float32Array(10);
  launches.columns("aura", 10, 0.1, busy, counts);
  assert.deepEqual([...counts], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  assert.ok(Math.abs((busy[0] ?? 0) - 0.02) < 1e-6);
  launches.columns("matrix", 10, 0.1, busy, counts);
  assert.deepEqual([...counts], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test("programs that make up names push out the kernels that were quiet for longest", () => {
  const launches = new Launches();
  for (let index = 0; index < MAX_KERNELS + 10; index += 1) launches.take({ kernels: [launch(`k${index}`, index)] });
  assert.equal(launches.kernels.size, MAX_KERNELS);
  const names = new Set([...launches.kernels.values()].map((row) => row.name));
  assert.equal(names.has("k0"), false);
  assert.ok(names.has(`k${MAX_KERNELS + 9}`));
});

test("more launches than are kept leave the newest", () => {
  const launches = new Launches();
  const batch = Array.from({ length: LAUNCH_CAPACITY + 100 }, (_, index) => launch("k", index / 1000, 0));
  launches.take({ kernels: batch });
  assert.equal(launches.received, LAUNCH_CAPACITY + 100);
  const counts = new Float32Array(1);
  launches.columns("aura", 0, 1000, new Float32Array(1), counts);
  assert.equal(counts[0], LAUNCH_CAPACITY);
});

test("events that are not as promised are taken without harm", () => {
  const launches = new Launches();
  launches.take({ kernels: [null, 3, {}, { name: "x", start_ns: "soon" }], dropped: "many" });
  launches.take({});
  assert.equal(launches.received, 0);
});

test("quantiles are values that occurred", () => {
  assert.equal(quantile([3, 1, 2], 0.5), 2);
  assert.equal(quantile([3, 1, 2], 0.95), 3);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});
