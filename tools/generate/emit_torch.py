"""docs/pytorch_operators.md, from the tables of the kernel library for PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

from emit_docs import NOTE

# A row of a `table!` of integrations/torch/kernels/src/operators.
_ROW = re.compile(r'^    c"aten::([^"]+)" =>', re.MULTILINE)
_HEAD = """# Operators of the PyTorch device rdna

Operators of ATen with a kernel of their own, by the names that reach the device. Where one ends in `.out`, the forms that make a new tensor and that
work in place come with it. What is not here runs on the CPU, counted and told once; `AMDGPU_TORCH_FALLBACK=error` forbids it, and
`torch.rdna.fallback_report()` lists it. Functions of lists of tensors (`_foreach_*`) that are
not here, and lists of mixed dtypes or layouts, are made of single operators.

"""


def emit_docs(folder: Path) -> str:
    """A section for each file of operators: what it says of itself, and the names."""
    parts = [NOTE, _HEAD]
    count = 0
    for source in sorted(folder.glob("*.rs")):
        text = source.read_text()
        names = sorted(_ROW.findall(text))
        count += len(names)
        title = source.stem.replace("_", " ").capitalize()
        parts.append(f"## {title}\n\n{summary_of(text)}\n\n{_paragraph(names)}\n\n")
    parts.append(f"{count} operators.\n")
    return "".join(parts)


def summary_of(text: str) -> str:
    """What a file of Rust says of itself."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//! "):
            break
        lines.append(line.removeprefix("//! "))
    return " ".join(lines)


def _paragraph(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."
