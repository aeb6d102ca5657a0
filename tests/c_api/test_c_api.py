"""The C interface: its programs in C, C++, Rust, Nim and Julia, its packages, and the same programs under sanitizers and Valgrind."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import c_api_harness as harness
import pytest

C_PROGRAMS = (
    "runtime.c",
    "kernel.c",
    "kernel_array.c",
    "array.c",
    "raw.c",
    "rocm.c",
    "ops_normalize.c",
    "ops_images.c",
    "ops_lines.c",
    "ops_segments.c",
    "ops_losses.c",
    "ops_movement.c",
    "ops_training.c",
    "ops_bad_input.c",
    "graph.c",
    "ops_threads.c",
    "random.c",
    "network.c",
    "training.c",
    "bad_input.c",
    "tuning.c",
)
CPP_PROGRAMS = (
    "whole.cpp",
    "training.cpp",
    "kernel_array.cpp",
    "ops_normalize.cpp",
    "ops_images.cpp",
    "ops_complex.cpp",
    "ops_lines.cpp",
    "ops_segments.cpp",
    "ops_losses.cpp",
    "ops_movement.cpp",
    "graph.cpp",
    "random.cpp",
    "rocm.cpp",
    "rocm_threads.cpp",
    "rocm_executor.cpp",
    "rocm_pools.cpp",
)
PROGRAMS = C_PROGRAMS + CPP_PROGRAMS
WITH_FOLDER = ("tuning.c", "rocm_pools.cpp")
EXAMPLES = harness.ROOT / "examples" / "c_api"
EXPECTED = "2 * 10 + 1 = 21"
HEADERS = sorted((harness.HEADERS / "amdgpu").glob("*.h"))
PROTOTYPE = re.compile(r"^(?:const char \*|uint32_t |bool |agpu_status )\*?(agpu_\w+)\(", re.MULTILINE)
INLINE = re.compile(r"^static inline \w+ (agpu_\w+)\(", re.MULTILINE)
# What the library asks of its Python, for a processor without AVX: Valgrind knows no AVX-512, and up to 3.19 it takes the comparison
# NEQ_OQ (`vcmpps` with 0x0c, which LLVM makes of `fabs(x) < INFINITY`) for NEQ_UQ, so that NaN counts as finite in kernels.
WITHOUT_AVX = """
import sys
sys.path[:0] = sys.argv[3:]
from amdgpu import codegen
from amdgpu.codegen import remote
codegen.host_target = lambda: ("x86_64-unknown-linux-gnu", "nehalem", "-avx")
remote.main()
"""


def functions() -> list[str]:
    return [name for header in HEADERS for name in PROTOTYPE.findall(header.read_text())]


def run(name: str, program: Path, folder: Path, **options: Any) -> str:
    """What a program prints; those that write files get a folder and keep what was measured there, not in the user's."""
    if name not in WITH_FOLDER:
        return harness.run(program, **options)
    options["more"] = {**options.get("more", {}), "AMDGPU_CACHE_DIR": str(folder / "cache")}
    return harness.run(program, [str(folder)], **options)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives a program by its name; each is built once for all tests that look at it."""

    @functools.cache
    def build(name: str) -> Path:
        return harness.build(name, tmp_path_factory.mktemp(name))

    return build


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    assert run(name, built(name), tmp_path).strip() == "ok"


def _called_by(programs: Sequence[Path]) -> set[str]:
    """The functions of the library that programs were linked with. Inline functions of amdgpu.hpp that nobody calls are not compiled."""
    called = set()
    for program in programs:
        listed = subprocess.run(
            ["nm", "-D", "--undefined-only", str(program)], capture_output=True, text=True, check=True
        )
        called |= {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
    return called


@pytest.mark.parametrize("programs", [C_PROGRAMS, CPP_PROGRAMS], ids=["c", "cpp"])
def test_every_function_is_called(programs: Sequence[str], built: Callable[[str], Path]) -> None:
    if shutil.which("nm") is None:
        pytest.skip("binutils are not installed")
    assert len(functions()) > 60
    assert not set(functions()) - _called_by([built(name) for name in programs])


def test_every_inline_function_is_called_from_c_and_from_cpp() -> None:
    inline = [name for header in HEADERS for name in INLINE.findall(header.read_text())]
    assert len(inline) == 8
    in_c = "".join((harness.SOURCES / name).read_text() for name in C_PROGRAMS)
    layer = "".join(header.read_text() for header in (harness.HEADERS / "amdgpu").glob("*.hpp"))
    for name in inline:
        assert f"{name}(" in in_c, f"{name} has no test in C"
        assert f"{name}(" in layer, f"{name} is not in amdgpu.hpp"


def test_the_page_of_functions_lists_all() -> None:
    page = (harness.ROOT / "docs" / "c_api_functions.md").read_text()
    inline = [name for header in HEADERS for name in INLINE.findall(header.read_text())]
    listed = re.findall(r"^\| `[^`(]*?(agpu_\w+)\(", page, re.MULTILINE)
    assert sorted(listed) == sorted(functions() + inline)


def test_every_program_is_run() -> None:
    """But for those that other tests build."""
    others = {
        "without_llvm.c",
        "without_python.c",
        "python_later.c",
        "pinned_of_gpu.c",
        "rocm_hip.cpp",
        "rocm_numpy.cpp",
    }
    sources = {path.name for path in harness.SOURCES.glob("*.c*") if path.suffix in (".c", ".cpp")}
    assert sources - others == set(PROGRAMS)


@pytest.mark.sampled(0.25)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_compiles_with_clang(name: str, tmp_path: Path) -> None:
    """As `ziglang` brings it: other warnings than those of GCC."""
    assert harness.build_object(name, tmp_path, compiler=harness.clang(harness.SOURCES / name)).is_file()


def test_the_library_exports_what_the_headers_declare_and_nothing_else() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("binutils are not installed")
    listed = subprocess.run(
        [nm, "-D", "--defined-only", str(harness.LIBRARY)], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in listed.stdout.splitlines() if line.split()[-2] == "T"}
    # The module's initialiser, and what the file calls that Python imports.
    assert exported - {"PyInit__native", "agpu_python_bind"} == set(functions())


def test_headers_can_be_used_beside_the_internal_one(tmp_path: Path) -> None:
    source = tmp_path / "both.c"
    includes = ["agpu.h", *(f"amdgpu/{header.name}" for header in HEADERS)]
    source.write_text("".join(f"#include <{name}>\n" for name in includes) + "int main(void) { return 0; }\n")
    internal = harness.ROOT / "crates" / "amdgpu-abi" / "include"
    folders = [f"-I{harness.HEADERS}", f"-I{internal}"]
    command = [*harness.compiler_of(source), "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", *folders]
    done = subprocess.run([*command, "-fsyntax-only", str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_llvm_the_message_says_what_to_do(tmp_path: Path) -> None:
    program = harness.build("without_llvm.c", tmp_path)
    missing = {"AMDGPU_PYTHON": "/nowhere/python", "AMDGPU_CACHE_DIR": str(tmp_path / "cache")}
    printed = harness.run(program, more=missing)
    assert "code-generator-missing" in printed
    assert "/nowhere/python" in printed
    assert "set AMDGPU_PYTHON to a Python that has the package amdgpu-framework" in printed
    # An interpreter that starts, without the package.
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'ModuleNotFoundError: No module named amdgpu' >&2\nexit 1\n")
    script.chmod(0o755)
    printed = harness.run(program, more={**missing, "AMDGPU_PYTHON": str(script)})
    assert "No module named amdgpu" in printed


def _run_example(command: Sequence[str], tmp_path: Path) -> str:
    more = {"AMDGPU_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        list(command), capture_output=True, text=True, check=False, cwd=tmp_path, env=harness.environment(more)
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("name", ["saxpy.c", "saxpy.cpp"])
def test_example_built_with_pkg_config(name: str, tmp_path: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    search = {**os.environ, "PKG_CONFIG_PATH": str(harness.LIBRARIES / "pkgconfig")}
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "amdgpu"], env=search, capture_output=True, text=True, check=True
    )
    source = EXAMPLES / name
    standard = "-std=c++20" if source.suffix == ".cpp" else "-std=c11"
    program = tmp_path / "saxpy"
    command = [*harness.compiler_of(source), standard, str(source), *flags.stdout.split(), "-o", str(program)]
    subprocess.run(command, check=True)
    assert _run_example([str(program)], tmp_path) == EXPECTED


def test_example_built_with_cmake(tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("CMake is not installed")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(example CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
        "find_package(amdgpu 0.1 REQUIRED CONFIG)\n"
        f"add_executable(saxpy {EXAMPLES / 'saxpy.cpp'})\ntarget_link_libraries(saxpy amdgpu::amdgpu)\n"
    )
    build = tmp_path / "build"
    package = harness.LIBRARIES / "cmake"
    for command in (
        ["cmake", "-S", str(tmp_path), "-B", str(build), f"-Damdgpu_DIR={package}"],
        ["cmake", "--build", str(build)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert _run_example([str(build / "saxpy")], tmp_path) == EXPECTED


def test_example_in_rust(tmp_path: Path) -> None:
    rustc = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))
    if rustc is None:
        pytest.skip("Rust is not installed")
    folder = str(harness.LIBRARIES)
    command = [rustc, "--edition", "2024", str(EXAMPLES / "saxpy.rs"), "-L", folder]
    subprocess.run([*command, "-C", f"link-arg=-Wl,-rpath,{folder}", "-o", str(tmp_path / "saxpy")], check=True)
    assert _run_example([str(tmp_path / "saxpy")], tmp_path) == EXPECTED


def test_example_in_nim(tmp_path: Path) -> None:
    if shutil.which("nim") is None:
        pytest.skip("Nim is not installed")
    folder = harness.LIBRARIES
    link = f"--passL:-L{folder} -lamdgpu -Wl,-rpath,{folder}"
    command = ["nim", "c", "--hints:off", f"--nimcache:{tmp_path / 'cache'}", link, f"-o:{tmp_path / 'saxpy'}"]
    subprocess.run([*command, str(EXAMPLES / "saxpy.nim")], check=True)
    assert _run_example([str(tmp_path / "saxpy")], tmp_path) == EXPECTED


def test_example_in_julia(tmp_path: Path) -> None:
    julia = os.environ.get("AMDGPU_JULIA") or shutil.which("julia")
    if julia in (None, "off"):
        pytest.skip("Julia is not installed")
    command = [str(julia), "--startup-file=no", str(EXAMPLES / "saxpy.jl"), str(harness.LIBRARIES)]
    assert _run_example(command, tmp_path) == EXPECTED


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_under_address_and_undefined_behaviour_sanitizers(name: str, tmp_path: Path) -> None:
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
    program = harness.build(name, tmp_path, *flags)
    assert run(name, program, tmp_path, more={"ASAN_OPTIONS": "detect_leaks=1"}).strip() == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rocm_pools.cpp"])
def test_program_with_threads_under_thread_sanitizer(name: str, tmp_path: Path) -> None:
    program = harness.build(name, tmp_path, "-fsanitize=thread")
    assert run(name, program, tmp_path, more={"TSAN_OPTIONS": "halt_on_error=1"}).strip() == "ok"


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("is_clang", [False, True], ids=["gcc", "clang"])
def test_pools_compile_as_older_cpp(standard: str, is_clang: bool, tmp_path: Path) -> None:
    """They have no use for what C++20 brought."""
    source = harness.SOURCES / "rocm_pools.cpp"
    compiler = harness.clang(source) if is_clang else harness.compiler_of(source)
    assert harness.build_object("rocm_pools.cpp", tmp_path, f"-std={standard}", compiler=compiler).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_under_valgrind(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!{sys.executable}\n{WITHOUT_AVX}")
    interpreter.chmod(0o755)
    more = {"AMDGPU_PYTHON": str(interpreter), "AMDGPU_CACHE_DIR": str(tmp_path / "cache")}
    known = harness.SOURCES / "valgrind.supp"
    prefix = ["valgrind", "--error-exitcode=9", "--quiet", "--trace-children=no", f"--suppressions={known}"]
    assert run(name, built(name), tmp_path, prefix=prefix, more=more).strip() == "ok"
