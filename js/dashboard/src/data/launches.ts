/**
 * Launches as they arrive: a ring for the time axis, and the newest durations of each kernel.
 *
 * They are a sample: of short launches one in 64 has a record. Counts, rates and shares come from `kernel_sums` and `core_sums`.
 */

import { type KernelIdentity, kernelKey, readIdentity } from "./kernel_sums";
import { type Fields, num, numOr, rows, text } from "./readers";

export const CORES = ["aura", "matrix", "neuromorphic"] as const;
export type Core = (typeof CORES)[number];

/** Launches kept for the time axis: five minutes of more than 200 a second; of a faster program the newest. */
export const LAUNCH_CAPACITY = 1 << 16;
/** Kernels that are told apart; a program that makes up names loses the one that was quiet for longest. */
export const MAX_KERNELS = 2000;
const RECENT_DURATIONS = 96;

export interface KernelRow extends KernelIdentity {
  readonly key: string;
  readonly core: string;
  /** Launches that arrived. */
  received: number;
  /** End of the newest launch, seconds on the server's monotonic clock. */
  lastEndSeconds: number;
  workItems: number;
  /** Newest durations in ns, a ring whose next place is `received % length`. */
  readonly recent: Float64Array;
}

export class Launches {
  readonly kernels = new Map<string, KernelRow>();
  private readonly starts = new Float64Array(LAUNCH_CAPACITY);
  private readonly durations = new Float32Array(LAUNCH_CAPACITY);
  private readonly cores = new Uint8Array(LAUNCH_CAPACITY);
  private total = 0;
  private lost = 0;
  private revision = 0;

  /** Launches received since the page was opened. */
  get received(): number {
    return this.total;
  }

  /** Launches that the server could not send in time. */
  get dropped(): number {
    return this.lost;
  }

  /** Changes with every batch. */
  get version(): number {
    return this.revision;
  }

  /** Takes the payload of a `kernel_launched` event. */
  take(payload: Fields): void {
    for (const launch of rows(payload["kernels"])) this.add(launch);
    this.lost += numOr(payload["dropped"], 0);
    this.revision += 1;
  }

  private add(launch: Fields): void {
    const startSeconds = num(launch["start_ns"]) / 1e9;
    const durationNs = numOr(launch["duration_ns"], 0);
    if (Number.isNaN(startSeconds)) return;
    const coreName = text(launch["core"]);
    const place = this.total % LAUNCH_CAPACITY;
    this.starts[place] = startSeconds;
    this.durations[place] = durationNs / 1e9;
    this.cores[place] = coreNumber(coreName);
    this.total += 1;
    const row = this.row(launch, coreName);
    row.recent[row.received % row.recent.length] = durationNs;
    row.received += 1;
    row.lastEndSeconds = startSeconds + durationNs / 1e9;
    row.workItems = numOr(launch["work_items"], row.workItems);
  }

  private row(launch: Fields, core: string): KernelRow {
    const identity = readIdentity(launch);
    const key = kernelKey(identity);
    let row = this.kernels.get(key);
    if (row === undefined) {
      if (this.kernels.size >= MAX_KERNELS) this.evict();
      row = {
        ...identity,
        key,
        core,
        received: 0,
        lastEndSeconds: 0,
        workItems: Number.NaN,
        recent: new Float64Array(RECENT_DURATIONS),
      };
      this.kernels.set(key, row);
    }
    return row;
  }

  private evict(): void {
    let oldest: KernelRow | undefined;
    for (const row of this.kernels.values()) {
      if (oldest === undefined || row.lastEndSeconds < oldest.lastEndSeconds) oldest = row;
    }
    if (oldest !== undefined) this.kernels.delete(oldest.key);
  }

  /** Seconds of work of the launches that arrived and started in each column of time, for one core; and how many they were. */
  columns(core: Core, startSeconds: number, secondsPerColumn: number, busy: Float32Array, counts: Float32Array): void {
    busy.fill(0);
    counts.fill(0);
    const wanted = coreNumber(core);
    const oldest = Math.max(0, this.total - LAUNCH_CAPACITY);
    const endSeconds = startSeconds + secondsPerColumn * busy.length;
    for (let position = this.total - 1; position >= oldest; position -= 1) {
      const place = position % LAUNCH_CAPACITY;
      const start = this.starts[place] as number;
      // Processes interleave by at most some batches; half a second before the stretch nothing more can come.
      if (start < startSeconds - 0.5) break;
      if (this.cores[place] !== wanted || start < startSeconds || start >= endSeconds) continue;
      const column = ((start - startSeconds) / secondsPerColumn) | 0;
      busy[column] = (busy[column] as number) + (this.durations[place] as number);
      counts[column] = (counts[column] as number) + 1;
    }
  }

  /** The newest durations of a kernel in seconds, oldest first. */
  recent(row: KernelRow): number[] {
    const size = row.recent.length;
    const length = Math.min(row.received, size);
    return Array.from({ length }, (_, index) => (row.recent[(row.received - length + index) % size] ?? 0) / 1e9);
  }
}

function coreNumber(core: string): number {
  const place = (CORES as readonly string[]).indexOf(core);
  return place < 0 ? 255 : place;
}

/** The value below which a share of the sorted values lies. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
