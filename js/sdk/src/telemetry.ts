/** Telemetry of a client: samples of cores, frames, and what happens; all subscriptions are renewed after a reconnect. */

import type { Channel } from "./channel.js";
import type { Payload } from "./codec.js";
import type { AmdgpuError } from "./error_base.js";
import { decodeFrame, type Frame, type FrameSchema, parseFrameSchema } from "./frames.js";
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
import type { ChannelSocket } from "./socket.js";
import { notify } from "./timers.js";
import type { CoreType, KernelInfo, TelemetryData } from "./types.js";

const TOPIC = "gpu:telemetry";

/** Things that happen, in batches; the names are those of the channel's events. */
export type TelemetryEvent = "kernel_launched" | "profile_update" | "neural_update" | "process_update";

type SampleListener = (data: TelemetryData) => void;
type FrameListener = (frame: Frame, schema: FrameSchema) => void;

interface DeviceSubscription {
  readonly channel: Channel;
  readonly listeners: Map<CoreType, Set<SampleListener>>;
  readonly stop: readonly (() => void)[];
}

/** Part of `AMDGPUClient`. */
export class Telemetry {
  readonly #socket: ChannelSocket;
  readonly #devices = new Map<number, DeviceSubscription>();
  readonly #frameListeners = new Set<FrameListener>();
  #schema: FrameSchema | null = null;
  #stopFrames: readonly (() => void)[] = [];
  #users = 0;

  constructor(socket: ChannelSocket) {
    this.#socket = socket;
  }

  /** Samples of one core of a device; resolves when the server has confirmed. */
  async subscribe(deviceId: number, coreType: CoreType, listener: SampleListener): Promise<void> {
    const subscription = this.#devices.get(deviceId) ?? this.#watch(deviceId);
    const listeners = subscription.listeners.get(coreType) ?? new Set();
    subscription.listeners.set(coreType, listeners.add(listener));
    try {
      await subscription.channel.join();
      await subscription.channel.push("subscribe", { coreType });
    } catch (error) {
      listeners.delete(listener);
      throw error;
    }
  }

  /** No more samples of this core of this device, for no listener. */
  async unsubscribe(deviceId: number, coreType: CoreType): Promise<void> {
    const subscription = this.#devices.get(deviceId);
    if (subscription === undefined || !subscription.listeners.delete(coreType)) {
      return;
    }
    if (subscription.channel.state === "joined") {
      await subscription.channel.push("unsubscribe", { coreType });
    }
    if (subscription.listeners.size === 0 && this.#devices.delete(deviceId)) {
      for (const stop of subscription.stop) {
        stop();
      }
      await subscription.channel.leave();
    }
  }

  /** Every frame of all devices; returns the function that ends it. */
  async subscribeFrames(listener: FrameListener): Promise<() => void> {
    const channel = this.#socket.channel(TOPIC);
    if (this.#frameListeners.size === 0) {
      this.#stopFrames = [
        channel.onJoin((response) => this.#readSchema(response)),
        channel.on("frame", (payload) => this.#readFrame(payload)),
      ];
    }
    this.#frameListeners.add(listener);
    const release = await this.#use(channel);
    if (this.#schema === null) {
      this.#readSchema(await channel.join());
    }
    return () => {
      if (this.#frameListeners.delete(listener) && this.#frameListeners.size === 0) {
        for (const stop of this.#stopFrames) {
          stop();
        }
        this.#schema = null;
      }
      release();
    };
  }

  /** Everything of one kind that happens; returns the function that ends it. */
  async subscribeEvents(event: TelemetryEvent, listener: (payload: JsonObject) => void): Promise<() => void> {
    const channel = this.#socket.channel(TOPIC);
    const stop = channel.on(event, (payload) => isObject(payload) && listener(payload));
    const release = await this.#use(channel);
    return () => {
      stop();
      release();
    };
  }

  /** Join the common topic for one more user, and leave it with the last. */
  async #use(channel: Channel): Promise<() => void> {
    this.#users += 1;
    let isReleased = false;
    const release = () => {
      if (!isReleased) {
        isReleased = true;
        this.#users -= 1;
        if (this.#users === 0) {
          channel.leave().catch((error: AmdgpuError) => this.#socket.report(error));
        }
      }
    };
    try {
      await channel.join();
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  #watch(deviceId: number): DeviceSubscription {
    const channel = this.#socket.channel(`${TOPIC}:${deviceId}`);
    const listeners = new Map<CoreType, Set<SampleListener>>();
    const stop = [
      channel.on("telemetry_update", (payload) => this.#deliver(deviceId, listeners, payload)),
      channel.onJoin((_response, isAgain) => {
        for (const coreType of isAgain ? listeners.keys() : []) {
          channel.push("subscribe", { coreType }).catch((error: AmdgpuError) => this.#socket.report(error));
        }
      }),
    ];
    const subscription = { channel, listeners, stop };
    this.#devices.set(deviceId, subscription);
    return subscription;
  }

  #deliver(deviceId: number, listeners: ReadonlyMap<CoreType, ReadonlySet<SampleListener>>, payload: Payload): void {
    let data: TelemetryData;
    try {
      data = readTelemetry(payload, deviceId);
    } catch (error) {
      this.#socket.report(error as InvalidMessageError);
      return;
    }
    for (const listener of [...(listeners.get(data.coreType) ?? [])]) {
      notify(listener, data);
    }
  }

  #readSchema(response: Payload): void {
    try {
      this.#schema = parseFrameSchema(readObject(response, "answer to joining the frames"));
    } catch (error) {
      this.#schema = null;
      this.#socket.report(error as InvalidMessageError);
    }
  }

  #readFrame(payload: Payload): void {
    const schema = this.#schema;
    if (schema === null) {
      return;
    }
    let frame: Frame;
    try {
      if (!(payload instanceof ArrayBuffer)) {
        throw new InvalidMessageError("a frame is not binary");
      }
      frame = decodeFrame(schema, payload);
    } catch (error) {
      this.#socket.report(error as InvalidMessageError);
      return;
    }
    for (const listener of [...this.#frameListeners]) {
      notify(listener, frame, schema);
    }
  }
}

/** A `telemetry_update`. Throws `InvalidMessageError`. */
export function readTelemetry(payload: Payload, deviceId: number): TelemetryData {
  const data = readObject(payload, "telemetry_update");
  return {
    timestamp: readNumber(data["timestamp"], "timestamp"),
    deviceId: numberOrNull(data["deviceId"]) ?? deviceId,
    coreType: readString(data["coreType"], "coreType") as CoreType,
    utilization: numberOrNull(data["utilization"]),
    memoryUsage: numberOrNull(data["memoryUsage"]),
    temperature: numberOrNull(data["temperature"]),
    powerConsumption: numberOrNull(data["powerConsumption"]),
    activeKernels: readList(data["activeKernels"] ?? [], "activeKernels").map(readKernel),
  };
}

function readKernel(value: unknown): KernelInfo {
  const kernel = readObject(value, "a kernel of telemetry_update");
  const name = readString(kernel["name"], "name of a kernel");
  return {
    id: stringOr(kernel["id"], name),
    name,
    executionTime: numberOrNull(kernel["executionTime"]),
    occupancy: numberOrNull(kernel["occupancy"]),
    progress: numberOrNull(kernel["progress"]),
  };
}
