import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeMessage, encodePush, InvalidArgumentError, InvalidMessageError } from "../src/index.js";
import { Random } from "./support/random.js";

function bytes(...parts: (number | string)[]): ArrayBuffer {
  const list = parts.flatMap((part) => (typeof part === "number" ? [part] : [...new TextEncoder().encode(part)]));
  return Uint8Array.from(list).buffer;
}

function hex(data: string | ArrayBuffer): string {
  assert.ok(data instanceof ArrayBuffer);
  return Buffer.from(data).toString("hex");
}

test("a binary push has the bytes of the protocol page", () => {
  const payload = bytes(1);
  const data = encodePush({ joinRef: "0", ref: "1", topic: "t", event: "e", payload });
  assert.equal(hex(data), "00010101013031746501");
});

test("a binary push counts UTF-8 bytes, not characters", () => {
  const data = encodePush({ joinRef: null, ref: "1", topic: "é", event: "e", payload: bytes(7) });
  assert.equal(hex(data), hex(bytes(0, 0, 1, 2, 1, "1ée", 7)));
});

test("a binary push refuses text that its one-byte lengths cannot hold", () => {
  const push = (topic: string) => encodePush({ joinRef: "1", ref: "2", topic, event: "e", payload: bytes() });
  assert.throws(() => push("é".repeat(128)), {
    constructor: InvalidArgumentError,
    message: /topic .* 256 bytes; 255 fit/,
  });
  assert.equal((push("x".repeat(255)) as ArrayBuffer).byteLength, 5 + 2 + 255 + 1);
});

test("a text push is a list of five", () => {
  const data = encodePush({ joinRef: null, ref: "6", topic: "phoenix", event: "heartbeat", payload: {} });
  assert.equal(data, '[null,"6","phoenix","heartbeat",{}]');
});

test("a binary reply is read from the bytes of the protocol page", () => {
  const message = decodeMessage(bytes(1, 3, 2, 3, 2, "100", "12", "top", "ok", 1));
  assert.equal(message.kind, "reply");
  const { response, ...rest } = message as Extract<typeof message, { kind: "reply" }>;
  assert.deepEqual(rest, { kind: "reply", joinRef: "100", ref: "12", topic: "top", status: "ok" });
  assert.equal(hex(response as ArrayBuffer), "01");
});

test("a broadcast is read from the bytes of the protocol page", () => {
  const message = decodeMessage(bytes(2, 3, 10, "top", "some-event", 1));
  const { payload, ...rest } = message as Extract<typeof message, { kind: "event" }>;
  assert.deepEqual(rest, { kind: "event", joinRef: null, ref: null, topic: "top", event: "some-event" });
  assert.equal(hex(payload as ArrayBuffer), "01");
});

test("a push of the server has no ref", () => {
  const message = decodeMessage(bytes(0, 1, 1, 2, "3", "t", "ev", 9, 8));
  const { payload, ...rest } = message as Extract<typeof message, { kind: "event" }>;
  assert.deepEqual(rest, { kind: "event", joinRef: "3", ref: null, topic: "t", event: "ev" });
  assert.equal(hex(payload as ArrayBuffer), "0908");
});

test("text replies and events are told apart", () => {
  assert.deepEqual(decodeMessage('["3","4","t","phx_reply",{"status":"ok","response":{"a":1}}]'), {
    kind: "reply",
    joinRef: "3",
    ref: "4",
    topic: "t",
    status: "ok",
    response: { a: 1 },
  });
  assert.deepEqual(decodeMessage('[null,null,"t","e",{},"ignored"]'), {
    kind: "event",
    joinRef: null,
    ref: null,
    topic: "t",
    event: "e",
    payload: {},
  });
});

const DAMAGED: (string | ArrayBuffer)[] = [
  "",
  "nonsense",
  "{}",
  "null",
  "[]",
  '["1","2","t","e"]',
  '[1,"2","t","e",{}]',
  '["1",2,"t","e",{}]',
  '["1","2",null,"e",{}]',
  '["1","2","t",null,{}]',
  '["1","2","t","e",null]',
  '["1","2","t","e",[]]',
  '["1","2","t","phx_reply",{}]',
  '["1","2","t","phx_reply",{"status":"ok"}]',
  '["1","2","t","phx_reply",{"status":1,"response":{}}]',
  bytes(),
  bytes(0),
  bytes(3, 1, 1, "ab"),
  bytes(255),
  bytes(2, 3),
  bytes(2, 3, 1, "to"),
  bytes(2, 1, 1, 0xff, "e"),
  bytes(1, 255, 255, 255, 255),
];

for (const [index, damaged] of DAMAGED.entries()) {
  test(`damaged message ${index} is refused with a clear error`, () => {
    assert.throws(
      () => decodeMessage(damaged),
      (error: unknown) => {
        assert.ok(error instanceof InvalidMessageError);
        assert.equal(error.kind, "invalid-message");
        assert.ok(error.message.length > 10);
        return true;
      },
    );
  });
}

test("any bytes are read, or refused with InvalidMessageError", () => {
  const random = new Random(1);
  let read = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const data = random.bytes(random.below(40));
    data[0] = random.below(4);
    for (let index = 1; index < Math.min(5, data.length); index += 1) {
      data[index] = random.below(12);
    }
    try {
      decodeMessage(data.buffer);
      read += 1;
    } catch (error) {
      assert.ok(error instanceof InvalidMessageError, String(error));
    }
  }
  assert.ok(read > 100, `${read} of the random messages were whole`);
});

test("a pushed message comes back as it was when a server sends it on", () => {
  const random = new Random(2);
  for (let round = 0; round < 2000; round += 1) {
    const [joinRef, topic, event] = [random.text(20) || "1", random.text(40), random.text(40)];
    const payload = random.bytes(random.below(100));
    const pushed = new Uint8Array(
      encodePush({ joinRef, ref: "", topic, event, payload: payload.buffer }) as ArrayBuffer,
    );
    // The server's push is the client's without the length of ref.
    const sent = Uint8Array.from([0, ...pushed.subarray(1, 2), ...pushed.subarray(3)]);
    const message = decodeMessage(sent.buffer);
    assert.ok(message.kind === "event" && message.payload instanceof ArrayBuffer);
    assert.deepEqual([message.joinRef, message.topic, message.event], [joinRef, topic, event]);
    assert.deepEqual(new Uint8Array(message.payload), payload);
  }
});

test("text survives JSON whatever characters it has", () => {
  const random = new Random(3);
  for (let round = 0; round < 2000; round += 1) {
    const [topic, event, value] = [random.text(20), `x${random.text(20)}`, random.text(20)];
    const message = decodeMessage(encodePush({ joinRef: null, ref: null, topic, event, payload: { value } }));
    assert.deepEqual(message, { kind: "event", joinRef: null, ref: null, topic, event, payload: { value } });
  }
});
