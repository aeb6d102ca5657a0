/** Headless Chromium for tests: pages that count errors of the console and requests that leave the server. */

import { existsSync } from "node:fs";
import puppeteer, { type Browser, type Page } from "puppeteer-core";

const CANDIDATES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where the browser is, or undefined. `CHROMIUM` names another one. */
export function findBrowser(): string | undefined {
  const named = process.env["CHROMIUM"];
  return [...(named === undefined ? [] : [named]), ...CANDIDATES].find((path) => existsSync(path));
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error("no Chromium here: sudo apt-get install chromium");
  return puppeteer.launch({
    executablePath,
    headless: true,
    // Containers have neither the kernel's sandbox nor a large /dev/shm, and pages come from our own server only.
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-background-timer-throttling",
      "--hide-scrollbars",
      "--no-first-run",
    ],
  });
}

export interface Watched {
  readonly page: Page;
  /** Errors of the console and of scripts. */
  readonly errors: string[];
  /** Requests to anywhere but the server. */
  readonly outside: string[];
}

export async function openPage(browser: Browser, url: string, width = 1440, height = 900): Promise<Watched> {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  const errors: string[] = [];
  const outside: string[] = [];
  const { origin } = new URL(url);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warn") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error instanceof Error ? error.message : String(error)));
  page.on("request", (request) => {
    const address = request.url();
    if (!address.startsWith("data:") && new URL(address).origin !== origin) outside.push(address);
  });
  await page.goto(url, { waitUntil: "load" });
  return { page, errors, outside };
}
