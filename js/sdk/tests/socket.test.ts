import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { WebSocket } from "ws";
import {
  type AmdgpuError,
  type Channel,
  ChannelSocket,
  ClosedError,
  ConnectionFailedError,
  InvalidArgumentError,
  InvalidHandleError,
  InvalidMessageError,
  type JsonObject,
  NotPermittedError,
  RequestTimeoutError,
  type SocketOptions,
  type SocketState,
  type WebSocketConstructor,
} from "../src/index.js";
import { HandWoundTimers } from "./support/hand_wound_timers.js";
import { type Script, ScriptedServer } from "./support/scripted_server.js";

const transport = WebSocket as unknown as WebSocketConstructor;

/** A socket at a scripted server; both are closed when the test ends. */
async function arrange(
  t: { after: (end: () => void | Promise<void>) => void },
  script?: Script,
  options: SocketOptions = {},
): Promise<{ server: ScriptedServer; socket: ChannelSocket; errors: AmdgpuError[] }> {
  const server = await ScriptedServer.start(script);
  const errors: AmdgpuError[] = [];
  const socket = new ChannelSocket(server.url, { transport, onError: (error) => errors.push(error), ...options });
  t.after(async () => {
    socket.close();
    await server.close();
  });
  return { server, socket, errors };
}

function untilState(socket: ChannelSocket, wanted: SocketState): Promise<void> {
  return new Promise((resolve) => {
    const stop = socket.onStateChange((state) => {
      if (state === wanted) {
        stop();
        resolve();
      }
    });
  });
}

function nextEvent(channel: Channel, event: string): Promise<JsonObject | ArrayBuffer> {
  return new Promise((resolve) => {
    const stop = channel.on(event, (payload) => {
      stop();
      resolve(payload);
    });
  });
}

test("a socket asks for version 2 at the mount's websocket", async (t) => {
  const { server, socket } = await arrange(t, undefined, { parameters: { name: "a b" } });
  await socket.connect();
  assert.equal(socket.state, "open");
  assert.equal(server.connections[0]?.address, "/socket/websocket?name=a+b&vsn=2.0.0");
  assert.equal(server.connections[0]?.protocols, "");
});

test("a token travels in the sub-protocol, not in the address", async (t) => {
  const { server, socket } = await arrange(t, undefined, { token: "sesame" });
  await socket.connect();
  const encoded = Buffer.from("sesame").toString("base64").replace(/=+$/, "");
  assert.equal(server.connections[0]?.protocols, `phoenix,base64url.bearer.phx.${encoded}`);
  assert.doesNotMatch(server.connections[0]?.address ?? "", /sesame/);
});

test("joining, asking and leaving have the messages of the protocol", async (t) => {
  const { server, socket } = await arrange(t, (message, connection) => connection.reply(message, { got: message[3] }));
  await socket.connect();
  const channel = socket.channel("gpu:api", { who: "me" });
  assert.equal(socket.channel("gpu:api"), channel);
  assert.deepEqual(await channel.join(), { got: "phx_join" });
  assert.equal(channel.state, "joined");
  assert.deepEqual(await channel.push("device:list", { a: 1 }), { got: "device:list" });
  await channel.leave();
  assert.deepEqual(server.received, [
    ["1", "1", "gpu:api", "phx_join", { who: "me" }],
    ["1", "2", "gpu:api", "device:list", { a: 1 }],
    ["1", "3", "gpu:api", "phx_leave", {}],
  ]);
  await assert.rejects(channel.push("device:list"), ClosedError);
});

test("answers find their question in any order", async (t) => {
  const held: [Parameters<Script>[0], Parameters<Script>[1]][] = [];
  const { socket } = await arrange(t, (message, connection) => {
    if (message[3] === "phx_join") {
      connection.reply(message);
      return;
    }
    held.push([message, connection]);
    if (held.length === 20) {
      for (const [late, to] of held.reverse()) {
        to.reply(late, { number: late[4]["number"] as number });
      }
    }
  });
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, number) => channel.push("ask", { number })));
  assert.deepEqual(
    answers,
    Array.from({ length: 20 }, (_, number) => ({ number })),
  );
});

test("errors of the server come as their class, with their hint", async (t) => {
  const answers: Record<string, [string, object]> = {
    known: ["error", { reason: "invalid-handle", message: "no kernel k", hint: "compile it", language: "rust" }],
    unknown: ["error", { reason: "unmatched topic" }],
    refused: ["error", { reason: "unauthorized" }],
    odd: ["teapot", {}],
  };
  const { socket } = await arrange(t, (message, connection) => {
    const [status, response] = answers[message[3]] ?? ["ok", {}];
    connection.reply(message, response, status);
  });
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  await assert.rejects(channel.push("known"), (error: unknown) => {
    assert.ok(error instanceof InvalidHandleError);
    assert.deepEqual([error.message, error.hint, error.language], ["no kernel k", "compile it", "rust"]);
    return true;
  });
  await assert.rejects(channel.push("unknown"), { constructor: InvalidMessageError, message: /unmatched topic/ });
  await assert.rejects(channel.push("refused"), NotPermittedError);
  await assert.rejects(channel.push("odd"), { constructor: InvalidMessageError, message: /status teapot/ });
});

test("a join that the server refuses rejects and is not tried again", async (t) => {
  const { server, socket } = await arrange(t, (message, connection) =>
    connection.reply(message, { reason: "not-permitted", message: "no" }, "error"),
  );
  await socket.connect();
  const channel = socket.channel("t");
  const closed: AmdgpuError[] = [];
  channel.onClose((error) => closed.push(error));
  await assert.rejects(channel.join(), NotPermittedError);
  assert.equal(channel.state, "closed");
  assert.equal(closed.length, 1);
  assert.equal(server.received.length, 1);
});

test("events reach their listeners, and stale ones do not", async (t) => {
  const { server, socket } = await arrange(t);
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const seen: unknown[] = [];
  channel.on("e", (payload) => seen.push(payload));
  const stop = channel.on("e", () => seen.push("stopped"));
  stop();
  const connection = server.connections[0];
  assert.ok(connection);
  const last = nextEvent(channel, "last");
  connection.say("1", null, "t", "e", { own: true });
  connection.say(null, null, "t", "e", { broadcast: true });
  connection.say("0", null, "t", "e", { stale: true });
  connection.say(null, null, "other", "e", { elsewhere: true });
  connection.socket.send(Uint8Array.of(2, 1, 1, 0x74, 0x65, 1, 2, 3));
  connection.say(null, null, "t", "last", {});
  await last;
  assert.deepEqual(seen, [{ own: true }, { broadcast: true }, Uint8Array.of(1, 2, 3).buffer]);
});

test("damaged messages are told to onError, and the connection lives", async (t) => {
  const { server, socket, errors } = await arrange(t);
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const last = nextEvent(channel, "last");
  const connection = server.connections[0];
  assert.ok(connection);
  connection.socket.send("nonsense");
  connection.socket.send(Uint8Array.of(9, 9, 9));
  connection.socket.send(new Uint8Array());
  connection.say(null, null, "t", "last", {});
  await last;
  assert.deepEqual(
    errors.map(({ kind }) => kind),
    ["invalid-message", "invalid-message", "invalid-message"],
  );
  assert.equal(socket.state, "open");
});

test("a request without an answer ends with RequestTimeoutError, and a late answer does no harm", async (t) => {
  const timers = new HandWoundTimers();
  const { server, socket } = await arrange(
    t,
    (message, connection) => message[3] === "phx_join" && connection.reply(message),
    { timers },
  );
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const answer = channel.push("ask", {}, { timeoutMs: 1234 });
  timers.fire(1234);
  await assert.rejects(answer, { constructor: RequestTimeoutError, message: /ask on t: no answer within 1234 ms/ });
  const last = nextEvent(channel, "last");
  server.connections[0]?.say("1", "2", "t", "phx_reply", { status: "ok", response: {} });
  server.connections[0]?.say(null, null, "t", "last", {});
  await last;
  assert.deepEqual(timers.waiting, [30_000]);
});

test("a connection that breaks comes back, joins again, and fails what was under way", async (t) => {
  const { server, socket } = await arrange(t, (message, connection) => {
    if (message[3] === "phx_join") {
      connection.reply(message, { connection: connection.index });
    }
  });
  await socket.connect();
  const channel = socket.channel("t");
  const joins: [unknown, boolean][] = [];
  const again = new Promise<void>((resolve) => {
    channel.onJoin((response, isAgain) => {
      joins.push([response, isAgain]);
      if (isAgain) {
        resolve();
      }
    });
  });
  await channel.join();
  const open = channel.push("never answered");
  server.cut();
  await assert.rejects(open, ConnectionFailedError);
  await again;
  assert.deepEqual(joins, [
    [{ connection: 0 }, false],
    [{ connection: 1 }, true],
  ]);
  assert.equal(socket.state, "open");
});

test("what is pushed while the connection is away waits for it", async (t) => {
  const { server, socket } = await arrange(t, (message, connection) =>
    connection.reply(message, { connection: connection.index }),
  );
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const away = untilState(socket, "waiting");
  server.cut();
  await away;
  assert.deepEqual(await channel.push("ask"), { connection: 1 });
});

test("attempts to come back have growing delays, and close() ends them", async (t) => {
  const timers = new HandWoundTimers();
  const { server, socket } = await arrange(t, undefined, { timers, reconnectDelaysMs: [11, 22, 33] });
  await socket.connect();
  let away = untilState(socket, "waiting");
  await server.close();
  await away;
  for (const delayMs of [11, 22, 33, 33]) {
    assert.ok(timers.waiting.includes(delayMs), `${delayMs} in ${timers.waiting.join(", ")}`);
    away = untilState(socket, "waiting");
    timers.fire(delayMs);
    await away;
  }
  socket.close();
  assert.equal(socket.state, "closed");
  assert.deepEqual(timers.waiting, []);
});

test("delays start anew after the connection came back", async (t) => {
  const timers = new HandWoundTimers();
  const { server, socket } = await arrange(t, undefined, { timers, reconnectDelaysMs: [11, 22, 33] });
  await socket.connect();
  for (let round = 0; round < 3; round += 1) {
    const away = untilState(socket, "waiting");
    server.cut();
    await away;
    assert.ok(timers.waiting.includes(11), `11 in ${timers.waiting.join(", ")}`);
    const back = untilState(socket, "open");
    timers.fire(11);
    await back;
  }
});

test("silence instead of heartbeats is a broken connection", async (t) => {
  const timers = new HandWoundTimers();
  const { server, socket } = await arrange(t, () => undefined, { timers, heartbeatMs: 500, reconnectDelaysMs: [7] });
  await socket.connect();
  const away = untilState(socket, "waiting");
  timers.fire(500);
  timers.fire(500);
  await away;
  assert.deepEqual(timers.waiting, [7]);
  const back = untilState(socket, "open");
  timers.fire(7);
  await back;
  assert.equal(server.connections.length, 2);
});

test("heartbeats go on while they are answered", async (t) => {
  const timers = new HandWoundTimers();
  const beats: number[] = [];
  let heard: () => void = () => undefined;
  const { socket } = await arrange(
    t,
    (message, connection) => {
      assert.deepEqual(message.slice(2), ["phoenix", "heartbeat", {}]);
      beats.push(Number(message[1]));
      connection.reply(message);
      heard();
    },
    { timers, heartbeatMs: 500 },
  );
  await socket.connect();
  for (let round = 0; round < 3; round += 1) {
    const beat = new Promise<void>((resolve) => {
      heard = resolve;
    });
    timers.fire(500);
    await beat;
    while (timers.waiting.length > 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  assert.deepEqual(beats, [1, 2, 3]);
  assert.equal(socket.state, "open");
});

test("a channel whose server side fails joins again after a delay, over the same connection", async (t) => {
  const timers = new HandWoundTimers();
  const { server, socket } = await arrange(t, undefined, { timers, rejoinDelaysMs: [44] });
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const again = new Promise<void>((resolve) => channel.onJoin(() => resolve()));
  const marker = nextEvent(socket.channel("u"), "marker");
  await socket.channel("u").join();
  server.connections[0]?.say("1", "1", "t", "phx_error", {});
  server.connections[0]?.say(null, null, "u", "marker", {});
  await marker;
  assert.equal(channel.state, "waiting");
  timers.fire(44);
  await again;
  assert.equal(channel.state, "joined");
  assert.equal(server.connections.length, 1);
});

test("a channel that the server closes does not come back", async (t) => {
  const { server, socket } = await arrange(t);
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const closed = new Promise<AmdgpuError>((resolve) => channel.onClose(resolve));
  server.connections[0]?.say("1", "1", "t", "phx_close", {});
  assert.ok((await closed) instanceof ClosedError);
  assert.equal(channel.state, "closed");
});

test("a closing of an older join is stale", async (t) => {
  const { server, socket } = await arrange(t);
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const last = nextEvent(channel, "last");
  server.connections[0]?.say("0", "0", "t", "phx_close", {});
  server.connections[0]?.say("0", "0", "t", "phx_error", {});
  server.connections[0]?.say(null, null, "t", "last", {});
  await last;
  assert.equal(channel.state, "joined");
});

test("a server that is not there is ConnectionFailedError with the address, at once", async () => {
  const socket = new ChannelSocket("ws://127.0.0.1:1/socket", { transport });
  await assert.rejects(socket.connect(), {
    constructor: ConnectionFailedError,
    message: /127\.0\.0\.1:1.*ECONNREFUSED/,
  });
  assert.equal(socket.state, "closed");
  await assert.rejects(socket.channel("t").join(), ConnectionFailedError);
});

test("a refusal by the server is NotPermittedError", async (t) => {
  const server = createServer().on("upgrade", (_request, connection) => {
    connection.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close());
  const socket = new ChannelSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/socket`, { transport });
  await assert.rejects(socket.connect(), NotPermittedError);
});

test("a server that never answers the handshake is given up", async (t) => {
  const server = createServer().on("upgrade", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const timers = new HandWoundTimers();
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/socket`;
  const socket = new ChannelSocket(url, { transport, timers, timeoutMs: 321 });
  const connecting = socket.connect();
  timers.fire(321);
  await assert.rejects(connecting, { constructor: ConnectionFailedError, message: /no connection within 321 ms/ });
});

test("addresses that are none are refused", async () => {
  for (const address of ["", "nonsense", "ftp://host/socket", "://"]) {
    await assert.rejects(new ChannelSocket(address, { transport }).connect(), InvalidArgumentError);
  }
  const socket = new ChannelSocket("ws://127.0.0.1:1", { transport, token: "токен" });
  await assert.rejects(socket.connect(), { constructor: InvalidArgumentError, message: /token/ });
});

test("http addresses and bare hosts lead to the same place", async (t) => {
  const { server } = await arrange(t);
  for (const address of [server.url.replace("ws:", "http:"), server.url.replace("/socket", ""), `${server.url}/`]) {
    const socket = new ChannelSocket(address, { transport });
    await socket.connect();
    socket.close();
  }
  assert.deepEqual(new Set(server.connections.map(({ address }) => address)), new Set(["/socket/websocket?vsn=2.0.0"]));
});

test("closing ends everything that waits, and connecting again works", async (t) => {
  const { socket } = await arrange(t, (message, connection) => message[3] === "phx_join" && connection.reply(message));
  await socket.connect();
  const channel = socket.channel("t");
  await channel.join();
  const open = channel.push("never answered");
  socket.close();
  await assert.rejects(open, ClosedError);
  assert.equal(channel.state, "closed");
  await socket.connect();
  await channel.join();
  assert.equal(channel.state, "joined");
});

test("closing while connecting rejects the attempt", async (t) => {
  const { socket } = await arrange(t);
  const connecting = socket.connect();
  socket.close();
  await assert.rejects(connecting, ClosedError);
  assert.equal(socket.state, "closed");
});

test("without a WebSocket of the platform that of the package ws is found", async (t) => {
  const { server } = await arrange(t);
  const socket = new ChannelSocket(server.url);
  await socket.connect();
  assert.equal(socket.state, "open");
  socket.close();
});
