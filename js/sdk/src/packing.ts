/**
 * Payloads with arrays, as bytes.
 *
 * `u32 header bytes, header (JSON, UTF-8), zeros to a multiple of 8, array 0, zeros to a multiple of 8, array 1 …`, little endian. The
 * header is the payload with `{"$array": i}` in the place of each array, and `"$arrays": [{"dtype", "shape"}, …]`.
 */

import { elementCount, isDtype, itemBytes, Tensor, viewOf } from "./arrays.js";
import { InvalidArgumentError, InvalidMessageError } from "./generated/errors.js";
import { isObject, type JsonObject, type JsonValue, readCount, readList, readObject, readString } from "./json.js";

/** What a request may hold: JSON with arrays, and the numbers that JSON has not. */
export type Packable =
  | null
  | boolean
  | number
  | bigint
  | string
  | Tensor
  | readonly Packable[]
  | { readonly [key: string]: Packable | undefined };

/** What an answer may hold. */
export type Unpacked = null | boolean | number | string | Tensor | Unpacked[] | { [key: string]: Unpacked };

const ALIGNMENT = 8;
/** Deeper than any request; a cycle ends here. */
const MAX_DEPTH = 32;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

function aligned(offset: number): number {
  return Math.ceil(offset / ALIGNMENT) * ALIGNMENT;
}

/** The value as JSON text, and its arrays apart. Written by hand, because `JSON.stringify` refuses whole numbers of 64 bits. */
function toText(value: Packable, arrays: Tensor[], depth: number): string {
  if (depth > MAX_DEPTH) {
    throw new InvalidArgumentError(`a request is nested deeper than ${MAX_DEPTH} levels, or holds itself`);
  }
  if (value instanceof Tensor) {
    arrays.push(value);
    return `{"$array":${arrays.length - 1}}`;
  }
  if (typeof value === "bigint") {
    return value.toString();
  }
  if (typeof value === "number") {
    return Number.isFinite(value) ? JSON.stringify(value) : `{"$float":"${value}"}`;
  }
  if (value === null || typeof value !== "object") {
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    return `[${(value as readonly Packable[]).map((element) => toText(element, arrays, depth + 1)).join(",")}]`;
  }
  const entries = Object.entries(value).filter(([, element]) => element !== undefined) as [string, Packable][];
  return `{${entries.map(([key, element]) => `${JSON.stringify(key)}:${toText(element, arrays, depth + 1)}`).join(",")}}`;
}

/** A request as bytes; its answer comes as bytes too. */
export function pack(request: { readonly [key: string]: Packable | undefined }): ArrayBuffer {
  const arrays: Tensor[] = [];
  const text = toText(request, arrays, 0);
  const descriptions = JSON.stringify(arrays.map(({ dtype, shape }) => ({ dtype, shape })));
  const separator = text === "{}" ? "" : ",";
  const header = encoder.encode(`${text.slice(0, -1)}${separator}"$arrays":${descriptions}}`);
  let total = 4 + header.length;
  for (const { data } of arrays) {
    total = aligned(total) + data.byteLength;
  }
  const bytes = new Uint8Array(total);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(header, 4);
  let offset = 4 + header.length;
  for (const { data } of arrays) {
    offset = aligned(offset);
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
    offset += data.byteLength;
  }
  return bytes.buffer;
}

/**
 * The payload in bytes. Its arrays are views of `data`, not copies.
 *
 * Throws `InvalidMessageError` for bytes that are no packed payload; never anything else.
 */
export function unpack(data: ArrayBuffer): { [key: string]: Unpacked } {
  if (data.byteLength < 4) {
    throw new InvalidMessageError(`a packed message has ${data.byteLength} bytes; its length alone takes 4`);
  }
  const headerBytes = new DataView(data).getUint32(0, true);
  if (headerBytes > data.byteLength - 4) {
    throw new InvalidMessageError(`a packed message of ${data.byteLength} bytes announces a header of ${headerBytes}`);
  }
  let header: JsonObject;
  try {
    header = readObject(JSON.parse(decoder.decode(new Uint8Array(data, 4, headerBytes))), "header of a packed message");
  } catch (cause) {
    throw cause instanceof InvalidMessageError
      ? cause
      : new InvalidMessageError("the header of a packed message is not JSON", { cause });
  }
  const { $arrays: descriptions = [], ...payload } = header;
  const arrays = readArrays(data, 4 + headerBytes, readList(descriptions, "$arrays of a packed message"));
  return join(payload, arrays, 0) as { [key: string]: Unpacked };
}

function readArrays(data: ArrayBuffer, start: number, descriptions: JsonValue[]): Tensor[] {
  let offset = start;
  const arrays = descriptions.map((value, index) => {
    const description = readObject(value, `array ${index} of a packed message`);
    const dtype = readString(description["dtype"], `dtype of array ${index}`);
    if (!isDtype(dtype)) {
      throw new InvalidMessageError(`array ${index} has the unknown dtype ${dtype.slice(0, 60)}`);
    }
    const shape = readList(description["shape"], `shape of array ${index}`).map((length) =>
      readCount(length, `shape of array ${index}`),
    );
    offset = aligned(offset);
    const count = countOf(shape, index);
    if (count * itemBytes(dtype) > data.byteLength - offset) {
      throw new InvalidMessageError(`a packed message of ${data.byteLength} bytes ends within array ${index}`);
    }
    const array = new Tensor(viewOf(dtype, data, count === 0 ? 0 : offset, count), shape, dtype);
    offset += count * itemBytes(dtype);
    return array;
  });
  if (data.byteLength > aligned(offset)) {
    throw new InvalidMessageError(`${data.byteLength - offset} bytes are left after the arrays of a packed message`);
  }
  return arrays;
}

function countOf(shape: readonly number[], index: number): number {
  try {
    return elementCount(shape);
  } catch (cause) {
    throw new InvalidMessageError(`the shape of array ${index} is none`, { cause });
  }
}

function join(value: JsonValue, arrays: readonly Tensor[], depth: number): Unpacked {
  if (depth > MAX_DEPTH) {
    throw new InvalidMessageError(`a packed message is nested deeper than ${MAX_DEPTH} levels`);
  }
  if (Array.isArray(value)) {
    return value.map((element) => join(element, arrays, depth + 1));
  }
  if (!isObject(value)) {
    return value;
  }
  if (value["$array"] !== undefined) {
    const array = arrays[readCount(value["$array"], "$array")];
    if (array === undefined) {
      throw new InvalidMessageError(`a packed message refers to array ${String(value["$array"])} of ${arrays.length}`);
    }
    return array;
  }
  return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, join(element, arrays, depth + 1)]));
}
