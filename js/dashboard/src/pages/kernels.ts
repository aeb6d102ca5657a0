/** Every kernel of every process; one of them opened beside its IR, its assembly and its resources. */

import { type Signal, signal } from "@preact/signals-core";
import { shortCommand } from "../data/facts";
import { sentence } from "../data/hub";
import {
  busIdentity,
  type KernelDetails,
  type KernelFacts,
  readKernelDetails,
  readKernels,
} from "../data/kernel_facts";
import { type KernelIdentity, type KernelSums, kernelKey, kernelTitles } from "../data/kernel_sums";
import { type KernelRow, quantile } from "../data/launches";
import { ABSENT, bytes, count, decimal, percent, seconds } from "../format";
import { h, setText } from "../ui/dom";
import { coreColour } from "../ui/palette";
import { panel } from "../ui/panel";
import { Sparkline } from "../ui/sparkline";
import { emptyState, errorState, loadingState, Switch } from "../ui/states";
import { type Column, DataTable } from "../ui/table";
import { kernelView } from "./kernel_view";
import { coreBadge, estimated, START_PROGRAM } from "./overview";
import type { Page, PageContext } from "./page";

/** Lists of kernels are asked for this often; launches come by themselves. */
const LIST_PERIOD_MS = 1500;
const TABLE_PERIOD_MS = 300;
/** More processes than these are not asked for their kernels. */
const MAX_PROCESSES = 12;

interface Row {
  readonly key: string;
  /** Its name; its signature where several have that name. */
  readonly title: string;
  readonly name: string;
  readonly core: string;
  readonly device: string;
  readonly pid: number;
  /** What its process says of it, what it counts, and the launches that arrived. */
  readonly facts: KernelFacts | undefined;
  readonly sums: KernelSums | undefined;
  readonly live: KernelRow | undefined;
}

export const kernels: Page = {
  id: "kernels",
  title: "Kernels",
  icon: "kernels",
  mount(root, context) {
    const { scope, selectedPid, go, keys } = context;
    const listed = signal<readonly KernelFacts[]>([]);
    const problem = signal<string | null>(null);
    const search = h("input", { type: "search", placeholder: "Filter (/)", "aria-label": "Filter kernels by name" });
    const processes = processPicker(context);
    const box = panel("Kernels");
    box.aside.append(search, processes);
    const place = new Switch(box.body);
    const open = (key: string): void => {
      const row = rowsOf(context, listed.peek()).find((candidate) => candidate.key === key);
      if (row?.facts !== undefined) go("kernels", String(row.pid), encodeURIComponent(row.facts.handle));
      else if (row !== undefined)
        problem.value = `${row.name} is not a compiled kernel of pid ${row.pid}: it ran inside a native library, which keeps no source.`;
    };
    const lines = new Map<string, Sparkline>();
    const table = new DataTable(columns(context, lines), (row) => row.key, {
      label: "Kernels",
      sortBy: "total",
      onOpen: open,
    });
    table.element.querySelector("table")?.classList.add("open");
    const details = h("div", {});
    root.append(h("div", { class: "stack" }, details, box.element));

    scope.every(LIST_PERIOD_MS, () => void refresh(context, listed, problem));
    const update = (): void => {
      const wanted = search.value.trim().toLowerCase();
      const pid = selectedPid.peek();
      const rows = rowsOf(context, listed.peek()).filter(
        (row) => (pid === null || row.pid === pid) && (wanted === "" || row.title.toLowerCase().includes(wanted)),
      );
      setText(box.element.querySelector("h2") ?? box.element, `Kernels · ${rows.length}`);
      if (rows.length > 0) {
        place.show("table", () => table.element);
        table.update(rows);
        return;
      }
      const message = problem.peek();
      if (message !== null)
        place.show(`problem ${message}`, () => errorState(message, () => void refresh(context, listed, problem)));
      else if (wanted !== "")
        place.show("filtered", () =>
          emptyState({
            icon: "kernels",
            title: "No kernel has such a name",
            text: "Empty the filter to see all of them.",
          }),
        );
      else
        place.show("empty", () =>
          emptyState({
            icon: "kernels",
            title: "No kernel yet",
            text: "Kernels appear when a process of this user compiles or launches one.",
            code: START_PROGRAM,
          }),
        );
    };
    scope.every(TABLE_PERIOD_MS, update);
    search.addEventListener("input", update);
    const [pid, handle] = context.path;
    if (pid !== undefined && handle !== undefined)
      openDetails(details, Number(pid), decodeURIComponent(handle), context);
    keys([
      { key: "j", what: "next kernel", run: () => table.move(1) },
      { key: "k", what: "previous kernel", run: () => table.move(-1) },
      { key: "Enter", what: "open the kernel", run: () => table.openSelected() },
      { key: "Escape", shown: "Esc", what: "close the kernel", run: () => go("kernels") },
      { key: "/", what: "filter by name", run: () => search.focus() },
    ]);
    search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") search.blur();
    });
  },
};

/** A menu of processes that follows `process_update`. */
export function processPicker({ hub, scope, selectedPid }: PageContext, needsOne = false): HTMLSelectElement {
  const picker = h("select", { "aria-label": "Process" });
  scope.effect(() => {
    const processes = hub.processes.value;
    const chosen = selectedPid.value;
    picker.hidden = processes.length === 0;
    picker.replaceChildren(
      ...(needsOne ? [] : [h("option", { value: "" }, "all processes")]),
      ...processes.map((process) =>
        h(
          "option",
          { value: process.pid, selected: process.pid === chosen },
          `${process.pid} · ${shortCommand(process.command).slice(0, 60)}`,
        ),
      ),
    );
  });
  picker.addEventListener("change", () => {
    selectedPid.value = picker.value === "" ? null : Number(picker.value);
  });
  return picker;
}

async function refresh(
  { hub, selectedPid }: PageContext,
  listed: Signal<readonly KernelFacts[]>,
  problem: Signal<string | null>,
): Promise<void> {
  const chosen = selectedPid.peek();
  const pids =
    chosen === null
      ? hub.processes
          .peek()
          .map((process) => process.pid)
          .slice(0, MAX_PROCESSES)
      : [chosen];
  const answers = await Promise.allSettled(
    pids.map(async (pid) => readKernels(await hub.ask("kernel:list", { pid }), pid)),
  );
  listed.value = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  const failed = answers.find((answer): answer is PromiseRejectedResult => answer.status === "rejected");
  const isAnswered = failed === undefined || answers.some((answer) => answer.status === "fulfilled");
  problem.value = isAnswered ? null : sentence(failed.reason);
}

/** Kernels that were listed, with what is counted of them and their launches; and kernels that are listed nowhere. */
function rowsOf({ hub }: PageContext, listed: readonly KernelFacts[]): Row[] {
  const sums = hub.kernelSums.peek();
  const facts = new Map(listed.map((one) => [kernelKey(busIdentity(one)), one]));
  const all = new Map<string, KernelIdentity & { readonly core: string; readonly signature?: string }>([
    ...hub.launches.kernels,
    ...sums,
    ...[...facts].map(([key, one]) => [key, { ...one, ...busIdentity(one) }] as const),
  ]);
  const titles = kernelTitles(all.values());
  return [...all].map(([key, { pid, name, core, device }]) => ({
    key: facts.has(key) ? `${pid}/${facts.get(key)?.handle}` : key,
    title: titles.get(key) ?? name,
    name,
    core,
    device,
    pid,
    facts: facts.get(key),
    sums: sums.get(key),
    live: hub.launches.kernels.get(key),
  }));
}

const calls = (row: Row): number => row.sums?.calls ?? row.facts?.calls ?? Number.NaN;
const total = (row: Row): number => row.sums?.seconds ?? row.facts?.totalSeconds ?? Number.NaN;
const isEstimated = (row: Row): boolean => row.sums?.isEstimated ?? row.facts?.isEstimated ?? false;
const mean = (row: Row): number => (calls(row) > 0 ? total(row) / calls(row) : Number.NaN);
const rate = (row: Row): number => row.sums?.callsPerSecond ?? 0;
const fact = (row: Row, read: (facts: KernelFacts) => number): number =>
  row.facts === undefined ? Number.NaN : read(row.facts);

function columns(context: PageContext, lines: Map<string, Sparkline>): Column<Row>[] {
  return [...identityColumns(), ...countedColumns(), ...newestColumns(context, lines), ...resourceColumns()];
}

function identityColumns(): Column<Row>[] {
  return [
    {
      id: "name",
      title: "kernel",
      className: "mono",
      text: (row) => row.title,
      key: (row) => row.title,
    },
    { id: "core", title: "core", render: coreBadge, key: (row) => row.core },
    {
      id: "device",
      title: "device",
      text: (row) => row.device || ABSENT,
      key: (row) => row.device,
    },
    {
      id: "target",
      title: "target",
      text: (row) => row.facts?.target || ABSENT,
      key: (row) => row.facts?.target ?? "",
    },
    { id: "pid", title: "process", isNumber: true, text: (row) => String(row.pid), key: (row) => row.pid },
  ];
}

/** What the process counted since it began. */
function countedColumns(): Column<Row>[] {
  return [
    {
      id: "calls",
      title: "launches",
      hint: "All of them, since its process began",
      isNumber: true,
      text: (row) => count(calls(row)),
      key: calls,
    },
    {
      id: "rate",
      title: "launches/s",
      hint: "All launches of the last second",
      isNumber: true,
      text: (row) => decimal(rate(row)),
      key: rate,
    },
    {
      id: "total",
      title: "time",
      hint: "Of all launches, since its process began; ≈ where only a sample of them was timed",
      isNumber: true,
      text: (row) => {
        const timed = row.sums === undefined ? "" : ` (${count(row.sums.timedCalls)} timed)`;
        return isEstimated(row) ? `${estimated(seconds(total(row)), true)}${timed}` : seconds(total(row));
      },
      key: total,
    },
    {
      id: "mean",
      title: "mean of all",
      hint: "Time over launches, since its process began",
      isNumber: true,
      text: (row) => estimated(seconds(mean(row)), isEstimated(row)),
      key: mean,
    },
  ];
}

/** Of the newest launches that were timed. */
function newestColumns({ hub }: PageContext, lines: Map<string, Sparkline>): Column<Row>[] {
  const quantileOf = (row: Row, share: number): number =>
    row.live === undefined ? Number.NaN : quantile(hub.launches.recent(row.live), share);
  return [
    {
      id: "median",
      title: "median, newest",
      hint: "Of the newest 96 launches that were timed",
      isNumber: true,
      text: (row) => seconds(quantileOf(row, 0.5)),
      key: (row) => quantileOf(row, 0.5),
    },
    {
      id: "p95",
      title: "95 %, newest",
      hint: "Of the newest 96 launches that were timed",
      isNumber: true,
      text: (row) => seconds(quantileOf(row, 0.95)),
      key: (row) => quantileOf(row, 0.95),
    },
    {
      id: "recent",
      title: "newest durations",
      render: (row, cell) => {
        if (row.live === undefined) return;
        const line = lines.get(row.key) ?? new Sparkline(`Durations of ${row.name}`);
        lines.set(row.key, line);
        if (line.surface.element.parentElement !== cell) cell.replaceChildren(line.surface.element);
        line.paint(hub.launches.recent(row.live), row.live.received, coreColour(row.core));
      },
    },
  ];
}

/** What the compiler knows of it. */
function resourceColumns(): Column<Row>[] {
  return [
    {
      id: "occupancy",
      title: "occupancy",
      hint: "Waves that fit a compute unit at once, of those that could",
      render: (row, cell) => {
        setText(cell, percent(fact(row, (facts) => facts.occupancyRatio)));
        cell.title = row.facts?.occupancyLimit ? `limited by ${row.facts.occupancyLimit}` : "";
      },
      isNumber: true,
      key: (row) => fact(row, (facts) => facts.occupancyRatio),
    },
    {
      id: "registers",
      title: "registers",
      isNumber: true,
      text: (row) => count(fact(row, (facts) => facts.registers)),
      key: (row) => fact(row, (facts) => facts.registers),
    },
    {
      id: "shared",
      title: "shared",
      isNumber: true,
      text: (row) => bytes(fact(row, (facts) => facts.sharedBytes)),
      key: (row) => fact(row, (facts) => facts.sharedBytes),
    },
  ];
}

function openDetails(place: HTMLElement, pid: number, handle: string, context: PageContext): void {
  const { hub, go } = context;
  const box = panel("Kernel", { className: "kernel-panel" });
  const body = new Switch(box.body);
  place.replaceChildren(box.element);
  const load = async (): Promise<void> => {
    body.show("loading", () => loadingState("Compiling it again here, to show what each pass did"));
    try {
      const details: KernelDetails = readKernelDetails(await hub.ask("kernel:details", { pid, handle }));
      setText(box.element.querySelector("h2") ?? box.element, details.name);
      box.aside.replaceChildren(
        `process ${pid}`,
        h("button", { type: "button", class: "button", onclick: () => go("kernels") }, "Close (Esc)"),
      );
      body.show("view", () => kernelView(details, context));
    } catch (error) {
      const message = sentence(error);
      body.show(`error ${message}`, () =>
        errorState(message, () => {
          body.reset();
          void load();
        }),
      );
    }
  };
  void load();
}
