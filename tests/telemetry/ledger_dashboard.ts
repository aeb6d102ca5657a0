/** What the dashboard's data layer makes of a join's answer, a frame and a profile: the figures of its pages, as JSON. */

import { readFileSync } from "node:fs";

import { decodeFrame, parseFrameSchema } from "@amdgpu-framework/sdk";

import { coreSums } from "../../js/dashboard/src/data/core_sums";
import { readCrossings } from "../../js/dashboard/src/data/facts";
import { FrameStore } from "../../js/dashboard/src/data/frame_store";
import { busIdentity, readKernels } from "../../js/dashboard/src/data/kernel_facts";
import { kernelKey, kernelTitles, readKernelSums } from "../../js/dashboard/src/data/kernel_sums";
import { CORES } from "../../js/dashboard/src/data/launches";

const told = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const schema = parseFrameSchema(told.schema);
const store = new FrameStore(schema.devices.length * schema.metrics.length, schema.rateHz, 60);
for (const text of told.frames) {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  const frame = decodeFrame(schema, bytes.buffer);
  store.push(frame.sequence, frame.timeSeconds, frame.values);
}
const sums = readKernelSums(told.profile.kernels);
const facts = readKernels({ kernels: told.kernels }, told.pid);
const rows = facts.map((one) => ({ ...one, sums: sums.get(kernelKey(busIdentity(one))) }));
process.stdout.write(
  JSON.stringify({
    kernels: [...sums.values()],
    joined: rows.map((row) => ({ id: row.id, listed: row.calls, counted: row.sums?.calls ?? 0 })),
    titles: [...kernelTitles(facts.map((one) => ({ ...one, ...busIdentity(one) }))).values()],
    cores: Object.fromEntries(CORES.map((core) => [core, coreSums(store, schema, core, store.newestSeconds)])),
    crossings: readCrossings(told.profile.crossings),
  }),
);
