/** A large plot over time with uPlot: axes, cursor, zoom by dragging, and the two marked intervals. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { type FrameStore, isGap } from "../data/frame_store";
import { ago, quantity } from "../format";
import { colourEpoch } from "../state/preferences";
import { intervalA, intervalB } from "../state/timeline";
import { colours } from "./palette";

export interface PlotSeries {
  readonly series: number;
  readonly label: string;
  readonly colour: string;
  readonly dash: readonly number[];
}

/** Columns for each CSS pixel of width: two values, the smallest and the largest. */
const POINTS_PER_COLUMN = 2;

export class TimePlot {
  private plot: uPlot | undefined;
  private readonly observer: ResizeObserver;
  private low = new Float32Array(0);
  private high = new Float32Array(0);
  private data: number[][] = [];
  private endSeconds = 0;
  private seenTime = Number.NaN;
  private seenStart = Number.NaN;
  private seenEpoch = -1;
  private isZoomed = false;

  constructor(
    private readonly place: HTMLElement,
    private readonly series: readonly PlotSeries[],
    private readonly options: { readonly unit: string; readonly scale: number },
  ) {
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(place);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.place;
    if (this.plot === undefined || clientWidth === 0) return;
    this.plot.setSize({ width: clientWidth, height: Math.max(clientHeight - 28, 80) });
    this.seenTime = Number.NaN;
  }

  private make(): uPlot {
    const { text, muted, line } = colours();
    const axis = {
      stroke: muted,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1 },
      font: "11px system-ui",
    };
    const { unit } = this.options;
    return new uPlot(
      {
        width: Math.max(this.place.clientWidth, 200),
        height: Math.max(this.place.clientHeight - 28, 80),
        scales: { x: { time: false }, y: { range: (_, low, high) => padded(low, high, unit) } },
        legend: { live: true },
        cursor: { drag: { x: true, y: false } },
        axes: [
          { ...axis, values: (_, splits) => splits.map((value) => ago(this.endSeconds - value)) },
          { ...axis, size: 78, values: (_, splits) => splits.map((value) => quantity(value, unit)) },
        ],
        series: [
          { label: "time", value: (_, value) => (value === null ? "" : ago(this.endSeconds - value)) },
          ...this.series.map((one) => ({
            label: one.label,
            stroke: one.colour,
            width: 1.6,
            dash: [...one.dash],
            points: { show: false },
            // uPlot breaks the line at null and goes on over undefined.
            spanGaps: false,
            value: (_: uPlot, value: number | null) => quantity(value ?? Number.NaN, unit),
          })),
        ],
        hooks: {
          drawClear: [(plot) => this.bands(plot, text)],
          setSelect: [
            () => {
              this.isZoomed = true;
            },
          ],
        },
      },
      [[], ...this.series.map(() => [])],
      this.place,
    );
  }

  private bands(plot: uPlot, text: string): void {
    const style = getComputedStyle(document.documentElement);
    for (const [name, interval] of [
      ["a", intervalA.peek()],
      ["b", intervalB.peek()],
    ] as const) {
      if (interval === null) continue;
      const { ctx, bbox } = plot;
      const left = Math.max(plot.valToPos(interval.startSeconds, "x", true), bbox.left);
      const right = Math.min(plot.valToPos(interval.endSeconds, "x", true), bbox.left + bbox.width);
      if (right <= left) continue;
      ctx.save();
      ctx.globalAlpha = 0.14;
      ctx.fillStyle = style.getPropertyValue(`--mark-${name}`);
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.globalAlpha = 1;
      ctx.fillStyle = text;
      ctx.font = `${11 * (window.devicePixelRatio || 1)}px system-ui`;
      ctx.fillText(name.toUpperCase(), left + 4, bbox.top + 14);
      ctx.restore();
    }
  }

  paint(store: FrameStore, startSeconds: number, endSeconds: number): void {
    const epoch = colourEpoch.peek();
    if (this.plot === undefined || epoch !== this.seenEpoch) {
      this.plot?.destroy();
      this.plot = this.make();
      this.plot.over.addEventListener("dblclick", () => {
        this.isZoomed = false;
        this.seenTime = Number.NaN;
      });
      this.seenEpoch = epoch;
      this.seenTime = Number.NaN;
    }
    if (this.isZoomed || (store.newestSeconds === this.seenTime && startSeconds === this.seenStart)) return;
    this.seenTime = store.newestSeconds;
    this.seenStart = startSeconds;
    this.endSeconds = endSeconds;
    this.fill(store, startSeconds, endSeconds);
    this.plot.batch(() => {
      this.plot?.setData(this.data as uPlot.AlignedData, false);
      this.plot?.setScale("x", { min: startSeconds, max: endSeconds });
    });
  }

  private fill(store: FrameStore, startSeconds: number, endSeconds: number): void {
    const columns = Math.max(60, Math.floor(this.place.clientWidth / 2));
    if (this.low.length !== columns) {
      this.low = new Float32Array(columns);
      this.high = new Float32Array(columns);
      this.data = Array.from({ length: this.series.length + 1 }, () => new Array<number>(columns * POINTS_PER_COLUMN));
    }
    // Columns stay where they are on the axis of time, so what has been seen does not change.
    const secondsPerColumn = (endSeconds - startSeconds) / columns;
    const start = (Math.floor(endSeconds / secondsPerColumn) + 1 - columns) * secondsPerColumn;
    const times = this.data[0] ?? [];
    for (let column = 0; column < columns; column += 1) {
      const time = start + column * secondsPerColumn;
      times[2 * column] = time;
      times[2 * column + 1] = time + secondsPerColumn * 0.5;
    }
    this.series.forEach((one, index) => {
      store.columns(one.series, start, secondsPerColumn, this.low, this.high);
      const values = this.data[index + 1] ?? [];
      for (let column = 0; column < columns; column += 1) {
        const low = this.low[column] as number;
        const high = this.high[column] as number;
        const absent = isGap(low) ? null : Number.isNaN(low) ? undefined : 0;
        values[2 * column] = (absent === 0 ? low * this.options.scale : absent) as number;
        values[2 * column + 1] = (absent === 0 ? high * this.options.scale : absent) as number;
      }
    });
  }

  end(): void {
    this.observer.disconnect();
    this.plot?.destroy();
  }
}

function padded(low: number | null, high: number | null, unit: string): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (unit === "ratio") return [0, Math.max(1, high)];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 1;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}
