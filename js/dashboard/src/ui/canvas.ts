/** A canvas that has the size of its place in device pixels. */

import { colourEpoch } from "../state/preferences";

export class Surface {
  readonly element: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  /** Size in CSS pixels. */
  width = 0;
  height = 0;
  private ratio = 1;
  private seenEpoch = -1;
  private isResized = true;
  private readonly observer: ResizeObserver;

  constructor(label: string, className = "plot") {
    this.element = document.createElement("canvas");
    this.element.className = className;
    this.element.setAttribute("role", "img");
    this.element.setAttribute("aria-label", label);
    const context = this.element.getContext("2d", { alpha: true });
    if (context === null)
      throw new Error("this browser draws no canvas: use a current version of Firefox, Chromium or Safari");
    this.context = context;
    this.observer = new ResizeObserver((entries) => {
      const box = entries[0]?.contentRect;
      if (box !== undefined) this.resize(box.width, box.height);
    });
    this.observer.observe(this.element);
  }

  private resize(width: number, height: number): void {
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = Math.max(1, Math.round(width));
    this.height = Math.max(1, Math.round(height));
    this.element.width = Math.round(this.width * this.ratio);
    this.element.height = Math.round(this.height * this.ratio);
    this.isResized = true;
  }

  /** Whether all must be painted anew: another size, or other colours. */
  isChanged(): boolean {
    return this.isResized || colourEpoch.peek() !== this.seenEpoch;
  }

  /** What is there now is being painted. */
  seen(): void {
    this.isResized = false;
    this.seenEpoch = colourEpoch.peek();
  }

  /** Whether all must be painted anew: another size, or other colours. Asking answers no until the next change. */
  takeChange(): boolean {
    const isChanged = this.isChanged();
    this.seen();
    return isChanged;
  }

  /** Ready to paint in CSS pixels, empty. False while the place has no size. */
  begin(): boolean {
    if (this.width <= 1 || this.height <= 1) return false;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return true;
  }

  end(): void {
    this.observer.disconnect();
  }
}
