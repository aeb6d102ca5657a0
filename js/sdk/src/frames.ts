/**
 * Telemetry frames: the join reply of a telemetry topic describes devices and metrics once, then every tick is
 * `u32 sequence, f64 time, f32[devices][metrics]`, little endian; NaN is what is absent.
 */

import { InvalidMessageError } from "./generated/errors.js";
import { type JsonObject, readList, readNumber, readObject, readString, stringOr } from "./json.js";

/** The version of frames that this client reads. */
export const FRAME_SCHEMA = "amdgpu.frame/1";
/** More than any machine has; a schema past it is damaged, and its frames would be of absurd size. */
const MAX_DEVICES = 4096;
const MAX_METRICS = 65_536;
const HEADER_BYTES = 12;

export interface FrameDevice {
  /** As in `listDevices`: `cuda:0`, `cpu:0`. */
  readonly name: string;
  readonly kind: string;
  readonly description: string;
}

export interface FrameMetric {
  /** A name of the catalogue, see `METRICS`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly unit: string;
  /** Multiply a value by this to have it in `unit`. */
  readonly scale: number;
}

/** What the numbers of a frame are. */
export interface FrameSchema {
  readonly devices: readonly FrameDevice[];
  readonly metrics: readonly FrameMetric[];
  /** One instant on the server's monotonic clock and in the calendar. */
  readonly clock: { readonly monotonicNs: number; readonly epochNs: number };
  readonly rateHz: number;
  readonly historySeconds: number;
}

/** One tick. `values[device * metrics + metric]`; NaN where nothing is known. */
export interface Frame {
  readonly sequence: number;
  /** Seconds on the server's monotonic clock. */
  readonly timeSeconds: number;
  readonly values: Float32Array;
}

/** The schema in a join reply. Throws `InvalidMessageError` when it is of another version or damaged. */
export function parseFrameSchema(reply: JsonObject): FrameSchema {
  const version = readString(reply["schema"], "schema of frames");
  if (version !== FRAME_SCHEMA) {
    throw new InvalidMessageError(`the server sends frames of ${version}; this client reads ${FRAME_SCHEMA}`);
  }
  const devices = readList(reply["devices"], "devices of frames").map(parseDevice);
  const metrics = readList(reply["metrics"], "metrics of frames").map(parseMetric);
  if (devices.length > MAX_DEVICES || metrics.length > MAX_METRICS) {
    throw new InvalidMessageError(`frames of ${devices.length} devices and ${metrics.length} metrics are too large`);
  }
  const clock = readObject(reply["clock"], "clock of frames");
  return {
    devices,
    metrics,
    clock: {
      monotonicNs: readNumber(clock["monotonic_ns"], "clock.monotonic_ns"),
      epochNs: readNumber(clock["epoch_ns"], "clock.epoch_ns"),
    },
    rateHz: readNumber(reply["rate_hz"], "rate_hz of frames"),
    historySeconds: readNumber(reply["history_seconds"], "history_seconds of frames"),
  };
}

function parseDevice(value: unknown, index: number): FrameDevice {
  const device = readObject(value, `device ${index} of frames`);
  const name = readString(device["name"], `name of device ${index}`);
  return { name, kind: stringOr(device["kind"], ""), description: stringOr(device["description"], name) };
}

function parseMetric(value: unknown, index: number): FrameMetric {
  const metric = readObject(value, `metric ${index} of frames`);
  const labels: Record<string, string> = {};
  for (const [label, text] of Object.entries(readObject(metric["labels"] ?? {}, `labels of metric ${index}`))) {
    labels[label] = readString(text, `label ${label} of metric ${index}`);
  }
  return {
    name: readString(metric["name"], `name of metric ${index}`),
    labels,
    unit: stringOr(metric["unit"], "1"),
    scale: metric["scale"] === undefined ? 1 : readNumber(metric["scale"], `scale of metric ${index}`),
  };
}

/** Bytes of one frame of this schema. */
export function frameBytes(schema: FrameSchema): number {
  return HEADER_BYTES + 4 * schema.devices.length * schema.metrics.length;
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/**
 * One frame. Its values are a view of `data`, not a copy.
 *
 * Throws `InvalidMessageError` when the length is not that of the schema's frames.
 */
export function decodeFrame(schema: FrameSchema, data: ArrayBuffer): Frame {
  const wanted = frameBytes(schema);
  if (data.byteLength !== wanted) {
    throw new InvalidMessageError(
      `a frame has ${data.byteLength} bytes; ${schema.devices.length} devices with ${schema.metrics.length} metrics make ${wanted}`,
    );
  }
  const view = new DataView(data);
  const count = schema.devices.length * schema.metrics.length;
  const values = isLittleEndian
    ? new Float32Array(data, HEADER_BYTES, count)
    : Float32Array.from({ length: count }, (_, index) => view.getFloat32(HEADER_BYTES + 4 * index, true));
  return { sequence: view.getUint32(0, true), timeSeconds: view.getFloat64(4, true), values };
}

/** The value of a metric of a device in its unit, or null where it is absent. Indexes are those of the schema. */
export function frameValue(schema: FrameSchema, frame: Frame, device: number, metric: number): number | null {
  const value = frame.values[device * schema.metrics.length + metric];
  const description = schema.metrics[metric];
  return value === undefined || description === undefined || device < 0 || Number.isNaN(value)
    ? null
    : value * description.scale;
}

/** When a frame was made, in milliseconds since 1970, as `Date` counts. */
export function frameEpochMs(schema: FrameSchema, frame: Frame): number {
  return (schema.clock.epochNs - schema.clock.monotonicNs) / 1e6 + frame.timeSeconds * 1e3;
}

/** Frames that were lost between two, by their sequence numbers, which wrap at 2**32. */
export function framesLost(before: Frame, after: Frame): number {
  const step = (after.sequence - before.sequence) >>> 0;
  // A step over half the range is a server that started anew, not two thousand million lost frames.
  return step === 0 || step > 0x7fff_ffff ? 0 : step - 1;
}
