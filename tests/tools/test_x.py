"""`./x`: arguments, stamps, processes, steps, the console."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from x import (
    checks,
    cli,
    process,
    suites,
)
from x.console import Console, printable, seconds_text, table_lines
from x.failure import Failure
from x.paths import ROOT
from x.stamps import Stamp, digest, source_files
from x.steps import Reporter, Step, perform


def plain_console() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(stream, {}), stream


def outcome_of(command: list[str]) -> process.Finished:
    return process.run(command, console=plain_console()[0], label="command", log_name="test-of-x")


def test_everything_after_two_dashes_is_passed_on() -> None:
    assert cli.split_arguments(["test", "python", "--", "-k", "--", "x"]) == (["test", "python"], ["-k", "--", "x"])


def test_every_command_of_the_parser_has_a_handler() -> None:
    listed = {action.dest for action in cli.parser()._subparsers._group_actions[0]._choices_actions}
    assert listed == set(cli.HANDLERS)


@pytest.mark.parametrize("name", ["demo", "test", "check", "build", "bench", "docs", "doctor", "generate"])
def test_promised_commands_parse(name: str) -> None:
    assert cli.parser().parse_args([name]).command == name


def test_unknown_command_is_a_usage_error() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "x"), "dmeo"], capture_output=True, text=True, check=False)
    assert done.returncode == cli.EXIT_USAGE
    assert "dmeo" in done.stderr


def test_unknown_suite_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Failure) as caught:
        suites.validate(["rsut"], [])
    assert "rsut" in caught.value.sentence
    assert "rust" in caught.value.fix


def test_arguments_for_several_runners_are_refused() -> None:
    with pytest.raises(Failure, match="one runner"):
        suites.validate(["rust", "zig"], ["-v"])


def test_unknown_check_is_refused() -> None:
    with pytest.raises(Failure, match="clipy"):
        checks.validate(["clipy"])


def test_an_old_python_gets_a_sentence_not_a_traceback(tmp_path: Path) -> None:
    text = (ROOT / "x").read_text().replace("import sys\n", "import sys\nsys.version_info = (3, 9, 1)\n", 1)
    script = tmp_path / "x"
    script.write_text(text)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("./x needs Python 3.10 or newer; this is Python 3.9")


def test_stamp_is_fresh_only_for_the_same_inputs(tmp_path: Path) -> None:
    stamp = Stamp(tmp_path, "step")
    assert not stamp.is_fresh("a")
    stamp.write("a")
    assert stamp.is_fresh("a")
    assert not stamp.is_fresh("b")
    stamp.remove()
    assert not stamp.is_fresh("a")


def test_stamp_notices_an_output_that_is_missing_or_was_overwritten(tmp_path: Path) -> None:
    output = tmp_path / "library.so"
    output.write_bytes(b"one")
    stamp = Stamp(tmp_path, "step")
    stamp.write("a", [output])
    assert stamp.is_fresh("a", [output])
    output.write_bytes(b"three")
    assert not stamp.is_fresh("a", [output])
    output.unlink()
    assert not stamp.is_fresh("a", [output])


def test_damaged_stamp_counts_as_none(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"inputs": "a"}'):
        (tmp_path / "step.json").write_text(text)
        assert not Stamp(tmp_path, "step").is_fresh("a")


def test_digest_follows_content_names_and_facts_but_not_times(tmp_path: Path) -> None:
    source = tmp_path / "a.zig"
    source.write_text("one")
    before = digest([tmp_path], "fact")
    os.utime(source, (1, 1))
    assert digest([tmp_path], "fact") == before
    assert digest([tmp_path], "other fact") != before
    source.write_text("two")
    changed = digest([tmp_path], "fact")
    assert changed != before
    source.rename(tmp_path / "b.zig")
    assert digest([tmp_path], "fact") not in (before, changed)


def test_digest_moves_no_byte_between_neighbouring_facts() -> None:
    assert digest([], "ab", "c") != digest([], "a", "bc")


def test_caches_and_build_products_are_no_sources(tmp_path: Path) -> None:
    for name in ("main.zig", "__pycache__/a.pyc", ".zig-cache/b.zig", "target/c.rs", "lib.so"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    assert [path.name for path in source_files([tmp_path])] == ["main.zig"]


def test_output_exit_code_and_log_are_kept() -> None:
    done = outcome_of([sys.executable, "-c", "import sys; print('to out'); sys.stderr.write('to err'); sys.exit(3)"])
    assert done.exit_code == 3
    assert "to out" in done.output
    assert "to err" in done.output
    assert done.log.read_text() == done.output


def test_required_command_that_failed_shows_the_end_of_its_output() -> None:
    done = outcome_of([sys.executable, "-c", "print('the reason'); raise SystemExit(2)"])
    with pytest.raises(Failure) as caught:
        done.require("the thing does not build")
    assert "the reason" in caught.value.detail
    assert caught.value.text().splitlines()[-2] == "error: the thing does not build (exit code 2)"


def test_program_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(Failure, match="cannot start `no-such-program`"):
        outcome_of(["no-such-program"])


def test_commands_have_no_stdin_to_wait_on() -> None:
    assert outcome_of([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"]).output.strip() == "''"


def test_question_to_a_missing_or_failing_tool_has_no_answer() -> None:
    assert process.capture(["no-such-program"]) is None
    assert process.capture([sys.executable, "-c", "raise SystemExit(1)"]) is None
    assert process.capture([sys.executable, "-c", "print(1)"]) == "1"


def test_live_line_skips_machine_records() -> None:
    assert process.last_readable_line('   Compiling serde\n{"reason":"compiler-artifact"}\n\n') == "Compiling serde"


def test_steps_stop_at_the_first_failure_unless_told_to_go_on() -> None:
    done: list[str] = []

    def good(_reporter: Reporter) -> str:
        done.append("good")
        return "done"

    def bad(_reporter: Reporter) -> str:
        raise Failure("it broke", fix="mend it")

    steps = [Step("first", bad), Step("second", good)]
    console, stream = plain_console()
    with pytest.raises(Failure, match="it broke"):
        perform(steps, console)
    assert done == []
    failures = perform(steps, console, keep_going=True)
    assert [name for name, _ in failures] == ["first"]
    assert done == ["good"]
    assert "fix: mend it" in stream.getvalue()
    assert "[2/2] second" in stream.getvalue()


def test_no_colour_and_no_live_line_outside_a_terminal() -> None:
    console, stream = plain_console()
    console.live("working")
    console.line("done", "green")
    assert stream.getvalue() == "done\n"


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_color_is_honoured_on_a_terminal() -> None:
    terminal = FakeTerminal()
    Console(terminal, {"TERM": "xterm", "NO_COLOR": "1"}).line("done", "green")
    assert terminal.getvalue() == "done\n"
    terminal = FakeTerminal()
    Console(terminal, {"TERM": "xterm"}).line("done", "green")
    assert terminal.getvalue() == "\x1b[32mdone\x1b[0m\n"


def test_live_line_is_erased_before_a_line_is_printed() -> None:
    terminal = FakeTerminal()
    console = Console(terminal, {"TERM": "xterm", "NO_COLOR": "1"})
    console.live("working")
    console.line("done")
    assert terminal.getvalue().endswith("\r\x1b[Kdone\n")


def test_control_characters_do_not_reach_the_live_line() -> None:
    assert printable("a\tb\x1b[2Jc\r") == "a b[2Jc"


def test_durations_and_tables_read_well() -> None:
    assert [seconds_text(value) for value in (0.044, 12.34, 185)] == ["0.04 s", "12.3 s", "3 min 05 s"]
    assert table_lines(("name", "n"), [("a", "10")], right=(1,)) == ["name   n", "----  --", "a     10"]
