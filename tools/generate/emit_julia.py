"""julia/src/abi.jl."""

from __future__ import annotations

import json
from typing import Any

from header import CType, Header
from tables import camel

SCALARS = {
    "int8_t": "Int8", "uint8_t": "UInt8", "int16_t": "Int16", "uint16_t": "UInt16", "int32_t": "Int32", "uint32_t": "UInt32",
    "int64_t": "Int64", "uint64_t": "UInt64", "float": "Float32", "double": "Float64", "char": "UInt8", "void": "Cvoid", "agpu_status": "Int32",
}  # fmt: skip


def type_name(name: str) -> str:
    return "LastError" if name == "agpu_error" else camel(name.removeprefix("agpu_"))


def julia_type(header: Header, ctype: CType) -> str:
    if ctype.base in header.handles or header.is_callback(ctype.base):
        base = "Ptr{Cvoid}"
    else:
        base = SCALARS.get(ctype.base) or type_name(ctype.base)
    for _ in range(ctype.pointers):
        base = f"Ptr{{{base}}}"
    return base


def emit(header: Header, errors: list[dict[str, Any]], version: str) -> str:
    out = ["# Generated from agpu.h and errors.toml by ./x generate. Do not edit.\n\n"]
    out.append(
        f'const PACKAGE_VERSION = "{version}"\nconst ABI_HASH = 0x{header.abi_hash():016x}\n\nconst OK = Int32(0)\n'
    )
    out += [f"const ERROR_{row['name'].replace('-', '_').upper()} = Int32({row['code']})\n" for row in errors]
    for name, value in header.constants:
        kind = "Int32" if name.startswith("AGPU_DEVICE") else "UInt8" if name.startswith("AGPU_DTYPE") else "UInt32"
        out.append(f"const {name.removeprefix('AGPU_')} = {kind}({value})\n")
    for struct in header.structs:
        doc = f"`{struct.name}`. {struct.comment}".strip()
        out.append(f"\n{json.dumps(doc)}\nstruct {type_name(struct.name)}\n")
        out += [f"    {m.name}::{julia_type(header, m.ctype)}\n" for m in struct.members]
        out.append("end\n")
    out.append("\nconst MANIFEST_ROWS = (\n")
    out += [f'    ("{s.name}", {type_name(s.name)}),\n' for s in header.structs]
    out.append(
        ')\n\n"Sizes and offsets as this module was compiled: one line per struct."\n'
        "function layout_manifest()\n"
        "    io = IOBuffer()\n"
        "    for (name, type) in MANIFEST_ROWS\n"
        '        print(io, name, " size=", sizeof(type))\n'
        "        for index in 1:fieldcount(type)\n"
        "            print(io, ' ', fieldname(type, index), '@', Int(fieldoffset(type, index)))\n"
        "        end\n"
        "        println(io)\n"
        "    end\n"
        "    return String(take!(io))\n"
        "end\n"
    )
    return "".join(out)
