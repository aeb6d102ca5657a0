/**
 * Colours of data. Series take the palette of Okabe and Ito (Color Universal Design, 2008), which people with any of the common colour
 * deficiencies tell apart; lines differ in their dashes as well. Heat maps take cividis (Nuñez, Anderton, Renslow 2018).
 */

import { CORES } from "../data/launches";
import { colourEpoch } from "../state/preferences";

export interface Colours {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly panel: string;
  readonly accent: string;
  readonly warn: string;
  readonly series: readonly string[];
}

let known: Colours | undefined;
let knownEpoch = -1;

/** The colours of the theme that is on. */
export function colours(): Colours {
  const epoch = colourEpoch.peek();
  if (known === undefined || knownEpoch !== epoch) {
    const style = getComputedStyle(document.documentElement);
    const read = (name: string): string => style.getPropertyValue(name).trim();
    known = {
      text: read("--text"),
      muted: read("--muted"),
      line: read("--line"),
      panel: read("--panel"),
      accent: read("--accent"),
      warn: read("--warn"),
      series: Array.from({ length: 8 }, (_, index) => read(`--series-${index}`)),
    };
    knownEpoch = epoch;
  }
  return known;
}

export function seriesColour(index: number): string {
  const { series } = colours();
  return series[index % series.length] ?? "#888";
}

/** Beyond colour: every second device has a dashed line. */
export function seriesDash(index: number): number[] {
  return [[], [5, 3], [1.5, 2.5], [7, 2, 2, 2]][Math.floor(index / 2) % 4] ?? [];
}

export function coreColour(core: string): string {
  const place = (CORES as readonly string[]).indexOf(core);
  return seriesColour(place < 0 ? 7 : place);
}

const CIVIDIS: readonly (readonly [number, number, number])[] = [
  [0, 34, 78],
  [33, 54, 108],
  [76, 85, 108],
  [108, 110, 114],
  [142, 137, 120],
  [179, 167, 114],
  [219, 200, 94],
  [254, 232, 56],
];

/** A share of 0..1 as red, green, blue. */
export function cividis(share: number): readonly [number, number, number] {
  const place = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1);
  const low = Math.floor(place);
  const from = CIVIDIS[low] ?? [0, 0, 0];
  const to = CIVIDIS[Math.min(low + 1, CIVIDIS.length - 1)] ?? from;
  const mix = place - low;
  return [
    Math.round(from[0] + (to[0] - from[0]) * mix),
    Math.round(from[1] + (to[1] - from[1]) * mix),
    Math.round(from[2] + (to[2] - from[2]) * mix),
  ];
}

/** Text on cividis that can be read. */
export function cividisText(share: number): string {
  return share > 0.55 ? "#101418" : "#f4f6f8";
}

export function rgb(colour: readonly [number, number, number]): string {
  return `rgb(${colour[0]} ${colour[1]} ${colour[2]})`;
}

/** A stable colour for a name, for blocks and bars that have many. */
export function nameColour(name: string): string {
  let hash = 2166136261;
  for (let index = 0; index < name.length; index += 1) hash = Math.imul(hash ^ name.charCodeAt(index), 16777619);
  return seriesColour((hash >>> 0) % 7);
}
