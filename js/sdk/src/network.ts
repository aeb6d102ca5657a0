/** Layered networks as a function. */

import { Tensor } from "./arrays.js";
import { InvalidArgumentError, InvalidHandleError, ShapeMismatchError } from "./generated/errors.js";
import { openWorker, type WorkerOptions } from "./matrix.js";
import { CoreType, type DeviceInfo, type NetworkOptions } from "./types.js";

/** Answers; `close()` lets the server forget the network and ends its connection. */
export interface NeuralNetwork {
  (input: number[]): Promise<number[]>;
  /** The same for an array of one input, or of rows of inputs. */
  forward(input: Tensor): Promise<Tensor>;
  readonly device: DeviceInfo;
  close(): Promise<void>;
}

/**
 * A function that runs a layered network on a server.
 *
 * @param architecture Sizes of the layers, inputs first.
 * @param activationFunction Of the hidden layers: relu, sigmoid, tanh, gelu, silu, softplus, elu, leaky_relu, identity.
 * @param options Weights and biases, or the seed that they are drawn from. A server that was restarted gets the network again.
 */
export async function createNeuralNetwork(
  architecture: number[],
  activationFunction: string = "relu",
  options: WorkerOptions & NetworkOptions = {},
): Promise<NeuralNetwork> {
  const inputs = architecture[0];
  if (architecture.length < 2 || inputs === undefined) {
    throw new InvalidArgumentError(`a network has at least two layers; [${architecture.join(", ")}] names fewer`);
  }
  const { client, device, close: closeClient } = await openWorker(CoreType.NEUROMORPHIC, options);
  const { outputActivation, seed, weights, biases } = options;
  const details = Object.fromEntries(
    Object.entries({ deviceId: device.id, outputActivation, seed, weights, biases }).filter(
      ([, value]) => value !== undefined,
    ),
  ) as NetworkOptions;
  const create = () => client.createNetwork(architecture, activationFunction, details);
  let handle: string;
  let renewal: Promise<string> | null = null;
  try {
    handle = await create();
  } catch (error) {
    closeClient();
    throw error;
  }
  // Several calls that find the network gone make one new network.
  const renew = async (): Promise<string> => {
    renewal ??= create();
    try {
      handle = await renewal;
    } finally {
      renewal = null;
    }
    return handle;
  };

  const forward = async (input: Tensor): Promise<Tensor> => {
    const current = handle;
    try {
      return await client.forwardNetwork(current, input);
    } catch (error) {
      if (!(error instanceof InvalidHandleError)) {
        throw error;
      }
      return client.forwardNetwork(handle === current ? await renew() : handle, input);
    }
  };
  const forwardOne = async (input: number[]): Promise<number[]> => {
    if (input.length !== inputs) {
      throw new ShapeMismatchError(`the network has ${inputs} inputs, and ${input.length} numbers were given`);
    }
    const output = await forward(new Tensor(Float32Array.from(input), [1, inputs], "float32"));
    return Array.from(output.data as Float32Array);
  };
  const close = async (): Promise<void> => {
    try {
      await client.closeNetwork(handle);
    } finally {
      closeClient();
    }
  };
  return Object.assign(forwardOne, { forward, device, close });
}
