import assert from "node:assert/strict";
import { test } from "node:test";

import { readBoundaries, readDevices, readNetworks, readProcesses, shortCommand } from "../src/data/facts";
import { readGraphs } from "../src/data/graph_facts";
import { readKernelDetails, readKernels } from "../src/data/kernel_facts";
import { readLanes } from "../src/data/lane_facts";
import { joined, readMemory, sums } from "../src/data/memory_facts";
import { metricTitle, seriesOf } from "../src/data/schema";

const BROKEN: readonly unknown[] = [
  null,
  undefined,
  3,
  "x",
  [],
  {},
  { devices: 5, kernels: [null, []], processes: [{}], passes: {}, launches: [1], graphs: [null, { nodes: [{}, 3] }] },
];

test("no answer, however broken, throws", () => {
  for (const answer of BROKEN) {
    readDevices(answer);
    readProcesses(answer);
    readBoundaries(answer);
    readNetworks(answer);
    readKernels(answer, 1);
    readKernelDetails(answer);
    readMemory(answer, 1);
    readLanes(answer, 1);
    readGraphs(answer, 1);
  }
});

test("a device has what the server said, and absent numbers are absent", () => {
  const [device] = readDevices({
    devices: [
      {
        device: "cpu:0",
        name: "EPYC",
        kind: "cpu",
        computeUnits: 2,
        coreCounts: { aura: 2 },
        totalMemoryBytes: 1024,
        numaNodes: 1,
      },
    ],
  });
  assert.equal(device?.device, "cpu:0");
  assert.equal(device?.product, "EPYC");
  assert.equal(device?.coreCounts.get("aura"), 2);
  assert.deepEqual(device?.others, [["numa nodes", "1"]]);
});

test("metrics are named in words with their labels", () => {
  assert.equal(
    metricTitle({ name: "amdgpu_power_watts", labels: { device: "hip:0", kind: "package" } }),
    "power · package",
  );
  assert.equal(metricTitle({ name: "amdgpu_memory_used_bytes", labels: {} }), "memory used");
  assert.equal(
    metricTitle({ name: "amdgpu_kernel_launches_total", labels: { core: "aura" } }),
    "kernel launches · aura",
  );
  assert.equal(metricTitle({ name: "amdgpu_memory_total_bytes", labels: {} }), "memory total");
});

test("a series is found by name and labels", () => {
  const metric = (name: string, labels: Record<string, string>) => ({ name, labels, unit: "1", scale: 1 });
  const schema = {
    devices: [
      { name: "a", kind: "", description: "" },
      { name: "b", kind: "", description: "" },
    ],
    metrics: [metric("x", { core: "aura" }), metric("x", { core: "matrix" }), metric("y", {})],
    clock: { monotonicNs: 0, epochNs: 0 },
    rateHz: 60,
    historySeconds: 300,
  };
  assert.equal(seriesOf(schema, 1, "x", { core: "matrix" }), 4);
  assert.equal(seriesOf(schema, 0, "y"), 2);
  assert.equal(seriesOf(schema, 0, "z"), -1);
  assert.equal(seriesOf(schema, 2, "y"), -1);
});

test("a network's curves are those that have values", () => {
  const [network] = readNetworks([
    {
      name: "mlp",
      kind: "layered",
      learning_curve: { epoch: [1, 2], loss: [0.5, 0.25], accuracy: [null, null], samples: [10, 10] },
    },
  ]);
  assert.deepEqual(
    network?.curves.map((curve) => curve.name),
    ["loss"],
  );
  assert.deepEqual(network?.curves[0]?.epochs, [1, 2]);
});

test("pools of one name and device are told apart, and their sums are sums", () => {
  const pool = (number: number, active_bytes: number) => ({
    pool: "device",
    number,
    active_bytes,
    reserved_bytes: 2 * active_bytes,
  });
  const answer = (...pools: object[]) => ({ devices: [{ device: "cpu:0", pools }] });
  const map = joined([
    readMemory(answer(pool(0, 65_536), pool(3, 1_048_576)), 10),
    readMemory(answer(pool(0, 2_891_776)), 11),
  ]);
  assert.equal(new Set(map.pools.map((one) => one.key)).size, 3);
  assert.deepEqual(sums(map.pools), { activeBytes: 4_005_888, reservedBytes: 8_011_776 });
});

test("a pool says what an allocation would find", () => {
  const fit = { requested_bytes: 4096, free_block_bytes: null, segment_bytes: 2_097_152 };
  const map = readMemory({ devices: [{ device: "cpu:0", pools: [{ pool: "device", fit }, { pool: "pinned" }] }] }, 1);
  assert.ok(Number.isNaN(map.pools[0]?.fit?.freeBlockBytes));
  assert.equal(map.pools[0]?.fit?.segmentBytes, 2_097_152);
  assert.equal(map.pools[1]?.fit, null);
});

test("blocks of memory have their state and owner", () => {
  const map = readMemory(
    {
      devices: [
        {
          device: "cpu:0",
          pools: [
            {
              pool: "device",
              active_bytes: 512,
              segments: [
                {
                  address: 4096,
                  total_bytes: 1024,
                  blocks: [
                    { size_bytes: 512, state: "active_allocated", owner: "weights" },
                    { size_bytes: 512, state: "inactive", owner: null },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
    1,
  );
  assert.deepEqual(
    map.pools[0]?.segments[0]?.blocks.map((block) => [block.state, block.owner]),
    [
      ["active", "weights"],
      ["free", "(not named)"],
    ],
  );
});

test("commands are shortened to what tells them apart", () => {
  assert.equal(shortCommand("/usr/bin/python3 /opt/models/train.py --epochs 3"), "python3 train.py --epochs 3");
});
