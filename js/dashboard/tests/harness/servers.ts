/** Servers and programs that tests start: the real `amdgpu serve`, the load server, the program to watch. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Bundled tests lie in js/dashboard/build/tests, their sources in js/dashboard/tests. */
const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = resolve(HERE, "..", "..", "..", "..");
const START_MS = 60_000;

export interface Running {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

function python(): string {
  return process.env["AMDGPU_PYTHON"] ?? join(ROOT, ".venv", "bin", "python");
}

function start(command: readonly string[]): ChildProcess {
  return spawn(python(), command, {
    cwd: ROOT,
    env: { ...process.env, PYTHONPATH: [process.env["PYTHONPATH"] ?? join(ROOT, "python")].join(":") },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  let complaints = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`no answer within ${START_MS} ms: ${complaints}`)), START_MS);
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf("\n");
      if (end < 0) return;
      clearTimeout(timer);
      done(text.slice(0, end));
    });
    child.once("exit", (code) => fail(new Error(`ended with exit code ${code} before it answered: ${complaints}`)));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.stdin?.end();
  child.kill("SIGTERM");
  await ended;
}

async function running(command: readonly string[]): Promise<Running> {
  const child = start(command);
  try {
    const answer = JSON.parse(await firstLine(child)) as { url: string; pid: number };
    return { url: answer.url, pid: answer.pid, stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

/** `amdgpu serve` on a free port. */
export function startServer(...options: string[]): Promise<Running> {
  return running(["-m", "amdgpu", "serve", "--port", "0", "--json", ...options]);
}

/** The server with eight devices of 32 metrics each. */
export function startLoadServer(...options: string[]): Promise<Running> {
  return running([join(ROOT, "tools", "bench", "suite", "load_server.py"), ...options]);
}

/** A program that uses amdgpu, until `stop`. */
export async function startProgram(...options: string[]): Promise<{ pid: number; stop(): Promise<void> }> {
  const child = start([join(ROOT, "tests", "support", "telemetry_program.py"), ...options]);
  if (child.pid === undefined) throw new Error("the program could not be started");
  child.stdout?.resume();
  child.stderr?.resume();
  return { pid: child.pid, stop: () => stop(child) };
}
