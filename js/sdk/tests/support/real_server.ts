/** The real server: `python -m amdgpu serve` of this repository. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { AMDGPUClient, type ClientOptions, type WebSocketConstructor } from "../../src/index.js";

const root = fileURLToPath(new URL("../../../../../", import.meta.url));

/** What a program says in its first line, and how it goes on. */
interface Started {
  readonly process: ChildProcess;
  readonly line: string | null;
  readonly complaint: () => string;
}

/** Start a Python program over this repository's package and wait for its first line. */
export async function startPython(args: readonly string[]): Promise<Started> {
  const path = [`${root}python`, process.env["PYTHONPATH"] ?? ""].filter((part) => part !== "").join(":");
  const child = spawn(process.env["AMDGPU_PYTHON"] ?? "python3", args, {
    env: { ...process.env, PYTHONPATH: path },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (text: Buffer) => {
    said += String(text);
  });
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([
    once(lines, "line").then(([line]) => line as string),
    once(child, "exit").then(() => null),
  ]);
  return { process: child, line: first, complaint: () => said };
}

export async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGINT"): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }
}

export class RealServer {
  private constructor(
    readonly process: ChildProcess,
    readonly port: number,
    readonly token: string | null,
  ) {}

  /** Throws with what the server said when it does not start. */
  static async start(options: readonly string[] = [], port = 0): Promise<RealServer> {
    const started = await startPython(["-m", "amdgpu", "serve", "--json", "--port", String(port), ...options]);
    if (started.line === null) {
      throw new Error(`amdgpu serve did not start: ${started.complaint()}`);
    }
    const facts = JSON.parse(started.line) as { port: number; token: string | null };
    return new RealServer(started.process, facts.port, facts.token);
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/socket`;
  }

  get options(): ClientOptions {
    return {
      transport: WebSocket as unknown as WebSocketConstructor,
      ...(this.token === null ? {} : { token: this.token }),
    };
  }

  async client(more: ClientOptions = {}): Promise<AMDGPUClient> {
    const client = new AMDGPUClient(this.url, { ...this.options, ...more });
    await client.connect();
    return client;
  }

  close(): Promise<void> {
    return end(this.process);
  }
}

/** The folder of this repository, with a slash at its end. */
export const repository = root;
