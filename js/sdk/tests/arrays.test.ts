import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Dtype,
  fromBfloat16,
  fromRows,
  InvalidArgumentError,
  InvalidMessageError,
  type Packable,
  pack,
  ShapeMismatchError,
  Tensor,
  type TypedArray,
  tensor,
  toBfloat16,
  UnsupportedDtypeError,
  unpack,
} from "../src/index.js";
import { Random } from "./support/random.js";

const KINDS: readonly [Dtype, (length: number) => TypedArray][] = [
  ["bool", (length) => new Uint8Array(length)],
  ["int8", (length) => new Int8Array(length)],
  ["uint8", (length) => new Uint8Array(length)],
  ["int16", (length) => new Int16Array(length)],
  ["uint16", (length) => new Uint16Array(length)],
  ["int32", (length) => new Int32Array(length)],
  ["uint32", (length) => new Uint32Array(length)],
  ["int64", (length) => new BigInt64Array(length)],
  ["uint64", (length) => new BigUint64Array(length)],
  ["float16", (length) => new Uint16Array(length)],
  ["bfloat16", (length) => new Uint16Array(length)],
  ["float32", (length) => new Float32Array(length)],
  ["float64", (length) => new Float64Array(length)],
];

function bits(data: TypedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** A packed message whose header is this text. */
function packed(header: string, ...rest: number[]): ArrayBuffer {
  const text = new TextEncoder().encode(header);
  const bytes = new Uint8Array(4 + text.length + rest.length);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  bytes.set(rest, 4 + text.length);
  return bytes.buffer;
}

test("the layout is a length, a header, and arrays on multiples of eight", () => {
  const data = pack({ a: tensor(Uint8Array.of(1, 2, 3)), b: tensor(Float32Array.of(1.5)) });
  const header =
    '{"a":{"$array":0},"b":{"$array":1},"$arrays":[{"dtype":"uint8","shape":[3]},{"dtype":"float32","shape":[1]}]}';
  const view = new DataView(data);
  assert.equal(view.getUint32(0, true), header.length);
  assert.equal(new TextDecoder().decode(data.slice(4, 4 + header.length)), header);
  const start = Math.ceil((4 + header.length) / 8) * 8;
  assert.deepEqual([...new Uint8Array(data, start, 8)], [1, 2, 3, 0, 0, 0, 0, 0]);
  assert.equal(view.getFloat32(start + 8, true), 1.5);
  assert.equal(data.byteLength, start + 12);
});

test("every dtype and shape comes back with its bits", () => {
  const random = new Random(6);
  for (let round = 0; round < 1000; round += 1) {
    const arrays = Array.from({ length: random.below(5) }, () => {
      const [dtype, make] = random.pick(KINDS);
      const shape = Array.from({ length: random.below(4) }, () => random.below(5));
      const data = make(shape.reduce((product, length) => product * length, 1));
      bits(data).set(random.bytes(data.byteLength));
      return new Tensor(data, shape, dtype);
    });
    const answer = unpack(pack({ list: arrays, deep: { first: arrays[0] ?? null }, text: random.text(30) }));
    const list = answer["list"] as Tensor[];
    assert.equal(list.length, arrays.length);
    for (const [index, array] of arrays.entries()) {
      const copy = list[index] as Tensor;
      assert.deepEqual([copy.dtype, copy.shape], [array.dtype, array.shape]);
      assert.deepEqual(bits(copy.data), bits(array.data));
    }
  }
});

test("arrays of an answer are views of it", () => {
  const data = pack({ a: tensor(Float64Array.of(1, 2, 3)) });
  assert.equal((unpack(data)["a"] as Tensor).data.buffer, data);
});

test("a part of a larger array is sent alone", () => {
  const whole = Float32Array.of(1, 2, 3, 4, 5);
  const answer = unpack(pack({ a: tensor(whole.subarray(1, 3)) }));
  assert.deepEqual([...((answer["a"] as Tensor).data as Float32Array)], [2, 3]);
});

test("numbers that JSON has not are sent all the same", () => {
  const data = pack({ big: 18446744073709551615n, small: -9223372036854775808n, nan: Number.NaN, low: -Infinity });
  const length = new DataView(data).getUint32(0, true);
  assert.equal(
    new TextDecoder().decode(data.slice(4, 4 + length)),
    '{"big":18446744073709551615,"small":-9223372036854775808,"nan":{"$float":"NaN"},"low":{"$float":"-Infinity"},"$arrays":[]}',
  );
});

test("what is undefined is left out, and an empty request has a header too", () => {
  assert.deepEqual(unpack(pack({ a: undefined, b: 1 })), { b: 1 });
  assert.deepEqual(unpack(pack({})), {});
});

test("a request that holds itself is refused", () => {
  const loop: { self?: Packable } = {};
  loop.self = loop as Packable;
  assert.throws(() => pack(loop), { constructor: InvalidArgumentError, message: /holds itself/ });
});

const DAMAGED: readonly [string, ArrayBuffer][] = [
  ["nothing", new ArrayBuffer(0)],
  ["three bytes", new ArrayBuffer(3)],
  ["a header past the end", Uint8Array.of(200, 0, 0, 0, 123, 125).buffer],
  ["a header of 4 GiB", Uint8Array.of(255, 255, 255, 255).buffer],
  ["a header that is not JSON", packed("{")],
  ["a header that is a list", packed("[]")],
  ["a header that is not UTF-8", Uint8Array.of(1, 0, 0, 0, 255).buffer],
  ["arrays that are no list", packed('{"$arrays":{}}')],
  ["an unknown dtype", packed('{"$arrays":[{"dtype":"complex64","shape":[1]}]}')],
  ["a dtype of every object", packed('{"$arrays":[{"dtype":"constructor","shape":[1]}]}')],
  ["a negative shape", packed('{"$arrays":[{"dtype":"int8","shape":[-1]}]}')],
  ["a broken shape", packed('{"$arrays":[{"dtype":"int8","shape":[1.5]}]}')],
  ["a huge shape", packed('{"$arrays":[{"dtype":"int8","shape":[4294967296,4294967296]}]}')],
  ["a shape of 65 dimensions", packed(`{"$arrays":[{"dtype":"int8","shape":[${Array(65).fill(1).join(",")}]}]}`)],
  ["an array past the end", packed('{"$arrays":[{"dtype":"float64","shape":[1000]}]}')],
  ["a reference to no array", packed('{"a":{"$array":0},"$arrays":[]}')],
  ["a reference that is no number", packed('{"a":{"$array":"0"},"$arrays":[]}')],
  ["bytes after the arrays", packed('{"a":1}', ...Array<number>(20).fill(1))],
  ["a deep header", packed(`{"a":${"[".repeat(40)}${"]".repeat(40)}}`)],
];

for (const [name, data] of DAMAGED) {
  test(`${name} is refused with InvalidMessageError`, () => {
    assert.throws(() => unpack(data), InvalidMessageError);
  });
}

test("a packed message with any byte changed is read, or refused with InvalidMessageError", () => {
  const random = new Random(7);
  const whole = pack({ a: tensor(Float32Array.of(1, 2, 3)), b: [1, { c: tensor(Int8Array.of(1)) }] });
  let read = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const bytes = new Uint8Array(whole.slice(0, random.below(4) === 0 ? random.below(whole.byteLength) : undefined));
    for (let change = random.below(3); change >= 0 && bytes.length > 0; change -= 1) {
      bytes[random.below(bytes.length)] = random.below(256);
    }
    try {
      unpack(bytes.buffer);
      read += 1;
    } catch (error) {
      assert.ok(error instanceof InvalidMessageError, String(error));
    }
  }
  assert.ok(read > 1000 && read < 19_000, `${read} were read`);
});

test("arrays know their dtype, and say what does not fit", () => {
  assert.equal(tensor(new Float32Array(2)).dtype, "float32");
  assert.equal(tensor(new BigInt64Array(2)).dtype, "int64");
  assert.equal(tensor(new Uint16Array(2)).dtype, "uint16");
  assert.equal(tensor(new Uint16Array(2), { dtype: "bfloat16" }).dtype, "bfloat16");
  assert.throws(() => tensor(new Float32Array(2), { dtype: "bfloat16" }), UnsupportedDtypeError);
  assert.throws(() => tensor(new Uint8ClampedArray(2) as unknown as Uint8Array), UnsupportedDtypeError);
  assert.throws(() => tensor(new Float32Array(6), { shape: [2, 2] }), ShapeMismatchError);
  assert.throws(() => tensor(new Float32Array(6), { shape: [-2, -3] }), InvalidArgumentError);
});

test("rows become a matrix and come back", () => {
  const rows = [
    [1, 2, 3],
    [4, 5, 6],
  ];
  assert.deepEqual(fromRows(rows).toRows(), rows);
  assert.deepEqual(fromRows(rows, "float64").shape, [2, 3]);
  assert.deepEqual(fromRows([]).shape, [0, 0]);
  assert.throws(() => fromRows([[1, 2], [3]]), {
    constructor: ShapeMismatchError,
    message: /row 1 has 1 numbers and row 0 has 2/,
  });
  assert.throws(() => tensor(new Float32Array(3)).toRows(), ShapeMismatchError);
});

test("bfloat16 is rounded to the nearest, ties to even", () => {
  const cases: [number, number][] = [
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3f80],
    [-2.5, 0xc020],
    [1 + 2 ** -8, 0x3f80],
    [1 + 3 * 2 ** -8, 0x3f82],
    [1 + 2 ** -8 + 2 ** -16, 0x3f81],
    [3.4028234663852886e38, 0x7f80],
    [Infinity, 0x7f80],
    [-Infinity, 0xff80],
  ];
  for (const [value, expected] of cases) {
    assert.equal(toBfloat16(Float32Array.of(value))[0], expected, String(value));
  }
  assert.ok(Number.isNaN(fromBfloat16(toBfloat16(Float32Array.of(Number.NaN)))[0]));
});

test("every bfloat16 comes back from float32 with its bits", () => {
  const all = Uint16Array.from({ length: 65_536 }, (_, index) => index);
  const back = toBfloat16(fromBfloat16(all));
  for (const [index, word] of all.entries()) {
    const isNaNBits = (word & 0x7fff) > 0x7f80;
    assert.equal(back[index], isNaNBits ? word | 0x40 : word);
  }
});
