/** Pause, rewind, length of the shown stretch, and the bar over the last five minutes. */

import type { Hub } from "../data/hub";
import { ago } from "../format";
import type { Scope } from "../state/scope";
import {
  frozenEndSeconds,
  goLive,
  HISTORY_SECONDS,
  intervalA,
  intervalB,
  isAtOldest,
  rewind,
  SPANS_SECONDS,
  spanSeconds,
  togglePause,
} from "../state/timeline";
import { h, setClass, setText } from "./dom";
import { icon } from "./icons";

const STEPS = 3000;

export function timeControls(hub: Hub, scope: Scope): HTMLElement {
  const pause = h("button", {
    type: "button",
    class: "icon-button",
    title: "Pause or go on (space)",
    onclick: () => togglePause(hub.nowSeconds),
  });
  const back = h(
    "button",
    {
      type: "button",
      class: "icon-button",
      title: "Back (left arrow)",
      "aria-label": "Back",
      onclick: () => step(hub, -0.5),
    },
    icon("back"),
  );
  const forward = h(
    "button",
    {
      type: "button",
      class: "icon-button",
      title: "Forward (right arrow)",
      "aria-label": "Forward",
      onclick: () => step(hub, 0.5),
    },
    icon("forward"),
  );
  const state = h("button", { type: "button", class: "live", title: "To the newest (End)", onclick: goLive });
  const bar = h("input", {
    type: "range",
    class: "scrub",
    min: 0,
    max: STEPS,
    value: STEPS,
    "aria-label": "Time within the last five minutes",
  });
  bar.addEventListener("input", () => {
    const oldest = oldestShown(hub);
    const end = oldest + (Number(bar.value) / STEPS) * (hub.nowSeconds - oldest);
    isAtOldest.value = false;
    frozenEndSeconds.value = Number(bar.value) >= STEPS ? null : end;
  });
  const marks = h("div", { class: "scrub-marks", "aria-hidden": "true" });
  const scrub = h("div", { class: "scrub-box" }, bar, marks);
  const spans = h(
    "div",
    { class: "segments", role: "group", "aria-label": "Length of the shown time" },
    ...SPANS_SECONDS.map((seconds) => {
      const button = h(
        "button",
        {
          type: "button",
          onclick: () => {
            spanSeconds.value = seconds;
          },
        },
        seconds < 60 ? `${seconds} s` : `${seconds / 60} min`,
      );
      scope.effect(() => {
        const isOn = spanSeconds.value === seconds;
        setClass(button, "on", isOn);
        button.setAttribute("aria-pressed", String(isOn));
      });
      return button;
    }),
  );
  scope.effect(() => {
    const isPaused = frozenEndSeconds.value !== null;
    pause.replaceChildren(icon(isPaused ? "play" : "pause"));
    pause.setAttribute("aria-label", isPaused ? "Go on" : "Pause");
    setClass(state, "paused", isPaused);
  });
  const note = h("span", { class: "time-note", role: "status" });
  scope.effect(() => setText(note, isAtOldest.value ? "nothing older" : ""));
  const bandA = h("span", { class: "band a" });
  const bandB = h("span", { class: "band b" });
  marks.append(bandA, bandB);
  scope.everyFrame(() => {
    const frozen = frozenEndSeconds.peek();
    const now = hub.nowSeconds;
    const { text, isLost } = pill(hub);
    setText(state, frozen === null ? text : ago(now - frozen));
    setClass(state, "lost", frozen === null && isLost);
    const oldest = oldestShown(hub);
    const length = Math.max(now - oldest, 1e-9);
    const place = frozen === null ? STEPS : Math.round(((frozen - oldest) / length) * STEPS);
    if (document.activeElement !== bar || frozen === null) {
      if (bar.value !== String(place)) bar.value = String(place);
    }
    for (const [band, interval] of [
      [bandA, intervalA.peek()],
      [bandB, intervalB.peek()],
    ] as const) {
      band.hidden = interval === null;
      if (interval === null) continue;
      const left = Math.max((interval.startSeconds - oldest) / length, 0);
      const right = Math.max((interval.endSeconds - oldest) / length, 0);
      band.style.left = `${(left * 100).toFixed(2)}%`;
      band.style.width = `${((right - left) * 100).toFixed(2)}%`;
    }
  });
  return h("div", { class: "time-controls" }, state, note, back, pause, forward, scrub, spans);
}

/** What the pill says while the newest frame is shown: only what comes in is live. */
function pill(hub: Hub): { readonly text: string; readonly isLost: boolean } {
  const { kind } = hub.status.peek();
  if (kind === "connecting") return { text: "connecting", isLost: true };
  if (kind !== "live") return { text: "disconnected", isLost: true };
  return hub.isSilent.peek() ? { text: "no frames", isLost: true } : { text: "live", isLost: false };
}

/** Moves by a share of the shown stretch. */
export function step(hub: Hub, share: number): void {
  rewind(share * spanSeconds.peek(), hub.store.oldestSeconds, hub.nowSeconds);
}

function oldestShown(hub: Hub): number {
  const oldest = hub.store.oldestSeconds;
  return Math.max(Number.isNaN(oldest) ? 0 : oldest, hub.nowSeconds - HISTORY_SECONDS);
}
