"""agpu.h, its mirrors, and what the built libraries say of themselves."""

import re
import shutil
import subprocess
from pathlib import Path

import amdgpu
import pytest
from amdgpu import _native
from amdgpu._generated import constants
from amdgpu._generated.errors import BY_CODE

INCLUDE = Path(__file__).parents[2] / "crates" / "amdgpu-abi" / "include"


def layout_program():
    """A C program that prints the layout manifest as the C compiler sees the header."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "agpu.h"', "int main(void) {"]
    for row in constants.LAYOUT_MANIFEST.splitlines():
        name, _, *members = row.split()
        lines.append(f'  printf("{name} size=%zu", sizeof({name}));')
        for member in members:
            field = member.split("@")[0]
            lines.append(f'  printf(" {field}@%zu", offsetof({name}, {field}));')
        lines.append('  printf("\\n");')
    return "\n".join([*lines, "  return 0;", "}"])


@pytest.mark.parametrize("standard", ["c11", "c++17"])
def test_header_compiles_and_has_the_layout_of_the_manifest(standard, tmp_path):
    compiler = shutil.which("c++" if "++" in standard else "cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / ("layout.cpp" if "++" in standard else "layout.c")
    source.write_text(layout_program())
    program = tmp_path / "layout"
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", f"-std={standard}", f"-I{INCLUDE}"]
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    assert (
        subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout == constants.LAYOUT_MANIFEST
    )


def test_every_library_reports_the_layout_of_the_header():
    libraries = {library["name"]: library for library in _native.libraries()}
    assert set(libraries) == {"matrix", "neuro"}
    for library in libraries.values():
        assert library["is_ok"], library["reason"]
        assert library["layout_manifest"] == constants.LAYOUT_MANIFEST
        assert library["version"] == amdgpu.__version__


def test_every_error_code_has_one_python_class_with_its_builtin_and_hint():
    defined = dict(re.findall(r"#define (AGPU_ERROR_\w+) (\d+)", (INCLUDE / "agpu_errors.h").read_text()))
    assert {int(code) for code in defined.values()} == set(BY_CODE)
    for cls in BY_CODE.values():
        assert issubclass(cls, amdgpu.AmdgpuError)
        assert cls.__mro__[2] is not Exception, f"{cls.__name__} has no builtin base"
        # A hint says what to do, or is absent; one that fits every error helps nobody.
        assert "names the argument" not in cls.hint
        assert cls.name


def test_errors_are_picklable_and_carry_their_facts():
    import pickle

    error = amdgpu.errors.ShapeMismatchError("3 is not 4", language="zig")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.args, copy.language, copy.code) == (type(error), error.args, "zig", 102)
    assert "3 is not 4" in str(copy)
    assert copy.hint in str(copy)
