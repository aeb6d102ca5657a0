"""Draws the newest records of the 12-kernel suite as bars: how many times faster ours is than each peer.

Runs in the benchmark's own environment (matplotlib). Writes docs/images/kernels_cpu.svg from `./x bench kernels`, and
docs/images/kernels_gpu.svg from the record of tests/gpu/kernels_vs_nvcc.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "bench-results"
IMAGES = ROOT / "docs" / "images"
COLOURS = ("#3366aa", "#dd8833", "#559955")
# Text stays text, and the same data gives the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "amdgpu", "font.size": 9})


def newest(name: str) -> dict[str, Any] | None:
    """The newest record of a benchmark, if there is one."""
    paths = sorted(RESULTS.glob(f"{name}-*.json"))
    if not paths:
        return None
    record: dict[str, Any] = json.loads(paths[-1].read_text())
    return record


def draw(record: dict[str, Any], title: str, path: Path) -> None:
    """One group of bars for each kernel, one bar for each peer; 1 is a tie."""
    ratios: dict[str, dict[str, float]] = {}
    for row in record["rows"]:
        case, _, peer = row["case"].partition(" / ")
        if row["ratio"] is not None:
            ratios.setdefault(case, {})[peer or record["peer"]] = row["ratio"]
    peers = list(dict.fromkeys(peer for row in ratios.values() for peer in row))
    figure, axes = plt.subplots(figsize=(7.5, 0.36 * len(ratios) + 1.2))
    height = 0.8 / len(peers)
    for index, peer in enumerate(peers):
        places = [place + (index - (len(peers) - 1) / 2) * height for place in range(len(ratios))]
        values = [row.get(peer, float("nan")) for row in ratios.values()]
        bars = axes.barh(places, [value - 1 for value in values], height, left=1, color=COLOURS[index], label=peer)
        axes.bar_label(bars, [f"{value:.2f}" for value in values], padding=2, fontsize=7)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    lowest = min(value for row in ratios.values() for value in row.values())
    highest = max(value for row in ratios.values() for value in row.values())
    axes.set_xlim(min(0.5, lowest / 1.5), max(2.0, highest * 1.5))
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.invert_yaxis()
    axes.set_xlabel("times faster than the peer (logarithmic; above 1 ours is faster)")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{title}, {record['date'][:10]}", fontsize=9)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    # matplotlib leaves blanks at the ends of lines.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    print(f"drawn {path.relative_to(ROOT)}")


def main() -> int:
    """Draws what there is a record of; fails when there is none."""
    drawn = 0
    for name, path in (("kernels", "kernels_cpu.svg"), ("kernels_vs_nvcc", "kernels_gpu.svg")):
        record = newest(name)
        if record is None:
            print(f"no record bench-results/{name}-*.json")
            continue
        machine = record["machine"]
        draw(record, machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores", IMAGES / path)
        drawn += 1
    return 0 if drawn else 1


if __name__ == "__main__":
    sys.exit(main())
