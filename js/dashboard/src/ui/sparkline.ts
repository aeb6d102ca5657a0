/** A few values as a line in a table's cell; the axis begins at zero. */

import { Surface } from "./canvas";

export class Sparkline {
  readonly surface: Surface;
  private seenVersion = -1;

  constructor(label: string) {
    this.surface = new Surface(label, "spark");
  }

  /** Paints when `version` is another than last time. */
  paint(values: readonly number[], version: number, colour: string): void {
    if (!this.surface.takeChange() && version === this.seenVersion) return;
    this.seenVersion = version;
    if (!this.surface.begin() || values.length === 0) return;
    const { context, width, height } = this.surface;
    const top = Math.max(...values) || 1;
    const step = width / Math.max(values.length - 1, 1);
    context.strokeStyle = colour;
    context.lineWidth = 1.25;
    context.beginPath();
    values.forEach((value, index) => {
      const y = height - 1.5 - (value / top) * (height - 3);
      if (index === 0) context.moveTo(0, y);
      else context.lineTo(index * step, y);
    });
    context.stroke();
  }
}
