"""The compiler's texts of a kernel of another process: made again here, because the process that runs it keeps none of them."""

from __future__ import annotations

import re
from typing import Any

from amdgpu import _native
from amdgpu._generated.constants import PACKAGE_VERSION
from amdgpu.errors import AmdgpuError

# `03.constant-folding`: number and name of a pass.
_STAGE = re.compile(r"^\d+\.(.*)$")


def with_texts(kernel: dict[str, Any]) -> dict[str, Any]:
    """The answer of a process with IR, LLVM IR and assembly added; `remark` says what is missing or may differ, and why."""
    options = kernel["options"]
    remarks = []
    if kernel.get("version") != PACKAGE_VERSION:
        remarks.append(f"the process runs amdgpu {kernel.get('version')}, the texts are those of {PACKAGE_VERSION}")
    if kernel["is_foreign"]:
        remarks.append("another compiler made its code: the texts are what ours would make of the source")
    settings = {
        "name": options["name"],
        "optimization_level": options["optimization_level"],
        "fast_math": options["fast_math"],
        "defines": [(name, value) for name, value in options["defines"]],
        "kernel_names": options["name_expressions"],
        "disabled_passes": options["disabled_passes"],
        "checked": options["checked"],
    }
    texts: dict[str, Any] = {"llvm": None, "assembly": None}
    stages: list[tuple[str, str]] = []
    for key, emit in (("ir", "ir"), ("llvm", "llvm"), ("assembly", "asm")):
        try:
            unit = _native.compile_source(kernel["source"], kernel["target"], emit=emit, **settings)
        except AmdgpuError as error:
            remarks.append(f"{key}: {error}")
            continue
        if key == "ir":
            stages = unit["dumps"]
        else:
            texts[key] = unit["content"]
    passes = _passes(kernel.pop("passes"), stages)
    return {**kernel, **texts, "passes": passes, "recomputed": True, "remark": "; ".join(remarks) or None}


def _passes(metrics: list[dict[str, Any]], stages: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Passes in the order in which they ran, with the IR before and after each and the metrics of all runs of that name."""
    by_name = {row["name"]: row for row in metrics}
    rows = []
    for (_, before), (stage, after) in zip(stages, stages[1:], strict=False):
        found = _STAGE.match(stage)
        name = found[1] if found else stage
        rows.append({"name": name, "before": before, "after": after, "metrics": by_name.get(name)})
    seen = {row["name"] for row in rows}
    rows += [
        {"name": row["name"], "before": None, "after": None, "metrics": row}
        for row in metrics
        if row["name"] not in seen
    ]
    return rows
