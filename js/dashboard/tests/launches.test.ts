import assert from "node:assert/strict";
import { test } from "node:test";

import { LAUNCH_CAPACITY, Launches, MAX_KERNELS, quantile } from "../src/data/launches";

function launch(name: string, startSeconds: number, durationSeconds = 0.001, core = "aura"): Record<string, unknown> {
  return {
    pid: 7,
    name,
    core,
    language: "hip-c",
    device: "cpu:0",
    start_ns: startSeconds * 1e9,
    duration_ns: durationSeconds * 1e9,
    work_items: 1024,
  };
}

test("a kernel's row sums its launches", () => {
  const launches = new Launches();
  launches.take({ kernels: [launch("saxpy", 1, 0.002), launch("saxpy", 2, 0.004)], dropped: 3 });
  const row = launches.kernels.get("7 saxpy");
  assert.equal(row?.count, 2);
  assert.equal(row?.totalNs, 6e6);
  assert.equal(row?.longestNs, 4e6);
  assert.equal(launches.dropped, 3);
  assert.deepEqual(row && launches.recent(row), [0.002, 0.004]);
});

test("the same name in another process is another row", () => {
  const launches = new Launches();
  launches.take({ kernels: [launch("k", 1), { ...launch("k", 1), pid: 8 }] });
  assert.deepEqual([...launches.kernels.keys()].sort(), ["7 k", "8 k"]);
});

test("columns hold the work and the number of launches of their core only", () => {
  const launches = new Launches();
  launches.take({ kernels: [launch("a", 10.05, 0.02), launch("b", 10.15, 0.03, "matrix"), launch("a", 10.95, 0.01)] });
  const busy = new Float32Array(10);
  const counts = new Float32Array(10);
  launches.columns("aura", 10, 0.1, busy, counts);
  assert.deepEqual([...counts], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  assert.ok(Math.abs((busy[0] ?? 0) - 0.02) < 1e-6);
  assert.equal(launches.sums("matrix", 10, 11).launches, 1);
});

test("the rate follows what happens and falls to zero when nothing does", () => {
  const launches = new Launches();
  const events = Array.from({ length: 500 }, (_, index) => launch("k", 100 + index / 50));
  launches.take({ kernels: events });
  const row = launches.kernels.get("7 k");
  assert.ok(row !== undefined);
  assert.ok(Math.abs(launches.rate(row, 110) - 50) < 2);
  assert.equal(launches.rate(row, 130), 0);
});

test("programs that make up names push out the kernels that were quiet for longest", () => {
  const launches = new Launches();
  for (let index = 0; index < MAX_KERNELS + 10; index += 1) launches.take({ kernels: [launch(`k${index}`, index)] });
  assert.equal(launches.kernels.size, MAX_KERNELS);
  assert.equal(launches.kernels.has("7 k0"), false);
  assert.ok(launches.kernels.has(`7 k${MAX_KERNELS + 9}`));
});

test("more launches than are kept leave the newest", () => {
  const launches = new Launches();
  const batch = Array.from({ length: LAUNCH_CAPACITY + 100 }, (_, index) => launch("k", index / 1000, 0));
  launches.take({ kernels: batch });
  assert.equal(launches.received, LAUNCH_CAPACITY + 100);
  assert.equal(launches.sums("aura", 0, 1000).launches, LAUNCH_CAPACITY);
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
