"""`amdgpu compile`, run as a user would."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from amdgpu import _native, errors
from elf_file import RELOCATABLE, SHARED, ElfFile

KERNELS = Path(__file__).parents[1] / "kernels"
SCALED = "__global__ void scaled(float* x) { x[threadIdx.x] *= SCALE; }\n"


@pytest.fixture
def compile_files(tmp_path):
    """Runs the command in a folder of its own."""

    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "amdgpu", "compile", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            env=os.environ | environment,
        )

    return run


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_every_file_is_compiled_for_every_target(compile_files, tmp_path):
    files = [KERNELS / "saxpy.hip", KERNELS / "vector_add.hip"]
    done = compile_files(*files, "--target", "gfx1100,sm_90,x86_64", "-o", "new/folder")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert names(tmp_path / "new/folder") == {
        f"{file.stem}.{ending}" for file in files for ending in ("gfx1100.hsaco", "sm_90.ptx", "x86_64.o")
    }
    for file in files:
        path = tmp_path / "new/folder" / file.stem
        assert ElfFile(path.with_suffix(".gfx1100.hsaco").read_bytes()).file_type == SHARED
        assert ElfFile(path.with_suffix(".x86_64.o").read_bytes()).file_type == RELOCATABLE
        assert f".entry {file.stem}(" in path.with_suffix(".sm_90.ptx").read_text()
    assert len(done.stdout.splitlines()) == 6 + 2
    assert "VGPRs" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("kind", "endings", "words"),
    [
        ("ir", ("gfx1100.ir", "sm_90.ir", "x86_64.ir"), ("kernel", "kernel", "kernel")),
        ("llvm", ("gfx1100.ll", "sm_90.ll", "x86_64.ll"), ("amdgpu_kernel", "ptx_kernel", "define")),
        ("asm", ("gfx1100.s", "sm_90.ptx", "x86_64.s"), (".amdhsa_kernel saxpy", ".entry saxpy(", "saxpy:")),
    ],
)
def test_other_stages_are_text(compile_files, tmp_path, kind, endings, words):
    done = compile_files(KERNELS / "saxpy.hip", "--target", "gfx1100,sm_90,x86_64", "--emit", kind, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert names(tmp_path / "out") == {f"saxpy.{ending}" for ending in endings}
    for ending, word in zip(endings, words, strict=True):
        assert word in (tmp_path / "out" / f"saxpy.{ending}").read_text()


def test_macros_and_levels_reach_the_compiler(compile_files, tmp_path):
    (tmp_path / "scaled.hip").write_text(SCALED)
    done = compile_files("scaled.hip", "--target", "sm_90", "-D", "SCALE=3.0f", "-O", "none")
    assert done.returncode == 0, done.stderr
    plain = (tmp_path / "scaled.sm_90.ptx").read_text()
    assert "0f40400000" in plain
    done = compile_files("scaled.hip", "--target", "sm_90", "-DSCALE=5.0f", "-O", "max", "--fast-math")
    assert done.returncode == 0, done.stderr
    assert "0f40A00000" in (tmp_path / "scaled.sm_90.ptx").read_text()
    assert compile_files("scaled.hip", "--target", "sm_90").returncode == 1


def test_errors_of_one_file_leave_the_others(compile_files, tmp_path):
    (tmp_path / "bad.hip").write_text(
        "__global__ void k(float* p) { p[0] = q; }\n__global__ void j(float* p) { *p = r; }\n"
    )
    (tmp_path / "latin.hip").write_bytes(b"// \xe9\n")
    arguments = ("bad.hip", "latin.hip", "nowhere.hip", KERNELS / "saxpy.hip", "--target", "gfx1100,sm_90", "-o", "out")
    done = compile_files(*arguments)
    assert done.returncode == 1
    assert names(tmp_path / "out") == {"saxpy.gfx1100.hsaco", "saxpy.sm_90.ptx"}
    for words in (
        "bad.hip:1:38",
        "bad.hip:2:36",
        "latin.hip for sm_90: the file is not UTF-8 text (byte 3)",
        "nowhere.hip",
    ):
        assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "error" not in done.stdout
    answer = json.loads(compile_files(*arguments, "--json").stdout)
    assert answer["schema"] == "amdgpu.compile/1"
    assert set(answer) == {"schema", "seconds", "outputs", "errors"}
    assert [(error["file"], error["target"]) for error in answer["errors"]] == [
        (file, target) for file in ("bad.hip", "latin.hip", "nowhere.hip") for target in ("gfx1100", "sm_90")
    ]
    first = answer["outputs"][0]
    assert (first["target"], first["kernels"]) == ("gfx1100", ["saxpy"])
    assert first["bytes"] == (tmp_path / first["output"]).stat().st_size
    assert first["resources"][0]["wavefront_size"] == 32


@pytest.mark.parametrize("target", ["gfx9999", "sm_1", "pdp11", "gfx1100,vax"])
def test_unknown_targets_list_the_known_families(compile_files, tmp_path, target):
    done = compile_files(KERNELS / "saxpy.hip", "--target", target, "-o", "out")
    assert done.returncode == 2
    for words in (f"'{target.split(',')[-1]}'", "AMD gfx900", "NVIDIA sm_70", "CPU x86_64"):
        assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_targets_that_llvm_does_not_know_never_reach_it():
    # LLVM ends the process when it selects instructions for an AMD processor that it does not know.
    with pytest.raises(errors.InvalidArgumentError, match="gfx9999"):
        _native.compile_source("__global__ void k(int* p) { *p = 1; }", "gfx9999")


def test_places_that_cannot_be_written_are_named(compile_files, tmp_path):
    (tmp_path / "file").write_text("")
    done = compile_files(KERNELS / "saxpy.hip", "--target", "sm_90", "-o", "file/under")
    assert done.returncode == 1
    assert "file/under" in done.stderr
    (tmp_path / "out" / "saxpy.sm_90.ptx").mkdir(parents=True)
    done = compile_files(KERNELS / "saxpy.hip", "--target", "sm_90,gfx1100", "-o", "out")
    assert done.returncode == 1
    assert "saxpy.sm_90.ptx: cannot be written" in done.stderr
    assert names(tmp_path / "out") == {"saxpy.sm_90.ptx", "saxpy.gfx1100.hsaco"}
    assert "Traceback" not in done.stderr


def test_files_that_would_overwrite_each_other_are_refused(compile_files, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.hip").write_text(SCALED)
    done = compile_files("a/k.hip", "b/k.hip", "--target", "sm_90")
    assert done.returncode == 2
    assert "k.*" in done.stderr


@pytest.mark.parametrize(
    "arguments", [("--target", "sm_90"), ("x.hip",), ("x.hip", "--target", "sm_90", "--emit", "gif")]
)
def test_wrong_arguments_are_exit_code_two(compile_files, arguments):
    assert compile_files(*arguments).returncode == 2


def test_the_bar_is_on_the_terminal_and_results_stay_on_standard_output(tmp_path):
    """Standard error is a terminal, standard output is not."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "amdgpu", "compile", str(KERNELS / "saxpy.hip"), str(tmp_path / "none.hip")]
    with subprocess.Popen(
        [*command, "--target", "sm_90,gfx1100", "-o", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"},
    ) as process:
        os.close(theirs)
        shown = b""
        # A pseudo-terminal whose other side is closed gives an error on Linux.
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass
        assert process.stdout is not None
        printed = process.stdout.read()
    os.close(ours)
    assert process.returncode == 1
    assert b"4/4" in shown
    assert b"none.hip" in shown
    assert "saxpy.sm_90.ptx: saxpy" in printed
    assert "\x1b" not in printed


def test_native_compile_source_refuses_what_it_does_not_know():
    source = SCALED.replace("SCALE", "2.0f")
    for arguments, words in (
        ({"emit": "gif"}, "ir, llvm, asm, obj"),
        ({"optimization_level": "fast"}, "none, low, high, max"),
        ({"defines": [("1x", "")]}, "1x"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=words):
            _native.compile_source(source, "sm_90", **arguments)
    with pytest.raises(errors.InvalidTypeError, match="bytes"):
        _native.compile_source(source.encode(), "sm_90")


def test_native_compile_source_describes_kernels():
    unit = _native.compile_source(SCALED, "gfx942", name="scaled.hip", defines=[("SCALE", "2.0f")])
    assert unit["target"] == "gfx942"
    (kernel,) = unit["kernels"]
    assert (kernel["name"], kernel["source_line"], kernel["argument_buffer_bytes"]) == ("scaled", 1, 8)
    assert kernel["parameters"][0]["name"] == "x"
    (resources,) = unit["resources"]
    assert (resources["kernel"], resources["wavefront_size"], resources["lds_bytes"]) == ("scaled", 64, 0)


TEMPLATE = "template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }\n"


def test_instances_of_templates_are_compiled_by_name(compile_files, tmp_path):
    file = tmp_path / "scale.hip"
    file.write_text(TEMPLATE)
    done = compile_files(file, "--target", "gfx1100", "--name", "scale<float,4>", "--name", "scale<int, 2>")
    assert done.returncode == 0, done.stderr
    assert "scale<float, 4>, scale<int, 2>" in done.stdout
    unasked = compile_files(file, "--target", "gfx1100")
    assert unasked.returncode == 1
    assert "scale<T, N>" in unasked.stderr
    wrong = compile_files(file, "--target", "gfx1100", "--name", "scale<nothing>")
    assert wrong.returncode == 1
    assert wrong.stdout == ""
    assert "\n    scale<nothing>;\n" in wrong.stderr


def test_skipped_host_code_is_said_once_for_a_file(compile_files, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.cu").write_text("__global__ void k(int* p) { p[0] = 1; }\nint main() { return 0; }\n")
    done = compile_files(tmp_path / "one.cu", tmp_path / "two.cu", "--target", "gfx1100,sm_90")
    assert done.returncode == 0
    assert done.stderr.count("host code is skipped") == 2
    assert "one.cu:2:1: note" in done.stderr
    quiet = compile_files(tmp_path / "one.cu", "--target", "gfx1100", "--json")
    assert "note" not in quiet.stderr


def test_the_ir_is_written_before_and_after_each_pass(compile_files, tmp_path):
    done = compile_files(KERNELS / "saxpy.hip", "--target", "x86_64", "--dump-ir", "ir", "--disable-pass", "unrolling")
    assert done.returncode == 0, done.stderr
    files = sorted(names(tmp_path / "ir" / "saxpy"))
    assert files[0] == "00.start.ir"
    assert files[-1].endswith(".work-item-vectorization.ir")
    assert any(file.endswith(".register-pressure.ir") for file in files)
    assert not any(file.endswith(".unrolling.ir") for file in files)
    assert "@saxpy" in (tmp_path / "ir" / "saxpy" / files[0]).read_text()
    wrong = compile_files(KERNELS / "saxpy.hip", "--target", "x86_64", "--disable-pass", "sorcery")
    assert wrong.returncode == 1
    assert "dead-code" in wrong.stderr


def test_what_each_pass_did_is_part_of_the_answer(compile_files):
    done = compile_files(KERNELS / "tiled_gemm.hip", "--target", "gfx942", "--json")
    passes = {entry["name"]: entry for entry in json.loads(done.stdout)["outputs"][0]["passes"]}
    assert passes["unrolling"]["transformations"] == 1
    assert any("loop of 16 iterations" in finding["text"] for finding in passes["unrolling"]["findings"])
    assert sum(entry["estimated_gain"] for entry in passes.values()) > 0
    assert all(entry["runs"] >= 1 and entry["duration_ns"] >= 0 for entry in passes.values())


AMD_TARGETS = (
    "gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1151 gfx1200 gfx1201"
)
NVIDIA_TARGETS = "sm_70 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90"
CPU_TARGETS = "x86-64-v2 x86-64-v3 x86-64-v4 aarch64"
ALL_TARGETS = f"{AMD_TARGETS} {NVIDIA_TARGETS} {CPU_TARGETS}".split()


def test_a_set_of_kernels_compiles_for_every_target(compile_files, tmp_path):
    chosen = ["saxpy", "tiled_gemm", "block_reduction", "shared_histogram", "black_scholes"]
    files = [KERNELS / f"{name}.hip" for name in chosen]
    done = compile_files(*files, "--target", ",".join(ALL_TARGETS), "-O", "low", "-o", "all")
    assert done.returncode == 0, done.stderr
    written = names(tmp_path / "all")
    assert len(written) == len(files) * len(ALL_TARGETS)
    for target in ALL_TARGETS:
        ending = "hsaco" if target.startswith("gfx") else "ptx" if target.startswith("sm_") else "o"
        for name in chosen:
            data = (tmp_path / "all" / f"{name}.{target}.{ending}").read_bytes()
            if ending == "ptx":
                assert f".target {target}".encode() in data
                assert f".entry {name}(".encode() in data
            else:
                assert ElfFile(data).file_type == (SHARED if ending == "hsaco" else RELOCATABLE)
