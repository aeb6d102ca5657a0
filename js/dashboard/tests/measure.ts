/**
 * Measures the pages in headless Chromium; prints one JSON object. `tools/bench/dashboard.py` runs it.
 *
 * Frames: time between pictures while a page of the load server (eight devices, 32 metrics, 60 frames a second) is shown.
 * Event to pixel: from the end of a launch, by the clock of the process that launched, to the end of the callback that painted it.
 */

import type { Page } from "puppeteer-core";

import { openBrowser } from "./harness/browser";
import { startLoadServer, startProgram, startServer } from "./harness/servers";

const WARM_UP_MS = 3000;
const FRAMES_MS = 8000;
const EVENTS_MS = 8000;
const PAINTS = 7;
const WAIT_MS = 60_000;

interface Dashboard {
  readonly amdgpuDashboard: {
    readonly hub: {
      readonly schema: { peek(): { clock: { monotonicNs: number; epochNs: number } } | null };
      readonly launches: { take(payload: { kernels?: { start_ns: number; duration_ns: number }[] }): void };
      readonly store: { readonly lostFrames: number; readonly length: number };
    };
  };
}

interface Frames {
  readonly perSecond: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly longShare: number;
  readonly taskMsPerFrame: number;
  readonly lostFrames: number;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function frames(page: Page): Promise<Frames> {
  await wait(WARM_UP_MS);
  const client = await page.createCDPSession();
  await client.send("Performance.enable");
  const busySeconds = async (): Promise<number> => {
    const { metrics } = await client.send("Performance.getMetrics");
    return metrics.find((metric) => metric.name === "TaskDuration")?.value ?? Number.NaN;
  };
  const before = await busySeconds();
  const { intervals, lost } = await page.evaluate(async (durationMs) => {
    const { hub } = (window as unknown as Dashboard).amdgpuDashboard;
    const lostBefore = hub.store.lostFrames;
    const found: number[] = [];
    const start = performance.now();
    let last = start;
    await new Promise<void>((resolve) => {
      const turn = (now: number): void => {
        found.push(now - last);
        last = now;
        if (now - start < durationMs) requestAnimationFrame(turn);
        else resolve();
      };
      requestAnimationFrame(turn);
    });
    return { intervals: found.slice(1), lost: hub.store.lostFrames - lostBefore };
  }, FRAMES_MS);
  const busy = (await busySeconds()) - before;
  const total = intervals.reduce((sum, value) => sum + value, 0);
  return {
    perSecond: (intervals.length / total) * 1000,
    medianMs: quantile(intervals, 0.5),
    p95Ms: quantile(intervals, 0.95),
    longShare: intervals.filter((value) => value > 25).length / intervals.length,
    taskMsPerFrame: (busy * 1000) / intervals.length,
    lostFrames: lost,
  };
}

/** Milliseconds from the end of each batch's newest launch to the end of the picture's painting. */
async function eventToPixel(page: Page): Promise<number[]> {
  return page.evaluate(async (durationMs) => {
    const { hub } = (window as unknown as Dashboard).amdgpuDashboard;
    const clock = hub.schema.peek()?.clock;
    if (clock === undefined) return [];
    const found: number[] = [];
    const take = hub.launches.take.bind(hub.launches);
    hub.launches.take = (payload) => {
      take(payload);
      const newest = Math.max(...(payload.kernels ?? []).map((launch) => launch.start_ns + launch.duration_ns));
      if (!Number.isFinite(newest)) return;
      const happenedMs = (newest - clock.monotonicNs + clock.epochNs) / 1e6;
      // Asked for after the page's own loop, so it runs after the page has painted.
      requestAnimationFrame(() => {
        found.push(performance.timeOrigin + performance.now() - happenedMs);
      });
    };
    await new Promise((resolve) => setTimeout(resolve, durationMs));
    hub.launches.take = take;
    return found;
  }, EVENTS_MS);
}

async function firstPaints(open: () => Promise<Page>, url: string): Promise<{ paintMs: number[]; dataMs: number[] }> {
  const paintMs: number[] = [];
  const dataMs: number[] = [];
  for (let round = 0; round < PAINTS; round += 1) {
    const page = await open();
    await page.setCacheEnabled(false);
    await page.goto(url);
    await page.waitForFunction(() => (window as unknown as Partial<Dashboard>).amdgpuDashboard?.hub.store.length, {
      timeout: WAIT_MS,
      polling: 5,
    });
    dataMs.push(await page.evaluate(() => performance.now()));
    paintMs.push(
      await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN),
    );
    await page.close();
  }
  return { paintMs, dataMs };
}

async function main(): Promise<void> {
  const load = await startLoadServer();
  const real = await startServer();
  const browser = await openBrowser();
  const result: Record<string, unknown> = { browser: await browser.version() };
  try {
    const open = async (): Promise<Page> => {
      const page = await browser.newPage();
      await page.setViewport({ width: 1440, height: 900 });
      return page;
    };
    const paints = await firstPaints(open, load.url);
    result["firstPaintMs"] = quantile(paints.paintMs, 0.5);
    result["firstDataMs"] = quantile(paints.dataMs, 0.5);
    const page = await open();
    for (const [name, path] of [
      ["overview", "#/overview"],
      ["allDevices", "#/device/all"],
      ["kernels", "#/kernels"],
    ] as const) {
      await page.goto(`${load.url}${path}`);
      result[name] = await frames(page);
    }
    await page.goto(`${load.url}#/overview`);
    await wait(WARM_UP_MS);
    const loadEvents = await eventToPixel(page);
    result["loadEventToPixelMs"] = {
      p50: quantile(loadEvents, 0.5),
      p95: quantile(loadEvents, 0.95),
      events: loadEvents.length,
    };
    await page.goto(`${real.url}#/overview`);
    const program = await startProgram("--seconds", "60", "--rate", "40");
    try {
      await wait(2 * WARM_UP_MS);
      const events = await eventToPixel(page);
      result["programEventToPixelMs"] = {
        p50: quantile(events, 0.5),
        p95: quantile(events, 0.95),
        events: events.length,
      };
    } finally {
      await program.stop();
    }
  } finally {
    await browser.close();
    await Promise.all([load.stop(), real.stop()]);
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

await main();
