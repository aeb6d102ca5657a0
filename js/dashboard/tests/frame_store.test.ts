import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameStore, GAP_SECONDS, isGap, MAX_BYTES } from "../src/data/frame_store";

function filled(count: number, store = new FrameStore(2, 10, 300)): FrameStore {
  for (let frame = 0; frame < count; frame += 1) store.push(frame, frame / 10, Float32Array.of(frame, -frame));
  return store;
}

test("the newest value is that of the last frame, an older one that of the last frame before", () => {
  const store = filled(50);
  assert.equal(store.value(0), 49);
  assert.equal(store.value(1), -49);
  assert.equal(store.value(0, 2.04), 20);
  assert.ok(Number.isNaN(store.value(0, -1)));
  assert.ok(Number.isNaN(store.value(7)));
});

test("frames older than the history are forgotten, and time still finds the others", () => {
  const store = filled(5000);
  assert.equal(store.length, store.capacity);
  assert.equal(store.capacity, 3001);
  assert.equal(store.oldestSeconds, 199.9);
  assert.ok(Number.isNaN(store.value(0, 199.8)));
  assert.equal(store.value(0, 199.95), 1999);
  assert.equal(store.value(0, 350), 3500);
});

test("every value that arrived shows in its column", () => {
  const store = new FrameStore(1, 1000, 10);
  for (let frame = 0; frame < 1000; frame += 1)
    store.push(frame, frame / 1000, Float32Array.of(frame === 537 ? 99 : 1));
  const low = new Float32Array(10);
  const high = new Float32Array(10);
  store.columns(0, 0, 0.1, low, high);
  assert.equal(high[5], 99);
  assert.equal(low[5], 1);
  assert.deepEqual([...high].filter((value) => value > 1).length, 1);
});

test("columns agree with a plain loop over all frames", () => {
  const store = new FrameStore(1, 60, 20);
  const frames: [number, number][] = [];
  let state = 12345;
  let time = 3;
  for (let frame = 0; frame < 2000; frame += 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    time += 0.001 + (state % 40) / 1000;
    const value = Math.fround(state % 7 === 0 ? Number.NaN : (state >>> 8) / 1000);
    store.push(frame, time, Float32Array.of(value));
    frames.push([time, value]);
  }
  const kept = frames.slice(-store.capacity);
  const [start, step, count] = [time - 9.7, 0.13, 70];
  const low = new Float32Array(count);
  const high = new Float32Array(count);
  store.columns(0, start, step, low, high);
  for (let column = 0; column < count; column += 1) {
    const inside = kept
      .filter(
        ([at, value]) =>
          at > start &&
          at <= start + step * count &&
          Math.min(count - 1, Math.trunc((at - start) * (1 / step))) === column &&
          !Number.isNaN(value),
      )
      .map(([, value]) => value);
    if (inside.length === 0) {
      assert.ok(Number.isNaN(low[column]) || isGap(low[column] ?? 0));
      continue;
    }
    assert.equal(low[column], Math.min(...inside));
    assert.equal(high[column], Math.max(...inside));
  }
});

test("a time without frames is a gap, as is one of frames without the value; between two frames the older holds", () => {
  const store = new FrameStore(1, 10, 100);
  const push = (time: number, value: number): boolean => store.push(time * 10, time, Float32Array.of(value));
  for (const time of [10, 11, 12]) push(time, time);
  for (const time of [22, 23]) push(time, time);
  for (const time of [24, 25]) push(time, Number.NaN);
  push(26, 26);
  const low = new Float32Array(40);
  const high = new Float32Array(40);
  // Columns of half a second from 9 s to 29 s: before the first frame, between frames, in the gap, in frames without a value.
  store.columns(0, 9, 0.5, low, high);
  const kind = (time: number): string => {
    const value = low[(time - 9) * 2] ?? Number.NaN;
    return isGap(value) ? "gap" : Number.isNaN(value) ? "held" : String(value);
  };
  assert.equal(kind(9), "gap");
  assert.deepEqual([10, 10.5, 11, 11.5, 12].map(kind), ["10", "held", "11", "held", "12"]);
  assert.deepEqual([12.5, 15, 21.5].map(kind), ["gap", "gap", "gap"]);
  assert.deepEqual([22, 22.5, 23].map(kind), ["22", "held", "23"]);
  assert.deepEqual([24, 24.5, 25, 25.5, 26].map(kind), ["gap", "gap", "gap", "gap", "26"]);
  assert.ok(high.every((value, column) => !isGap(low[column] ?? 0) || value === Number.NEGATIVE_INFINITY));
  assert.equal(store.value(0, 12 + GAP_SECONDS), 12);
  assert.ok(Number.isNaN(store.value(0, 18)));
  assert.equal(store.value(0), 26);
});

test("lost frames are counted by their numbers, a server that began anew is no loss", () => {
  const store = new FrameStore(1, 60, 10);
  store.push(10, 1, Float32Array.of(0));
  store.push(14, 2, Float32Array.of(0));
  assert.equal(store.lostFrames, 3);
  store.push(0, 3, Float32Array.of(0));
  assert.equal(store.lostFrames, 3);
  store.push(0xffffffff, 4, Float32Array.of(0));
  store.push(0, 5, Float32Array.of(0));
  assert.equal(store.lostFrames, 3);
});

test("a frame of another size or out of order is refused", () => {
  const store = filled(3);
  assert.equal(store.push(3, 0.3, Float32Array.of(1)), false);
  assert.equal(store.push(3, 0.1, Float32Array.of(1, 2)), false);
  assert.equal(store.length, 3);
});

test("absent values do not count in a summary", () => {
  const store = new FrameStore(1, 10, 10);
  for (const [index, value] of [1, Number.NaN, 3].entries()) store.push(index, index + 1, Float32Array.of(value));
  assert.deepEqual(store.summary(0, 0, 10), { count: 2, mean: 2, low: 1, high: 3 });
  assert.equal(store.summary(0, 5, 10).count, 0);
});

test("many series shorten the history instead of the memory of the machine", () => {
  const store = new FrameStore(40_000, 60, 300);
  assert.ok(store.capacity * store.seriesCount * 4 <= MAX_BYTES);
  assert.ok(store.capacity > 100);
});
