"""Every command of README.md runs, in an environment that has what README says it needs and nothing else.

The environment is a fresh one of Python with this tree's package; of the libraries that the development environment has, it sees those that
the package and the named extras ask for. Commands that cannot be run here are listed with the reason and what stands for them.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

import pytest
from cli_harness import in_terminal
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DISTRIBUTION = "amdgpu-framework"
PATIENCE_SECONDS = 120
# What a line of a shell begins with in README.
PROGRAMS = ("./x", "amdgpu", "pip")
# Commands that are not run here: why, and which tests run what they do.
NOT_RUN = {
    "./x demo": "builds everything first, under the lock that `./x test` holds; `test_the_demo_runs` runs what it ends with",
    "./x test": "runs this very test",
    "pip install .": "downloads the tools of the build and compiles for minutes; tests/tools/test_x_build.py checks the wheel's content",
    "pip install '.[server,top]'": "downloads; the environments of this module have what the extras ask for",
}


def commands():
    """Every command that README gives, in a fence without a language or in a line of text."""
    fences = re.findall(r"^```(?:sh|bash)?\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    lines = [line.partition("#")[0].strip() for fence in fences for line in fence.splitlines()]
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.DOTALL | re.MULTILINE)
    inline = re.findall(r"`([^`]+)`", prose)
    return {text for text in [*lines, *inline] if text.partition(" ")[0] in PROGRAMS and " " in text}


def needed(name, extras=(), seen=None):
    """Distributions that one asks for, itself not among them, with those that they ask for."""
    seen = set() if seen is None else seen
    for text in importlib.metadata.requires(name) or []:
        requirement = Requirement(text)
        applies = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if not applies or requirement.name in seen:
            continue
        if requirement.name != DISTRIBUTION:
            seen.add(requirement.name)
        needed(requirement.name, requirement.extras, seen)
    return seen


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Makes environments by their extras; returns the folder of their programs."""
    made = {}

    def make(*extras):
        if extras in made:
            return made[extras]
        folder = tmp_path_factory.mktemp("bare")
        libraries = folder / "libraries"
        libraries.mkdir()
        for name in needed(DISTRIBUTION, extras):
            found = importlib.metadata.distribution(name)
            for top in {file.parts[0] for file in found.files or [] if file.parts[0] != ".."}:
                link = libraries / top
                if not link.exists():
                    link.symlink_to(Path(found.locate_file(top)))
        venv.create(folder / "venv", symlinks=True)
        programs = folder / "venv" / "bin"
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (site / "tree.pth").write_text(f"{libraries}\n{ROOT / 'python'}\n")
        (programs / "amdgpu").write_text(
            f"#!{programs / 'python'}\nimport sys\nfrom amdgpu.cli import main\nsys.exit(main())\n"
        )
        (programs / "amdgpu").chmod(0o755)
        made[extras] = programs
        return programs

    return make


def environment(programs, tmp_path):
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "AMDGPU_CACHE_DIR": str(tmp_path / "cache"),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "LANG": "C.UTF-8",
    }


def test_every_command_is_run_or_says_why_not():
    run = {"amdgpu serve", "amdgpu top", "./x doctor"}
    assert commands() == run | NOT_RUN.keys()
    for reason in NOT_RUN.values():
        for file in re.findall(r"tests/\w+/\w+\.py", reason):
            assert (ROOT / file).exists()


def test_the_extras_that_readme_names_exist():
    named = {extra for group in re.findall(r"'\.\[([\w,]+)\]'", README) for extra in group.split(",")}
    known = set(importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra"))
    assert {"server", "top"} <= named <= known
    assert "all" in known


def test_the_environment_is_bare(bare, tmp_path):
    find = "from importlib.util import find_spec as f; print([n for n in ('starlette', 'textual', 'pytest') if f(n)])"
    for extras, found in (((), "[]"), (("server",), "['starlette']"), (("top",), "['textual']")):
        programs = bare(*extras)
        command = [programs / "python", "-c", find]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(programs, tmp_path))
        assert done.stdout.strip() == found


def test_the_first_example_needs_no_extra(bare, tmp_path):
    example = re.search(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert example is not None
    programs = bare()
    subprocess.run(
        [programs / "python", "-c", example.group(1)], check=True, cwd=tmp_path, env=environment(programs, tmp_path)
    )


def test_serve_gives_an_address_that_answers(bare, tmp_path):
    programs = bare("server")
    with subprocess.Popen(
        ["amdgpu", "serve", "--port", "0"],
        executable=programs / "amdgpu",
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(programs, tmp_path),
    ) as process:
        try:
            first = process.stdout.readline()
            address = re.search(r"http://\S+", first)
            assert address is not None, first
            with urllib.request.urlopen(address.group(), timeout=PATIENCE_SECONDS) as answer:
                assert b"amdgpu" in answer.read()
            base, _, token = address.group().partition("?")
            with urllib.request.urlopen(f"{base}api/v1/health?{token}", timeout=PATIENCE_SECONDS) as answer:
                assert json.load(answer)["schema"] == "amdgpu.server_health/1"
        finally:
            process.terminate()


def test_top_draws_in_a_terminal(bare, tmp_path):
    programs = bare("top")
    code, drawn = in_terminal([programs / "amdgpu", "top"], b"q", "quit", environment(programs, tmp_path))
    assert code == 0, drawn
    assert "Traceback" not in drawn


@pytest.mark.parametrize(("command", "extra"), [("serve", "server"), ("top", "top")])
def test_without_its_extra_a_command_says_what_to_install(bare, tmp_path, command, extra):
    programs = bare()
    if command == "top":
        code, said = in_terminal([programs / "amdgpu", "top"], b"", "\0", environment(programs, tmp_path))
    else:
        done = subprocess.run(
            [programs / "amdgpu", command],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            env=environment(programs, tmp_path),
        )
        code, said = done.returncode, done.stderr
    assert code == 1
    assert f"amdgpu-framework[{extra}]" in said
    assert "Traceback" not in said


def test_the_demo_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE_SECONDS,
        cwd=ROOT,
        env=os.environ | {"AMDGPU_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    took_part = next(line for line in done.stdout.splitlines() if "languages that took part" in line)
    assert {"python", "rust", "zig", "nim"} <= set(re.findall(r"\w+", took_part))


def test_the_doctor_answers(tmp_path):
    # With the Python that is there before anything is set up; what is missing is what it is for.
    done = subprocess.run(
        ["./x", "doctor"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        cwd=ROOT,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert done.returncode in (0, 1)
    assert "rust" in done.stdout.lower()
    assert "Traceback" not in done.stderr
