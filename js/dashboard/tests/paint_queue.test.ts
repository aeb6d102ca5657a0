import assert from "node:assert/strict";
import { test } from "node:test";

import { type Paintable, PaintQueue } from "../src/ui/paint_queue";

/** Charts whose painting takes a millisecond of an injected clock. */
function charts(urgencies: (0 | 1 | 2)[]): { queue: PaintQueue; painted: number[]; clock: () => number } {
  let time = 0;
  const painted: number[] = [];
  const queue = new PaintQueue();
  urgencies.forEach((urgency, index) => {
    const chart: Paintable = {
      urgency: () => urgency,
      paint() {
        time += 1;
        painted.push(index);
      },
    };
    queue.add(chart);
  });
  return { queue, painted, clock: () => time };
}

test("charts that are out of date come first, idle ones not at all", () => {
  const { queue, painted, clock } = charts([1, 0, 2, 1, 2]);
  assert.equal(queue.run(clock, 100), 0);
  assert.deepEqual(painted, [2, 4, 0, 3]);
});

test("what does not fit the budget waits, and nobody waits for ever", () => {
  const { queue, painted, clock } = charts([1, 1, 1, 1, 1, 1, 1]);
  assert.ok(queue.run(clock, 1.5) > 0);
  for (let turn = 0; turn < 6; turn += 1) queue.run(clock, 1.5);
  assert.deepEqual([...new Set(painted)].sort(), [0, 1, 2, 3, 4, 5, 6]);
  const counts = [0, 1, 2, 3, 4, 5, 6].map((index) => painted.filter((one) => one === index).length);
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 1);
});

test("a chart whose newest value alone changes rests for two pictures", () => {
  const { queue, painted, clock } = charts([1, 2]);
  for (let turn = 0; turn < 6; turn += 1) queue.run(clock, 100);
  assert.equal(painted.filter((one) => one === 0).length, 2);
  assert.equal(painted.filter((one) => one === 1).length, 6);
});

test("one chart is painted however late it is", () => {
  const { queue, painted, clock } = charts([2, 2]);
  queue.run(clock, -1);
  assert.deepEqual(painted, [0]);
});
