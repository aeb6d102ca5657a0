import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type AMDGPUClient,
  CoreType,
  type Frame,
  type FrameSchema,
  framesLost,
  type JsonObject,
  METRICS,
  type TelemetryData,
} from "../src/index.js";
import { end, RealServer, repository, startPython } from "./support/real_server.js";
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

test("frames have metrics of the catalogue and rates of its counters, in order", { timeout: 60_000 }, async () => {
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
    assert.ok(known.has(name) || known.has(name.replace(/_per_second$/, "_total")), name);
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

test("a launch that a Python program makes arrives, and its core is seen at work", { timeout: 60_000 }, async (t) => {
  let pid: number | undefined;
  const launches = until<JsonObject>((payload) => JSON.stringify(payload).includes(`"pid":${pid},`));
  const samples = until<TelemetryData>(({ activeKernels }) => activeKernels.length > 0);
  const stop = await client.subscribeEvents("kernel_launched", (payload) => launches.seen(payload));
  t.after(stop);
  const cpu = (await client.listDevices()).find(({ device }) => device === "cpu:0");
  assert.ok(cpu);
  await client.subscribeTelemetry(cpu.id, CoreType.AURA, samples.seen);
  const program = await startPython([
    `${repository}tests/support/telemetry_program.py`,
    "--seconds",
    "60",
    "--rate",
    "50",
    "--device",
    "cpu:0",
    "--parts",
    "kernels",
  ]);
  t.after(() => end(program.process));
  assert.ok(program.line, program.complaint());
  pid = program.process.pid;
  const batch = await launches.found;
  const kernels = batch["kernels"] as JsonObject[];
  const launch = kernels.find((kernel) => kernel["pid"] === pid);
  assert.ok(launch);
  assert.equal(launch["device"], "cpu:0");
  const sample = await samples.found;
  assert.deepEqual([sample.deviceId, sample.coreType], [cpu.id, CoreType.AURA]);
  assert.ok(Math.abs(Date.now() - sample.timestamp) < 60_000, "milliseconds since 1970");
  assert.ok(sample.activeKernels[0]?.name);
  await client.unsubscribeTelemetry(cpu.id, CoreType.AURA);
});
