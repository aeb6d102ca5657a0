"""docs/tensorflow_kernels.md, from the tables of the plug-in for TensorFlow."""

from __future__ import annotations

import re
from pathlib import Path

from emit_docs import NOTE
from emit_torch import summary_of

# A row of a table of integrations/tensorflow/src/kernels: operation, attributes of type, arguments of the host.
_ROW = re.compile(r'\brow\(\s*c"(\w+)",\s*&\[(.*?)\],\s*(?:&\[|[A-Z_]+,)', re.DOTALL)
_TYPE = re.compile(r'\((?:c"(\w+)"|([A-Z]+)),\s*([A-Z0-9_]+)\)')
_DTYPES = re.compile(r"const ([A-Z0-9_]+): &\[Dtype\] =\s*&\[(.*?)\];", re.DOTALL)
_TEXT = re.compile(r'const ([A-Z]+): &CStr = c"(\w+)";')
_HEAD = """# Kernels of the TensorFlow device RDNA

Operations of TensorFlow that have a kernel on RDNA, with the dtypes of each. Of int32 many have kernels of TensorFlow's own for any device, in memory
of the host, as on GPUs: shapes and indices are there. Those that move no data (`Reshape`, `Identity`, `Shape`, `ReadVariableOp`, `AssignVariableOp`)
are TensorFlow's own for any device, too. What is not here runs on the CPU, counted and told once; `TF_RDNA_FALLBACK=error` forbids it, and
`tf_rdna.fallback_report()` lists it.

"""
_NAMES = {
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
}


def emit_docs(source: Path) -> str:
    """A section for each file of kernels: what it says of itself, and a line for each operation."""
    parts = [NOTE, _HEAD]
    shared = (source / "kernels.rs").read_text()
    count = 0
    for file in sorted((source / "kernels").glob("*.rs")):
        if file.stem == "refusals":
            continue
        text = file.read_text()
        dtypes = {name: _names(body) for name, body in _DTYPES.findall(shared + text)}
        attributes = dict(_TEXT.findall(shared + text))
        rows = sorted((name, _types(types, dtypes, attributes)) for name, types in _ROW.findall(text))
        if not rows:
            continue
        count += len(rows)
        lines = "".join(f"| `{name}` | {types} |\n" for name, types in rows)
        title = file.stem.replace("_", " ").capitalize()
        parts.append(f"## {title}\n\n{summary_of(text)}\n\n| operation | dtypes |\n| --- | --- |\n{lines}\n")
    parts.append(f"{count} operations.\n")
    return "".join(parts)


def _names(body: str) -> str:
    return " ".join(_NAMES[name] for name in re.findall(r"Dtype::(\w+)", body))


def _types(text: str, dtypes: dict[str, str], attributes: dict[str, str]) -> str:
    found = [(name or attributes[constant], dtypes[chosen]) for name, constant, chosen in _TYPE.findall(text)]
    if len(found) == 1:
        return found[0][1]
    return "; ".join(f"`{name}`: {chosen}" for name, chosen in found) or "as the operation says"
