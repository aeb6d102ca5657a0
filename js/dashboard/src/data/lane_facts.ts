/** Checked launches as `lanes:list` describes them. */

import { fields, num, numbers, numOr, rows, text } from "./readers";

export interface LaneLaunch {
  readonly pid: number;
  readonly kernel: string;
  readonly lanes: number;
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly timeNs: number;
  /** The kernel's text where the process gave it. */
  readonly sourceLines: readonly string[];
  readonly rows: readonly LaneRow[];
}

export interface LaneRow {
  readonly line: number;
  readonly kind: string;
  /** Accesses of each lane. */
  readonly counts: readonly number[];
}

export function readLanes(answer: unknown, pid: number): LaneLaunch[] {
  const source = fields(answer);
  const launches = Array.isArray(source["launches"]) ? source["launches"] : source["lanes"];
  return rows(launches).map((launch) => ({
    pid,
    kernel: text(launch["kernel"], "?"),
    lanes: numOr(launch["lanes"], 32),
    grid: numbers(launch["grid"]),
    block: numbers(launch["block"]),
    timeNs: num(launch["time_ns"]),
    sourceLines: text(launch["source"]).split("\n"),
    rows: rows(launch["rows"]).map((row) => ({
      line: num(row["line"]),
      kind: text(row["kind"]),
      counts: numbers(row["counts"]),
    })),
  }));
}
