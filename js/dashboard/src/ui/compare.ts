/** Two marked intervals beside each other: every metric's mean and range, and how much it changed. */

import type { Hub } from "../data/hub";
import { metricTitle } from "../data/schema";
import { ABSENT, change, quantity } from "../format";
import { clearMarks, intervalA, intervalB, mark } from "../state/timeline";
import { h } from "./dom";
import { emptyState } from "./states";
import { type Column, DataTable } from "./table";

interface Row {
  readonly key: string;
  readonly device: string;
  readonly title: string;
  readonly unit: string;
  readonly meanA: number;
  readonly meanB: number;
  readonly rangeA: string;
  readonly rangeB: string;
}

export function comparison(hub: Hub, close: () => void): HTMLElement {
  const a = intervalA.peek();
  const b = intervalB.peek();
  const buttons = h(
    "div",
    { class: "toolbar" },
    h("button", { type: "button", class: "button", onclick: () => remark("a") }, "Mark what is shown as A"),
    h("button", { type: "button", class: "button", onclick: () => remark("b") }, "Mark what is shown as B"),
    h(
      "button",
      {
        type: "button",
        class: "button",
        onclick: () => {
          clearMarks();
          close();
        },
      },
      "Forget both",
    ),
  );
  const remark = (which: "a" | "b"): void => {
    mark(which, hub.nowSeconds);
    close();
  };
  const schema = hub.schema.peek();
  if (a === null || b === null || schema === null) {
    return h(
      "div",
      { class: "stack" },
      emptyState({
        icon: "compare",
        title: "Two intervals are compared here",
        text: "Press a to mark the time that is shown as interval A, go elsewhere (arrows, pause, another length) and press b for interval B. Then press c.",
      }),
      buttons,
    );
  }
  const rows: Row[] = [];
  schema.devices.forEach((device, deviceIndex) => {
    schema.metrics.forEach((metric, metricIndex) => {
      const series = deviceIndex * schema.metrics.length + metricIndex;
      const left = hub.store.summary(series, a.startSeconds, a.endSeconds);
      const right = hub.store.summary(series, b.startSeconds, b.endSeconds);
      if (left.count === 0 && right.count === 0) return;
      const { unit, scale } = metric;
      const range = (low: number, high: number): string =>
        Number.isNaN(low) ? ABSENT : `${quantity(low * scale, unit)} … ${quantity(high * scale, unit)}`;
      rows.push({
        key: String(series),
        device: device.name,
        title: metricTitle(metric),
        unit,
        meanA: left.mean * scale,
        meanB: right.mean * scale,
        rangeA: range(left.low, left.high),
        rangeB: range(right.low, right.high),
      });
    });
  });
  const shift = (row: Row): number => Math.abs((row.meanB - row.meanA) / (row.meanA || 1));
  const columns: Column<Row>[] = [
    { id: "device", title: "device", text: (row) => row.device, key: (row) => row.device },
    { id: "title", title: "metric", text: (row) => row.title, key: (row) => row.title },
    {
      id: "a",
      title: "mean of A",
      isNumber: true,
      text: (row) => quantity(row.meanA, row.unit),
      key: (row) => row.meanA,
    },
    {
      id: "b",
      title: "mean of B",
      isNumber: true,
      text: (row) => quantity(row.meanB, row.unit),
      key: (row) => row.meanB,
    },
    { id: "change", title: "B against A", isNumber: true, text: (row) => change(row.meanA, row.meanB), key: shift },
    { id: "rangeA", title: "range of A", isNumber: true, text: (row) => row.rangeA },
    { id: "rangeB", title: "range of B", isNumber: true, text: (row) => row.rangeB },
  ];
  const table = new DataTable(columns, (row) => row.key, { label: "Comparison of two intervals", sortBy: "change" });
  table.update(rows);
  table.element.addEventListener("click", () => table.update(rows));
  const describe = (name: string, start: number, end: number): string =>
    `${name}: ${(end - start).toFixed(0)} s, until ${(hub.nowSeconds - end).toFixed(1)} s ago`;
  return h(
    "div",
    { class: "stack" },
    h(
      "p",
      { class: "sub" },
      `${describe("A", a.startSeconds, a.endSeconds)} · ${describe("B", b.startSeconds, b.endSeconds)}`,
    ),
    table.element,
    buttons,
  );
}
