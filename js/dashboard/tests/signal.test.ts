import assert from "node:assert/strict";
import { test } from "node:test";

import { batch, effect, signal } from "../src/state/signal";

test("an effect runs again for what it read last, and for nothing else", () => {
  const isFirst = signal(true);
  const first = signal(1);
  const second = signal(10);
  const seen: number[] = [];
  effect(() => {
    seen.push(isFirst.get() ? first.get() : second.get());
  });
  second.set(11);
  isFirst.set(false);
  first.set(2);
  second.set(12);
  assert.deepEqual(seen, [1, 11, 12]);
});

test("an effect that has ended is not run", () => {
  const value = signal(0);
  let runs = 0;
  const end = effect(() => {
    value.get();
    runs += 1;
  });
  end();
  value.set(1);
  assert.equal(runs, 1);
});

test("changes in a batch run an effect once", () => {
  const left = signal(1);
  const right = signal(2);
  const sums: number[] = [];
  effect(() => {
    sums.push(left.get() + right.get());
  });
  batch(() => {
    left.set(10);
    right.set(20);
  });
  assert.deepEqual(sums, [3, 30]);
});

test("setting the same value runs nothing, also for NaN", () => {
  const value = signal(Number.NaN);
  let runs = 0;
  effect(() => {
    value.get();
    runs += 1;
  });
  value.set(Number.NaN);
  assert.equal(runs, 1);
});

test("an effect that changes what it reads ends in an error, not in a frozen page", () => {
  const value = signal(0);
  const other = signal(0);
  effect(() => {
    if (value.get() > 0) other.update((number) => number + 1);
  });
  effect(() => {
    if (other.get() > 0) value.update((number) => number + 1);
  });
  assert.throws(() => value.set(1), /again and again/);
});
