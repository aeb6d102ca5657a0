/** How busy a core was over the shown time, from the launches that were received: height is the share of each column's time. */

import type { Core, Launches } from "../data/launches";
import { Surface } from "./canvas";
import { colours, coreColour } from "./palette";

const BAR_PIXELS = 3;

export class BusyStrip {
  readonly surface: Surface;
  private busy = new Float32Array(0);
  private counts = new Float32Array(0);
  private seenVersion = -1;
  private seenColumn = Number.NaN;
  private seenSpan = Number.NaN;

  constructor(
    label: string,
    private readonly core: Core,
  ) {
    this.surface = new Surface(label, "strip");
  }

  paint(launches: Launches, startSeconds: number, endSeconds: number): void {
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
    }
    launches.columns(
      this.core,
      (lastColumn + 1 - columns) * secondsPerColumn,
      secondsPerColumn,
      this.busy,
      this.counts,
    );
    const { context } = this.surface;
    context.fillStyle = colours().line;
    context.fillRect(0, height - 1, width, 1);
    context.fillStyle = coreColour(this.core);
    for (let column = 0; column < columns; column += 1) {
      if (this.counts[column] === 0) continue;
      const share = Math.min((this.busy[column] as number) / secondsPerColumn, 1);
      // A launch of microseconds is seen too.
      const size = Math.max(1.5, share * (height - 2));
      context.fillRect(column * BAR_PIXELS, height - 1 - size, BAR_PIXELS - 1, size);
    }
  }
}
