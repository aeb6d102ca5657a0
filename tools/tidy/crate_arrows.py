"""Crates depend downwards only: the house plan of docs, as a table that Cargo.toml files are compared with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from tidy.tree import Finding, Tree

RULE = "crate-arrows"

# Arrows of the house plan. What a crate can reach through them it may also name itself; everybody may use amdgpu-abi.
ARROWS: Mapping[str, AbstractSet[str]] = {
    "amdgpu-extension": {"amdgpu-python"},
    "amdgpu-python": {
        "amdgpu-capi",
        "amdgpu-graph",
        "amdgpu-ops",
        "amdgpu-aura",
        "amdgpu-matrix",
        "amdgpu-neuro",
        "amdgpu-math",
    },
    "amdgpu-capi": {"amdgpu-graph", "amdgpu-ops", "amdgpu-array", "amdgpu-aura", "amdgpu-matrix", "amdgpu-neuro"},
    "amdgpu-graph": {"amdgpu-ops"},
    "amdgpu-ops": {"amdgpu-array", "amdgpu-aura", "amdgpu-matrix"},
    "amdgpu-array": {"amdgpu-aura", "amdgpu-memory"},
    "amdgpu-neuro": {"amdgpu-ops", "amdgpu-matrix", "amdgpu-math", "amdgpu-aura"},
    "amdgpu-aura": {"amdgpu-compiler", "amdgpu-memory", "amdgpu-telemetry", "amdgpu-hal"},
    "amdgpu-matrix": {"amdgpu-memory", "amdgpu-telemetry", "amdgpu-hal"},
    "amdgpu-math": {"amdgpu-telemetry"},
    "amdgpu-memory": {"amdgpu-telemetry", "amdgpu-hal"},
    "amdgpu-compiler": {"amdgpu-telemetry"},
    "amdgpu-telemetry": {"amdgpu-abi"},
    "amdgpu-hal": {"amdgpu-abi"},
    "amdgpu-abi": set(),
}

SECTION = re.compile(r"\[(?P<name>[^\]]+)\]\s*(#.*)?$")
KEY = re.compile(r"(?P<key>[A-Za-z0-9_-]+)\s*[.=]")
DEPENDENCIES = re.compile(r"(?:^|\.)(?:dev-|build-)?dependencies(?:\.(?P<crate>[A-Za-z0-9_-]+))?$")


def reachable(arrows: Mapping[str, AbstractSet[str]], start: str) -> set[str]:
    """Everything below `start`, itself only if the arrows go round."""
    found: set[str] = set()
    waiting = list(arrows.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += arrows.get(name, ())
    return found


def dependencies(manifest: str) -> Iterator[tuple[int, str]]:
    """Line and name of every dependency of a Cargo.toml, of whatever kind."""
    inside = False
    for number, line in enumerate(manifest.split("\n"), start=1):
        section = SECTION.match(line.strip())
        if section:
            kind = DEPENDENCIES.search(section["name"])
            inside = kind is not None and kind["crate"] is None
            if kind and kind["crate"]:
                yield number, kind["crate"]
        elif inside:
            key = KEY.match(line.strip())
            if key:
                yield number, key["key"]


def check(tree: Tree) -> Iterator[Finding]:
    """Compares every crates/*/Cargo.toml with the table."""
    for path in tree.paths:
        parts = path.split("/")
        if len(parts) != 3 or parts[0] != "crates" or parts[2] != "Cargo.toml":
            continue
        crate = parts[1]
        if crate not in ARROWS:
            yield Finding(
                path, 1, RULE, f"{crate} has no place in the house plan; add it to tools/tidy/crate_arrows.py"
            )
            continue
        below = reachable(ARROWS, crate) | {"amdgpu-abi"}
        for line, name in dependencies(tree.text(path)):
            if not name.startswith("amdgpu-") or (name in below and name != crate):
                continue
            if name not in ARROWS:
                message = f"{crate} depends on {name}, which the house plan does not know"
            elif crate in reachable(ARROWS, name) | {name}:
                message = f"{crate} depends on {name}, which stands above it: arrows point down only"
            else:
                message = f"{crate} depends on {name}, to which no arrow of the house plan leads"
            yield Finding(path, line, RULE, message)
