"""The Python of README.md and docs/*.md runs as it stands there: the blocks of a page one after the other, in a process of their own.

docs/api.md is made from docstrings, whose examples `./x test` runs as doctests.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    if page.name != "api.md" and BLOCK.search(page.read_text())
)


def test_there_are_pages_with_examples():
    assert {"README.md", "docs/guide.md", "docs/training.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, run_python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    program = ""
    for block in BLOCK.finditer(text):
        # Lines keep their numbers, so that an error names the one of the page.
        lines = text[: block.start(1)].count("\n")
        program += "\n" * (lines - program.count("\n")) + block.group(1)
    run_python(program)
