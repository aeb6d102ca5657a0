"""Texts made from the argument parser by tools/cli_pages: completion scripts and the manual page."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def read(name: str) -> str:
    """One of the texts."""
    return (FOLDER / name).read_text(encoding="utf-8")
