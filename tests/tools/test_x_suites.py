"""`./x test`: what is read from the runners, and that no failure can look like a success."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from x import (
    excerpts,
    reach,
    suites,
    summaries,
)
from x.console import Console
from x.failure import Failure
from x.paths import ROOT


def plain_console() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(stream, {}), stream


def test_cargo_results_are_summed_over_binaries() -> None:
    output = (
        "test pool::runs_all ... ok\ntest gpu::copies ... ignored, needs a GPU\ntest pool::stops ... FAILED\n"
        "test result: FAILED. 4 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
        "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s\n"
    )
    counts = summaries.read_cargo(output)
    assert (counts.passed, counts.failed, counts.skipped) == (6, 1, 1)
    assert counts.skips == [("gpu::copies", "needs a GPU")]
    assert counts.failures == ["pool::stops"]


def test_rust_tests_that_find_no_device_count_as_skipped() -> None:
    output = (
        "test cpu::a ... ok\ntest cuda::a ... ok\ntest null::b ... ok\n\nsuccesses:\n\n"
        "---- cuda::a stdout ----\nskipped: no device `cuda:0`\n\n"
        "---- null::b stdout ----\nskipped: null:gfx1100 the backend runs nothing\n\n"
        "successes:\n    cpu::a\n    cuda::a\n    null::b\n\n"
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
    )
    counts = summaries.read_cargo(output)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 0, 2)
    assert counts.skips == [
        ("cuda::a", "no device `cuda:0`"),
        ("null::b", "null:gfx1100 the backend runs nothing"),
    ]


def test_the_conformance_suite_says_its_skips_as_the_summary_reads_them() -> None:
    text = (ROOT / "crates" / "amdgpu-hal" / "tests" / "conformance.rs").read_text()
    said = re.findall(r'println!\("([^"]*)"', text)
    assert said
    assert all(line.startswith("skipped: ") for line in said)


def test_zig_results_in_both_forms() -> None:
    assert summaries.read_zig("1/2 a.test.x...OK\nAll 2 tests passed.\n").passed == 2
    output = (
        "1/3 a.test.one...OK\n2/3 a.test.two...SKIP\n3/3 a.test.bad...expected 1\nFAIL (TestExpectedEqual)\n"
        "1 passed; 1 skipped; 1 failed.\n"
    )
    counts = summaries.read_zig(output)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 1, 1)
    assert counts.failures == ["a.test.bad"]
    assert counts.skips[0][0] == "a.test.two"


def test_nim_results() -> None:
    counts = summaries.read_nim("[Suite] s\n  [OK] a\n  [SKIPPED] b\n    t.nim(1, 2): Check failed\n  [FAILED] c\n")
    assert (counts.passed, counts.failed, counts.skipped) == (1, 1, 1)
    assert counts.failures == ["c"]


def test_julia_results_of_several_test_sets() -> None:
    output = (
        "Test Summary: | Pass  Total\nactivations   |   12     12\n"
        "Test Summary: | Pass  Fail  Error  Broken  Total\n"
        "other         |    3     1      2       4     10\n  inner |    1  1\n"
    )
    counts = summaries.read_julia(output)
    assert (counts.passed, counts.failed, counts.skipped) == (15, 3, 4)


def test_node_results_in_both_forms() -> None:
    tap = (
        "ok 1 - frames are kept\n    not ok 1 - a name that is too long\nnot ok 2 - names\n"
        "ok 3 - a page # SKIP no browser here\n1..3\n"
        "# tests 3\n# suites 0\n# pass 1\n# fail 2\n# cancelled 0\n# skipped 1\n# todo 0\n"
    )
    counts = summaries.read_node(tap)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 2, 1)
    assert counts.skips == [("a page", "no browser here")]
    assert counts.failures == ["a name that is too long", "names"]
    assert summaries.read_node("\u2139 pass 4\n\u2139 fail 0\n\u2139 skipped 0\n").passed == 4


def test_pytest_results_with_reasons() -> None:
    output = (
        "...sF\nFAILED tests/test_a.py::test_b - assert 1 == 2\n"
        "SKIPPED [2] tests/test_gpu.py:4: no GPU: libcuda is not there\n"
        "1 failed, 30 passed, 2 skipped, 1 error in 0.51s\n"
    )
    counts = summaries.read_pytest(output)
    assert (counts.passed, counts.failed, counts.skipped) == (30, 2, 2)
    assert counts.skips == [("tests/test_gpu.py:4 (2 tests)", "no GPU: libcuda is not there")]
    assert counts.failures == ["tests/test_a.py::test_b"]


def test_pytest_that_took_minutes_is_read() -> None:
    assert summaries.read_pytest("= 7 passed in 61.20s (0:01:01) =\n").passed == 7


@pytest.mark.parametrize("exit_code", [1, 101, -11])
def test_runner_that_died_without_a_failed_test_is_a_failure(exit_code: int) -> None:
    counts = summaries.Counts(passed=5).settle(exit_code, "runner")
    assert counts.failed == 1
    assert "runner" in counts.failures[0]


def test_runner_without_a_single_test_is_a_failure() -> None:
    assert summaries.Counts().settle(0, "runner").failed == 1


def test_suite_without_sources_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def vanished(_ctx: suites.Context) -> summaries.Counts:
        raise suites.Absent("zig/src/main.zig")

    monkeypatch.setitem(suites.SUITES, "zig", suites.Suite(vanished))
    console, stream = plain_console()
    assert suites.run_suites(console, ["zig"], []) == 1
    assert "zig/src/main.zig is absent" in stream.getvalue()
    assert stream.getvalue().splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_all_suites_run_although_one_fails_and_skips_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "rust": summaries.Counts(passed=1, failed=1, failures=["a::b"]),
        "zig": summaries.Counts(passed=2, skipped=1, skips=[("t", "no AVX-512")]),
    }
    for name, counts in answers.items():
        monkeypatch.setitem(suites.SUITES, name, suites.Suite(lambda _ctx, counts=counts: counts))
    console, stream = plain_console()
    assert suites.run_suites(console, ["rust", "zig"], []) == 1
    text = stream.getvalue()
    assert "zig: t: no AVX-512" in text
    assert "rust: a::b" in text
    assert text.splitlines()[-1] == "3 passed, 1 failed, 1 skipped"


def test_failed_build_counts_as_a_failure_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(suites.SUITES, "zig", suites.Suite(lambda _ctx: summaries.Counts(passed=1)))
    console, _ = plain_console()
    assert suites.run_suites(console, ["zig"], [], build_failures=[("nim library", Failure("it does not build"))]) == 1


CARGO_OUTPUT = """
running 3 tests
test pool::runs ... ok
test pool::stops ... FAILED

failures:

---- pool::stops stdout ----

thread 'pool::stops' (71) panicked at crates/hal/src/pool.rs:99:30:
assertion `left == right` failed
  left: 1
 right: 2
stack backtrace:
   0: panic_fmt

failures:
    pool::stops

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s
"""


def test_the_panic_of_a_failed_rust_test_is_shown_whatever_follows_it() -> None:
    # The tail of a workspace run is what the other crates printed.
    text = excerpts.of_cargo(CARGO_OUTPUT + "running 0 tests\n" * 500)
    assert text.startswith("---- pool::stops stdout ----")
    assert "panicked at crates/hal/src/pool.rs:99:30" in text
    assert "right: 2" in text
    assert text.count("running 0 tests") == excerpts.TAIL_LINES


def test_a_rust_test_that_found_that_it_cannot_run_is_a_listed_skip() -> None:
    output = """
running 3 tests
test julia::bits ... ok
test julia::talks ... ok
test pool::stops ... FAILED

successes:

---- julia::bits stdout ----
skipped: the Math core needs Julia

---- julia::talks stdout ----
nothing was skipped: here

failures:

---- pool::stops stdout ----
skipped: not at all

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s
"""
    counts = summaries.read_cargo(output)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 1, 1)
    assert counts.skips == [("julia::bits", "the Math core needs Julia")]
    assert excerpts.of_cargo(output).startswith("---- pool::stops stdout ----")


def test_rust_binaries_that_die_without_naming_a_test_are_explained() -> None:
    text = excerpts.of_cargo(
        "test fork::child has been running for over 60 seconds\n"
        "  process didn't exit successfully: `target/debug/deps/fork-1` (signal: 11, SIGSEGV)\n" + "\n" * 200
    )
    assert "fork::child has been running" in text
    assert "signal: 11, SIGSEGV" in text


def test_reports_of_failed_python_tests_are_shown_whatever_follows_them() -> None:
    output = (
        "..F\n=== FAILURES ===\n____ test_a ____\ntests/test_a.py:3: in test_a\n    assert x == 1\nE   assert 2 == 1\n"
        "____ test_b ____\nE   KeyError\n=== warnings summary ===\n" + "a warning\n" * 500
    )
    text = excerpts.of_pytest(output)
    assert text.startswith("____ test_a ____\ntests/test_a.py:3: in test_a")
    assert "E   KeyError" in text
    assert text.count("a warning") == excerpts.TAIL_LINES


def test_long_reports_keep_their_begin_and_their_end() -> None:
    output = "=== ERRORS ===\n___ one ___\n" + "".join(f"line {number}\n" for number in range(1000)) + "=== end ===\n"
    text = excerpts.of_pytest(output).split("\n\n")[0]
    assert "line 0\n" in text
    assert text.endswith("line 999")
    assert "921 lines are left out here" in text


def test_output_without_reports_is_shown_from_its_end() -> None:
    output = "\n".join(f"line {number}" for number in range(1000))
    for excerpt in (excerpts.of_cargo, excerpts.of_pytest, excerpts.of_others):
        assert excerpt(output).splitlines()[-1] == "line 999"
        assert len(excerpt(output).splitlines()) == 2 * excerpts.TAIL_LINES


def test_a_failing_runner_shows_its_failures_and_names_its_log(tmp_path: Path) -> None:
    script = tmp_path / "runner.py"
    script.write_text(f"print({CARGO_OUTPUT!r}); print('later ' * 9, sep=chr(10)); raise SystemExit(101)")
    console, _ = plain_console()
    ctx = suites.Context(console, (), verbose=False)
    ctx.run([sys.executable, str(script)], name="excerpt", excerpt=excerpts.of_cargo)
    text = "\n".join(ctx.said)
    assert "panicked at crates/hal/src/pool.rs:99:30" in text
    assert "the whole output: " in text
    assert ctx.processor_seconds[0] > 0


def test_changes_that_reach_no_test_that_runs_alone_are_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "test_one.py"
    path.write_text("def test_one():\n    pass\n")
    console, _ = plain_console()
    chosen = reach.Reached(("python",), (), (str(path),))
    alone = suites.SUITES["python"].alone
    assert alone is not None
    assert alone(suites.Context(console, (), verbose=False, reached=chosen)) == suites.Counts()


def test_only_files_with_the_marker_alone_are_collected_for_it(tmp_path: Path) -> None:
    area = tmp_path / "tests" / "area"
    area.mkdir(parents=True)
    (tmp_path / "tests" / "tools").mkdir()
    marked = "import pytest\n\n\n@pytest.mark.alone\ndef test_a():\n    pass\n"
    for name, text in (("test_a.py", marked), ("test_b.py", "def test_b():\n    pass\n"), ("helper.py", marked)):
        (area / name).write_text(text)
    (tmp_path / "tests" / "tools" / "test_c.py").write_text(marked)
    assert suites.files_with_tests_alone(["tests"], tmp_path) == ["tests/area/test_a.py"]
    assert suites.files_with_tests_alone(["tests/area/test_b.py"], tmp_path) == []
    chosen = ["tests/area/test_a.py", "tests/area", "tests/tools"]
    assert suites.files_with_tests_alone(chosen, tmp_path) == ["tests/area/test_a.py"]


def test_the_marker_alone_stands_in_files_of_tests_only() -> None:
    """Elsewhere, in a decorator that several files share, it would not be found, and its tests would run in neither part."""
    others = [path for path in suites.TESTS.rglob("*.py") if not path.name.startswith("test_")]
    assert others
    assert [path for path in others if suites.ALONE in path.read_text(encoding="utf-8")] == []
    marked = suites.files_with_tests_alone(["tests"])
    assert "tests/telemetry/test_telemetry_ledger.py" in marked
    assert len(marked) < 20
