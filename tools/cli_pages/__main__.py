"""`python tools/cli_pages [--check]`: writes python/amdgpu/cli/pages; with --check says which of them are stale."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "python")]

from cli_pages.make import texts

FOLDER = ROOT / "python" / "amdgpu" / "cli" / "pages"


def main(arguments: list[str]) -> int:
    """Writes what differs, or only names it."""
    stale = [
        name for name, text in texts().items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text
    ]
    if "--check" in arguments:
        for name in stale:
            print(f"{FOLDER / name} is stale: python tools/cli_pages")
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(texts()[name])
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
