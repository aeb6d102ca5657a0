"""Draws the newest whole record of `./x bench tensor` as rooflines: speed of every operation over its operations for each byte.

Runs in the benchmark's own environment (matplotlib). The slanted roofs are what memory did in the same run, for the largest arrays and for
those that stay in the last cache; the flat one is the fastest matrix product. Operations without arithmetic have no place in it; the table
has all. Writes docs/images/roofline_MACHINE.svg and puts table and picture between the marks that docs/performance.md has for them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt
from page import RESULTS, ROOT, file_name, markdown, place, put_into_page

IMAGES = ROOT / "docs" / "images"
COLOURS = {1: "#3366aa", 2: "#dd8833"}
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "amdgpu", "font.size": 8})
# A record of fewer is of chosen cases only.
WHOLE = 60


def newest() -> dict[str, Any] | None:
    """The newest record of all cases on one and two threads."""
    for path in sorted(RESULTS.glob("tensor-*.json"), reverse=True):
        record: dict[str, Any] = json.loads(path.read_text())
        if len(record["rows"]) >= WHOLE:
            return record
    return None


def figures(row: dict[str, Any]) -> dict[str, float | int | str]:
    """What a row's note says, as numbers; absent ones are zero."""
    case, _, threads = row["case"].rpartition(", ")
    note = row["note"]

    def found(pattern: str) -> float:
        match = re.search(pattern, note)
        return float(match.group(1)) if match else 0.0

    return {
        "case": case,
        "threads": int(threads.removesuffix("T")),
        "speed": found(r"([\d.e+]+) GFLOP/s"),
        "intensity": found(r"at ([\d.e+-]+) per byte"),
        "memory": found(r"memory ([\d.]+) GB/s"),
        "share": found(r"; ([\d.]+) of it(?!s)"),
        "bound": found(r"([\d.]+) of its bound"),
        "ratio": row["ratio"],
        "ours": row["ours"],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each case, for each number of threads the time, NumPy's share and the memory's and the bound's."""
    by_case: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        by_case.setdefault(row["case"], {})[row["threads"]] = row
    lines = [
        [
            "float32",
            *(head for threads in (1, 2) for head in (f"{threads} T, µs", "of NumPy", "of memory", "of its bound")),
        ]
    ]
    for case, found in by_case.items():
        cells = [case]
        for threads in (1, 2):
            row = found.get(threads)
            if row is None:
                cells += ["", "", "", ""]
                continue
            shares = [f"{row[which]:.2f}" if row[which] else "" for which in ("share", "bound")]
            cells += [
                f"{row['ours']:,.0f}" if row["ours"] >= 10 else f"{row['ours']:.2f}",
                f"{row['ratio']:.2f}",
                *shares,
            ]
        lines.append(cells)
    return markdown(lines)


def draw(record: dict[str, Any], rows: list[dict[str, Any]], path: Path) -> None:
    """A picture for each number of threads, side by side."""
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 5), sharey=True)
    for panel, threads in zip(panels, (1, 2), strict=True):
        mine = [row for row in rows if row["threads"] == threads]
        dots = [row for row in mine if row["intensity"] and row["speed"]]
        # Convolutions are matrix products, too; the fastest of all is what arithmetic can do.
        peak = max((row["speed"] for row in mine if not row["intensity"]), default=1.0)
        roofs = sorted({row["memory"] for row in mine if row["memory"]})
        xs = [0.02, 20.0]
        for bandwidth, style, name in ((roofs[0], ":", "memory"), (roofs[-1], "--", "last cache")):
            knee = peak / bandwidth
            panel.plot([xs[0], knee, xs[1]], [xs[0] * bandwidth, peak, peak], style, color="black", linewidth=0.8)
            panel.annotate(
                f"{name}: {bandwidth:.0f} GB/s", (xs[0] * 1.1, xs[0] * 1.1 * bandwidth), rotation=34, va="bottom"
            )
        panel.annotate(f"matrix product: {peak:.0f} GFLOP/s", (xs[1], peak), ha="right", va="bottom")
        panel.scatter([row["intensity"] for row in dots], [row["speed"] for row in dots], s=14, color=COLOURS[threads])
        for row in dots:
            panel.annotate(
                row["case"].partition(",")[0],
                (row["intensity"], row["speed"]),
                fontsize=5,
                xytext=(3, 0),
                textcoords="offset points",
            )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("floating-point operations for each byte")
        panel.set_title(f"{threads} thread{'s' if threads > 1 else ''}", fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("GFLOP/s")
    figure.suptitle(f"{place(record)}, {record['date'][:10]}", fontsize=9)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    # matplotlib leaves blanks at the ends of lines.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    print(f"drawn {path.relative_to(ROOT)}")


def main() -> int:
    """Draws what there is a record of; fails when there is none."""
    record = newest()
    if record is None:
        print("no whole record in bench-results/tensor-*.json: run `./x bench tensor`")
        return 1
    rows = [figures(row) for row in record["rows"]]
    image = file_name(record, "roofline.svg")
    draw(record, rows, IMAGES / image)
    picture = f"![Speed of every operation below the roofs of memory and arithmetic](images/{image})"
    put_into_page("tensor", record, f"{table(rows)}\n\n{picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
