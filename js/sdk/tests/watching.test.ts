import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type AMDGPUClient, type Frame, type FrameSchema, framesLost, METRICS } from "../src/index.js";
import { RealServer } from "./support/real_server.js";
import { until } from "./support/until.js";

let server: RealServer;
let client: AMDGPUClient;

before(async () => {
  server = await RealServer.start();
  client = await server.client();
});

after(async () => {
  client?.close();
  await server?.close();
});

test("frames come with the schema of the catalogue, in order", { timeout: 60_000 }, async () => {
  const frames: [Frame, FrameSchema][] = [];
  const { seen, found } = until<number>((count) => count === 5);
  const stop = await client.subscribeFrames((frame, schema) => {
    frames.push([frame, schema]);
    seen(frames.length);
  });
  await found;
  stop();
  const [, schema] = frames[0] as [Frame, FrameSchema];
  assert.ok(schema.devices.some(({ name }) => name === "cpu:0"));
  const known = new Set<string>(METRICS.map(({ name }) => name));
  for (const { name } of schema.metrics) {
    assert.ok(known.has(name), name);
  }
  for (let index = 1; index < 5; index += 1) {
    const [earlier, later] = [
      (frames[index - 1] as [Frame, FrameSchema])[0],
      (frames[index] as [Frame, FrameSchema])[0],
    ];
    assert.ok(later.timeSeconds > earlier.timeSeconds);
    assert.ok(framesLost(earlier, later) < 60);
  }
});
