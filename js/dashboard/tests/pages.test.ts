import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "puppeteer-core";

import { findBrowser, openBrowser, openPage, type Watched } from "./harness/browser";
import { type Running, startLoadServer } from "./harness/servers";

const PAGES = ["overview", "device", "kernels", "performance", "memory", "network", "lanes", "graphs"] as const;
const WAIT_MS = 30_000;
const skip = findBrowser() === undefined ? "no Chromium here: sudo apt-get install chromium" : false;

let browser: Browser;
let load: Running;

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  load = await startLoadServer();
});

after(async () => {
  await browser?.close();
  await load?.stop();
});

async function go({ page }: Watched, name: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${name}`);
}

function assertQuiet({ errors, outside }: Watched): void {
  assert.deepEqual(errors, []);
  assert.deepEqual(outside, []);
}

for (const [width, theme] of [
  [1440, "light"],
  [800, "dark"],
] as const) {
  test(`every page shows without an error and without a request to elsewhere, ${width} wide, ${theme}`, {
    skip,
  }, async () => {
    const watched = await openPage(browser, load.url, width);
    const { page } = watched;
    await page.evaluate((choice) => localStorage.setItem("amdgpu.theme", choice), theme);
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll(".device-row").length === 8, { timeout: WAIT_MS });
    for (const name of PAGES) {
      await go(watched, name);
      await page.waitForFunction(
        (hash) => document.querySelector(".rail [aria-current]")?.getAttribute("href") === hash,
        { timeout: WAIT_MS },
        `#/${name}`,
      );
      await page.waitForFunction(() => (document.querySelector("main")?.textContent ?? "").length > 40, {
        timeout: WAIT_MS,
      });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(overflow, 0, `${name} is wider than the window`);
    }
    assert.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), theme);
    assertQuiet(watched);
    await page.close();
  });
}

test("keys pause, rewind, go live, change the length and list themselves", { skip }, async () => {
  const watched = await openPage(browser, load.url);
  const { page } = watched;
  const live = (): Promise<string> => page.$eval(".live", (element) => element.textContent ?? "");
  await page.waitForFunction(() => document.querySelectorAll(".device-row").length === 8, { timeout: WAIT_MS });
  await page.waitForFunction(
    () => {
      const { hub } = (window as unknown as { amdgpuDashboard: { hub: { store: { length: number } } } })
        .amdgpuDashboard;
      return hub.store.length > 400;
    },
    { timeout: WAIT_MS },
  );
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await page.waitForFunction(() => document.querySelector(".segments button.on")?.textContent === "5 s", {
    timeout: WAIT_MS,
  });
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.querySelector(".live")?.textContent !== "live", { timeout: WAIT_MS });
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => /−[1-9]/.test(document.querySelector(".live")?.textContent ?? ""), {
    timeout: WAIT_MS,
  });
  await page.keyboard.press("End");
  await page.waitForFunction(() => document.querySelector(".live")?.textContent === "live", { timeout: WAIT_MS });
  assert.equal(await live(), "live");
  await page.keyboard.type("?");
  await page.waitForSelector("dialog[open] kbd", { timeout: WAIT_MS });
  const listed = await page.$$eval("dialog[open] kbd", (keys) => keys.length);
  assert.ok(listed >= 15, `${listed} keys are listed`);
  await page.keyboard.press("Escape");
  await page.keyboard.type("3");
  await page.waitForFunction(() => location.hash === "#/kernels", { timeout: WAIT_MS });
  assertQuiet(watched);
  await page.close();
});

test("steps back on a page that has no past say that there is nothing older", { skip }, async () => {
  const young = await startLoadServer();
  const { page } = await openPage(browser, young.url);
  try {
    await page.waitForFunction(() => document.querySelector(".live")?.textContent === "live", { timeout: WAIT_MS });
    await page.click('button[aria-label="Back"]');
    await page.click('button[aria-label="Back"]');
    assert.equal(await page.$eval(".time-note", (note) => note.textContent), "nothing older");
    await page.keyboard.press("End");
    assert.equal(await page.$eval(".time-note", (note) => note.textContent), "");
  } finally {
    await page.close();
    await young.stop();
  }
});

test("two marked intervals are compared metric by metric", { skip }, async () => {
  const watched = await openPage(browser, load.url);
  const { page } = watched;
  await page.waitForFunction(() => document.querySelectorAll(".device-row").length === 8, { timeout: WAIT_MS });
  await page.waitForFunction(
    () => {
      const { hub } = (window as unknown as { amdgpuDashboard: { hub: { store: { length: number } } } })
        .amdgpuDashboard;
      return hub.store.length > 60;
    },
    { timeout: WAIT_MS },
  );
  await page.keyboard.type("a");
  await page.keyboard.type("b");
  await page.keyboard.type("c");
  await page.waitForSelector("dialog[open] table.data tbody tr", { timeout: WAIT_MS });
  assert.equal(await page.$$eval("dialog[open] tbody tr", (rows) => rows.length), 256);
  assertQuiet(watched);
  await page.close();
});

test("a server that demands a token asks for it, refuses a wrong one and takes the right one", { skip }, async () => {
  const guarded = await startLoadServer("--token", "sesame");
  const { page } = await openPage(browser, guarded.url);
  try {
    await page.waitForSelector(".gate input", { timeout: WAIT_MS });
    await page.type(".gate input", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".gate .wrong", { timeout: WAIT_MS });
    await page.type(".gate input", "sesame");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".device-row").length === 8, { timeout: WAIT_MS });
    await page.goto(`${guarded.url}?token=sesame`);
    await page.waitForFunction(() => document.querySelectorAll(".device-row").length === 8, { timeout: WAIT_MS });
    assert.ok(!page.url().includes("sesame"));
  } finally {
    await page.close();
    await guarded.stop();
  }
});

test("a server that goes away is said, with what to look at, and the page comes back with it", { skip }, async () => {
  const brief = await startLoadServer();
  const { page } = await openPage(browser, brief.url);
  await page.waitForFunction(() => document.querySelectorAll(".device-row").length === 8, { timeout: WAIT_MS });
  await brief.stop();
  await page.waitForFunction(
    () => /amdgpu serve/.test(document.querySelector(".banner:not([hidden])")?.textContent ?? ""),
    { timeout: WAIT_MS },
  );
  assert.equal(await page.$eval(".live", (pill) => pill.textContent), "disconnected");
  const again = await startLoadServer("--port", new URL(brief.url).port);
  try {
    await page.waitForFunction(() => document.querySelector(".banner")?.hasAttribute("hidden") === true, {
      timeout: WAIT_MS,
    });
  } finally {
    await page.close();
    await again.stop();
  }
});

test("with reduced motion nothing moves more than twice a second", { skip }, async () => {
  const page = await browser.newPage();
  await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
  await page.goto(load.url);
  await page.waitForFunction(() => document.querySelectorAll(".device-row").length === 8, { timeout: WAIT_MS });
  const painted = await page.evaluate(async () => {
    const { paintedFrames } = (window as unknown as { amdgpuDashboard: { paintedFrames: () => number } })
      .amdgpuDashboard;
    const before = paintedFrames();
    const start = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return { frames: paintedFrames() - before, seconds: (performance.now() - start) / 1000 };
  });
  assert.ok(painted.frames <= 2 * painted.seconds + 1, `${painted.frames} pictures in ${painted.seconds} s`);
  await page.close();
});
