/** A sample of a weight matrix in cividis; where there is no synapse there is no colour. */

import { Surface } from "./canvas";
import { cividis, colours, rgb } from "./palette";
import { Tip } from "./tip";

export class WeightMap {
  readonly element: HTMLCanvasElement;
  private readonly surface = new Surface("Sample of the weight matrix");
  private values: readonly (readonly number[])[] = [];
  private low = 0;
  private high = 1;
  private isChanged = false;
  private readonly tip = new Tip();

  constructor() {
    this.element = this.surface.element;
    this.element.addEventListener("mousemove", (event) => this.point(event));
    this.element.addEventListener("mouseleave", () => this.tip.hide());
  }

  /** Smallest and largest weight of the sample. */
  get rangeText(): string {
    return `${this.low.toPrecision(3)} … ${this.high.toPrecision(3)}`;
  }

  update(values: readonly (readonly number[])[]): void {
    this.values = values;
    const known = values.flat().filter((value) => !Number.isNaN(value));
    this.low = known.length === 0 ? 0 : Math.min(...known);
    this.high = known.length === 0 ? 1 : Math.max(...known);
    this.isChanged = true;
  }

  paint(): void {
    if ((!this.surface.takeChange() && !this.isChanged) || !this.surface.begin()) return;
    this.isChanged = false;
    const { context, width, height } = this.surface;
    const columns = this.values[0]?.length ?? 0;
    const rows = this.values.length;
    if (rows === 0 || columns === 0) return;
    context.fillStyle = colours().line;
    context.globalAlpha = 0.35;
    context.fillRect(0, 0, width, height);
    context.globalAlpha = 1;
    // Equal weights are neither low nor high.
    const isFlat = this.high === this.low;
    const span = isFlat ? 1 : this.high - this.low;
    this.values.forEach((row, y) => {
      row.forEach((value, x) => {
        if (Number.isNaN(value)) return;
        context.fillStyle = rgb(cividis(isFlat ? 0.5 : (value - this.low) / span));
        const left = Math.floor((x * width) / columns);
        const top = Math.floor((y * height) / rows);
        context.fillRect(
          left,
          top,
          Math.ceil(((x + 1) * width) / columns) - left,
          Math.ceil(((y + 1) * height) / rows) - top,
        );
      });
    });
  }

  private point(event: MouseEvent): void {
    const row = Math.floor((event.offsetY / this.surface.height) * this.values.length);
    const column = Math.floor((event.offsetX / this.surface.width) * (this.values[0]?.length ?? 0));
    const value = this.values[row]?.[column];
    if (value === undefined) this.tip.hide();
    else
      this.tip.show(
        event.clientX,
        event.clientY,
        `${row} → ${column}: ${Number.isNaN(value) ? "no synapse" : value.toPrecision(5)}`,
      );
  }

  end(): void {
    this.surface.end();
    this.tip.hide();
  }
}
