/** The client of a server: devices, kernels, matrices, networks, telemetry. */

import { Tensor } from "./arrays.js";
import type { Channel } from "./channel.js";
import type { Frame, FrameSchema } from "./frames.js";
import { InvalidMessageError } from "./generated/errors.js";
import {
  isObject,
  type JsonObject,
  numberOrNull,
  readList,
  readNumber,
  readObject,
  readString,
  stringOr,
} from "./json.js";
import { type Packable, pack, type Unpacked, unpack } from "./packing.js";
import { Permits } from "./permits.js";
import { ChannelSocket, type SocketOptions, type SocketState } from "./socket.js";
import { Telemetry, type TelemetryEvent } from "./telemetry.js";
import type {
  CompileOptions,
  CoreType,
  DeviceInfo,
  ExecuteOptions,
  KernelArgument,
  KernelOutput,
  KernelResult,
  MultiplyOptions,
  NetworkOptions,
  TelemetryData,
} from "./types.js";

/** Where `amdgpu serve` listens unless it is told otherwise. */
export const DEFAULT_URL = "ws://localhost:4000/socket";
/** Compiling and running take longer than other answers. */
const REQUEST_TIMEOUT_MS = 30_000;
/** A server takes so many calls of one connection at a time and refuses more (`calls_in_flight` of its limits). */
const MAX_CALLS = 8;

export interface ClientOptions extends SocketOptions {
  /** How long calls of the server may take; connecting and joining have `timeoutMs`. */
  readonly requestTimeoutMs?: number;
  /** Calls that are sent before one is answered; more wait for their turn, and their time-out begins with it. */
  readonly maxCalls?: number;
}

type Request = { readonly [key: string]: Packable | undefined };
type Answer = { [key: string]: Unpacked };

/**
 * A connection to `amdgpu serve`.
 *
 * Every call returns a promise, which rejects with a class of the error catalogue: its `code`, `kind` and `hint` are those that every
 * language of the framework uses. A connection that breaks comes back by itself; calls that were under way reject with
 * `ConnectionFailedError`, subscriptions go on.
 */
export class AMDGPUClient {
  readonly #socket: ChannelSocket;
  readonly #api: Channel;
  readonly #telemetry: Telemetry;
  readonly #timeoutMs: number;
  readonly #permits: Permits;
  #joins = 0;

  constructor(serverUrl: string = DEFAULT_URL, options: ClientOptions = {}) {
    this.#socket = new ChannelSocket(serverUrl, options);
    this.#api = this.#socket.channel("gpu:api");
    this.#api.onJoin(() => {
      this.#joins += 1;
    });
    this.#telemetry = new Telemetry(this.#socket);
    this.#timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    this.#permits = new Permits(Math.max(1, options.maxCalls ?? MAX_CALLS));
  }

  /** The channels beneath, for topics and events that this class has no function for. */
  get socket(): ChannelSocket {
    return this.#socket;
  }

  get state(): SocketState {
    return this.#socket.state;
  }

  /** Grows when the connection was made anew: what belonged to the old one may be gone on the server. */
  get connectionCount(): number {
    return this.#joins;
  }

  /** Open the connection. Rejects with `ConnectionFailedError` or `NotPermittedError`. */
  async connect(): Promise<void> {
    await this.#socket.connect();
    await this.#api.join();
  }

  /** Close the connection; calls that are under way reject with `ClosedError`. */
  close(): void {
    this.#socket.close();
  }

  /** The devices of the server, the best one first. */
  async listDevices(): Promise<DeviceInfo[]> {
    const answer = await this.request("device:list", {});
    return readList(answer["devices"], "devices").map(readDevice);
  }

  /** Open a device. Rejects with `DeviceNotFoundError` or `UnknownCoreTypeError`. */
  async initializeDevice(deviceId: number, coreTypes: CoreType[]): Promise<DeviceInfo> {
    const answer = await this.request("device:initialize", { deviceId, coreTypes });
    return readDevice(answer["deviceInfo"]);
  }

  /**
   * Compile a kernel of HIP-C; the answer is its handle for `executeKernel`.
   *
   * Rejects with `CompileError`, whose message shows the lines of the source.
   */
  async compileKernel(coreType: CoreType, source: string, options: CompileOptions = {}): Promise<string> {
    const answer = await this.request("kernel:compile", { coreType, source, options: { ...options } });
    return readString(answer["kernelHandle"], "kernelHandle");
  }

  /**
   * Run a kernel and wait for it. The server must have been started with `--allow-execute`.
   *
   * Arrays travel as bytes. The server works on copies: what the kernel wrote is in the result, `args` stay as they are.
   */
  async executeKernel(
    kernelHandle: string,
    args: readonly KernelArgument[],
    options: ExecuteOptions = {},
  ): Promise<KernelResult> {
    const request = { kernelHandle, args: args.map(readArgument), options: { ...options } };
    const timeoutMs = Math.max(this.#timeoutMs, (options.timeoutMs ?? 0) + this.#socket.timeoutMs);
    const answer = await this.requestArrays("kernel:execute", request, timeoutMs);
    return readResult(answer["result"]);
  }

  /** The product of two matrices (or stacks of them) on a device of the server; nothing has to be allowed for it. */
  async matrixMultiply(a: Tensor, b: Tensor, options: MultiplyOptions = {}): Promise<Tensor> {
    const answer = await this.requestArrays("matrix:multiply", { a, b, ...options }, this.#timeoutMs);
    return readTensor(answer["output"], "output of matrix:multiply");
  }

  /** Make a layered network on the server; the answer is its handle for `forwardNetwork`. */
  async createNetwork(
    architecture: readonly number[],
    activation: string,
    options: NetworkOptions = {},
  ): Promise<string> {
    const answer = await this.requestArrays(
      "network:create",
      { architecture, activation, ...options },
      this.#timeoutMs,
    );
    return stringOr(answer["networkHandle"], "");
  }

  /** The network's answer to one input or to rows of inputs. Rejects with `InvalidHandleError` when the server knows it no more. */
  async forwardNetwork(networkHandle: string, input: Tensor): Promise<Tensor> {
    const answer = await this.requestArrays("network:forward", { networkHandle, input }, this.#timeoutMs);
    return readTensor(answer["output"], "output of network:forward");
  }

  /** Let the server forget a network. */
  async closeNetwork(networkHandle: string): Promise<void> {
    await this.request("network:close", { networkHandle });
  }

  /** Be told of samples of a core of a device, also after reconnects; resolves when the server has confirmed. */
  subscribeTelemetry(deviceId: number, coreType: CoreType, callback: (data: TelemetryData) => void): Promise<void> {
    return this.#telemetry.subscribe(deviceId, coreType, callback);
  }

  /** No more samples of this core of this device. */
  unsubscribeTelemetry(deviceId: number, coreType: CoreType): Promise<void> {
    return this.#telemetry.unsubscribe(deviceId, coreType);
  }

  /** Be given every telemetry frame of all devices; resolves with the function that ends it. */
  subscribeFrames(callback: (frame: Frame, schema: FrameSchema) => void): Promise<() => void> {
    return this.#telemetry.subscribeFrames(callback);
  }

  /** Be told of launches, profiles, networks or processes as they come; resolves with the function that ends it. */
  subscribeEvents(event: TelemetryEvent, callback: (payload: JsonObject) => void): Promise<() => void> {
    return this.#telemetry.subscribeEvents(event, callback);
  }

  /** Any call of `gpu:api` that has no arrays. */
  async request(event: string, payload: JsonObject | object): Promise<JsonObject> {
    const plain = JSON.parse(JSON.stringify(payload)) as JsonObject;
    const answer = await this.#permits.run(() => this.#api.push(event, plain, { timeoutMs: this.#timeoutMs }));
    return readObject(answer, `answer to ${event}`);
  }

  /** Any call of `gpu:api` with arrays in it, or in its answer. */
  async requestArrays(event: string, request: Request, timeoutMs: number = this.#timeoutMs): Promise<Answer> {
    // Packed before it waits: the caller may go on with the arrays.
    const payload = pack(request);
    const answer = await this.#permits.run(() => this.#api.push(event, payload, { timeoutMs }));
    return answer instanceof ArrayBuffer ? unpack(answer) : answer;
  }
}

function readArgument(argument: KernelArgument): Packable {
  return typeof argument === "object" && "zeros" in argument
    ? { $zeros: { dtype: argument.dtype, shape: argument.zeros } }
    : argument;
}

function readDevice(value: unknown): DeviceInfo {
  const device = readObject(value, "a device");
  return {
    id: readNumber(device["id"], "id of a device"),
    name: readString(device["name"], "name of a device"),
    computeUnits: readNumber(device["computeUnits"], "computeUnits of a device"),
    memoryGB: readNumber(device["memoryGB"], "memoryGB of a device"),
    coreTypes: readList(device["coreTypes"], "coreTypes of a device").map(
      (name) => readString(name, "core type") as CoreType,
    ),
    device: readString(device["device"], "device of a device"),
    kind: stringOr(device["kind"], ""),
    architecture: stringOr(device["architecture"], ""),
  };
}

function readTensor(value: Unpacked | undefined, what: string): Tensor {
  if (value instanceof Tensor) {
    return value;
  }
  throw new InvalidMessageError(`the ${what} is not an array`);
}

function readResult(value: Unpacked | undefined): KernelResult {
  if (!isObject(value)) {
    throw new InvalidMessageError("the result of kernel:execute is not an object");
  }
  const result = value as unknown as Answer;
  const output = result["output"] ?? null;
  const arrays = output === null ? [] : Array.isArray(output) ? output : [output];
  const written = Array.isArray(result["written"]) ? result["written"] : [];
  const outputs: KernelOutput[] = arrays.map((array, index) => ({
    argument: numberOrNull(written[index]) ?? index,
    array: readTensor(array, `output ${index} of kernel:execute`),
  }));
  return {
    output: outputs[0]?.array ?? null,
    outputs,
    executionTimeSeconds: numberOrNull(result["executionTimeSeconds"]),
    memoryUsageBytes: numberOrNull(result["memoryUsageBytes"]),
  };
}
