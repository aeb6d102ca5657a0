/** Time on the other side of language boundaries, as a flame that hangs: each level is called from the one above. */

import type { Crossing } from "../data/facts";
import { count, seconds } from "../format";
import { svg } from "./dom";
import { nameColour } from "./palette";

export interface FlameNode {
  readonly name: string;
  readonly detail: string;
  readonly value: number;
  readonly children: readonly FlameNode[];
}

const ROW = 24;
/** Below this many pixels a rectangle shows nothing. */
const MIN_WIDTH = 1;

/**
 * Calls below the ones that they were made inside of, as each thread had them; at the top the language that made the outermost call.
 *
 * A call that has not come back yet is as wide as what came back inside of it.
 */
export function flameTree(crossings: readonly Crossing[]): FlameNode {
  const below = new Map<number, number[]>();
  crossings.forEach((crossing, place) => {
    below.set(crossing.parent, [...(below.get(crossing.parent) ?? []), place]);
  });
  const nodeOf = (place: number): FlameNode => {
    const { from, to, name, calls, seconds: own } = crossings[place] as Crossing;
    const children = nodesOf(below.get(place) ?? []);
    const value = Math.max(own, sumOf(children));
    const each =
      calls > 0 ? `${count(calls)} calls, ${seconds(own)}, ${seconds(own / calls)} each` : "has not come back";
    return { name, detail: `${from} → ${to}: ${name}\n${each}`, value, children };
  };
  const nodesOf = (places: readonly number[]): FlameNode[] =>
    places.map(nodeOf).sort((left, right) => right.value - left.value);
  const outermost = below.get(-1) ?? [];
  const languages = [...new Set(outermost.map((place) => crossings[place]?.from ?? "?"))];
  const children = languages.map((language) => {
    const calls = nodesOf(outermost.filter((place) => crossings[place]?.from === language));
    const value = sumOf(calls);
    return { name: language, detail: `${language}: ${seconds(value)} in other languages`, value, children: calls };
  });
  const value = sumOf(children);
  return { name: "all", detail: `${seconds(value)} across language boundaries`, value, children };
}

function sumOf(nodes: readonly FlameNode[]): number {
  return nodes.reduce((sum, node) => sum + node.value, 0);
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
