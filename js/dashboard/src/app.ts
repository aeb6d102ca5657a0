/** The frame of the page: navigation, time, what is wrong with the connection, and the page that the address names. */

import { signal } from "@preact/signals-core";
import { Hub, type Status } from "./data/hub";
import { device } from "./pages/device";
import { graphs } from "./pages/graphs";
import { kernels } from "./pages/kernels";
import { lanes } from "./pages/lanes";
import { memory } from "./pages/memory";
import { network } from "./pages/network";
import { overview } from "./pages/overview";
import type { Page, PageContext, PageId } from "./pages/page";
import { performancePage } from "./pages/performance";
import { tokenPage } from "./pages/token";
import { nextTheme, theme } from "./state/preferences";
import { Scope } from "./state/scope";
import { goLive, mark, stepSpan, togglePause } from "./state/timeline";
import { comparison } from "./ui/compare";
import { Dialog } from "./ui/dialog";
import { h, setText } from "./ui/dom";
import { icon } from "./ui/icons";
import { type Shortcut, Shortcuts } from "./ui/shortcuts";
import { step, timeControls } from "./ui/time_controls";

const PAGES: readonly Page[] = [overview, device, kernels, performancePage, memory, network, lanes, graphs];

export function startApp(root: HTMLElement): Hub {
  const hub = new Hub();
  const shortcuts = new Shortcuts();
  const selectedDevice = signal<string | null>(null);
  const selectedPid = signal<number | null>(null);
  const forever = new Scope();
  const help = new Dialog("Keys");
  const compare = new Dialog("Compare two intervals", "wide");
  const title = h("h1", {});
  const work = h("main", { class: "work", tabindex: -1 });
  const banner = h("div", { class: "banner", role: "status" });
  const content = h("div", {});
  work.append(banner, content);
  const themeButton = themeSwitch(forever);
  const openCompare = (): void => compare.open(comparison(hub, () => compare.close()));
  const openHelp = (): void => help.open(shortcuts.listing());
  const top = topBar(title, timeControls(hub, forever), themeButton, openCompare, openHelp);
  const links = new Map<PageId, HTMLAnchorElement>();
  const rail = navigation(hub, forever, links);
  const frame = h("div", { class: "app" }, rail, top, work);

  let scope = new Scope();
  const go = (page: PageId, ...path: string[]): void => {
    location.hash = `#/${[page, ...path].join("/")}`;
  };
  const show = (): void => {
    const [name, ...path] = location.hash.replace(/^#\/?/, "").split("/");
    const page = PAGES.find((candidate) => candidate.id === name) ?? overview;
    scope.end();
    scope = new Scope();
    content.replaceChildren();
    setText(title, page.title);
    document.title = `${page.title} · amdgpu`;
    for (const [id, link] of links) {
      if (id === page.id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const context: PageContext = {
      hub,
      scope,
      selectedDevice,
      selectedPid,
      path,
      go,
      keys: (list) => scope.add(shortcuts.add(page.title, list)),
    };
    page.mount(content, context);
  };
  shortcuts.add("Everywhere", [
    ...PAGES.map((page, index) => ({ key: String(index + 1), what: page.title, run: () => go(page.id) })),
    { key: "?", what: "this list", run: () => (help.isOpen ? help.close() : openHelp()) },
    { key: "t", what: "light, dark or as the system", run: nextTheme },
  ]);
  shortcuts.add("Time", timeKeys(hub, openCompare));
  shortcuts.listen();
  forever.effect(() => showBanner(banner, hub.status.value, hub.isSilent.value));
  let isGated = false;
  forever.effect(() => {
    const status = hub.status.value;
    if (status.kind === "token") {
      isGated = true;
      root.replaceChildren(tokenPage(hub, status.message));
    } else if (isGated || !frame.isConnected) {
      isGated = false;
      root.replaceChildren(frame);
    }
  });
  window.addEventListener("hashchange", show);
  show();
  void hub.start();
  return hub;
}

function themeSwitch(scope: Scope): HTMLElement {
  const button = h("button", { type: "button", class: "icon-button", onclick: nextTheme }, icon("theme"));
  scope.effect(() => {
    const label = { system: "Colours follow the system", light: "Light colours", dark: "Dark colours" }[theme.value];
    button.title = `${label} (t)`;
    button.setAttribute("aria-label", button.title);
  });
  return button;
}

function topBar(
  title: HTMLElement,
  controls: HTMLElement,
  themeButton: HTMLElement,
  openCompare: () => void,
  openHelp: () => void,
): HTMLElement {
  return h(
    "header",
    { class: "top" },
    title,
    controls,
    h(
      "button",
      {
        type: "button",
        class: "icon-button",
        title: "Compare two intervals (c)",
        "aria-label": "Compare two intervals",
        onclick: openCompare,
      },
      icon("compare"),
    ),
    themeButton,
    h(
      "button",
      { type: "button", class: "icon-button", title: "Keys (?)", "aria-label": "Keys", onclick: openHelp },
      icon("help"),
    ),
  );
}

function timeKeys(hub: Hub, openCompare: () => void): Shortcut[] {
  return [
    { key: " ", shown: "space", what: "pause or go on", run: () => togglePause(hub.nowSeconds) },
    { key: "ArrowLeft", shown: "←", what: "back by half of what is shown", run: () => step(hub, -0.5) },
    { key: "ArrowRight", shown: "→", what: "forward", run: () => step(hub, 0.5) },
    { key: "End", what: "to the newest", run: goLive },
    { key: "+", what: "show a shorter time", run: () => stepSpan(-1) },
    { key: "-", what: "show a longer time", run: () => stepSpan(1) },
    { key: "a", what: "mark what is shown as interval A", run: () => mark("a", hub.nowSeconds) },
    { key: "b", what: "mark what is shown as interval B", run: () => mark("b", hub.nowSeconds) },
    { key: "c", what: "compare A and B", run: openCompare },
  ];
}

function navigation(hub: Hub, scope: Scope, links: Map<PageId, HTMLAnchorElement>): HTMLElement {
  const items = PAGES.map((page, index) => {
    const link = h(
      "a",
      { href: `#/${page.id}`, title: `${page.title} (${index + 1})` },
      icon(page.icon),
      h("span", {}, page.title),
      h("kbd", {}, index + 1),
    );
    links.set(page.id, link);
    return link;
  });
  const dot = h("span", { class: "dot" });
  const words = h("span", {});
  const version = h("small", {});
  scope.effect(() => setText(version, hub.version.value));
  scope.effect(() => {
    const { kind } = hub.status.value;
    const isSilent = hub.isSilent.value;
    const state = kind === "live" && isSilent ? "lost" : kind;
    dot.className = `dot is-${state}`;
    setText(
      words,
      {
        connecting: "connecting",
        live: isSilent ? "no frames" : "connected",
        lost: "disconnected",
        token: "needs a token",
        error: "error",
      }[kind],
    );
  });
  return h(
    "nav",
    { class: "rail", "aria-label": "Pages" },
    h("div", { class: "brand" }, h("span", {}, "amdgpu"), version),
    ...items,
    h("div", { class: "grow" }),
    h("div", { class: "link-state", role: "status" }, dot, words),
  );
}

function showBanner(banner: HTMLElement, status: Status, isSilent: boolean): void {
  const message =
    status.kind === "lost" || status.kind === "error"
      ? status.message
      : status.kind === "live" && isSilent
        ? "The server is connected but sends no frames. What is shown is the last that came."
        : "";
  banner.hidden = message === "";
  banner.className = status.kind === "error" ? "banner error" : "banner";
  setText(banner, message);
}
