"""Reads the TOML tables of amdgpu-abi and the version of the workspace, and checks them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomllib

BUILTINS = {
    "ValueError",
    "TypeError",
    "MemoryError",
    "OverflowError",
    "TimeoutError",
    "OSError",
    "RuntimeError",
    "ImportError",
    "IndexError",
    "AssertionError",
}
METRIC_KINDS = {"gauge", "counter", "histogram"}


def load(path: Path, key: str) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        rows: list[dict[str, Any]] = tomllib.load(file)[key]
    return rows


def load_errors(path: Path) -> list[dict[str, Any]]:
    """The error catalogue, with codes, names and classes checked to be unique and well formed."""
    rows = load(path, "error")
    for column in ("code", "name", "class"):
        values = [row[column] for row in rows]
        twice = {value for value in values if values.count(value) > 1}
        if twice:
            raise SystemExit(f"{path.name}: {column} used twice: {sorted(twice)}")
    for row in rows:
        # Of several, `except` finds the error by each.
        if not set(row["builtin"].split(", ")) <= BUILTINS:
            raise SystemExit(f"{path.name}: {row['name']}: unknown builtin {row['builtin']}")
        if not re.fullmatch(r"[a-z]+(-[a-z]+)*", row["name"]):
            raise SystemExit(f"{path.name}: {row['name']}: names are kebab-case")
    if [row["code"] for row in rows] != sorted(row["code"] for row in rows):
        raise SystemExit(f"{path.name}: entries stand in the order of their codes")
    return rows


def load_metrics(path: Path) -> list[dict[str, Any]]:
    """The metric catalogue, with the naming rules of Prometheus checked."""
    rows = load(path, "metric")
    for row in rows:
        name, kind = row["name"], row["kind"]
        if kind not in METRIC_KINDS:
            raise SystemExit(f"{path.name}: {name}: unknown kind {kind}")
        if (kind == "counter") != name.endswith("_total"):
            raise SystemExit(f"{path.name}: {name}: counters, and only counters, end in _total")
    return rows


def load_environment(path: Path) -> list[dict[str, Any]]:
    return load(path, "variable")


def load_version(path: Path) -> str:
    with path.open("rb") as file:
        version: str = tomllib.load(file)["workspace"]["package"]["version"]
    return version


def camel(name: str) -> str:
    """`out-of-memory` or `agpu_library_info` without its prefix, as CamelCase."""
    return "".join(part.capitalize() for part in re.split(r"[-_]", name) if part)
