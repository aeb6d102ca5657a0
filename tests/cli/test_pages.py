"""Help, completion scripts and the manual page: each as it should be, and made from the parser that runs."""

import re
import shutil
import subprocess
import sys

import pytest
from amdgpu.cli.main import COMMANDS
from amdgpu.cli.pages import read
from amdgpu.cli.shell.completion import SHELLS
from cli_harness import amdgpu, check_golden, check_shape, document

pytest.importorskip("shtab", reason="shtab makes the completion scripts; ./x installs it")
from cli_pages.make import commands, parser, texts

needs_argparse_of_its_time = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="argparse writes options in another form from Python 3.13 on"
)


@pytest.mark.parametrize("name", [f"amdgpu.{shell}" for shell in SHELLS] + ["amdgpu.1"])
@needs_argparse_of_its_time
def test_pages_are_fresh(name):
    assert read(name) == texts()[name], "python tools/cli_pages writes them anew"


@needs_argparse_of_its_time
def test_help_is_as_it_should_be(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    whole = parser()
    parts = [whole.format_help(), *(command.format_help() for command in commands(whole).values())]
    check_golden("help.txt", "\n".join(parts))


def test_every_command_has_help_and_knows_its_words():
    listed = amdgpu("--help").stdout
    for name, (_, summary) in COMMANDS.items():
        assert re.search(rf"^ +{name}\b", listed, re.MULTILINE)
        assert not summary.endswith(".")
    done = amdgpu("trace", "--help")
    assert done.returncode == 0
    assert "--records" in done.stdout


def test_the_module_of_one_command_is_loaded_and_no_other():
    code = "import sys; from amdgpu.cli import main; main(['completion', 'bash']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert "amdgpu.cli.shell.completion" in loaded
    assert not {"amdgpu.cli.watch.run_command", "amdgpu.cli.compute.net", "rich", "numpy", "textual"} & set(loaded)


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_prints_the_script_that_the_shell_accepts(shell, tmp_path):
    done = amdgpu("completion", shell)
    assert done.returncode == 0
    assert done.stdout == read(f"amdgpu.{shell}")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(done.stdout)
    check = [shell, "--no-execute", file] if shell == "fish" else [shell, "-n", file]
    assert subprocess.run(check, capture_output=True, text=True, check=False).stderr == ""


def test_bash_completes_commands_and_options(tmp_path):
    script = tmp_path / "amdgpu.bash"
    script.write_text(read("amdgpu.bash"))

    def complete(*words):
        text = " ".join(f"'{word}'" for word in words)
        code = f"""source '{script}'
COMP_WORDS=({text}); COMP_CWORD={len(words) - 1}
$(complete -p amdgpu | sed 's/.*-F \\([^ ]*\\).*/\\1/') amdgpu '{words[-1]}' '{words[-2]}'
printf '%s\\n' "${{COMPREPLY[@]}}" """
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert complete("amdgpu", "ex") == {"explain"}
    assert complete("amdgpu", "") >= set(COMMANDS)
    assert complete("amdgpu", "trace", "--rec") == {"--records"}
    assert complete("amdgpu", "completion", "") >= set(SHELLS)


def test_the_manual_page_is_one_that_man_accepts():
    done = amdgpu("man")
    assert "\n.TH AMDGPU 1" in done.stdout
    for name in COMMANDS:
        assert f".SS amdgpu {name}\n" in done.stdout
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    shown = subprocess.run(
        ["groff", "-man", "-Tascii", "-ww"], input=done.stdout, capture_output=True, text=True, check=True
    )
    assert shown.stderr == ""
    # Bold is a letter printed twice.
    assert "AMDGPU_DEVICES" in re.sub(".\x08", "", shown.stdout)


def test_pages_are_in_the_json_as_well():
    check_shape("completion", document(amdgpu("completion", "zsh", "--json")))
    check_shape("man", document(amdgpu("man", "--json")))
