/** A layered network on a server: `amdgpu serve`, then `node network.js`. */

import { createNeuralNetwork, fromRows } from "@amdgpu-framework/sdk";

const network = await createNeuralNetwork([4, 16, 3], "relu", {
  serverUrl: process.env["AMDGPU_URL"] ?? "ws://localhost:4000/socket",
  token: process.env["AMDGPU_TOKEN"],
  outputActivation: "softmax",
  seed: 7,
});

const answer = await network([5.1, 3.5, 1.4, 0.2]);
console.log(answer.map((value) => value.toFixed(3)).join(" "));

const batch = await network.forward(
  fromRows([
    [5.1, 3.5, 1.4, 0.2],
    [6.7, 3.0, 5.2, 2.3],
  ]),
);
console.log(batch.shape);

await network.close();
