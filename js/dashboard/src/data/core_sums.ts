/** What a core of all devices does at a moment, from the frames: programs count it, so it is exact however few launches have a record. */

import type { FrameSchema } from "@amdgpu-framework/sdk";

import type { FrameStore } from "./frame_store";
import { seriesOf } from "./schema";

export interface CoreSums {
  /** Share of the last second in which the core of the busiest device worked. */
  readonly busyRatio: number;
  /** Of the last second, on all devices. */
  readonly launchesPerSecond: number;
  readonly operationsPerSecond: number;
  /** Time of one launch, or of one operation where the core launches nothing; NaN where that cannot be told. */
  readonly meanSeconds: number;
}

/** All fields are NaN where no program tells anything of the core. */
export function coreSums(store: FrameStore, schema: FrameSchema, core: string, timeSeconds: number): CoreSums {
  const values = (name: string): number[] =>
    schema.devices
      .map((_, device) => store.value(seriesOf(schema, device, name, { core }), timeSeconds))
      .filter((value) => !Number.isNaN(value));
  const sum = (found: number[]): number =>
    found.length === 0 ? Number.NaN : found.reduce((total, value) => total + value, 0);
  const busy = values("amdgpu_busy_ratio");
  const launchesPerSecond = sum(values("amdgpu_kernel_launches_per_second"));
  const operationsPerSecond = sum(values("amdgpu_operations_per_second"));
  const perSecond = launchesPerSecond > 0 ? launchesPerSecond : operationsPerSecond;
  // A core that works all the time may do so with several threads at once: what each launch took does not follow then.
  const isKnown = perSecond > 0 && busy.length > 0 && busy.every((ratio) => ratio < 1);
  return {
    busyRatio: busy.length === 0 ? Number.NaN : Math.max(...busy),
    launchesPerSecond,
    operationsPerSecond,
    meanSeconds: isKnown ? sum(busy) / perSecond : Number.NaN,
  };
}
