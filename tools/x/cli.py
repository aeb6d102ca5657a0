"""Parses the command line of `./x` and dispatches."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from x import bench, bench_compare, checks, docs, doctor, reach, suites, validation
from x.build import build_steps
from x.console import Console, seconds_text
from x.failure import Failure
from x.kernel_catalog import ARCHITECTURES
from x.kernels import Builder
from x.lock import exclusive
from x.mutation import command as mutation
from x.mutation.areas import AREAS
from x.paths import BENCH_RESULTS, LIBRARIES, PACKAGE, ROOT, STAMPS, STATE, VENV, VENV_PYTHON, shown
from x.rust import cargo_environment, prepare_rust
from x.steps import Step, perform
from x.system import install_system_packages
from x.virtual_environment import prepare_virtual_environment
from x.web import install_browser, install_node

# Of the progress of `./x kernels`.
BAR_CELLS = 30
EXIT_FAILED = 1
EXIT_USAGE = 2
# Of `./x bench --compare`: a case is slower, or gone.
EXIT_SLOWER = 3
EXIT_INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(
        prog="./x",
        description="The one entry of this repository. Each command first sets up what it needs; "
        "where nothing has changed that costs milliseconds.",
        epilog="What follows `--` goes to the program that the command runs.",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=summary, description=summary)

    add("demo", "set everything up and run the main job on real input")
    test = add("test", "set everything up and run the tests of all languages")
    _add_test_options(test)
    check = add("check", "format, lint and type checks, fresh generated files, house rules")
    check.add_argument(
        "names", nargs="*", metavar="CHECK", help=f"one of: {', '.join(checks.NAMES)} (all of them when none is named)"
    )
    add("build", "build the native libraries, the dashboard and the Python extension")
    archives = add(
        "kernels", "build the archives of GPU kernels (zig/src/kernels); minutes at first, seconds when little changed"
    )
    archives.add_argument(
        "architectures", nargs="*", metavar="ARCHITECTURE", help=f"some of: {', '.join(ARCHITECTURES)}"
    )
    add("setup", "install what is missing, without building")
    benchmark = add("bench", "run benchmarks: ours beside a peer")
    benchmark.add_argument("names", nargs="*", metavar="NAME", help="which ones; without a name the list is printed")
    benchmark.add_argument("--all", action="store_true", help="run every benchmark")
    _add_compare(benchmark)
    validate = add(
        "validate", "networks beside Brian2 and NEST, or the array API standard's suite, in environments of their own"
    )
    validate.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help="networks (the default), or array-api FOLDER (of data-apis/array-api-tests)",
    )
    _add_mutate(add)
    add("docs", "regenerate the generated documentation and run its examples")
    report = add("doctor", "wanted versus found for every toolchain and library, and the fix for each gap")
    report.add_argument("--json", action="store_true", help="print JSON")
    add("generate", "regenerate the mirrors of agpu.h and of the fact tables")
    clean = add(
        "clean",
        "remove build products; the virtual environment and caches too with `all`, only the stamps with `stamps`",
    )
    clean.add_argument("what", nargs="?", choices=("build", "stamps", "all"), default="build")
    add("shell", "a shell in which python and amdgpu are those of .venv")
    add("help", "print this help")
    return top


def _add_test_options(test: argparse.ArgumentParser) -> None:
    test.add_argument(
        "names",
        nargs="*",
        metavar="SUITE",
        help=f"one of: {', '.join(suites.NAMES)} (all of them when none is named), or torch, or tensorflow",
    )
    test.add_argument(
        "--changed",
        nargs="?",
        const="",
        metavar="REVISION",
        help="only what a change can reach: of the files that differ from REVISION (the last commit by default)",
    )
    test.add_argument("--python", default="", metavar="PATH", help="the Python with torch or TensorFlow for its suite")
    test.add_argument(
        "--where-possible", action="store_true", help="skip the suite torch, with the reason, where torch cannot be had"
    )
    test.add_argument("--durations", action="store_true", help="say which Python tests took the most processor time")
    test.add_argument("-v", "--verbose", action="store_true", help="print the runners' whole output")


def _add_compare(benchmark: argparse.ArgumentParser) -> None:
    benchmark.add_argument(
        "--compare",
        metavar="BASE",
        help="then compare with BASE, a revision that was measured on this machine or a results file; "
        f"ends with {EXIT_SLOWER} when a case is slower or gone",
    )
    benchmark.add_argument(
        "--threshold",
        type=float,
        default=bench_compare.DEFAULT_THRESHOLD_PERCENT,
        metavar="PERCENT",
        help="by how much a time may grow; default: %(default)g",
    )
    benchmark.add_argument("--other-machine", action="store_true", help="compare runs of two machines all the same")
    benchmark.add_argument("--result", metavar="FILE", help="compare this results file, and run nothing")
    benchmark.add_argument("--history", action="store_true", help="list earlier runs, and run nothing")


def _add_mutate(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    mutate = add(
        "mutate", "put faults into the sources, one at a time, and count how many the tests notice; minutes to hours"
    )
    mutate.add_argument(
        "areas", nargs="*", metavar="AREA", help=f"some of: {', '.join(AREAS)} (all of them by default)"
    )
    mutate.add_argument("--count", type=int, default=mutation.DEFAULT_COUNT, help="faults for each area (%(default)s)")
    mutate.add_argument(
        "--seed", type=int, help="draws the same faults again; without it a seed is made up and printed"
    )
    mutate.add_argument("--within", default="", metavar="TEXT", help="only files whose path contains this")
    mutate.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="the faults with these names, in [] in the output"
    )
    mutate.add_argument("--near", action="store_true", help="leave out the tests in Python behind those in Rust")


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before and after the first `--`."""
    if "--" not in arguments:
        return list(arguments), []
    place = list(arguments).index("--")
    return list(arguments[:place]), list(arguments[place + 1 :])


def main(arguments: Sequence[str]) -> int:
    """Runs one command; the exit code is 0 when all of it succeeded."""
    # A terminated ./x must not leave its compilers behind, so it ends the way Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    own, passed_on = split_arguments(arguments)
    options = parser().parse_args(own or ["help"])
    console = Console()
    started = time.monotonic()
    try:
        exit_code = HANDLERS[options.command](console, options, passed_on)
    except Failure as failure:
        console.clear_live()
        console.line(failure.text(), *(("red",) if not failure.detail else ()))
        exit_code = EXIT_FAILED
    except KeyboardInterrupt:
        console.clear_live()
        console.line("stopped")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`./x doctor | head`); there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    if options.command in TIMED:
        console.line(f"./x {options.command} took {seconds_text(time.monotonic() - started)}", "dim")
    return exit_code


def setup_steps() -> list[Step]:
    """What a fresh machine needs before anything can be built."""
    return [
        Step("system packages", install_system_packages),
        Step("rust toolchain", prepare_rust),
        Step("python packages", prepare_virtual_environment),
        Step("node", install_node),
    ]


def set_up(console: Console, *, build: bool) -> None:
    """Brings machine and tree to where a command can run."""
    with exclusive(console):
        perform(setup_steps(), console)
        if build:
            perform(build_steps(), console, side_by_side=True)


def _hand_over(command: Sequence[str]) -> int:
    """Runs the command that the user is after, on the user's own terminal."""
    sys.stdout.flush()
    environment = {**os.environ, **cargo_environment()}
    environment["PATH"] = os.pathsep.join([str(VENV / "bin"), environment["PATH"]])
    environment["VIRTUAL_ENV"] = str(VENV)
    return subprocess.run(list(command), cwd=ROOT, env=environment, check=False).returncode


def _demo(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    set_up(console, build=True)
    demo = ROOT / "tools" / "demo"
    if not demo.exists():
        raise Failure(f"{shown(demo)} is not there yet")
    console.line()
    return _hand_over([str(VENV_PYTHON), str(demo), *passed_on])


def _test(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    suites.validate(options.names, passed_on)
    names, reached = options.names, None
    if options.changed is not None:
        if names or passed_on:
            raise Failure("--changed chooses the suites itself", fix="./x test --changed [REVISION]")
        reached = reach.reached(reach.changed_files(options.changed))
        names = [name for name in suites.NAMES if name in reached.suites]
        if not names:
            console.line("nothing changed that a test can see")
            return 0
        console.line(f"the change reaches: {', '.join([*names, *reached.crates, *reached.python_tests])}")
    with exclusive(console):
        wanted = frozenset(names or suites.NAMES)
        browser = [Step("browser", install_browser)] if wanted & suites.NEEDS_BROWSER else []
        perform([*setup_steps(), *browser], console)
        steps = build_steps(
            libraries=bool(wanted & suites.NEEDS_LIBRARIES),
            dashboard=bool(wanted & suites.NEEDS_DASHBOARD),
            extension=bool(wanted & suites.NEEDS_EXTENSION),
        )
        failures = perform(steps, console, keep_going=True, side_by_side=True)
        exit_code = suites.run_suites(
            console,
            names,
            passed_on,
            build_failures=failures,
            verbose=options.verbose,
            durations=options.durations,
            reached=reached,
            python=options.python,
            is_optional=options.where_possible,
        )
        if reached is not None:
            console.line(reach.left_out(reached, suites.NAMES))
        return exit_code


def _check(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    checks.validate(options.names)
    with exclusive(console):
        perform(setup_steps(), console)
        perform(build_steps(), console, keep_going=True, side_by_side=True)
        return checks.run_checks(console, options.names)


def _build(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    set_up(console, build=True)
    return 0


def _kernels(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    unknown = sorted({*options.architectures} - {*ARCHITECTURES})
    if unknown:
        raise Failure(f"no kernels are built for {', '.join(unknown)}", fix=f"name some of {', '.join(ARCHITECTURES)}")
    set_up(console, build=False)
    with exclusive(console):
        builder = Builder(ROOT, str(VENV_PYTHON), STATE)
        started = time.monotonic()

        def show(done: int, wanted: int, name: str) -> None:
            filled = BAR_CELLS * done // wanted
            console.live(f"[{'#' * filled}{'.' * (BAR_CELLS - filled)}] {done}/{wanted} {name}")

        for path in builder.build(options.architectures or ARCHITECTURES, show):
            console.line(f"{shown(path)} ({path.stat().st_size / 1024:,.0f} KiB)")
        console.line(f"all in {seconds_text(time.monotonic() - started)}", "dim")
    return 0


def _setup(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    set_up(console, build=False)
    return 0


def _bench(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    if options.history:
        bench_compare.print_history(console, options.names or list(bench.available()))
        return 0
    if options.result:
        return _compared(console, options, bench_compare.read(Path(options.result)))
    names = bench.choose(console, options.names, everything=options.all)
    if not names:
        return 0
    # What there is to compare with is known before minutes of measuring.
    bases = [bench_compare.base_of(options.compare, name) for name in names] if options.compare else []
    set_up(console, build=True)
    status = max(_hand_over([str(VENV_PYTHON), str(bench.FOLDER), name, *passed_on]) for name in names)
    for base in bases if status == 0 else ():
        status = max(status, _compared(console, options, bench_compare.history(base.name)[-1], base))
    return status


def _compared(
    console: Console, options: argparse.Namespace, now: bench_compare.Result, base: bench_compare.Result | None = None
) -> int:
    if base is None:
        if not options.compare:
            raise Failure("--result is compared with something", fix="name it: --compare BASE")
        base = bench_compare.base_of(options.compare, now.name)
    is_fine = bench_compare.compare(
        console, base, now, threshold_percent=options.threshold, is_other_machine=options.other_machine
    )
    return 0 if is_fine else EXIT_SLOWER


def _validate(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    command = validation.command(options.what, passed_on)
    set_up(console, build=True)
    return _hand_over(command)


def _mutate(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    mutation.validate(options.areas, options.count)
    with exclusive(console):
        products = mutation.needs_products(options.areas)
        perform(setup_steps(), console)
        perform(build_steps(dashboard=products, extension=products), console, side_by_side=True)
    seed = mutation.made_up_seed() if options.seed is None else options.seed
    wanted = mutation.Wanted(options.count, seed, options.within, tuple(options.only), options.near)
    return mutation.run(console, options.areas, wanted)


def _docs(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    set_up(console, build=True)
    return docs.run(console)


def _doctor(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    return doctor.run(console, as_json=options.json)


def _generate(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    set_up(console, build=False)
    return _hand_over([str(VENV_PYTHON), str(ROOT / "tools" / "generate"), *passed_on])


def _clean(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    build = [STATE, LIBRARIES, ROOT / "target", ROOT / "dist", *PACKAGE.glob("_native*.so")]
    what = {"stamps": [STAMPS], "build": build, "all": [*build, VENV, BENCH_RESULTS]}[options.what]
    for path in what:
        if path.is_dir():
            console.line(f"removing {shown(path)}/")
            shutil.rmtree(path)
        elif path.exists():
            console.line(f"removing {shown(path)}")
            path.unlink()
    return 0


def _shell(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    set_up(console, build=True)
    console.line("python and amdgpu are those of .venv; leave with `exit`")
    return _hand_over([os.environ.get("SHELL", "/bin/sh"), *passed_on])


def _help(console: Console, options: argparse.Namespace, passed_on: list[str]) -> int:
    parser().print_help()
    return 0


Handler = Callable[[Console, argparse.Namespace, list[str]], int]
HANDLERS: dict[str, Handler] = {
    "demo": _demo,
    "test": _test,
    "check": _check,
    "build": _build,
    "kernels": _kernels,
    "setup": _setup,
    "bench": _bench,
    "validate": _validate,
    "mutate": _mutate,
    "docs": _docs,
    "doctor": _doctor,
    "generate": _generate,
    "clean": _clean,
    "shell": _shell,
    "help": _help,
}
TIMED = frozenset({"demo", "check", "build", "setup", "docs", "mutate"})
