/** Kernels as `kernel:list` and `kernel:details` describe them. */

import { bytes, nanoseconds, seconds } from "../format";
import type { KernelIdentity } from "./kernel_sums";
import { type Fields, fields, first, num, rows, text } from "./readers";
import { readWork, type Work } from "./work";

export interface KernelFacts extends KernelIdentity {
  readonly handle: string;
  readonly signature: string;
  readonly target: string;
  readonly language: string;
  readonly isChecked: boolean;
  readonly core: string;
  readonly calls: number;
  /** Of all launches; an estimate where only a sample of them was timed. */
  readonly totalSeconds: number;
  readonly isEstimated: boolean;
  readonly meanSeconds: number;
  readonly compileSeconds: number;
  readonly cacheAnswer: string;
  readonly registers: number;
  readonly sharedBytes: number;
  readonly scratchBytes: number;
  /** Share of the wavefronts that a compute unit can hold; NaN where the target has no such notion. */
  readonly occupancyRatio: number;
  readonly occupancyLimit: string;
  /** What a work-item computes and moves; null where nobody counted. */
  readonly work: Work | null;
}

export function readKernels(answer: unknown, pid: number): KernelFacts[] {
  return rows(fields(answer)["kernels"]).map((source) => ({ ...readKernel(source), pid }));
}

/** What follows the name of a kernel whose launches are checked, on the bus and on the page. */
export const CHECKED = " (checked)";

/** The kernel as the bus knows it. */
export function busIdentity(facts: KernelFacts): KernelIdentity {
  const { pid, device, name, id, isChecked } = facts;
  return { pid, device, name: isChecked ? name + CHECKED : name, id };
}

function readKernel(source: Fields): Omit<KernelFacts, "pid"> {
  const occupancy = readOccupancy(source["occupancy"]);
  return {
    handle: text(source["handle"]),
    id: text(source["id"]),
    name: text(source["name"], "?"),
    signature: text(source["signature"]),
    target: text(source["target"]),
    device: text(source["device"]),
    language: text(source["language"]),
    isChecked: source["is_checked"] === true,
    core: text(source["core"]),
    calls: num(source["calls"]),
    totalSeconds: num(source["seconds"]),
    isEstimated: source["calls_are_sampled"] === true,
    meanSeconds: num(source["mean_seconds"]),
    compileSeconds: num(source["compile_seconds"]),
    cacheAnswer: text(source["cache_answer"]),
    registers: num(first(source, "registers", "vector_registers")),
    sharedBytes: num(source["shared_bytes"]),
    scratchBytes: num(source["scratch_bytes"]),
    occupancyRatio: occupancy.ratio,
    occupancyLimit: occupancy.limit,
    work: readWork(source["work"], source["counted"]),
  };
}

function readOccupancy(value: unknown): { ratio: number; limit: string } {
  const source = fields(value);
  return {
    ratio: num(source["waves_per_unit"]) / num(source["max_waves_per_unit"]),
    limit: text(source["limited_by"]),
  };
}

export interface PassFacts {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  /** Names and values, for the line under the pass. */
  readonly metrics: readonly (readonly [string, string])[];
  readonly seconds: number;
  readonly transformations: number;
}

export interface KernelDetails {
  readonly name: string;
  readonly source: string;
  readonly passes: readonly PassFacts[];
  readonly llvm: string;
  readonly assembly: string;
  readonly resources: readonly (readonly [string, string])[];
  readonly options: readonly (readonly [string, string])[];
  readonly remark: string;
  readonly isRecomputed: boolean;
}

export function readKernelDetails(answer: unknown): KernelDetails {
  const outer = fields(answer);
  const source = outer["kernel"] === undefined ? outer : fields(outer["kernel"]);
  return {
    name: text(source["name"], "?"),
    source: text(source["source"]),
    passes: rows(source["passes"]).map((pass) => {
      const metrics = fields(pass["metrics"]);
      return {
        name: text(pass["name"], "?"),
        before: text(pass["before"]),
        after: text(first(pass, "after", "ir")),
        metrics: pairs(metrics),
        seconds: num(metrics["duration_ns"]) / 1e9,
        transformations: num(metrics["transformations"]),
      };
    }),
    llvm: text(source["llvm"]),
    assembly: text(source["assembly"]),
    resources: [...pairs(fields(source["resources"])), ...pairs(fields(source["occupancy"]), "occupancy: ")],
    options: pairs(fields(source["options"])),
    remark: text(source["remark"]),
    isRecomputed: source["recomputed"] === true,
  };
}

/** The plain fields of an object, names in words. */
function pairs(source: Fields, prefix = ""): (readonly [string, string])[] {
  return Object.entries(source)
    .filter(([, value]) => value !== null && typeof value !== "object" && value !== "")
    .filter(([key]) => key !== "name" || prefix !== "")
    .map(
      ([key, value]) =>
        [prefix + key.replace(/_(?:ns|seconds|bytes)$/, "").replaceAll("_", " "), shown(key, value)] as const,
    );
}

function shown(key: string, value: unknown): string {
  if (typeof value === "number") {
    if (key.endsWith("_ns")) return nanoseconds(value);
    if (key.endsWith("_seconds")) return seconds(value);
    if (key.endsWith("_bytes")) return bytes(value);
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : text(value);
}
