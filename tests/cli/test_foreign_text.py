"""Names that others choose (command lines, files, kernels) reach a terminal as text: no escape sequence, no markup, no hidden order."""

import io
import json
import os
import subprocess
import sys
import unicodedata

import pytest
from amdgpu.cli import output
from amdgpu.cli.top.dialogs import TextScreen
from amdgpu.cli.top.panels import GraphPanel
from cli_harness import WATCHED_PROGRAM
from cli_harness import amdgpu as command
from hypothesis import given
from hypothesis import strategies as st

# Sets the terminal's title, clears the screen, turns the text round, and looks like Rich's and Textual's markup.
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egpj.exe\r[bold red]x[/bold red][link=file:///]y[/link][bold]z"
CONTROL = st.sampled_from("\x00\x07\x08\x0b\x1b\x7f\x85\x9b\x9d\u200b\u202e\u2066\u2028\ufeff\ud800")
FOREIGN = st.text(st.one_of(CONTROL, st.sampled_from("[]/\\\n\t µé界🙂ab"), st.characters()), max_size=40)


def has_controls(text):
    return any(unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for one in text if one not in "\n\t")


@given(FOREIGN)
def test_text_from_outside_has_no_controls_left(text):
    shown = output.plain(text)
    assert not has_controls(shown)
    assert not has_controls(output.plain(text, is_one_line=True))
    assert "\n" not in output.plain(text, is_one_line=True)
    if not has_controls(text):
        assert shown == text


@given(FOREIGN, FOREIGN)
def test_only_own_colours_are_escapes(painted, beside):
    drawn = io.StringIO()
    original, output.has_colour = output.has_colour, lambda: True
    try:
        output.say(output.paint(painted, "bold", "red") + beside, file=drawn)
    finally:
        output.has_colour = original
    assert drawn.getvalue() == f"\x1b[1;31m{output.plain(painted)}\x1b[0m{output.plain(beside)}\n"


@given(FOREIGN)
def test_json_keeps_the_text_and_shows_no_controls(text):
    shown = output.json_text("amdgpu.test/1", {"name": text, text: 1})
    assert not has_controls(shown)
    assert json.loads(shown) == {"schema": "amdgpu.test/1", "name": text} | {text: 1}


@given(FOREIGN, FOREIGN)
def test_tables_show_cells_as_they_are(title, cell):
    (header, line) = output.table_lines([("name", "left")], [[cell]])
    assert header == "name"
    assert line == output.plain(cell, is_one_line=True).rstrip()
    drawn = io.StringIO()
    before, sys.stdout = sys.stdout, drawn
    try:
        output.print_table(title.replace("\n", " ")[:20], [("name", "left")], [[cell[:20]]])
    finally:
        sys.stdout = before
    assert not has_controls(drawn.getvalue())


def test_doctor_shows_the_name_of_an_extra(capsys):
    output.print_table("Installation", [("what to do", "left")], [["pip install 'amdgpu-framework[top]'"]])
    assert "amdgpu-framework[top]" in capsys.readouterr().out


def test_the_live_view_takes_no_markup_from_names():
    screen = TextScreen(HOSTILE, HOSTILE, is_ascii=False)
    assert not has_controls(screen._title + screen._text)
    panel = GraphPanel(id="busy")
    panel.show(HOSTILE, HOSTILE, HOSTILE, [0.5])
    assert not has_controls(str(panel.border_title) + "".join(panel._lines))


@pytest.fixture
def hostile_program(tmp_path):
    """A program that uses amdgpu, with a command line that attacks terminals; its number."""
    script = tmp_path / "p.py"
    script.write_text(
        "import runpy, sys\nsys.argv[1:] = ['--seconds', '3000', '--parts', 'kernels']\n"
        f"runpy.run_path({str(WATCHED_PROGRAM)!r}, run_name='__main__')"
    )
    call = [sys.executable, str(script), HOSTILE]
    environment = os.environ | {"AMDGPU_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environment) as process:
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--json"],
        ["top", "--once"],
        ["top", "--once", "--json"],
        ["explain", "--pid", "PID", "--seconds", "0.2"],
        ["record", "--pid", "PID", "--seconds", "0.2", HOSTILE.replace("/", "") + ".agpurec"],
        ["top", "--pid", HOSTILE],
        ["net", HOSTILE],
        ["compile", HOSTILE],
        ["replay", HOSTILE],
        [HOSTILE],
    ],
)
def test_no_command_passes_a_foreign_escape_on(hostile_program, tmp_path, arguments):
    words = [str(hostile_program) if word == "PID" else word for word in arguments]
    done = command(*words, folder=tmp_path, COLUMNS="300")
    assert not has_controls(done.stdout), repr(done.stdout)
    assert not has_controls(done.stderr), repr(done.stderr)
    if arguments in ([], ["top", "--once"]):
        assert "[bold]z" in done.stdout


def test_a_program_with_a_hostile_command_line_gets_a_card_without_escapes(tmp_path):
    done = command("run", "--", sys.executable, "-c", "import amdgpu", HOSTILE, folder=tmp_path)
    assert not has_controls(done.stderr), repr(done.stderr)


def test_a_network_with_a_hostile_file_name_is_shown(tmp_path):
    path = tmp_path / (HOSTILE.replace("/", "") + ".net")
    path.write_text(
        "neuralNetwork a:\n  layer x(2, activation: identity)\n  layer y(1, activation: relu)\n  connect x -> y\n"
    )
    done = command("net", path, "--output", path.with_suffix(".npy"))
    assert not has_controls(done.stdout + done.stderr)
    assert "forward: 1 rows" in done.stdout
