/** Every metric of one device, or of all devices above each other; one of them large, with two intervals to compare. */

import type { FrameMetric, FrameSchema } from "@amdgpu-framework/sdk";
import { type Signal, signal } from "@preact/signals-core";
import { metricTitle } from "../data/schema";
import { ABSENT, bytes, count, quantity } from "../format";
import { type Interval, shownInterval } from "../state/timeline";
import { h, setClass, setText } from "../ui/dom";
import { PaintQueue } from "../ui/paint_queue";
import { seriesColour, seriesDash } from "../ui/palette";
import { Fact, panel } from "../ui/panel";
import { emptyState, loadingState } from "../ui/states";
import { StripChart, type StripSeries } from "../ui/strip_chart";
import { TimePlot } from "../ui/time_plot";
import type { Page, PageContext } from "./page";

const ALL = "all";
const ABSENT_CHECK_MS = 1000;

interface Card {
  readonly metric: number;
  readonly element: HTMLElement;
  readonly chart: StripChart;
  readonly urgency: () => 0 | 1 | 2;
  readonly paint: () => void;
  readonly isAbsent: () => boolean;
}

export const device: Page = {
  id: "device",
  title: "Device",
  icon: "device",
  mount(root, context) {
    const { hub, scope, selectedDevice } = context;
    const named = context.path[0];
    if (named !== undefined) selectedDevice.value = decodeURIComponent(named);
    const place = h("div", { class: "stack" });
    root.append(place);
    let endOfView: (() => void) | undefined;
    scope.effect(() => {
      const schema = hub.schema.value;
      const chosen = selectedDevice.value;
      void hub.devices.value;
      endOfView?.();
      place.replaceChildren();
      if (schema === null) {
        place.append(loadingState("Waiting for the server's first frame"));
        return;
      }
      if (schema.devices.length === 0) {
        place.append(
          emptyState({
            icon: "device",
            title: "The server knows no device",
            text: "`amdgpu doctor` says which drivers are found and why others are not.",
            code: "amdgpu doctor",
          }),
        );
        return;
      }
      endOfView = view(place, schema, chosen ?? schema.devices[0]?.name ?? ALL, context);
    });
    scope.add(() => endOfView?.());
  },
};

function view(place: HTMLElement, schema: FrameSchema, chosen: string, context: PageContext): () => void {
  const { hub, scope, selectedDevice, keys } = context;
  const endings: (() => void)[] = [];
  const isAll = chosen === ALL;
  const index = schema.devices.findIndex((candidate) => candidate.name === chosen);
  const shown = isAll ? schema.devices.map((_, place) => place) : [Math.max(index, 0)];
  const picker = h(
    "div",
    { class: "segments", role: "group", "aria-label": "Device" },
    ...[...schema.devices.map((one) => one.name), ...(schema.devices.length > 1 ? [ALL] : [])].map((name) =>
      h(
        "button",
        {
          type: "button",
          class: name === chosen ? "on" : "",
          "aria-pressed": String(name === chosen),
          onclick: () => {
            selectedDevice.value = name;
          },
        },
        name === ALL ? "all devices" : name,
      ),
    ),
  );
  const selected = signal<number | null>(null);
  const cards = schema.metrics.map((metric, number) => metricCard(metric, number, shown, schema, context, selected));
  endings.push(() => {
    for (const card of cards) card.chart.surface.end();
  });
  const grid = h("div", { class: "small-multiples" }, ...cards.map((card) => card.element));
  const focus = h("div", {});
  const legend = isAll
    ? h(
        "div",
        { class: "legend" },
        ...shown.map((number) => swatch(schema.devices[number]?.name ?? "", seriesColour(number))),
      )
    : null;
  const leftOut = h("p", { class: "sub" });
  place.append(
    h("div", { class: "toolbar" }, picker, legend ?? h("span", {})),
    isAll ? h("span", { hidden: true }) : factsPanel(schema, Math.max(index, 0), context),
    focus,
    grid,
    leftOut,
  );

  let plot: TimePlot | undefined;
  const showFocus = (number: number | null): void => {
    plot?.end();
    plot = undefined;
    for (const card of cards) setClass(card.element, "selected", card.metric === number);
    if (number === null) {
      focus.replaceChildren();
      return;
    }
    const metric = schema.metrics[number];
    if (metric === undefined) return;
    const box = panel(metricTitle(metric), {
      note: "Drag over the plot to look closer; a double click goes back. Marks A and B are those of the comparison.",
    });
    box.aside.append(
      h(
        "button",
        {
          type: "button",
          class: "button",
          onclick: () => {
            selected.value = null;
          },
        },
        "Close (Esc)",
      ),
    );
    const area = h("div", { class: "focus-plot" });
    box.body.append(area);
    focus.replaceChildren(box.element);
    plot = new TimePlot(
      area,
      shown.map((one) => ({
        series: one * schema.metrics.length + number,
        label: schema.devices[one]?.name ?? "",
        colour: seriesColour(isAll ? one : 0),
        dash: isAll ? seriesDash(one) : [],
      })),
      { unit: metric.unit, scale: metric.scale },
    );
    focus.scrollIntoView({ block: "nearest" });
  };
  const disposers = [() => plot?.end()];
  scope.effect(() => showFocus(selected.value));
  endings.push(...disposers);

  const move = (delta: number): void => {
    const visible = cards.filter((card) => !card.element.hidden);
    const at = visible.findIndex((card) => card.metric === selected.peek());
    const next = visible[Math.min(Math.max(at + delta, 0), visible.length - 1)];
    if (next !== undefined) selected.value = next.metric;
  };
  keys([
    { key: "j", what: "next metric", run: () => move(1) },
    { key: "k", what: "previous metric", run: () => move(-1) },
    {
      key: "Escape",
      shown: "Esc",
      what: "close the large plot",
      run: () => {
        selected.value = null;
      },
    },
    { key: "n", what: "next device", run: () => cycle(schema, chosen, selectedDevice) },
  ]);

  const queue = new PaintQueue();
  for (const card of cards) queue.add(card);
  let isEnded = false;
  let checkedMs = Number.NEGATIVE_INFINITY;
  scope.everyFrame((nowMs) => {
    if (isEnded) return;
    if (nowMs - checkedMs > ABSENT_CHECK_MS) {
      checkedMs = nowMs;
      let absent = 0;
      for (const card of cards) {
        const isAbsent = card.isAbsent();
        card.element.hidden = isAbsent;
        absent += isAbsent ? 1 : 0;
      }
      setText(
        leftOut,
        absent === 0 ? "" : `${absent} metrics are unavailable on this hardware or need more permissions.`,
      );
    }
    queue.run();
    const { startSeconds, endSeconds } = shownInterval(hub.nowSeconds);
    plot?.paint(hub.store, startSeconds, endSeconds);
  });
  return () => {
    isEnded = true;
    for (const ending of endings) ending();
  };
}

function metricCard(
  metric: FrameMetric,
  number: number,
  shown: readonly number[],
  schema: FrameSchema,
  { hub }: PageContext,
  selected: Signal<number | null>,
): Card {
  const open = (): void => {
    selected.value = number;
  };
  const isSingle = shown.length === 1;
  const series: StripSeries[] = shown.map((one) => ({
    series: one * schema.metrics.length + number,
    colour: () => seriesColour(isSingle ? 0 : one),
  }));
  const chart = new StripChart(series, {
    label: metricTitle(metric),
    scale: metric.scale,
    hasArea: isSingle,
    isBinary: metric.unit.startsWith("bytes"),
    ...(metric.unit === "ratio" ? { ceiling: 1 } : {}),
  });
  const value = h("span", { class: "metric-value" }, ABSENT);
  const top = h("span", {});
  const element = h(
    "div",
    {
      class: "metric-card",
      role: "button",
      tabindex: 0,
      title: `${metric.name}${Object.keys(metric.labels).length === 0 ? "" : ` ${JSON.stringify(metric.labels)}`}`,
      onclick: () => open(),
      onkeydown: (event) => {
        if ((event as KeyboardEvent).key === "Enter") open();
      },
    },
    h("div", { class: "metric-title" }, metricTitle(metric)),
    h("div", { class: "axis-line" }, value, top),
    chart.surface.element,
  );
  let seenTop = Number.NaN;
  const shownNow = (): Interval => shownInterval(hub.nowSeconds);
  const urgency = (): 0 | 1 | 2 => {
    const { startSeconds, endSeconds } = shownNow();
    return element.hidden ? 0 : chart.urgency(hub.store, startSeconds, endSeconds);
  };
  const paint = (): void => {
    const { startSeconds, endSeconds } = shownNow();
    chart.paint(hub.store, startSeconds, endSeconds);
    setText(
      value,
      isSingle
        ? quantity(hub.store.value(series[0]?.series ?? -1, endSeconds) * metric.scale, metric.unit)
        : range(hub, series, endSeconds, metric),
    );
    if (chart.ceiling !== seenTop) {
      seenTop = chart.ceiling;
      setText(top, quantity(seenTop, metric.unit));
    }
  };
  const isAbsent = (): boolean =>
    series.every(
      (one) =>
        hub.store.extremes(one.series, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY).high ===
        Number.NEGATIVE_INFINITY,
    );
  return { metric: number, element, chart, urgency, paint, isAbsent };
}

/** Smallest and largest value of several devices. */
function range(hub: PageContext["hub"], series: readonly StripSeries[], time: number, metric: FrameMetric): string {
  const values = series
    .map((one) => hub.store.value(one.series, time) * metric.scale)
    .filter((value) => !Number.isNaN(value));
  if (values.length === 0) return ABSENT;
  return `${quantity(Math.min(...values), metric.unit)} … ${quantity(Math.max(...values), metric.unit)}`;
}

function cycle(schema: FrameSchema, chosen: string, selected: Signal<string | null>): void {
  const names = [...schema.devices.map((one) => one.name), ...(schema.devices.length > 1 ? [ALL] : [])];
  selected.value = names[(names.indexOf(chosen) + 1) % names.length] ?? ALL;
}

function swatch(name: string, colour: string): HTMLElement {
  const mark = h("i", {});
  mark.style.setProperty("--swatch", colour);
  return h("span", {}, mark, name);
}

function factsPanel(schema: FrameSchema, index: number, { hub }: PageContext): HTMLElement {
  const frame = schema.devices[index];
  const found = hub.devices.peek().find((one) => one.device === frame?.name);
  const box = panel(found?.product ?? frame?.description ?? frame?.name ?? "?");
  box.aside.append(found?.architecture ?? "");
  const facts = h("div", { class: "facts" });
  const add = (label: string, value: string): void => {
    if (value === "" || value === ABSENT) return;
    const fact = new Fact(label);
    setText(fact.value, value);
    facts.append(fact.element);
  };
  add("address", frame?.name ?? "");
  if (found !== undefined) {
    add("compute units", count(found.computeUnits));
    add("warp", count(found.warpSize));
    add("memory", bytes(found.memoryBytes));
    for (const [label, value] of found.others.slice(0, 8)) add(label, value);
  }
  box.body.append(facts);
  return box.element;
}
