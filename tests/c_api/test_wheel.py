"""The wheel of the committed tree, built in a clean clone and installed where nothing else is: Python, C and C++ work from it alone.

A wheel is kept in `.x/wheels` under the commit that it was built from, so that the second run takes a minute.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import c_api_harness as harness
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * 3600)]

EXAMPLES = harness.ROOT / "examples" / "c_api"
EXPECTED = "2 * 10 + 1 = 21"


def ran(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints, in an environment without any of our settings; it must end with 0."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AMDGPU_", "PYTHON"))}
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None or not (harness.ROOT / ".git").exists():
        pytest.skip("the tree is no git repository")
    commit = ran(["git", "rev-parse", "HEAD"], harness.ROOT).strip()
    kept = harness.ROOT / ".x" / "wheels" / commit
    if not list(kept.glob("*.whl")):
        folder = tmp_path_factory.mktemp("wheel")
        ran(["git", "clone", "--quiet", harness.ROOT, folder / "clone"], folder)
        ran([sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "-w", folder / "made"], folder / "clone")
        kept.mkdir(parents=True, exist_ok=True)
        for made in (folder / "made").glob("*.whl"):
            shutil.copy2(made, kept)
    (found,) = kept.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("installed")
    ran([sys.executable, "-m", "venv", folder / "venv"], folder)
    python = folder / "venv" / "bin" / "python"
    ran([python, "-m", "pip", "install", "--quiet", wheel], folder)
    return python


@pytest.fixture(scope="module")
def libraries(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the installed library."""
    asked = "import amdgpu, pathlib; print(pathlib.Path(amdgpu.__file__).parent / '_lib')"
    found = Path(ran([python, "-c", asked], tmp_path_factory.mktemp("elsewhere")).strip())
    assert found.is_relative_to(python.parents[1])
    return found


def test_examples_of_the_readme_run(python: Path, tmp_path: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", (harness.ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(examples) >= 3
    program = tmp_path / "readme.py"
    program.write_text("\n".join(examples))
    ran([python, program], tmp_path)


def test_the_command_runs(python: Path, tmp_path: Path) -> None:
    assert "cpu:0" in ran([python.with_name("amdgpu"), "devices"], tmp_path)


@pytest.mark.parametrize("name", ["saxpy.c", "saxpy.cpp"])
def test_a_program_is_built_with_pkg_config(libraries: Path, name: str, tmp_path: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    search = f"PKG_CONFIG_PATH={libraries / 'pkgconfig'}"
    flags = ran(["env", search, "pkg-config", "--cflags", "--libs", "amdgpu"], tmp_path).split()
    assert str(libraries) in " ".join(flags)
    source = EXAMPLES / name
    standard = "-std=c++20" if source.suffix == ".cpp" else "-std=c11"
    program = tmp_path / "saxpy"
    ran([*harness.compiler_of(source), standard, source, *flags, "-o", program], tmp_path)
    assert ran([program], tmp_path).splitlines()[-1] == EXPECTED


@pytest.mark.parametrize("name", ["saxpy.c", "saxpy.cpp"])
def test_a_program_is_built_with_cmake(libraries: Path, name: str, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("CMake is not installed")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(example C CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
        "find_package(amdgpu 0.1 REQUIRED CONFIG)\n"
        f"add_executable(saxpy {EXAMPLES / name})\ntarget_link_libraries(saxpy amdgpu::amdgpu)\n"
    )
    ran(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Damdgpu_DIR={libraries / 'cmake'}"], tmp_path)
    ran(["cmake", "--build", tmp_path / "build"], tmp_path)
    assert ran([tmp_path / "build" / "saxpy"], tmp_path).splitlines()[-1] == EXPECTED
