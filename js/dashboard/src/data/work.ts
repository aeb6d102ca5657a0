/** What kernels compute and move, and so their place under the roofline. */

import type { Boundary } from "./facts";
import type { KernelFacts } from "./kernel_facts";
import { fields, list, num, text } from "./readers";

/** How figures of one work-item are to be read: the compiler says. */
export type Bound = "exact" | "at most" | "at least" | "roughly";

export interface Work {
  /** Floating-point operations of one work-item. */
  readonly operations: number;
  /** Bytes of global memory of one work-item, both ways. */
  readonly bytes: number;
  readonly bound: Bound;
  /** Lines of loops whose turns the compiler does not know. */
  readonly openLoops: readonly number[];
  readonly source: "compiler" | "checked launch";
}

const BOUNDS: Readonly<Record<string, Bound>> = {
  exact: "exact",
  at_most: "at most",
  at_least: "at least",
  rough: "roughly",
};

/** What is known of a kernel: the compiler's count where it is exact, a checked launch's where there was one, the compiler's bound otherwise. */
export function readWork(compiled: unknown, counted: unknown): Work | null {
  const source = fields(compiled);
  const bound = BOUNDS[text(source["bound"])];
  const fromCompiler: Work | null =
    bound === undefined
      ? null
      : {
          operations: num(source["operations"]),
          bytes: num(source["bytes"]),
          bound,
          openLoops: list(source["open_loops"]).map(num),
          source: "compiler",
        };
  if (bound === "exact") return fromCompiler;
  const launch = fields(counted);
  const items = num(launch["work_items"]);
  if (!(items > 0)) return fromCompiler;
  return {
    operations: num(launch["operations"]) / items,
    bytes: num(launch["bytes"]) / items,
    bound: "exact",
    openLoops: [],
    source: "checked launch",
  };
}

/** What a cache, or the memory, brings at most. */
export interface CacheRoof {
  readonly name: string;
  readonly bytesPerSecond: number;
}

export interface Roofs {
  /** Of data that stays in a cache, the fastest first. */
  readonly caches: readonly CacheRoof[];
  readonly flopsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly source: string;
  /** Fastest that was seen here, where the device's own figure is not known. */
  readonly isOnlySeen: boolean;
}

/** A kernel or a function of a native library where its figures put it. */
export interface Dot {
  readonly name: string;
  readonly core: string;
  /** Floating-point operations for each byte; 0 for what only moves data. */
  readonly intensity: number;
  readonly flopsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly loadRatio: number;
  readonly bound: Bound;
}

export interface Placed {
  readonly dot: Dot | null;
  /** Where the figures come from; or why there are none, and what to do. */
  readonly remark: string;
}

const CHECK = "launch it once with checked=True on the CPU, and it is counted";

/** Puts a kernel in its place. `workItems` are those of its newest launch, `load` the share of time that it takes. */
export function placeKernel(facts: KernelFacts, meanSeconds: number, workItems: number, load: number): Placed {
  const { work } = facts;
  if (facts.isChecked) return { dot: null, remark: "checked: it runs item by item" };
  if (work === null)
    return { dot: null, remark: "not counted: another compiler made its code, or its process runs another version" };
  if (!(meanSeconds > 0)) return { dot: null, remark: "not launched yet, or no launch was timed" };
  if (!(workItems > 0)) return { dot: null, remark: "waits for its next launch, which tells its work-items" };
  if (!(work.operations > 0) && !(work.bytes > 0)) {
    return { dot: null, remark: "neither floating-point operations nor global memory" };
  }
  return {
    dot: {
      name: facts.name,
      core: facts.core,
      intensity: work.operations / work.bytes,
      flopsPerSecond: (work.operations * workItems) / meanSeconds,
      bytesPerSecond: (work.bytes * workItems) / meanSeconds,
      loadRatio: load,
      bound: work.bound,
    },
    remark: remarkOf(work),
  };
}

function remarkOf(work: Work): string {
  if (work.source === "checked launch") return "counted by a checked launch";
  const lines = work.openLoops.join(", ");
  const loops = `one turn of the loop${work.openLoops.length > 1 ? "s" : ""} at line ${lines}`;
  switch (work.bound) {
    case "exact":
      return "counted by the compiler";
    case "at most":
      return `the costlier side of each branch; ${CHECK}`;
    case "at least":
      return `${loops}; ${CHECK}`;
    case "roughly":
      return `${loops}, the costlier side of each branch; ${CHECK}`;
  }
}

/** Functions of native libraries whose callers know from the operands what is computed. */
export function placeBoundary(boundary: Boundary): Placed {
  const { operations, bytes, seconds } = boundary;
  if (!(operations > 0 && bytes > 0 && seconds > 0)) return { dot: null, remark: "" };
  return {
    dot: {
      name: boundary.name,
      core: "matrix",
      intensity: operations / bytes,
      flopsPerSecond: operations / seconds,
      bytesPerSecond: bytes / seconds,
      loadRatio: 0,
      bound: "exact",
    },
    remark: "known from its operands, each byte once; mean of all calls",
  };
}

/** The roofs: what the device can do, or dashed what was seen. */
export function roofsOf(
  peaks:
    | {
        readonly flops: number;
        readonly bytes: number;
        readonly source: string;
        readonly caches?: readonly CacheRoof[];
      }
    | undefined,
  dots: readonly Dot[],
): Roofs {
  if (peaks !== undefined && peaks.flops > 0 && peaks.bytes > 0) {
    return {
      flopsPerSecond: peaks.flops,
      bytesPerSecond: peaks.bytes,
      caches: peaks.caches ?? [],
      source: peaks.source,
      isOnlySeen: false,
    };
  }
  const most = (values: number[]): number => Math.max(...values.filter((value) => value > 0), Number.NEGATIVE_INFINITY);
  return {
    flopsPerSecond: most(dots.map((dot) => dot.flopsPerSecond)),
    bytesPerSecond: most(dots.map((dot) => dot.bytesPerSecond)),
    caches: [],
    source: peaks?.source ?? "",
    isOnlySeen: true,
  };
}

/**
 * The roof of memory that a dot is held against: that of the device's memory, or, where the kernel's data came faster than that, of the
 * slowest cache that could have brought them. Nothing brings them faster than the fastest one.
 */
export function memoryRoof(dot: Dot, roofs: Roofs): CacheRoof {
  const slowestFirst = [{ name: "memory", bytesPerSecond: roofs.bytesPerSecond }, ...[...roofs.caches].reverse()];
  const fitting = slowestFirst.find((roof) => dot.bytesPerSecond <= roof.bytesPerSecond);
  return fitting ?? (slowestFirst[slowestFirst.length - 1] as CacheRoof);
}

/** Speed over what the lower of the two roofs allows at this place; NaN below roofs that were only seen. */
export function shareOfRoof(dot: Dot, roofs: Roofs): number {
  if (roofs.isOnlySeen) return Number.NaN;
  return Math.max(
    dot.flopsPerSecond / roofs.flopsPerSecond,
    dot.bytesPerSecond / memoryRoof(dot, roofs).bytesPerSecond,
  );
}
