/** How close kernels come to what the device can do, and where time goes between the languages. */

import { signal } from "@preact/signals-core";
import type { Boundary } from "../data/facts";
import { type Hub, sentence } from "../data/hub";
import { busIdentity, readKernels } from "../data/kernel_facts";
import { kernelKey, kernelTitles } from "../data/kernel_sums";
import { fields, num, text } from "../data/readers";
import {
  type CacheRoof,
  type Dot,
  memoryRoof,
  type Placed,
  placeBoundary,
  placeKernel,
  type Roofs,
  roofsOf,
  shareOfRoof,
} from "../data/work";
import { ABSENT, count, decimal, percent, seconds } from "../format";
import { h, setText } from "../ui/dom";
import { drawFlame, flameTree } from "../ui/flame";
import { panel } from "../ui/panel";
import { drawRoofline, hasPlace } from "../ui/roofline";
import { emptyState, loadingState, Switch } from "../ui/states";
import { type Column, DataTable } from "../ui/table";
import { coreBadge, START_PROGRAM } from "./overview";
import type { Page, PageContext } from "./page";

const REFRESH_MS = 1000;
const MAX_PROCESSES = 12;
const ROOFLINE_HEIGHT = 420;
/** After a question about peaks that failed. */
const AGAIN_MS = 10_000;
/** What the library of the Matrix core computes with. */
const HOST_DEVICE = "cpu:0";

interface Peaks {
  readonly flops: number;
  readonly bytes: number;
  readonly source: string;
  readonly caches: readonly CacheRoof[];
}

/** Peaks of devices, asked for once; the server may have to measure. */
const known = new Map<string, Peaks>();

interface Row extends Placed {
  readonly key: string;
  readonly name: string;
  readonly core: string;
  readonly device: string;
  readonly meanSeconds: number;
}

export const performancePage: Page = {
  id: "performance",
  title: "Performance",
  icon: "performance",
  mount(root, context) {
    const { scope, hub } = context;
    const rows = signal<readonly Row[] | null>(null);
    const peaks = signal<{ readonly device: string; readonly value: Peaks | null; readonly trouble: string } | null>(
      null,
    );
    let roofs: Roofs | null = null;
    const roofBox = panel("Roofline", {
      note: "Operations and bytes of global memory as the compiler counts them in its IR, or a checked launch. A hollow dot is a bound: branches or loops of it depend on the data. Dots are as large as the share of time that the kernel takes.",
    });
    const roofPlace = new Switch(roofBox.body);
    const table = new DataTable(
      rooflineColumns(() => roofs),
      (row) => row.key,
      {
        label: "Kernels under the roofline",
        sortBy: "share",
      },
    );
    const flameBox = panel("Language boundaries", {
      note: "Width is time spent on the other side; each call lies below the one that it was made inside of. Work that a call hands to other threads begins at the top.",
    });
    const flamePlace = new Switch(flameBox.body);
    const boundaryTable = new DataTable(boundaryColumns(), (row) => `${row.pid} ${row.from} ${row.to} ${row.name}`, {
      label: "Language boundaries",
      sortBy: "seconds",
    });
    root.append(h("div", { class: "stack" }, roofBox.element, flameBox.element));

    let isBusy = false;
    scope.every(REFRESH_MS, () => {
      if (isBusy) return;
      isBusy = true;
      void collect(context)
        .then((found) => {
          rows.value = found;
        })
        .finally(() => {
          isBusy = false;
        });
    });
    const chart = h("div", { class: "chart-box", role: "group", "aria-label": "Roofline", tabindex: 0 });
    const tableBox = h("div", {}, table.element);
    scope.effect(() => {
      const found = rows.value;
      if (found === null) {
        roofPlace.show("loading", () => loadingState("Asking for kernels"));
        return;
      }
      const device = deviceOf(context, found);
      const asked = peaks.value;
      if (asked?.device !== device) {
        peaks.value = { device, value: null, trouble: "" };
        void askPeaks(hub, device).then(
          (value) => {
            peaks.value = { device, value, trouble: "" };
          },
          (error: unknown) => {
            peaks.value = { device, value: null, trouble: sentence(error) };
            const timer = setTimeout(() => {
              peaks.value = null;
            }, AGAIN_MS);
            scope.add(() => clearTimeout(timer));
          },
        );
        return;
      }
      const shown = found.filter((row) => row.device === device);
      const dots = shown.flatMap((row) => (row.dot === null ? [] : [row.dot]));
      roofs = roofsOf(asked.value ?? undefined, dots);
      setText(roofBox.aside, roofText(device, roofs, asked.value !== null, asked.trouble));
      if (shown.length === 0) {
        roofPlace.show("empty", () =>
          emptyState({
            icon: "performance",
            title: "No kernel to place yet",
            text: `Launch a kernel on ${device}; its dot appears within a second.`,
            code: START_PROGRAM,
          }),
        );
        return;
      }
      roofPlace.show("chart", () => h("div", { class: "stack" }, chart, tableBox));
      const placed = dots.filter(hasPlace);
      const hint = h(
        "p",
        { class: "note" },
        "None of the kernels has both floating-point operations and bytes to count; the table says why.",
      );
      chart.replaceChildren(
        placed.length === 0 ? hint : drawRoofline(Math.max(chart.clientWidth, 480), ROOFLINE_HEIGHT, dots, roofs),
      );
      table.update(shown);
    });
    const flame = h("div", { class: "chart-box", role: "group", "aria-label": "Time across boundaries", tabindex: 0 });
    scope.effect(() => {
      const boundaries = hub.boundaries.value;
      if (boundaries.length === 0) {
        flamePlace.show("empty", () =>
          emptyState({
            icon: "performance",
            title: "No call has crossed a boundary yet",
            text: "Calls from Python into Rust, and from there into Zig, Nim and Julia, are counted by themselves.",
            code: START_PROGRAM,
          }),
        );
        return;
      }
      flamePlace.show("flame", () => h("div", { class: "stack" }, flame, boundaryTable.element));
      flame.replaceChildren(drawFlame(Math.max(flame.clientWidth, 480), flameTree(hub.crossings.value)));
      boundaryTable.update(boundaries);
    });
  },
};

/** The chosen device, or the one whose kernels take most time. */
function deviceOf({ hub, selectedDevice }: PageContext, found: readonly Row[]): string {
  const chosen = selectedDevice.value;
  if (chosen !== null) return chosen;
  const loads = new Map<string, number>();
  for (const row of found) loads.set(row.device, (loads.get(row.device) ?? 0) + (row.dot?.loadRatio ?? 0));
  const busiest = [...loads].sort((left, right) => right[1] - left[1])[0];
  return busiest?.[0] ?? hub.devices.peek()[0]?.device ?? HOST_DEVICE;
}

async function askPeaks(hub: Hub, device: string): Promise<Peaks> {
  const before = known.get(device);
  if (before !== undefined) return before;
  const answer = fields((await hub.ask("device:peaks", { name: device }))["peaks"]);
  const found = {
    flops: num(answer["flops_per_second"]),
    bytes: num(answer["bytes_per_second"]),
    source: text(answer["source"]),
    caches: Object.entries(fields(answer["cache_bytes_per_second"]))
      .map(([name, value]) => ({ name, bytesPerSecond: num(value) }))
      .filter((roof) => roof.bytesPerSecond > 0),
  };
  known.set(device, found);
  return found;
}

async function collect({ hub, selectedPid }: PageContext): Promise<Row[]> {
  const chosen = selectedPid.peek();
  const pids =
    chosen === null
      ? hub.processes
          .peek()
          .map((process) => process.pid)
          .slice(0, MAX_PROCESSES)
      : [chosen];
  const lists = await Promise.allSettled(
    pids.map(async (pid) => readKernels(await hub.ask("kernel:list", { pid }), pid)),
  );
  const kernels = lists.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  const titles = kernelTitles(kernels.map((facts) => ({ ...facts, ...busIdentity(facts) })));
  const rows = kernels.map((facts): Row => {
    const key = kernelKey(busIdentity(facts));
    const mean = facts.meanSeconds;
    const load = hub.kernelSums.peek().get(key)?.busyRatio ?? 0;
    const placed = placeKernel(facts, mean, hub.launches.kernels.get(key)?.workItems ?? Number.NaN, load);
    const { core, device } = facts;
    const name = titles.get(key) ?? facts.name;
    return { key: `${facts.pid}/${facts.handle}`, name, core, device, meanSeconds: mean, ...placed };
  });
  const functions = hub.boundaries.peek().map(
    (boundary): Row => ({
      key: `${boundary.from} ${boundary.to} ${boundary.name}`,
      name: boundary.name,
      core: "matrix",
      device: HOST_DEVICE,
      meanSeconds: boundary.seconds / boundary.calls,
      ...placeBoundary(boundary),
    }),
  );
  return [...rows, ...functions.filter((row) => row.dot !== null)];
}

function roofText(device: string, roofs: Roofs, isKnown: boolean, trouble: string): string {
  if (trouble !== "") return `${device}: ${trouble}`;
  if (!isKnown) return `${device}: asking what it can do; a processor is measured once`;
  if (roofs.isOnlySeen) return `${device}: ${roofs.source}; dashed: the fastest of these kernels`;
  return `${device}: ${decimal(roofs.flopsPerSecond, "FLOP/s")}, ${decimal(roofs.bytesPerSecond, "B/s")} (${roofs.source})`;
}

function rooflineColumns(roofs: () => Roofs | null): Column<Row>[] {
  const of = (row: Row, read: (dot: Dot) => number): number => (row.dot === null ? Number.NaN : read(row.dot));
  const bound = (row: Row): string => BOUND_SIGNS[row.dot?.bound ?? "exact"];
  const share = (row: Row): number => {
    const now = roofs();
    return now === null ? Number.NaN : of(row, (dot) => shareOfRoof(dot, now));
  };
  const flops = (row: Row): number => of(row, (dot) => dot.flopsPerSecond);
  const bandwidth = (row: Row): number => of(row, (dot) => dot.bytesPerSecond);
  const intensity = (row: Row): number => of(row, (dot) => dot.intensity);
  return [
    { id: "name", title: "kernel", className: "mono", text: (row) => row.name, key: (row) => row.name },
    { id: "core", title: "core", render: (row, cell) => coreBadge(row, cell), key: (row) => row.core },
    {
      id: "share",
      title: "of the roof",
      isNumber: true,
      hint: "of what memory or, where data came faster, a cache brings; of arithmetic where that is the lower roof",
      text: (row) => {
        const now = roofs();
        const roof = now === null || row.dot === null || now.isOnlySeen ? "" : roofName(row.dot, now);
        return signed(bound(row), percent(share(row))) + roof;
      },
      key: share,
    },
    {
      id: "flops",
      title: "speed",
      isNumber: true,
      text: (row) => signed(bound(row), flops(row) > 0 ? decimal(flops(row), "FLOP/s") : ABSENT),
      key: flops,
    },
    {
      id: "intensity",
      title: "per byte",
      hint: "floating-point operations for each byte of global memory",
      isNumber: true,
      text: (row) => (Number.isFinite(intensity(row)) && intensity(row) > 0 ? intensity(row).toPrecision(3) : ABSENT),
      key: intensity,
    },
    {
      id: "bandwidth",
      title: "memory",
      isNumber: true,
      text: (row) => signed(bound(row), decimal(bandwidth(row), "B/s")),
      key: bandwidth,
    },
    {
      id: "mean",
      title: "mean duration",
      isNumber: true,
      text: (row) => seconds(row.meanSeconds),
      key: (row) => row.meanSeconds,
    },
    { id: "remark", title: "how it was counted", className: "wrap", text: (row) => row.remark },
  ];
}

/** Which roof it is, where it is not that of the memory. */
function roofName(dot: Dot, roofs: Roofs): string {
  const memory = memoryRoof(dot, roofs);
  if (dot.flopsPerSecond / roofs.flopsPerSecond >= dot.bytesPerSecond / memory.bytesPerSecond) return "";
  return memory.name === "memory" ? "" : ` ${memory.name}`;
}

const BOUND_SIGNS = { exact: "", "at most": "≤ ", "at least": "≥ ", roughly: "≈ " } as const;

function signed(sign: string, value: string): string {
  return value === ABSENT ? value : sign + value;
}

function boundaryColumns(): Column<Boundary>[] {
  return [
    { id: "from", title: "from", text: (row) => row.from, key: (row) => row.from },
    { id: "to", title: "to", text: (row) => row.to, key: (row) => row.to },
    { id: "name", title: "function", className: "mono", text: (row) => row.name, key: (row) => row.name },
    { id: "calls", title: "calls", isNumber: true, text: (row) => count(row.calls), key: (row) => row.calls },
    { id: "seconds", title: "time", isNumber: true, text: (row) => seconds(row.seconds), key: (row) => row.seconds },
    {
      id: "mean",
      title: "mean",
      isNumber: true,
      text: (row) => seconds(row.seconds / row.calls),
      key: (row) => row.seconds / row.calls,
    },
    {
      id: "slowest",
      title: "slowest",
      isNumber: true,
      text: (row) => seconds(row.slowestSeconds),
      key: (row) => row.slowestSeconds,
    },
  ];
}
