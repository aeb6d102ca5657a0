/** The built package in headless Chromium, loaded as it is: no bundler, no package `ws`. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { end, RealServer } from "./support/real_server.js";

const modules = fileURLToPath(new URL("../../dist/esm/", import.meta.url));
const CANDIDATES = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const chromium = CANDIDATES.find((path) => path !== "" && existsSync(path));

const WORK = `
import { AMDGPUClient, CoreType, fromRows, tensor } from "/esm/index.js";

const { url, token } = await (await fetch("/server")).json();
const answer = {};
try {
  const client = new AMDGPUClient(url, { token });
  await client.connect();
  answer.product = (await client.matrixMultiply(fromRows([[1, 2], [3, 4]]), fromRows([[5, 6], [7, 8]]))).toRows();
  const kernel = await client.compileKernel(
    CoreType.AURA,
    "__global__ void twice(const double* x, double* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 2 * x[i]; }",
  );
  const result = await client.executeKernel(
    kernel,
    [tensor(Float64Array.of(1.5, -2, 0)), { zeros: [3], dtype: "float64" }, 3],
    { grid: 1, block: 32 },
  );
  answer.twice = [result.output.data.constructor.name, ...result.output.data];
  answer.frames = await new Promise((resolve) => {
    const sequences = [];
    client.subscribeFrames((frame) => sequences.push(frame.sequence) === 3 && resolve(sequences));
  });
  client.close();
} catch (error) {
  answer.error = { name: error.name, code: error.code, message: error.message };
}
await fetch("/result", { method: "POST", body: JSON.stringify(answer) });
`;

interface Answer {
  readonly product?: number[][];
  readonly twice?: unknown[];
  readonly frames?: number[];
  readonly error?: { name: string; code: number; message: string };
}

/** A web site with the built package and one page; says what the page found. */
class Site {
  readonly result: Promise<Answer>;
  server: RealServer | null = null;
  readonly #http: Server;

  constructor() {
    let settle: (answer: Answer) => void = () => undefined;
    this.result = new Promise((resolve) => {
      settle = resolve;
    });
    this.#http = createServer((request, response) => {
      const path = request.url ?? "";
      const send = (type: string, body: string | Buffer) => response.setHeader("Content-Type", type).end(body);
      if (path === "/result") {
        let body = "";
        request.on("data", (part: Buffer) => {
          body += String(part);
        });
        request.on("end", () => {
          send("text/plain", "");
          settle(JSON.parse(body) as Answer);
        });
      } else if (path === "/server") {
        send("application/json", JSON.stringify({ url: this.server?.url, token: this.server?.token ?? undefined }));
      } else if (path === "/work.js") {
        send("text/javascript", WORK);
      } else if (/^\/esm\/[\w/]+\.js$/.test(path)) {
        send("text/javascript", readFileSync(join(modules, path.slice(5))));
      } else {
        send("text/html", '<!doctype html><title>t</title><script type="module" src="/work.js"></script>');
      }
    });
  }

  async start(): Promise<void> {
    this.#http.listen(0, "127.0.0.1");
    await once(this.#http, "listening");
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#http.closeAllConnections();
    this.#http.close();
  }
}

function browse(t: TestContext, path: string, url: string): ChildProcess {
  const profile = mkdtempSync(join(tmpdir(), "amdgpu-sdk-"));
  const options = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"];
  // A group of its own: helper processes that outlive the browser would still write into the profile.
  const browser = spawn(path, [...options, `--user-data-dir=${profile}`, url], { stdio: "ignore", detached: true });
  t.after(async () => {
    if (browser.pid !== undefined && browser.exitCode === null) process.kill(-browser.pid, "SIGKILL");
    await end(browser, "SIGKILL");
    // The kernel takes a moment to end them all.
    rmSync(profile, { recursive: true, force: true, maxRetries: 12, retryDelay: 100 });
  });
  return browser;
}

const skip = chromium === undefined ? "no Chromium here: apt-get install chromium, or name one in CHROMIUM" : false;

test("a page multiplies, runs a kernel and gets frames", { skip, timeout: 120_000 }, async (t) => {
  const site = new Site();
  await site.start();
  t.after(() => site.close());
  site.server = await RealServer.start(["--allow-execute", "--allow-origin", site.origin]);
  const { server } = site;
  t.after(() => server.close());
  browse(t, chromium ?? "", site.origin);
  const { frames = [], ...answer } = await site.result;
  assert.deepEqual(answer, {
    product: [
      [19, 22],
      [43, 50],
    ],
    twice: ["Float64Array", 3, -4, 0],
  });
  assert.equal(frames.length, 3);
});

test("a page of an origin that was not allowed is refused", { skip, timeout: 120_000 }, async (t) => {
  const site = new Site();
  await site.start();
  t.after(() => site.close());
  site.server = await RealServer.start(["--allow-execute"]);
  const { server } = site;
  t.after(() => server.close());
  browse(t, chromium ?? "", site.origin);
  const { error } = await site.result;
  assert.deepEqual([error?.name, error?.code], ["ConnectionFailedError", 1000]);
});
