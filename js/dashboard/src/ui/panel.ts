/** A titled box. */

import { h } from "./dom";

export interface Panel {
  readonly element: HTMLElement;
  readonly body: HTMLElement;
  /** On the right of the title. */
  readonly aside: HTMLElement;
}

export function panel(title: string, options: { readonly className?: string; readonly note?: string } = {}): Panel {
  const body = h("div", { class: "panel-body" });
  const aside = h("div", { class: "panel-aside" });
  const heading = h("h2", {}, title);
  const element = h(
    "section",
    { class: `panel ${options.className ?? ""}`.trim(), "aria-label": title },
    h("header", { class: "panel-head" }, heading, aside),
    options.note === undefined ? null : h("p", { class: "note" }, options.note),
    body,
  );
  return { element, body, aside };
}

/** A name and a value that changes. */
export class Fact {
  readonly element: HTMLElement;
  readonly value = h("span", { class: "fact-value" }, "–");

  constructor(label: string, hint?: string) {
    this.element = h("div", { class: "fact", title: hint }, h("span", { class: "fact-label" }, label), this.value);
  }
}
