/** Products of matrices as a function. */

import { fromRows, type Tensor } from "./arrays.js";
import { AMDGPUClient, type ClientOptions, DEFAULT_URL } from "./client.js";
import { DeviceNotFoundError, ShapeMismatchError } from "./generated/errors.js";
import { CoreType, type DeviceInfo } from "./types.js";

/** Where the work is done. */
export interface WorkerOptions extends ClientOptions {
  readonly serverUrl?: string;
  /** A client that is connected already; it stays open when the function is closed. */
  readonly client?: AMDGPUClient;
  readonly deviceId?: number;
}

/** Multiplies; `close()` ends its connection. */
export interface MatrixMultiplier {
  (a: number[][], b: number[][]): Promise<number[][]>;
  /** The same for arrays, which are neither copied into lists nor limited to one size. */
  multiply(a: Tensor, b: Tensor): Promise<Tensor>;
  readonly device: DeviceInfo;
  close(): void;
}

/** A connected client, the opened device, and what closes the client if it was made here. */
export async function openWorker(
  coreType: CoreType,
  options: WorkerOptions,
): Promise<{ client: AMDGPUClient; device: DeviceInfo; close: () => void }> {
  const client = options.client ?? new AMDGPUClient(options.serverUrl ?? DEFAULT_URL, options);
  const close = () => (options.client === undefined ? client.close() : undefined);
  try {
    await client.connect();
    const devices = await client.listDevices();
    const wanted = options.deviceId ?? 0;
    const known = devices.find(({ id }) => id === wanted);
    if (known === undefined) {
      throw new DeviceNotFoundError(`the server has no device ${wanted}; it has ${devices.length}`);
    }
    return { client, device: await client.initializeDevice(known.id, [coreType]), close };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * A function that multiplies square matrices of one size on a server's matrix core.
 *
 * With "fp16" the numbers are rounded to half precision for the product, which adds up in single precision.
 */
export async function createMatrixMultiplier(
  matrixSize: number,
  precision: "fp32" | "fp16" = "fp32",
  options: WorkerOptions = {},
): Promise<MatrixMultiplier> {
  const { client, device, close } = await openWorker(CoreType.MATRIX, options);
  const multiply = (a: Tensor, b: Tensor) => client.matrixMultiply(a, b, { deviceId: device.id, precision });
  const multiplyRows = async (a: number[][], b: number[][]): Promise<number[][]> => {
    const product = await multiply(square(a, "a", matrixSize), square(b, "b", matrixSize));
    return product.toRows();
  };
  return Object.assign(multiplyRows, { multiply, device, close });
}

function square(rows: number[][], name: string, size: number): Tensor {
  const matrix = fromRows(rows);
  if (matrix.shape[0] !== size || matrix.shape[1] !== size) {
    throw new ShapeMismatchError(`${name} has the shape [${matrix.shape.join(", ")}], not [${size}, ${size}]`);
  }
  return matrix;
}
