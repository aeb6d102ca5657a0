"""Reads the machine's apt sources and derives from them a source for another release of Debian.

Nothing here names a mirror: the address and the keys are those that the machine already trusts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

OPTION_NAMES = {"signed-by": "Signed-By", "trusted": "Trusted", "arch": "Architectures"}
KEPT_OPTIONS = ("Signed-By", "Trusted", "Architectures")


@dataclass(frozen=True)
class AptSource:
    """One package source: an address with its suites, components and the options that say how it is trusted."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


def parse_one_line(text: str) -> list[AptSource]:
    """The `deb` lines of a sources.list file."""
    sources = []
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if match is None:
            continue
        options = {}
        for pair in shlex.split(match[1] or ""):
            name, _, value = pair.partition("=")
            options[OPTION_NAMES.get(name.lower(), name)] = value.replace(",", " ")
        sources.append(AptSource(match[2], (match[3],), tuple(match[4].split()), options))
    return sources


def parse_deb822(text: str) -> list[AptSource]:
    """The enabled binary stanzas of a .sources file."""
    sources = []
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1] in (" ", "\t"):
                if name:
                    fields[name] += "\n" + line
                continue
            name, colon, value = line.partition(":")
            name = name.strip().title()
            if colon:
                fields[name] = value.strip()
        if "deb" not in fields.get("Types", "").split() or fields.get("Enabled", "yes").lower() == "no":
            continue
        options = {key: value for key, value in fields.items() if key in KEPT_OPTIONS}
        for uri in fields.get("Uris", "").split():
            suites, components = fields.get("Suites", "").split(), fields.get("Components", "").split()
            sources.append(AptSource(uri, tuple(suites), tuple(components), options))
    return sources


def read_sources(folder: Path = Path("/etc/apt")) -> list[AptSource]:
    """Every source that apt would use, in apt's order."""
    sources = []
    for path in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        try:
            text = path.read_text(errors="replace")
        except (OSError, IsADirectoryError):
            continue
        if path.suffix == ".sources":
            sources += parse_deb822(text)
        elif path.suffix == ".list":
            sources += parse_one_line(text)
    return sources


def has_suite(sources: Iterable[AptSource], suite: str) -> bool:
    """Whether the main archive of `suite` is among the sources already."""
    return any(suite in source.suites and "main" in source.components for source in sources)


def derive_source(sources: Iterable[AptSource], own_suite: str, wanted_suite: str) -> str | None:
    """A deb822 stanza for `wanted_suite` from the mirror that serves `own_suite`, or None when no source serves it."""
    for source in sources:
        if own_suite not in source.suites or "main" not in source.components:
            continue
        lines = ["Types: deb", f"URIs: {source.uri}", f"Suites: {wanted_suite}", "Components: main"]
        lines += [f"{name}: {source.options[name]}" for name in KEPT_OPTIONS if name in source.options]
        return "\n".join(lines) + "\n"
    return None


def pin_text(suite: str, priority: int) -> str:
    """A preferences file that keeps `suite` from being chosen over the machine's own release."""
    return f"Package: *\nPin: release n={suite}\nPin-Priority: {priority}\n"


def parse_os_release(text: str) -> dict[str, str]:
    """The fields of /etc/os-release."""
    fields = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            fields[name.strip()] = value.strip().strip("\"'")
    return fields
