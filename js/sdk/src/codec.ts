/**
 * Phoenix Channels V2 messages as text and bytes.
 *
 * Text is `[join_ref, ref, topic, event, payload]`. Binary messages start with their kind and the UTF-8 lengths, one byte each, of
 * what follows. Source: the Phoenix Channels V2 protocol, as the serializers of the server and of the npm package `phoenix` speak it.
 */

import { InvalidArgumentError, InvalidMessageError } from "./generated/errors.js";
import { isObject, type JsonObject, type JsonValue } from "./json.js";

/** What a message carries: an object, or bytes. */
export type Payload = JsonObject | ArrayBuffer;

/** From client to server. */
export interface PushMessage {
  readonly joinRef: string | null;
  readonly ref: string | null;
  readonly topic: string;
  readonly event: string;
  readonly payload: Payload;
}

/** An event from the server; `joinRef` is null in broadcasts. */
export interface EventMessage {
  readonly kind: "event";
  readonly joinRef: string | null;
  readonly ref: string | null;
  readonly topic: string;
  readonly event: string;
  readonly payload: Payload;
}

/** The server's answer to the push with the same `ref`. */
export interface ReplyMessage {
  readonly kind: "reply";
  readonly joinRef: string | null;
  readonly ref: string | null;
  readonly topic: string;
  readonly status: string;
  readonly response: Payload;
}

export type ServerMessage = EventMessage | ReplyMessage;

const PUSH = 0;
const REPLY = 1;
const BROADCAST = 2;
/** Lengths are one byte. */
const MAX_FIELD_BYTES = 255;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The message as a WebSocket sends it: text, or bytes if its payload is bytes. */
export function encodePush(message: PushMessage): string | ArrayBuffer {
  if (!(message.payload instanceof ArrayBuffer)) {
    return JSON.stringify([message.joinRef, message.ref, message.topic, message.event, message.payload]);
  }
  const names = ["join_ref", "ref", "topic", "event"] as const;
  const fields = [message.joinRef ?? "", message.ref ?? "", message.topic, message.event].map((text) =>
    encoder.encode(text),
  );
  for (const [index, field] of fields.entries()) {
    if (field.length > MAX_FIELD_BYTES) {
      throw new InvalidArgumentError(
        `the ${names[index]} of a binary message has ${field.length} bytes; ${MAX_FIELD_BYTES} fit`,
      );
    }
  }
  const header = 1 + fields.length;
  const total = fields.reduce((sum, field) => sum + field.length, header);
  const bytes = new Uint8Array(total + message.payload.byteLength);
  bytes[0] = PUSH;
  let offset = header;
  for (const [index, field] of fields.entries()) {
    bytes[1 + index] = field.length;
    bytes.set(field, offset);
    offset += field.length;
  }
  bytes.set(new Uint8Array(message.payload), offset);
  return bytes.buffer;
}

/**
 * A message of the server.
 *
 * Throws `InvalidMessageError` for anything that is none; never anything else.
 */
export function decodeMessage(data: string | ArrayBuffer): ServerMessage {
  return typeof data === "string" ? decodeText(data) : decodeBinary(data);
}

function decodeText(text: string): ServerMessage {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (cause) {
    throw new InvalidMessageError("a text message is not JSON", { cause });
  }
  if (!Array.isArray(list) || list.length < 5) {
    throw new InvalidMessageError("a text message is not a list [join_ref, ref, topic, event, payload]");
  }
  const [joinRef, ref, topic, event, payload] = list as JsonValue[];
  if (!isReference(joinRef) || !isReference(ref)) {
    throw new InvalidMessageError("join_ref and ref of a message are text or null");
  }
  if (typeof topic !== "string" || typeof event !== "string") {
    throw new InvalidMessageError("topic and event of a message are text");
  }
  if (!isObject(payload)) {
    throw new InvalidMessageError(`the payload of ${event} on ${topic} is not an object`);
  }
  if (event !== "phx_reply") {
    return { kind: "event", joinRef, ref, topic, event, payload };
  }
  const { status, response } = payload;
  if (typeof status !== "string" || !isObject(response)) {
    throw new InvalidMessageError(`a reply on ${topic} has no status or no response`);
  }
  return { kind: "reply", joinRef, ref, topic, status, response };
}

function isReference(value: JsonValue | undefined): value is string | null {
  return value === null || typeof value === "string";
}

function decodeBinary(data: ArrayBuffer): ServerMessage {
  const bytes = new Uint8Array(data);
  switch (bytes[0]) {
    case PUSH: {
      const [[joinRef, topic, event], payload] = split(data, 3);
      return { kind: "event", joinRef: joinRef || null, ref: null, topic, event, payload };
    }
    case REPLY: {
      const [[joinRef, ref, topic, status], response] = split(data, 4);
      return { kind: "reply", joinRef: joinRef || null, ref: ref || null, topic, status, response };
    }
    case BROADCAST: {
      const [[topic, event], payload] = split(data, 2);
      return { kind: "event", joinRef: null, ref: null, topic, event, payload };
    }
    case undefined:
      throw new InvalidMessageError("a binary message is empty");
    default:
      throw new InvalidMessageError(`a binary message has the unknown kind ${bytes[0]}`);
  }
}

type Fields<N extends 2 | 3 | 4> = N extends 2
  ? [string, string]
  : N extends 3
    ? [string, string, string]
    : [string, string, string, string];

/** The text fields after the kind, and the bytes after them as a buffer of their own. */
function split<N extends 2 | 3 | 4>(data: ArrayBuffer, count: N): [Fields<N>, ArrayBuffer] {
  const bytes = new Uint8Array(data);
  let offset = 1 + count;
  if (bytes.length < offset) {
    throw new InvalidMessageError(`a binary message of ${bytes.length} bytes ends within its lengths`);
  }
  const fields: string[] = [];
  for (const length of bytes.subarray(1, offset)) {
    if (offset + length > bytes.length) {
      throw new InvalidMessageError(`a binary message of ${bytes.length} bytes ends within its text`);
    }
    try {
      fields.push(decoder.decode(bytes.subarray(offset, offset + length)));
    } catch (cause) {
      throw new InvalidMessageError("a binary message has text that is not UTF-8", { cause });
    }
    offset += length;
  }
  return [fields as Fields<N>, data.slice(offset)];
}
