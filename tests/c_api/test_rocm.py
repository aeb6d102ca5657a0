"""The C++ layer of ROCm's interface: compilers, standards, ROCm's headers, an AMD GPU that a driver stands in for, threads, the example."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import c_api_harness as harness
import pytest
from rocm_layer import STRICT

# The newest that is installed; that of the machine where there is no other.
CLANGS = [f"clang++-{version}" for version in range(25, 14, -1)] + ["clang++"]
FAKE_DRIVER = harness.ROOT / "tests" / "ops" / "fakes" / "driver.c"


def compiler(kind: str) -> str:
    found = next((name for name in (["g++"] if kind == "g++" else CLANGS) if shutil.which(name)), None)
    if found is None:
        pytest.skip(f"{kind} is not installed")
    return found


def compile_program(source: Path, folder: Path, command: Sequence[str], *libraries: str) -> Path:
    program = folder / source.stem
    link = [f"-L{harness.LIBRARIES}", "-lamdgpu", f"-Wl,-rpath,{harness.LIBRARIES}", *libraries]
    whole = [*command, *STRICT, f"-I{harness.HEADERS}", str(source), "-o", str(program), *link]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("kind", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_layer_has_no_warnings(kind: str, standard: str, tmp_path: Path) -> None:
    program = compile_program(harness.SOURCES / "rocm.cpp", tmp_path, [compiler(kind), f"-std={standard}"])
    assert harness.run(program).strip() == "ok"


@pytest.mark.parametrize("kind", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_layer_with_the_headers_of_hip(kind: str, standard: str, tmp_path: Path) -> None:
    """Those of the machine: streams and errors are HIP's own types."""
    command = [compiler(kind), f"-std={standard}"]
    probe = tmp_path / "probe.cpp"
    probe.write_text("#if !__has_include(<hip/hip_runtime_api.h>)\n#error absent\n#endif\n")
    if subprocess.run([*command, "-fsyntax-only", str(probe)], capture_output=True, check=False).returncode != 0:
        pytest.skip("the headers of HIP are not installed (Debian: libamdhip64-dev)")
    program = compile_program(harness.SOURCES / "rocm.cpp", tmp_path, [*command, "-DWITH_ROCM_HEADERS"], "-lamdhip64")
    assert harness.run(program).strip() == "ok"


@pytest.mark.parametrize("header", ["rocblas/rocblas.h", "miopen/miopen.h"])
def test_the_layer_with_the_headers_of_the_libraries(header: str, tmp_path: Path) -> None:
    source = tmp_path / "headers.cpp"
    source.write_text(f"#if !__has_include(<{header}>)\n#error absent\n#endif\n")
    command = [compiler("g++"), "-std=c++17", "-fsyntax-only"]
    if subprocess.run([*command, str(source)], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{header} is not installed")
    source.write_text("#define WITH_ROCM_HEADERS\n" + (harness.SOURCES / "rocm.cpp").read_text())
    subprocess.run([*command, *STRICT, f"-I{harness.HEADERS}", str(source)], check=True)


def test_both_layers_of_cpp_in_one_file(tmp_path: Path) -> None:
    source = tmp_path / "both.cpp"
    source.write_text(
        "#define AMDGPU_ROCM_NO_HEADERS\n#include <amdgpu/rocm.hpp>\n#include <amdgpu/amdgpu.hpp>\n#include <amdgpu/rocm.hpp>\n"
        "int main() { return amdgpu::rocm::get_device_count() - pyflame::backend::rocm::get_device_count(); }\n"
    )
    harness.run(compile_program(source, tmp_path, [*harness.compiler_of(source), "-std=c++20"]))


@pytest.mark.parametrize(("name", "standard"), [("rocm_hip.cpp", "c++17"), ("pinned_of_gpu.c", "c11")])
def test_an_amd_gpu(tmp_path: Path, name: str, standard: str) -> None:
    """Memory and streams through a driver that stands in for HIP's."""
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DHIP", "-shared", "-fPIC"]
    library = tmp_path / "libamdhip64.so.7"
    subprocess.run([*harness.compiler_of(FAKE_DRIVER), *flags, "-o", str(library), str(FAKE_DRIVER)], check=True)
    source = harness.SOURCES / name
    program = compile_program(source, tmp_path, [*harness.compiler_of(source), f"-std={standard}"])
    assert harness.run(program, more={"LD_LIBRARY_PATH": str(tmp_path), "AMDGPU_DEVICES": "hip,cpu"}).strip() == "ok"


def test_example(tmp_path: Path) -> None:
    source = harness.ROOT / "examples" / "c_api" / "train_rocm.cpp"
    program = compile_program(source, tmp_path, [*harness.compiler_of(source), "-std=c++17"])
    printed = harness.run(program, more={"AMDGPU_ROCM_DEVICES": "cpu"}).splitlines()
    assert printed[0].startswith("step    0  loss")
    assert printed[-1] == "learned"
    assert len(source.read_text().splitlines()) <= 80


@pytest.mark.slow
def test_threads_under_the_thread_sanitizer(tmp_path: Path) -> None:
    """Of the headers: the library, which is not instrumented, is left out."""
    source = harness.SOURCES / "rocm_threads.cpp"
    program = compile_program(source, tmp_path, [compiler("g++"), "-std=c++17", "-g", "-fsanitize=thread"])
    assert (
        harness.run(program, more={"TSAN_OPTIONS": "ignore_noninstrumented_modules=1 halt_on_error=1"}).strip() == "ok"
    )
