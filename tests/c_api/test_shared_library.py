"""libamdgpu.so is in a process once, whoever loads it first: Python, a C program, ctypes."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import c_api_harness
import pytest

# How many files of the name libamdgpu.so are mapped.
MAPPED = "len({line.split()[-1] for line in open('/proc/self/maps') if line.rstrip().endswith('libamdgpu.so')})"
MULTIPLY = "import amdgpu, numpy; a = numpy.eye(3, dtype='f4'); assert (amdgpu.matrix_multiply(a, a) == a).all()"
LOAD = "import ctypes; library = ctypes.CDLL({path!r}); library.agpu_version.restype = ctypes.c_char_p"


def python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=c_api_harness.environment({"PYTHONPATH": str(c_api_harness.ROOT / "python")}),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["python", "ctypes"])
def test_one_library_is_loaded_in_either_order(first: str) -> None:
    steps = [MULTIPLY, LOAD.format(path=str(c_api_harness.LIBRARY))]
    if first == "ctypes":
        steps.reverse()
    program = "\n".join([*steps, "assert library.agpu_version().decode() == amdgpu.__version__", f"print({MAPPED})"])
    assert python(program) == "1"


def test_a_copy_that_is_loaded_already_is_used(tmp_path: Path) -> None:
    """As where a program was linked with a library that is installed in another place."""
    for name in ("libamdgpu.so", "libagpu_matrix.so"):
        (tmp_path / name).write_bytes((c_api_harness.LIBRARIES / name).read_bytes())
    program = "\n".join([LOAD.format(path=str(tmp_path / "libamdgpu.so")), MULTIPLY, f"print({MAPPED})"])
    assert python(program) == "1"


def test_programs_without_python_load_the_library(tmp_path: Path) -> None:
    import amdgpu

    assert c_api_harness.run(c_api_harness.build("without_python.c", tmp_path)).strip() == amdgpu.__version__


def test_python_may_come_after_the_library(tmp_path: Path) -> None:
    libpython = Path(sysconfig.get_config_var("LIBDIR")) / str(sysconfig.get_config_var("LDLIBRARY"))
    if libpython.suffix != ".so":
        pytest.skip(f"this Python has no shared libpython ({libpython.name})")
    program = c_api_harness.build("python_later.c", tmp_path)
    paths = [str(c_api_harness.ROOT / "python"), *(path for path in sys.path if path.endswith("site-packages"))]
    code = f"import sys; sys.path[:0] = {paths!r}; {MULTIPLY}; print({MAPPED}, flush=True)"
    printed = c_api_harness.run(program, [str(libpython), code])
    assert printed.split()[-1] == "1"


SHARED = """
import ctypes, amdgpu
library = ctypes.CDLL({path!r})
NAMES = "size allocations bytes peak reserved reserved_peak total hits misses out_of_memory"
class Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in NAMES.split()]
def statistics():
    found = Statistics(ctypes.sizeof(Statistics))
    assert library.agpu_device_memory_statistics(device, 0, ctypes.byref(found)) == 0
    return found
device, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert library.agpu_device_open(b"cpu", None, ctypes.byref(device)) == 0
ours = amdgpu.initialize_device("cpu:0")
before = statistics()
assert before.bytes == ours.memory_stats()["allocated_bytes.all.current"]
array = amdgpu.allocate_memory("cpu:0", 1 << 20)
assert statistics().bytes == before.bytes + (1 << 20)
assert library.agpu_memory_allocate(device, ctypes.c_uint64(1 << 22), None, ctypes.byref(memory)) == 0
assert ours.memory_stats()["allocated_bytes.all.current"] == before.bytes + (1 << 20) + (1 << 22)
assert library.agpu_release(memory) == 0
reserved = ours.memory_stats()["reserved_bytes.all.current"]
again = amdgpu.allocate_memory("cpu:0", 1 << 22)
assert ours.memory_stats()["reserved_bytes.all.current"] == reserved, "memory that C gave back is handed to Python"
print("shared")
"""


def test_python_and_c_share_a_device_and_its_allocator() -> None:
    assert python(SHARED.format(path=str(c_api_harness.LIBRARY))) == "shared"
