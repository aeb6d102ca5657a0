/** The page in front of a server that demands a token. */

import type { Hub } from "../data/hub";
import { h } from "../ui/dom";

export function tokenPage(hub: Hub, message: string): HTMLElement {
  const input = h("input", {
    type: "password",
    name: "token",
    required: true,
    autocomplete: "current-password",
    "aria-label": "Token",
    placeholder: "Token",
  });
  const form = h(
    "form",
    {},
    h("h1", {}, "amdgpu"),
    h(
      "p",
      {},
      "This server demands a token. `amdgpu serve` prints it when it starts, as part of the address; open that address, or paste the token here.",
    ),
    message === "" ? null : h("p", { class: "wrong", role: "alert" }, message),
    input,
    h("button", { type: "submit", class: "button primary" }, "Open the dashboard"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void hub.enter(input.value.trim());
  });
  queueMicrotask(() => input.focus());
  return h("div", { class: "gate" }, form);
}
