/** A table whose rows keep their elements: sorted by any column, moved through with the keyboard, updated cell by cell. */

import { signal } from "@preact/signals-core";
import { arrange, h, setClass, setText } from "./dom";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly hint?: string;
  readonly isNumber?: boolean;
  /** What the cell says. */
  readonly text?: (row: Row) => string;
  /** What rows are sorted by; without it the column cannot be sorted by. */
  readonly key?: (row: Row) => number | string;
  /** Draws into the cell instead of writing text. */
  readonly render?: (row: Row, cell: HTMLElement) => void;
  readonly className?: string;
}

interface Held {
  readonly element: HTMLTableRowElement;
  readonly cells: readonly HTMLTableCellElement[];
}

/** More rows than these are not shown; the foot says how many are left out. */
const MAX_ROWS = 400;

export class DataTable<Row> {
  readonly element: HTMLElement;
  readonly selected = signal<string | null>(null);
  private readonly body = h("tbody");
  private readonly foot = h("p", { class: "table-foot" });
  private readonly heads: HTMLTableCellElement[];
  private readonly held = new Map<string, Held>();
  private order: string[] = [];
  private sortColumn: string;
  private isDescending = true;

  constructor(
    private readonly columns: readonly Column<Row>[],
    private readonly identify: (row: Row) => string,
    private readonly options: {
      readonly label: string;
      readonly sortBy: string;
      readonly onOpen?: (key: string) => void;
    },
  ) {
    this.sortColumn = options.sortBy;
    this.heads = columns.map((column) => this.head(column));
    const table = h(
      "table",
      { class: "data", "aria-label": options.label },
      h("thead", {}, h("tr", {}, ...this.heads)),
      this.body,
    );
    this.element = h("div", { class: "table-box" }, table, this.foot);
    if (options.onOpen !== undefined) {
      this.body.addEventListener("click", (event) => {
        const row = (event.target as Element).closest("tr");
        const key = row?.dataset["key"];
        if (key !== undefined) this.open(key);
      });
    }
    this.markHeads();
  }

  private head(column: Column<Row>): HTMLTableCellElement {
    const isSortable = column.key !== undefined;
    const label = isSortable
      ? h("button", { class: "sort", type: "button", onclick: () => this.sort(column.id) }, column.title)
      : column.title;
    return h("th", { scope: "col", title: column.hint, class: column.isNumber === true ? "number" : undefined }, label);
  }

  private sort(id: string): void {
    if (this.sortColumn === id) this.isDescending = !this.isDescending;
    else {
      this.sortColumn = id;
      this.isDescending = this.columns.find((column) => column.id === id)?.isNumber === true;
    }
    this.markHeads();
  }

  private markHeads(): void {
    this.columns.forEach((column, index) => {
      const sorted = column.id !== this.sortColumn ? null : this.isDescending ? "descending" : "ascending";
      const head = this.heads[index];
      if (sorted === null) head?.removeAttribute("aria-sort");
      else head?.setAttribute("aria-sort", sorted);
    });
  }

  update(rows: readonly Row[]): void {
    const column = this.columns.find((candidate) => candidate.id === this.sortColumn);
    const sorted = column?.key === undefined ? [...rows] : sortRows(rows, column.key, this.isDescending);
    const shown = sorted.slice(0, MAX_ROWS);
    const keys = new Set<string>();
    const elements: Element[] = [];
    this.order = [];
    for (const row of shown) {
      const key = this.identify(row);
      if (keys.has(key)) continue;
      keys.add(key);
      this.order.push(key);
      const held = this.held.get(key) ?? this.make(key);
      this.fill(held, row);
      setClass(held.element, "selected", this.selected.peek() === key);
      elements.push(held.element);
    }
    for (const key of this.held.keys()) if (!keys.has(key)) this.held.delete(key);
    arrange(this.body, elements);
    setText(this.foot, sorted.length > shown.length ? `${sorted.length - shown.length} more rows are not shown` : "");
  }

  private make(key: string): Held {
    const cells = this.columns.map((column) =>
      h("td", { class: column.isNumber === true ? "number" : column.className }),
    );
    const element = h("tr", {}, ...cells);
    element.dataset["key"] = key;
    const held = { element, cells };
    this.held.set(key, held);
    return held;
  }

  private fill(held: Held, row: Row): void {
    this.columns.forEach((column, index) => {
      const cell = held.cells[index];
      if (cell === undefined) return;
      if (column.render !== undefined) column.render(row, cell);
      else if (column.text !== undefined) setText(cell, column.text(row));
    });
  }

  /** Moves the selection by `step` rows and brings it into view. */
  move(step: number): void {
    if (this.order.length === 0) return;
    const place = this.selected.peek() === null ? -1 : this.order.indexOf(this.selected.peek() ?? "");
    const next = Math.min(
      Math.max(place < 0 && step < 0 ? this.order.length - 1 : place + step, 0),
      this.order.length - 1,
    );
    this.select(this.order[next] ?? null);
  }

  select(key: string | null): void {
    this.selected.value = key;
    for (const [candidate, { element }] of this.held) setClass(element, "selected", candidate === key);
    if (key !== null) this.held.get(key)?.element.scrollIntoView({ block: "nearest" });
  }

  /** Opens the selected row. */
  openSelected(): void {
    const key = this.selected.peek();
    if (key !== null) this.open(key);
  }

  private open(key: string): void {
    this.select(key);
    this.options.onOpen?.(key);
  }
}

/** Absent numbers come last whichever way rows are sorted. */
export function sortRows<Row>(rows: readonly Row[], key: (row: Row) => number | string, isDescending: boolean): Row[] {
  const direction = isDescending ? -1 : 1;
  return rows
    .map((row, index) => ({ row, index, value: key(row) }))
    .sort((left, right) => {
      const leftAbsent = typeof left.value === "number" && Number.isNaN(left.value);
      const rightAbsent = typeof right.value === "number" && Number.isNaN(right.value);
      if (leftAbsent || rightAbsent) return Number(leftAbsent) - Number(rightAbsent) || left.index - right.index;
      const order =
        typeof left.value === "number" && typeof right.value === "number"
          ? left.value - right.value
          : String(left.value).localeCompare(String(right.value));
      return order === 0 ? left.index - right.index : order * direction;
    })
    .map(({ row }) => row);
}
