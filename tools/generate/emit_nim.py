"""nim/src/agpu_abi.nim."""

from __future__ import annotations

from typing import Any

from header import CType, Function, Header
from tables import camel

SCALARS = {
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int32_t": "int32", "uint32_t": "uint32",
    "int64_t": "int64", "uint64_t": "uint64", "float": "float32", "double": "float64", "char": "char", "agpu_status": "Status",
}  # fmt: skip
KEYWORDS = {"block", "ptr", "end", "out", "type", "kind_", "addr", "ref", "method", "object", "from"}


def type_name(name: str) -> str:
    return "LastError" if name == "agpu_error" else camel(name.removeprefix("agpu_"))


def ident(name: str) -> str:
    return f"`{name}`" if name in KEYWORDS else camel_lower(name)


def camel_lower(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def nim_type(header: Header, ctype: CType) -> str:
    if ctype.base in ("void", "char") and ctype.pointers == 1:
        return "pointer"
    base = SCALARS.get(ctype.base) or type_name(ctype.base)
    del header
    return "ptr " * ctype.pointers + base


def signature(header: Header, function: Function) -> str:
    params = "; ".join(f"{ident(m.name)}: {nim_type(header, m.ctype)}" for m in function.parameters)
    returns = "" if function.returns == CType("void") else f": {nim_type(header, function.returns)}"
    return f"proc({params}){returns} {{.cdecl, gcsafe, raises: [].}}"


def emit(header: Header, errors: list[dict[str, Any]], version: str) -> str:
    out = ["## Generated from agpu.h and errors.toml by ./x generate. Do not edit.\n\n"]
    out.append("import std/strutils\n\n")
    out.append(
        f"const\n  packageVersion* = \"{version}\"\n  abiHash* = 0x{header.abi_hash():016x}'u64\n  statusOk* = 0'i32\n"
    )
    out += [f"  error{camel(row['name'])}* = {row['code']}'i32 ## {row['meaning']}\n" for row in errors]
    for name, value in header.constants:
        kind = "i32" if name.startswith("AGPU_DEVICE") else "u8" if name.startswith("AGPU_DTYPE") else "u32"
        out.append(f"  {camel_lower(name.removeprefix('AGPU_').lower())}* = {value}'{kind}\n")
    out.append("\ntype\n  Status* = int32\n")
    out += [f"  {type_name(handle)}* = pointer\n" for handle in header.handles]
    out += [
        f"  {type_name(c.name)}* = {signature(header, c)}\n"
        for c in header.callbacks
        if c.name in used_callbacks(header)
    ]
    for struct in header.structs:
        out.append(
            f"  {type_name(struct.name)}* {{.bycopy.}} = object ## `{struct.name}` {struct.comment}".rstrip() + "\n"
        )
        out += [f"    {ident(m.name)}*: {nim_type(header, m.ctype)}\n" for m in struct.members]
    out.append(
        "\nproc layoutManifest*(): string =\n  ## Sizes and offsets as this library was compiled: one line per struct.\n"
    )
    for struct in header.structs:
        pieces = ['"' + f"{struct.name} size=" + '"', f"$sizeof({type_name(struct.name)})"]
        for member in struct.members:
            pieces += [f'" {member.name}@"', f"$offsetOf({type_name(struct.name)}, {ident(member.name)})"]
        out.append("  result.add [" + ", ".join(pieces) + '].join & "\\n"\n')
    return "".join(out)


def used_callbacks(header: Header) -> set[str]:
    """Callbacks that a struct or another callback needs; the rest are prototypes of this library's own functions."""
    used = {m.ctype.base for struct in header.structs for m in struct.members}
    return used | {m.ctype.base for callback in header.callbacks for m in callback.parameters}
