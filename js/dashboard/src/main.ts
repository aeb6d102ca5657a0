import "./style/main.css";

import { startApp } from "./app";
import { paintedFrames } from "./state/frame_clock";
import { applyTheme } from "./state/preferences";

applyTheme();
const root = document.getElementById("app");
if (root !== null) {
  const hub = startApp(root);
  // What the measurements of tools/bench/dashboard.py read.
  Object.assign(window, { amdgpuDashboard: { hub, paintedFrames } });
}
