/**
 * Which stretch of time every page shows: the newest seconds while live, a fixed stretch while paused or rewound.
 *
 * Times are seconds on the monotonic clock of the server, as frames have them.
 */

import { batch, signal } from "@preact/signals-core";

export interface Interval {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

export const SPANS_SECONDS = [5, 10, 30, 60, 300] as const;
/** What the page keeps, and so how far it can be rewound. */
export const HISTORY_SECONDS = 300;

export const spanSeconds = signal<number>(30);
/** Right edge of what is shown; null follows the newest frame. */
export const frozenEndSeconds = signal<number | null>(null);
/** Whether the last step back ended at the oldest frame there is. */
export const isAtOldest = signal(false);
/** The two stretches that are compared. */
export const intervalA = signal<Interval | null>(null);
export const intervalB = signal<Interval | null>(null);

/** What is shown when the newest frame is of `newestSeconds`. */
export function shownInterval(newestSeconds: number): Interval {
  const endSeconds = frozenEndSeconds.value ?? newestSeconds;
  return { startSeconds: endSeconds - spanSeconds.value, endSeconds };
}

export function isLive(): boolean {
  return frozenEndSeconds.value === null;
}

/** Stops the picture where it is, or lets it follow again. */
export function togglePause(newestSeconds: number): void {
  batch(() => {
    isAtOldest.value = false;
    frozenEndSeconds.value = frozenEndSeconds.peek() === null ? newestSeconds : null;
  });
}

/** Moves the right edge by `deltaSeconds`; past the newest frame the picture follows again, at the oldest it stays and says so. */
export function rewind(deltaSeconds: number, oldestSeconds: number, newestSeconds: number): void {
  const end = (frozenEndSeconds.peek() ?? newestSeconds) + deltaSeconds;
  const earliest = Math.min(oldestSeconds + spanSeconds.peek(), newestSeconds);
  batch(() => {
    isAtOldest.value = deltaSeconds < 0 && end < earliest;
    frozenEndSeconds.value = end >= newestSeconds ? null : Math.max(end, earliest);
  });
}

export function goLive(): void {
  batch(() => {
    isAtOldest.value = false;
    frozenEndSeconds.value = null;
  });
}

/** The next longer (`+1`) or shorter (`-1`) stretch. */
export function stepSpan(direction: 1 | -1): void {
  const place = SPANS_SECONDS.indexOf(spanSeconds.peek() as (typeof SPANS_SECONDS)[number]);
  const next = SPANS_SECONDS[Math.min(Math.max(place + direction, 0), SPANS_SECONDS.length - 1)];
  if (next !== undefined) spanSeconds.value = next;
}

/** Keeps what is shown now as one of the two stretches. */
export function mark(which: "a" | "b", newestSeconds: number): void {
  (which === "a" ? intervalA : intervalB).value = shownInterval(newestSeconds);
}

export function clearMarks(): void {
  batch(() => {
    intervalA.value = null;
    intervalB.value = null;
  });
}
