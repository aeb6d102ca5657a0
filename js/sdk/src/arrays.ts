/** Arrays with a dtype and a shape; bfloat16 and float16 as their bits, because JavaScript has no such numbers. */

import type { Dtype } from "./generated/dtypes.js";
import { InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError } from "./generated/errors.js";

export type { Dtype } from "./generated/dtypes.js";

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

interface TypedArrayConstructor {
  new (buffer: ArrayBuffer, byteOffset: number, length: number): TypedArray;
  readonly BYTES_PER_ELEMENT: number;
}

const CONSTRUCTORS: Readonly<Record<Dtype, TypedArrayConstructor>> = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** More dimensions than NumPy has (64) cannot be meant. */
const MAX_DIMENSIONS = 64;

/** Whether the server has arrays of this dtype. */
export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(CONSTRUCTORS, name);
}

/** Bytes of one element. */
export function itemBytes(dtype: Dtype): number {
  return CONSTRUCTORS[dtype].BYTES_PER_ELEMENT;
}

/** A view of `count` elements in a buffer. */
export function viewOf(dtype: Dtype, buffer: ArrayBuffer, byteOffset: number, count: number): TypedArray {
  return new CONSTRUCTORS[dtype](buffer, byteOffset, count);
}

/** The dtype of a typed array; `Uint8ClampedArray` and the like have none. */
function dtypeOf(data: TypedArray): Dtype {
  for (const [name, kind] of Object.entries(CONSTRUCTORS)) {
    if (name !== "bool" && data.constructor === kind && isDtype(name)) {
      return name;
    }
  }
  const name: string = (data as object).constructor.name;
  throw new UnsupportedDtypeError(`${name} has no dtype here; use one of ${Object.keys(CONSTRUCTORS).join(", ")}`);
}

/** An array in C order. */
export class Tensor {
  /**
   * @param data The elements; kept, not copied.
   * @param shape Its product is the number of elements.
   * @param dtype Says what the elements are; `data` must have elements of that kind (Uint16Array for float16 and bfloat16).
   */
  constructor(
    readonly data: TypedArray,
    readonly shape: readonly number[],
    readonly dtype: Dtype,
  ) {
    if (data.constructor !== CONSTRUCTORS[dtype]) {
      throw new UnsupportedDtypeError(
        `${dtype} is kept in a ${CONSTRUCTORS[dtype].name}, not a ${data.constructor.name}`,
      );
    }
    const count = elementCount(shape);
    if (count !== data.length) {
      throw new ShapeMismatchError(`an array of ${data.length} elements has not the shape [${shape.join(", ")}]`);
    }
  }

  /** Rows of numbers from a matrix of float32, float64 or small integers. */
  toRows(): number[][] {
    const [rows, columns] = this.shape;
    if (this.shape.length !== 2 || rows === undefined || columns === undefined) {
      throw new ShapeMismatchError(
        `an array of shape [${this.shape.join(", ")}] has no rows; a matrix has two dimensions`,
      );
    }
    return Array.from({ length: rows }, (_, row) =>
      Array.from(this.data.subarray(row * columns, (row + 1) * columns) as Iterable<number | bigint>, Number),
    );
  }
}

/** Number of elements of a shape. Throws `InvalidArgumentError` where one is not a whole number from 0 on, or all are too many. */
export function elementCount(shape: readonly number[]): number {
  if (shape.length > MAX_DIMENSIONS) {
    throw new InvalidArgumentError(`an array has ${shape.length} dimensions; at most ${MAX_DIMENSIONS} are possible`);
  }
  let count = 1;
  for (const length of shape) {
    if (!Number.isSafeInteger(length) || length < 0) {
      throw new InvalidArgumentError(`[${shape.join(", ")}] is not a shape: ${length} is not a whole number from 0 on`);
    }
    count *= length;
  }
  if (!Number.isSafeInteger(count)) {
    throw new InvalidArgumentError(`an array of the shape [${shape.join(", ")}] has too many elements`);
  }
  return count;
}

/** A `Tensor` of a typed array: its dtype follows from the array unless it is said, its shape is one dimension unless it is said. */
export function tensor(
  data: TypedArray,
  options: { readonly shape?: readonly number[]; readonly dtype?: Dtype } = {},
): Tensor {
  return new Tensor(data, options.shape ?? [data.length], options.dtype ?? dtypeOf(data));
}

/** A matrix of float32 (or float64) from rows of numbers. Throws `ShapeMismatchError` when they are not equally long. */
export function fromRows(rows: readonly (readonly number[])[], dtype: "float32" | "float64" = "float32"): Tensor {
  const columns = rows[0]?.length ?? 0;
  const data = dtype === "float32" ? new Float32Array(rows.length * columns) : new Float64Array(rows.length * columns);
  for (const [index, row] of rows.entries()) {
    if (row.length !== columns) {
      throw new ShapeMismatchError(`row ${index} has ${row.length} numbers and row 0 has ${columns}`);
    }
    data.set(row, index * columns);
  }
  return new Tensor(data, [rows.length, columns], dtype);
}

/** Bits of the nearest bfloat16 numbers, ties to even; NaN stays NaN. */
export function toBfloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return Uint16Array.from(bits, (word) => {
    if ((word & 0x7fff_ffff) > 0x7f80_0000) {
      return (word >>> 16) | 0x40;
    }
    return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  });
}

/** The numbers of bfloat16 bits, exactly. */
export function fromBfloat16(bits: Uint16Array): Float32Array {
  return new Float32Array(Uint32Array.from(bits, (word) => word << 16).buffer);
}
