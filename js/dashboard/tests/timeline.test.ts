import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import {
  clearMarks,
  frozenEndSeconds,
  goLive,
  intervalA,
  intervalB,
  isAtOldest,
  isLive,
  mark,
  rewind,
  shownInterval,
  spanSeconds,
  stepSpan,
  togglePause,
} from "../src/state/timeline";

beforeEach(() => {
  goLive();
  clearMarks();
  spanSeconds.value = 30;
});

test("live follows the newest frame, paused stays", () => {
  assert.deepEqual(shownInterval(100), { startSeconds: 70, endSeconds: 100 });
  togglePause(100);
  assert.deepEqual(shownInterval(120), { startSeconds: 70, endSeconds: 100 });
  togglePause(120);
  assert.ok(isLive());
});

test("rewinding stops at the oldest frame and goes live past the newest", () => {
  rewind(-1000, 50, 300);
  assert.equal(frozenEndSeconds.peek(), 80);
  rewind(10, 50, 300);
  assert.equal(frozenEndSeconds.peek(), 90);
  rewind(1000, 50, 300);
  assert.ok(isLive());
});

test("a step back from where nothing older is says so, until another step", () => {
  rewind(-15, 290, 300);
  assert.equal(isAtOldest.peek(), true);
  rewind(-15, 290, 300);
  assert.equal(isAtOldest.peek(), true);
  goLive();
  assert.equal(isAtOldest.peek(), false);
  rewind(-15, 100, 300);
  assert.equal(isAtOldest.peek(), false);
  rewind(-1000, 100, 300);
  assert.equal(isAtOldest.peek(), true);
  rewind(15, 100, 300);
  assert.equal(isAtOldest.peek(), false);
});

test("the shown length steps between its ends", () => {
  for (let count = 0; count < 10; count += 1) stepSpan(1);
  assert.equal(spanSeconds.peek(), 300);
  for (let count = 0; count < 10; count += 1) stepSpan(-1);
  assert.equal(spanSeconds.peek(), 5);
});

test("marks keep what was shown when they were set", () => {
  mark("a", 100);
  togglePause(200);
  mark("b", 250);
  assert.deepEqual(intervalA.peek(), { startSeconds: 70, endSeconds: 100 });
  assert.deepEqual(intervalB.peek(), { startSeconds: 170, endSeconds: 200 });
});
