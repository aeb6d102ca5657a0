import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  AMDGPUClient,
  AmdgpuError,
  ArgumentCountError,
  CompileError,
  ConnectionFailedError,
  CoreType,
  createMatrixMultiplier,
  createNeuralNetwork,
  DeviceNotFoundError,
  type Dtype,
  fromBfloat16,
  fromRows,
  InvalidHandleError,
  KernelTimeoutError,
  LimitExceededError,
  NotPermittedError,
  type Precision,
  ShapeMismatchError,
  Tensor,
  type TypedArray,
  tensor,
  toBfloat16,
} from "../src/index.js";
import { Random } from "./support/random.js";
import { end, RealServer } from "./support/real_server.js";
import { until } from "./support/until.js";

const SAXPY = `
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}`;

let server: RealServer;
let client: AMDGPUClient;

before(async () => {
  server = await RealServer.start(["--allow-execute"]);
  client = await server.client();
});

after(async () => {
  client?.close();
  await server?.close();
});

test("devices are listed and opened", async () => {
  const devices = await client.listDevices();
  const cpu = devices.find(({ device }) => device === "cpu:0");
  assert.ok(cpu);
  assert.ok(cpu.computeUnits > 0 && cpu.memoryGB > 0);
  assert.ok(cpu.coreTypes.includes(CoreType.AURA));
  assert.deepEqual(await client.initializeDevice(cpu.id, [CoreType.MATRIX]), cpu);
  await assert.rejects(client.initializeDevice(1000, []), DeviceNotFoundError);
});

interface Product {
  readonly precision: Precision;
  readonly dtype: Dtype;
  readonly output: Dtype;
  readonly make: (values: Float64Array) => TypedArray;
  readonly read: (data: TypedArray) => Float64Array;
  readonly tolerance: number;
}

const plain = (data: TypedArray): Float64Array => Float64Array.from(data as Iterable<number>);
const PRODUCTS: readonly Product[] = [
  {
    precision: "fp32",
    dtype: "float32",
    output: "float32",
    make: (values) => Float32Array.from(values),
    read: plain,
    tolerance: 1e-6,
  },
  {
    precision: "fp64",
    dtype: "float64",
    output: "float64",
    make: (values) => values,
    read: plain,
    tolerance: 1e-14,
  },
  {
    precision: "int8",
    dtype: "int8",
    output: "int32",
    make: (values) => Int8Array.from(values, (value) => Math.round(value * 127)),
    read: plain,
    tolerance: 0,
  },
  {
    precision: "bf16",
    dtype: "bfloat16",
    output: "bfloat16",
    make: (values) => toBfloat16(Float32Array.from(values)),
    read: (data) => plain(fromBfloat16(data as Uint16Array)),
    tolerance: 2 ** -8,
  },
];

for (const { precision, dtype, output, make, read, tolerance } of PRODUCTS) {
  test(`a product of ${dtype} travels as bytes and is right`, async () => {
    const random = new Random(21);
    const [m, k, n] = [37, 29, 41];
    const matrix = (rows: number, columns: number) =>
      new Tensor(
        make(Float64Array.from({ length: rows * columns }, () => random.word() / 2 ** 31 - 1)),
        [rows, columns],
        dtype,
      );
    const [a, b] = [matrix(m, k), matrix(k, n)];
    const product = await client.matrixMultiply(a, b, { precision });
    assert.deepEqual([product.dtype, product.shape], [output, [m, n]]);
    const exact = (data: TypedArray) =>
      dtype === "bfloat16" ? Float64Array.from(fromBfloat16(data as Uint16Array)) : plain(data);
    const [left, right, result] = [exact(a.data), exact(b.data), read(product.data)];
    for (let row = 0; row < m; row += 1) {
      for (let column = 0; column < n; column += 1) {
        let sum = 0;
        let size = 0;
        for (let inner = 0; inner < k; inner += 1) {
          const term = (left[row * k + inner] as number) * (right[inner * n + column] as number);
          sum += term;
          size += Math.abs(term);
        }
        assert.ok(
          Math.abs((result[row * n + column] as number) - sum) <= tolerance * size,
          `row ${row}, column ${column}`,
        );
      }
    }
  });
}

test("a product takes a bias and an activation", async () => {
  const [a, b] = [
    fromRows([[1, -2]]),
    fromRows([
      [1, 2, 3],
      [1, 1, 1],
    ]),
  ];
  const product = await client.matrixMultiply(a, b, {
    bias: tensor(Float32Array.of(0.5, 0.5, 0.5)),
    activation: "relu",
  });
  assert.deepEqual(product.toRows(), [[0, 0.5, 1.5]]);
});

test("calls made all at once wait for their turn", async () => {
  const products = await Promise.all(
    Array.from({ length: 50 }, (_, index) => client.matrixMultiply(fromRows([[index]]), fromRows([[2]]))),
  );
  assert.deepEqual(
    products.map((product) => product.toRows()),
    Array.from({ length: 50 }, (_, index) => [[2 * index]]),
  );
  const changed = fromRows([[1]]);
  const results = Array.from({ length: 20 }, () => client.matrixMultiply(changed, fromRows([[2]])));
  changed.data[0] = 5;
  assert.deepEqual(new Set((await Promise.all(results)).map((product) => product.data[0])), new Set([2]));
  const mixed = await Promise.allSettled(
    Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0 ? client.initializeDevice(1000, []) : client.listDevices(),
    ),
  );
  assert.deepEqual(
    mixed.map(({ status }) => status),
    Array.from({ length: 30 }, (_, index) => (index % 3 === 0 ? "rejected" : "fulfilled")),
  );
});

test("matrices that do not fit are the error of every other language", async () => {
  const [a, b] = [tensor(new Float32Array(6), { shape: [2, 3] }), tensor(new Float32Array(8), { shape: [4, 2] })];
  await assert.rejects(client.matrixMultiply(a, b), (error: unknown) => {
    assert.ok(error instanceof ShapeMismatchError);
    assert.equal(error.code, 102);
    assert.match(error.message, /3.*4/s);
    assert.ok(error.hint);
    return true;
  });
});

test("a kernel is compiled and run, and its arguments stay as they are", async () => {
  const handle = await client.compileKernel(CoreType.AURA, SAXPY);
  const count = 10_000;
  const x = Float32Array.from({ length: count }, (_, index) => index);
  const y = new Float32Array(count).fill(1);
  const result = await client.executeKernel(handle, [2.5, tensor(x), tensor(y), count], {
    grid: Math.ceil(count / 256),
    block: 256,
  });
  assert.ok(result.output);
  assert.deepEqual(
    result.output.data,
    Float32Array.from(x, (value) => 2.5 * value + 1),
  );
  assert.deepEqual(
    result.outputs.map(({ argument }) => argument),
    [2],
  );
  assert.ok(result.executionTimeSeconds !== null && result.executionTimeSeconds > 0);
  assert.ok(y.every((value) => value === 1));
});

test("arrays that a kernel only writes are made on the server", async () => {
  const source = `__global__ void both(const int* x, int* doubled, double* halves, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { doubled[i] = 2 * x[i]; halves[i] = 0.5 * x[i]; }
  }`;
  const handle = await client.compileKernel(CoreType.AURA, source);
  const x = Int32Array.of(1, -2, 3);
  const { outputs } = await client.executeKernel(
    handle,
    [tensor(x), { zeros: [3], dtype: "int32" }, { zeros: [3], dtype: "float64" }, 3],
    { grid: [1, 1, 1], block: [32] },
  );
  assert.deepEqual(
    outputs.map(({ argument, array }) => [argument, array.data]),
    [
      [1, Int32Array.of(2, -4, 6)],
      [2, Float64Array.of(0.5, -1, 1.5)],
    ],
  );
});

test("scalars of 64 bits and numbers that JSON has not reach the kernel with their bits", async () => {
  const source = `__global__ void keep(unsigned long long big, long long low, double odd, float inf, unsigned long long* out) {
    out[0] = big; out[1] = (unsigned long long)low; out[2] = isnan(odd) ? 1 : 0; out[3] = isinf(inf) && inf < 0 ? 1 : 0;
  }`;
  const handle = await client.compileKernel(CoreType.AURA, source);
  const { output } = await client.executeKernel(
    handle,
    [18446744073709551615n, -9223372036854775808n, Number.NaN, -Infinity, { zeros: [4], dtype: "uint64" }],
    { grid: 1, block: 1 },
  );
  assert.deepEqual(output?.data, BigUint64Array.of(18446744073709551615n, 9223372036854775808n, 1n, 1n));
});

test("errors of kernels name what is wrong", async () => {
  await assert.rejects(
    client.compileKernel(CoreType.AURA, "__global__ void broken(float* x) {\n  x[0] = nowhere;\n}"),
    {
      constructor: CompileError,
      message: /2:\d+.*nowhere/s,
    },
  );
  await assert.rejects(client.executeKernel("no such handle", []), InvalidHandleError);
  const handle = await client.compileKernel(CoreType.AURA, SAXPY);
  await assert.rejects(client.executeKernel(handle, [1], { grid: 1, block: 1 }), ArgumentCountError);
});

test("a kernel that takes too long is stopped after its time", async () => {
  // Blocks of a few milliseconds; all of them would take hours.
  const source = `__global__ void long_work(volatile int* x) {
    for (int i = 0; i < 1000000; ++i) { x[0] = x[0] + 1; }
  }`;
  const handle = await client.compileKernel(CoreType.AURA, source);
  await assert.rejects(
    client.executeKernel(handle, [tensor(new Int32Array(1))], { grid: 10_000_000, block: 1, timeoutMs: 200 }),
    (error: unknown) =>
      error instanceof KernelTimeoutError || (error instanceof AmdgpuError && error.kind === "request-timeout"),
  );
  const devices = await client.listDevices();
  assert.ok(devices.length > 0, "the server goes on");
});

test("a call past the server's limits is refused and the connection lives", async () => {
  const huge = { zeros: [1 << 28], dtype: "float64" } as const;
  const handle = await client.compileKernel(CoreType.AURA, SAXPY);
  await assert.rejects(client.executeKernel(handle, [1, huge, huge, 1], { grid: 1, block: 1 }), LimitExceededError);
  assert.equal(client.state, "open");
});

test("a message past the server's limit ends as an error, and the client comes back", async () => {
  const large = tensor(new Float32Array(5 << 20), { shape: [1 << 10, 5 << 10] });
  await assert.rejects(client.matrixMultiply(large, large), AmdgpuError);
  const devices = await client.listDevices();
  assert.ok(devices.length > 0);
});

test("a server that allows no execution multiplies, and runs no kernel", async (t) => {
  const careful = await RealServer.start();
  t.after(() => careful.close());
  const guest = await careful.client();
  t.after(() => guest.close());
  const product = await guest.matrixMultiply(fromRows([[2]]), fromRows([[3]]));
  assert.deepEqual(product.toRows(), [[6]]);
  const run = async () => {
    const handle = await guest.compileKernel(CoreType.AURA, SAXPY);
    await guest.executeKernel(handle, [1, tensor(new Float32Array(1)), tensor(new Float32Array(1)), 1], {
      grid: 1,
      block: 1,
    });
  };
  await assert.rejects(run(), (error: unknown) => {
    assert.ok(error instanceof NotPermittedError);
    assert.match(`${error.message} ${error.hint}`, /allow-execute/);
    return true;
  });
});

test("a wrong token is refused", async () => {
  const stranger = new AMDGPUClient(server.url, { ...server.options, token: "wrong" });
  await assert.rejects(stranger.connect(), NotPermittedError);
});

test("createMatrixMultiplier multiplies rows and arrays", async (t) => {
  const multiply = await createMatrixMultiplier(2, "fp32", { ...server.options, serverUrl: server.url });
  t.after(() => multiply.close());
  const product = await multiply(
    [
      [1, 2],
      [3, 4],
    ],
    [
      [5, 6],
      [7, 8],
    ],
  );
  assert.deepEqual(product, [
    [19, 22],
    [43, 50],
  ]);
  const long = await multiply.multiply(
    tensor(new Float32Array(6).fill(1), { shape: [2, 3] }),
    tensor(new Float32Array(3).fill(2), { shape: [3, 1] }),
  );
  assert.deepEqual(long.toRows(), [[6], [6]]);
  await assert.rejects(multiply([[1]], [[1]]), ShapeMismatchError);
  const half = await createMatrixMultiplier(1, "fp16", { client });
  assert.deepEqual(await half([[1 + 2 ** -12]], [[3]]), [[3]], "rounded to half precision before the product");
  half.close();
  assert.equal(client.state, "open");
});

/** The network in plain numbers. */
function forward(input: readonly number[], weights: readonly number[][][], biases: readonly number[][]): number[] {
  return weights.reduce<number[]>(
    (values, matrix, layer) =>
      (biases[layer] as number[]).map((bias, column) => {
        const sum = values.reduce(
          (total, value, row) => total + value * ((matrix[row] as number[])[column] as number),
          bias,
        );
        return layer + 1 < weights.length ? Math.max(sum, 0) : sum;
      }),
    [...input],
  );
}

const WEIGHTS = [
  [
    [1, -1, 0.5],
    [2, 0.25, -3],
  ],
  [[1], [2], [4]],
];
const BIASES = [[0.5, 1, 2], [-1]];

test("createNeuralNetwork runs the network that it is given", async (t) => {
  const network = await createNeuralNetwork([2, 3, 1], "relu", {
    ...server.options,
    serverUrl: server.url,
    outputActivation: "identity",
    weights: WEIGHTS.map((rows) => fromRows(rows)),
    biases: BIASES.map((values) => tensor(Float32Array.from(values))),
  });
  t.after(() => network.close());
  for (const input of [
    [1, 2],
    [-3, 0.5],
    [0, 0],
  ]) {
    assert.deepEqual(await network(input), forward(input, WEIGHTS, BIASES));
  }
  const batch = await network.forward(
    fromRows([
      [1, 2],
      [-3, 0.5],
    ]),
  );
  assert.deepEqual(batch.toRows(), [forward([1, 2], WEIGHTS, BIASES), forward([-3, 0.5], WEIGHTS, BIASES)]);
  await assert.rejects(network([1, 2, 3]), ShapeMismatchError);
});

test("networks of one seed are the same network", async (t) => {
  const make = async (seed: number) => {
    const network = await createNeuralNetwork([4, 8, 2], "tanh", { client, seed });
    t.after(() => network.close());
    return network([0.1, 0.2, 0.3, 0.4]);
  };
  const [first, same, other] = [await make(5), await make(5), await make(6)];
  assert.deepEqual(first, same);
  assert.notDeepEqual(first, other);
  assert.equal(first.length, 2);
});

test("a server that is killed and started anew is found again, with subscriptions and networks", {
  timeout: 60_000,
}, async (t) => {
  const token = ["--token", "the-same-token"];
  let mortal = await RealServer.start(token);
  t.after(() => mortal.close());
  const loyal = await mortal.client();
  t.after(() => loyal.close());
  const network = await createNeuralNetwork([2, 3, 1], "relu", {
    client: loyal,
    outputActivation: "identity",
    weights: WEIGHTS.map((rows) => fromRows(rows)),
    biases: BIASES.map((values) => tensor(Float32Array.from(values))),
  });
  let lastSeen = 0;
  let waiter = until<number>(() => true);
  await loyal.subscribeTelemetry(0, CoreType.MATRIX, ({ timestamp }) => {
    lastSeen = timestamp;
    waiter.seen(timestamp);
  });
  await waiter.found;
  const before = loyal.connectionCount;
  const broken = new Promise<void>((resolve) => {
    loyal.socket.onStateChange((state) => state === "waiting" && resolve());
  });
  await end(mortal.process, "SIGKILL");
  await broken;
  mortal = await RealServer.start(token, mortal.port);
  const restarted = Date.now();
  waiter = until<number>((timestamp) => timestamp >= restarted);
  assert.ok((await loyal.listDevices()).length > 0);
  assert.equal(loyal.connectionCount, before + 1);
  await waiter.found;
  assert.ok(lastSeen >= restarted);
  const answers = await Promise.all([network([1, 2]), network([-3, 0.5])]);
  assert.deepEqual(answers, [forward([1, 2], WEIGHTS, BIASES), forward([-3, 0.5], WEIGHTS, BIASES)]);
  await network.close();
  await end(mortal.process);
  await assert.rejects(new AMDGPUClient(mortal.url, mortal.options).connect(), ConnectionFailedError);
});
