/** Names and places of the series in a frame. */

import type { FrameMetric, FrameSchema } from "@amdgpu-framework/sdk";

const UNIT_ENDINGS =
  /_(?:bytes_per_second|per_second|volts|bytes|watts|celsius|hertz|seconds|joules|ratio|rpm|total)(?=_|$)/g;

/** `amdgpu_memory_used_bytes {}` as `memory used`, `amdgpu_power_watts {kind: package}` as `power · package`. */
export function metricTitle({ name, labels }: Pick<FrameMetric, "name" | "labels">): string {
  const words = name
    .replace(/^amdgpu_/, "")
    .replace(/_total$/, "")
    .replace(UNIT_ENDINGS, (ending) => (ending === "_total" ? "_total" : ""))
    .replaceAll("_", " ")
    .trim();
  const details = Object.entries(labels)
    .filter(([key, value]) => key !== "device" && value !== "")
    .map(([, value]) => value);
  return details.length === 0 ? words : `${words} · ${details.join(" ")}`;
}

/** Number of the series of a device's metric whose labels include `labels`, or -1. */
export function seriesOf(
  schema: FrameSchema,
  device: number,
  name: string,
  labels: Record<string, string> = {},
): number {
  const metric = schema.metrics.findIndex(
    (candidate) =>
      candidate.name === name && Object.entries(labels).every(([key, value]) => candidate.labels[key] === value),
  );
  return metric < 0 || device < 0 || device >= schema.devices.length ? -1 : device * schema.metrics.length + metric;
}

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/_bytes_per_second$/, "bytes_per_second"],
  [/_per_second$/, "per_second"],
  [/_ratio$/, "ratio"],
  [/_bytes(?:_total)?$/, "bytes"],
  [/_celsius$/, "celsius"],
  [/_watts$/, "watts"],
  [/_hertz$/, "hertz"],
  [/_joules(?:_total)?$/, "joules"],
  [/_seconds(?:_total)?$/, "seconds"],
  [/_volts$/, "volts"],
  [/_rpm$/, "rpm"],
];

/** The schema with units for metrics that came without one: names end with it. */
export function withUnits(schema: FrameSchema): FrameSchema {
  const unitOf = ({ name, unit }: FrameMetric): string =>
    unit !== "" && unit !== "1" ? unit : (UNITS.find(([ending]) => ending.test(name))?.[1] ?? unit);
  return { ...schema, metrics: schema.metrics.map((metric) => ({ ...metric, unit: unitOf(metric) })) };
}
