/** One kernel: source, IR after each pass, assembly and resources beside each other. A line of the source shows where it went. */

import { signal } from "@preact/signals-core";
import type { KernelDetails, PassFacts } from "../data/kernel_facts";
import { seconds } from "../format";
import { CodeView } from "../ui/code";
import { h } from "../ui/dom";
import { emptyState } from "../ui/states";
import type { PageContext } from "./page";

export function kernelView(details: KernelDetails, { scope, keys }: PageContext): HTMLElement {
  const pointed = signal<number | null>(null);
  const source = new CodeView("hip", (line) => {
    pointed.value = line;
  });
  source.show(details.source);
  const ir = new CodeView("ir");
  const passes = stages(details);
  const current = signal(Math.max(passes.length - 1, 0));
  const menu = h(
    "select",
    { "aria-label": "Pass" },
    ...passes.map((pass, index) => h("option", { value: index }, passTitle(pass, index))),
  );
  menu.addEventListener("change", () => {
    current.value = Number(menu.value);
  });
  const metrics = h("dl", { class: "fact-list" });
  scope.effect(() => {
    const index = current.value;
    menu.value = String(index);
    const pass = passes[index];
    if (pass === undefined) return;
    const before = new Set(pass.before.split("\n").map(withoutNumbers));
    ir.show(pass.after, (line) => pass.before !== "" && line.trim() !== "" && !before.has(withoutNumbers(line)));
    metrics.replaceChildren(...facts("this pass", pass.metrics));
  });
  const assembly = new CodeView("assembly");
  const machine = h(
    "select",
    { "aria-label": "Form" },
    h("option", { value: "assembly" }, "assembly"),
    h("option", { value: "llvm" }, "LLVM IR"),
  );
  const showMachine = (): void => assembly.show(machine.value === "llvm" ? details.llvm : details.assembly);
  machine.addEventListener("change", showMachine);
  if (details.assembly === "" && details.llvm !== "") machine.value = "llvm";
  showMachine();
  scope.effect(() => {
    const line = pointed.value;
    const mark = new RegExp(`!${line ?? "none"}$`);
    ir.mark((text) => line !== null && mark.test(text));
    assembly.mark((text) => line !== null && new RegExp(`\\.loc\\s+\\d+\\s+${line}\\b`).test(text));
    source.mark((_, number) => number === line);
  });
  keys([
    {
      key: "]",
      what: "next pass",
      run: () => {
        current.value = Math.min(current.peek() + 1, passes.length - 1);
      },
    },
    {
      key: "[",
      what: "previous pass",
      run: () => {
        current.value = Math.max(current.peek() - 1, 0);
      },
    },
  ]);
  const nothing = (what: string): HTMLElement =>
    emptyState({ icon: "kernels", title: `No ${what}`, text: details.remark || "The process gave none." });
  const resources = h(
    "div",
    { class: "pane resources" },
    h("header", {}, "Resources"),
    h("dl", { class: "fact-list" }, ...facts("", details.resources), ...facts("options", details.options)),
    metrics,
  );
  return h(
    "div",
    { class: "stack" },
    details.remark === "" ? null : h("p", { class: "note" }, details.remark),
    h(
      "div",
      { class: "kernel-panes" },
      h(
        "div",
        { class: "pane" },
        h("header", {}, "Source"),
        details.source === "" ? nothing("source") : source.element,
      ),
      h("div", { class: "pane" }, h("header", {}, "IR", menu), passes.length === 0 ? nothing("IR") : ir.element),
      h(
        "div",
        { class: "pane" },
        h("header", {}, "Machine", machine),
        details.assembly === "" && details.llvm === "" ? nothing("assembly") : assembly.element,
      ),
      resources,
    ),
  );
}

/** What came from the front end, then every pass. */
function stages(details: KernelDetails): PassFacts[] {
  const [opening] = details.passes;
  if (opening === undefined) return [];
  const start: PassFacts = {
    name: "front end",
    before: "",
    after: opening.before,
    metrics: [],
    seconds: Number.NaN,
    transformations: Number.NaN,
  };
  return opening.before === "" ? [...details.passes] : [start, ...details.passes];
}

function passTitle(pass: PassFacts, index: number): string {
  const changes = Number.isNaN(pass.transformations)
    ? ""
    : pass.transformations === 0
      ? " · no change"
      : ` · ${pass.transformations} changes`;
  return `${index}. ${pass.name}${changes}${Number.isNaN(pass.seconds) ? "" : ` · ${seconds(pass.seconds)}`}`;
}

/** A line without the numbers of its values: renumbering is no change. */
function withoutNumbers(line: string): string {
  return line
    .replace(/%\d+/g, "%")
    .replace(/\bb\d+\b/g, "b")
    .trim();
}

function facts(title: string, entries: readonly (readonly [string, string])[]): HTMLElement[] {
  if (entries.length === 0) return [];
  const heading = title === "" ? [] : [h("dt", { class: "sub" }, h("b", {}, title)), h("dd", {})];
  return [...heading, ...entries.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])];
}
