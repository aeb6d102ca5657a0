import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { RealServer } from "./support/real_server.js";

const folder = new URL("../examples/", import.meta.url);

/** What an example prints, by its name. */
const SAID: Readonly<Record<string, RegExp>> = {
  "kernel.js": /Float32Array\(4\) \[ 2\.5, 5, 7\.5, 10 \]/,
  "multiply.js": /on .+\n\[ \[ 1, 2 \], \[ 3, 4 \] \]\nfloat32 \[ 256, 64 \]/,
  "network.js": /0\.\d{3} 0\.\d{3} 0\.\d{3}\n\[ 2, 3 \]/,
  "watch.js": /cpu:0: \d+ of \d+ values are known/,
};

async function run(name: string, environment: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(name, folder))], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (text: Buffer) => {
    said += String(text);
  });
  const [code] = (await once(child, "close")) as [number | null];
  assert.equal(code, 0, `${name} ended with ${code}`);
  return said;
}

test("every example runs against a server and says what it ought to", { timeout: 120_000 }, async (t) => {
  const server = await RealServer.start(["--allow-execute"]);
  t.after(() => server.close());
  const names = readdirSync(folder).filter((name) => name.endsWith(".js"));
  assert.deepEqual(names.sort(), Object.keys(SAID));
  for (const name of names) {
    assert.match(await run(name, { AMDGPU_URL: server.url, AMDGPU_TOKEN: server.token ?? "" }), SAID[name] as RegExp);
  }
});

test("the example of a kernel explains a server that allows none", { timeout: 120_000 }, async (t) => {
  const server = await RealServer.start(["--token", "t"]);
  t.after(() => server.close());
  const said = await run("kernel.js", { AMDGPU_URL: server.url, AMDGPU_TOKEN: "t" });
  assert.match(said, /error 1002 \(not-permitted\): .*\n.*--allow-execute/);
});
