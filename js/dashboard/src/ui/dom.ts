/** Makes and updates elements; text is always text, never markup. */

type Child = Node | string | number | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined | EventListener>>;

const SVG = "http://www.w3.org/2000/svg";

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  decorate(element, attributes);
  append(element, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  decorate(element, attributes);
  append(element, children);
  return element;
}

function decorate(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

/** Writes text only where it differs: the browser lays out nothing anew for the same text. */
export function setText(element: Element, value: string): void {
  if (element.textContent !== value) element.textContent = value;
}

export function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export function setClass(element: Element, name: string, isOn: boolean): void {
  element.classList.toggle(name, isOn);
}

/** Makes the children of `parent` exactly `wanted`, moving as few as possible. */
export function arrange(parent: Element, wanted: readonly Element[]): void {
  let cursor = parent.firstElementChild;
  for (const child of wanted) {
    if (child === cursor) cursor = cursor.nextElementSibling;
    else parent.insertBefore(child, cursor);
  }
  while (cursor !== null) {
    const next = cursor.nextElementSibling;
    cursor.remove();
    cursor = next;
  }
}
