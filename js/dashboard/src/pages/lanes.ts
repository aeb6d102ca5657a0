/** Which lanes worked at which line of a checked launch: accesses to memory, counted where the check asks before each of them. */

import { signal } from "@preact/signals-core";
import { sentence } from "../data/hub";
import { type LaneLaunch, readLanes } from "../data/lane_facts";
import { count, percent } from "../format";
import { h, setText } from "../ui/dom";
import { cividis, rgb } from "../ui/palette";
import { Fact, panel } from "../ui/panel";
import { emptyState, errorState, Switch } from "../ui/states";
import type { Page } from "./page";

const REFRESH_MS = 1000;
const MAX_PROCESSES = 12;
const EXAMPLE =
  "k = dev.compile_kernel(source, checked=True)\nk[grid, block](*args)     # on cpu:0; each launch shows up here";

export const lanes: Page = {
  id: "lanes",
  title: "SIMD lanes",
  icon: "lanes",
  mount(root, { hub, scope, keys }) {
    const launches = signal<readonly LaneLaunch[]>([]);
    const problem = signal<string | null>(null);
    const chosen = signal(0);
    const menu = h("select", { "aria-label": "Checked launch" });
    menu.addEventListener("change", () => {
      chosen.value = Number(menu.value);
    });
    const box = panel("Lanes of a checked launch", {
      note: "A row is a line of the source that reads or writes memory, a column a lane of the warp. Bright: the lane did as many accesses as the busiest one; dark: fewer; empty: none, because its branch was not taken.",
    });
    box.aside.append(menu);
    const place = new Switch(box.body);
    root.append(h("div", { class: "stack" }, box.element));
    const load = async (): Promise<void> => {
      const pids = hub.processes
        .peek()
        .map((process) => process.pid)
        .slice(0, MAX_PROCESSES);
      const answers = await Promise.allSettled(
        pids.map(async (pid) => readLanes(await hub.ask("lanes:list", { pid }), pid)),
      );
      const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
      const failed = answers.find((answer): answer is PromiseRejectedResult => answer.status === "rejected");
      problem.value = failed !== undefined && found.length === 0 ? sentence(failed.reason) : null;
      launches.value = found.sort((left, right) => right.timeNs - left.timeNs);
    };
    scope.every(REFRESH_MS, () => void load());
    let seen = "";
    scope.effect(() => {
      const found = launches.value;
      const index = Math.min(chosen.value, Math.max(found.length - 1, 0));
      const message = problem.value;
      const launch = found[index];
      menu.hidden = found.length === 0;
      const titles = found.map(
        (one) => `${one.kernel} · ${one.grid.join("x")} blocks of ${one.block.join("x")} · process ${one.pid}`,
      );
      if (titles.join() !== seen) {
        seen = titles.join();
        menu.replaceChildren(...titles.map((title, number) => h("option", { value: number }, title)));
      }
      menu.value = String(index);
      if (launch !== undefined) {
        place.reset();
        place.show("lanes", () => grid(launch));
      } else if (message !== null) place.show(`problem ${message}`, () => errorState(message, () => void load()));
      else
        place.show("empty", () =>
          emptyState({
            icon: "lanes",
            title: "No checked launch yet",
            text: "Lanes are counted where checked execution asks before each access to memory; run a kernel with checks on the CPU device.",
            code: EXAMPLE,
          }),
        );
    });
    const step = (delta: number): void => {
      chosen.value = Math.min(Math.max(chosen.peek() + delta, 0), Math.max(launches.peek().length - 1, 0));
    };
    keys([
      { key: "j", what: "older launch", run: () => step(1) },
      { key: "k", what: "newer launch", run: () => step(-1) },
    ]);
  },
};

function grid(launch: LaneLaunch): HTMLElement {
  const lanes = Math.max(launch.lanes, 1);
  const used = launch.rows.reduce((sum, row) => sum + row.counts.reduce((inner, value) => inner + value, 0), 0);
  const possible = launch.rows.reduce((sum, row) => sum + Math.max(...row.counts, 0) * lanes, 0);
  const accesses = new Fact("accesses to memory");
  const efficiency = new Fact(
    "lanes at work",
    "Accesses over those of a warp all of whose lanes did what its busiest lane did",
  );
  setText(accesses.value, count(used));
  setText(efficiency.value, possible === 0 ? "–" : percent(used / possible));
  const source = launch.sourceLines;
  return h(
    "div",
    { class: "stack" },
    h("div", { class: "facts" }, accesses.element, efficiency.element),
    h(
      "div",
      { class: "lane-grid" },
      ...launch.rows.map((row) => {
        const busiest = Math.max(...row.counts, 1);
        const sum = row.counts.reduce((inner, value) => inner + value, 0);
        const cells = row.counts.map((value, lane) => {
          const cell = h("span", { title: `lane ${lane}: ${count(value)} of ${count(busiest)}` });
          cell.style.background = value === 0 ? "var(--raised)" : rgb(cividis(0.12 + 0.88 * (value / busiest)));
          return cell;
        });
        return h(
          "div",
          { class: "lane-row" },
          h("span", { class: "sub number" }, `line ${row.line}`),
          h("span", { class: "badge plain" }, row.kind),
          h("code", { title: source[row.line - 1] ?? "" }, (source[row.line - 1] ?? "").trim()),
          h("div", { class: "lane-cells" }, ...cells),
          h("span", { class: "number" }, percent(sum / (busiest * lanes))),
        );
      }),
    ),
  );
}
