/** Timers that run out when a test says so. */

import type { Timers } from "../../src/index.js";

interface Entry {
  readonly callback: () => void;
  readonly milliseconds: number;
}

export class HandWoundTimers implements Timers {
  readonly #entries = new Map<number, Entry>();
  #next = 1;

  setTimeout(callback: () => void, milliseconds: number): number {
    this.#entries.set(this.#next, { callback, milliseconds });
    this.#next += 1;
    return this.#next - 1;
  }

  clearTimeout(handle: unknown): void {
    this.#entries.delete(handle as number);
  }

  /** What is waited for, in milliseconds. */
  get waiting(): number[] {
    return [...this.#entries.values()].map(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  }

  /** Let the first timer of this length run out. */
  fire(milliseconds: number): void {
    for (const [handle, entry] of this.#entries) {
      if (entry.milliseconds === milliseconds) {
        this.#entries.delete(handle);
        entry.callback();
        return;
      }
    }
    throw new Error(`nothing waits ${milliseconds} ms; these do: ${this.waiting.join(", ")}`);
  }
}
