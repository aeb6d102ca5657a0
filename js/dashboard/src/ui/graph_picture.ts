/** A graph of operations as a picture: a box for each node, in layers, with lines to what it reads. */

import { type GraphFacts, type GraphNode, titleOf } from "../data/graph_facts";
import { bytes, seconds } from "../format";
import { svg } from "./dom";
import { layersOf } from "./layers";

const BOX = { width: 190, height: 44, gapX: 22, gapY: 40, margin: 12 };
/** Letters of a line of a box; the whole title is its tooltip. */
const MOST_LETTERS = 28;

export interface Picture {
  readonly element: SVGElement;
  /** Marks the node of an id. */
  mark(id: number | null): void;
}

/** The picture of a graph; `choose` is called with the node that is clicked. */
export function graphPicture(graph: GraphFacts, choose: (node: GraphNode) => void): Picture {
  const placed = layersOf(graph.nodes);
  const counts = new Map<number, number>();
  for (const { layer } of placed.values()) counts.set(layer, (counts.get(layer) ?? 0) + 1);
  const widest = Math.max(1, ...counts.values());
  const step = BOX.width + BOX.gapX;
  const corner = (id: number): { x: number; y: number } => {
    const { layer, place } = placed.get(id) ?? { layer: 0, place: 0 };
    const indent = ((widest - (counts.get(layer) ?? 1)) * step) / 2;
    return { x: BOX.margin + indent + place * step, y: BOX.margin + layer * (BOX.height + BOX.gapY) };
  };
  const longest = Math.max(0, ...graph.nodes.map((node) => (Number.isFinite(node.seconds) ? node.seconds : 0)));
  const lines = graph.nodes.flatMap((node) =>
    node.inputs.filter((read) => placed.has(read)).map((read) => line(corner(read), corner(node.id))),
  );
  const boxes = new Map(graph.nodes.map((node) => [node.id, box(node, corner(node.id), graph, longest)]));
  for (const node of graph.nodes) boxes.get(node.id)?.addEventListener("click", () => choose(node));
  const width = 2 * BOX.margin + widest * step - BOX.gapX;
  const height = 2 * BOX.margin + Math.max(1, counts.size) * (BOX.height + BOX.gapY) - BOX.gapY;
  const element = svg(
    "svg",
    {
      class: "graph-picture",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `Picture of ${graph.name}: ${graph.nodes.length} nodes in ${counts.size} layers. The table below has the same.`,
    },
    svg("g", { class: "graph-lines" }, ...lines),
    ...boxes.values(),
  );
  return {
    element,
    mark: (id) => {
      for (const [own, one] of boxes) one.classList.toggle("on", own === id);
    },
  };
}

function line(from: { x: number; y: number }, to: { x: number; y: number }): SVGElement {
  const [x, y] = [from.x + BOX.width / 2, from.y + BOX.height];
  const [endX, endY] = [to.x + BOX.width / 2, to.y];
  const bend = Math.max((endY - y) / 2, BOX.gapY / 2);
  return svg("path", { d: `M${x} ${y} C${x} ${y + bend} ${endX} ${endY - bend} ${endX} ${endY}` });
}

function box(node: GraphNode, at: { x: number; y: number }, graph: GraphFacts, longest: number): SVGElement {
  const title = titleOf(node);
  const time = Number.isFinite(node.seconds) ? ` · ${seconds(node.seconds)}` : "";
  const share = longest > 0 && Number.isFinite(node.seconds) ? node.seconds / longest : 0;
  const kind = graph.outputs.includes(node.id) ? `${kindOf(node)} is-output` : kindOf(node);
  return svg(
    "g",
    { class: `graph-node ${kind}`, transform: `translate(${at.x} ${at.y})`, "data-node": node.id },
    svg("title", {}, `%${node.id} ${title}: ${node.dtype}[${node.shape.join(", ")}], ${bytes(node.bytes)}${time}`),
    svg("rect", { width: BOX.width, height: BOX.height, rx: 6 }),
    share > 0
      ? svg("rect", { class: "graph-share", y: BOX.height - 4, width: Math.max(share * BOX.width, 2), height: 4 })
      : null,
    svg("text", { x: 10, y: 18 }, shortened(`%${node.id} ${title}`)),
    svg("text", { x: 10, y: 34, class: "sub" }, shortened(`${node.dtype}[${node.shape.join(", ")}]${time}`)),
  );
}

function kindOf(node: GraphNode): string {
  if (node.steps.length > 0) return "is-joined";
  if (node.operation === "input" || node.operation === "constant") return `is-${node.operation}`;
  return node.operation === "view" || node.operation === "result" ? "is-seen" : "is-operation";
}

function shortened(text: string): string {
  return text.length <= MOST_LETTERS ? text : `${text.slice(0, MOST_LETTERS - 1)}…`;
}
