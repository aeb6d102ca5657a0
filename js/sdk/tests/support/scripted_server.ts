/** A WebSocket server that says what a test tells it to: for what a healthy server never does. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

/** [join_ref, ref, topic, event, payload] as it came. */
export type Received = [string | null, string | null, string, string, Record<string, unknown>];
/** Answers one message, or says nothing. */
export type Script = (message: Received, connection: Connection) => void;

export class Connection {
  constructor(
    readonly socket: WebSocket,
    /** Counted from 0. */
    readonly index: number,
    readonly protocols: string,
    readonly address: string,
  ) {}

  say(joinRef: string | null, ref: string | null, topic: string, event: string, payload: object): void {
    this.socket.send(JSON.stringify([joinRef, ref, topic, event, payload]));
  }

  reply([joinRef, ref, topic]: Received, response: object = {}, status = "ok"): void {
    this.say(joinRef, ref, topic, "phx_reply", { status, response });
  }
}

export class ScriptedServer {
  readonly connections: Connection[] = [];
  readonly received: Received[] = [];
  readonly #server: WebSocketServer;
  #script: Script;

  private constructor(server: WebSocketServer, script: Script) {
    this.#server = server;
    this.#script = script;
    server.on("connection", (socket, request) => {
      const connection = new Connection(
        socket,
        this.connections.length,
        request.headers["sec-websocket-protocol"] ?? "",
        request.url ?? "",
      );
      this.connections.push(connection);
      socket.on("message", (data, isBinary) => {
        if (!isBinary) {
          const message = JSON.parse(String(data)) as Received;
          this.received.push(message);
          this.#script(message, connection);
        }
      });
    });
  }

  static async start(script: Script = (message, connection) => connection.reply(message)): Promise<ScriptedServer> {
    const server = new WebSocketServer({
      host: "127.0.0.1",
      port: 0,
      handleProtocols: (protocols) => (protocols.has("phoenix") ? "phoenix" : false),
    });
    await once(server, "listening");
    return new ScriptedServer(server, script);
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/socket`;
  }

  set script(script: Script) {
    this.#script = script;
  }

  /** End every connection without a goodbye. */
  cut(): void {
    for (const { socket } of this.connections) {
      socket.terminate();
    }
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}
