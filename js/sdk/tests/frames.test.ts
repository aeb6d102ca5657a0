import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeFrame,
  type Frame,
  type FrameSchema,
  frameBytes,
  frameEpochMs,
  framesLost,
  frameValue,
  InvalidMessageError,
  type JsonObject,
  parseFrameSchema,
} from "../src/index.js";
import { Random } from "./support/random.js";

const REPLY: JsonObject = {
  schema: "amdgpu.frame/1",
  devices: [
    { name: "cuda:0", kind: "cuda", description: "NVIDIA H200" },
    { name: "cpu:0", kind: "cpu", description: "EPYC" },
  ],
  metrics: [
    { name: "amdgpu_busy_ratio", labels: { core: "aura" }, unit: "ratio", scale: 1 },
    { name: "amdgpu_power_watts", labels: {}, unit: "watts", scale: 0.5 },
    { name: "amdgpu_pool_bytes", labels: { state: "active" }, unit: "bytes", scale: 1024 },
  ],
  clock: { monotonic_ns: 5_000_000_000, epoch_ns: 1_700_000_000_000_000_000 },
  rate_hz: 60,
  history_seconds: 300,
};

function encode(sequence: number, timeSeconds: number, values: readonly number[]): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(12 + 4 * values.length));
  view.setUint32(0, sequence, true);
  view.setFloat64(4, timeSeconds, true);
  for (const [index, value] of values.entries()) {
    view.setFloat32(12 + 4 * index, value, true);
  }
  return view.buffer;
}

test("a frame is read by its schema", () => {
  const schema = parseFrameSchema(REPLY);
  assert.equal(frameBytes(schema), 12 + 4 * 6);
  const frame = decodeFrame(schema, encode(7, 6.5, [0.25, 100, 2, Number.NaN, 0, 4]));
  assert.deepEqual([frame.sequence, frame.timeSeconds], [7, 6.5]);
  const values = [0, 1].map((device) => [0, 1, 2].map((metric) => frameValue(schema, frame, device, metric)));
  assert.deepEqual(values, [
    [0.25, 50, 2048],
    [null, 0, 4096],
  ]);
  assert.equal(frameValue(schema, frame, 0, 3), null);
  assert.equal(frameValue(schema, frame, 2, 0), null);
  assert.equal(frameValue(schema, frame, -1, 2), null);
});

test("the values of a frame are a view, not a copy", () => {
  const data = encode(1, 0, [1, 2, 3, 4, 5, 6]);
  assert.equal(decodeFrame(parseFrameSchema(REPLY), data).values.buffer, data);
});

test("the time of a frame is placed in the calendar by the schema's clock", () => {
  const schema = parseFrameSchema(REPLY);
  const frame = decodeFrame(schema, encode(1, 6.5, [0, 0, 0, 0, 0, 0]));
  assert.equal(frameEpochMs(schema, frame), 1_700_000_000_000 + 1500);
});

test("frames of another length are refused and name the length they ought to have", () => {
  const schema = parseFrameSchema(REPLY);
  for (const length of [0, 4, 12, 35, 37, 1000]) {
    assert.throws(() => decodeFrame(schema, new ArrayBuffer(length)), {
      constructor: InvalidMessageError,
      message: /make 36/,
    });
  }
});

test("a schema of another version names both versions", () => {
  assert.throws(() => parseFrameSchema({ ...REPLY, schema: "amdgpu.frame/2" }), {
    constructor: InvalidMessageError,
    message: /amdgpu\.frame\/2.*amdgpu\.frame\/1/,
  });
});

test("lost frames are counted, over the end of the numbers too", () => {
  const at = (sequence: number): Frame => ({ sequence, timeSeconds: 0, values: new Float32Array() });
  assert.equal(framesLost(at(1), at(2)), 0);
  assert.equal(framesLost(at(1), at(5)), 3);
  assert.equal(framesLost(at(0xffff_ffff), at(0)), 0);
  assert.equal(framesLost(at(0xffff_fffe), at(1)), 2);
  assert.equal(framesLost(at(1000), at(0)), 0, "a server that starts anew");
});

test("any frame of any schema gives its numbers back", () => {
  const random = new Random(4);
  for (let round = 0; round < 300; round += 1) {
    const [devices, metrics] = [random.below(9), random.below(33)];
    const schema: FrameSchema = parseFrameSchema({
      ...REPLY,
      devices: Array.from({ length: devices }, (_, index) => ({ name: `cpu:${index}` })),
      metrics: Array.from({ length: metrics }, (_, index) => ({ name: `m${index}` })),
    });
    const values = Array.from({ length: devices * metrics }, () =>
      random.below(10) === 0 ? Number.NaN : Math.fround(random.word() / 7),
    );
    const frame = decodeFrame(schema, encode(random.word(), round / 3, values));
    for (const [index, value] of values.entries()) {
      const [device, metric] = [Math.floor(index / metrics), index % metrics];
      assert.equal(frameValue(schema, frame, device, metric), Number.isNaN(value) ? null : value);
    }
  }
});

test("a schema with any part damaged is refused with InvalidMessageError", () => {
  const random = new Random(5);
  const junk = [null, 1, -1, "x", [], {}, true, [null], [{}], { name: 1 }, Number.NaN] as const;
  let refused = 0;
  for (let round = 0; round < 3000; round += 1) {
    const copy = structuredClone(REPLY);
    const keys = Object.keys(copy);
    copy[random.pick(keys)] = structuredClone(random.pick(junk)) as never;
    try {
      parseFrameSchema(copy);
    } catch (error) {
      assert.ok(error instanceof InvalidMessageError, String(error));
      refused += 1;
    }
  }
  assert.ok(refused > 2000);
});
