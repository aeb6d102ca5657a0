/** Pools of all processes or of one: every segment with its blocks, who owns how much, what an allocation would find, what leaked. */

import { type Signal, signal } from "@preact/signals-core";
import { sentence } from "../data/hub";
import {
  type Fit,
  joined,
  type Leak,
  type MemoryMap,
  type Owner,
  type Pool,
  readMemory,
  sums,
} from "../data/memory_facts";
import { ABSENT, bytes, count, percent } from "../format";
import { h, setText } from "../ui/dom";
import { Fact, panel } from "../ui/panel";
import { PoolMap } from "../ui/pool_map";
import { emptyState, errorState, loadingState, Switch } from "../ui/states";
import { type Column, DataTable } from "../ui/table";
import { processPicker } from "./kernels";
import { START_PROGRAM } from "./overview";
import type { Page } from "./page";

const REFRESH_MS = 500;
const MAX_PROCESSES = 12;
/** Sizes to ask for, from a small array to a large one. */
const SIZES_BYTES = [64 << 10, 1 << 20, 16 << 20, 256 << 20, 2 ** 30, 2 ** 32] as const;

export const memory: Page = {
  id: "memory",
  title: "Memory",
  icon: "memory",
  mount(root, context) {
    const { hub, scope, selectedPid } = context;
    const map = signal<MemoryMap | null>(null);
    const problem = signal<string | null>(null);
    const box = panel("Pools");
    const total = h("span", { class: "sub" });
    const size = signal<number>(SIZES_BYTES[1]);
    box.aside.append(total, sizePicker(size), processPicker(context));
    const place = new Switch(box.body);
    const owners = panel("Owners");
    const leaks = panel("Leaks");
    const ownerTable = new DataTable<Owner>(
      ownerColumns(() => ownedBytes(map.peek())),
      (row) => `${row.pid} ${row.device} ${row.owner}`,
      { label: "Owners of memory", sortBy: "bytes" },
    );
    const leakTable = new DataTable<Leak>(
      leakColumns(),
      (row) => `${row.pid} ${row.device} ${row.pool} ${row.address}`,
      {
        label: "Leaks",
        sortBy: "bytes",
      },
    );
    const ownerPlace = new Switch(owners.body);
    const leakPlace = new Switch(leaks.body);
    root.append(
      h("div", { class: "stack" }, box.element, h("div", { class: "columns-2" }, owners.element, leaks.element)),
    );

    const load = async (): Promise<void> => {
      const chosen = selectedPid.peek();
      const running = hub.processes.peek().map((process) => process.pid);
      const pids = chosen === null ? running.slice(0, MAX_PROCESSES) : [chosen];
      if (pids.length === 0) {
        map.value = null;
        return;
      }
      const answers = await Promise.allSettled(
        pids.map(async (pid) => readMemory(await hub.ask("memory:map", { pid, size_bytes: size.peek() }), pid)),
      );
      const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
      const failed = answers.find((answer): answer is PromiseRejectedResult => answer.status === "rejected");
      // Of several processes one may have ended just now; the others are shown.
      problem.value = failed !== undefined && found.length === 0 ? sentence(failed.reason) : null;
      if (found.length > 0) map.value = joined(found);
    };
    scope.every(REFRESH_MS, () => void load());
    scope.effect(() => {
      void size.value;
      void load();
    });
    const views = new Map<string, PoolView>();
    scope.add(() => {
      for (const view of views.values()) view.end();
    });
    const pools = h("div", {});
    scope.effect(() => {
      const found = map.value;
      const message = problem.value;
      const hasProcess = hub.processes.value.length > 0;
      if (message !== null) place.show(`problem ${message}`, () => errorState(message, () => void load()));
      else if (!hasProcess)
        place.show("empty", () =>
          emptyState({
            icon: "memory",
            title: "No process to look into",
            text: "Start a program that uses amdgpu; its pools appear here.",
            code: START_PROGRAM,
          }),
        );
      else if (found === null) place.show("loading", () => loadingState("Asking the process for its pools"));
      else if (found.pools.every((pool) => pool.segments.length === 0)) {
        place.show("none", () =>
          emptyState({
            icon: "memory",
            title: "No memory of a device is held",
            text: "Arrays of amdgpu.Array and of operations on GPUs come from the pools; NumPy arrays on the CPU device stay NumPy's.",
            code: 'a = amdgpu.zeros((1024, 1024), device="cpu:0")',
          }),
        );
      } else {
        place.show("pools", () => pools);
        showPools(pools, views, found);
      }
      setText(total, found === null ? "" : totalText(found.pools));
      const owned = found?.owners ?? [];
      if (owned.length === 0)
        ownerPlace.show("none", () =>
          emptyState({
            icon: "memory",
            title: "Nothing is owned",
            text: "Blocks in use are listed here, largest first.",
          }),
        );
      else ownerPlace.show("table", () => ownerTable.element);
      ownerTable.update(owned);
      const lost = found?.leaks ?? [];
      if (lost.length === 0)
        leakPlace.show("none", () =>
          emptyState({
            icon: "memory",
            title: "No leak",
            text: "What is still held after its device was closed would stand here.",
          }),
        );
      else leakPlace.show("table", () => leakTable.element);
      leakTable.update(lost);
    });
    scope.everyFrame(() => {
      for (const view of views.values()) view.paint();
    });
  },
};

interface PoolView {
  readonly element: HTMLElement;
  update(pool: Pool): void;
  paint(): void;
  end(): void;
}

function showPools(place: HTMLElement, views: Map<string, PoolView>, map: MemoryMap): void {
  const wanted = new Set<string>();
  for (const pool of map.pools) {
    if (pool.segments.length === 0 && !(pool.reservedBytes > 0)) continue;
    const { key } = pool;
    wanted.add(key);
    let view = views.get(key);
    if (view === undefined) {
      view = poolView(pool);
      views.set(key, view);
      place.append(view.element);
    }
    view.update(pool);
  }
  for (const [key, view] of views) {
    if (wanted.has(key)) continue;
    view.end();
    view.element.remove();
    views.delete(key);
  }
}

function poolView(opening: Pool): PoolView {
  const facts = {
    active: new Fact("in use"),
    reserved: new Fact("reserved"),
    rounding: new Fact("rounding overhead", "Bytes that blocks are larger than what was asked for"),
    free: new Fact("free in it", "Reserved from the device and not in use; handed out again without asking the device"),
    largest: new Fact("largest free block", "The largest allocation that needs no new segment"),
    fit: new Fact("an allocation finds", "What an allocation of the chosen size on the default stream would find now"),
    hits: new Fact("cache hit ratio"),
    refused: new Fact("out of memory"),
  };
  const map = new PoolMap(`Segments of pool ${opening.name} of ${opening.device}, process ${opening.pid}`);
  const left = h("p", { class: "sub" });
  const element = h(
    "div",
    { class: "pool" },
    h("div", { class: "toolbar" }, h("b", {}, poolName(opening))),
    h("div", { class: "facts" }, ...Object.values(facts).map((fact) => fact.element)),
    map.element,
    left,
  );
  return {
    element,
    update(pool) {
      setText(facts.active.value, bytes(pool.activeBytes));
      setText(facts.reserved.value, bytes(pool.reservedBytes));
      setText(facts.rounding.value, bytes(pool.activeBytes - pool.requestedBytes));
      setText(facts.free.value, bytes(pool.freeBytes));
      setText(facts.largest.value, pool.largestFreeBytes > 0 ? bytes(pool.largestFreeBytes) : "none");
      setText(facts.fit.value, fitText(pool.fit));
      const asked = pool.cacheHits + pool.cacheMisses;
      setText(facts.hits.value, asked > 0 ? `${percent(pool.cacheHits / asked)} of ${count(asked)}` : ABSENT);
      setText(facts.refused.value, count(pool.outOfMemory));
      setText(left, pool.segmentsLeftOut > 0 ? `${pool.segmentsLeftOut} more segments are not drawn` : "");
      map.update(pool);
    },
    paint: () => map.paint(),
    end: () => map.end(),
  };
}

function sizePicker(size: Signal<number>): HTMLSelectElement {
  const picker = h(
    "select",
    { "aria-label": "Size of an allocation to ask for" },
    ...SIZES_BYTES.map((one) =>
      h("option", { value: one, selected: one === size.peek() }, `allocation of ${bytes(one)}`),
    ),
  );
  picker.addEventListener("change", () => {
    size.value = Number(picker.value);
  });
  return picker;
}

function poolName(pool: Pool): string {
  const closed = pool.isDeviceClosed ? " · its device was closed" : "";
  return `${pool.device} · ${pool.name} · process ${pool.pid}${closed}`;
}

function totalText(pools: readonly Pool[]): string {
  const { activeBytes, reservedBytes } = sums(pools);
  const processes = new Set(pools.map((pool) => pool.pid)).size;
  return `${bytes(activeBytes)} in use of ${bytes(reservedBytes)} reserved, by ${count(processes)} process${processes === 1 ? "" : "es"}`;
}

function fitText(fit: Fit | null): string {
  if (fit === null) return ABSENT;
  if (!Number.isNaN(fit.freeBlockBytes)) return `a free block of ${bytes(fit.freeBlockBytes)}`;
  return Number.isNaN(fit.segmentBytes) ? "nothing: too large" : `none free: ${bytes(fit.segmentBytes)} more reserved`;
}

function ownedBytes(map: MemoryMap | null): number {
  return (map?.owners ?? []).reduce((sum, owner) => sum + owner.bytes, 0);
}

function ownerColumns(all: () => number): Column<Owner>[] {
  return [
    { id: "owner", title: "owner", className: "mono", text: (row) => row.owner, key: (row) => row.owner },
    { id: "device", title: "device", text: (row) => row.device, key: (row) => row.device },
    { id: "pid", title: "pid", isNumber: true, text: (row) => String(row.pid), key: (row) => row.pid },
    { id: "blocks", title: "blocks", isNumber: true, text: (row) => count(row.blocks), key: (row) => row.blocks },
    { id: "bytes", title: "size", isNumber: true, text: (row) => bytes(row.bytes), key: (row) => row.bytes },
    { id: "share", title: "share", isNumber: true, text: (row) => percent(row.bytes / all()), key: (row) => row.bytes },
  ];
}

function leakColumns(): Column<Leak>[] {
  return [
    { id: "owner", title: "owner", className: "mono", text: (row) => row.owner, key: (row) => row.owner },
    { id: "pool", title: "pool", text: (row) => `${row.device} ${row.pool}`, key: (row) => row.pool },
    { id: "pid", title: "pid", isNumber: true, text: (row) => String(row.pid), key: (row) => row.pid },
    { id: "bytes", title: "size", isNumber: true, text: (row) => bytes(row.bytes), key: (row) => row.bytes },
    { id: "reason", title: "why it is one", text: (row) => row.reason },
  ];
}
