/** What the server remembers from before the page was opened: means of a second, put in front of the frames. */

import type { FrameSchema } from "@amdgpu-framework/sdk";

import type { FrameStore } from "./frame_store";
import { type Fields, fields, num, numbers, numOr, rows, text } from "./readers";

const TIER = "1hz";
const NS = 1e9;

type Ask = (event: string, payload: { [key: string]: string | number }) => Promise<Fields>;

/** Fills the store's past; tells how many moments were put in front. A server without history leaves it as it is. */
export async function backfill(
  ask: Ask,
  schema: FrameSchema,
  store: FrameStore,
  historySeconds: number,
): Promise<number> {
  const firstSeconds = store.oldestSeconds;
  if (Number.isNaN(firstSeconds)) return 0;
  const startSeconds = Math.floor(firstSeconds - historySeconds);
  const count = Math.min(historySeconds, Math.floor(firstSeconds) - startSeconds);
  const columns = Array.from({ length: store.seriesCount }, () => new Float32Array(count).fill(Number.NaN));
  const names = [...new Set(schema.metrics.map((metric) => metric.name))];
  let found = 0;
  for (const metric of names) {
    const answer = await ask("history:query", {
      metric,
      tier: TIER,
      start_ns: Math.round(startSeconds * NS),
      end_ns: Math.round(firstSeconds * NS),
    });
    for (const one of rows(answer["series"])) {
      const column = columns[seriesNumber(schema, one)];
      if (column === undefined) continue;
      const values = numbers(one["mean"]);
      // A sensor that is read every minute holds its value for a minute; what is longer without a value is a gap.
      const held = Math.max(1, Math.ceil(numOr(one["period_ns"], NS) / NS));
      numbers(one["time_ns"]).forEach((time, index) => {
        const place = Math.floor(time / NS - startSeconds);
        const value = values[index] ?? Number.NaN;
        if (place >= count || Number.isNaN(value)) return;
        const from = Math.max(place, 0);
        column.fill(value / scaleOf(schema, one), from, Math.max(from, place + held));
        found += 1;
      });
    }
  }
  if (found === 0) return 0;
  const times = Array.from({ length: count }, (_, place) => startSeconds + place + 0.5);
  return store.prepend(times, columns);
}

/** Which series of the frames an answer is about; -1 for none. */
function seriesNumber(schema: FrameSchema, answer: Fields): number {
  const name = text(answer["metric"]);
  const labels = fields(answer["labels"]);
  const device = schema.devices.findIndex((one) => one.name === labels["device"]);
  // Beside the device exactly the labels of the column: of pools, the server tells its own ones one by one too.
  const metric = schema.metrics.findIndex(
    (one) =>
      one.name === name &&
      Object.keys(labels).length === Object.keys(one.labels).length + 1 &&
      Object.entries(one.labels).every(([key, value]) => labels[key] === value),
  );
  return device < 0 || metric < 0 ? -1 : device * schema.metrics.length + metric;
}

/** Frames hold values before they are multiplied with the metric's scale. */
function scaleOf(schema: FrameSchema, answer: Fields): number {
  const scale = num(schema.metrics.find((one) => one.name === answer["metric"])?.scale);
  return scale > 0 ? scale : 1;
}
