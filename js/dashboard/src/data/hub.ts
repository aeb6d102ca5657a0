/**
 * The page's one connection: joins the telemetry topic, keeps what arrives, and carries questions to `gpu:api`.
 *
 * Frames and launches go into stores that pages read when they paint; what changes rarely is a signal.
 */

import {
  type Channel,
  ChannelSocket,
  decodeFrame,
  type FrameSchema,
  type JsonObject,
  parseFrameSchema,
  type SocketState,
} from "@amdgpu-framework/sdk";

import { batch, signal } from "@preact/signals-core";
import { HISTORY_SECONDS } from "../state/timeline";
import { backfill } from "./backfill";
import {
  type Boundary,
  type Crossing,
  type DeviceFacts,
  type ProcessFacts,
  readBoundaries,
  readCrossings,
  readDevices,
  readProcesses,
} from "./facts";
import { FrameStore } from "./frame_store";
import { type KernelSums, readKernelSums } from "./kernel_sums";
import { Launches } from "./launches";
import { type Fields, fields, text } from "./readers";
import { withUnits } from "./schema";
import { forgetToken, keepToken, takeToken } from "./token";

export type Status =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "lost"; readonly message: string }
  | { readonly kind: "token"; readonly message: string }
  | { readonly kind: "error"; readonly message: string };

const HEALTH = "api/v1/health";
const CALL_TIMEOUT_MS = 15_000;
const RETRY_MS = 1000;
/** Frames stay away for this long before the page says so. */
const SILENCE_MS = 3000;

export class Hub {
  readonly status = signal<Status>({ kind: "connecting" });
  readonly schema = signal<FrameSchema | null>(null);
  readonly devices = signal<readonly DeviceFacts[]>([]);
  readonly processes = signal<readonly ProcessFacts[]>([]);
  readonly boundaries = signal<readonly Boundary[]>([]);
  readonly crossings = signal<readonly Crossing[]>([]);
  /** What processes count of their kernels, new twice a second. */
  readonly kernelSums = signal<ReadonlyMap<string, KernelSums>>(new Map());
  /** Grows whenever networks told that they went on. */
  readonly networkSteps = signal(0);
  readonly version = signal("");
  /** Whether frames come though the connection stands. */
  readonly isSilent = signal(false);
  store = new FrameStore(0, 1, 1);
  launches = new Launches();
  /** When the newest frame came, on the clock of `performance.now()`. */
  lastFrameMs = Number.NaN;
  private socket: ChannelSocket | undefined;
  private api: Channel | undefined;
  private damaged = 0;
  private filled: FrameStore | undefined;
  private canAsk = false;
  private readonly frameWatchers = new Set<() => void>();

  /** Frames and events that could not be read, since the page was opened. */
  get unreadable(): number {
    return this.damaged;
  }

  /** The newest time on the server's clock, in seconds. */
  get nowSeconds(): number {
    const newest = this.store.newestSeconds;
    return Number.isNaN(newest) ? 0 : newest;
  }

  /** Calls `watcher` with every frame, as it comes. */
  onFrame(watcher: () => void): () => void {
    this.frameWatchers.add(watcher);
    return () => this.frameWatchers.delete(watcher);
  }

  async start(): Promise<void> {
    const token = takeToken();
    if (await this.demandsToken(token)) {
      const message = token === null ? "" : "The server does not know this token.";
      forgetToken();
      this.status.value = { kind: "token", message };
      return;
    }
    const address = new URL("socket", location.href);
    address.search = "";
    address.hash = "";
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new ChannelSocket(address.href, token === null ? {} : { token });
    this.socket = socket;
    socket.onStateChange((state) => this.follow(state));
    const telemetry = socket.channel("gpu:telemetry", {});
    telemetry.onJoin((reply) => this.joined(reply instanceof ArrayBuffer ? {} : reply));
    telemetry.on("frame", (payload) => this.frame(payload));
    telemetry.on("kernel_launched", (payload) => this.launches.take(fields(payload)));
    telemetry.on("profile_update", (payload) => this.profile(fields(payload)));
    telemetry.on("neural_update", () => {
      this.networkSteps.value += 1;
    });
    telemetry.on("process_update", (payload) => {
      this.processes.value = readProcesses(payload);
    });
    this.api = socket.channel("gpu:api", {});
    this.api.onJoin(() => {
      this.canAsk = true;
      void this.refreshFacts();
    });
    setInterval(() => {
      this.isSilent.value = performance.now() - this.lastFrameMs > SILENCE_MS;
    }, SILENCE_MS / 3);
    await this.openAtLast(socket);
    await Promise.allSettled([telemetry.join(), this.api.join()]);
  }

  /** Asks `gpu:api`; rejects with a sentence that says what to do. */
  async ask(event: string, payload: JsonObject): Promise<Fields> {
    if (this.api === undefined) throw new Error("there is no connection to the server yet");
    return fields(await this.api.push(event, payload, { timeoutMs: CALL_TIMEOUT_MS }));
  }

  /** Takes a token that the reader typed. */
  async enter(token: string): Promise<void> {
    keepToken(token);
    this.status.value = { kind: "connecting" };
    await this.start();
  }

  stop(): void {
    this.socket?.close();
  }

  /** The socket comes back by itself once it has been open; until then this tries again. */
  private async openAtLast(socket: ChannelSocket): Promise<void> {
    for (;;) {
      try {
        await socket.connect();
        return;
      } catch (error) {
        this.status.value = { kind: "lost", message: `${sentence(error)} The page tries again every second.` };
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  private async demandsToken(token: string | null): Promise<boolean> {
    const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
    try {
      const health = await fetch(HEALTH, { headers });
      if (health.status === 401 || health.status === 403) return true;
      const answer = fields(await health.json());
      this.version.value = text(answer["version"]);
      if (answer["token_required"] !== true) return false;
      if (token === null) return true;
      const devices = await fetch("api/v1/devices", { headers });
      return devices.status === 401 || devices.status === 403;
    } catch {
      return false; // the socket says what is wrong, and tries again
    }
  }

  private follow(state: SocketState): void {
    if (state !== "waiting" || this.status.peek().kind === "error") return;
    const message =
      "The connection was lost. The page connects again by itself; if it does not, see whether `amdgpu serve` still runs.";
    this.status.value = { kind: "lost", message };
  }

  private joined(reply: JsonObject): void {
    try {
      const schema = withUnits(parseFrameSchema(reply));
      batch(() => {
        if (!isSameLayout(this.schema.peek(), schema)) {
          this.store = new FrameStore(schema.devices.length * schema.metrics.length, schema.rateHz, HISTORY_SECONDS);
          this.launches = new Launches();
        }
        this.lastFrameMs = performance.now();
        this.schema.value = schema;
        this.status.value = { kind: "live" };
      });
    } catch (error) {
      this.status.value = { kind: "error", message: sentence(error) };
    }
  }

  private frame(payload: unknown): void {
    const schema = this.schema.peek();
    if (schema === null || !(payload instanceof ArrayBuffer)) return;
    try {
      const frame = decodeFrame(schema, payload);
      this.store.push(frame.sequence, frame.timeSeconds, frame.values);
    } catch {
      this.damaged += 1;
      return;
    }
    this.lastFrameMs = performance.now();
    if (this.filled !== this.store) void this.fillPast();
    for (const watcher of this.frameWatchers) watcher();
  }

  private profile(payload: Fields): void {
    batch(() => {
      this.boundaries.value = readBoundaries(payload["boundaries"]);
      this.crossings.value = readCrossings(payload["crossings"]);
      this.kernelSums.value = readKernelSums(payload["kernels"]);
    });
  }

  /** Asks once for what was before the page was opened. */
  private async fillPast(): Promise<void> {
    const schema = this.schema.peek();
    const { store } = this;
    if (schema === null || !this.canAsk || this.filled === store || store.length === 0) return;
    this.filled = store;
    try {
      await backfill((event, payload) => this.ask(event, payload), schema, store, HISTORY_SECONDS);
    } catch {
      // Without it the page's history begins with its first frame.
    }
  }

  private async refreshFacts(): Promise<void> {
    try {
      const [devices, processes] = await Promise.all([this.ask("device:list", {}), this.ask("process:list", {})]);
      batch(() => {
        this.devices.value = readDevices(devices);
        this.processes.value = readProcesses(processes);
      });
    } catch {
      // Frames name the devices too; processes come with the next `process_update`.
    }
  }
}

function isSameLayout(left: FrameSchema | null, right: FrameSchema): boolean {
  return (
    left !== null &&
    JSON.stringify([left.devices, left.metrics, left.rateHz]) ===
      JSON.stringify([right.devices, right.metrics, right.rateHz])
  );
}

/** What went wrong, for a person. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
