"""Products of bfloat16 and bytes by the tile registers of AMX.

The instructions stand in the library on every machine; they run where the CPU has them.
"""

import platform
import time
from importlib import resources
from pathlib import Path

import amdgpu
import ml_dtypes
import numpy as np
import pytest

CPU_INFO = Path("/proc/cpuinfo")
TILE_FLAGS = {"amx_tile", "amx_bf16", "amx_int8"}


def missing_flags():
    flags = set()
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text().splitlines():
            if line.startswith("flags"):
                flags = set(line.split(":", 1)[1].split())
                break
    return TILE_FLAGS - flags


needs_tiles = pytest.mark.skipif(bool(missing_flags()), reason=f"this CPU has no {', '.join(sorted(missing_flags()))}")


def operand(rng, rows, columns, dtype):
    """Row-major or column-major, ragged."""
    values = rng.integers(-128, 128, (rows, columns)) if dtype == np.int8 else rng.standard_normal((rows, columns))
    array = values.astype(dtype)
    return array if rng.integers(2) else np.asfortranarray(array)


def encoding(opcode, prefix, sums, right, left):
    """Three-byte VEX (Intel SDM, volume 2): ModRM.reg is the sum, ModRM.r/m the first operand, VEX.vvvv the second."""
    return bytes([0xC4, 0xE2, (~left & 15) << 3 | prefix, opcode, 0xC0 | sums << 3 | right])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="AMX is an instruction set of x86-64")
@pytest.mark.parametrize(("opcode", "prefix"), [(0x5C, 2), (0x5E, 3)], ids=["tdpbf16ps", "tdpbssd"])
def test_the_library_holds_the_four_products_of_a_step(opcode, prefix):
    library = (resources.files("amdgpu") / "_lib" / "libagpu_matrix.so").read_bytes()
    for right in range(2):
        for left in range(2):
            assert encoding(opcode, prefix, 2 * right + left, 4 + right, 6 + left) in library


@needs_tiles
def test_products_of_bytes_are_exact(rng):
    for _ in range(60):
        m, n = rng.integers(1, 200, 2)
        k = rng.integers(1, 5000 if rng.integers(8) == 0 else 300)
        a, b = operand(rng, m, k, np.int8), operand(rng, k, n, np.int8)
        result = amdgpu.matrix_multiply(a, b, "cpu:0", precision="int8")
        np.testing.assert_array_equal(result, a.astype(np.int32) @ b.astype(np.int32))


@needs_tiles
def test_products_of_bfloat16_are_within_the_error_bound(rng):
    for _ in range(60):
        m, n = rng.integers(1, 200, 2)
        k = rng.integers(1, 5000 if rng.integers(8) == 0 else 300)
        a, b = operand(rng, m, k, np.float32), operand(rng, k, n, np.float32)
        result = amdgpu.matrix_multiply(a, b, "cpu:0", precision="bf16")
        exact_a, exact_b = (x.astype(ml_dtypes.bfloat16).astype(np.float64) for x in (a, b))
        # Higham, "Accuracy and Stability of Numerical Algorithms", 3.1, with single precision sums in any order.
        bound = (k + 2) * np.finfo(np.float32).eps * (np.abs(exact_a) @ np.abs(exact_b))
        assert (np.abs(result - exact_a @ exact_b) <= bound + 1e-35).all()


@needs_tiles
def test_results_in_bfloat16_are_exact_sums_rounded_once_at_every_edge(rng):
    for _ in range(60):
        m, n = rng.integers(1, 400, 2)
        k = rng.integers(1, 3000 if rng.integers(8) == 0 else 300)
        # Small whole numbers: every partial sum is exact, and most results have more digits than bfloat16.
        whole = [rng.integers(-15, 16, shape).astype(np.float32) for shape in ((m, k), (k, n))]
        a, b = (
            x.astype(ml_dtypes.bfloat16) if rng.integers(2) else np.asfortranarray(x.astype(ml_dtypes.bfloat16))
            for x in whole
        )
        result = amdgpu.matrix_multiply(a, b, "cpu:0", precision="bf16")
        assert result.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(result, (whole[0] @ whole[1]).astype(ml_dtypes.bfloat16))


@needs_tiles
def test_speed_beside_single_precision(rng, capsys):
    """Printed for the reader: nothing about time is asserted, only that what was timed is right."""
    size = 2048
    single = [rng.integers(-3, 4, (size, size)).astype(np.float32) for _ in range(2)]
    exact = single[0] @ single[1]
    for dtype, precision in ((np.float32, "fp32"), (ml_dtypes.bfloat16, "bf16"), (np.int8, "int8")):
        a, b = (x.astype(dtype) for x in single)
        best = np.inf
        for _ in range(8):
            begin = time.perf_counter()
            result = amdgpu.matrix_multiply(a, b, "cpu:0", precision=precision)
            best = min(best, time.perf_counter() - begin)
        expected = exact.astype(ml_dtypes.bfloat16).astype(np.float32) if dtype == ml_dtypes.bfloat16 else exact
        np.testing.assert_array_equal(result.astype(np.float32), expected)
        with capsys.disabled():
            print(f"\n{np.dtype(dtype).name} {size} cubed: {2 * size**3 / best / 1e12:.2f} Tops")


# Refuses `arch_prctl(ARCH_REQ_XCOMP_PERM, ...)` with EPERM and allows everything else (seccomp, classic BPF): what a sandbox may do.
REFUSE_PERMISSION = """
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
LOAD, EQUAL, RETURN, ALLOW, REFUSE = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050001
program = b"".join(struct.pack("HBBI", *step) for step in [
    (LOAD, 0, 0, 0), (EQUAL, 0, 3, 158),
    (LOAD, 0, 0, 16), (EQUAL, 0, 1, 0x1023),
    (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW),
])
steps = ctypes.create_string_buffer(program, len(program))
class Filter(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(program) // 8, ctypes.addressof(steps))), 0, 0) == 0
assert libc.syscall(158, 0x1023, 18) == -1
"""


@needs_tiles
def test_without_permission_for_the_registers_other_instructions_compute(run_python):
    done = run_python(
        REFUSE_PERMISSION + "import numpy as np, amdgpu\n"
        "rng = np.random.default_rng(1)\n"
        "a, b = (rng.integers(-128, 128, (300, 300)).astype(np.int8) for _ in range(2))\n"
        "exact = a.astype(np.int32) @ b.astype(np.int32)\n"
        "print((amdgpu.matrix_multiply(a, b, 'cpu:0', precision='int8') == exact).all())\n"
        "a, b = (rng.integers(-3, 4, (300, 300)).astype(np.float32) for _ in range(2))\n"
        "print((amdgpu.matrix_multiply(a, b, 'cpu:0', precision='bf16') == a @ b).all())\n"
    )
    assert done.stdout.split() == ["True", "True"]
