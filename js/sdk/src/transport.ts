/** The WebSocket beneath: the one of the platform, or one that is handed in. */

import { ConnectionFailedError, InvalidArgumentError } from "./generated/errors.js";

/** The part of the WebSocket interface that is used here; browsers, Node 22 and the package `ws` have it. */
export interface WebSocketLike {
  binaryType: string;
  readonly readyState: number;
  send(data: string | ArrayBuffer): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open", listener: () => void): void;
  addEventListener(type: "error", listener: (event: { readonly message?: string }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
}

export type WebSocketConstructor = new (url: string, protocols?: string[]) => WebSocketLike;

/** `readyState` of a socket that can send. */
export const OPEN = 1;

/** The platform's WebSocket, or in Node before 22 that of the package `ws`. */
export async function findTransport(): Promise<WebSocketConstructor> {
  const own = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
  if (own !== undefined) {
    return own;
  }
  // A name in a variable keeps bundlers for browsers from looking for the package.
  const name = "ws";
  try {
    const module = (await import(/* @vite-ignore */ name)) as { WebSocket: WebSocketConstructor };
    return module.WebSocket;
  } catch (cause) {
    throw new ConnectionFailedError("this platform has no WebSocket", {
      hint: "Use Node 22 or newer, or `npm install ws`, or pass a constructor as `transport`.",
      cause,
    });
  }
}

/** The address of the socket: `serverUrl` is the mount, as in `ws://localhost:4000/socket`; http addresses are taken too. */
export function socketAddress(serverUrl: string, parameters: Readonly<Record<string, string>>): string {
  let url: URL;
  try {
    url = new URL(serverUrl);
  } catch (cause) {
    throw new InvalidArgumentError(`${serverUrl} is not an address`, {
      hint: "Write ws://HOST:PORT/socket, as `amdgpu serve` prints it.",
      cause,
    });
  }
  const scheme = { "ws:": "ws:", "wss:": "wss:", "http:": "ws:", "https:": "wss:" }[url.protocol];
  if (scheme === undefined) {
    throw new InvalidArgumentError(`${serverUrl} is not the address of a WebSocket`, {
      hint: "Addresses begin with ws:, wss:, http: or https:.",
    });
  }
  const path = url.pathname.replace(/\/+$/, "");
  const query = new URLSearchParams(url.search);
  for (const [name, value] of Object.entries(parameters)) {
    query.set(name, value);
  }
  query.set("vsn", "2.0.0");
  return `${scheme}//${url.host}${path === "" ? "/socket" : path}/websocket?${query.toString()}`;
}

/** Sub-protocols that carry the token, so that it stands in no address and no log. */
export function tokenProtocols(token: string): string[] {
  let encoded: string;
  try {
    encoded = btoa(token);
  } catch (cause) {
    throw new InvalidArgumentError("the token has characters beyond Latin-1", { cause });
  }
  return ["phoenix", `base64url.bearer.phx.${encoded.replace(/=+$/, "").replace(/\+/g, "-").replace(/\//g, "_")}`];
}
