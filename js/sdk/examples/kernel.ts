/** A kernel compiled and run on a server: `amdgpu serve --allow-execute`, then `AMDGPU_TOKEN=… node kernel.js`. */

import { AMDGPUClient, AmdgpuError, CoreType, tensor } from "@amdgpu-framework/sdk";

const client = new AMDGPUClient(process.env["AMDGPU_URL"] ?? "ws://localhost:4000/socket", {
  token: process.env["AMDGPU_TOKEN"],
});
await client.connect();

const source = `
__global__ void scale(const float* x, float* y, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}`;

try {
  const kernel = await client.compileKernel(CoreType.AURA, source);
  const x = Float32Array.of(1, 2, 3, 4);
  const args = [tensor(x), { zeros: [x.length], dtype: "float32" } as const, 2.5, x.length];
  const result = await client.executeKernel(kernel, args, { grid: 1, block: 64 });
  console.log(result.output?.data);
} catch (error) {
  // Codes, names and hints are those of every language of the framework.
  if (!(error instanceof AmdgpuError)) {
    throw error;
  }
  console.log(`error ${error.code} (${error.kind}): ${error.message}\n${error.hint}`);
}
client.close();
