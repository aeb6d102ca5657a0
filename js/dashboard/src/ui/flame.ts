/** Time on the other side of language boundaries, as a flame that hangs: each level is called from the one above. */

import type { Boundary } from "../data/facts";
import { count, seconds } from "../format";
import { svg } from "./dom";
import { nameColour } from "./palette";

export interface FlameNode {
  readonly name: string;
  readonly detail: string;
  readonly value: number;
  readonly children: readonly FlameNode[];
}

/** Deeper chains of languages do not exist; a cycle ends here. */
const MAX_DEPTH = 6;
const ROW = 24;
/** Below this many pixels a rectangle shows nothing. */
const MIN_WIDTH = 1;

/**
 * Languages call languages: the functions that a language is called through lie below it, and below them what that language calls.
 *
 * The bus keeps sums for each function, not stacks, so what a language calls is shared out over the functions that lead into it by their time.
 */
export function flameTree(boundaries: readonly Boundary[]): FlameNode {
  const targets = new Set(boundaries.map((boundary) => boundary.to));
  const sources = new Set(boundaries.map((boundary) => boundary.from));
  let roots = [...sources].filter((language) => !targets.has(language));
  if (roots.length === 0) roots = [...sources].slice(0, 1);
  const children = roots.map((language) => {
    const below = callees(boundaries, language, 1, 1, new Set([language]));
    const value = below.reduce((sum, node) => sum + node.value, 0);
    return { name: language, detail: `${language}: ${seconds(value)} in other languages`, value, children: below };
  });
  const value = children.reduce((sum, node) => sum + node.value, 0);
  return { name: "all", detail: `${seconds(value)} across language boundaries`, value, children };
}

function callees(
  boundaries: readonly Boundary[],
  language: string,
  share: number,
  depth: number,
  above: ReadonlySet<string>,
): FlameNode[] {
  if (depth > MAX_DEPTH) return [];
  const into = boundaries.filter((boundary) => boundary.from === language && boundary.seconds > 0);
  const byFunction = new Map<string, Boundary>();
  for (const boundary of into) {
    const key = `${boundary.to}\0${boundary.name}`;
    const same = byFunction.get(key);
    byFunction.set(
      key,
      same === undefined
        ? boundary
        : { ...same, calls: same.calls + boundary.calls, seconds: same.seconds + boundary.seconds },
    );
  }
  return [...byFunction.values()]
    .map((boundary) => {
      const totalInto = boundaries
        .filter((other) => other.to === boundary.to && other.seconds > 0)
        .reduce((sum, other) => sum + other.seconds, 0);
      const below = above.has(boundary.to)
        ? []
        : callees(
            boundaries,
            boundary.to,
            totalInto > 0 ? (share * boundary.seconds) / totalInto : 0,
            depth + 1,
            new Set([...above, boundary.to]),
          );
      const own = boundary.seconds * share;
      const inner = below.reduce((sum, node) => sum + node.value, 0);
      // Clocks of two levels differ by their own cost; a child is never wider than its parent.
      const scale = inner > own ? own / inner : 1;
      return {
        name: boundary.name,
        detail: `${boundary.from} → ${boundary.to}: ${boundary.name}\n${count(boundary.calls)} calls, ${seconds(boundary.seconds)}, ${seconds(boundary.seconds / Math.max(boundary.calls, 1))} each`,
        value: own,
        children: scale === 1 ? below : below.map((node) => scaled(node, scale)),
      };
    })
    .sort((left, right) => right.value - left.value);
}

function scaled(node: FlameNode, factor: number): FlameNode {
  return { ...node, value: node.value * factor, children: node.children.map((child) => scaled(child, factor)) };
}

export function drawFlame(width: number, tree: FlameNode): SVGElement {
  const depth = depthOf(tree);
  const root = svg("svg", {
    class: "flame",
    viewBox: `0 0 ${width} ${depth * ROW}`,
    height: depth * ROW,
    role: "img",
    "aria-label": "Time across language boundaries; the table below has the same figures",
  });
  const draw = (node: FlameNode, left: number, size: number, level: number): void => {
    if (size < MIN_WIDTH) return;
    const colour = level === 0 ? "var(--line)" : nameColour(node.name);
    const box = svg("rect", { x: left, y: level * ROW, width: size, height: ROW - 2, rx: 3 });
    box.style.fill = level === 0 ? colour : `color-mix(in srgb, ${colour} 62%, white)`;
    box.append(svg("title", {}, node.detail));
    root.append(box);
    const shown = fitted(`${node.name} · ${seconds(node.value)}`, node.name, size);
    if (shown !== "") {
      const text = svg("text", { x: left + 6, y: level * ROW + 15 }, shown);
      if (level === 0) text.style.fill = "var(--text)";
      root.append(text);
    }
    let place = left;
    for (const child of node.children) {
      const part = node.value > 0 ? (child.value / node.value) * size : 0;
      draw(child, place, part, level + 1);
      place += part;
    }
  };
  draw(tree, 0, width, 0);
  return root;
}

function depthOf(node: FlameNode): number {
  return 1 + Math.max(0, ...node.children.map(depthOf));
}

/** The longest of the texts that fits; characters of this font are about 6.3 pixels wide. */
function fitted(long: string, short: string, size: number): string {
  const room = Math.floor((size - 10) / 6.3);
  if (long.length <= room) return long;
  if (short.length <= room) return short;
  return room > 4 ? `${short.slice(0, room - 1)}…` : "";
}
