import assert from "node:assert/strict";
import { test } from "node:test";

import { findBrowser, openBrowser, openPage, type Watched } from "./harness/browser";
import { startProgram, startServer } from "./harness/servers";

const WAIT_MS = 60_000;
const skip = findBrowser() === undefined ? "no Chromium here: sudo apt-get install chromium" : false;

async function go({ page }: Watched, name: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${name}`);
}

test("a kernel launched in a Python process appears, with its source, IR and assembly behind a click", {
  skip,
}, async () => {
  const server = await startServer();
  const browser = await openBrowser();
  const watched = await openPage(browser, server.url);
  const { page } = watched;
  await go(watched, "kernels");
  const program = await startProgram("--seconds", "120", "--rate", "50");
  try {
    await page.waitForFunction(
      (pid) => [...document.querySelectorAll("tr[data-key]")].some((row) => row.textContent?.includes(pid)),
      { timeout: WAIT_MS },
      String(program.pid),
    );
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll<HTMLElement>("tr[data-key]")].some((row) => row.dataset["key"]?.includes("/")),
      { timeout: WAIT_MS },
    );
    const key = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>("tr[data-key]")]
        .map((row) => row.dataset["key"])
        .find((found) => found?.includes("/")),
    );
    await page.click(`tr[data-key="${key}"]`);
    await page.waitForSelector(".kernel-panes", { timeout: WAIT_MS });
    const panes = await page.evaluate(() =>
      [...document.querySelectorAll(".pane")].map((pane) => pane.textContent ?? ""),
    );
    assert.match(panes[0] ?? "", /__global__/);
    assert.match(panes[1] ?? "", /kernel @/);
    assert.ok((panes[2] ?? "").length > 100);
    await go(watched, "overview");
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll(".core-card .fact-value")].some((fact) => /^[1-9]/.test(fact.textContent ?? "")),
      { timeout: WAIT_MS },
    );
    for (const name of ["memory", "network", "performance"]) {
      await go(watched, name);
      await page.waitForFunction(() => (document.querySelector("main")?.textContent ?? "").length > 40, {
        timeout: WAIT_MS,
      });
    }
    assert.deepEqual(watched.errors, []);
    assert.deepEqual(watched.outside, []);
  } finally {
    await program.stop();
    await browser.close();
    await server.stop();
  }
});

test("the memory page shows the pools of all programs, and says what they sum to", { skip }, async () => {
  const server = await startServer();
  const browser = await openBrowser();
  const watched = await openPage(browser, server.url);
  const { page } = watched;
  const programs = await Promise.all([startProgram("--seconds", "120"), startProgram("--seconds", "120")]);
  try {
    await go(watched, "memory");
    await page.waitForFunction(
      (pids) => {
        const names = [...document.querySelectorAll(".pool b")].map((name) => name.textContent ?? "");
        return pids.every((pid) => names.some((name) => name.endsWith(`process ${pid}`)));
      },
      { timeout: WAIT_MS },
      programs.map((program) => program.pid),
    );
    await page.waitForFunction(
      () => / in use of .* by [2-9]\d* processes$/.test(document.querySelector(".panel-aside .sub")?.textContent ?? ""),
      {
        timeout: WAIT_MS,
      },
    );
    const facts = await page.$$eval(".pool .fact", (found) => found.map((fact) => fact.textContent ?? ""));
    assert.ok(
      facts.some((fact) => /^largest free block[0-9.]+ MiB$/.test(fact)),
      facts.join("; "),
    );
    assert.ok(
      facts.some((fact) => /^an allocation findsa free block of/.test(fact)),
      facts.join("; "),
    );
    assert.ok(!facts.some((fact) => fact.startsWith("fragmentation")));
    assert.deepEqual(watched.errors, []);
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
    await browser.close();
    await server.stop();
  }
});

test("tabs of networks take every click and keep the focus while the networks run", { skip }, async () => {
  const server = await startServer();
  const browser = await openBrowser();
  const watched = await openPage(browser, server.url);
  const { page } = watched;
  const program = await startProgram("--seconds", "120", "--rate", "50", "--parts", "spiking,learning");
  const tab = (name: string): string => `.segments[aria-label="Network"] button[data-name="${name}"]`;
  try {
    await go(watched, "network");
    await page.waitForSelector(tab("watched"), { timeout: WAIT_MS });
    await page.waitForSelector(tab("learner"), { timeout: WAIT_MS });
    for (let click = 0; click < 7; click += 1) {
      const name = click % 2 === 0 ? "learner" : "watched";
      const box = await (await page.$(tab(name)))?.boundingBox();
      assert.ok(box);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.mouse.down();
      // Long enough for several batches.
      await new Promise((resolve) => setTimeout(resolve, 700));
      await page.mouse.up();
      assert.equal(
        await page.$eval(tab(name), (button) => button.getAttribute("aria-pressed")),
        "true",
        `click ${click}`,
      );
      await new Promise((resolve) => setTimeout(resolve, 500));
      const focused = await page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset["name"]);
      assert.equal(focused, name, `focus after click ${click}`);
      const kind = name === "learner" ? "layered" : "spiking";
      assert.match(await page.$eval("main", (main) => main.textContent ?? ""), new RegExp(`kind${kind}`));
      const spikes = await page.$eval(".raster-panel .panel-aside", (aside) => aside.textContent ?? "");
      if (name === "learner") assert.equal(spikes, "");
    }
    assert.deepEqual(watched.errors, []);
  } finally {
    await program.stop();
    await browser.close();
    await server.stop();
  }
});

test("the graphs page draws a program's graph, says what was joined and takes clicks", { skip }, async () => {
  const server = await startServer();
  const program = await startProgram("--seconds", "120", "--rate", "20", "--parts", "graphs");
  const browser = await openBrowser();
  const watched = await openPage(browser, server.url);
  const { page } = watched;
  try {
    await go(watched, "graphs");
    await page.waitForSelector(".graph-node.is-joined", { timeout: WAIT_MS });
    const titles = await page.$$eval(".graph-node text:first-of-type", (found) =>
      found.map((title) => title.textContent ?? ""),
    );
    assert.ok(
      titles.some((title) => title.includes("top_k")),
      titles.join("; "),
    );
    assert.ok(
      titles.some((title) => /%\d+ result$/.test(title)),
      titles.join("; "),
    );
    const lines = await page.$$eval(".graph-lines path", (found) => found.length);
    assert.ok(lines >= titles.length - 1, `${lines} lines between ${titles.length} nodes`);
    assert.match(await page.$eval("select[aria-label='Graph']", (menu) => menu.textContent ?? ""), /^layer\(float32/);
    const notes = await page.$$eval(".graph-notes li", (found) => found.map((note) => note.textContent ?? ""));
    assert.ok(
      notes.some((note) => /3 operations are one kernel, %2: add, tanh, multiply/.test(note)),
      notes.join("; "),
    );
    const rows = await page.$$eval("table.data tbody tr", (found) => found.length);
    assert.equal(rows, titles.length);
    const id = await page.$eval(".graph-node.is-joined", (node) => node.getAttribute("data-node") ?? "");
    await page.click(`.graph-node[data-node="${id}"]`);
    assert.equal(await page.$eval("tr.selected", (row) => row.getAttribute("data-node")), id);
    const before = await page.$eval("main", (main) => /runs([0-9 ,.]+)/.exec(main.textContent ?? "")?.[1]);
    await page.waitForFunction(
      (old) => /runs([0-9 ,.]+)/.exec(document.querySelector("main")?.textContent ?? "")?.[1] !== old,
      { timeout: WAIT_MS },
      before,
    );
    assert.deepEqual(watched.errors, []);
    assert.deepEqual(watched.outside, []);
  } finally {
    await program.stop();
    await browser.close();
    await server.stop();
  }
});

test("a page that is opened later knows what programs did before", { skip }, async () => {
  const server = await startServer();
  const program = await startProgram("--seconds", "120", "--rate", "50", "--parts", "kernels");
  const browser = await openBrowser();
  // Nobody watches meanwhile; the server notes something once a second.
  await new Promise((resolve) => setTimeout(resolve, 6000));
  const { page } = await openPage(browser, server.url);
  try {
    const rates = await page.waitForFunction(
      () => {
        interface Store {
          readonly past: number;
          readonly oldestSeconds: number;
          value(series: number, timeSeconds: number): number;
        }
        interface Schema {
          readonly devices: readonly { readonly name: string }[];
          readonly metrics: readonly { readonly name: string }[];
        }
        const { hub } = (
          window as unknown as {
            amdgpuDashboard: { hub: { store: Store; nowSeconds: number; schema: { peek(): Schema | null } } };
          }
        ).amdgpuDashboard;
        const schema = hub.schema.peek();
        if (schema === null || hub.store.past === 0) return null;
        const device = schema.devices.findIndex((one) => one.name === "cpu:0");
        const metric = schema.metrics.findIndex((one) => one.name === "amdgpu_kernel_launches_per_second");
        const series = device * schema.metrics.length + metric;
        const found = [];
        for (let time = hub.store.oldestSeconds; time < hub.nowSeconds; time += 0.5)
          found.push(hub.store.value(series, time));
        return found.filter((value) => value > 0).length > 4 ? found : null;
      },
      { timeout: WAIT_MS },
    );
    const known = (await rates.jsonValue()) as number[];
    // Before the program nothing is known of it: that is a gap, which JSON has as null.
    assert.ok(known.some((value) => value === null || Number.isNaN(value)));
  } finally {
    await program.stop();
    await browser.close();
    await server.stop();
  }
});
