"""`./x test`: every suite of every language, then one table."""

from __future__ import annotations

import functools
import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from x import excerpts, native, node_workspace, process, rust, schedule, summaries, tensorflow_suite, torch_suite
from x.build import julia_is_usable, libraries_environment
from x.console import Console, seconds_text
from x.failure import Failure
from x.paths import ROOT, STAMPS, STATE, VENV_PYTHON, shown
from x.reach import Reached
from x.stamps import Stamp, digest
from x.summaries import Counts
from x.system import julia_executable

TESTS = ROOT / "tests"
# What imports frameworks that the development environment does not have.
FRAMEWORKS_ONLY = (
    ROOT / "python" / "amdgpu" / "tensorflow",
    ROOT / "python" / "tf_rdna",
    ROOT / "python" / "amdgpu" / "torch",
    tensorflow_suite.TESTS,
    torch_suite.TESTS,
)
# Under the model checker, all threads and locks of the crate are others, so it is built on its own; of the workspace, so that its
# dependencies are those of all other tests.
ORDER_MODEL_CRATE = "amdgpu-hal"
ORDER_MODEL = ("--workspace", "--features", f"{ORDER_MODEL_CRATE}/model", "--test", "order_model")

# Tests that draw some of many cases draw the same again with it, and all of them with `all`.
TEST_SEED = "AMDGPU_TEST_SEED"
# That of pytest where no test was chosen.
NO_TEST_CHOSEN = 5

# How a test says that no other may run beside it.
ALONE = "mark.alone"

# Each takes up to 1 GB of memory.
MAX_TEST_PROCESSES = 8


@dataclass(frozen=True)
class Context:
    """What a suite gets: where to speak, the arguments after `--`, and what of it is wanted where not all is.

    Suites run side by side, so what one has to say stands together: it is kept in `said` until the suite has ended.
    """

    console: Console
    passed_on: tuple[str, ...]
    verbose: bool
    durations: bool = False
    # Crates and Python test files that a change reaches; None stands for all.
    reached: Reached | None = None
    # The interpreter with the framework that the user has named.
    python: str = ""
    # Whether it is enough to say why there is no interpreter with torch.
    is_optional: bool = False
    said: list[str] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)

    def run(
        self,
        command: Sequence[str],
        *,
        name: str,
        environment: dict[str, str] | None = None,
        excerpt: Callable[[str], str] = excerpts.of_others,
        doing: str = "",
    ) -> process.Finished:
        """Runs a runner. When it fails, `excerpt` of its output is shown; all of it when the user asked for it."""
        variables = {**rust.cargo_environment(), **rust.incremental(rust.target_folder()), **(environment or {})}
        done = process.run(
            command,
            console=self.console,
            label=f"test {name}",
            log_name=f"test-{name.replace('/', '-')}",
            environment=variables,
            doing=doing,
        )
        self.processor_seconds.append(done.processor_seconds)
        if self.verbose:
            self.said.append(done.output.rstrip())
        elif done.exit_code:
            self.said.append(excerpt(done.output))
            self.said.append(f"(the whole output: {shown(done.log)})")
        elif self.durations and (slowest := excerpts.of_durations(done.output)):
            self.said.append(slowest)
        return done


@dataclass
class Result:
    """One row of the table."""

    name: str
    counts: Counts
    seconds: float
    processor_seconds: float = 0.0


class Absent(Exception):
    """The suite has no sources in this tree."""


def _rust(ctx: Context) -> Counts:
    scope: tuple[str, ...] = ("--workspace",)
    if any(argument in ("-p", "--package") for argument in ctx.passed_on):
        scope = ()
    elif ctx.reached is not None:
        scope = tuple(part for crate in ctx.reached.crates for part in ("-p", crate))
    command = [rust.cargo_command(), "test", *scope, "--no-fail-fast", *ctx.passed_on]
    # A test that finds on its way that it cannot run prints `skipped: REASON`; without this cargo shows no output of what passed.
    command += ["--show-output"] if "--" in ctx.passed_on else ["--", "--show-output"]
    done = ctx.run(command, name="rust", environment=libraries_environment(), excerpt=excerpts.of_cargo)
    counts = summaries.read_cargo(done.output).settle(done.exit_code, "cargo test")
    if not ctx.passed_on and (ctx.reached is None or ORDER_MODEL_CRATE in ctx.reached.crates):
        done = ctx.run([rust.cargo_command(), "test", *ORDER_MODEL], name="rust-model", excerpt=excerpts.of_cargo)
        counts.add(summaries.read_cargo(done.output).settle(done.exit_code, "cargo test of the order model"))
    return counts


def _zig(ctx: Context) -> Counts:
    script = ROOT / "zig" / "compile.py"
    if not script.exists():
        raise Absent(shown(script))
    command = native.zig_command(ROOT, str(VENV_PYTHON), "test", *ctx.passed_on)
    doing = "compiling every test for each instruction set, then running them"
    done = ctx.run(command, name="zig", environment=native.zig_environment(STATE), doing=doing)
    return summaries.read_zig(done.output).settle(done.exit_code, "zig test")


def _nim(ctx: Context) -> Counts:
    files = sorted((ROOT / "nim" / "tests").glob("t*.nim"))
    if not files:
        raise Absent("nim/tests/t*.nim")
    program = _nim_program(ctx, files)
    if program is None:
        return Counts(failed=1, failures=["nim/tests: they do not compile"])
    done = ctx.run([str(program), *ctx.passed_on], name="nim", environment=_nim_environment())
    return summaries.read_nim(done.output).settle(done.exit_code, "the Nim tests")


def _nim_program(ctx: Context, files: Sequence[Path]) -> Path | None:
    """One program of all files, compiled when a source of Nim has changed; what the files share is compiled once."""
    folder = STATE / "nim-tests"
    folder.mkdir(parents=True, exist_ok=True)
    source, program = folder / "all_tests.nim", folder / "all_tests"
    imports = "".join(f'import "{file.with_suffix("")}"\n' for file in files)
    if not source.exists() or source.read_text() != imports:
        source.write_text(imports)
    command = ["nim", "c", "--mm:arc", "-d:useMalloc", "--threads:on", "--hints:off", "--warning[UnusedImport]:off"]
    command += ["--colors:off", f"--nimcache:{folder / 'cache'}", f"-o:{program}", str(source)]
    stamp = Stamp(STAMPS, "nim-tests")
    wanted = digest([ROOT / "nim"], imports, *command)
    if not stamp.is_fresh(wanted, [program]):
        done = ctx.run(command, name="nim-compile", doing="compiling the tests as one program")
        if done.exit_code:
            return None
        stamp.write(wanted, [program])
    return program


def _nim_environment() -> dict[str, str]:
    """The seed of random texts; the output names it."""
    return {TEST_SEED: os.environ.get(TEST_SEED) or str(random.SystemRandom().randrange(10**6))}


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


def _pytest(
    ctx: Context,
    name: str,
    arguments: Sequence[str],
    *,
    may_be_empty: bool = False,
    variables: Mapping[str, str] | None = None,
) -> Counts:
    measured = ("-p", "processor_time") if ctx.durations else ()
    command = [
        str(VENV_PYTHON),
        "-m",
        "pytest",
        "-q",
        "-r",
        "fEsx",
        "--tb=short",
        *measured,
        *arguments,
        *ctx.passed_on,
    ]
    environment = {"PYTHONPATH": str(TESTS / "support")} if ctx.durations else {}
    done = ctx.run(command, name=name, environment={**environment, **(variables or {})}, excerpt=excerpts.of_pytest)
    if may_be_empty and done.exit_code == NO_TEST_CHOSEN:
        return Counts()
    return summaries.read_pytest(done.output).settle(done.exit_code, f"pytest ({name})")


def _tools(ctx: Context) -> Counts:
    files = tool_tests()
    if not files:
        raise Absent("tests/tools")
    # The conftest of tests/ imports amdgpu, which these tests must not need.
    return _pytest(ctx, "tools", ["--noconftest", *(shown(file) for file in files)])


def _python_arguments(ctx: Context) -> list[str]:
    if not list(TESTS.rglob("test_*.py")):
        raise Absent("tests/*/test_*.py")
    if ctx.reached is not None:
        return list(ctx.reached.python_tests)
    return [
        "tests",
        "python",
        "--doctest-modules",
        *(f"--ignore={shown(file)}" for file in [*tool_tests(), *FRAMEWORKS_ONLY]),
    ]


def _python(ctx: Context) -> Counts:
    everything = _python_arguments(ctx)
    if ctx.passed_on:
        # Somebody looks for something: one process, whose output and debugger are at hand.
        return _pytest(ctx, "python", everything)
    # Files go to the processes as they are, since what a module sets up serves all its tests, those that take longest first.
    # A process that crashes fails its test and ends the run: behind a new one in its place xdist may wait for ever.
    spread = ["-n", str(test_processes()), "--dist", "loadfile", "--no-loadscope-reorder", "--max-worker-restart", "0"]
    # NumPy's threads wait for work by computing, on processors that the other processes need.
    one_thread = {"OPENBLAS_NUM_THREADS": "1"}
    return _pytest(ctx, "python", [*everything, *spread, "-m", "not slow and not alone"], variables=one_thread)


def _python_alone(ctx: Context) -> Counts:
    if ctx.passed_on:
        return Counts()
    files = files_with_tests_alone(ctx.reached.python_tests if ctx.reached is not None else (shown(TESTS),))
    if not files and ctx.reached is None:
        raise Absent(f"a file with `{ALONE}`")
    if not files:
        # The areas that a change reaches need not have such tests.
        return Counts()
    return _pytest(ctx, "python-alone", [*files, "-m", "alone and not slow"], may_be_empty=ctx.reached is not None)


def files_with_tests_alone(names: Sequence[str], root: Path = ROOT) -> list[str]:
    """The files under these that name the marker `alone`: collecting the tests of all others takes longer than running these."""
    left_out = [*tool_tests(root), *FRAMEWORKS_ONLY]
    found = []
    for name in names:
        path = root / name
        for file in sorted(path.rglob("test_*.py")) if path.is_dir() else [path]:
            is_ours = not any(file.is_relative_to(folder) for folder in left_out)
            if is_ours and ALONE in file.read_text(encoding="utf-8"):
                found.append(str(file.relative_to(root)) if file.is_relative_to(root) else str(file))
    return list(dict.fromkeys(found))


def _torch(ctx: Context) -> Counts:
    if not torch_suite.TESTS.is_dir():
        raise Absent(shown(torch_suite.TESTS))

    def run(command: Sequence[str], name: str) -> process.Finished:
        return process.run(command, console=ctx.console, label=f"test {name}", log_name=name)

    if ctx.is_optional:
        try:
            python = torch_suite.available(run)
        except Failure as failure:
            return Counts(
                skipped=1, skips=[(shown(torch_suite.TESTS), f"there is no PyTorch here: {failure.sentence}")]
            )
    else:
        python = torch_suite.interpreter(ctx.python, run)
    tools = torch_suite.tools_folder(python, run)
    built = ctx.run(
        torch_suite.build_command(python),
        name="torch-build",
        environment=torch_suite.environment(tools, poison=False),
        doing="compiling the shim for this torch",
    )
    if built.exit_code:
        return Counts(failed=1, failures=["the shim does not compile: " + built.tail(1).strip()])
    return _with_and_without_poison(ctx, "torch", torch_suite, python, tools)


def _tensorflow(ctx: Context) -> Counts:
    if not tensorflow_suite.TESTS.is_dir():
        raise Absent(shown(tensorflow_suite.TESTS))

    def run(command: Sequence[str], name: str) -> process.Finished:
        return process.run(command, console=ctx.console, label=f"test {name}", log_name=name)

    python = tensorflow_suite.interpreter(ctx.python, run)
    tools = tensorflow_suite.tools_folder(python, run)
    return _with_and_without_poison(ctx, "tensorflow", tensorflow_suite, python, tools)


def _with_and_without_poison(ctx: Context, suite: str, module: ModuleType, python: str, tools: Path | None) -> Counts:
    """The tests of a framework, the second time with memory of the device that the host cannot read, as on a GPU."""
    counts = Counts()
    for name, poison in ((suite, False), (f"{suite}-poison", True)):
        command = module.test_command(python, ctx.passed_on)
        environment = module.environment(tools, poison=poison)
        done = ctx.run(command, name=name, environment=environment, excerpt=excerpts.of_pytest)
        counts.add(summaries.read_pytest(done.output).settle(done.exit_code, f"pytest ({name})"))
    return counts


def test_processes() -> int:
    """How many processes run the Python suite: kernels and products of one test use all cores, too."""
    return max(1, min(len(os.sched_getaffinity(0)), MAX_TEST_PROCESSES))


@dataclass(frozen=True)
class Suite:
    """How a suite is run, and how many `processors` are counted for it (0: all there are).

    What runs `alone` does so after all others, by itself.
    """

    run: Callable[[Context], Counts]
    processors: int = 1
    alone: Callable[[Context], Counts] | None = None


# Suites that run side by side begin in this order. The longest comes first; those of one processor fill what the others leave, one after
# the other, to the end. That of Rust waits for that of Python, some of whose tests build with cargo, which lets one build at a time.
SUITES: dict[str, Suite] = {
    "python": Suite(_python, processors=0, alone=_python_alone),
    "zig": Suite(_zig),
    "js": Suite(_js),
    "rust": Suite(_rust, processors=0),
    "nim": Suite(_nim),
    "julia": Suite(_julia),
    "tools": Suite(_tools),
    "torch": Suite(_torch, processors=0),
    "tensorflow": Suite(_tensorflow, processors=0),
}
# Suites that run when they are named only.
ON_REQUEST = frozenset({"torch", "tensorflow"})
NAMES = tuple(name for name in SUITES if name not in ON_REQUEST)
# Suites of one language test their own sources; these load what the others built. Those of js/ talk to a server in Python.
NEEDS_LIBRARIES = frozenset({"rust", "python", "js", "torch", "tensorflow"})
NEEDS_EXTENSION = frozenset({"python", "js", "torch", "tensorflow"})
NEEDS_DASHBOARD = frozenset({"python", "js"})
NEEDS_BROWSER = frozenset({"js"})


def validate(names: Sequence[str], passed_on: Sequence[str]) -> None:
    """Refuses a suite that does not exist, and arguments that would go to several runners."""
    for name in names:
        if name not in SUITES:
            raise Failure(f"there is no suite `{name}`", fix=f"one of: {', '.join(SUITES)}")
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
    durations: bool = False,
    reached: Reached | None = None,
    python: str = "",
    is_optional: bool = False,
) -> int:
    """Runs the suites to the last, side by side as far as there are processors, and prints the table; 0 when nothing failed."""
    started = time.monotonic()
    results = {
        name: Result(f"build of {name}", Counts(failed=1, failures=[failure.sentence]), 0.0)
        for name, failure in build_failures
    }
    wanted = list(names or NAMES)

    def work(name: str, run: Callable[[Context], Counts]) -> None:
        ctx = Context(console, tuple(passed_on), verbose, durations, reached, python, is_optional)
        result = _run_suite(ctx, name, run)
        _say(console, name, ctx, result)
        if (first := results.get(f"suite {name}")) is not None:
            first.counts.add(result.counts)
            first.seconds += result.seconds
            first.processor_seconds += result.processor_seconds
        else:
            results[f"suite {name}"] = result

    everything = schedule.processors()
    pieces = [
        schedule.Piece(name, functools.partial(work, name, SUITES[name].run), SUITES[name].processors or everything)
        for name in wanted
    ]
    for name in wanted:
        if (alone := SUITES[name].alone) is not None:
            after = tuple(piece.name for piece in pieces)
            pieces.append(schedule.Piece(f"{name} alone", functools.partial(work, name, alone), after=after))
    schedule.run_side_by_side(pieces)
    order = [result for key, result in results.items() if not key.startswith("suite ")]
    order += [results[f"suite {name}"] for name in wanted]
    _print_results(console, order, time.monotonic() - started)
    return 1 if any(result.counts.failed for result in order) else 0


def _run_suite(ctx: Context, name: str, run: Callable[[Context], Counts]) -> Result:
    started = time.monotonic()
    try:
        counts = run(ctx)
    except Absent as absent:
        # A suite that has vanished must not look like one that passed.
        counts = Counts(failed=1, failures=[f"{name}: no tests found, {absent} is absent"])
    except Failure as failure:
        counts = Counts(failed=1, failures=[failure.sentence])
    return Result(name, counts, time.monotonic() - started, sum(ctx.processor_seconds))


def _say(console: Console, name: str, ctx: Context, result: Result) -> None:
    """What a suite has to say, in one piece."""
    counts = result.counts
    summary = (
        f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped in {seconds_text(result.seconds)}"
    )
    console.line("\n".join(["", console.paint(f"== {name}", "bold"), *ctx.said, summary]))


def _print_results(console: Console, results: Sequence[Result], seconds: float) -> None:
    total = Counts()
    for result in results:
        total.add(result.counts)
    rows = [_row(result.name, result.counts, result.seconds, result.processor_seconds) for result in results]
    all_of_them = _row("all", total, seconds, sum(result.processor_seconds for result in results))
    header = ("suite", "passed", "failed", "skipped", "seconds", "processor s")
    console.line()
    console.table(header, [*rows, all_of_them], right=(1, 2, 3, 4, 5))
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


def _row(name: str, counts: Counts, seconds: float, processor_seconds: float) -> tuple[str, ...]:
    numbers = (str(counts.passed), str(counts.failed), str(counts.skipped))
    return (name, *numbers, f"{seconds:.1f}", f"{processor_seconds:.1f}")
