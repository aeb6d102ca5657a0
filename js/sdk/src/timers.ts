/** Time, injected: the platform's timers in programs, hand-wound ones in tests. */
export interface Timers {
  setTimeout(callback: () => void, milliseconds: number): unknown;
  clearTimeout(handle: unknown): void;
}

export const PLATFORM_TIMERS: Timers = {
  setTimeout: (callback, milliseconds) => globalThis.setTimeout(callback, milliseconds),
  clearTimeout: (handle) => globalThis.clearTimeout(handle as ReturnType<typeof globalThis.setTimeout>),
};

/** The delay before attempt `attempt`, counted from 0. */
export function delayOf(delaysMs: readonly number[], attempt: number): number {
  return delaysMs[Math.min(attempt, delaysMs.length - 1)] ?? 0;
}

/** Call a user's function. What it throws is the user's, and must not end what else has to be told. */
export function notify<T extends readonly unknown[]>(listener: (...values: T) => void, ...values: T): void {
  try {
    listener(...values);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
