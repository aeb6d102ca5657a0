"""`./x`: arguments, stamps, apt sources, summaries of runners, failure sentences, the console."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from x import (
    api_reference,
    apt_sources,
    bench,
    build,
    checks,
    cli,
    docs,
    native,
    process,
    rust,
    suites,
    summaries,
    system,
    virtual_environment,
)
from x.console import Console, printable, seconds_text, table_lines
from x.failure import Failure
from x.paths import ROOT
from x.stamps import Stamp, digest, source_files
from x.steps import Reporter, Step, perform

DEB822 = """\
Types: deb
# a comment inside the stanza
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


def plain_console() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(stream, {}), stream


def outcome_of(command: list[str]) -> process.Finished:
    return process.run(command, console=plain_console()[0], label="command", log_name="test-of-x")


# Arguments


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


# Stamps


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


# apt sources


def test_source_is_derived_from_the_mirror_and_key_of_a_deb822_file() -> None:
    stanza = apt_sources.derive_source(apt_sources.parse_deb822(DEB822), "bookworm", "bullseye")
    assert stanza == (
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: bullseye\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )


def test_source_is_derived_from_a_one_line_file_with_options() -> None:
    text = (
        "# deb http://commented.example/debian bookworm main\n"
        "deb-src http://source.example/debian bookworm main\n"
        "deb [arch=amd64,arm64 signed-by=/keys/k.gpg] https://mirror.example/debian bookworm main contrib # why\n"
    )
    sources = apt_sources.parse_one_line(text)
    assert [source.components for source in sources] == [("main", "contrib")]
    stanza = apt_sources.derive_source(sources, "bookworm", "bullseye")
    assert stanza is not None
    assert "URIs: https://mirror.example/debian\n" in stanza
    assert "Signed-By: /keys/k.gpg\n" in stanza
    assert "Architectures: amd64 arm64\n" in stanza


def test_key_written_into_the_source_is_carried_over() -> None:
    text = (
        "Types: deb\nURIs: http://m.example/debian\nSuites: bookworm\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"
    )
    stanza = apt_sources.derive_source(apt_sources.parse_deb822(text), "bookworm", "bullseye")
    assert stanza is not None
    assert "Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n" in stanza


def test_disabled_security_and_foreign_sources_are_not_derived_from() -> None:
    disabled = DEB822.replace("Types: deb\n# a", "Types: deb\nEnabled: no\n# a")
    assert apt_sources.derive_source(apt_sources.parse_deb822(disabled), "bookworm", "bullseye") is None
    foreign = apt_sources.parse_one_line("deb https://packages.example nodistro main\n")
    assert apt_sources.derive_source(foreign, "bookworm", "bullseye") is None


def test_existing_suite_is_recognised() -> None:
    sources = apt_sources.parse_deb822(DEB822)
    assert apt_sources.has_suite(sources, "bookworm-updates")
    assert not apt_sources.has_suite(sources, "bullseye")


def test_all_files_of_an_apt_folder_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb http://a.example/debian bookworm main\n")
    (tmp_path / "sources.list.d" / "b.sources").write_text(DEB822)
    (tmp_path / "sources.list.d" / "c.list.disabled").write_text("deb http://c.example/debian bookworm main\n")
    uris = [source.uri for source in apt_sources.read_sources(tmp_path)]
    assert uris[:2] == ["http://a.example/debian", "http://mirror.example/debian"]
    assert "http://c.example/debian" not in uris


def test_os_release_values_lose_their_quotes() -> None:
    assert apt_sources.parse_os_release('ID=debian\nVERSION_ID="12"\n# no\n') == {"ID": "debian", "VERSION_ID": "12"}


def test_pin_names_release_and_priority() -> None:
    assert apt_sources.pin_text("bullseye", 100) == "Package: *\nPin: release n=bullseye\nPin-Priority: 100\n"


# Failure sentences of the set-up


def reporter() -> Reporter:
    return Reporter(plain_console()[0], "step", "[1/1]")


NIM = system.Need("Nim compiler", ("nim-that-is-not-here",), ("nim",))


def test_without_apt_the_sentence_names_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", (NIM,))
    monkeypatch.setattr(system.shutil, "which", lambda _command: None)
    with pytest.raises(Failure) as caught:
        system.install_system_packages(reporter())
    assert "Nim compiler is missing" in caught.value.sentence
    assert "no apt-get" in caught.value.sentence
    assert "apt-get install --no-install-recommends nim" in caught.value.fix


def test_without_rights_the_fix_is_the_exact_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", (NIM,))
    monkeypatch.setattr(system.shutil, "which", lambda command: "/usr/bin/apt-get" if command == "apt-get" else None)
    monkeypatch.setattr(system.os, "geteuid", lambda: 1000)
    with pytest.raises(Failure, match="may not install packages") as caught:
        system.install_system_packages(reporter())
    assert caught.value.fix == "sudo apt-get update && sudo apt-get install --no-install-recommends nim"


def test_missing_julia_lets_the_rest_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system, "NEEDS", ())
    monkeypatch.setattr(system, "STAMPS", tmp_path)
    monkeypatch.setattr(system.shutil, "which", lambda _command: None)
    monkeypatch.delenv("AMDGPU_JULIA", raising=False)
    console, stream = plain_console()
    assert system.install_system_packages(Reporter(console, "step", "[1/1]")).endswith("without Julia")
    assert "the Math core will be off" in stream.getvalue()
    assert "julialang.org" in stream.getvalue()
    again = system.install_system_packages(Reporter(console, "step", "[1/1]"))
    assert "tries again" in again


def test_julia_switched_off_is_said_and_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", ())
    monkeypatch.setenv("AMDGPU_JULIA", "off")
    assert "AMDGPU_JULIA=off" in system.install_system_packages(reporter())


def test_amdgpu_julia_that_is_no_program_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", ())
    monkeypatch.setenv("AMDGPU_JULIA", "/no/such/julia")
    with pytest.raises(Failure, match="/no/such/julia"):
        system.install_system_packages(reporter())


def test_missing_cargo_gives_the_rustup_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    with pytest.raises(Failure) as caught:
        rust.cargo_command()
    assert "sh.rustup.rs" in caught.value.fix


def test_cargo_in_its_own_folder_is_found_without_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    cargo = tmp_path / "bin" / "cargo"
    cargo.write_text("#!/bin/sh\n")
    cargo.chmod(cargo.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    assert rust.cargo_command() == str(cargo)
    assert rust.search_path().startswith(str(tmp_path / "bin"))


def test_old_cargo_without_rustup_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rust, "find_program", lambda name: "/usr/bin/cargo" if name == "cargo" else None)
    monkeypatch.setattr(rust, "capture", lambda _command: "cargo 1.65.0")
    with pytest.raises(Failure, match=r"cargo is too old: Rust 1\.\d+ or newer"):
        rust.prepare_rust(reporter())


def test_version_numbers_are_the_first_dotted_number() -> None:
    assert rust.version_numbers("Nim Compiler Version 1.6.10 [Linux: amd64]") == (1, 6, 10)
    assert rust.version_numbers("none") == ()


def test_pins_follow_the_python_version() -> None:
    text = 'a==1 ; python_version >= "3.11"\na==2; python_version < "3.11"\n# c==9\nb==3  # why\n'
    assert virtual_environment.pinned_versions(text, (3, 10)) == {"a": "2", "b": "3"}
    assert virtual_environment.pinned_versions(text, (3, 12)) == {"a": "1", "b": "3"}


# Processes and steps


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


# Summaries of the runners


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

    monkeypatch.setitem(suites.SUITES, "zig", vanished)
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
        monkeypatch.setitem(suites.SUITES, name, lambda _ctx, counts=counts: counts)
    console, stream = plain_console()
    assert suites.run_suites(console, ["rust", "zig"], []) == 1
    text = stream.getvalue()
    assert "zig: t: no AVX-512" in text
    assert "rust: a::b" in text
    assert text.splitlines()[-1] == "3 passed, 1 failed, 1 skipped"


def test_failed_build_counts_as_a_failure_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(suites.SUITES, "zig", lambda _ctx: summaries.Counts(passed=1))
    console, _ = plain_console()
    assert suites.run_suites(console, ["zig"], [], build_failures=[("nim library", Failure("it does not build"))]) == 1


# Building


def test_pieces_are_built_beside_the_result_and_renamed(tmp_path: Path) -> None:
    output = tmp_path / "lib" / "libx.so"
    drafts: list[str] = []

    def command(draft: Path) -> list[str]:
        drafts.append(draft.name)
        return [sys.executable, "-c", f"open({str(draft)!r}, 'w').write('new')"]

    piece = native.Piece("x", tmp_path, (tmp_path,), output, command)
    native.build_piece(piece, lambda argv, _environment: subprocess.run(argv, check=True) and None)
    assert output.read_text() == "new"
    assert drafts[0] != output.name
    assert [path.name for path in output.parent.iterdir()] == ["libx.so"]


def test_failed_build_leaves_the_old_library(tmp_path: Path) -> None:
    output = tmp_path / "libx.so"
    output.write_text("old")

    def fail(_command: object, _environment: object) -> None:
        raise Failure("no")

    with pytest.raises(Failure):
        native.build_piece(native.Piece("x", tmp_path, (), output, lambda draft: [str(draft)]), fail)
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["libx.so"]


def test_copied_sources_lose_files_that_are_gone(tmp_path: Path) -> None:
    source = tmp_path / "julia"
    source.mkdir()
    (source / "A.jl").write_text("1")
    (source / "B.jl").write_text("2")
    piece = native.Piece("julia", source / "A.jl", (source,), tmp_path / "lib" / "julia", None)
    native.build_piece(piece, lambda _command, _environment: None)
    (source / "B.jl").unlink()
    native.build_piece(piece, lambda _command, _environment: None)
    assert [path.name for path in (tmp_path / "lib" / "julia").iterdir()] == ["A.jl"]


def test_zig_and_nim_write_to_the_draft(tmp_path: Path) -> None:
    zig, nim, _julia = native.pieces(tmp_path, "python", tmp_path / ".x")
    assert zig.command is not None
    assert nim.command is not None
    assert zig.command(tmp_path / "draft")[-2:] == ["library", str(tmp_path / "draft")]
    assert f"-o:{tmp_path / 'draft'}" in nim.command(tmp_path / "draft")
    assert nim.command(tmp_path / "draft")[-1] == str(tmp_path / "nim" / "src" / "agpu_neuro.nim")


def test_extension_is_found_in_the_messages_of_cargo() -> None:
    def message(crate: str, kind: str, name: str) -> str:
        return (
            f'{{"reason":"compiler-artifact","manifest_path":"/w/crates/{crate}/Cargo.toml",'
            f'"target":{{"kind":["{kind}"]}},"filenames":["/w/target/release/{name}"]}}'
        )

    output = "\n".join(
        [
            "   Compiling x",
            message("serde", "lib", "libserde.rlib"),
            message("amdgpu-python", "cdylib", "lib_native.so"),
        ]
    )
    assert build.extension_artifact(output) == Path("/w/target/release/lib_native.so")
    assert build.extension_artifact("") is None


def test_development_wheel_points_at_the_sources_and_keeps_the_metadata(tmp_path: Path) -> None:
    dist_info = tmp_path / "amdgpu_framework-1.2.dist-info"
    dist_info.mkdir()
    (dist_info / "METADATA").write_text("Name: amdgpu-framework\n")
    (dist_info / "entry_points.txt").write_text("[console_scripts]\namdgpu=amdgpu.cli:main\n")
    wheel = build.write_development_wheel(dist_info, Path("/tree/python"), tmp_path)
    assert wheel.name == "amdgpu_framework-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert archive.read("amdgpu_framework.pth") == b"/tree/python\n"
        record = archive.read("amdgpu_framework-1.2.dist-info/RECORD").decode()
    assert "amdgpu_framework-1.2.dist-info/entry_points.txt" in names
    assert {line.split(",")[0] for line in record.splitlines()} == names


def test_backend_names_every_missing_tool_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import build_backend

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    text = "\n".join(build_backend.missing_tools())
    assert "`nim`" in text
    assert "`cc`" in text
    assert "`cargo`" in text
    with pytest.raises(SystemExit, match="cannot be built here"):
        build_backend.build_wheel(str(tmp_path))


# Benchmarks and documentation


def test_benchmarks_are_found_with_their_summaries(tmp_path: Path) -> None:
    (tmp_path / "frame.py").write_text('"""Not a benchmark."""\n')
    (tmp_path / "matmul.py").write_text('"""Matrix products.\n\nMore.\n"""\n')
    assert bench.available(tmp_path) == {"matmul": "Matrix products."}


def test_benchmark_names_may_be_shortened_when_unique() -> None:
    assert bench.resolve("mat", ["matmul", "launch"]) == "matmul"
    with pytest.raises(Failure, match="no benchmark"):
        bench.resolve("x", ["matmul"])
    with pytest.raises(Failure, match="no benchmark"):
        bench.resolve("l", ["launch", "load"])


def test_only_marked_blocks_are_examples_and_keep_their_lines() -> None:
    page = "# t\n```python\nnot run\n```\n```python run\na = 1\n```\ntext\n```python run\nassert a == 1\n```\n"
    blocks = docs.examples(page)
    assert [(block.line, block.code) for block in blocks] == [(6, "a = 1"), (10, "assert a == 1")]
    assert docs.program(blocks).splitlines()[9] == "assert a == 1"


def test_block_that_never_ends_is_an_error() -> None:
    with pytest.raises(Failure, match="line 1 is never closed"):
        docs.examples("```python run\na = 1\n")


SOURCE = '''"""Module."""


def documented(a: int, *, b: str = "x") -> float:
    """Adds."""


def bare() -> None: ...


def _private() -> None: ...


class Thing(Base):
    """A thing."""

    @property
    def size(self) -> int:
        """Its size."""

    @size.setter
    def size(self, value: int) -> None: ...

    async def wait(self) -> None:
        """Waits."""
'''


def test_api_reference_lists_public_names_and_counts_bare_ones(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""Package."""\n__all__ = ["documented"]\n')
    (tmp_path / "things.py").write_text(SOURCE)
    (tmp_path / "_hidden.py").write_text("def f(): ...\n")
    modules = api_reference.read_package(tmp_path, "pkg")
    text = api_reference.render(modules, api_reference.exported_names(tmp_path / "__init__.py"))
    assert "def documented(a: int, *, b: str='x') -> float" in text
    assert "- [`documented`](#pkgthings)" in text
    assert "async def wait(self) -> None" in text
    assert "_private" not in text
    documented, total, bare = api_reference.coverage(modules)
    assert (documented, total) == (6, 7)
    assert bare == ["pkg.things.bare"]


def test_versions_that_stand_in_two_places_agree() -> None:
    pins = virtual_environment.pinned_versions((ROOT / "tools" / "x" / "requirements-dev.txt").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    for name in ("maturin", "ziglang"):
        assert f'"{name}=={pins[name]}"' in project


def bench_frame() -> ModuleType:
    specification = importlib.util.spec_from_file_location("bench_frame", ROOT / "tools" / "bench" / "frame.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["bench_frame"] = module
    specification.loader.exec_module(module)
    return module


def test_ratio_above_one_is_always_in_our_favour(capsys: pytest.CaptureFixture[str]) -> None:
    report = bench_frame().Report("name", "peer")
    report.add("time", "us", 2.0, 4.0)
    report.add("speed", "GFLOP/s", 50.0, 100.0, higher_is_better=True)
    report.add("alone", "us", 1.0, None)
    assert [row.ratio for row in report.rows] == [2.0, 0.5, None]
    assert "2.00" in capsys.readouterr().out


def test_record_of_a_benchmark_says_where_and_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = bench_frame()
    monkeypatch.setattr(frame, "ROOT", tmp_path)
    monkeypatch.setattr(frame, "RESULTS", tmp_path / "results")
    report = frame.Report("matmul", "peer")
    report.add("case", "us", 1.0, 2.0)
    record = json.loads(report.write().read_text())
    assert record["schema"] == frame.SCHEMA
    assert record["rows"][0]["ratio"] == 2.0
    assert {"processor", "cores", "commit"} <= set(record["machine"])
    assert record["command"].startswith("./x bench")


def test_names_exported_from_the_native_module_are_read_from_its_stub(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text(
        '"""Package."""\nfrom pkg._native import Array\n__all__ = ["Array", "math"]\n'
    )
    (tmp_path / "math.py").write_text('"""Math."""\n')
    (tmp_path / "_native.pyi").write_text(
        'class Array:\n    """Memory."""\n    def free(self) -> None: ...\nclass math: ...\nclass Hidden: ...\n'
    )
    modules = api_reference.read_package(tmp_path, "pkg")
    assert [member.name for member in modules[0].members] == ["Array"]
    assert api_reference.coverage(modules)[2] == ["pkg.Array.free"]
