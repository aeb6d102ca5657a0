"""`./x test`: every suite of every language, then one table."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from x import excerpts, native, node_workspace, process, rust, summaries
from x.build import julia_is_usable, libraries_environment
from x.console import Console, seconds_text
from x.failure import Failure
from x.paths import ROOT, STATE, VENV_PYTHON, shown
from x.summaries import Counts
from x.system import julia_executable

TESTS = ROOT / "tests"
# Under the model checker, all threads and locks of the crate are others, so it is built on its own.
ORDER_MODEL = ("-p", "amdgpu-hal", "--features", "model", "--test", "order_model")

# Each takes up to 1 GB of memory.
MAX_TEST_PROCESSES = 8


@dataclass(frozen=True)
class Context:
    """What a suite gets: where to speak, and the arguments after `--`."""

    console: Console
    passed_on: tuple[str, ...]
    verbose: bool

    def run(
        self,
        command: Sequence[str],
        *,
        name: str,
        environment: dict[str, str] | None = None,
        excerpt: Callable[[str], str] = excerpts.of_others,
    ) -> process.Finished:
        """Runs a runner. When it fails, `excerpt` of its output is shown; all of it when the user asked for it."""
        variables = {**rust.cargo_environment(), **(environment or {})}
        done = process.run(
            command,
            console=self.console,
            label=f"test {name}",
            log_name=f"test-{name.replace('/', '-')}",
            environment=variables,
        )
        if self.verbose:
            self.console.line(done.output.rstrip())
        elif done.exit_code:
            self.console.line(excerpt(done.output))
            self.console.line(f"(the whole output: {shown(done.log)})")
        return done


@dataclass
class Result:
    """One row of the table."""

    name: str
    counts: Counts
    seconds: float


class Absent(Exception):
    """The suite has no sources in this tree."""


def _rust(ctx: Context) -> Counts:
    scope = () if any(argument in ("-p", "--package") for argument in ctx.passed_on) else ("--workspace",)
    command = [rust.cargo_command(), "test", *scope, "--no-fail-fast", *ctx.passed_on]
    # A test that finds on its way that it cannot run prints `skipped: REASON`; without this cargo shows no output of what passed.
    command += ["--show-output"] if "--" in ctx.passed_on else ["--", "--show-output"]
    done = ctx.run(command, name="rust", environment=libraries_environment(), excerpt=excerpts.of_cargo)
    counts = summaries.read_cargo(done.output).settle(done.exit_code, "cargo test")
    if not ctx.passed_on:
        done = ctx.run([rust.cargo_command(), "test", *ORDER_MODEL], name="rust-model", excerpt=excerpts.of_cargo)
        counts.add(summaries.read_cargo(done.output).settle(done.exit_code, "cargo test of the order model"))
    return counts


def _zig(ctx: Context) -> Counts:
    script = ROOT / "zig" / "compile.py"
    if not script.exists():
        raise Absent(shown(script))
    command = native.zig_command(ROOT, str(VENV_PYTHON), "test", *ctx.passed_on)
    done = ctx.run(command, name="zig", environment=native.zig_environment(STATE))
    return summaries.read_zig(done.output).settle(done.exit_code, "zig test")


def _nim(ctx: Context) -> Counts:
    files = sorted((ROOT / "nim" / "tests").glob("t*.nim"))
    if not files:
        raise Absent("nim/tests/t*.nim")
    counts = Counts()
    programs = STATE / "nim-tests"
    programs.mkdir(parents=True, exist_ok=True)
    for file in files:
        command = [
            *("nim", "c", "-r", "--mm:arc", "-d:useMalloc", "--threads:on", "--hints:off", "--colors:off"),
            *(f"--path:{ROOT / 'nim' / 'src'}", f"--nimcache:{STATE / 'nim-tests' / (file.stem + '-cache')}"),
            *(f"-o:{programs / file.stem}", str(file), *ctx.passed_on),
        ]
        done = ctx.run(command, name=f"nim/{file.stem}")
        counts.add(summaries.read_nim(done.output).settle(done.exit_code, shown(file)))
    return counts


def _julia(ctx: Context) -> Counts:
    file = ROOT / "julia" / "test" / "runtests.jl"
    if not file.exists():
        raise Absent(shown(file))
    reason = julia_is_usable()
    executable = julia_executable()
    if reason or executable is None:
        return Counts(skipped=1, skips=[(shown(file), reason or "no Julia")])
    command = [executable, "--startup-file=no", "--color=no", str(file), *ctx.passed_on]
    done = ctx.run(command, name="julia")
    explanation = (
        "; Debian's Julia 1.5.3 does so when it reports a failed @test" if done.exit_code == -signal.SIGSEGV else ""
    )
    return summaries.read_julia(done.output).settle(done.exit_code, "julia", explanation)


def _js(ctx: Context) -> Counts:
    manifests = sorted((ROOT / "js").glob("*/package.json"))
    if not manifests:
        raise Absent("js/*/package.json")
    counts = Counts()
    for manifest in manifests:
        name = manifest.parent.name
        try:
            node_workspace.need_packages(ROOT)
        except Failure as failure:
            counts.add(Counts(skipped=1, skips=[(f"js/{name}", failure.sentence)]))
            continue
        arguments = ["--", *ctx.passed_on] if ctx.passed_on else []
        command = node_workspace.npm(ROOT, "test", "--silent", "--workspace", name, *arguments)
        environment = {**libraries_environment(), "AMDGPU_PYTHON": str(VENV_PYTHON)}
        done = ctx.run(command, name=f"js/{name}", environment=environment)
        counts.add(summaries.read_node(done.output).settle(done.exit_code, f"npm test of js/{name}"))
    return counts


def tool_tests(root: Path = ROOT) -> list[Path]:
    """What tests something of tools/: `tests/tools`, and the tests beside a tool, as `tools/tidy/tests`."""
    return [path for path in [root / "tests" / "tools", *sorted((root / "tools").glob("*/tests"))] if path.is_dir()]


def _pytest(ctx: Context, name: str, arguments: Sequence[str]) -> Counts:
    command = [str(VENV_PYTHON), "-m", "pytest", "-q", "-r", "fEsx", "--tb=short", *arguments, *ctx.passed_on]
    done = ctx.run(command, name=name, excerpt=excerpts.of_pytest)
    return summaries.read_pytest(done.output).settle(done.exit_code, f"pytest ({name})")


def _tools(ctx: Context) -> Counts:
    files = tool_tests()
    if not files:
        raise Absent("tests/tools")
    # The conftest of tests/ imports amdgpu, which these tests must not need.
    return _pytest(ctx, "tools", ["--noconftest", *(shown(file) for file in files)])


def _python(ctx: Context) -> Counts:
    if not list(TESTS.rglob("test_*.py")):
        raise Absent("tests/*/test_*.py")
    everything = ["tests", "python", "--doctest-modules", *(f"--ignore={shown(file)}" for file in tool_tests())]
    if ctx.passed_on:
        # Somebody looks for something: one process, whose output and debugger are at hand.
        return _pytest(ctx, "python", everything)
    # Files go to the processes as they are, since what a module sets up serves all its tests.
    processes = ["-n", str(test_processes()), "--dist", "loadfile"]
    counts = _pytest(ctx, "python", [*everything, *processes, "-m", "not slow and not alone"])
    counts.add(_pytest(ctx, "python-alone", [*everything, "-m", "alone and not slow"]))
    return counts


def test_processes() -> int:
    """How many processes run the Python suite: kernels and products of one test use all cores, too."""
    return max(1, min(len(os.sched_getaffinity(0)), MAX_TEST_PROCESSES))


SUITES: dict[str, Callable[[Context], Counts]] = {
    "tools": _tools,
    "rust": _rust,
    "zig": _zig,
    "nim": _nim,
    "julia": _julia,
    "js": _js,
    "python": _python,
}
NAMES = tuple(SUITES)
# Suites of one language test their own sources; these load what the others built. Those of js/ talk to a server in Python.
NEEDS_LIBRARIES = frozenset({"rust", "python", "js"})
NEEDS_EXTENSION = frozenset({"python", "js"})
NEEDS_DASHBOARD = frozenset({"python", "js"})
NEEDS_BROWSER = frozenset({"js"})


def validate(names: Sequence[str], passed_on: Sequence[str]) -> None:
    """Refuses a suite that does not exist, and arguments that would go to several runners."""
    for name in names:
        if name not in SUITES:
            raise Failure(f"there is no suite `{name}`", fix=f"one of: {', '.join(NAMES)}")
    if passed_on and len(names) != 1:
        raise Failure(
            "arguments after `--` go to one runner, so name one suite", fix=f"./x test python -- {' '.join(passed_on)}"
        )


def run_suites(
    console: Console,
    names: Sequence[str],
    passed_on: Sequence[str],
    *,
    build_failures: Sequence[tuple[str, Failure]] = (),
    verbose: bool = False,
) -> int:
    """Runs the suites to the last, whatever fails on the way, and prints the table; 0 when nothing failed."""
    started = time.monotonic()
    results = [
        Result(f"build of {name}", Counts(failed=1, failures=[failure.sentence]), 0.0)
        for name, failure in build_failures
    ]
    ctx = Context(console, tuple(passed_on), verbose)
    for name in names or NAMES:
        console.line()
        console.line(f"== {name}", "bold")
        results.append(_run_suite(ctx, name))
    _print_results(console, results, time.monotonic() - started)
    return 1 if any(result.counts.failed for result in results) else 0


def _run_suite(ctx: Context, name: str) -> Result:
    started = time.monotonic()
    try:
        counts = SUITES[name](ctx)
    except Absent as absent:
        # A suite that has vanished must not look like one that passed.
        counts = Counts(failed=1, failures=[f"{name}: no tests found, {absent} is absent"])
    except Failure as failure:
        counts = Counts(failed=1, failures=[failure.sentence])
    seconds = time.monotonic() - started
    ctx.console.line(
        f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped in {seconds_text(seconds)}"
    )
    return Result(name, counts, seconds)


def _print_results(console: Console, results: Sequence[Result], seconds: float) -> None:
    total = Counts()
    for result in results:
        total.add(result.counts)
    rows = [_row(result.name, result.counts, result.seconds) for result in results]
    console.line()
    console.table(
        ("suite", "passed", "failed", "skipped", "seconds"), [*rows, _row("all", total, seconds)], right=(1, 2, 3, 4)
    )
    for title, entries in (
        ("skipped", [f"{result.name}: {test}: {reason}" for result in results for test, reason in result.counts.skips]),
        ("failed", [f"{result.name}: {text}" for result in results for text in result.counts.failures]),
    ):
        if entries:
            console.line()
            console.line(f"{title}:", "red" if title == "failed" else "yellow")
            for entry in entries:
                console.line(f"  {entry}")
    console.line()
    console.line(
        f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", "red" if total.failed else "green"
    )


def _row(name: str, counts: Counts, seconds: float) -> tuple[str, ...]:
    return (name, str(counts.passed), str(counts.failed), str(counts.skipped), f"{seconds:.1f}")
