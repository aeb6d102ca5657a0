/** Devices and processes as `device:list` and `process:list` describe them. */

import { type Fields, fields, first, list, num, numbers, rows, text } from "./readers";

export interface DeviceFacts {
  /** Address, `cpu:0`. */
  readonly device: string;
  /** What the vendor calls it. */
  readonly product: string;
  readonly kind: string;
  readonly architecture: string;
  readonly computeUnits: number;
  readonly warpSize: number;
  readonly memoryBytes: number;
  readonly coreCounts: ReadonlyMap<string, number>;
  /** Everything else, for the table of facts. */
  readonly others: readonly (readonly [string, string])[];
}

const SHOWN_ELSEWHERE = new Set([
  "id",
  "name",
  "device",
  "kind",
  "architecture",
  "arch",
  "computeUnits",
  "warpSize",
  "memoryGB",
  "memoryBytes",
  "totalMemoryBytes",
  "coreTypes",
  "coreCounts",
  "details",
  "description",
]);

export function readDevices(answer: unknown): DeviceFacts[] {
  return rows(fields(answer)["devices"]).map((source) => {
    const details = fields(source["details"]);
    const everything: Fields = { ...details, ...source };
    return {
      device: text(first(source, "device", "name"), "?"),
      product: text(first(source, "description", "product_name", "name"), "?"),
      kind: text(source["kind"]),
      architecture: text(first(source, "architecture", "arch")),
      computeUnits: num(first(source, "computeUnits", "compute_units")),
      warpSize: num(first(source, "warpSize", "warp_size")),
      memoryBytes: num(first(source, "totalMemoryBytes", "memoryBytes", "total_memory_bytes")),
      coreCounts: new Map(
        Object.entries(fields(first(source, "coreCounts", "core_counts"))).map(([core, value]) => [core, num(value)]),
      ),
      others: Object.entries(everything)
        .filter(([key, value]) => !SHOWN_ELSEWHERE.has(key) && (typeof value === "string" || typeof value === "number"))
        .map(([key, value]) => [words(key), text(value)] as const),
    };
  });
}

function words(key: string): string {
  return key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
}

export interface ProcessFacts {
  readonly pid: number;
  readonly command: string;
  readonly startedNs: number;
  readonly version: string;
}

export function readProcesses(answer: unknown): ProcessFacts[] {
  return rows(fields(answer)["processes"])
    .map((source) => ({
      pid: num(source["pid"]),
      command: Array.isArray(source["command"])
        ? (source["command"] as unknown[]).map((part) => text(part)).join(" ")
        : text(source["command"], "?"),
      startedNs: num(first(source, "started_ns", "started")),
      version: text(source["version"]),
    }))
    .filter((process) => Number.isFinite(process.pid));
}

/** The last part of a command's program and what follows, short enough for a table. */
export function shortCommand(command: string): string {
  const [program = "", ...rest] = command.split(" ");
  return [program.split("/").at(-1) ?? program, ...rest.map((part) => part.split("/").at(-1) ?? part)].join(" ");
}

/** A boundary between languages: how often it was crossed and how long the other side took. */
export interface Boundary {
  readonly from: string;
  readonly to: string;
  readonly name: string;
  readonly pid: number;
  readonly calls: number;
  readonly seconds: number;
  readonly medianSeconds: number;
  readonly slowestSeconds: number;
  /** Of all calls, where the caller knows them from its operands; NaN otherwise. */
  readonly operations: number;
  readonly bytes: number;
}

export function readBoundaries(value: unknown): Boundary[] {
  return rows(value).map((source) => ({
    from: text(source["from"], "?"),
    to: text(source["to"], "?"),
    name: text(source["name"], "?"),
    pid: num(source["pid"]),
    calls: num(first(source, "count", "calls")),
    seconds: num(first(source, "total_seconds", "seconds")),
    medianSeconds: num(first(source, "p50_seconds", "median_seconds")),
    slowestSeconds: num(first(source, "max_seconds", "p99_seconds")),
    operations: num(source["operations"]) || Number.NaN,
    bytes: num(source["bytes"]) || Number.NaN,
  }));
}

/** A call across a boundary inside of others, of all processes. */
export interface Crossing {
  readonly from: string;
  readonly to: string;
  readonly name: string;
  /** Place in the list of the call that it was made inside of, which comes before it; -1 for none. */
  readonly parent: number;
  /** Calls that came back, and their time. */
  readonly calls: number;
  readonly seconds: number;
}

export function readCrossings(value: unknown): Crossing[] {
  return rows(value).map((source, place) => {
    const parent = num(source["parent"]);
    return {
      from: text(source["from"], "?"),
      to: text(source["to"], "?"),
      name: text(source["name"], "?"),
      parent: parent >= 0 && parent < place ? parent : -1,
      calls: num(source["count"]) || 0,
      seconds: num(source["total_seconds"]) || 0,
    };
  });
}

/** A network that runs, as far as it tells. */
export interface NetworkFacts {
  readonly pid: number;
  readonly name: string;
  readonly kind: string;
  readonly device: string;
  readonly steps: number;
  readonly modelSeconds: number;
  readonly realtimeFactor: number;
  readonly populations: readonly Population[];
  readonly raster: Raster;
  readonly weights: Weights | null;
  readonly curves: readonly Curve[];
}

export interface Population {
  readonly name: string;
  readonly size: number;
  readonly rateHz: number;
  readonly spikes: number;
}

export interface Raster {
  readonly timesSeconds: readonly number[];
  readonly populations: readonly number[];
  readonly neurons: readonly number[];
  /** Neurons of each population that are recorded. */
  readonly neuronsShown: readonly number[];
  readonly leftOut: number;
}

export interface Weights {
  readonly connection: string;
  /** NaN where there is no synapse. */
  readonly values: readonly (readonly number[])[];
  readonly ofRows: number;
  readonly ofColumns: number;
}

export interface Curve {
  readonly name: string;
  readonly epochs: readonly number[];
  readonly values: readonly number[];
}

export function readNetworks(value: unknown, pid = Number.NaN): NetworkFacts[] {
  return rows(value).map((source) => readNetwork(source, pid));
}

function readNetwork(source: Fields, pid: number): NetworkFacts {
  const raster = fields(source["raster"]);
  const given = num(source["pid"]);
  return {
    pid: Number.isNaN(given) ? pid : given,
    name: text(source["name"], "network"),
    kind: text(source["kind"]),
    device: text(source["device"]),
    steps: num(source["steps"]),
    modelSeconds: num(source["time_seconds"]),
    realtimeFactor: num(source["realtime_factor"]),
    populations: rows(source["populations"]).map((one, index) => ({
      name: text(one["name"], `population ${index}`),
      size: num(one["size"]),
      rateHz: num(one["rate_hz"]),
      spikes: num(one["spikes"]),
    })),
    raster: {
      timesSeconds: numbers(raster["times_s"]),
      populations: numbers(raster["population"]),
      neurons: numbers(raster["neuron"]),
      neuronsShown: numbers(raster["neurons_shown"]),
      leftOut: num(raster["left_out"]),
    },
    weights: readWeights(fields(source["weights"])),
    curves: readCurves(fields(source["learning_curve"])),
  };
}

function readWeights(source: Fields): Weights | null {
  const values = list(source["values"]).map(numbers);
  if (values.length === 0) return null;
  return {
    connection: text(source["connection"]),
    values,
    ofRows: num(source["of_rows"]),
    ofColumns: num(source["of_columns"]),
  };
}

/** Loss and accuracy over epochs; a curve without any value is left out. */
function readCurves(source: Fields): Curve[] {
  const epochs = numbers(source["epoch"]);
  return ["loss", "accuracy"]
    .map((name) => ({ name, epochs, values: numbers(source[name]) }))
    .filter((curve) => curve.values.some((value) => !Number.isNaN(value)));
}
