/** The pictures of the navigation: strokes on a 20 x 20 grid, in the colour of the text. */

import { svg } from "./dom";

const PATHS = {
  overview: "M3 3h6v6H3z M11 3h6v4h-6z M11 9h6v8h-6z M3 11h6v6H3z",
  device:
    "M5 5h10v10H5z M8 8h4v4H8z M7 5V2 M10 5V2 M13 5V2 M7 18v-3 M10 18v-3 M13 18v-3 M5 7H2 M5 10H2 M5 13H2 M18 7h-3 M18 10h-3 M18 13h-3",
  kernels: "M7 5l-4 5 4 5 M13 5l4 5-4 5 M11.5 4l-3 12",
  performance: "M3 17V3 M3 17h14 M4 14l5-7h8",
  memory: "M3 4h14v3H3z M3 8.5h14v3H3z M3 13h14v3H3z M7 4v3 M12 8.500v3 M9 13v3",
  network:
    "M4 5.500a1.500 1.500 0 1 0 .01 0 M4 12a1.500 1.500 0 1 0 .01 0 M10 8.500a1.500 1.500 0 1 0 .01 0 M16 5.500a1.500 1.500 0 1 0 .01 0 M16 12a1.500 1.500 0 1 0 .01 0 M5.500 7l3 2.200 M5.500 13l3-2.200 M11.500 9.200l3-2 M11.500 10.800l3 2.200",
  lanes: "M3 4v12 M6.500 4v12 M10 4v5 M10 12v4 M13.500 4v12 M17 4v8",
  graphs: "M3 3h5v4H3z M12 3h5v4h-5z M7.500 13h5v4h-5z M5.500 7v3h9V7 M10 10v3",
  pause: "M7 4v12 M13 4v12",
  play: "M6 4l10 6-10 6z",
  back: "M11 5l-5 5 5 5 M16 5l-5 5 5 5",
  forward: "M9 5l5 5-5 5 M4 5l5 5-5 5",
  theme: "M10 3a7 7 0 1 0 0 14z M10 3a7 7 0 0 1 0 14",
  help: "M7.500 7.500a2.500 2.500 0 1 1 3.500 2.300c-.700.300-1 .800-1 1.700 M10 14.500v.01",
  compare: "M3 15l4-6 3 3 4-7 M3 17h14 M6 3v14 M14 3v14",
  close: "M5 5l10 10 M15 5L5 15",
} as const;

export type IconName = keyof typeof PATHS;

export function icon(name: IconName): SVGElement {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] }),
  );
}
