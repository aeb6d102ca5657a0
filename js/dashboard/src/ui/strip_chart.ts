/**
 * A small chart of one metric over the shown stretch of time, for one or several devices.
 *
 * Time is cut into columns of a pixel that stay where they are, so a live chart is painted anew only when a column is complete or its value
 * changed, and what has been seen does not shimmer. Between two samples the line stays at the older one: nothing is invented.
 */

import type { FrameStore } from "../data/frame_store";
import { Surface } from "./canvas";
import { colours } from "./palette";

export interface StripSeries {
  readonly series: number;
  readonly colour: () => string;
  readonly dash?: readonly number[];
}

export interface StripOptions {
  readonly label: string;
  readonly scale: number;
  /** The axis reaches at least from 0 to here. */
  readonly ceiling?: number;
  /** Shows only what values do, not how far they are from zero. */
  readonly isTight?: boolean;
  readonly hasArea?: boolean;
  /** The axis ends at a power of two, as sizes of memory do. */
  readonly isBinary?: boolean;
}

const PADDING = 3;
/** Columns of less than this many CSS pixels cost more than they show. */
const COLUMN_PIXELS = 1;

export class StripChart {
  readonly surface: Surface;
  private low = new Float32Array(0);
  private high = new Float32Array(0);
  private seenColumn = Number.NaN;
  private seenColumns = Number.NaN;
  private seenSpan = Number.NaN;
  private seenValues: number[] = [];
  /** Share of the width under the pointer, or null. */
  hoverShare: number | null = null;
  private seenHover: number | null = null;
  private bottom = 0;
  private top = 1;

  constructor(
    readonly series: readonly StripSeries[],
    private readonly options: StripOptions,
  ) {
    this.surface = new Surface(options.label, "strip");
  }

  /** The smallest and largest value of the axis, in the metric's unit. */
  get range(): readonly [number, number] {
    return [this.bottom, this.top];
  }

  /** Paints when there is something new to see; tells whether it did. */
  paint(store: FrameStore, startSeconds: number, endSeconds: number): boolean {
    const { width, height } = this.surface;
    const columns = Math.max(1, Math.floor(width / COLUMN_PIXELS));
    const spanSeconds = endSeconds - startSeconds;
    const secondsPerColumn = spanSeconds / columns;
    const lastColumn = Math.floor(endSeconds / secondsPerColumn);
    const values = this.series.map(({ series }) => store.value(series, endSeconds));
    const isSame =
      lastColumn === this.seenColumn &&
      spanSeconds === this.seenSpan &&
      columns === this.seenColumns &&
      this.hoverShare === this.seenHover &&
      values.every((value, index) => Object.is(value, this.seenValues[index]));
    if (!this.surface.takeChange() && isSame) return false;
    this.seenColumn = lastColumn;
    this.seenSpan = spanSeconds;
    this.seenColumns = columns;
    this.seenValues = values;
    this.seenHover = this.hoverShare;
    if (!this.surface.begin()) return false;
    if (this.low.length !== columns) {
      this.low = new Float32Array(columns);
      this.high = new Float32Array(columns);
    }
    const start = (lastColumn + 1 - columns) * secondsPerColumn;
    this.fit(store, startSeconds, endSeconds);
    this.grid(width, height);
    for (const series of this.series) {
      store.columns(series.series, start, secondsPerColumn, this.low, this.high);
      this.line(series, store.value(series.series, start), height, width / columns);
    }
    if (this.hoverShare !== null) this.cursor(width, height);
    return true;
  }

  private fit(store: FrameStore, startSeconds: number, endSeconds: number): void {
    const { scale, ceiling, isTight } = this.options;
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const { series } of this.series) {
      const found = store.extremes(series, startSeconds, endSeconds);
      low = Math.min(low, found.low * scale);
      high = Math.max(high, found.high * scale);
    }
    if (!(high >= low)) {
      low = 0;
      high = ceiling ?? 1;
    }
    if (isTight !== true) {
      low = Math.min(low, 0);
      high =
        ceiling === undefined
          ? this.options.isBinary === true
            ? powerOfTwo(high)
            : niceCeiling(high)
          : Math.max(high, ceiling);
    }
    if (high - low < 1e-12 * Math.max(Math.abs(high), 1)) {
      const pad = Math.abs(high) * 0.05 || 1;
      high += pad;
      if (low < 0 || isTight === true) low -= pad;
    }
    this.bottom = low;
    this.top = high;
  }

  private y(value: number, height: number): number {
    const share = (value - this.bottom) / (this.top - this.bottom);
    return height - PADDING - share * (height - 2 * PADDING);
  }

  private grid(width: number, height: number): void {
    const { context } = this.surface;
    context.strokeStyle = colours().line;
    context.lineWidth = 1;
    context.beginPath();
    for (const share of [0, 0.5, 1]) {
      const y = Math.round(PADDING + share * (height - 2 * PADDING)) + 0.5;
      context.moveTo(0, y);
      context.lineTo(width, y);
    }
    context.stroke();
  }

  private line(series: StripSeries, before: number, height: number, step: number): void {
    const { context } = this.surface;
    const { scale, hasArea } = this.options;
    const { low, high } = this;
    const lastFilled = lastValue(low);
    context.beginPath();
    let held = before;
    let isDown = false;
    let firstX = 0;
    let lastX = 0;
    for (let column = 0; column < low.length; column += 1) {
      const x = column * step;
      let smallest = low[column] as number;
      let largest = high[column] as number;
      if (Number.isNaN(smallest)) {
        if (Number.isNaN(held) || column > lastFilled) continue;
        smallest = held;
        largest = held;
      }
      const yLow = this.y(smallest * scale, height);
      const yHigh = this.y(largest * scale, height);
      const rises = !(largest * scale < held * scale);
      const firstY = rises ? yLow : yHigh;
      const secondY = rises ? yHigh : yLow;
      if (isDown) context.lineTo(x, firstY);
      else {
        context.moveTo(x, firstY);
        firstX = x;
        isDown = true;
      }
      if (firstY !== secondY) context.lineTo(x, secondY);
      held = rises ? largest : smallest;
      lastX = x;
    }
    if (!isDown) return;
    const colour = series.colour();
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.setLineDash((series.dash ?? []) as number[]);
    context.stroke();
    context.setLineDash([]);
    if (hasArea === true) {
      const floor = this.y(Math.max(this.bottom, 0), height);
      context.lineTo(lastX, floor);
      context.lineTo(firstX, floor);
      context.closePath();
      context.globalAlpha = 0.13;
      context.fillStyle = colour;
      context.fill();
      context.globalAlpha = 1;
    }
  }

  private cursor(width: number, height: number): void {
    const { context } = this.surface;
    const x = Math.round((this.hoverShare ?? 0) * width) + 0.5;
    context.strokeStyle = colours().muted;
    context.setLineDash([2, 2]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.stroke();
    context.setLineDash([]);
  }
}

/** The last column that has a value: after it there is nothing to hold. */
function lastValue(values: Float32Array): number {
  for (let column = values.length - 1; column >= 0; column -= 1) if (!Number.isNaN(values[column])) return column;
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
