"""zig/src/abi.zig."""

from __future__ import annotations

import json
from typing import Any

from header import CType, Function, Header
from tables import camel

SCALARS = {
    "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16", "uint16_t": "u16", "int32_t": "i32", "uint32_t": "u32",
    "int64_t": "i64", "uint64_t": "u64", "float": "f32", "double": "f64", "char": "u8", "void": "anyopaque", "agpu_status": "Status",
}  # fmt: skip


def type_name(name: str) -> str:
    return "LastError" if name == "agpu_error" else camel(name.removeprefix("agpu_"))


def zig_type(header: Header, ctype: CType) -> str:
    if header.is_callback(ctype.base) and not ctype.pointers:
        return f"?*const {type_name(ctype.base)}"
    if ctype == CType("void"):
        return "void"
    base = SCALARS.get(ctype.base) or type_name(ctype.base)
    for level in range(ctype.pointers):
        star = "?*" if base == "anyopaque" or level or header.struct(ctype.base) else "?[*]"
        base = f"{star}{'const ' if ctype.is_const and level == 0 else ''}{base}"
    return base


def signature(header: Header, function: Function) -> str:
    params = ", ".join(f"{m.name}: {zig_type(header, m.ctype)}" for m in function.parameters)
    return f"fn ({params}) callconv(.c) {zig_type(header, function.returns)}"


def emit(header: Header, errors: list[dict[str, Any]], version: str) -> str:
    out = ['//! Generated from agpu.h and errors.toml by ./x generate. Do not edit.\n\nconst std = @import("std");\n\n']
    out.append(
        f'pub const package_version = "{version}";\npub const abi_hash: u64 = {header.abi_hash():#018x};\n\npub const Status = i32;\n\n'
    )
    out.append("pub const ok: Status = 0;\npub const errors = struct {\n")
    out += [
        f"    /// {row['meaning']}\n    pub const {row['name'].replace('-', '_')}: Status = {row['code']};\n"
        for row in errors
    ]
    out.append("};\n\n")
    for name, value in header.constants:
        kind = "i32" if name.startswith("AGPU_DEVICE") else "u8" if name.startswith("AGPU_DTYPE") else "u32"
        out.append(f"pub const {name.removeprefix('AGPU_').lower()}: {kind} = {value};\n")
    out += [f"\npub const {type_name(handle)} = ?*anyopaque;\n" for handle in header.handles]
    for callback in header.callbacks:
        out.append(
            f"\n/// {callback.comment or 'See agpu.h.'}\npub const {type_name(callback.name)} = {signature(header, callback)};\n"
        )
    for struct in header.structs:
        out.append(
            f"\n/// `{struct.name}`. {struct.comment}".rstrip()
            + f"\npub const {type_name(struct.name)} = extern struct {{\n"
        )
        out += [f"    {m.name}: {zig_type(header, m.ctype)},\n" for m in struct.members]
        out.append("};\n")
    out.append("\nconst manifest_rows = .{\n")
    out += [f"    .{{ {json.dumps(s.name)}, {type_name(s.name)} }},\n" for s in header.structs]
    out.append(
        "};\n\n/// Sizes and offsets as this library was compiled: one line per struct.\n"
        "pub const layout_manifest: []const u8 = blk: {\n"
        "    @setEvalBranchQuota(100_000);\n"
        '    var text: []const u8 = "";\n'
        "    for (manifest_rows) |row| {\n"
        '        text = text ++ std.fmt.comptimePrint("{s} size={d}", .{ row[0], @sizeOf(row[1]) });\n'
        "        for (std.meta.fieldNames(row[1])) |name| {\n"
        '            text = text ++ std.fmt.comptimePrint(" {s}@{d}", .{ name, @offsetOf(row[1], name) });\n'
        "        }\n"
        '        text = text ++ "\\n";\n'
        "    }\n"
        "    break :blk text;\n"
        "};\n"
    )
    return "".join(out)
