/** Source, IR and assembly as numbered lines with light colouring; lines can be marked as new or as belonging to a source line. */

import { h } from "./dom";

export type Language = "hip" | "ir" | "assembly";

const KEYWORDS: Readonly<Record<Language, RegExp>> = {
  hip: /\b(?:__global__|__device__|__shared__|__constant__|__restrict__|__launch_bounds__|__syncthreads|extern|template|typename|struct|const|static|inline|constexpr|if|else|for|while|do|return|break|continue|switch|case|auto|using|typedef|enum|threadIdx|blockIdx|blockDim|gridDim)\b/y,
  ir: /\b(?:kernel|function|branch|jump|return|unreachable|phi|load|store|call|intrinsic|special|constant|parameter|cast|offset|compare|select|atomic|barrier|define|declare|ret|br|getelementptr)\b/y,
  assembly: /^\s*\.?[a-z_][\w.]*/y,
};
const TYPES =
  /\b(?:void|bool|char|short|int|long|unsigned|float|double|half|size_t|u?int\d+_t|float[234]|int[234]|b?f\d+|i\d+|ptr(?:\.\w+)?)\b/y;
const NUMBERS = /\b(?:0x[\da-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?f?)\b/y;
const STRINGS = /"(?:[^"\\]|\\.)*"/y;
const COMMENTS: Readonly<Record<Language, RegExp>> = {
  hip: /\/\/.*|\/\*.*?\*\//y,
  ir: /;.*|!\d+$/y,
  assembly: /[;#].*|\/\/.*/y,
};
/** Longer texts are cut: the reader finds nothing in them, and the browser would lay them out for seconds. */
const MAX_LINES = 4000;

export class CodeView {
  readonly element = h("pre", { class: "code", tabindex: 0 });
  private lines: HTMLElement[] = [];
  private text: string | undefined;

  constructor(
    private readonly language: Language,
    onPoint?: (line: number | null) => void,
  ) {
    if (onPoint !== undefined) {
      this.element.addEventListener("mouseover", (event) => {
        const line = (event.target as Element).closest<HTMLElement>(".l");
        onPoint(line === null ? null : Number(line.dataset["n"]));
      });
      this.element.addEventListener("mouseleave", () => onPoint(null));
    }
  }

  show(text: string, isNew?: (line: string, index: number) => boolean): void {
    if (text === this.text) return;
    this.text = text;
    const all = text.replace(/\n$/, "").split("\n");
    this.lines = all.slice(0, MAX_LINES).map((line, index) => {
      const element = h(
        "span",
        { class: isNew?.(line, index) === true ? "l new" : "l" },
        ...coloured(line, this.language),
      );
      element.dataset["n"] = String(index + 1);
      return element;
    });
    const left = all.length - this.lines.length;
    this.element.replaceChildren(
      ...this.lines,
      ...(left > 0 ? [h("span", { class: "l c" }, `… ${left} more lines`)] : []),
    );
    this.element.scrollTop = 0;
  }

  /** Marks the lines for which `belongs` holds. */
  mark(belongs: (line: string, number: number) => boolean): void {
    const texts = (this.text ?? "").split("\n");
    this.lines.forEach((element, index) => {
      element.classList.toggle("hot", belongs(texts[index] ?? "", index + 1));
    });
  }
}

function coloured(line: string, language: Language): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let plain = "";
  let place = 0;
  const rules: readonly (readonly [RegExp, string])[] = [
    [COMMENTS[language], "c"],
    [STRINGS, "s"],
    [KEYWORDS[language], "k"],
    [TYPES, "t"],
    [NUMBERS, "n"],
  ];
  while (place < line.length) {
    const hit = rules.map(([rule, name]) => [match(rule, line, place), name] as const).find(([text]) => text !== "");
    if (hit === undefined) {
      // A word is taken whole, so that no rule starts in its middle.
      const word = /\w+|[^\w]/y;
      word.lastIndex = place;
      const text = word.exec(line)?.[0] ?? line[place] ?? "";
      plain += text;
      place += Math.max(text.length, 1);
      continue;
    }
    const [text, name] = hit;
    if (plain !== "") parts.push(plain);
    plain = "";
    parts.push(h("span", { class: name }, text));
    place += text.length;
  }
  if (plain !== "") parts.push(plain);
  return parts;
}

function match(rule: RegExp, line: string, place: number): string {
  rule.lastIndex = place;
  return rule.exec(line)?.[0] ?? "";
}
