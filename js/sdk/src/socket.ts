/**
 * One WebSocket that speaks Phoenix Channels V2, and comes back by itself.
 *
 * `connect()` makes one attempt and says what went wrong. Once it has been open, a connection that breaks is opened again with growing
 * delays until `close()`; channels join again by themselves. Requests that were under way when it broke fail, because nobody can know
 * whether the server has carried them out.
 */

import { Channel } from "./channel.js";
import { decodeMessage, encodePush, type Payload, type PushMessage, type ServerMessage } from "./codec.js";
import type { AmdgpuError } from "./error_base.js";
import {
  ClosedError,
  ConnectionFailedError,
  InvalidMessageError,
  LimitExceededError,
  NotPermittedError,
  RequestTimeoutError,
} from "./generated/errors.js";
import type { JsonObject } from "./json.js";
import { errorFromReply } from "./replies.js";
import { delayOf, notify, PLATFORM_TIMERS, type Timers } from "./timers.js";
import {
  findTransport,
  OPEN,
  socketAddress,
  tokenProtocols,
  type WebSocketConstructor,
  type WebSocketLike,
} from "./transport.js";

/** "waiting": the connection broke and will be tried again. */
export type SocketState = "closed" | "connecting" | "open" | "waiting";

export interface SocketOptions {
  /** What a server that demands a token wants to see. */
  readonly token?: string | undefined;
  /** More parameters of the address. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** A WebSocket class, for example that of the package `ws`; left out, the platform's. */
  readonly transport?: WebSocketConstructor | undefined;
  /** How long connecting, joining and requests may take. */
  readonly timeoutMs?: number;
  readonly heartbeatMs?: number;
  /** Delays before the first, second … attempt to come back; the last one is used again and again. */
  readonly reconnectDelaysMs?: readonly number[];
  /** The same for joining a channel whose server side failed. */
  readonly rejoinDelaysMs?: readonly number[];
  readonly timers?: Timers;
  /** Told of what no call can report: damaged messages, a channel that cannot join again. */
  readonly onError?: (error: AmdgpuError) => void;
}

/** The delays of the official client: quick at first, because a server that restarts is soon back. */
const RECONNECT_DELAYS_MS = [10, 50, 100, 150, 200, 250, 500, 1000, 2000, 5000] as const;
const REJOIN_DELAYS_MS = [1000, 2000, 5000, 10_000] as const;
const TIMEOUT_MS = 10_000;
const HEARTBEAT_MS = 30_000;
/** WebSocket close codes (RFC 6455, 7.4.1): no goodbye, and a message that is too big. */
const ABNORMAL = 1006;
const MESSAGE_TOO_BIG = 1009;

interface Pending {
  readonly request: string;
  readonly timer: unknown;
  readonly resolve: (response: Payload) => void;
  readonly reject: (error: AmdgpuError) => void;
}

interface Opening {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: AmdgpuError) => void;
}

export class ChannelSocket {
  readonly #serverUrl: string;
  readonly #options: SocketOptions;
  readonly #timers: Timers;
  readonly #channels = new Map<string, Channel>();
  readonly #pending = new Map<string, Pending>();
  readonly #stateListeners = new Set<(state: SocketState) => void>();
  #state: SocketState = "closed";
  #socket: WebSocketLike | null = null;
  #opening: Opening | null = null;
  #wasOpen = false;
  #attempt = 0;
  #lastRef = 0;
  #connectionTimer: unknown = null;
  #heartbeatTimer: unknown = null;
  #problem = "";

  /** @param serverUrl The mount, for example `ws://localhost:4000/socket`. */
  constructor(serverUrl: string, options: SocketOptions = {}) {
    this.#serverUrl = serverUrl;
    this.#options = options;
    this.#timers = options.timers ?? PLATFORM_TIMERS;
  }

  get state(): SocketState {
    return this.#state;
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs ?? TIMEOUT_MS;
  }

  get rejoinDelaysMs(): readonly number[] {
    return this.#options.rejoinDelaysMs ?? REJOIN_DELAYS_MS;
  }

  get timers(): Timers {
    return this.#timers;
  }

  /** Be told of every change of state; returns the function that ends it. */
  onStateChange(listener: (state: SocketState) => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  /**
   * Open the connection.
   *
   * Rejects with `ConnectionFailedError`, `NotPermittedError` or `InvalidArgumentError`; then the socket is closed again.
   */
  connect(): Promise<void> {
    if (this.#state === "open") {
      return Promise.resolve();
    }
    if (this.#opening === null) {
      let resolve: () => void = () => undefined;
      let reject: (error: AmdgpuError) => void = () => undefined;
      const promise = new Promise<void>((onResolve, onReject) => {
        resolve = onResolve;
        reject = onReject;
      });
      this.#opening = { promise, resolve, reject };
      if (this.#state === "waiting") {
        this.reconnectNow();
      } else {
        void this.#open();
      }
      return promise;
    }
    return this.#opening.promise;
  }

  /** While it waits for its next attempt to come back: make the attempt at once. */
  reconnectNow(): void {
    if (this.#state === "waiting") {
      this.#timers.clearTimeout(this.#connectionTimer);
      void this.#open();
    }
  }

  /** Close the connection and all channels, for good unless `connect()` is called again. */
  close(): void {
    const error = new ClosedError("the connection was closed by this program");
    this.#wasOpen = false;
    this.#detach(error);
    for (const channel of this.#channels.values()) {
      channel.socketEnded(error);
    }
    this.#settleOpening(error);
    this.#setState("closed");
  }

  /** The channel of a topic; the same object for the same topic. `parameters` are sent with every join. */
  channel(topic: string, parameters: JsonObject = {}): Channel {
    let channel = this.#channels.get(topic);
    if (channel === undefined) {
      channel = new Channel(this, topic, parameters);
      this.#channels.set(topic, channel);
    }
    return channel;
  }

  /** A number that no message of this socket had before. */
  nextRef(): string {
    this.#lastRef += 1;
    return String(this.#lastRef);
  }

  /** Send a message and wait for its reply. Used by channels. */
  request(message: PushMessage & { readonly ref: string }, timeoutMs: number): Promise<Payload> {
    const request = `${message.event} on ${message.topic}`;
    return new Promise((resolve, reject) => {
      if (this.#socket === null || this.#socket.readyState !== OPEN) {
        reject(new ConnectionFailedError(`${request}: there is no connection to ${this.#serverUrl}`));
        return;
      }
      const data = encodePush(message);
      const timer = this.#timers.setTimeout(() => {
        this.#pending.delete(message.ref);
        reject(new RequestTimeoutError(`${request}: no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      this.#pending.set(message.ref, { request, timer, resolve, reject });
      this.#socket.send(data);
    });
  }

  /** Tell `onError`. Used by channels. */
  report(error: AmdgpuError): void {
    if (this.#options.onError !== undefined) {
      notify(this.#options.onError, error);
    }
  }

  async #open(): Promise<void> {
    this.#setState("connecting");
    this.#problem = "";
    let socket: WebSocketLike;
    try {
      const address = socketAddress(this.#serverUrl, this.#options.parameters ?? {});
      const protocols = this.#options.token === undefined ? undefined : tokenProtocols(this.#options.token);
      const Transport = this.#options.transport ?? (await findTransport());
      if (this.#state !== "connecting" || this.#socket !== null) {
        return;
      }
      socket = protocols === undefined ? new Transport(address) : new Transport(address, protocols);
    } catch (error) {
      const known = error instanceof Error && "code" in error && "kind" in error;
      this.#ended(known ? (error as AmdgpuError) : this.#failure(String(error), { cause: error }));
      return;
    }
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#connectionTimer = this.#timers.setTimeout(() => {
      this.#ended(this.#failure(`no connection within ${this.timeoutMs} ms`, {}));
    }, this.timeoutMs);
    socket.addEventListener("open", () => this.#socket === socket && this.#opened());
    socket.addEventListener("message", ({ data }) => this.#socket === socket && this.#received(data));
    socket.addEventListener("error", ({ message }) => {
      if (this.#socket === socket) {
        this.#problem = message ?? "";
        // Not every platform follows with "close" when there never was a connection.
        if (this.#state === "connecting") {
          this.#ended(this.#closeError(ABNORMAL, ""));
        }
      }
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (this.#socket === socket) {
        this.#ended(this.#closeError(code, reason));
      }
    });
  }

  #opened(): void {
    this.#timers.clearTimeout(this.#connectionTimer);
    this.#attempt = 0;
    this.#wasOpen = true;
    this.#beat();
    this.#setState("open");
    this.#settleOpening(null);
    for (const channel of this.#channels.values()) {
      channel.socketOpened();
    }
  }

  /** The connection, or the attempt to make one, is over. */
  #ended(error: AmdgpuError): void {
    this.#detach(error);
    for (const channel of this.#channels.values()) {
      channel.socketLost();
    }
    if (!this.#wasOpen) {
      this.#setState("closed");
      this.#settleOpening(error);
      return;
    }
    const delayMs = delayOf(this.#options.reconnectDelaysMs ?? RECONNECT_DELAYS_MS, this.#attempt);
    this.#attempt += 1;
    this.#connectionTimer = this.#timers.setTimeout(() => void this.#open(), delayMs);
    this.#setState("waiting");
    this.#settleOpening(error);
  }

  /** Let go of the WebSocket and fail what was under way. */
  #detach(error: AmdgpuError): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#timers.clearTimeout(this.#connectionTimer);
    this.#timers.clearTimeout(this.#heartbeatTimer);
    socket?.close();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { timer, request, reject } of pending) {
      this.#timers.clearTimeout(timer);
      const ErrorClass = error.constructor as new (message: string, details: object) => AmdgpuError;
      reject(new ErrorClass(`${request}: ${error.message}`, { hint: error.hint, cause: error }));
    }
  }

  #beat(): void {
    const heartbeatMs = this.#options.heartbeatMs ?? HEARTBEAT_MS;
    this.#heartbeatTimer = this.#timers.setTimeout(() => {
      const message = { joinRef: null, ref: this.nextRef(), topic: "phoenix", event: "heartbeat", payload: {} };
      const socket = this.#socket;
      this.request(message, heartbeatMs).catch((error: AmdgpuError) => {
        // Silence means that the other side is gone, though nobody said so.
        if (this.#socket === socket && error instanceof RequestTimeoutError) {
          this.#ended(this.#failure(`no heartbeat within ${heartbeatMs} ms`, {}));
        }
      });
      this.#beat();
    }, heartbeatMs);
  }

  #received(data: unknown): void {
    let message: ServerMessage;
    try {
      if (typeof data !== "string" && !(data instanceof ArrayBuffer)) {
        throw new InvalidMessageError("a message is neither text nor an ArrayBuffer");
      }
      message = decodeMessage(data);
    } catch (error) {
      this.report(error as InvalidMessageError);
      return;
    }
    if (message.kind === "event") {
      this.#channels.get(message.topic)?.receive(message);
      return;
    }
    const pending = message.ref === null ? undefined : this.#pending.get(message.ref);
    if (message.ref === null || pending === undefined) {
      return;
    }
    this.#pending.delete(message.ref);
    this.#timers.clearTimeout(pending.timer);
    if (message.status === "ok") {
      pending.resolve(message.response);
    } else {
      pending.reject(errorFromReply(pending.request, message.status, message.response));
    }
  }

  #setState(state: SocketState): void {
    if (this.#state !== state) {
      this.#state = state;
      for (const listener of [...this.#stateListeners]) {
        notify(listener, state);
      }
    }
  }

  #settleOpening(error: AmdgpuError | null): void {
    const opening = this.#opening;
    this.#opening = null;
    if (error === null) {
      opening?.resolve();
    } else {
      opening?.reject(error);
    }
  }

  #failure(problem: string, details: { cause?: unknown }): ConnectionFailedError {
    return new ConnectionFailedError(`${this.#serverUrl}: ${problem}`, details);
  }

  #closeError(code: number, reason: string): AmdgpuError {
    const said = [this.#problem, reason].filter((text) => text !== "").join("; ");
    if (/\b40[13]\b/.test(this.#problem)) {
      return new NotPermittedError(`${this.#serverUrl} refused the connection: ${said}`);
    }
    if (code === MESSAGE_TOO_BIG) {
      return new LimitExceededError(`${this.#serverUrl} takes no message as large as this: ${said || `code ${code}`}`);
    }
    return this.#failure(said || `the connection was closed with code ${code}`, {});
  }
}
