/** Networks as they run: spikes, rates, weights, learning curves. */

import { signal } from "@preact/signals-core";
import { type NetworkFacts, readNetworks } from "../data/facts";
import { sentence } from "../data/hub";
import { count, decimal, seconds } from "../format";
import { CurvePlot } from "../ui/curve_plot";
import { arrange, h, setAttribute, setClass, setText } from "../ui/dom";
import { nameColour, seriesColour } from "../ui/palette";
import { Fact, panel } from "../ui/panel";
import { RasterPlot } from "../ui/raster";
import { emptyState, errorState, Switch } from "../ui/states";
import { WeightMap } from "../ui/weight_map";
import type { Page, PageContext } from "./page";

const REFRESH_MS = 200;
const QUIET_TICKS = 10;
const MAX_PROCESSES = 12;
/** Answers without a network that was there. */
const MAX_MISSED = 10;
const EXAMPLE =
  'net = amdgpu.Network(open("cuba.net").read())\nnet.run(1.0)          # or net.train(...) of a layered network';

export const network: Page = {
  id: "network",
  title: "Network",
  icon: "network",
  mount(root, context) {
    const { hub, scope, keys } = context;
    const found = signal<readonly NetworkFacts[]>([]);
    const chosen = signal<string | null>(null);
    const problem = signal<string | null>(null);
    const picker = h("div", { class: "segments", role: "group", "aria-label": "Network" });
    const place = new Switch(h("div", {}));
    const toolbar = h("div", { class: "toolbar" }, picker);
    root.append(h("div", { class: "stack" }, toolbar, place.place));
    const view = networkView(context);

    const key = (one: NetworkFacts): string => `${one.pid} ${one.name}`;
    // A process that is too busy to answer in time still has its networks: they stay for some answers, until their process has ended.
    const missed = new Map<string, number>();
    const withMissing = (networks: readonly NetworkFacts[]): readonly NetworkFacts[] => {
      const present = new Set(networks.map(key));
      const running = new Set(hub.processes.peek().map((process) => process.pid));
      for (const id of present) missed.delete(id);
      const kept = found.peek().filter((one) => {
        const id = key(one);
        if (present.has(id) || !running.has(one.pid)) return false;
        const times = (missed.get(id) ?? 0) + 1;
        missed.set(id, times);
        return times <= MAX_MISSED;
      });
      return [...networks, ...kept];
    };

    let isBusy = false;
    const load = async (): Promise<void> => {
      if (isBusy) return;
      isBusy = true;
      try {
        const pids = hub.processes
          .peek()
          .map((process) => process.pid)
          .slice(0, MAX_PROCESSES);
        const answers = await Promise.allSettled(
          pids.map(async (pid) => readNetworks((await hub.ask("network:list", { pid }))["networks"], pid)),
        );
        const networks = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
        const failed = answers.find((answer): answer is PromiseRejectedResult => answer.status === "rejected");
        problem.value = failed !== undefined && networks.length === 0 ? sentence(failed.reason) : null;
        found.value = withMissing(networks);
      } finally {
        isBusy = false;
      }
    };
    // Asked again when a network has gone on, at most every so often; and now and then in case one came or went.
    let seenSteps = -1;
    let ticks = 0;
    scope.every(REFRESH_MS, () => {
      const steps = hub.networkSteps.peek();
      ticks += 1;
      if (steps === seenSteps && ticks % QUIET_TICKS !== 0) return;
      seenSteps = steps;
      void load();
    });
    // A tab that is made anew between the press and the release of a button gets no click, and loses the focus: each is made once.
    const tabs = new Map<string, HTMLButtonElement>();
    const tabOf = (one: NetworkFacts): HTMLButtonElement => {
      const id = key(one);
      let tab = tabs.get(id);
      if (tab === undefined) {
        tab = h(
          "button",
          {
            type: "button",
            "data-name": one.name,
            onclick: () => {
              chosen.value = id;
            },
          },
          `${one.name} · ${one.pid}`,
        );
        tabs.set(id, tab);
      }
      return tab;
    };
    scope.effect(() => {
      const networks = found.value;
      const message = problem.value;
      const [first] = tabs.keys();
      const current =
        networks.find((one) => key(one) === chosen.value) ?? networks.find((one) => key(one) === first) ?? networks[0];
      for (const one of networks) {
        const tab = tabOf(one);
        setClass(tab, "on", one === current);
        setAttribute(tab, "aria-pressed", String(one === current));
      }
      const present = new Set(networks.map(key));
      for (const id of [...tabs.keys()]) if (!present.has(id)) tabs.delete(id);
      // In the order in which they came: a tab that is moved loses the focus too.
      arrange(picker, [...tabs.values()]);
      picker.hidden = networks.length === 0;
      if (current !== undefined) {
        place.show("view", () => view.element);
        view.update(current);
      } else if (message !== null) place.show(`problem ${message}`, () => errorState(message, () => void load()));
      else
        place.show("empty", () =>
          emptyState({
            icon: "network",
            title: "No network runs",
            text: "Spikes, rates, weights and learning curves appear while a network is stepped or trained.",
            code: EXAMPLE,
          }),
        );
    });
    keys([
      {
        key: "n",
        what: "next network",
        run: () => {
          const names = found.peek().map(key);
          const at = names.indexOf(chosen.peek() ?? names[0] ?? "");
          chosen.value = names[(at + 1) % Math.max(names.length, 1)] ?? null;
        },
      },
    ]);
  },
};

function networkView({ scope }: PageContext): { element: HTMLElement; update: (network: NetworkFacts) => void } {
  const facts = {
    kind: new Fact("kind"),
    device: new Fact("device"),
    time: new Fact("model time"),
    steps: new Fact("steps"),
    speed: new Fact("speed", "Model time over wall time: 1 is as fast as life"),
  };
  const head = h("div", { class: "facts" }, ...Object.values(facts).map((fact) => fact.element));
  const raster = new RasterPlot();
  const weights = new WeightMap();
  const curves = new CurvePlot();
  const rasterBox = panel("Spikes", { className: "raster-panel" });
  const ratesBox = panel("Rates");
  const weightsBox = panel("Weights");
  const curvesBox = panel("Learning");
  const bars = h("div", { class: "bars" });
  ratesBox.body.append(bars);
  const rasterPlace = new Switch(rasterBox.body);
  const weightsPlace = new Switch(weightsBox.body);
  const curvesPlace = new Switch(curvesBox.body);
  const element = h(
    "div",
    { class: "stack" },
    head,
    h("div", { class: "network-grid" }, rasterBox.element, ratesBox.element, curvesBox.element, weightsBox.element),
  );
  scope.everyFrame(() => {
    raster.paint();
    weights.paint();
  });
  scope.add(() => {
    raster.end();
    weights.end();
    curves.end();
  });
  const update = (one: NetworkFacts): void => {
    setText(facts.kind.value, one.kind);
    setText(facts.device.value, one.device);
    setText(facts.time.value, seconds(one.modelSeconds));
    setText(facts.steps.value, count(one.steps));
    setText(facts.speed.value, one.realtimeFactor > 0 ? `${decimal(1 / one.realtimeFactor)} x real time` : "–");
    const hasSpikes = one.raster.timesSeconds.length > 0;
    if (hasSpikes) {
      rasterPlace.show("raster", () => h("div", { class: "raster" }, raster.element));
      raster.update(
        one.raster,
        one.populations.map((population) => population.name),
      );
      setText(rasterBox.aside, one.raster.leftOut > 0 ? `${count(one.raster.leftOut)} older spikes are not drawn` : "");
    } else {
      setText(rasterBox.aside, "");
      rasterPlace.show(`none ${one.kind}`, () =>
        emptyState({
          icon: "network",
          title: "No spikes",
          text:
            one.kind === "layered"
              ? "A layered network has activations, no spikes."
              : "Nothing has fired since the network was attached to.",
        }),
      );
    }
    showRates(bars, one);
    ratesBox.element.hidden = one.populations.every((population) => Number.isNaN(population.rateHz));
    if (one.weights === null) {
      setText(weightsBox.aside, "");
      weightsPlace.show("none", () =>
        emptyState({
          icon: "network",
          title: "No weights to show",
          text: "The network has no connection yet, or it keeps them on a device that is not read while it runs.",
        }),
      );
    } else {
      weightsPlace.show("map", () => h("div", { class: "weights" }, weights.element));
      weights.update(one.weights.values);
      const { connection, values, ofRows, ofColumns } = one.weights;
      const sample = `${values.length} x ${values[0]?.length ?? 0} of ${count(ofRows)} x ${count(ofColumns)}`;
      setText(weightsBox.aside, `${connection} · ${sample} · ${weights.rangeText}`);
    }
    if (one.curves.length === 0)
      curvesPlace.show("none", () =>
        emptyState({
          icon: "performance",
          title: "Nothing was learnt yet",
          text: "net.train adds a point for every epoch.",
        }),
      );
    else {
      curvesPlace.show("curves", () => curves.element);
      curves.update(one.curves);
    }
  };
  return { element, update };
}

function showRates(bars: HTMLElement, one: NetworkFacts): void {
  const highest = Math.max(
    1e-9,
    ...one.populations.map((population) => population.rateHz).filter((rate) => !Number.isNaN(rate)),
  );
  bars.replaceChildren(
    ...one.populations.flatMap((population, index) => {
      const fill = h("span", {});
      fill.style.width = `${Math.max(0, (population.rateHz / highest) * 100) || 0}%`;
      fill.style.background = seriesColour(index) || nameColour(population.name);
      return [
        h("span", {}, population.name),
        h("div", { class: "meter" }, fill),
        h("span", { class: "number" }, decimal(population.rateHz, "Hz")),
        h("span", { class: "sub" }, `${count(population.size)} neurons`),
      ];
    }),
  );
}
