/** Takes pictures of every page: `node build/tests/screenshots.js FOLDER [real|load] [light|dark] [800|1280|1920]`. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { openBrowser, openPage } from "./harness/browser";
import { startLoadServer, startProgram, startServer } from "./harness/servers";

const PAGES = ["overview", "device", "kernels", "performance", "memory", "network", "lanes", "graphs"];
const SETTLE_MS = 5000;
const HEIGHT = 900;
const PAGE_MS = 4000;
const WAIT_MS = 60_000;

async function main(folder: string, isLoad: boolean, themes: string[], widths: number[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const server = isLoad ? await startLoadServer() : await startServer();
  const program = isLoad
    ? undefined
    : await startProgram(
        "--seconds",
        "180",
        "--rate",
        "40",
        "--parts",
        "kernels,products,spiking,learning,memory,checked,graphs",
      );
  const browser = await openBrowser();
  try {
    const { page, errors, outside } = await openPage(browser, server.url);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    for (const theme of themes) {
      await page.evaluate((choice) => localStorage.setItem("amdgpu.theme", choice), theme);
      await page.reload({ waitUntil: "load" });
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      for (const width of widths) {
        await page.setViewport({ width, height: HEIGHT });
        for (const name of PAGES) {
          await page.evaluate((hash) => {
            location.hash = hash;
          }, `#/${name}`);
          await new Promise((resolve) => setTimeout(resolve, PAGE_MS));
          await page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`) });
          if (name === "kernels" && !isLoad) {
            await page.waitForFunction(
              () =>
                [...document.querySelectorAll<HTMLElement>("tr[data-key]")].some((row) =>
                  row.dataset["key"]?.includes(":saxpy:"),
                ),
              { timeout: WAIT_MS },
            );
            await page.evaluate(() => {
              [...document.querySelectorAll<HTMLElement>("tr[data-key]")]
                .find((row) => row.dataset["key"]?.includes(":saxpy:"))
                ?.click();
            });
            await page.waitForSelector(".kernel-panes", { timeout: WAIT_MS });
            await new Promise((resolve) => setTimeout(resolve, 500));
            await page.screenshot({ path: join(folder, `kernel-${theme}-${width}.png`) });
          }
        }
      }
    }
    process.stdout.write(`${JSON.stringify({ errors, outside })}\n`);
  } finally {
    await browser.close();
    await program?.stop();
    await server.stop();
  }
}

const [folder = "screenshots", kind, theme, width] = process.argv.slice(2);
await main(
  folder,
  kind === "load",
  theme === undefined ? ["light", "dark"] : [theme],
  width === undefined ? [800, 1280, 1920] : [Number(width)],
);
