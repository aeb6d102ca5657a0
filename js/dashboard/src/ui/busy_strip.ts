/**
 * How busy a core was over the shown time: height is the share of each column's time in which launches ran, as far as they were received,
 * or what the programs say of the core, whichever is more. Operations inside native libraries are no launches, but they count there.
 */

import { type FrameStore, isGap } from "../data/frame_store";
import type { Core, Launches } from "../data/launches";
import { Surface } from "./canvas";
import { colours, coreColour } from "./palette";

const BAR_PIXELS = 3;

export class BusyStrip {
  readonly surface: Surface;
  private busy = new Float32Array(0);
  private counts = new Float32Array(0);
  private low = new Float32Array(0);
  private high = new Float32Array(0);
  private told = new Float32Array(0);
  private seenVersion = -1;
  private seenColumn = Number.NaN;
  private seenSpan = Number.NaN;

  constructor(
    label: string,
    private readonly core: Core,
  ) {
    this.surface = new Surface(label, "strip");
  }

  /** `series` are those of the core's busy ratio, one for each device that has it. */
  paint(
    launches: Launches,
    store: FrameStore,
    series: readonly number[],
    startSeconds: number,
    endSeconds: number,
  ): void {
    const { width, height } = this.surface;
    const columns = Math.max(1, Math.floor(width / BAR_PIXELS));
    const secondsPerColumn = (endSeconds - startSeconds) / columns;
    const lastColumn = Math.floor(endSeconds / secondsPerColumn);
    const isSame =
      launches.version === this.seenVersion && lastColumn === this.seenColumn && secondsPerColumn === this.seenSpan;
    if (!this.surface.takeChange() && isSame) return;
    this.seenVersion = launches.version;
    this.seenColumn = lastColumn;
    this.seenSpan = secondsPerColumn;
    if (!this.surface.begin()) return;
    if (this.busy.length !== columns) {
      this.busy = new Float32Array(columns);
      this.counts = new Float32Array(columns);
      this.low = new Float32Array(columns);
      this.high = new Float32Array(columns);
      this.told = new Float32Array(columns);
    }
    launches.columns(
      this.core,
      (lastColumn + 1 - columns) * secondsPerColumn,
      secondsPerColumn,
      this.busy,
      this.counts,
    );
    this.told.fill(Number.NEGATIVE_INFINITY);
    const start = (lastColumn + 1 - columns) * secondsPerColumn;
    for (const one of series) {
      store.columns(one, start, secondsPerColumn, this.low, this.high);
      for (let column = 0; column < columns; column += 1) {
        // Where nothing was received nothing is known; between two frames the core was as idle as its bars say.
        const value = isGap(this.low[column] as number) ? Number.NEGATIVE_INFINITY : (this.high[column] as number) || 0;
        if (value > (this.told[column] as number)) this.told[column] = value;
      }
    }
    const { context } = this.surface;
    context.fillStyle = colours().line;
    // The ground is drawn where something is known: an idle core and a gap look different.
    for (let column = 0; column < columns; column += 1)
      if (this.counts[column] !== 0 || this.told[column] !== Number.NEGATIVE_INFINITY)
        context.fillRect(column * BAR_PIXELS, height - 1, BAR_PIXELS, 1);
    context.fillStyle = coreColour(this.core);
    for (let column = 0; column < columns; column += 1) {
      const told = Math.max(this.told[column] as number, 0);
      if (this.counts[column] === 0 && told === 0) continue;
      const share = Math.min(Math.max((this.busy[column] as number) / secondsPerColumn, told), 1);
      // A launch of microseconds is seen too.
      const size = Math.max(1.5, share * (height - 2));
      context.fillRect(column * BAR_PIXELS, height - 1 - size, BAR_PIXELS - 1, size);
    }
  }
}
