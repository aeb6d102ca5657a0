/** A box over the page that Escape closes; focus goes back to where it was. */

import { h } from "./dom";
import { icon } from "./icons";

export class Dialog {
  private readonly element: HTMLDialogElement;
  private readonly body = h("div", { class: "dialog-body" });

  constructor(title: string, className = "") {
    const close = h(
      "button",
      { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => this.close() },
      icon("close"),
    );
    this.element = h(
      "dialog",
      { class: `dialog ${className}`.trim(), "aria-label": title },
      h("header", { class: "panel-head" }, h("h2", {}, title), close),
      this.body,
    );
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.close();
    });
    document.body.append(this.element);
  }

  get isOpen(): boolean {
    return this.element.open;
  }

  open(content: Node): void {
    this.body.replaceChildren(content);
    if (!this.element.open) this.element.showModal();
  }

  close(): void {
    this.element.close();
  }

  onClose(work: () => void): void {
    this.element.addEventListener("close", work);
  }
}
