/**
 * A small chart of one metric over the shown stretch of time, for one or several devices.
 *
 * Time is cut into columns of a pixel that stay where they are: what has been seen does not shimmer, and a live chart reads only the columns
 * that are new. Between two samples the line stays at the older one; where nothing was received there is no
 * line: nothing is invented.
 */

import { type FrameStore, isGap } from "../data/frame_store";
import { Surface } from "./canvas";
import { colours } from "./palette";

export interface StripSeries {
  readonly series: number;
  readonly colour: () => string;
}

export interface StripOptions {
  readonly label: string;
  readonly scale: number;
  /** The axis reaches at least from 0 to here. */
  readonly ceiling?: number;
  readonly hasArea?: boolean;
  /** The axis ends at a power of two, as sizes of memory do. */
  readonly isBinary?: boolean;
}

const PADDING = 3;

export class StripChart {
  readonly surface: Surface;
  private lows: Float32Array[] = [];
  private highs: Float32Array[] = [];
  private values: Float32Array;
  private columns = 0;
  private lastColumn = Number.NaN;
  private secondsPerColumn = Number.NaN;
  private seenStore: FrameStore | undefined;
  private seenPast = 0;
  private bottom = 0;
  private top = 1;

  constructor(
    readonly series: readonly StripSeries[],
    private readonly options: StripOptions,
  ) {
    this.surface = new Surface(options.label, "strip");
    this.values = new Float32Array(series.length).fill(Number.NaN);
  }

  /** The largest value of the axis, in the metric's unit. */
  get ceiling(): number {
    return this.top;
  }

  /** 0: nothing new; 1: the newest value changed; 2: a new column, another size, other colours, another stretch. */
  urgency(store: FrameStore, startSeconds: number, endSeconds: number): 0 | 1 | 2 {
    const { columns, secondsPerColumn } = this.grid(startSeconds, endSeconds);
    const isMoved =
      columns !== this.columns ||
      secondsPerColumn !== this.secondsPerColumn ||
      Math.floor(endSeconds / secondsPerColumn) !== this.lastColumn;
    if (isMoved || store !== this.seenStore || store.past !== this.seenPast || this.surface.isChanged()) return 2;
    for (let index = 0; index < this.series.length; index += 1) {
      const value = store.value(this.series[index]?.series ?? -1, endSeconds);
      if (!Object.is(value, this.values[index])) return 1;
    }
    return 0;
  }

  private grid(startSeconds: number, endSeconds: number): { columns: number; secondsPerColumn: number } {
    const columns = Math.max(1, this.surface.width);
    return { columns, secondsPerColumn: (endSeconds - startSeconds) / columns };
  }

  paint(store: FrameStore, startSeconds: number, endSeconds: number): void {
    const { columns, secondsPerColumn } = this.grid(startSeconds, endSeconds);
    const lastColumn = Math.floor(endSeconds / secondsPerColumn);
    this.read(store, columns, secondsPerColumn, lastColumn);
    this.series.forEach(({ series }, index) => {
      this.values[index] = store.value(series, endSeconds);
    });
    this.surface.seen();
    if (!this.surface.begin()) return;
    this.fit();
    const { height } = this.surface;
    this.lines(this.surface.width, height);
    const start = (lastColumn + 1 - columns) * secondsPerColumn;
    this.series.forEach((series, index) => {
      const [low, high] = [this.lows[index], this.highs[index]];
      if (low !== undefined && high !== undefined)
        this.line(series, low, high, store.value(series.series, start), height);
    });
  }

  /** Brings the columns up to date: only those that are new, when the others only moved. */
  private read(store: FrameStore, columns: number, secondsPerColumn: number, lastColumn: number): void {
    const isSame =
      columns === this.columns &&
      secondsPerColumn === this.secondsPerColumn &&
      store === this.seenStore &&
      store.past === this.seenPast;
    const moved = lastColumn - this.lastColumn;
    if (this.lows[0]?.length !== columns) {
      this.lows = this.series.map(() => new Float32Array(columns));
      this.highs = this.series.map(() => new Float32Array(columns));
    }
    const canShift = isSame && moved >= 0 && moved < columns / 2;
    // The column that was the newest may have got more values since.
    const fresh = canShift ? Math.min(moved + 1, columns) : columns;
    const start = (lastColumn + 1 - fresh) * secondsPerColumn;
    this.series.forEach(({ series }, index) => {
      const [low, high] = [this.lows[index], this.highs[index]];
      if (low === undefined || high === undefined) return;
      if (canShift && moved > 0) {
        low.copyWithin(0, moved);
        high.copyWithin(0, moved);
      }
      store.columns(series, start, secondsPerColumn, low.subarray(columns - fresh), high.subarray(columns - fresh));
    });
    this.columns = columns;
    this.secondsPerColumn = secondsPerColumn;
    this.lastColumn = lastColumn;
    this.seenStore = store;
    this.seenPast = store.past;
  }

  private fit(): void {
    const { scale, ceiling, isBinary } = this.options;
    let low = 0;
    let high = Number.NEGATIVE_INFINITY;
    for (const values of this.lows) for (const value of values) if (value * scale < low) low = value * scale;
    for (const values of this.highs) for (const value of values) if (value * scale > high) high = value * scale;
    if (high === Number.NEGATIVE_INFINITY) high = ceiling ?? 1;
    if (ceiling !== undefined) high = Math.max(high, ceiling);
    else high = isBinary === true ? powerOfTwo(high) : niceCeiling(high);
    this.bottom = low;
    this.top = high > low ? high : low + 1;
  }

  private lines(width: number, height: number): void {
    const { context } = this.surface;
    context.fillStyle = colours().line;
    for (const share of [0, 0.5, 1])
      context.fillRect(0, Math.round(PADDING + share * (height - 2 * PADDING)), width, 1);
  }

  private line(series: StripSeries, low: Float32Array, high: Float32Array, before: number, height: number): void {
    const { context } = this.surface;
    const { scale, hasArea } = this.options;
    const inner = height - 2 * PADDING;
    const factor = inner / (this.top - this.bottom);
    const floor = height - PADDING;
    const lastFilled = lastValue(low);
    const pieces: { readonly path: Path2D; readonly firstX: number; lastX: number }[] = [];
    let piece: (typeof pieces)[number] | undefined;
    let held = before;
    for (let column = 0; column <= lastFilled; column += 1) {
      let smallest = low[column] as number;
      let largest = high[column] as number;
      if (isGap(smallest)) {
        piece = undefined;
        held = Number.NaN;
        continue;
      }
      if (Number.isNaN(smallest)) {
        if (Number.isNaN(held)) continue;
        smallest = held;
        largest = held;
      }
      const rises = !(largest < held);
      const firstY = floor - ((rises ? smallest : largest) * scale - this.bottom) * factor;
      const secondY = floor - ((rises ? largest : smallest) * scale - this.bottom) * factor;
      if (piece === undefined) {
        piece = { path: new Path2D(), firstX: column, lastX: column };
        pieces.push(piece);
        piece.path.moveTo(column, firstY);
        // A value between two gaps is a point.
        piece.path.lineTo(column + 0.5, firstY);
      } else piece.path.lineTo(column, firstY);
      if (firstY !== secondY) piece.path.lineTo(column, secondY);
      held = rises ? largest : smallest;
      piece.lastX = column;
    }
    const colour = series.colour();
    context.strokeStyle = colour;
    // Lines of one device pixel are drawn several times as fast as wider ones, which tells where eight lie over each other.
    context.lineWidth = hasArea === true ? 1.5 : 1;
    const base = floor - (Math.max(this.bottom, 0) - this.bottom) * factor;
    for (const { path, firstX, lastX } of pieces) {
      context.stroke(path);
      if (hasArea !== true) continue;
      path.lineTo(lastX, base);
      path.lineTo(firstX, base);
      context.globalAlpha = 0.13;
      context.fillStyle = colour;
      context.fill(path);
      context.globalAlpha = 1;
    }
  }
}

/** The last column that has a value: after it there is nothing to hold. */
function lastValue(values: Float32Array): number {
  for (let column = values.length - 1; column >= 0; column -= 1) {
    const value = values[column] as number;
    if (!Number.isNaN(value) && !isGap(value)) return column;
  }
  return -1;
}

/** The next power of two. */
export function powerOfTwo(value: number): number {
  return value > 0 ? 2 ** Math.ceil(Math.log2(value) - 1e-9) : 1;
}

/** The next of 1, 2, 2.5, 5 times a power of ten. */
export function niceCeiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 2.5, 5, 10]) if (value <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}
