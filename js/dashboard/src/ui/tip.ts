/** A few lines beside the pointer. */

import { h } from "./dom";

export class Tip {
  private readonly element = h("div", { class: "tip", role: "tooltip" });

  show(x: number, y: number, text: string): void {
    if (this.element.textContent !== text) this.element.textContent = text;
    if (!this.element.isConnected) document.body.append(this.element);
    const { offsetWidth, offsetHeight } = this.element;
    this.element.style.left = `${Math.min(x + 14, innerWidth - offsetWidth - 8)}px`;
    this.element.style.top = `${y + 18 + offsetHeight > innerHeight ? y - offsetHeight - 10 : y + 18}px`;
  }

  hide(): void {
    this.element.remove();
  }
}
