import assert from "node:assert/strict";
import { test } from "node:test";

import { backfill } from "../src/data/backfill";
import { FrameStore } from "../src/data/frame_store";

const SCHEMA = {
  devices: [
    { name: "a", kind: "", description: "" },
    { name: "b", kind: "", description: "" },
  ],
  metrics: [{ name: "power", labels: { kind: "package" }, unit: "watts", scale: 2 }],
  clock: { monotonicNs: 0, epochNs: 0 },
  rateHz: 10,
  historySeconds: 300,
};

function opened(): FrameStore {
  const store = new FrameStore(2, 10, 300);
  for (let frame = 0; frame < 5; frame += 1) store.push(frame, 1000 + frame / 10, Float32Array.of(frame, -frame));
  return store;
}

test("the past of each series stands before the frames", async () => {
  const store = opened();
  const asked: string[] = [];
  const count = await backfill(
    async (event, payload) => {
      asked.push(`${event} ${payload["metric"]} ${payload["tier"]}`);
      return {
        series: [
          { metric: "power", labels: { device: "b", kind: "package" }, time_ns: [990.5e9, 991.5e9], mean: [20, 30] },
          { metric: "power", labels: { device: "c", kind: "package" }, time_ns: [990.5e9], mean: [99] },
          { metric: "power", labels: { device: "a", kind: "socket" }, time_ns: [990.5e9], mean: [99] },
          { metric: "power", labels: { device: "b", kind: "package", rail: "x" }, time_ns: [990.5e9], mean: [99] },
        ],
      };
    },
    SCHEMA,
    store,
    20,
  );
  assert.deepEqual(asked, ["history:query power 1hz"]);
  assert.equal(count, 20);
  assert.equal(store.oldestSeconds, 980.5);
  assert.equal(store.value(1, 990.9), 10);
  assert.equal(store.value(1, 991.6), 15);
  assert.ok(Number.isNaN(store.value(0, 990.9)));
  assert.equal(store.value(1, 1000.2), -2);
  assert.equal(store.value(0), 4);
});

test("a sensor that is read seldom holds its value until it is read again, and no longer", async () => {
  const store = opened();
  const one = {
    metric: "power",
    labels: { device: "a", kind: "package" },
    time_ns: [985.2e9],
    mean: [20],
    period_ns: 5e9,
  };
  await backfill(async () => ({ series: [one] }), SCHEMA, store, 20);
  assert.ok(Number.isNaN(store.value(0, 984.9)));
  assert.deepEqual(
    [985.9, 987.9, 989.9].map((time) => store.value(0, time)),
    [10, 10, 10],
  );
  assert.ok(Number.isNaN(store.value(0, 991)));
});

test("a server without history changes nothing", async () => {
  const store = opened();
  assert.equal(await backfill(async () => ({ series: "none" }), SCHEMA, store, 20), 0);
  assert.equal(store.length, 5);
  assert.equal(await backfill(async () => ({}), SCHEMA, new FrameStore(2, 10, 300), 20), 0);
});

test("moments that do not fit, or are not before the frames, are left out", () => {
  const store = new FrameStore(1, 1, 4);
  store.push(0, 100, Float32Array.of(1));
  store.push(1, 101, Float32Array.of(2));
  assert.equal(store.prepend([10, 20, 30, 40, 50, 100.5], [Float32Array.of(1, 2, 3, 4, 5, 6)]), 3);
  assert.equal(store.oldestSeconds, 30);
  assert.equal(store.value(0, 41), 4);
  assert.ok(Number.isNaN(store.value(0, 45)));
  assert.equal(store.value(0), 2);
  for (let second = 102; second < 110; second += 1) store.push(second, second, Float32Array.of(second));
  assert.equal(store.prepend([1], [Float32Array.of(1)]), 0);
});
