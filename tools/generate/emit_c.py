"""agpu_errors.h: the error codes as C constants; agpu_tables.h: the numbers of dtypes.toml and ops.toml."""

from __future__ import annotations

from typing import Any


def emit_errors(errors: list[dict[str, Any]]) -> str:
    lines = [
        "/* Generated from errors.toml by ./x generate. Do not edit. */",
        "#ifndef AGPU_ERRORS_H",
        "#define AGPU_ERRORS_H",
        "",
    ]
    lines += ["#define AGPU_OK 0"]
    lines += [f"#define AGPU_ERROR_{row['name'].replace('-', '_').upper()} {row['code']}" for row in errors]
    lines += ["", "#endif", ""]
    return "\n".join(lines)


def emit_tables(*groups: list[str]) -> str:
    """Groups of lines, as the generators of the tables give them."""
    lines = [
        "/* Generated from dtypes.toml and ops.toml by ./x generate. Do not edit. */",
        "#ifndef AGPU_TABLES_H",
        "#define AGPU_TABLES_H",
        "",
    ]
    for group in groups:
        lines += group
    return "\n".join([*lines, "#endif", ""])
