// Drives the official Phoenix client through every row of the protocol page, against the server at argv[2].
// One JSON line per scenario: {"name", "error": null or text}.

import WebSocket from "ws";

const [address, packageName, version, token] = process.argv.slice(2);
const { Socket } = await import(packageName);
const TIMEOUT_MS = 20_000;

// What the client of Phoenix 1.2 sent: the last one that spoke version 1.
const v1 = {
  vsn: "1.0.0",
  encode: ({ topic, event, payload, ref }, done) => done(JSON.stringify({ topic, event, payload, ref })),
  decode: (text, done) => done({ join_ref: null, ...JSON.parse(text) }),
};

function open(options = {}) {
  const socket = new Socket(`${address}socket`, {
    transport: WebSocket,
    params: token ? { token } : {},
    reconnectAfterMs: () => 20,
    rejoinAfterMs: () => 20,
    ...(version === "1" ? v1 : {}),
    ...options,
  });
  socket.connect();
  return socket;
}

const later = (what, start) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} did not come`)), TIMEOUT_MS);
    start(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (why) => {
        clearTimeout(timer);
        reject(new Error(`${what}: ${JSON.stringify(why)}`));
      },
    );
  });
const opened = (socket) => later("open", (resolve) => socket.onOpen(resolve));
const joined = (channel) =>
  later("join", (resolve, reject) => channel.join().receive("ok", resolve).receive("error", reject).receive("timeout", reject));
const pushed = (channel, event, payload) =>
  later(event, (resolve, reject) =>
    channel.push(event, payload).receive("ok", resolve).receive("error", reject).receive("timeout", reject),
  );
const refused = (push) =>
  later("error", (resolve, reject) => push.receive("error", resolve).receive("ok", reject).receive("timeout", reject));
const heard = (channel, event) => later(event, (resolve) => channel.on(event, resolve));

function check(condition, what) {
  if (!condition) throw new Error(what);
}

/** Header and arrays as docs/server.md lays them out. */
function pack(payload, arrays) {
  const described = arrays.map((array) => ({
    dtype: { Float32Array: "float32", Int32Array: "int32" }[array.constructor.name],
    shape: [array.length],
  }));
  const header = new TextEncoder().encode(JSON.stringify({ ...payload, $arrays: described }));
  const align = (offset) => Math.ceil(offset / 8) * 8;
  let end = align(4 + header.length);
  const places = arrays.map((array) => {
    const place = end;
    end = align(end + array.byteLength);
    return place;
  });
  const bytes = new Uint8Array(end);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(header, 4);
  arrays.forEach((array, index) => bytes.set(new Uint8Array(array.buffer), places[index]));
  return bytes.buffer;
}

function unpack(data) {
  const length = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  let place = Math.ceil((4 + length) / 8) * 8;
  const arrays = (header.$arrays ?? []).map(({ dtype, shape }) => {
    const count = shape.reduce((a, b) => a * b, 1);
    const array = new { float32: Float32Array, int32: Int32Array, float64: Float64Array }[dtype](data, place, count);
    place = Math.ceil((place + array.byteLength) / 8) * 8;
    return array;
  });
  return { header, arrays };
}

const scenarios = {
  async "connects and answers heartbeats"() {
    const socket = open({ heartbeatIntervalMs: 30 });
    await opened(socket);
    let beats = 0;
    await later("heartbeats", (resolve) =>
      socket.onMessage((message) => {
        if (message.topic === "phoenix" && message.event === "phx_reply") beats += 1;
        if (beats === 3) resolve();
      }),
    );
    check(socket.isConnected(), "the socket was closed");
    socket.disconnect();
  },

  async "joins and is answered"() {
    const socket = open();
    const response = await joined(socket.channel("gpu:api"));
    check(response.events.includes("device:list"), "the answer lists no events");
    socket.disconnect();
  },

  async "a topic that does not exist is an error"() {
    const socket = open();
    const response = await refused(socket.channel("room:lobby").join());
    check(response.reason === "unmatched topic", JSON.stringify(response));
    socket.disconnect();
  },

  async "pushes are answered"() {
    const socket = open();
    const channel = socket.channel("gpu:api");
    await joined(channel);
    const { devices } = await pushed(channel, "device:list", {});
    check(devices.some((device) => device.kind === "cpu"), "no CPU");
    const answers = await Promise.all(Array.from({ length: 8 }, () => pushed(channel, "device:list", {})));
    check(answers.length === 8, "answers are missing");
    socket.disconnect();
  },

  async "unknown events are errors with a reason"() {
    const socket = open();
    const channel = socket.channel("gpu:api");
    await joined(channel);
    const response = await refused(channel.push("device:destroy", {}));
    check(response.reason === "invalid-message", JSON.stringify(response));
    socket.disconnect();
  },

  async "broadcasts reach who joined"() {
    const socket = open();
    const channel = socket.channel("gpu:telemetry");
    const frame = heard(channel, "frame");
    const schema = await joined(channel);
    const payload = await frame;
    if (version === "1") {
      check(payload.values.length === schema.devices.length, "rows");
    } else {
      check(payload instanceof ArrayBuffer, "a frame is binary");
      check(payload.byteLength === 12 + 4 * schema.devices.length * schema.metrics.length, "its length");
      check(new DataView(payload).getFloat64(4, true) > 0, "its time");
    }
    socket.disconnect();
  },

  async "samples reach who subscribed"() {
    const socket = open();
    const channel = socket.channel("gpu:telemetry:0");
    await joined(channel);
    const sample = heard(channel, "telemetry_update");
    await pushed(channel, "subscribe", { coreType: "aura" });
    const { coreType, deviceId } = await sample;
    check(coreType === "aura" && deviceId === 0, "another sample");
    await pushed(channel, "unsubscribe", { coreType: "aura" });
    socket.disconnect();
  },

  async "leaving closes the channel, and it can be joined again"() {
    const socket = open();
    const channel = socket.channel("gpu:api");
    await joined(channel);
    const closed = later("close", (resolve) => channel.onClose(resolve));
    await later("leave", (resolve, reject) => channel.leave().receive("ok", resolve).receive("timeout", reject));
    await closed;
    const again = socket.channel("gpu:api");
    await joined(again);
    await pushed(again, "device:list", {});
    socket.disconnect();
  },

  async "a second join takes the place of the first"() {
    const socket = open();
    const first = socket.channel("gpu:api");
    await joined(first);
    const second = socket.channel("gpu:api");
    await joined(second);
    await pushed(second, "device:list", {});
    socket.disconnect();
  },

  async "many channels, and no more than the limit"() {
    const socket = open();
    await opened(socket);
    const names = Array.from({ length: 101 }, (_, index) => `gpu:telemetry:${"0".repeat(index + 1)}`);
    const results = await Promise.all(
      names.map((name) =>
        later("answer", (resolve) =>
          socket.channel(name).join().receive("ok", () => resolve("ok")).receive("error", ({ reason }) => resolve(reason)),
        ),
      ),
    );
    check(results.filter((result) => result === "ok").length === 100, `joined ${results.length}`);
    check(results.at(-1) === "too many channels joined", results.at(-1));
    socket.disconnect();
  },

  async "joins again after the connection was lost"() {
    const socket = open();
    const channel = socket.channel("gpu:api");
    await joined(channel);
    const again = later("rejoin", (resolve) => channel.joinPush.receive("ok", resolve));
    socket.conn.close(4000, "lost");
    await again;
    await later("answer", (resolve, reject) => {
      const ask = () => channel.push("device:list", {}).receive("ok", resolve).receive("timeout", reject);
      channel.state === "joined" ? ask() : channel.joinPush.receive("ok", ask);
    });
    socket.disconnect();
  },

  async "a client with a logger understands every message"() {
    const lines = [];
    const socket = open({ logger: (kind, message) => lines.push(`${kind} ${message}`) });
    const channel = socket.channel("gpu:telemetry");
    const frame = heard(channel, "frame");
    await joined(channel);
    await frame;
    await later("leave", (resolve) => channel.leave().receive("ok", resolve));
    check(lines.some((line) => line.startsWith("receive")), "nothing was logged");
    socket.disconnect();
  },
};

if (version === "2") {
  scenarios["typed arrays travel in binary both ways"] = async () => {
    const socket = open();
    const channel = socket.channel("gpu:api");
    await joined(channel);
    const source =
      "__global__ void twice(const float* x, float* y, int n)" +
      " { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }";
    const { kernelHandle } = await pushed(channel, "kernel:compile", { coreType: "aura", source });
    const count = 1000;
    const x = Float32Array.from({ length: count }, (_, index) => index);
    const args = [{ $array: 0 }, { $zeros: { dtype: "float32", shape: [count] } }, count];
    const payload = pack({ kernelHandle, args }, [x]);
    if (!token) {
      const { reason } = await refused(channel.push("kernel:execute", payload));
      check(reason === "not-permitted", reason);
    } else {
      const { header, arrays } = unpack(await pushed(channel, "kernel:execute", payload));
      check(header.result.output.$array === 0 && header.result.written[0] === 1, JSON.stringify(header.result));
      check(arrays[0].length === count && arrays[0].every((value, index) => value === 2 * index), "wrong values");
      const text = { kernelHandle, args: [Array.from(x), args[1], count] };
      const { result } = await pushed(channel, "kernel:execute", text);
      check(result.output[999] === 1998, "wrong values in text");
    }
    socket.disconnect();
  };
}

// The client of 1.7 has no such option.
if (token && packageName === "phoenix") {
  scenarios["the auth token travels as a sub-protocol"] = async () => {
    const socket = open({ params: {}, authToken: token });
    await joined(socket.channel("gpu:api"));
    socket.disconnect();
  };
}

let failures = 0;
for (const [name, run] of Object.entries(scenarios)) {
  let error = null;
  try {
    await run();
  } catch (caught) {
    error = caught.stack ?? String(caught);
    failures += 1;
  }
  console.log(JSON.stringify({ name, error }));
}
process.exit(failures ? 1 : 0);
