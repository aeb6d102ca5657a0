/** Client of `amdgpu serve`. Everything public is exported from here. */

export {
  type Dtype,
  fromBfloat16,
  fromRows,
  Tensor,
  type TypedArray,
  tensor,
  toBfloat16,
} from "./arrays.js";
export { Channel, type ChannelState, type EventListener, type JoinListener } from "./channel.js";
export { AMDGPUClient, type ClientOptions, DEFAULT_URL } from "./client.js";
export {
  decodeMessage,
  type EventMessage,
  encodePush,
  type Payload,
  type PushMessage,
  type ReplyMessage,
  type ServerMessage,
} from "./codec.js";
export { AmdgpuError, type ErrorDetails } from "./error_base.js";
export {
  decodeFrame,
  FRAME_SCHEMA,
  type Frame,
  type FrameDevice,
  type FrameMetric,
  type FrameSchema,
  frameBytes,
  frameEpochMs,
  framesLost,
  frameValue,
  parseFrameSchema,
} from "./frames.js";
export * from "./generated/errors.js";
export * from "./generated/metrics.js";
export { VERSION } from "./generated/version.js";
export type { JsonObject, JsonValue } from "./json.js";
export { createMatrixMultiplier, type MatrixMultiplier, type WorkerOptions } from "./matrix.js";
export { createNeuralNetwork, type NeuralNetwork } from "./network.js";
export { type Packable, pack, type Unpacked, unpack } from "./packing.js";
export { ChannelSocket, type SocketOptions, type SocketState } from "./socket.js";
export type { TelemetryEvent } from "./telemetry.js";
export type { Timers } from "./timers.js";
export type { WebSocketConstructor, WebSocketLike } from "./transport.js";
export * from "./types.js";
