"""Runs the test suite of the Python array API standard on this package: `python tools/array_api FOLDER [OPTIONS] [-- PYTEST ARGUMENTS]`.

FOLDER is a checkout of github.com/data-apis/array-api-tests with its submodule; nothing of it is part of this repository. It runs in an
environment of its own, `.x/peers/array-api`. `expected_failures.txt` names the tests that may fail, each with its reason, and is strict:
one that passes all the same fails the run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools" / "bench"))

from suite.environments import Absent, environment_python  # noqa: E402

EXPECTED_FAILURES = HERE / "expected_failures.txt"
# The suite's own default is 100; so many find what fails always, in minutes.
DEFAULT_EXAMPLES = 50
COMPLEX = "complex64,complex128"
STANDARD = "2025.12"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="tools/array_api", description="the array API standard's test suite")
    options.add_argument("folder", type=Path, help="a checkout of data-apis/array-api-tests, with its submodule")
    options.add_argument("--device", default="cpu", help="the default device of the run (%(default)s)")
    options.add_argument("--max-examples", type=int, default=DEFAULT_EXAMPLES, help="of each test (%(default)s)")
    options.add_argument("--skip-complex", action="store_true", help="leave complex dtypes out")
    options.add_argument("--module", default="amdgpu", help="what is tested; numpy shows what NumPy itself fails")
    return options


def expected_failures(text: str) -> dict[str, str]:
    """The tests of the list, with the reason that stands above each.

    Raises:
        ValueError: A test without a reason.
    """
    found: dict[str, str] = {}
    reason = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif not line:
            reason = ""
        elif not reason:
            raise ValueError(f"{line} stands there without a reason; write one above it, behind #")
        else:
            found[line] = reason
    return found


def environment(options: argparse.Namespace) -> dict[str, str]:
    """What the suite reads from its environment."""
    names = dict(os.environ)
    names["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), str(HERE)])
    names["ARRAY_API_TESTS_MODULE"] = options.module
    names["ARRAY_API_TESTS_VERSION"] = STANDARD
    if options.skip_complex:
        names["ARRAY_API_TESTS_SKIP_DTYPES"] = COMPLEX
    # Device 0 is the default one; the CPU stays, because some arrays of the suite come from it.
    device = options.device
    names["AMDGPU_DEVICES"] = device if device.startswith("cpu") else f"{device},cpu"
    return names


def command(python: Path, options: argparse.Namespace, passed_on: Sequence[str]) -> list[str]:
    """The pytest run inside the folder of the suite."""
    line = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-o", "xfail_strict=true", "-q"]
    line += ["--disable-deadline", f"--max-examples={options.max_examples}"]
    if options.skip_complex:
        line += ["-p", "without_complex"]
    if options.module == "amdgpu":
        line.append(f"--xfails-file={EXPECTED_FAILURES}")
    return [*line, *(passed_on or ["array_api_tests"])]


def main(arguments: Sequence[str]) -> int:
    """Runs the suite; the exit code is pytest's."""
    place = list(arguments).index("--") if "--" in arguments else len(arguments)
    options = parser().parse_args(arguments[:place])
    if not (options.folder / "array_api_tests").is_dir() or not any((options.folder / "array-api").glob("*")):
        print(
            f"error: {options.folder} is no checkout of array-api-tests with its submodule\n"
            "  fix: git clone --recurse-submodules https://github.com/data-apis/array-api-tests FOLDER",
            file=sys.stderr,
        )
        return 2
    expected_failures(EXPECTED_FAILURES.read_text())
    try:
        python = environment_python("array-api")
    except Absent as reason:
        print(f"error: no environment for the suite: {reason}", file=sys.stderr)
        return 1
    line = command(python, options, arguments[place + 1 :])
    return subprocess.run(line, cwd=options.folder, env=environment(options), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
