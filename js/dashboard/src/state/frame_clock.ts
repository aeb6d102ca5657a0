/** One loop over the pictures that the browser shows, for everything that paints; it rests while nothing paints. */

type Painter = (nowMs: number) => void;

/** With reduced motion, charts move twice a second. */
const CALM_PERIOD_MS = 500;

const painters = new Set<Painter>();
let isRunning = false;
let lastCalmMs = 0;
let painted = 0;

const reducedMotion = typeof matchMedia === "function" ? matchMedia("(prefers-reduced-motion: reduce)") : undefined;

export function everyFrame(painter: Painter): () => void {
  painters.add(painter);
  if (!isRunning) {
    isRunning = true;
    requestAnimationFrame(turn);
  }
  return () => painters.delete(painter);
}

/** Pictures painted since the page was opened, for the measurement of the frame rate. */
export function paintedFrames(): number {
  return painted;
}

/** Whether the reader asked for less motion. */
export function wantsReducedMotion(): boolean {
  return reducedMotion?.matches ?? false;
}

function turn(nowMs: number): void {
  if (painters.size === 0) {
    isRunning = false;
    return;
  }
  requestAnimationFrame(turn);
  if (wantsReducedMotion()) {
    if (nowMs - lastCalmMs < CALM_PERIOD_MS) return;
    lastCalmMs = nowMs;
  }
  painted += 1;
  for (const painter of painters) painter(nowMs);
}
