/** What processes count of their kernels: exact, where launches as they arrive are a sample. */

import { type Fields, num, rows, text } from "./readers";

/** What tells a kernel from all others: several of one name differ in their ids. */
export interface KernelIdentity {
  readonly pid: number;
  readonly device: string;
  readonly name: string;
  readonly id: string;
}

export interface KernelSums extends KernelIdentity {
  readonly key: string;
  readonly core: string;
  /** All launches since the process began, and those of them that were timed. */
  readonly calls: number;
  readonly timedCalls: number;
  /** Time of all of them; those that were not timed are taken to have lasted as long as those that were. */
  readonly seconds: number;
  readonly isEstimated: boolean;
  /** Over the last second. */
  readonly callsPerSecond: number;
  readonly busyRatio: number;
}

/** Digits of an id that are shown: enough to tell the kernels of one name apart. */
const SHOWN_ID_DIGITS = 8;

export function kernelKey(kernel: KernelIdentity): string {
  return `${kernel.pid} ${kernel.device} ${kernel.id} ${kernel.name}`;
}

/** Of a row that tells of a kernel, whichever event it came with. */
export function readIdentity(source: Fields): KernelIdentity {
  return {
    pid: num(source["pid"]),
    device: text(source["device"]),
    name: text(source["name"], "?"),
    id: text(source["id"]),
  };
}

/** The kernels of a `profile_update`, by key. */
export function readKernelSums(kernels: unknown): ReadonlyMap<string, KernelSums> {
  const found = rows(kernels).map((source): KernelSums => {
    const identity = readIdentity(source);
    const [calls, timedCalls] = [num(source["calls"]), num(source["timed_calls"])];
    return {
      ...identity,
      key: kernelKey(identity),
      core: text(source["core"]),
      calls,
      timedCalls,
      seconds: num(source["seconds"]),
      isEstimated: timedCalls < calls,
      callsPerSecond: num(source["calls_per_second"]),
      busyRatio: num(source["busy_ratio"]),
    };
  });
  return new Map(found.map((sums) => [sums.key, sums]));
}

/**
 * What each kernel is called on the page, by key: its name; where several of a process and device have the same, its signature if that is known
 * and nobody else's, otherwise its name with a part of its id.
 */
export function kernelTitles(kernels: Iterable<KernelIdentity & { readonly signature?: string }>): Map<string, string> {
  const all = [...kernels];
  const count = (texts: string[]): Map<string, number> =>
    texts.reduce((sums, one) => sums.set(one, (sums.get(one) ?? 0) + 1), new Map<string, number>());
  const owner = (kernel: KernelIdentity): string => `${kernel.pid} ${kernel.device}`;
  const names = count(all.map((kernel) => `${owner(kernel)} ${kernel.name}`));
  const signatures = count(all.map((kernel) => `${owner(kernel)} ${kernel.signature ?? ""}`));
  return new Map(
    all.map((kernel) => {
      const { name, id, signature = "" } = kernel;
      const withId = id === "" ? name : `${name} [${id.slice(0, SHOWN_ID_DIGITS)}]`;
      const isShared = (names.get(`${owner(kernel)} ${name}`) ?? 0) > 1;
      const isTelling = signature !== "" && signatures.get(`${owner(kernel)} ${signature}`) === 1;
      return [kernelKey(kernel), !isShared ? name : isTelling ? signature : withId];
    }),
  );
}
