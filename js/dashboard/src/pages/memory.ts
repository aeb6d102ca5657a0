/** Pools of a process: every segment with its blocks, who owns how much, how fragmented, what leaked. */

import { sentence } from "../data/hub";
import { type Leak, type MemoryMap, type Owner, type Pool, readMemory } from "../data/memory_facts";
import { ABSENT, bytes, count, percent } from "../format";
import { signal } from "../state/signal";
import { h, setText } from "../ui/dom";
import { Fact, panel } from "../ui/panel";
import { PoolMap } from "../ui/pool_map";
import { emptyState, errorState, loadingState, Switch } from "../ui/states";
import { type Column, DataTable } from "../ui/table";
import { processPicker } from "./kernels";
import { START_PROGRAM } from "./overview";
import type { Page } from "./page";

const REFRESH_MS = 500;

export const memory: Page = {
  id: "memory",
  title: "Memory",
  icon: "memory",
  mount(root, context) {
    const { hub, scope, selectedPid } = context;
    const map = signal<MemoryMap | null>(null);
    const problem = signal<string | null>(null);
    const box = panel("Pools");
    box.aside.append(processPicker(context, true));
    const place = new Switch(box.body);
    const owners = panel("Owners");
    const leaks = panel("Leaks");
    const ownerTable = new DataTable<Owner>(
      ownerColumns(() => total(map.peek())),
      (row) => `${row.device} ${row.owner}`,
      { label: "Owners of memory", sortBy: "bytes" },
    );
    const leakTable = new DataTable<Leak>(leakColumns(), (row) => `${row.device} ${row.pool} ${row.address}`, {
      label: "Leaks",
      sortBy: "bytes",
    });
    const ownerPlace = new Switch(owners.body);
    const leakPlace = new Switch(leaks.body);
    root.append(
      h("div", { class: "stack" }, box.element, h("div", { class: "columns-2" }, owners.element, leaks.element)),
    );

    const load = async (): Promise<void> => {
      const pid = selectedPid.peek() ?? hub.processes.peek()[0]?.pid;
      if (pid === undefined) {
        map.set(null);
        return;
      }
      try {
        map.set(readMemory(await hub.ask("memory:map", { pid })));
        problem.set(null);
      } catch (error) {
        problem.set(sentence(error));
      }
    };
    scope.every(REFRESH_MS, () => void load());
    const views = new Map<string, PoolView>();
    scope.add(() => {
      for (const view of views.values()) view.end();
    });
    const pools = h("div", {});
    scope.effect(() => {
      const found = map.get();
      const message = problem.get();
      const hasProcess = hub.processes.get().length > 0;
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
            title: "This process holds no memory of a device",
            text: "Arrays of amdgpu.Array and of operations on GPUs come from the pools; NumPy arrays on the CPU device stay NumPy's.",
            code: 'a = amdgpu.zeros((1024, 1024), device="cpu:0")',
          }),
        );
      } else {
        place.show("pools", () => pools);
        showPools(pools, views, found);
      }
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
    const key = `${pool.device} ${pool.name}`;
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
    rounding: new Fact("lost to rounding", "Bytes that blocks are larger than what was asked for"),
    fragmentation: new Fact("fragmentation", "1 minus the largest free block over all that is free"),
    hits: new Fact("from the cache"),
    refused: new Fact("out of memory"),
  };
  const map = new PoolMap(`Segments of pool ${opening.name} of ${opening.device}`);
  const left = h("p", { class: "sub" });
  const element = h(
    "div",
    { class: "pool" },
    h("div", { class: "toolbar" }, h("b", {}, `${opening.device} · ${opening.name}`)),
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
      setText(facts.fragmentation.value, percent(pool.fragmentationRatio));
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

function total(map: MemoryMap | null): number {
  return (map?.owners ?? []).reduce((sum, owner) => sum + owner.bytes, 0);
}

function ownerColumns(all: () => number): Column<Owner>[] {
  return [
    { id: "owner", title: "owner", className: "mono", text: (row) => row.owner, key: (row) => row.owner },
    { id: "device", title: "device", text: (row) => row.device, key: (row) => row.device },
    { id: "blocks", title: "blocks", isNumber: true, text: (row) => count(row.blocks), key: (row) => row.blocks },
    { id: "bytes", title: "size", isNumber: true, text: (row) => bytes(row.bytes), key: (row) => row.bytes },
    { id: "share", title: "share", isNumber: true, text: (row) => percent(row.bytes / all()), key: (row) => row.bytes },
  ];
}

function leakColumns(): Column<Leak>[] {
  return [
    { id: "owner", title: "owner", className: "mono", text: (row) => row.owner, key: (row) => row.owner },
    { id: "pool", title: "pool", text: (row) => `${row.device} ${row.pool}`, key: (row) => row.pool },
    { id: "bytes", title: "size", isNumber: true, text: (row) => bytes(row.bytes), key: (row) => row.bytes },
    { id: "reason", title: "why it is one", text: (row) => row.reason },
  ];
}
