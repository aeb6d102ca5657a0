/** What the frame of the page and each page know of each other. */

import type { Signal } from "@preact/signals-core";
import type { Hub } from "../data/hub";
import type { Scope } from "../state/scope";
import type { IconName } from "../ui/icons";
import type { Shortcut } from "../ui/shortcuts";

export const PAGE_IDS = [
  "overview",
  "device",
  "kernels",
  "performance",
  "memory",
  "network",
  "lanes",
  "graphs",
] as const;
export type PageId = (typeof PAGE_IDS)[number];

export interface PageContext {
  readonly hub: Hub;
  readonly scope: Scope;
  /** Name of the device that device pages show; null for the first. */
  readonly selectedDevice: Signal<string | null>;
  /** Process that process pages show; null for the first. */
  readonly selectedPid: Signal<number | null>;
  /** What follows the page's name in the address. */
  readonly path: readonly string[];
  go(page: PageId, ...path: string[]): void;
  /** Keys that live as long as the page. */
  keys(shortcuts: readonly Shortcut[]): void;
}

export interface Page {
  readonly id: PageId;
  readonly title: string;
  readonly icon: IconName;
  mount(root: HTMLElement, context: PageContext): void;
}
