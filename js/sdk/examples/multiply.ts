/** Two matrices multiplied on a server: `amdgpu serve`, then `node multiply.js`. */

import { createMatrixMultiplier, tensor } from "@amdgpu-framework/sdk";

const multiply = await createMatrixMultiplier(2, "fp32", {
  serverUrl: process.env["AMDGPU_URL"] ?? "ws://localhost:4000/socket",
  token: process.env["AMDGPU_TOKEN"],
});
console.log(`on ${multiply.device.name}`);

const identity = [
  [1, 0],
  [0, 1],
];
console.log(
  await multiply(identity, [
    [1, 2],
    [3, 4],
  ]),
);

// Typed arrays of any shape travel as bytes.
const a = tensor(Float32Array.from({ length: 256 * 128 }, Math.sin), { shape: [256, 128] });
const b = tensor(Float32Array.from({ length: 128 * 64 }, Math.cos), { shape: [128, 64] });
const product = await multiply.multiply(a, b);
console.log(product.dtype, product.shape);

multiply.close();
