"""Draws the newest whole records of the 12-kernel suite as bars: how many times faster ours is than each peer.

Runs in the benchmark's own environment (matplotlib). Writes docs/images/kernels_cpu_MACHINE.svg from `./x bench kernels`, and
docs/images/kernels_gpu_MACHINE.svg from the record of tests/gpu/kernels_vs_nvcc.py, and puts tables and pictures between the marks that
docs/performance.md has for them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt
from page import RESULTS, ROOT, file_name, markdown, place, put_into_page, shown

IMAGES = ROOT / "docs" / "images"
COLOURS = ("#3366aa", "#dd8833", "#559955")
# Text stays text, and the same data gives the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "amdgpu", "font.size": 9})


KERNELS = 12
MEAN = "geometric mean"


def newest(name: str) -> dict[str, Any] | None:
    """The newest record of a benchmark that has all kernels, if there is one."""
    for path in sorted(RESULTS.glob(f"{name}-*.json"), reverse=True):
        record: dict[str, Any] = json.loads(path.read_text())
        if len(by_case(record)) == KERNELS + 1:
            return record
    return None


def by_case(record: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Rows by kernel and peer; the geometric mean is the last."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in record["rows"]:
        case, _, peer = row["case"].partition(" / ")
        rows.setdefault(case, {})[peer] = row
    return rows


def table(record: dict[str, Any]) -> str:
    """Markdown: a line for each kernel, two columns for each peer."""
    rows = by_case(record)
    peers = list(rows[MEAN])
    heads = ["kernel", "work", "ours, ms", *(head for peer in peers for head in (f"{peer}, ms", "ratio"))]
    lines = [heads]
    for case, row in rows.items():
        first = row[peers[0]]
        is_mean = case == MEAN
        cells = [case, "" if is_mean else first["note"].partition(";")[0], "" if is_mean else f"{first['ours']:.3g}"]
        for peer in peers:
            cells += ["" if is_mean else f"{row[peer]['peer']:.3g}", shown(row[peer]["ratio"])]
        lines.append(cells)
    return markdown(lines)


def draw(record: dict[str, Any], title: str, path: Path) -> None:
    """One group of bars for each kernel, one bar for each peer; 1 is a tie."""
    rows = by_case(record)
    ratios = {case: {peer: row["ratio"] for peer, row in peers.items()} for case, peers in rows.items()}
    peers = list(rows[MEAN])
    figure, axes = plt.subplots(figsize=(7.5, 0.36 * len(ratios) + 1.2))
    height = 0.8 / len(peers)
    for index, peer in enumerate(peers):
        places = [place + (index - (len(peers) - 1) / 2) * height for place in range(len(ratios))]
        values = [row.get(peer, float("nan")) for row in ratios.values()]
        bars = axes.barh(places, [value - 1 for value in values], height, left=1, color=COLOURS[index], label=peer)
        axes.bar_label(bars, [shown(value) for value in values], padding=2, fontsize=7)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    lowest = min(value for row in ratios.values() for value in row.values())
    highest = max(value for row in ratios.values() for value in row.values())
    axes.set_xlim(min(0.5, lowest / 1.5), max(2.0, highest * 1.5))
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.invert_yaxis()
    axes.set_xlabel("times faster than the peer (logarithmic; above 1 ours is faster)")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.08), ncols=len(peers), frameon=False)
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
    for name, section in (("kernels", "kernels_cpu"), ("kernels_vs_nvcc", "kernels_gpu")):
        record = newest(name)
        if record is None:
            print(f"no record of all {KERNELS} kernels in bench-results/{name}-*.json")
            continue
        machine = record["machine"]
        picture = file_name(record, f"{section}.svg")
        draw(record, machine.get("gpu") or f"{place(record)}, {machine['cores']} cores", IMAGES / picture)
        shown_as = f"![How many times faster ours is than each peer](images/{picture})"
        put_into_page(section, record, f"{table(record)}\n\n{shown_as}")
        drawn += 1
    return 0 if drawn else 1


if __name__ == "__main__":
    sys.exit(main())
