/** Spikes as dots: time to the right, neurons downwards, populations in their colours. */

import type { Raster } from "../data/facts";
import { seconds } from "../format";
import { Surface } from "./canvas";
import { colours, seriesColour } from "./palette";

const LEFT = 90;
const BOTTOM = 20;
const GAP = 6;

export class RasterPlot {
  readonly element: HTMLCanvasElement;
  private readonly surface = new Surface("Spikes of the recorded neurons over model time");
  private raster: Raster | undefined;
  private names: readonly string[] = [];
  private isChanged = false;

  constructor() {
    this.element = this.surface.element;
  }

  update(raster: Raster, names: readonly string[]): void {
    this.raster = raster;
    this.names = names;
    this.isChanged = true;
  }

  paint(): void {
    const raster = this.raster;
    if ((!this.surface.takeChange() && !this.isChanged) || raster === undefined || !this.surface.begin()) return;
    this.isChanged = false;
    const { context, width, height } = this.surface;
    const { muted, line } = colours();
    const times = raster.timesSeconds;
    let start = Number.POSITIVE_INFINITY;
    let end = Number.NEGATIVE_INFINITY;
    for (const time of times) {
      start = Math.min(start, time);
      end = Math.max(end, time);
    }
    const span = Math.max(end - start, 1e-9);
    const populations = Math.max(this.names.length, 1);
    const shown = this.names.map((_, index) => raster.neuronsShown[index] || 1);
    const all = shown.reduce((sum, value) => sum + Math.sqrt(value), 0) || 1;
    const room = height - BOTTOM - GAP * (populations - 1);
    const tops: number[] = [];
    const sizes: number[] = [];
    let top = 0;
    for (const value of shown) {
      const size = (Math.sqrt(value) / all) * room;
      tops.push(top);
      sizes.push(size);
      top += size + GAP;
    }
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.names.forEach((name, index) => {
      const y = tops[index] ?? 0;
      const size = sizes[index] ?? 0;
      context.fillStyle = muted;
      context.textAlign = "right";
      context.fillText(name.length > 13 ? `${name.slice(0, 12)}…` : name, LEFT - 8, y + size / 2);
      context.strokeStyle = line;
      context.strokeRect(LEFT + 0.5, Math.round(y) + 0.5, width - LEFT - 1, Math.max(size, 1));
    });
    const scaleX = (width - LEFT - 4) / span;
    for (let spike = 0; spike < times.length; spike += 1) {
      const population = raster.populations[spike] ?? 0;
      const size = sizes[population] ?? 0;
      const share = ((raster.neurons[spike] ?? 0) + 0.5) / (shown[population] ?? 1);
      context.fillStyle = seriesColour(population);
      context.fillRect(
        LEFT + 2 + ((times[spike] ?? 0) - start) * scaleX,
        (tops[population] ?? 0) + Math.min(share, 1) * size - 0.75,
        1.5,
        1.5,
      );
    }
    context.fillStyle = muted;
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText(seconds(start), LEFT, height - 5);
    context.textAlign = "right";
    context.fillText(seconds(end), width - 2, height - 5);
  }

  end(): void {
    this.surface.end();
  }
}
