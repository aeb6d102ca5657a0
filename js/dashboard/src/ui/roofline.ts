/** A roofline: speed over operations for each byte, both logarithmic; each kernel a dot under the roofs of memory and arithmetic. */

import { decimal } from "../format";
import { svg } from "./dom";
import { coreColour } from "./palette";

export interface Dot {
  readonly name: string;
  readonly core: string;
  /** Floating-point operations for each byte. */
  readonly intensity: number;
  readonly flopsPerSecond: number;
  readonly loadRatio: number;
  /** The count leaves out repeated loops: the dot is a lower bound. */
  readonly isLowerBound: boolean;
}

export interface Roofs {
  readonly flopsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly source: string;
  /** Fastest that was seen here, where the device's own figure is not known. */
  readonly isOnlySeen: boolean;
}

const LEFT = 64;
const RIGHT = 20;
const TOP = 14;
const BOTTOM = 38;

export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** Whole powers of ten around the values, at least `decades` of them. */
export function decadesAround(values: readonly number[], decades: number): Extent {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  let low = Math.floor(Math.log10(Math.min(...positive, Number.POSITIVE_INFINITY)));
  let high = Math.ceil(Math.log10(Math.max(...positive, Number.NEGATIVE_INFINITY)) + 1e-9);
  if (!Number.isFinite(low) || !Number.isFinite(high)) return { low: -2, high: -2 + decades };
  while (high - low < decades) {
    high += 1;
    if (high - low < decades) low -= 1;
  }
  return { low, high };
}

export function drawRoofline(width: number, height: number, dots: readonly Dot[], roofs: Roofs): SVGElement {
  const knee = roofs.flopsPerSecond / roofs.bytesPerSecond;
  const x = decadesAround([...dots.map((dot) => dot.intensity), knee, 0.05, 20], 3);
  const y = decadesAround([...dots.map((dot) => dot.flopsPerSecond), roofs.flopsPerSecond], 3);
  const placeX = (value: number): number =>
    LEFT + ((Math.log10(value) - x.low) / (x.high - x.low)) * (width - LEFT - RIGHT);
  const placeY = (value: number): number =>
    height - BOTTOM - ((Math.log10(value) - y.low) / (y.high - y.low)) * (height - TOP - BOTTOM);
  const root = svg("svg", {
    class: "roofline",
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Roofline with ${dots.length} kernels; the table below has the same figures`,
  });
  const axis = svg("g", { class: "axis" });
  for (let power = x.low; power <= x.high; power += 1) {
    const at = placeX(10 ** power);
    axis.append(svg("line", { class: "grid", x1: at, x2: at, y1: TOP, y2: height - BOTTOM }));
    axis.append(svg("text", { x: at, y: height - BOTTOM + 16, "text-anchor": "middle" }, powerText(power)));
  }
  for (let power = y.low; power <= y.high; power += 1) {
    const at = placeY(10 ** power);
    axis.append(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: at, y2: at }));
    axis.append(svg("text", { x: LEFT - 8, y: at + 4, "text-anchor": "end" }, decimal(10 ** power)));
  }
  axis.append(
    svg(
      "text",
      { x: (LEFT + width) / 2, y: height - 4, "text-anchor": "middle" },
      "floating-point operations for each byte",
    ),
  );
  axis.append(
    svg("text", { x: 14, y: TOP + 10, transform: `rotate(-90 14 ${height / 2})`, "text-anchor": "middle", dx: 0 }, ""),
  );
  axis.append(svg("text", { x: LEFT + 6, y: TOP + 12 }, "FLOP/s"));
  root.append(axis);
  drawRoofs(root, roofs, x, width, placeX, placeY);
  for (const dot of [...dots].sort((left, right) => right.loadRatio - left.loadRatio)) {
    const radius = 4 + 9 * Math.sqrt(Math.min(Math.max(dot.loadRatio, 0), 1));
    const circle = svg("circle", {
      cx: placeX(dot.intensity),
      cy: placeY(dot.flopsPerSecond),
      r: radius,
      class: dot.isLowerBound ? "open" : "",
    });
    if (dot.isLowerBound) circle.style.stroke = coreColour(dot.core);
    else circle.style.fill = coreColour(dot.core);
    circle.append(svg("title", {}, dotText(dot)));
    root.append(
      circle,
      svg("text", { x: placeX(dot.intensity) + radius + 4, y: placeY(dot.flopsPerSecond) + 16 }, dot.name),
    );
  }
  return root;
}

function drawRoofs(
  root: SVGElement,
  roofs: Roofs,
  x: Extent,
  width: number,
  placeX: (value: number) => number,
  placeY: (value: number) => number,
): void {
  const { flopsPerSecond: flops, bytesPerSecond: bandwidth } = roofs;
  if (!Number.isFinite(flops) || !Number.isFinite(bandwidth) || flops <= 0 || bandwidth <= 0) return;
  const knee = flops / bandwidth;
  const bottom = placeY(10 ** Math.ceil(Math.log10(flops) - 9));
  const start = 10 ** x.low;
  root.append(
    svg("path", {
      class: roofs.isOnlySeen ? "roof seen" : "roof",
      d: `M${placeX(start)} ${Math.min(placeY(start * bandwidth), bottom)}L${placeX(knee)} ${placeY(flops)}H${width - RIGHT}`,
    }),
  );
  const prefix = roofs.isOnlySeen ? "fastest seen: " : "";
  root.append(
    svg(
      "text",
      { x: width - RIGHT, y: placeY(flops) - 6, "text-anchor": "end" },
      `${prefix}${decimal(flops, "FLOP/s")}`,
    ),
  );
  const middle = Math.sqrt(start * Math.min(knee, 10 ** x.high));
  root.append(
    svg("text", { x: placeX(middle) + 8, y: placeY(middle * bandwidth) + 14 }, `${prefix}${decimal(bandwidth, "B/s")}`),
  );
}

export function dotText(dot: Dot): string {
  const bound = dot.isLowerBound ? "at least " : "";
  return `${dot.name}\n${bound}${decimal(dot.flopsPerSecond, "FLOP/s")} at ${dot.intensity.toPrecision(3)} operations for each byte`;
}

function powerText(power: number): string {
  return power >= -3 && power <= 3 ? String(10 ** power) : `1e${power}`;
}
