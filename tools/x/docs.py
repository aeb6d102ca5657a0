"""`./x docs`: regenerates the generated pages, runs the examples in the hand-written ones, demands documented names.

An example is a fenced block that opens with "```python". The blocks of one page run in one process, in order, so a later
one may use what an earlier one made; a block that cannot run where it is tested opens with "```python not-run".
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from x import api_reference, array_functions, process, test_counts
from x.console import Console
from x.failure import Failure
from x.paths import PACKAGE, ROOT, STATE, VENV_PYTHON, shown

API_PAGE = ROOT / "docs" / "api.md"
DEMANDED_COVERAGE = 0.95
NATIVE_TEXTS = """
import inspect, json
from amdgpu import _native
texts = {}
for name, thing in vars(_native).items():
    if inspect.isclass(thing):
        texts[name] = inspect.getdoc(thing) or ""
        for part, value in vars(thing).items():
            texts[f"{name}.{part}"] = inspect.cleandoc(getattr(value, "__doc__", None) or "")
print(json.dumps(texts))
"""
OPENING = re.compile(r"^```python\s*$")


@dataclass(frozen=True)
class Example:
    """A runnable block and the line on which its code begins."""

    line: int
    code: str


def examples(markdown: str) -> list[Example]:
    """The runnable blocks of a page."""
    found: list[Example] = []
    start = 0
    collected: list[str] | None = None
    for number, line in enumerate(markdown.splitlines(), 1):
        if collected is None and OPENING.match(line):
            start, collected = number + 1, []
        elif collected is not None and line.startswith("```"):
            found.append(Example(start, "\n".join(collected)))
            collected = None
        elif collected is not None:
            collected.append(line)
    if collected is not None:
        raise Failure(f"the block that begins on line {start - 1} is never closed")
    return found


def program(page: list[Example]) -> str:
    """One Python program with every block on the lines it has in the page, so that tracebacks point into it."""
    lines: list[str] = []
    for example in page:
        lines += [""] * (example.line - 1 - len(lines))
        lines += example.code.splitlines()
    return "\n".join(lines) + "\n"


def pages() -> list[Path]:
    """README, CHANGELOG and everything under docs/ but the generated reference."""
    top = sorted(ROOT.glob("*.md"))
    return [*top, *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path != API_PAGE)]


def native_texts() -> dict[str, str]:
    """The docstrings of the built native module by dotted name; none when it is not built."""
    answer = process.capture([str(VENV_PYTHON), "-c", NATIVE_TEXTS])
    texts: dict[str, str] = json.loads(answer) if answer else {}
    return texts


def api_modules() -> list[api_reference.Entry]:
    """The public surface of the package."""
    return api_reference.read_package(PACKAGE, "amdgpu", native_texts())


def api_page(modules: list[api_reference.Entry]) -> str:
    """What docs/api.md should say."""
    return api_reference.render(modules, api_reference.exported_names(PACKAGE / "__init__.py"))


def run(console: Console) -> int:
    """Regenerates and verifies. The exit code is 1 when an example fails or too little is documented."""
    generate = ROOT / "tools" / "generate"
    if generate.exists():
        done = process.run([str(VENV_PYTHON), str(generate)], console=console, label="generate", log_name="generate")
        done.require("the generator failed")
    pages_of_commands = ROOT / "tools" / "cli_pages"
    if pages_of_commands.exists():
        command = [str(VENV_PYTHON), str(pages_of_commands)]
        process.run(command, console=console, label="cli pages", log_name="cli-pages").require(
            "the pages of commands failed"
        )
    modules = api_modules()
    for path, text in {API_PAGE: api_page(modules), array_functions.PAGE: array_functions.page()}.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            console.line(f"wrote {shown(path)}")
    status = test_counts.PAGE.read_text()
    if (counted := test_counts.updated(status)) != status:
        test_counts.PAGE.write_text(counted)
        console.line(f"wrote {shown(test_counts.PAGE)}")
    return 0 if verify(console, modules) else 1


def verify(console: Console, modules: list[api_reference.Entry]) -> bool:
    """Runs every example, and compares coverage with what is demanded."""
    good = True
    for page in pages():
        blocks = examples(page.read_text())
        if not blocks:
            continue
        script = STATE / "examples" / (shown(page).replace("/", "-") + ".py")
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(program(blocks))
        command = [str(VENV_PYTHON), str(script)]
        done = process.run(command, console=console, label=shown(page), log_name="examples", cwd=script.parent)
        verdict = "ok" if done.exit_code == 0 else "failed"
        console.line(f"{shown(page)}: {len(blocks)} examples {verdict}")
        if done.exit_code:
            console.line(done.tail())
            good = False
    documented, total, bare = api_reference.coverage(modules)
    share = documented / total if total else 0.0
    console.line(
        f"documented public names: {documented} of {total} ({share:.1%}; more than {DEMANDED_COVERAGE:.0%} demanded)"
    )
    for name in bare:
        console.line(f"  undocumented: {name}")
    return good and share > DEMANDED_COVERAGE


def check(console: Console) -> bool:
    """Like `run`, but changes nothing: a stale page is an error."""
    modules = api_modules()
    pages_made = {API_PAGE: api_page(modules), array_functions.PAGE: array_functions.page()}
    stale = [path for path, text in pages_made.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        console.line(f"{shown(path)} is stale: run ./x docs")
    return verify(console, modules) and not stale


if __name__ == "__main__":
    sys.exit(0 if check(Console()) else 1)
