import assert from "node:assert/strict";
import { test } from "node:test";

import { batch, effect, signal } from "@preact/signals-core";

test("an effect runs again for what it read last, and for nothing else", () => {
  const isFirst = signal(true);
  const first = signal(1);
  const second = signal(10);
  const seen: number[] = [];
  effect(() => {
    seen.push(isFirst.value ? first.value : second.value);
  });
  second.value = 11;
  isFirst.value = false;
  first.value = 2;
  second.value = 12;
  assert.deepEqual(seen, [1, 11, 12]);
});

test("an effect that has ended is not run", () => {
  const value = signal(0);
  let runs = 0;
  const end = effect(() => {
    void value.value;
    runs += 1;
  });
  end();
  value.value = 1;
  assert.equal(runs, 1);
});

test("changes in a batch run an effect once", () => {
  const left = signal(1);
  const right = signal(2);
  const sums: number[] = [];
  effect(() => {
    sums.push(left.value + right.value);
  });
  batch(() => {
    left.value = 10;
    right.value = 20;
  });
  assert.deepEqual(sums, [3, 30]);
});

test("setting the same value runs nothing", () => {
  const value = signal(1);
  let runs = 0;
  effect(() => {
    void value.value;
    runs += 1;
  });
  value.value = 1;
  assert.equal(runs, 1);
});

test("an effect that changes what it reads ends in an error, not in a frozen page", () => {
  const value = signal(0);
  const other = signal(0);
  effect(() => {
    if (value.value > 0) other.value = other.peek() + 1;
  });
  effect(() => {
    if (other.value > 0) value.value = value.peek() + 1;
  });
  assert.throws(() => {
    value.value = 1;
  }, /Cycle detected/);
});
