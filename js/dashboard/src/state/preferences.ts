/** What the reader chose, kept in this browser. */

import { effect, type Signal, signal } from "@preact/signals-core";

export type Theme = "system" | "light" | "dark";

const PREFIX = "amdgpu.";

function stored<T extends string>(key: string, known: readonly T[], initial: T): Signal<T> {
  const found = read(key);
  const value = signal<T>(known.find((candidate) => candidate === found) ?? initial);
  effect(() => write(key, value.value));
  return value;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null; // storage is switched off in this browser
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    // The choice then lasts as long as the page.
  }
}

export const THEMES: readonly Theme[] = ["system", "light", "dark"];
export const theme = stored("theme", THEMES, "system");
/** Counts changes of colours, so that canvases paint again. */
export const colourEpoch = signal(0);

/** Puts the theme on the page and follows the system's. */
export function applyTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const choice = theme.peek();
    document.documentElement.dataset["theme"] = choice === "system" ? (dark.matches ? "dark" : "light") : choice;
    colourEpoch.value = colourEpoch.peek() + 1;
  };
  dark.addEventListener("change", apply);
  effect(() => {
    void theme.value;
    apply();
  });
}

export function nextTheme(): void {
  const place = THEMES.indexOf(theme.peek());
  theme.value = THEMES[(place + 1) % THEMES.length] ?? "system";
}
