/** What lives as long as a page is shown: everything that was begun in a scope ends with it. */

import { effect } from "@preact/signals-core";
import { everyFrame } from "./frame_clock";

export class Scope {
  private readonly endings: (() => void)[] = [];

  /** Calls `ending` when the scope ends. */
  add(ending: () => void): void {
    this.endings.push(ending);
  }

  effect(work: () => void): void {
    this.add(effect(work));
  }

  /** Calls `paint` before each picture that the browser shows. */
  everyFrame(paint: (nowMs: number) => void): void {
    this.add(everyFrame(paint));
  }

  /** Calls `work` now and then every `periodMs` while the page can be seen. */
  every(periodMs: number, work: () => void): void {
    work();
    const timer = setInterval(() => {
      if (!document.hidden) work();
    }, periodMs);
    this.add(() => clearInterval(timer));
  }

  listen<K extends keyof WindowEventMap>(type: K, handler: (event: WindowEventMap[K]) => void): void {
    window.addEventListener(type, handler);
    this.add(() => window.removeEventListener(type, handler));
  }

  end(): void {
    for (const ending of this.endings.splice(0).reverse()) ending();
  }
}
