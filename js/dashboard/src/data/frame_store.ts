/**
 * The last five minutes of every series, as frames brought them: one time axis, one ring of float32 for each series.
 *
 * A series is a metric of a device, numbered `device * metrics + metric`. What is absent is NaN.
 */

/** Bytes that the rings may take together; with more series the history is shorter, and the page says how long it is. */
export const MAX_BYTES = 96 * 1024 * 1024;

/** Frames, or seconds of the server's history, are closer together than this; what lies further apart was not received. */
export const GAP_SECONDS = 2;

export class FrameStore {
  readonly capacity: number;
  private readonly times: Float64Array;
  private readonly rings: Float32Array[];
  /** Frames ever stored; the newest is at `total - 1`. */
  private total = 0;
  private lastSequence: number | undefined;
  private lost = 0;
  private pasts = 0;

  constructor(
    readonly seriesCount: number,
    framesPerSecond: number,
    historySeconds: number,
  ) {
    const wanted = Math.ceil(framesPerSecond * historySeconds) + 1;
    const affordable = Math.floor(MAX_BYTES / (4 * Math.max(seriesCount, 1)));
    this.capacity = Math.max(2, Math.min(wanted, affordable));
    this.times = new Float64Array(this.capacity);
    this.rings = Array.from({ length: seriesCount }, () => new Float32Array(this.capacity).fill(Number.NaN));
  }

  /** Frames that the server sent and that did not arrive, by their numbers. */
  get lostFrames(): number {
    return this.lost;
  }

  /** Changes when something was put in front. */
  get past(): number {
    return this.pasts;
  }

  get length(): number {
    return Math.min(this.total, this.capacity);
  }

  get newestSeconds(): number {
    return this.total === 0 ? Number.NaN : (this.times[(this.total - 1) % this.capacity] ?? Number.NaN);
  }

  get oldestSeconds(): number {
    return this.total === 0 ? Number.NaN : (this.times[(this.total - this.length) % this.capacity] ?? Number.NaN);
  }

  /** Stores a frame; one that is older than the newest is not taken, since time on the axis only grows. */
  push(sequence: number, timeSeconds: number, values: Float32Array): boolean {
    if (values.length !== this.seriesCount || (this.total > 0 && timeSeconds <= this.newestSeconds)) return false;
    if (this.lastSequence !== undefined) {
      const step = (sequence - this.lastSequence) >>> 0;
      // A server that was started again counts from the beginning: that is no loss.
      if (step > 1 && step < 1 << 20) this.lost += step - 1;
    }
    this.lastSequence = sequence;
    const place = this.total % this.capacity;
    this.times[place] = timeSeconds;
    for (let series = 0; series < values.length; series += 1) {
      const ring = this.rings[series];
      if (ring !== undefined) ring[place] = values[series] ?? Number.NaN;
    }
    this.total += 1;
    return true;
  }

  /** Puts older moments in front while there is room, the newest of them first to stay; returns how many. */
  prepend(timesSeconds: readonly number[], columns: readonly Float32Array[]): number {
    const room = this.capacity - this.total;
    const usable = timesSeconds.filter((time) => !(time >= this.oldestSeconds)).length;
    const count = Math.min(room, usable);
    if (count <= 0) return 0;
    const from = usable - count;
    this.times.copyWithin(count, 0, this.total);
    this.times.set(timesSeconds.slice(from, usable), 0);
    this.rings.forEach((ring, series) => {
      ring.copyWithin(count, 0, this.total);
      const column = columns[series];
      if (column === undefined) ring.fill(Number.NaN, 0, count);
      else ring.set(column.subarray(from, usable), 0);
    });
    this.total += count;
    this.pasts += 1;
    return count;
  }

  /** The newest value, or that of the last frame up to `timeSeconds`; NaN where no frame came for long. */
  value(series: number, timeSeconds?: number): number {
    const ring = this.rings[series];
    if (ring === undefined || this.total === 0) return Number.NaN;
    const position = timeSeconds === undefined ? this.total - 1 : this.after(timeSeconds) - 1;
    if (position < this.total - this.length) return Number.NaN;
    const place = position % this.capacity;
    if (timeSeconds !== undefined && timeSeconds - (this.times[place] ?? 0) > GAP_SECONDS) return Number.NaN;
    return ring[place] ?? Number.NaN;
  }

  /** Number of the first frame later than `timeSeconds`, counted from the first ever stored. */
  private after(timeSeconds: number): number {
    let low = this.total - this.length;
    let high = this.total;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.times[middle % this.capacity] ?? 0) <= timeSeconds) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Calls `visit` for each frame with start < time <= end, oldest first. */
  each(series: number, startSeconds: number, endSeconds: number, visit: (time: number, value: number) => void): void {
    const ring = this.rings[series];
    if (ring === undefined) return;
    const end = this.after(endSeconds);
    for (let position = this.after(startSeconds); position < end; position += 1) {
      const place = position % this.capacity;
      visit(this.times[place] ?? 0, ring[place] ?? Number.NaN);
    }
  }

  /**
   * Smallest and largest value of each of `count` columns of equal time from `startSeconds`. Every value that was received shows, however
   * many share a column. NaN where no frame fell into the column, so that the value before still holds; an infinite smallest and largest
   * (`isGap`) where nothing is known: no frame came for long, or frames came without a value.
   */
  columns(series: number, startSeconds: number, secondsPerColumn: number, low: Float32Array, high: Float32Array): void {
    low.fill(Number.NaN);
    high.fill(Number.NaN);
    const ring = this.rings[series];
    if (ring === undefined) return;
    const count = low.length;
    const endSeconds = startSeconds + secondsPerColumn * count;
    const end = this.after(endSeconds);
    const { times, capacity } = this;
    const scale = 1 / secondsPerColumn;
    const first = this.after(startSeconds);
    let place = 0;
    // What was before the first frame of these columns: a frame with or without a value, or nothing.
    let before = Number.NEGATIVE_INFINITY;
    let isKnown = false;
    if (first > this.total - this.length) {
      place = (first - 1) % capacity;
      before = times[place] as number;
      isKnown = !Number.isNaN(ring[place] as number);
    }
    for (let position = first; position < end; position += 1) {
      place = position % capacity;
      const value = ring[place] as number;
      const time = times[place] as number;
      if (!isKnown || time - before > GAP_SECONDS) {
        const from = Math.max(0, Math.ceil((Math.max(before, startSeconds) - startSeconds) * scale));
        markGap(low, high, from, Math.min(count - 1, (time - startSeconds) * scale) | 0);
      }
      before = time;
      isKnown = !Number.isNaN(value);
      if (!isKnown) continue;
      const column = Math.min(count - 1, (time - startSeconds) * scale) | 0;
      const smallest = low[column] as number;
      if (!(smallest <= value)) low[column] = value;
      const largest = high[column] as number;
      if (!(largest >= value)) high[column] = value;
    }
    if (!isKnown || endSeconds - before > GAP_SECONDS)
      markGap(low, high, Math.max(0, Math.ceil((Math.max(before, startSeconds) - startSeconds) * scale)), count);
  }

  /** Smallest and largest value of a stretch, the one that holds at its start included; infinities where there is none. */
  extremes(series: number, startSeconds: number, endSeconds: number): { low: number; high: number } {
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    const ring = this.rings[series];
    if (ring !== undefined) {
      const end = this.after(endSeconds);
      const oldest = this.total - this.length;
      for (let position = Math.max(this.after(startSeconds) - 1, oldest); position < end; position += 1) {
        const value = ring[position % this.capacity] as number;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    return { low, high };
  }

  /** Mean, extremes and number of the values in a stretch. */
  summary(series: number, startSeconds: number, endSeconds: number): Summary {
    let count = 0;
    let sum = 0;
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    this.each(series, startSeconds, endSeconds, (_, value) => {
      if (Number.isNaN(value)) return;
      count += 1;
      sum += value;
      low = Math.min(low, value);
      high = Math.max(high, value);
    });
    return count === 0
      ? { count, mean: Number.NaN, low: Number.NaN, high: Number.NaN }
      : { count, mean: sum / count, low, high };
  }
}

/** Marks the columns without a value from `from` up to before `to`. */
function markGap(low: Float32Array, high: Float32Array, from: number, to: number): void {
  for (let column = from; column < to; column += 1) {
    if (!Number.isNaN(low[column] as number)) continue;
    low[column] = Number.POSITIVE_INFINITY;
    high[column] = Number.NEGATIVE_INFINITY;
  }
}

/** Whether a column of `FrameStore.columns` is one of which nothing is known. */
export function isGap(low: number): boolean {
  return low === Number.POSITIVE_INFINITY;
}

export interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}
