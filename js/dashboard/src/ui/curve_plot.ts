/** Loss and accuracy over epochs with uPlot; each has its own axis. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { Curve } from "../data/facts";
import { colourEpoch } from "../state/preferences";
import { h } from "./dom";
import { colours, seriesColour, seriesDash } from "./palette";

const HEIGHT = 240;

export class CurvePlot {
  readonly element = h("div", { class: "curves" });
  private plot: uPlot | undefined;
  private seen = "";
  private readonly observer = new ResizeObserver(() => {
    const { clientWidth } = this.element;
    if (clientWidth > 0) this.plot?.setSize({ width: clientWidth, height: HEIGHT });
  });

  constructor() {
    this.observer.observe(this.element);
  }

  update(curves: readonly Curve[]): void {
    const kind = `${colourEpoch.peek()} ${curves.map((curve) => curve.name).join()}`;
    if (kind !== this.seen) {
      this.seen = kind;
      this.plot?.destroy();
      this.plot = this.make(curves);
    }
    const length = Math.max(...curves.map((curve) => curve.values.length));
    const epochs = Array.from({ length }, (_, index) => curves[0]?.epochs[index] ?? index);
    const values = curves.map((curve) => Array.from({ length }, (_, index) => nullable(curve.values[index])));
    this.plot?.setData([epochs, ...values] as uPlot.AlignedData);
  }

  private make(curves: readonly Curve[]): uPlot {
    const { muted, line } = colours();
    const axis = {
      stroke: muted,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1 },
      font: "11px system-ui",
    };
    return new uPlot(
      {
        width: Math.max(this.element.clientWidth, 240),
        height: HEIGHT,
        scales: { x: { time: false } },
        axes: [
          { ...axis, label: "epoch", labelSize: 18, labelFont: "11px system-ui" },
          ...curves.map((curve, index) => ({
            ...axis,
            scale: curve.name,
            side: index === 0 ? 3 : 1,
            size: 56,
            grid: { ...axis.grid, show: index === 0 },
          })),
        ],
        series: [
          { label: "epoch" },
          ...curves.map((curve, index) => ({
            label: curve.name,
            scale: curve.name,
            stroke: seriesColour(index),
            dash: seriesDash(2 * index),
            width: 1.75,
            points: { show: curve.values.length < 40 },
          })),
        ],
      },
      [[], ...curves.map(() => [])],
      this.element,
    );
  }

  end(): void {
    this.observer.disconnect();
    this.plot?.destroy();
  }
}

function nullable(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}
