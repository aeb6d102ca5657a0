"""Rule: Python modules import downwards, and not in circles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import python_arrows
from tidy.tests.tidy_samples import found, tree_of

BASE = {
    "python/amdgpu/__init__.py": "from amdgpu import dispatch, errors\nfrom amdgpu.device import open_device\n",
    "python/amdgpu/errors.py": "from amdgpu._generated.errors import AmdgpuError\n",
    "python/amdgpu/_generated/__init__.py": "",
    "python/amdgpu/_generated/errors.py": "class AmdgpuError(Exception): ...\n",
    "python/amdgpu/dispatch.py": "from amdgpu import _native\nfrom amdgpu.errors import AmdgpuError\n",
    "python/amdgpu/device.py": "from amdgpu import _native, dispatch\nimport numpy\n",
    "python/amdgpu/cli/__init__.py": "from amdgpu.cli.main import main\n",
    "python/amdgpu/cli/main.py": "import amdgpu\nfrom amdgpu import device\n",
    "python/amdgpu/__main__.py": "from amdgpu.cli import main\n",
}


def test_downward_imports_pass(tmp_path: Path) -> None:
    assert found(python_arrows.check, tmp_path, BASE) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("_generated/errors.py", "from amdgpu.errors import x"),
        ("errors.py", "from amdgpu import device"),
        ("dispatch.py", "from amdgpu.device import open_device"),
        ("dispatch.py", "import amdgpu.device"),
        ("dispatch.py", "from . import device"),
        ("dispatch.py", "def f():\n    from .device import open_device"),
        ("device.py", "import amdgpu"),
        ("device.py", "from amdgpu import open_device"),
        ("device.py", "from amdgpu.cli import main"),
        ("device.py", "def f():\n    import amdgpu.cli.main"),
        ("__init__.py", "from amdgpu import cli"),
        ("codegen/llvm.py", "from ..dispatch import x"),
    ],
)
def test_an_upward_import_is_found(tmp_path: Path, path: str, source: str) -> None:
    name = f"python/amdgpu/{path}"
    line = source.count("\n") + 1
    findings = found(python_arrows.check, tmp_path, {**BASE, name: source + "\n"})
    # Most of these also close a circle, which is the other rule's to say.
    assert [each for each in findings if each.endswith(python_arrows.RULE)] == [f"{name}:{line} python-arrows"]


def test_names_for_annotations_are_not_imports(tmp_path: Path) -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from amdgpu.cli import main\n"
    assert found(python_arrows.check, tmp_path, {**BASE, "python/amdgpu/device.py": source}) == []


def test_a_circle_while_loading_is_found_once(tmp_path: Path) -> None:
    files = {
        **BASE,
        "python/amdgpu/a.py": "import os\nfrom amdgpu.b import x\n",
        "python/amdgpu/b.py": "from amdgpu import c\n",
        "python/amdgpu/c.py": "import amdgpu.a\n",
    }
    (finding,) = python_arrows.check(tree_of(tmp_path, files))
    assert finding.rule == python_arrows.CIRCLE
    assert (finding.path, finding.line) == ("python/amdgpu/a.py", 2)
    assert "a -> b -> c -> a" in finding.message


def test_a_circle_through_a_function_is_none(tmp_path: Path) -> None:
    files = {
        **BASE,
        "python/amdgpu/a.py": "from amdgpu.b import x\n",
        "python/amdgpu/b.py": "def f():\n    from amdgpu import a\n",
    }
    assert found(python_arrows.check, tmp_path, files) == []


def test_a_module_that_cannot_be_parsed_is_found(tmp_path: Path) -> None:
    files = {**BASE, "python/amdgpu/device.py": "def f(:\n"}
    assert found(python_arrows.check, tmp_path, files) == ["python/amdgpu/device.py:1 python-arrows"]
