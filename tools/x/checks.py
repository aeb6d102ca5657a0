"""`./x check`: formats, lints, types, generated files and house rules, all of them to the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from x import native, node_workspace, process, rust
from x.build import julia_is_usable
from x.console import Console, seconds_text
from x.failure import Failure
from x.paths import EXTENSION, PACKAGE, PYTHON_SOURCES, ROOT, STATE, VENV_PYTHON, shown
from x.stamps import source_files
from x.system import julia_executable

# Parses every file given to it; `Meta.parseall` came with Julia 1.6, so older ones read expression by expression.
JULIA_PARSE = """
failed = false
for path in ARGS
    text = read(path, String)
    place = 1
    while place <= ncodeunits(text)
        expression, next_place = Meta.parse(text, place; raise=false)
        if expression isa Expr && expression.head in (:error, :incomplete)
            println(path, ": ", expression.args[1])
            global failed = true
            break
        end
        place = next_place
    end
end
exit(failed ? 1 : 0)
"""


@dataclass(frozen=True)
class Check:
    """A command whose exit code is the verdict; `needs` are the files without which it cannot run."""

    name: str
    command: Callable[[], Sequence[str]]
    needs: tuple[Path, ...] = ()


LINTED = (ROOT / "x", PYTHON_SOURCES, ROOT / "tools", ROOT / "tests", ROOT / "examples")


def python_folders() -> list[str]:
    """Python sources under lint and format."""
    return [shown(path) for path in LINTED if path.exists()]


def typed_sources() -> list[str]:
    """Python sources under strict type checking."""
    candidates = (PACKAGE, ROOT / "tools" / "x", ROOT / "tools" / "build_backend.py")
    return [shown(path) for path in candidates if path.exists()]


def _files(folder: str, suffix: str) -> list[str]:
    return [shown(path) for path in source_files([ROOT / folder]) if path.suffix == suffix]


def _module(*arguments: str) -> Callable[[], Sequence[str]]:
    return lambda: [str(VENV_PYTHON), "-m", *arguments]


def _cargo(*arguments: str) -> Callable[[], Sequence[str]]:
    return lambda: [rust.cargo_command(), *arguments]


def _nim_check() -> Sequence[str]:
    return [
        "nim",
        "check",
        "--mm:arc",
        "--threads:on",
        "--hints:off",
        "--colors:off",
        str(ROOT / "nim" / "src" / "agpu_neuro.nim"),
    ]


def _julia_parse() -> Sequence[str]:
    executable = julia_executable() or "julia"
    return [executable, "--startup-file=no", "-e", JULIA_PARSE, *_files("julia", ".jl")]


def _stubtest() -> Sequence[str]:
    return [str(VENV_PYTHON), "-m", "mypy.stubtest", "amdgpu._native", "--ignore-disjoint-bases"]


JS_NEEDS = (ROOT / "js" / "package.json",)
CHECKS = (
    Check("generated", lambda: [str(VENV_PYTHON), "tools/generate", "--check"], (ROOT / "tools" / "generate",)),
    Check("tidy", lambda: [str(VENV_PYTHON), "tools/tidy"], (ROOT / "tools" / "tidy",)),
    Check("rustfmt", _cargo("fmt", "--all", "--check")),
    Check("clippy", _cargo("clippy", "--workspace", "--all-targets", "--", "-D", "warnings")),
    Check("zig fmt", _module("ziglang", "fmt", "--check", "zig"), (ROOT / "zig" / "src" / "main.zig",)),
    Check("nim check", _nim_check, (ROOT / "nim" / "src" / "agpu_neuro.nim",)),
    Check("julia syntax", _julia_parse, (ROOT / "julia" / "src" / "AgpuKernels.jl",)),
    Check(
        "ruff format",
        lambda: [str(VENV_PYTHON), "-m", "ruff", "format", "--check", "--output-format", "concise", *python_folders()],
    ),
    Check(
        "ruff lint", lambda: [str(VENV_PYTHON), "-m", "ruff", "check", "--output-format", "concise", *python_folders()]
    ),
    Check("mypy", lambda: [str(VENV_PYTHON), "-m", "mypy", "--strict", *typed_sources()], (PACKAGE / "__init__.py",)),
    Check("stubtest", _stubtest, (EXTENSION, PACKAGE / "_native.pyi")),
    Check("js lint", lambda: node_workspace.npm(ROOT, "run", "--silent", "check"), JS_NEEDS),
    Check("js types", lambda: node_workspace.npm(ROOT, "run", "--silent", "types"), JS_NEEDS),
    Check(
        "cli pages", lambda: [str(VENV_PYTHON), "tools/cli_pages", "--check"], (EXTENSION, ROOT / "tools" / "cli_pages")
    ),
    Check("test counts", _module("x.test_counts")),
    Check("docs", _module("x.docs"), (EXTENSION, ROOT / "docs" / "api.md")),
)
NAMES = tuple(check.name.replace(" ", "-") for check in CHECKS)


def validate(names: Sequence[str]) -> None:
    """Refuses a check that does not exist."""
    for name in names:
        if name not in NAMES:
            raise Failure(f"there is no check `{name}`", fix=f"one of: {', '.join(NAMES)}")


def run_checks(console: Console, names: Sequence[str]) -> int:
    """Runs the checks to the last and prints one line each, with the output of those that fail."""
    chosen = [check for check in CHECKS if not names or check.name.replace(" ", "-") in names]
    console.line()
    bad = []
    for check in chosen:
        started = time.monotonic()
        verdict, detail = _verdict(console, check)
        shade = {"ok": "green", "skipped": "yellow"}.get(verdict, "red")
        line = f"{check.name.ljust(14)} {console.paint(verdict, shade)}  {seconds_text(time.monotonic() - started)}"
        console.line(line)
        if detail:
            console.line(detail)
        if verdict not in ("ok", "skipped"):
            bad.append(f"{check.name} ({verdict})")
    console.line()
    if bad:
        console.line(f"{len(bad)} of {len(chosen)} checks failed: {', '.join(bad)}", "red")
        return 1
    console.line(f"all {len(chosen)} checks passed", "green")
    return 0


def _verdict(console: Console, check: Check) -> tuple[str, str]:
    missing = [shown(path) for path in check.needs if not path.exists()]
    if missing:
        # What is not there cannot be checked, and must not look as if it had been.
        return "absent", f"    needs {', '.join(missing)}"
    if check.name == "julia syntax":
        reason = julia_is_usable()
        if reason:
            return "skipped", f"    {reason}"
    if check.needs == JS_NEEDS:
        try:
            node_workspace.need_packages(ROOT)
        except Failure as failure:
            return "skipped", f"    {failure.sentence}"
    environment = {
        **rust.cargo_environment(),
        **native.zig_environment(STATE),
        "MYPYPATH": f"{PYTHON_SOURCES}:{ROOT / 'tools'}",
        "PYTHONPATH": str(ROOT / "tools"),
    }
    try:
        done = process.run(
            check.command(),
            console=console,
            label=f"check {check.name}",
            log_name=f"check-{check.name.replace(' ', '-')}",
            environment=environment,
        )
    except Failure as failure:
        return "failed", failure.text()
    return ("ok", "") if done.exit_code == 0 else ("failed", done.tail(60))
