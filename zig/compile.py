"""The one place that knows how the Zig sources become a library: which modules there are and for which CPU each is compiled.

    python zig/compile.py library OUTPUT [--machine x86_64|aarch64]
    python zig/compile.py test [--fast] [arguments for zig test]

`python` is an interpreter that has the `ziglang` package. One library serves every CPU of an architecture: each
kernel_<instruction set> and tensor_<instruction set> is a module with target features of its own, and the baseline code
chooses among them by CPUID.
A `build.zig` would say the same, but compiling Zig's build runner takes more than a minute in a fresh clone; this takes half of one.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "src"

# Module -> its source and CPU, per architecture (x86-64 psABI micro-architecture levels). Without `prefer_256_bit`, which x86_64_v4 sets,
# a store of 64 bytes is one instruction instead of three.
PRODUCTS, TENSORS, AMX = "product_routines.zig", "tensor_routines.zig", "kernel_amx.zig"
KERNELS = {
    "x86_64": {
        "kernel_generic": (PRODUCTS, "x86_64"),
        "kernel_avx2": (PRODUCTS, "x86_64_v3"),
        "kernel_avx512": (PRODUCTS, "x86_64_v4"),
        "kernel_avx512_dot": (PRODUCTS, "x86_64_v4+avx512vnni+avx512bf16-prefer_256_bit"),
        "kernel_amx": (AMX, "x86_64_v4+avx512vnni+avx512bf16+amx_tile+amx_bf16+amx_int8-prefer_256_bit"),
        "tensor_generic": (TENSORS, "x86_64"),
        "tensor_avx2": (TENSORS, "x86_64_v3"),
        "tensor_avx512": (TENSORS, "x86_64_v4-prefer_256_bit"),
    },
    "aarch64": {"kernel_generic": (PRODUCTS, "baseline"), "tensor_generic": (TENSORS, "baseline")},
}


def module_root(name: str, source: str) -> Path:
    """The source under the name of a module: a link to it, because to Zig a file belongs to one module only."""
    link = Path(os.environ.get("ZIG_LOCAL_CACHE_DIR") or ".zig-cache") / "modules" / f"{name}.zig"
    target = SOURCES / "matrix" / source
    if not (link.is_symlink() and link.readlink() == target):
        link.parent.mkdir(parents=True, exist_ok=True)
        # Another run may be making the same link.
        fresh = link.with_name(f"{name}.{os.getpid()}")
        fresh.symlink_to(target)
        fresh.replace(link)
    return link


def module_arguments(machine: str, optimize: str) -> list[str]:
    """Arguments that define the root module and every module under it. Settings count for the `-M` that follows them."""
    kernels = KERNELS[machine]
    settings = ["-target", f"{machine}-linux", "-O", optimize, "-fPIC"]
    if optimize == "fast":
        settings.append("-fstrip")
    baseline = f"-mcpu={kernels['kernel_generic'][1]}"
    arguments = ["--dep", "generic"]
    for name in kernels:
        arguments += ["--dep", name]
    arguments += [*settings, baseline, f"-Mroot={SOURCES / 'main.zig'}"]
    arguments += [*settings, baseline, f"-Mgeneric={SOURCES / 'matrix' / 'generic.zig'}"]
    for name, (source, cpu) in kernels.items():
        arguments += ["--dep", "generic", *settings, f"-mcpu={cpu}", f"-M{name}={module_root(name, source)}"]
    return arguments


def library_command(output: Path, *, machine: str = "") -> list[str]:
    """Compiles libagpu_matrix.so, optimised and stripped, to `output`."""
    return [
        *(sys.executable, "-m", "ziglang", "build-lib", "-dynamic", "--name", "agpu_matrix"),
        *("-fsoname=libagpu_matrix.so", f"-femit-bin={output}"),
        *module_arguments(machine or platform.machine(), "fast"),
    ]


def test_command(passed_on: list[str], *, optimize: str = "safe") -> list[str]:
    """Compiles and runs every test, with safety checks unless `optimize` is "fast"."""
    return [sys.executable, "-m", "ziglang", "test", *module_arguments(platform.machine(), optimize), *passed_on]


def main(arguments: list[str]) -> int:
    match arguments:
        case ["library", output]:
            command = library_command(Path(output))
        case ["library", output, "--machine", machine]:
            command = library_command(Path(output), machine=machine)
        case ["test", "--fast", *passed_on]:
            command = test_command(passed_on, optimize="fast")
        case ["test", *passed_on]:
            command = test_command(passed_on)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
