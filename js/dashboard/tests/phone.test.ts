import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import type { Browser, Page } from "puppeteer-core";

import { findBrowser, openBrowser, openPage, type Watched } from "./harness/browser";
import { type Running, startProgram, startServer } from "./harness/servers";

/** An upright phone of the usual size. */
const [WIDTH, HEIGHT] = [390, 844];
/** WCAG 2.2, success criterion 2.5.8: targets have at least this size. */
const TARGET_PIXELS = 24;
/** Letters reach this far over their line's box without touching others. */
const TOUCHING_PIXELS = 2;
const WAIT_MS = 60_000;
const skip = findBrowser() === undefined ? "no Chromium here: sudo apt-get install chromium" : false;

/** What a page shows once it has real data. */
const PAGES = {
  overview: ".core-card .fact-value",
  device: ".metric-card canvas",
  kernels: "tr[data-key*='/']",
  performance: ".roofline circle",
  memory: ".pool .fact-value",
  network: ".raster canvas",
  lanes: ".lane-cells span",
  graphs: ".graph-node text",
} as const;

let browser: Browser;
let server: Running;
let program: { stop(): Promise<void> };

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  server = await startServer();
  program = await startProgram(
    "--seconds",
    "600",
    "--rate",
    "30",
    "--parts",
    "kernels,products,spiking,learning,memory,checked,graphs",
  );
});

after(async () => {
  await browser?.close();
  await program?.stop();
  await server?.stop();
});

async function open(theme: string): Promise<Watched> {
  const watched = await openPage(browser, server.url, WIDTH, HEIGHT);
  await watched.page.setViewport({ width: WIDTH, height: HEIGHT, isMobile: true, hasTouch: true });
  await watched.page.evaluate((choice) => localStorage.setItem("amdgpu.theme", choice), theme);
  await watched.page.reload();
  return watched;
}

async function show(page: Page, name: keyof typeof PAGES): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${name}`);
  if (name === "network") {
    // The one that spikes; the other one learns.
    const tab = await page.waitForSelector('button[data-name="watched"]', { timeout: WAIT_MS });
    await tab?.tap();
  }
  await page.waitForSelector(PAGES[name], { timeout: WAIT_MS });
  // What comes with the first answers is laid out.
  await new Promise((resolve) => setTimeout(resolve, 1200));
}

interface Layout {
  /** Pixels by which the page is wider than the screen. */
  readonly overflow: number;
  readonly small: readonly string[];
  readonly outside: readonly string[];
  readonly overlaps: readonly string[];
}

/** Looks at every text and every target that can be seen, in the page itself. */
function layoutOf(targetPixels: number, touchingPixels: number): Layout {
  const visible = (element: Element): boolean =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  /** The part of a box that the boxes around it let through. */
  const clipped = (box: DOMRect, element: Element): DOMRect => {
    let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
    for (let outer: Element | null = element; outer !== null; outer = outer.parentElement) {
      const style = getComputedStyle(outer);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const frame = outer.getBoundingClientRect();
      left = Math.max(left, frame.left);
      right = Math.min(right, frame.right);
      top = Math.max(top, frame.top);
      bottom = Math.min(bottom, frame.bottom);
    }
    return new DOMRect(left, top, Math.max(right - left, 0), Math.max(bottom - top, 0));
  };
  const nameOf = (element: Element): string =>
    `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${(element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 40)}"`;
  const targets = [...document.querySelectorAll("a, button, select, input, [tabindex='0']")].filter(visible);
  const small = targets
    .filter((element) => {
      const box = element.getBoundingClientRect();
      return box.width < targetPixels || box.height < targetPixels;
    })
    .map(
      (element) =>
        `${nameOf(element)} ${Math.round(element.getBoundingClientRect().width)} x ${Math.round(element.getBoundingClientRect().height)}`,
    );
  interface Piece {
    readonly element: Element;
    readonly box: DOMRect;
  }
  const pieces: Piece[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    // Words of drawings stand where their figures put them.
    if (
      element === null ||
      node.textContent?.trim() === "" ||
      element.closest("svg, option, noscript, script, .u-over") !== null
    )
      continue;
    if (!visible(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = clipped(rect, element);
      if (box.width > 0 && box.height > 0) pieces.push({ element, box });
    }
  }
  for (const element of targets)
    if (element.matches("select, input"))
      pieces.push({ element, box: clipped(element.getBoundingClientRect(), element) });
  const outside = [
    ...targets
      .filter((one) => one.closest(".table-box, .lane-grid, .chart-box, .code") === null)
      .map((element) => ({ element, box: element.getBoundingClientRect() })),
    ...pieces,
  ]
    .filter(({ box }) => box.width > 0 && (box.left < -1 || box.right > innerWidth + 1))
    .map(({ element }) => nameOf(element));
  const overlaps: string[] = [];
  pieces.forEach((one, index) => {
    for (const other of pieces.slice(index + 1)) {
      if (one.element === other.element || one.element.contains(other.element) || other.element.contains(one.element))
        continue;
      const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      if (wide > touchingPixels && high > touchingPixels)
        overlaps.push(`${nameOf(one.element)} and ${nameOf(other.element)}`);
    }
  });
  return {
    overflow: Math.max(
      document.documentElement.scrollWidth - innerWidth,
      (document.querySelector("main")?.scrollWidth ?? 0) - (document.querySelector("main")?.clientWidth ?? 0),
    ),
    small,
    outside: [...new Set(outside)],
    overlaps,
  };
}

/** Findings of axe-core that keep people out, with the places. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    interface Finding {
      readonly id: string;
      readonly impact: string | null;
      readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
    }
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: readonly Finding[] }> } };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
      );
  });
}

for (const theme of ["light", "dark"]) {
  for (const name of Object.keys(PAGES) as (keyof typeof PAGES)[]) {
    test(`on a phone the ${name} page fits, has targets for fingers and keeps nobody out, ${theme}`, {
      skip,
    }, async () => {
      const watched = await open(theme);
      const { page } = watched;
      try {
        await show(page, name);
        const layout = await page.evaluate(layoutOf, TARGET_PIXELS, TOUCHING_PIXELS);
        assert.deepEqual(layout, { overflow: 0, small: [], outside: [], overlaps: [] });
        assert.deepEqual(await barriers(page), []);
        if (name === "lanes") {
          const boxes = await page.$$eval(".lane-row:first-child .lane-cells span", (cells) =>
            cells.map(
              (cell) => cell.getBoundingClientRect().toJSON() as { left: number; right: number; width: number },
            ),
          );
          assert.ok(boxes.length >= 32);
          assert.ok(boxes.every((box) => box.left >= 0 && box.right <= WIDTH && box.width >= 4));
        }
        assert.deepEqual(watched.errors, []);
      } finally {
        await page.close();
      }
    });
  }
}
