/** What client and server say to each other; names are those of the requirement documents, and quantities carry their units. */

import type { Tensor } from "./arrays.js";
import type { Precision } from "./generated/dtypes.js";

/** What a device can be used for. */
export enum CoreType {
  AURA = "aura",
  MATRIX = "matrix",
  NEUROMORPHIC = "neuromorphic",
}

export interface DeviceInfo {
  /** Index in `listDevices`; 0 is the best device. */
  id: number;
  name: string;
  computeUnits: number;
  /** Thousand million bytes. */
  memoryGB: number;
  coreTypes: CoreType[];
  /** As the framework calls it: `hip:0`, `cuda:0`, `cpu:0`. */
  device: string;
  /** hip, cuda or cpu. */
  kind: string;
  /** For example gfx1100, sm_90, x86_64. */
  architecture: string;
}

/** What one core of a device did lately; null is what is not known. */
export interface TelemetryData {
  /** Milliseconds since 1970. */
  timestamp: number;
  deviceId: number;
  coreType: CoreType;
  /** Share of the time that the core was busy, 0 to 1. */
  utilization: number | null;
  /** Bytes in use on the device. */
  memoryUsage: number | null;
  /** Degrees Celsius. */
  temperature: number | null;
  /** Watts. */
  powerConsumption: number | null;
  activeKernels: KernelInfo[];
}

export interface KernelInfo {
  id: string;
  name: string;
  /** Seconds. */
  executionTime: number | null;
  /** 0 to 1. */
  occupancy: number | null;
  /** 0 to 1. */
  progress: number | null;
}

export type { Precision };

export interface CompileOptions {
  /** Index or name of the device; left out, device 0. */
  readonly deviceId?: number | string;
  /** Which kernel of the source, where there are several. */
  readonly name?: string;
  readonly optimizationLevel?: "none" | "low" | "high" | "max";
  readonly fastMath?: boolean;
  /** Macros of the source. */
  readonly defines?: Readonly<Record<string, string>>;
  /** Find accesses out of bounds and races, on the CPU device. */
  readonly checked?: boolean;
}

export interface ExecuteOptions {
  /** Blocks; left out, as many as the largest array needs. */
  readonly grid?: number | readonly number[];
  /** Threads of a block. */
  readonly block?: number | readonly number[];
  readonly sharedBytes?: number;
  /** How long the kernel may run on the server. */
  readonly timeoutMs?: number;
  readonly checked?: boolean;
}

/** What the server makes itself, so that nothing is sent for an array that the kernel only writes. */
export interface Zeros {
  readonly zeros: readonly number[];
  readonly dtype: Tensor["dtype"];
}

/** An array is sent as it is; numbers become what the kernel's parameter is. */
export type KernelArgument = Tensor | Zeros | number | bigint | boolean | readonly number[];

export interface KernelResult {
  /** What the kernel wrote; null if it has no array to write to. The first, where it wrote several. */
  readonly output: Tensor | null;
  readonly outputs: readonly KernelOutput[];
  readonly executionTimeSeconds: number | null;
  readonly memoryUsageBytes: number | null;
}

export interface KernelOutput {
  /** Which argument it is, counted from 0. */
  readonly argument: number;
  readonly array: Tensor;
}

export interface MultiplyOptions {
  readonly deviceId?: number | string;
  /** What it computes in. Unless it is said, "fp64" where a matrix is float64 or has integers of 32 or 64 bits, as plain numbers are; else "fp32". */
  readonly precision?: Precision;
  /** One number for each column, added to every row of the product. */
  readonly bias?: Tensor;
  /** Taken of the sum: relu, gelu, silu, tanh, sigmoid … */
  readonly activation?: string;
}

export interface NetworkOptions {
  readonly deviceId?: number | string;
  /** Of the last layer; left out, none. */
  readonly outputActivation?: string;
  /** Weights are drawn from this; the same seed, the same weights. */
  readonly seed?: number;
  /** One matrix for each layer after the first, inputs x outputs, instead of drawn ones. */
  readonly weights?: readonly Tensor[];
  readonly biases?: readonly Tensor[];
}
