/** Graphs of operations that programs have ready: a picture of each, what was joined, memory, the last profile. */

import { signal } from "@preact/signals-core";
import { type GraphFacts, readGraphs, titleOf } from "../data/graph_facts";
import { sentence } from "../data/hub";
import { bytes, count, seconds } from "../format";
import { h, setText } from "../ui/dom";
import { graphPicture, type Picture } from "../ui/graph_picture";
import { Fact, panel } from "../ui/panel";
import { emptyState, errorState, Switch } from "../ui/states";
import type { Page } from "./page";

const REFRESH_MS = 1000;
const MAX_PROCESSES = 12;
const EXAMPLE =
  "@amdgpu.jit\ndef layer(x, bias):\n    return amdgpu.tanh(x @ weight + bias)\n\nlayer(x, bias)\nlayer.graph(x, bias).profile(x, bias)   # times of its nodes";

export const graphs: Page = {
  id: "graphs",
  title: "Graphs",
  icon: "graphs",
  mount(root, { hub, scope, keys }) {
    const found = signal<readonly GraphFacts[]>([]);
    const problem = signal<string | null>(null);
    const chosen = signal<string | null>(null);
    const menu = h("select", { "aria-label": "Graph" });
    menu.addEventListener("change", () => {
      chosen.value = menu.value;
    });
    const place = new Switch(h("div", {}));
    const toolbar = h("div", { class: "toolbar" }, menu);
    root.append(h("div", { class: "stack" }, toolbar, place.place));
    const view = graphView();

    const load = async (): Promise<void> => {
      const pids = hub.processes
        .peek()
        .map((process) => process.pid)
        .slice(0, MAX_PROCESSES);
      const answers = await Promise.allSettled(
        pids.map(async (pid) => readGraphs(await hub.ask("graph:list", { pid }), pid)),
      );
      const graphs = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
      const failed = answers.find((answer): answer is PromiseRejectedResult => answer.status === "rejected");
      problem.value = failed !== undefined && graphs.length === 0 ? sentence(failed.reason) : null;
      found.value = graphs;
    };
    scope.every(REFRESH_MS, () => void load());

    let seen = "";
    scope.effect(() => {
      const graphs = found.value;
      const message = problem.value;
      const current = graphs.find((graph) => keyOf(graph) === chosen.value) ?? graphs[0];
      menu.hidden = graphs.length === 0;
      const listed = graphs.map((graph) => keyOf(graph)).join();
      if (listed !== seen) {
        seen = listed;
        menu.replaceChildren(...graphs.map((graph) => h("option", { value: keyOf(graph) }, entryOf(graph))));
      }
      if (current !== undefined) {
        // The newest comes first; who looks at one keeps it.
        chosen.value = keyOf(current);
        menu.value = keyOf(current);
        place.show("view", () => view.element);
        view.update(current);
      } else if (message !== null) place.show(`problem ${message}`, () => errorState(message, () => void load()));
      else
        place.show("empty", () =>
          emptyState({
            icon: "graphs",
            title: "No graph is ready",
            text: "Functions that amdgpu.jit has traced, and graphs that were compiled, show up here as long as they live.",
            code: EXAMPLE,
          }),
        );
    });
    const step = (delta: number): void => {
      const all = found.peek().map(keyOf);
      const at = all.indexOf(chosen.peek() ?? "");
      chosen.value = all[Math.min(Math.max(at + delta, 0), Math.max(all.length - 1, 0))] ?? null;
    };
    keys([
      { key: "j", what: "next graph", run: () => step(1) },
      { key: "k", what: "graph before", run: () => step(-1) },
    ]);
  },
};

/** Graphs of one name are told apart by when they were made. */
function keyOf(graph: GraphFacts): string {
  return `${graph.pid} ${graph.name} ${graph.madeNs}`;
}

function entryOf(graph: GraphFacts): string {
  const inputs = graph.nodes.filter((node) => node.operation === "input");
  const shapes = inputs.map((node) => `${node.dtype}[${node.shape.join(", ")}]`).join(", ");
  return `${graph.name}(${shapes}) · process ${graph.pid}`;
}

function graphView(): { element: HTMLElement; update: (graph: GraphFacts) => void } {
  const facts = {
    device: new Fact("device"),
    nodes: new Fact("nodes"),
    runs: new Fact("runs"),
    memory: new Fact(
      "shared memory",
      "What values within the graph take; in brackets if none shared memory with another",
    ),
    time: new Fact("last profile", "The sum of its nodes' times, with the device waited for after each"),
  };
  const picture = panel("Picture", {
    note: "Each node stands below what it reads. Yellow: operations that are computed together; blue: arguments; grey: constants; green border: results. After a profile a bar tells each node's share of the longest.",
  });
  const box = h("div", {
    class: "chart-box graph-box",
    tabindex: 0,
    role: "region",
    "aria-label": "Picture of the graph",
  });
  picture.body.append(box);
  const notes = panel("What was joined");
  const list = h("ul", { class: "graph-notes" });
  notes.body.append(list);
  const table = panel("Nodes");
  const rows = h("tbody", {});
  table.body.append(
    h(
      "div",
      { class: "table-box", tabindex: 0, role: "region", "aria-label": "Nodes of the graph" },
      h(
        "table",
        { class: "data open" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["node", "computes", "value", "bytes", "time"].map((title) => h("th", { scope: "col" }, title)),
          ),
        ),
        rows,
      ),
    ),
  );
  const element = h(
    "div",
    { class: "stack" },
    h("div", { class: "facts" }, ...Object.values(facts).map((fact) => fact.element)),
    picture.element,
    notes.element,
    table.element,
  );
  let shown = "";
  const update = (graph: GraphFacts): void => {
    const timed = graph.nodes.filter((node) => Number.isFinite(node.seconds));
    setText(facts.device.value, graph.device);
    setText(facts.nodes.value, count(graph.nodeCount));
    setText(facts.runs.value, count(graph.runs));
    setText(facts.memory.value, `${bytes(graph.sharedBytes)} (${bytes(graph.unsharedBytes)})`);
    setText(
      facts.time.value,
      timed.length === 0 ? "none" : seconds(timed.reduce((sum, node) => sum + node.seconds, 0)),
    );
    const state = `${keyOf(graph)} ${graph.profiledNs}`;
    if (state === shown) return;
    shown = state;
    let drawn: Picture | null = null;
    const choose = (id: number): void => {
      drawn?.mark(id);
      for (const row of rows.children) row.classList.toggle("selected", row.getAttribute("data-node") === String(id));
    };
    drawn = graphPicture(graph, (node) => {
      choose(node.id);
      rows.querySelector(`[data-node="${node.id}"]`)?.scrollIntoView({ block: "nearest" });
    });
    box.replaceChildren(drawn.element);
    const left = graph.nodeCount - graph.nodes.length;
    setText(picture.aside, left > 0 ? `${count(left)} more nodes are not drawn` : "");
    list.replaceChildren(
      ...(graph.notes.length === 0 ? ["Nothing was joined."] : graph.notes).map((note) => h("li", {}, note)),
    );
    rows.replaceChildren(
      ...graph.nodes.map((node) =>
        h(
          "tr",
          { "data-node": node.id, "data-key": node.id, onclick: () => choose(node.id) },
          h("td", { class: "number" }, `%${node.id}`),
          h("td", {}, titleOf(node)),
          h("td", {}, `${node.dtype}[${node.shape.join(", ")}]`),
          h("td", { class: "number" }, bytes(node.bytes)),
          h("td", { class: "number" }, Number.isFinite(node.seconds) ? seconds(node.seconds) : "–"),
        ),
      ),
    );
  };
  return { element, update };
}
