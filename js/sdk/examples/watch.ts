/** Sensors of a server's devices, live: `amdgpu serve`, then `node watch.js`. Ends after a few frames. */

import { AMDGPUClient, frameEpochMs, frameValue } from "@amdgpu-framework/sdk";

const FRAMES = 5;

const client = new AMDGPUClient(process.env["AMDGPU_URL"] ?? "ws://localhost:4000/socket", {
  token: process.env["AMDGPU_TOKEN"],
});
await client.connect();

await new Promise<void>((resolve, reject) => {
  let count = 0;
  client
    .subscribeFrames((frame, schema) => {
      for (const [device, { name }] of schema.devices.entries()) {
        const known = schema.metrics
          .map(({ name: metric, unit }, index) => [metric, frameValue(schema, frame, device, index), unit] as const)
          .filter(([, value]) => value !== null);
        const time = new Date(frameEpochMs(schema, frame)).toISOString();
        console.log(`${time} ${name}: ${known.length} of ${schema.metrics.length} values are known`);
      }
      count += 1;
      if (count === FRAMES) {
        resolve();
      }
    })
    .catch(reject);
});
client.close();
