/** One topic of a socket: joins, and joins again after the connection or the server's side of the channel broke. */

import type { EventMessage, Payload } from "./codec.js";
import type { AmdgpuError } from "./error_base.js";
import { ClosedError, ConnectionFailedError, RequestTimeoutError } from "./generated/errors.js";
import type { JsonObject } from "./json.js";
import type { ChannelSocket } from "./socket.js";
import { delayOf, notify } from "./timers.js";

/** "waiting": it was joined, or wants to be, and will try again. */
export type ChannelState = "closed" | "joining" | "joined" | "waiting";

export type EventListener = (payload: Payload) => void;
/** Told at every join: the server's answer, and whether it is not the first. */
export type JoinListener = (response: Payload, isAgain: boolean) => void;

interface Waiter {
  readonly timer: unknown;
  readonly resolve: (response: Payload) => void;
  readonly reject: (error: AmdgpuError) => void;
}

/** Made by `ChannelSocket.channel`. */
export class Channel {
  readonly topic: string;
  readonly #socket: ChannelSocket;
  readonly #parameters: JsonObject;
  readonly #listeners = new Map<string, Set<EventListener>>();
  readonly #joinListeners = new Set<JoinListener>();
  readonly #closeListeners = new Set<(error: AmdgpuError) => void>();
  #waiters: Waiter[] = [];
  #state: ChannelState = "closed";
  #response: Payload = {};
  #joinRef: string | null = null;
  #joinedBefore = false;
  #attempt = 0;
  #rejoinTimer: unknown = null;

  constructor(socket: ChannelSocket, topic: string, parameters: JsonObject) {
    this.#socket = socket;
    this.topic = topic;
    this.#parameters = parameters;
  }

  get state(): ChannelState {
    return this.#state;
  }

  /**
   * Join the topic; resolves with the server's answer. From then on it joins again by itself until `leave()`.
   *
   * Rejects when the server refuses, or when it was not joined in time.
   */
  join(): Promise<Payload> {
    if (this.#state === "joined") {
      return Promise.resolve(this.#response);
    }
    if (this.#socket.state === "closed") {
      return Promise.reject(
        new ConnectionFailedError(`cannot join ${this.topic}: there is no connection`, {
          hint: "Call connect() first.",
        }),
      );
    }
    if (this.#state === "closed") {
      this.#joinedBefore = false;
      this.#attempt = 0;
      this.#state = "waiting";
      if (this.#socket.state === "open") {
        this.#sendJoin();
      }
    }
    return this.#untilJoined();
  }

  /** Leave the topic. Listeners stay, for another `join()`. */
  async leave(): Promise<void> {
    const joinRef = this.#joinRef;
    const wasJoined = this.#state === "joined";
    this.#end(new ClosedError(`${this.topic} was left`), false);
    if (wasJoined && this.#socket.state === "open") {
      const message = { joinRef, ref: this.#socket.nextRef(), topic: this.topic, event: "phx_leave", payload: {} };
      try {
        await this.#socket.request(message, this.#socket.timeoutMs);
      } catch (error) {
        // Who cannot be told has lost the channel with the connection.
        if (!(error instanceof ConnectionFailedError || error instanceof ClosedError)) {
          throw error;
        }
      }
    }
  }

  /** Be told of an event of the server; returns the function that ends it. */
  on(event: string, listener: EventListener): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Be told of every join, the first and all later ones; returns the function that ends it. */
  onJoin(listener: JoinListener): () => void {
    this.#joinListeners.add(listener);
    return () => this.#joinListeners.delete(listener);
  }

  /** Be told when the server ends the channel, or refuses it; returns the function that ends it. */
  onClose(listener: (error: AmdgpuError) => void): () => void {
    this.#closeListeners.add(listener);
    return () => this.#closeListeners.delete(listener);
  }

  /**
   * Send an event and wait for the server's answer. A channel that is about to join is waited for, at most `timeoutMs`, and the
   * answer as long again.
   *
   * Rejects with the class of the server's error, `RequestTimeoutError`, `ConnectionFailedError` or `ClosedError`.
   */
  async push(
    event: string,
    payload: Payload = {},
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<Payload> {
    const timeoutMs = options.timeoutMs ?? this.#socket.timeoutMs;
    if (this.#state === "closed") {
      throw new ClosedError(`${event}: ${this.topic} is not joined`, { hint: "Call join() first." });
    }
    if (this.#state !== "joined") {
      await this.#untilJoined(timeoutMs);
    }
    const message = { joinRef: this.#joinRef, ref: this.#socket.nextRef(), topic: this.topic, event, payload };
    return this.#socket.request(message, timeoutMs);
  }

  /** The socket is open. */
  socketOpened(): void {
    if (this.#state === "waiting") {
      this.#sendJoin();
    }
  }

  /** The connection broke; the socket tries to come back, or gave up if it was never open. */
  socketLost(): void {
    if (this.#state !== "closed") {
      this.#socket.timers.clearTimeout(this.#rejoinTimer);
      this.#joinRef = null;
      this.#state = "waiting";
    }
  }

  /** The program closed the socket. */
  socketEnded(error: AmdgpuError): void {
    if (this.#state !== "closed") {
      this.#end(error, false);
    }
  }

  /** An event of the server for this topic. */
  receive(message: EventMessage): void {
    if (message.joinRef !== null && message.joinRef !== this.#joinRef) {
      return;
    }
    if (message.event === "phx_error") {
      if (this.#state === "joined" || this.#state === "joining") {
        this.#rejoinLater();
      }
    } else if (message.event === "phx_close") {
      if (this.#state !== "closed") {
        this.#end(new ClosedError(`the server closed ${this.topic}`), true);
      }
    } else if (this.#state === "joined") {
      for (const listener of [...(this.#listeners.get(message.event) ?? [])]) {
        notify(listener, message.payload);
      }
    }
  }

  #sendJoin(): void {
    const ref = this.#socket.nextRef();
    this.#joinRef = ref;
    this.#state = "joining";
    const message = { joinRef: ref, ref, topic: this.topic, event: "phx_join", payload: this.#parameters };
    this.#socket.request(message, this.#socket.timeoutMs).then(
      (response) => this.#joinRef === ref && this.#joined(response),
      (error: AmdgpuError) => this.#joinRef === ref && this.#joinFailed(error),
    );
  }

  #joined(response: Payload): void {
    const isAgain = this.#joinedBefore;
    this.#state = "joined";
    this.#joinedBefore = true;
    this.#attempt = 0;
    this.#response = response;
    const waiters = this.#takeWaiters();
    for (const listener of [...this.#joinListeners]) {
      notify(listener, response, isAgain);
    }
    for (const waiter of waiters) {
      waiter.resolve(response);
    }
  }

  #joinFailed(error: AmdgpuError): void {
    if (error instanceof ConnectionFailedError) {
      this.#state = "waiting";
    } else if (this.#joinedBefore || error instanceof RequestTimeoutError) {
      this.#socket.report(error);
      this.#rejoinLater();
    } else {
      this.#end(error, true);
    }
  }

  #rejoinLater(): void {
    this.#state = "waiting";
    this.#joinRef = null;
    const delayMs = delayOf(this.#socket.rejoinDelaysMs, this.#attempt);
    this.#attempt += 1;
    this.#rejoinTimer = this.#socket.timers.setTimeout(() => {
      if (this.#state === "waiting" && this.#socket.state === "open") {
        this.#sendJoin();
      }
    }, delayMs);
  }

  #end(error: AmdgpuError, byServer: boolean): void {
    this.#socket.timers.clearTimeout(this.#rejoinTimer);
    this.#state = "closed";
    this.#joinRef = null;
    for (const waiter of this.#takeWaiters()) {
      waiter.reject(error);
    }
    if (byServer) {
      for (const listener of [...this.#closeListeners]) {
        notify(listener, error);
      }
    }
  }

  #untilJoined(timeoutMs: number = this.#socket.timeoutMs): Promise<Payload> {
    return new Promise((resolve, reject) => {
      const timer = this.#socket.timers.setTimeout(() => {
        this.#waiters = this.#waiters.filter((waiter) => waiter.timer !== timer);
        reject(new RequestTimeoutError(`${this.topic} was not joined within ${timeoutMs} ms`));
      }, timeoutMs);
      this.#waiters.push({ timer, resolve, reject });
    });
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { timer } of waiters) {
      this.#socket.timers.clearTimeout(timer);
    }
    return waiters;
  }
}
