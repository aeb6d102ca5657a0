/** A roofline: speed over operations for each byte, both logarithmic; each kernel a dot under the roofs of memory and arithmetic. */

import type { Dot, Roofs } from "../data/work";
import { memoryRoof, shareOfRoof } from "../data/work";
import { decimal, percent } from "../format";
import { svg } from "./dom";
import { coreColour } from "./palette";

const LEFT = 64;
const RIGHT = 20;
const TOP = 14;
const BOTTOM = 38;
/** Names beside dots, of those that take most time; the others have theirs when pointed at. */
const MAX_NAMES = 10;
const LETTER_WIDTH = 6.5;
const LINE_HEIGHT = 13;

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

/** Whether a dot has a place on logarithmic axes. */
export function hasPlace(dot: Dot): boolean {
  return dot.intensity > 0 && Number.isFinite(dot.intensity) && dot.flopsPerSecond > 0;
}

export function drawRoofline(width: number, height: number, given: readonly Dot[], roofs: Roofs): SVGElement {
  const dots = given.filter(hasPlace).sort((left, right) => right.loadRatio - left.loadRatio);
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
    svg("text", { x: LEFT + 6, y: TOP + 12 }, "FLOP/s"),
  );
  root.append(axis);
  drawRoofs(root, roofs, x, y, width, placeX, placeY);
  const taken: Box[] = [];
  const names: SVGElement[] = [];
  for (const dot of dots) {
    const radius = 4 + 9 * Math.sqrt(Math.min(Math.max(dot.loadRatio, 0), 1));
    const [cx, cy] = [placeX(dot.intensity), placeY(dot.flopsPerSecond)];
    const circle = svg("circle", { cx, cy, r: radius, class: dot.bound === "exact" ? "" : "open" });
    if (dot.bound === "exact") circle.style.fill = coreColour(dot.core);
    else circle.style.stroke = coreColour(dot.core);
    circle.append(svg("title", {}, dotText(dot, roofs)));
    root.append(circle);
    if (names.length < MAX_NAMES) {
      const label = nameOf(dot, roofs);
      const place = freePlace(taken, cx, cy, radius, label.length * LETTER_WIDTH, width, height);
      if (place !== null) names.push(svg("text", { class: "name", x: place.x, y: place.y + LINE_HEIGHT - 3 }, label));
    }
  }
  // Above all dots.
  root.append(...names);
  return root;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** A place beside a dot where no other name stands; it is taken then. */
function freePlace(
  taken: Box[],
  cx: number,
  cy: number,
  radius: number,
  wide: number,
  width: number,
  height: number,
): Box | null {
  const right = cx + radius + 4;
  const left = cx - radius - 4 - wide;
  const heights = [cy - LINE_HEIGHT / 2, cy + radius, cy - radius - LINE_HEIGHT];
  for (const y of heights) {
    for (const x of [right, left]) {
      if (x < LEFT || x + wide > width - 2 || y < TOP || y + LINE_HEIGHT > height - BOTTOM) continue;
      const meets = taken.some((box) => x < box.x + box.width && box.x < x + wide && Math.abs(box.y - y) < LINE_HEIGHT);
      if (meets) continue;
      const box = { x, y, width: wide };
      taken.push(box);
      return box;
    }
  }
  return null;
}

function nameOf(dot: Dot, roofs: Roofs): string {
  const share = shareOfRoof(dot, roofs);
  return Number.isNaN(share) ? dot.name : `${dot.name} ${percent(share)}`;
}

function drawRoofs(
  root: SVGElement,
  roofs: Roofs,
  x: Extent,
  y: Extent,
  width: number,
  placeX: (value: number) => number,
  placeY: (value: number) => number,
): void {
  const { flopsPerSecond: flops, bytesPerSecond: bandwidth } = roofs;
  if (!Number.isFinite(flops) || !Number.isFinite(bandwidth) || flops <= 0 || bandwidth <= 0) return;
  const knee = flops / bandwidth;
  // Where the slanted roof comes into the picture: from the left, or from below.
  const start = Math.max(10 ** x.low, 10 ** y.low / bandwidth);
  root.append(
    svg("path", {
      class: roofs.isOnlySeen ? "roof seen" : "roof",
      d: `M${placeX(start)} ${placeY(start * bandwidth)}L${placeX(knee)} ${placeY(flops)}H${width - RIGHT}`,
    }),
  );
  for (const cache of roofs.caches) {
    const from = Math.max(10 ** x.low, 10 ** y.low / cache.bytesPerSecond);
    const to = flops / cache.bytesPerSecond;
    if (!(to > from)) continue;
    root.append(
      svg("path", {
        class: "roof cache",
        d: `M${placeX(from)} ${placeY(from * cache.bytesPerSecond)}L${placeX(to)} ${placeY(flops)}`,
      }),
      svg(
        "text",
        { x: placeX(from) + 4, y: placeY(from * cache.bytesPerSecond) - 6, class: "cache" },
        `${cache.name} ${decimal(cache.bytesPerSecond, "B/s")}`,
      ),
    );
  }
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

export function dotText(dot: Dot, roofs: Roofs): string {
  const bound = dot.bound === "exact" ? "" : `${dot.bound} `;
  const share = shareOfRoof(dot, roofs);
  const lines = [
    dot.name,
    `${bound}${decimal(dot.flopsPerSecond, "FLOP/s")} at ${dot.intensity.toPrecision(3)} operations for each byte`,
    `${decimal(dot.bytesPerSecond, "B/s")} of memory`,
  ];
  const roof = memoryRoof(dot, roofs).name;
  if (!Number.isNaN(share))
    lines.push(`${bound}${percent(share)} of the roof${roof === "memory" ? "" : ` (data from ${roof})`}`);
  return lines.join("\n");
}

function powerText(power: number): string {
  return power >= -3 && power <= 3 ? String(10 ** power) : `1e${power}`;
}
