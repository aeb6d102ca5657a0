"""Compiling the shim, loading it, and loading it together with torch."""

import os
import sys
from pathlib import Path

import pytest
import torch
from amdgpu.torch import compiling
from amdgpu.torch.build import main
from running import run

ATTEMPT = "try:\n    import amdgpu.torch\nexcept ImportError as error:\n    print(error)\nimport torch\nprint(torch.ones(2).sum().item())\n"


def test_the_command_says_where_the_shim_is(capsys):
    assert main([]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.exists()
    assert path == compiling.shim_path(compiling.installed_torch())
    assert torch.__version__ in path.parent.name
    assert main(["--path"]) == 0
    assert Path(capsys.readouterr().out.strip()) == path


def test_what_is_not_compiled_yet_is_told_with_the_command(tmp_path):
    done = run(ATTEMPT, AMDGPU_CACHE_DIR=str(tmp_path))
    assert f"not compiled for torch {torch.__version__} yet: run `python -m amdgpu.torch.build`" in done.stdout
    assert done.stdout.split()[-1] == "2.0"


def test_a_missing_compiler_is_told(tmp_path):
    for compiler, sentence in (("no-such-compiler", "no C++ compiler was found"), ("false", "does not know C++20")):
        done = run("amdgpu.torch.build", check=False, module=True, AMDGPU_CACHE_DIR=str(tmp_path), CXX=compiler)
        assert done.returncode == 1
        assert sentence in done.stderr
        assert "g++ 12" in done.stderr


def test_packages_that_are_run_as_modules_get_the_device(tmp_path):
    package = tmp_path / "trains"
    package.mkdir()
    (package / "__init__.py").write_text("import amdgpu.torch\n")
    (package / "main.py").write_text("import torch\nprint(torch.rdna.device_count())\n")
    folders = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert run("trains.main", module=True, PYTHONPATH=folders).stdout.strip() == "2"


@pytest.mark.parametrize(("version", "sentence"), [("2.9.1", "needs PyTorch 2.10 or newer; this is 2.9.1")])
def test_an_old_torch_is_told(version, sentence, monkeypatch):
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.raises(ImportError, match=sentence):
        compiling.installed_torch()


def test_versions_are_read():
    for text, minor in (
        ("2.15.0+cpu", (2, 15)),
        ("2.10.1", (2, 10)),
        ("2.16.0a0+git1", (2, 16)),
        ("2.14rc1", (2, 141)),
    ):
        assert compiling.Torch(text, Path()).minor()[0] == minor[0]
    assert compiling.Torch("2.15.0+cu132", Path()).minor() == (2, 15)


def test_a_damaged_shim_leaves_torch_working(tmp_path):
    path = compiling.shim_path(compiling.installed_torch())
    damaged = tmp_path / "torch" / path.parent.name / path.name
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"no library")
    done = run(ATTEMPT, AMDGPU_CACHE_DIR=str(tmp_path))
    assert "cannot be loaded" in done.stdout
    assert "python -m amdgpu.torch.build --force" in done.stdout
    assert done.stdout.split()[-1] == "2.0"


def test_another_device_in_the_place_of_rdna_is_told():
    done = run(
        "import torch\ntorch.utils.rename_privateuse1_backend('other')\n"
        "try:\n    import amdgpu.torch\nexcept RuntimeError as error:\n    print(error)\n"
    )
    assert "'other' has taken it in this process" in done.stdout


@pytest.fixture
def entry_point(tmp_path):
    """A folder as pip leaves it: the entry point that the package declares."""
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    lines = [f"{name} = {value}" for name, value in project["entry-points"]["torch.backends"].items()]
    folder = tmp_path / "amdgpu_framework-0.1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("\n".join(["[torch.backends]", *lines]) + "\n")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: amdgpu-framework\nVersion: 0.1.0\n")
    return os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])


SEEN = "import sys, torch\nprint(hasattr(torch, 'rdna'), 'amdgpu' in sys.modules, torch.ones(2).sum().item())\n"


def test_torch_loads_the_device_where_it_is_asked_to(entry_point):
    wanted = {"PYTHONPATH": entry_point, "TORCH_DEVICE_BACKEND_AUTOLOAD": None}
    assert run(SEEN, AMDGPU_TORCH_AUTOLOAD="1", **wanted).stdout.split() == ["True", "True", "2.0"]
    assert run(SEEN, AMDGPU_TORCH_AUTOLOAD=None, **wanted).stdout.split() == ["False", "False", "2.0"]
    assert run(SEEN, AMDGPU_TORCH_AUTOLOAD="0", **wanted).stdout.split() == ["False", "False", "2.0"]
    off = {**wanted, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    assert run(SEEN, AMDGPU_TORCH_AUTOLOAD="1", **off).stdout.split() == ["False", "False", "2.0"]


def test_a_device_that_cannot_be_loaded_leaves_torch_with_one_warning(entry_point, tmp_path):
    wanted = {"PYTHONPATH": entry_point, "TORCH_DEVICE_BACKEND_AUTOLOAD": None, "AMDGPU_TORCH_AUTOLOAD": "1"}
    done = run(SEEN, AMDGPU_CACHE_DIR=str(tmp_path), **wanted)
    assert done.stdout.split()[0::2] == ["False", "2.0"]
    assert done.stderr.count("the PyTorch device rdna cannot be loaded") == 1
    strict = run(SEEN, AMDGPU_CACHE_DIR=str(tmp_path), PYTHONWARNINGS="error::UserWarning", **wanted)
    assert strict.stdout.split()[-1] == "2.0"


def test_the_shim_depends_on_one_copy_of_the_core():
    path = compiling.shim_path(compiling.installed_torch())
    mapped = Path("/proc/self/maps").read_text()
    assert str(path) in mapped
    copies = {line.split()[-1] for line in mapped.splitlines() if line.endswith("libamdgpu.so")}
    assert len(copies) == 1
    assert torch.__version__ == sys.modules[compiling.MODULE].TORCH_VERSION
