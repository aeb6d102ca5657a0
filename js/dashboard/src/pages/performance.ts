/** How close kernels come to what the device can do, and where time goes between the languages. */

import type { Boundary, DeviceFacts } from "../data/facts";
import { sentence } from "../data/hub";
import { type KernelFacts, readKernelDetails, readKernels } from "../data/kernel_facts";
import { countIr, type StaticCount, scalarIr } from "../data/static_count";
import { ABSENT, count, decimal, seconds } from "../format";
import { signal } from "../state/signal";
import { h, setText } from "../ui/dom";
import { drawFlame, flameTree } from "../ui/flame";
import { panel } from "../ui/panel";
import { type Dot, drawRoofline, type Roofs } from "../ui/roofline";
import { emptyState, loadingState, Switch } from "../ui/states";
import { type Column, DataTable } from "../ui/table";
import { coreBadge, START_PROGRAM } from "./overview";
import type { Page, PageContext } from "./page";

const REFRESH_MS = 1000;
const MAX_PROCESSES = 12;
/** Kernels whose IR is asked for; each costs the server one compilation. */
const MAX_COUNTED = 48;
const ROOFLINE_HEIGHT = 420;

/** Counts of kernels, kept over visits of the page. */
const counted = new Map<string, StaticCount | null>();

interface Row {
  readonly key: string;
  readonly facts: KernelFacts;
  readonly dot: Dot | null;
  readonly reason: string;
}

export const performancePage: Page = {
  id: "performance",
  title: "Performance",
  icon: "performance",
  mount(root, context) {
    const { scope, hub } = context;
    const rows = signal<readonly Row[] | null>(null);
    const roofBox = panel("Roofline", {
      note: "Operations and bytes of global memory are counted in the compiler's IR; a hollow dot has loops, which are counted once, so it is a lower bound. Dots are as large as the share of time that the kernel takes.",
    });
    const roofPlace = new Switch(roofBox.body);
    const table = new DataTable(rooflineColumns(), (row) => row.key, {
      label: "Kernels under the roofline",
      sortBy: "flops",
    });
    const flameBox = panel("Language boundaries", {
      note: "Width is time spent on the other side. The bus keeps sums for each function, not stacks: what a language calls is shared out over the functions that lead into it.",
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
        .then((found) => rows.set(found))
        .finally(() => {
          isBusy = false;
        });
    });
    const chart = h("div", {});
    const tableBox = h("div", {}, table.element);
    scope.effect(() => {
      const found = rows.get();
      const device = hub.devices.get()[0];
      if (found === null) {
        roofPlace.show("loading", () => loadingState("Asking for kernels, and counting in their IR"));
        return;
      }
      const dots = found.flatMap((row) => (row.dot === null ? [] : [row.dot]));
      const roofs = roofsOf(device, dots);
      setText(roofBox.aside, roofText(device, roofs));
      if (found.length === 0) {
        roofPlace.show("empty", () =>
          emptyState({
            icon: "performance",
            title: "No kernel to place yet",
            text: "Launch a kernel; its dot appears within a second.",
            code: START_PROGRAM,
          }),
        );
        return;
      }
      roofPlace.show("chart", () => h("div", { class: "stack" }, chart, tableBox));
      chart.replaceChildren(drawRoofline(Math.max(chart.clientWidth, 480), ROOFLINE_HEIGHT, dots, roofs));
      table.update(found);
    });
    const flame = h("div", {});
    scope.effect(() => {
      const boundaries = hub.boundaries.get();
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
      flame.replaceChildren(drawFlame(Math.max(flame.clientWidth, 480), flameTree(boundaries)));
      boundaryTable.update(boundaries);
    });
  },
};

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
  const now = hub.nowSeconds;
  // The bus knows launches by name, so a kernel and its checked twin are timed together.
  const checked = new Set(kernels.filter((facts) => facts.isChecked).map((facts) => `${facts.pid} ${facts.name}`));
  const rows: Row[] = [];
  for (const facts of kernels) {
    const key = `${facts.pid}/${facts.handle}`;
    if (!counted.has(key) && counted.size < MAX_COUNTED) await countKernel(key, facts, hub);
    const live = hub.launches.kernels.get(`${facts.pid} ${facts.name}`);
    const mean =
      Number.isNaN(facts.meanSeconds) && live !== undefined ? live.totalNs / live.count / 1e9 : facts.meanSeconds;
    const load = live === undefined ? 0 : hub.launches.rate(live, now) * mean;
    if (!facts.isChecked && checked.has(`${facts.pid} ${facts.name}`)) {
      rows.push({ key, facts, dot: null, reason: "timed together with its checked twin" });
      continue;
    }
    rows.push({ key, facts, ...place(facts, counted.get(key) ?? null, mean, live?.workItems ?? Number.NaN, load) });
  }
  return rows;
}

async function countKernel(key: string, facts: KernelFacts, hub: PageContext["hub"]): Promise<void> {
  try {
    const details = readKernelDetails(await hub.ask("kernel:details", { pid: facts.pid, handle: facts.handle }));
    counted.set(key, countIr(scalarIr(details.passes), facts.name));
  } catch (error) {
    counted.set(key, null);
    void sentence(error);
  }
}

function place(
  facts: KernelFacts,
  one: StaticCount | null,
  meanSeconds: number,
  workItems: number,
  load: number,
): { dot: Dot | null; reason: string } {
  const isMeasured = facts.operations > 0 && facts.bytes > 0;
  const operations = isMeasured ? facts.operations : (one?.operations ?? Number.NaN) * workItems;
  const bytes = isMeasured ? facts.bytes : (one?.bytes ?? Number.NaN) * workItems;
  if (!(meanSeconds > 0)) return { dot: null, reason: "not launched yet" };
  if (facts.isChecked) return { dot: null, reason: "checked: it runs item by item" };
  if (!isMeasured && one === null) return { dot: null, reason: "no IR to count in" };
  if (!isMeasured && !(workItems > 0)) return { dot: null, reason: "its work-items are not known yet" };
  if (!(operations > 0)) return { dot: null, reason: "no floating-point operation" };
  if (!(bytes > 0)) return { dot: null, reason: "no global memory" };
  return {
    dot: {
      name: facts.name,
      core: facts.core,
      intensity: operations / bytes,
      flopsPerSecond: operations / meanSeconds,
      loadRatio: load,
      isLowerBound: !isMeasured && one?.hasLoop === true,
    },
    reason: "",
  };
}

function roofsOf(device: DeviceFacts | undefined, dots: readonly Dot[]): Roofs {
  const flops = device?.peakFlops ?? Number.NaN;
  const bandwidth = device?.peakBytesPerSecond ?? Number.NaN;
  if (flops > 0 && bandwidth > 0)
    return { flopsPerSecond: flops, bytesPerSecond: bandwidth, source: device?.peakSource ?? "", isOnlySeen: false };
  return {
    flopsPerSecond: Math.max(...dots.map((dot) => dot.flopsPerSecond), Number.NEGATIVE_INFINITY),
    bytesPerSecond: Math.max(...dots.map((dot) => dot.flopsPerSecond / dot.intensity), Number.NEGATIVE_INFINITY),
    source: "",
    isOnlySeen: true,
  };
}

function roofText(device: DeviceFacts | undefined, roofs: Roofs): string {
  const name = device?.device ?? "device";
  if (roofs.isOnlySeen) return `the peak of ${name} is not known; dashed: the fastest of these kernels`;
  return `${name}: ${decimal(roofs.flopsPerSecond, "FLOP/s")}, ${decimal(roofs.bytesPerSecond, "B/s")}${roofs.source === "" ? "" : ` (${roofs.source})`}`;
}

function rooflineColumns(): Column<Row>[] {
  const of = (row: Row, read: (dot: Dot) => number): number => (row.dot === null ? Number.NaN : read(row.dot));
  return [
    { id: "name", title: "kernel", className: "mono", text: (row) => row.facts.name, key: (row) => row.facts.name },
    { id: "core", title: "core", render: (row, cell) => coreBadge(row.facts, cell), key: (row) => row.facts.core },
    {
      id: "flops",
      title: "speed",
      isNumber: true,
      text: (row) =>
        (row.dot?.isLowerBound === true ? "≥ " : "") +
        decimal(
          of(row, (dot) => dot.flopsPerSecond),
          "FLOP/s",
        ),
      key: (row) => of(row, (dot) => dot.flopsPerSecond),
    },
    {
      id: "intensity",
      title: "operations for each byte",
      isNumber: true,
      text: (row) => (row.dot === null ? ABSENT : row.dot.intensity.toPrecision(3)),
      key: (row) => of(row, (dot) => dot.intensity),
    },
    {
      id: "bandwidth",
      title: "memory",
      isNumber: true,
      text: (row) =>
        decimal(
          of(row, (dot) => dot.flopsPerSecond / dot.intensity),
          "B/s",
        ),
      key: (row) => of(row, (dot) => dot.flopsPerSecond / dot.intensity),
    },
    {
      id: "mean",
      title: "mean duration",
      isNumber: true,
      text: (row) => seconds(row.facts.meanSeconds),
      key: (row) => row.facts.meanSeconds,
    },
    { id: "reason", title: "not placed because", text: (row) => row.reason },
  ];
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
