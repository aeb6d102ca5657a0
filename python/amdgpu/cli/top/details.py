"""Text about a kernel: its resources, its source, what each pass did, LLVM IR and assembly, as far as its process told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amdgpu.cli import output

NOT_COMPILED = "its process lists no kernel of this name: it belongs to a network or to a library of kernels and has no source of its own"
# Parts of the answer that are long texts, in the order in which they are shown.
TEXTS = ("source", "llvm", "assembly")


def kernel_details(kernel: Mapping[str, Any]) -> str:
    """The answer of `Process.kernel()` as text."""
    short = {
        key: value
        for key, value in kernel.items()
        if key not in (*TEXTS, "passes") and not isinstance(value, (dict, list))
    }
    width = max((len(key) for key in short), default=0)
    parts = ["\n".join(f"{key.ljust(width)}  {'-' if value is None else value}" for key, value in short.items())]
    for key, value in kernel.items():
        if isinstance(value, Mapping) and value:
            parts.append(f"{key}\n" + "\n".join(f"  {name}: {item}" for name, item in value.items()))
    passes = kernel.get("passes") or []
    if passes:
        parts.append("passes\n" + "\n".join(f"  {_pass_line(row)}" for row in passes))
    parts += [f"{key}\n{kernel[key]}" for key in TEXTS if kernel.get(key)]
    return "\n\n".join(parts)


def _pass_line(row: Mapping[str, Any]) -> str:
    seconds = row.get("seconds")
    spent = "" if seconds is None else f" {output.seconds_text(seconds)}"
    return f"{row['name']}{spent}  {row.get('metrics') or ''}".rstrip()
