/** What a place says that has nothing to show: why, and what to do about it. */

import { h } from "./dom";
import { type IconName, icon } from "./icons";

export interface Hint {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  /** A command or a few lines of code that change the state. */
  readonly code?: string;
}

export function emptyState(hint: Hint): HTMLElement {
  return h(
    "div",
    { class: "state", role: "status" },
    icon(hint.icon),
    h("h3", {}, hint.title),
    h("p", {}, hint.text),
    hint.code === undefined ? null : h("pre", {}, h("code", {}, hint.code)),
  );
}

export function errorState(message: string, retry: () => void): HTMLElement {
  return h(
    "div",
    { class: "state failed", role: "alert" },
    icon("close"),
    h("h3", {}, "This could not be read"),
    h("p", {}, message),
    h("button", { type: "button", class: "button", onclick: retry }, "Try again"),
  );
}

export function loadingState(what: string): HTMLElement {
  return h("div", { class: "state loading", role: "status" }, h("div", { class: "pulse" }), h("p", {}, what));
}

/** Shows one thing at a time in a place, and builds it only when the kind of thing changes. */
export class Switch {
  private shown = "";

  constructor(readonly place: HTMLElement) {}

  show(kind: string, make: () => Node): void {
    if (this.shown === kind) return;
    this.shown = kind;
    this.place.replaceChildren(make());
  }

  /** Builds anew next time, whatever is shown. */
  reset(): void {
    this.shown = "";
  }
}
