/** Keys of the page and of what it shows; all of them are listed under `?`. */

import { h } from "./dom";

export interface Shortcut {
  /** As `KeyboardEvent.key` has it. */
  readonly key: string;
  /** As people write it; the key itself where it is missing. */
  readonly shown?: string;
  readonly what: string;
  readonly run: () => void;
}

export class Shortcuts {
  private readonly groups = new Map<string, readonly Shortcut[]>();

  /** Adds a group of keys; the newest group with a key has it. Returns what takes it away. */
  add(title: string, shortcuts: readonly Shortcut[]): () => void {
    this.groups.delete(title);
    this.groups.set(title, shortcuts);
    return () => {
      if (this.groups.get(title) === shortcuts) this.groups.delete(title);
    };
  }

  listen(): void {
    window.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      for (const shortcuts of [...this.groups.values()].reverse()) {
        const found = shortcuts.find((shortcut) => shortcut.key === event.key);
        if (found === undefined) continue;
        // A focused button acts on the space bar and on Enter itself.
        if ((event.key === " " || event.key === "Enter") && event.target instanceof HTMLButtonElement) return;
        event.preventDefault();
        found.run();
        return;
      }
    });
  }

  /** The list that `?` shows. */
  listing(): HTMLElement {
    return h(
      "div",
      { class: "keys" },
      ...[...this.groups].map(([title, shortcuts]) =>
        h(
          "section",
          {},
          h("h3", {}, title),
          h(
            "dl",
            {},
            ...shortcuts.flatMap((shortcut) => [
              h("dt", {}, h("kbd", {}, shortcut.shown ?? shortcut.key)),
              h("dd", {}, shortcut.what),
            ]),
          ),
        ),
      ),
    );
  }
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isTextField = target instanceof HTMLInputElement && target.type !== "range";
  return (
    isTextField ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    target.isContentEditable
  );
}
