/** Cores, devices, active kernels and processes at one look. */

import type { FrameSchema } from "@amdgpu-framework/sdk";
import { coreSums } from "../data/core_sums";
import { type ProcessFacts, shortCommand } from "../data/facts";
import type { Hub } from "../data/hub";
import { type KernelSums, kernelTitles } from "../data/kernel_sums";
import { CORES, type Core, type KernelRow, quantile } from "../data/launches";
import { seriesOf } from "../data/schema";
import { ABSENT, bytes, count, decimal, percent, quantity, seconds } from "../format";
import { shownInterval } from "../state/timeline";
import { BusyStrip } from "../ui/busy_strip";
import { arrange, h, setText } from "../ui/dom";
import { PaintQueue } from "../ui/paint_queue";
import { coreColour, seriesColour } from "../ui/palette";
import { Fact, panel } from "../ui/panel";
import { Sparkline } from "../ui/sparkline";
import { emptyState, Switch } from "../ui/states";
import { StripChart } from "../ui/strip_chart";
import { type Column, DataTable } from "../ui/table";
import type { Page, PageContext } from "./page";

const CORE_TITLES: Readonly<Record<Core, readonly [string, string]>> = {
  aura: ["AURA", "general kernels"],
  matrix: ["Matrix", "products and tensor operations"],
  neuromorphic: ["Neuromorphic", "layered and spiking networks"],
};
/** Numbers of the table change this often: faster than anyone reads, slow enough to read at all. */
const TABLE_PERIOD_MS = 250;
/** A kernel is active for so long after a launch. */
const ACTIVE_SECONDS = 10;
export const START_PROGRAM =
  "import amdgpu\namdgpu.matrix_multiply(a, b)     # any program that uses amdgpu shows up here";

export const overview: Page = {
  id: "overview",
  title: "Overview",
  icon: "overview",
  mount(root, context) {
    const { hub, scope } = context;
    const cores = h("div", { class: "cores" }, ...CORES.map((core) => coreCard(core, context)));
    const devices = devicesPanel(context);
    const kernels = kernelsPanel(context);
    const processes = processesPanel(hub, context);
    root.append(h("div", { class: "stack" }, cores, devices, h("div", { class: "columns-2" }, kernels, processes)));
    scope.add(() => root.replaceChildren());
  },
};

function coreCard(core: Core, { hub, scope }: PageContext): HTMLElement {
  const [title, work] = CORE_TITLES[core];
  const busy = h("span", { class: "big" }, ABSENT);
  const rate = new Fact("launches/s", "Of kernels, all of them counted; of the last second");
  const mean = new Fact(
    "mean duration",
    "Of a launch, or of an operation where nothing is launched; of the last second",
  );
  const operations = new Fact(
    "operations/s",
    "Products, layers and steps of networks, all of them counted; of the last second",
  );
  const units = new Fact("units");
  const strip = new BusyStrip(`Time that ${title} was at work`, core);
  const swatch = h("span", { class: "swatch" });
  const box = panel(title, { className: "core-card" });
  box.element.querySelector("h2")?.before(swatch);
  box.aside.append(work);
  box.body.append(
    h("div", { class: "head-line" }, busy, h("span", { class: "sub" }, "busy")),
    strip.surface.element,
    h("div", { class: "facts" }, rate.element, mean.element, operations.element, units.element),
  );
  scope.effect(() => {
    const counts = hub.devices.value.map((device) => device.coreCounts.get(core) ?? Number.NaN);
    const known = counts.filter((value) => Number.isFinite(value));
    setText(units.value, known.length === 0 ? ABSENT : count(known.reduce((sum, value) => sum + value, 0)));
  });
  let busySeries: number[] = [];
  scope.effect(() => {
    const schema = hub.schema.value;
    const found = schema?.devices.map((_, device) => seriesOf(schema, device, "amdgpu_busy_ratio", { core })) ?? [];
    busySeries = found.filter((series) => series >= 0);
  });
  let lastMs = 0;
  scope.everyFrame((nowMs) => {
    swatch.style.setProperty("--swatch", coreColour(core));
    const { startSeconds, endSeconds } = shownInterval(hub.nowSeconds);
    strip.paint(hub.launches, hub.store, busySeries, startSeconds, endSeconds);
    if (nowMs - lastMs < TABLE_PERIOD_MS / 2) return;
    lastMs = nowMs;
    const schema = hub.schema.peek();
    if (schema === null) return;
    const sums = coreSums(hub.store, schema, core, endSeconds);
    setText(busy, percent(sums.busyRatio || 0));
    setText(operations.value, decimal(sums.operationsPerSecond || 0));
    setText(rate.value, decimal(sums.launchesPerSecond || 0));
    setText(mean.value, seconds(sums.meanSeconds));
  });
  scope.add(() => strip.surface.end());
  return box.element;
}

interface Cell {
  readonly title: string;
  readonly names: readonly string[];
  readonly ceiling?: number;
  readonly totalName?: string;
}

/** Said where hardware, driver or this user's rights give no value; `amdgpu` in a terminal says which. */
const NO_SENSOR = "no sensor";

const CELLS: readonly Cell[] = [
  { title: "busy", names: ["amdgpu_busy_ratio"], ceiling: 1 },
  { title: "memory", names: ["amdgpu_memory_used_bytes"], totalName: "amdgpu_memory_total_bytes" },
  { title: "power", names: ["amdgpu_power_watts"] },
  { title: "temperature", names: ["amdgpu_temperature_celsius"] },
];

function devicesPanel(context: PageContext): HTMLElement {
  const { hub, scope } = context;
  const box = panel("Devices");
  const place = new Switch(box.body);
  let current: PaintQueue | undefined;
  scope.everyFrame(() => current?.run());
  scope.effect(() => {
    const schema = hub.schema.value;
    current = undefined;
    place.reset();
    if (schema === null) {
      place.show("empty", () =>
        emptyState({
          icon: "device",
          title: "No device yet",
          text: "Devices appear as soon as the server has answered.",
        }),
      );
      return;
    }
    const queue = new PaintQueue();
    const rows = schema.devices.map((device, index) => deviceRow(device.name, index, schema, context, queue));
    place.show("rows", () => h("div", {}, ...rows));
    current = queue;
  });
  return box.element;
}

function deviceRow(
  name: string,
  index: number,
  schema: FrameSchema,
  { hub, scope, go }: PageContext,
  queue: PaintQueue,
): HTMLElement {
  const facts = h("div", { class: "sub" });
  scope.effect(() => {
    const found = hub.devices.value.find((device) => device.device === name);
    const described = schema.devices[index]?.description ?? "";
    setText(facts, found === undefined ? described : [found.product, found.architecture].filter(Boolean).join(" · "));
  });
  const cells = CELLS.map((cell) => deviceCell(cell, index, schema, hub, scope, queue));
  return h(
    "div",
    // The whole row takes clicks; keyboards and screen readers have the link.
    { class: "device-row", onclick: () => go("device", name) },
    h("div", {}, h("a", { class: "device-name", href: `#/device/${name}` }, name), facts),
    ...cells,
  );
}

function deviceCell(
  cell: Cell,
  device: number,
  schema: FrameSchema,
  hub: Hub,
  scope: PageContext["scope"],
  queue: PaintQueue,
): HTMLElement {
  const value = h("b", { class: "absent" }, NO_SENSOR);
  const series = cell.names.map((name) => seriesOf(schema, device, name)).find((found) => found >= 0) ?? -1;
  const head = h("div", { class: "cell-head" }, cell.title, value);
  if (series < 0) return h("div", { title: "This device has no sensor for it that this user may read" }, head);
  const metric = schema.metrics[series % schema.metrics.length];
  const unit = metric?.unit ?? "";
  const scale = metric?.scale ?? 1;
  const total = cell.totalName === undefined ? -1 : seriesOf(schema, device, cell.totalName);
  const chart = new StripChart([{ series, colour: () => seriesColour(0) }], {
    label: `${cell.title} of ${schema.devices[device]?.name ?? ""}`,
    scale,
    hasArea: true,
    isBinary: unit.startsWith("bytes"),
    ...(cell.ceiling === undefined ? {} : { ceiling: cell.ceiling }),
  });
  scope.add(() => chart.surface.end());
  queue.add({
    urgency: () => {
      const { startSeconds, endSeconds } = shownInterval(hub.nowSeconds);
      return chart.urgency(hub.store, startSeconds, endSeconds);
    },
    paint: () => {
      const { startSeconds, endSeconds } = shownInterval(hub.nowSeconds);
      chart.paint(hub.store, startSeconds, endSeconds);
      const now = hub.store.value(series, endSeconds) * scale;
      const of = total < 0 ? Number.NaN : hub.store.value(total, endSeconds) * scale;
      value.classList.toggle("absent", Number.isNaN(now));
      if (Number.isNaN(now)) setText(value, NO_SENSOR);
      else setText(value, Number.isNaN(of) ? quantity(now, unit) : `${quantity(now, unit)} of ${quantity(of, unit)}`);
    },
  });
  return h("div", {}, head, chart.surface.element);
}

/** A kernel that ran lately: what its process counts, and the launches that arrived. */
interface ActiveKernel {
  readonly key: string;
  readonly title: string;
  readonly core: string;
  readonly device: string;
  readonly sums: KernelSums | undefined;
  readonly live: KernelRow | undefined;
}

function activeKernels({ launches, kernelSums, nowSeconds }: Hub): ActiveKernel[] {
  const sums = kernelSums.peek();
  const isRecent = (row: KernelRow): boolean => nowSeconds - row.lastEndSeconds < ACTIVE_SECONDS;
  const running = [...sums.values()].filter((row) => row.callsPerSecond > 0);
  const found = new Map([...[...launches.kernels.values()].filter(isRecent), ...running].map((row) => [row.key, row]));
  const titles = kernelTitles([...new Map([...found, ...sums]).values()]);
  return [...found.values()].map(({ key, name, core, device }) => ({
    key,
    title: titles.get(key) ?? name,
    core,
    device,
    sums: sums.get(key),
    live: launches.kernels.get(key),
  }));
}

function kernelsPanel({ hub, scope, go }: PageContext): HTMLElement {
  const box = panel("Active kernels");
  const lines = new Map<string, Sparkline>();
  const rate = (row: ActiveKernel): number => row.sums?.callsPerSecond ?? Number.NaN;
  const load = (row: ActiveKernel): number => row.sums?.busyRatio ?? Number.NaN;
  const median = (row: ActiveKernel): number =>
    row.live === undefined ? Number.NaN : quantile(hub.launches.recent(row.live), 0.5);
  const columns: Column<ActiveKernel>[] = [
    { id: "name", title: "kernel", text: (row) => row.title, key: (row) => row.title, className: "mono" },
    { id: "core", title: "core", render: coreBadge, key: (row) => row.core },
    { id: "device", title: "device", text: (row) => row.device, key: (row) => row.device },
    {
      id: "rate",
      title: "launches/s",
      hint: "All launches of the last second",
      isNumber: true,
      text: (row) => decimal(rate(row)),
      key: rate,
    },
    {
      id: "load",
      title: "load",
      hint: "Share of the last second in which it ran; ≈ where only a sample of its launches was timed",
      isNumber: true,
      text: (row) => estimated(percent(load(row)), row.sums?.isEstimated),
      key: load,
    },
    {
      id: "median",
      title: "median",
      hint: "Of its newest 96 launches that were timed",
      isNumber: true,
      text: (row) => seconds(median(row)),
      key: median,
    },
    {
      id: "recent",
      title: "newest durations",
      render: (row, cell) => {
        if (row.live === undefined) return;
        const line = lines.get(row.key) ?? new Sparkline(`Durations of ${row.title}`);
        lines.set(row.key, line);
        if (line.surface.element.parentElement !== cell) cell.replaceChildren(line.surface.element);
        line.paint(hub.launches.recent(row.live), row.live.received, coreColour(row.core));
      },
    },
  ];
  const table = new DataTable(columns, (row) => row.key, {
    label: "Active kernels",
    sortBy: "load",
    onOpen: () => go("kernels"),
  });
  table.element.querySelector("table")?.classList.add("open");
  const place = new Switch(box.body);
  let seen = "";
  const update = (): void => {
    const rows = activeKernels(hub);
    setText(box.aside, rows.length === 0 ? "" : `${rows.length} in the last ${ACTIVE_SECONDS} s`);
    if (rows.length === 0) {
      place.show("empty", () =>
        emptyState({
          icon: "kernels",
          title: `No kernel has run in the last ${ACTIVE_SECONDS} seconds`,
          text: "Launch one; it appears here within two pictures.",
          code: START_PROGRAM,
        }),
      );
      return;
    }
    place.show("table", () => table.element);
    table.update(rows);
    const keys = rows.map((row) => row.key).join();
    if (keys !== seen) for (const key of lines.keys()) if (!hub.launches.kernels.has(key)) lines.delete(key);
    seen = keys;
  };
  scope.every(TABLE_PERIOD_MS, update);
  // A kernel that was not there before is shown with the next picture.
  let known = 0;
  scope.everyFrame(() => {
    if (hub.launches.kernels.size === known) return;
    known = hub.launches.kernels.size;
    update();
  });
  return box.element;
}

/** A figure, marked where only a sample stands behind it. */
export function estimated(value: string, isEstimated = false): string {
  return isEstimated && value !== ABSENT ? `≈ ${value}` : value;
}

export function coreBadge(row: { readonly core: string }, cell: HTMLElement): void {
  if (cell.dataset["core"] === row.core) return;
  cell.dataset["core"] = row.core;
  cell.replaceChildren(h("span", { class: `badge core-${row.core}` }, row.core || ABSENT));
}

function processesPanel(hub: Hub, { scope, selectedPid, go }: PageContext): HTMLElement {
  const box = panel("Processes");
  const place = new Switch(box.body);
  const list = h("div", { class: "process-list" });
  const rowOf = (process: ProcessFacts): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        class: "process",
        title: process.command,
        onclick: () => {
          selectedPid.value = process.pid;
          go("kernels");
        },
      },
      h("span", { class: "mono" }, shortCommand(process.command)),
      h("span", { class: "sub" }, `pid ${process.pid}${process.version === "" ? "" : ` · ${process.version}`}`),
    );
  scope.effect(() => {
    const processes = hub.processes.value;
    setText(box.aside, processes.length === 0 ? "" : String(processes.length));
    if (processes.length === 0) {
      place.show("empty", () =>
        emptyState({
          icon: "overview",
          title: "No process uses amdgpu",
          text: "Start one as this user; nothing has to be changed in it.",
          code: START_PROGRAM,
        }),
      );
      return;
    }
    place.show("list", () => list);
    arrange(list, processes.map(rowOf));
  });
  const totals = h("p", { class: "sub" });
  scope.every(1000, () => {
    const { launches, store } = hub;
    const parts = [`${count(launches.received)} timed launches received`];
    if (launches.dropped > 0) parts.push(`${count(launches.dropped)} lost on the way`);
    if (store.lostFrames > 0) parts.push(`${count(store.lostFrames)} frames lost`);
    parts.push(`${bytes(store.seriesCount * store.capacity * 4)} of history`);
    setText(totals, parts.join(" · "));
  });
  box.element.append(h("div", { class: "panel-body" }, totals));
  return box.element;
}
