"""`python tools/generate [--check]`: write, or only compare, every file that is generated from a table or from agpu.h."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import dtypes
import emit_c
import emit_docs
import emit_grafana
import emit_interface
import emit_julia
import emit_nim
import emit_operations
import emit_packages
import emit_python
import emit_rust
import emit_tensorflow
import emit_torch
import emit_typescript
import emit_zig
import header
import operations
import tables

ROOT = Path(__file__).resolve().parents[2]
ABI = ROOT / "crates" / "amdgpu-abi"


def rustfmt(text: str) -> str:
    """The text as rustfmt lays it out, so that the generated file passes `cargo fmt --check`."""
    if shutil.which("rustfmt") is None:
        raise SystemExit("rustfmt is missing: rustup component add rustfmt")
    command = ["rustfmt", "--edition", "2024", "--emit", "stdout"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def ruff_format(text: str) -> str:
    """The text as ruff lays it out."""
    command = [sys.executable, "-m", "ruff", "format", "--config", "line-length=120", "--isolated", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def zig_format(text: str) -> str:
    """The text as `zig fmt` lays it out."""
    command = [sys.executable, "-m", "ziglang", "fmt", "--stdin"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def generate() -> dict[Path, str]:
    """Every generated file and its text."""
    dtype_table = dtypes.Dtypes(ABI / "dtypes.toml")
    operation_table = operations.Operations(ABI / "ops.toml")
    constants = emit_c.emit_tables(dtypes.emit_c(dtype_table), emit_operations.emit_c(operation_table))
    abi = header.parse(constants + (ABI / "include" / "agpu.h").read_text())
    errors = tables.load_errors(ABI / "errors.toml")
    metrics = tables.load_metrics(ABI / "metrics.toml")
    environment = tables.load_environment(ABI / "environment.toml")
    version = tables.load_version(ROOT / "Cargo.toml")
    rust, python, docs = ABI / "src" / "generated", ROOT / "python" / "amdgpu" / "_generated", ROOT / "docs"
    typescript = ROOT / "js" / "sdk" / "src" / "generated"
    interface = ROOT / "crates" / "amdgpu-capi"
    # errors.h has no functions and is generated itself.
    headers = {
        name: (interface / "include" / "amdgpu" / name).read_text()
        for name in (
            "runtime.h",
            "kernel.h",
            "array.h",
            "ops.h",
            "graph.h",
            "random.h",
            "network.h",
            "telemetry.h",
            "tuning.h",
            "raw.h",
            "rocm.h",
        )
    }
    return {
        ABI / "include" / "agpu_errors.h": emit_c.emit_errors(errors),
        ABI / "include" / "agpu_tables.h": constants,
        interface / "include" / "amdgpu" / "errors.h": emit_c.emit_errors(errors),
        interface / "packages" / "pkgconfig" / "amdgpu.pc": emit_packages.emit_pkg_config(version),
        interface / "packages" / "cmake" / "amdgpu-config-version.cmake": emit_packages.emit_cmake_version(version),
        rust / "layout.rs": rustfmt(emit_rust.emit_layout(abi, version)),
        rust / "dtypes.rs": rustfmt(dtypes.emit_rust(dtype_table)),
        rust / "ops.rs": rustfmt(emit_operations.emit_rust(operation_table)),
        rust / "errors.rs": rustfmt(emit_rust.emit_errors(errors)),
        rust / "metrics.rs": rustfmt(emit_rust.emit_metrics(metrics)),
        rust / "environment.rs": rustfmt(emit_rust.emit_environment(environment)),
        ROOT / "zig" / "src" / "abi.zig": zig_format(emit_zig.emit(abi, errors, version)),
        ROOT / "zig" / "src" / "operations.zig": zig_format(emit_operations.emit_zig(operation_table)),
        ROOT / "nim" / "src" / "network" / "activation_table.nim": emit_operations.emit_nim(operation_table),
        ROOT / "nim" / "src" / "agpu_abi.nim": emit_nim.emit(abi, errors, version),
        ROOT / "julia" / "src" / "abi.jl": emit_julia.emit(abi, errors, version),
        python / "__init__.py": f'"""Mirrors of the tables in amdgpu-abi. {emit_python.NOTE}"""\n',
        python / "dtypes.py": ruff_format(dtypes.emit_python(dtype_table)),
        python / "operations.py": ruff_format(emit_operations.emit_python(operation_table)),
        python / "errors.py": ruff_format(emit_python.emit_errors(errors)),
        python / "constants.py": ruff_format(emit_python.emit_constants(abi, version)),
        python / "metrics.py": ruff_format(emit_python.emit_metrics(metrics)),
        python / "environment.py": ruff_format(emit_python.emit_environment(environment)),
        typescript / "dtypes.ts": dtypes.emit_typescript(dtype_table),
        typescript / "errors.ts": emit_typescript.emit_errors(errors),
        typescript / "metrics.ts": emit_typescript.emit_metrics(metrics),
        typescript / "version.ts": emit_typescript.emit_version(version),
        docs / "c_api_functions.md": emit_interface.emit(headers),
        docs / "dtypes.md": dtypes.emit_docs(dtype_table),
        docs / "operations.md": emit_operations.emit_docs(operation_table),
        docs / "errors.md": emit_docs.emit_errors(errors),
        docs / "metrics.md": emit_docs.emit_metrics(metrics),
        docs / "grafana" / "amdgpu.json": emit_grafana.emit(metrics),
        docs / "environment.md": emit_docs.emit_environment(environment),
        docs / "pytorch_operators.md": emit_torch.emit_docs(
            ROOT / "integrations" / "torch" / "kernels" / "src" / "operators"
        ),
        docs / "tensorflow_kernels.md": emit_tensorflow.emit_docs(ROOT / "integrations" / "tensorflow" / "src"),
    }


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = []
    for path, text in generate().items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if check and stale:
        print("generated files are stale; run ./x generate:", *stale, sep="\n  ")
        return 1
    print(f"generated files: {len(stale)} written" if stale else "generated files: fresh")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
