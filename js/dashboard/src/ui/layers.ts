/**
 * Nodes of a graph in layers: each below all that it reads, within its layer near what it is joined with (the barycentre heuristic of Sugiyama,
 * Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981).
 */

/** What is placed: a node and those it reads, by their ids. */
export interface Linked {
  readonly id: number;
  readonly inputs: readonly number[];
}

export interface Placed {
  /** From the top. */
  readonly layer: number;
  /** From the left of its layer. */
  readonly place: number;
}

/** Sweeps down and up; more of them hardly change anything. */
const SWEEPS = 4;

/** Where each node stands, by its id. Links to nodes that are not there are passed over, as is what would close a circle. */
export function layersOf(nodes: readonly Linked[]): Map<number, Placed> {
  const depth = depthsOf(nodes);
  const readers = new Map<number, number[]>();
  for (const node of nodes)
    for (const read of node.inputs) if (depth.has(read)) readers.set(read, [...(readers.get(read) ?? []), node.id]);
  // What reads nothing stands right above its first reader.
  for (const node of nodes) {
    const below = (readers.get(node.id) ?? []).map((id) => depth.get(id) ?? 0);
    if (node.inputs.length === 0 && below.length > 0) depth.set(node.id, Math.max(Math.min(...below) - 1, 0));
  }
  const layers: number[][] = [];
  for (const node of nodes) {
    const layer = depth.get(node.id) ?? 0;
    while (layers.length <= layer) layers.push([]);
    layers[layer]?.push(node.id);
  }
  const links = new Map(nodes.map((node) => [node.id, node.inputs.filter((read) => depth.has(read))]));
  const places = new Map<number, number>();
  const number = (layer: readonly number[]): void => {
    for (const [place, id] of layer.entries()) places.set(id, place);
  };
  for (const layer of layers) number(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    const neighbours = isDown ? links : readers;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      const wanted = new Map(
        layer.map((id) => [id, barycentre(neighbours.get(id) ?? [], places, places.get(id) ?? 0)]),
      );
      layer.sort((left, right) => (wanted.get(left) ?? 0) - (wanted.get(right) ?? 0));
      number(layer);
    }
  }
  const placed = new Map<number, Placed>();
  layers.forEach((layer, index) => {
    for (const [place, id] of layer.entries()) placed.set(id, { layer: index, place });
  });
  return placed;
}

/** The longest way from what reads nothing. Nodes come after those they read, so that one pass is enough. */
function depthsOf(nodes: readonly Linked[]): Map<number, number> {
  const depth = new Map<number, number>();
  for (const node of nodes) {
    const above = node.inputs.map((read) => depth.get(read) ?? -1);
    depth.set(node.id, Math.max(-1, ...above) + 1);
  }
  return depth;
}

function barycentre(neighbours: readonly number[], places: ReadonlyMap<number, number>, own: number): number {
  if (neighbours.length === 0) return own;
  return neighbours.reduce((sum, id) => sum + (places.get(id) ?? 0), 0) / neighbours.length;
}
