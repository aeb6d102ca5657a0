"""The GPU kernels of zig/src/kernels as code: what their assembly and metadata show. Nothing here runs on a GPU.

A few kernels of some architectures, drawn anew each time, are always built; the archives of all are looked at where `./x kernels` has made
them.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amdgpu
import pytest
from amdgpu import _native, errors, gpu_kernels
from x import cli, code_objects, kernels
from x.console import Console
from x.failure import Failure
from x.kernel_catalog import AMD, ARCHITECTURES, CDNA, Variant, matmuls, variants, wgmma
from x.paths import ROOT, STATE

# What a block may have: 64 KiB on AMD; NVIDIA after asking (CUDA C++ Programming Guide, technical specifications).
SHARED_LIMIT_BYTES = {"sm_80": 163 << 10, "sm_90": 227 << 10} | dict.fromkeys(AMD, 64 << 10)
SAMPLES = ("gfx90a", "gfx950", "gfx1100", "gfx1201", "gfx1030", "sm_80", "sm_90")


def expected_instruction(architecture: str, kernel: dict[str, Any]) -> str:
    """A pattern of the instruction that multiplies."""
    operand = kernel["operand"]
    if kernel["unit"] == "wgmma":
        kind = {"f16": "f32.f16.f16", "bf16": "f32.bf16.bf16", "tf32": "f32.tf32.tf32", "i8": "s32.s8.s8"}[operand]
        # matmul_wgmma_transposed.zig computes the other way round.
        columns = kernel["tile"][0 if (operand, kernel["layout"]) == ("tf32", "nn") else 1]
        return rf"wgmma\.mma_async\.sync\.aligned\.m64n{columns}k\d+\.{kind}"
    if kernel["unit"] == "mma" and operand == "f64":
        shape = "m8n8k4" if architecture == "sm_80" else f"m16n8k{kernel['depth']}"
        return rf"mma\.sync\.aligned\.{shape}\.row\.col\.f64\.f64\.f64\.f64"
    if kernel["unit"] == "mma":
        kind = {"f16": "f32.f16.f16", "bf16": "f32.bf16.bf16", "tf32": "f32.tf32.tf32", "i8": "s32.s8.s8"}[operand]
        return rf"mma\.sync\.aligned\.m16n8k\d+\.row\.col\.{kind}\.\w+"
    if kernel["unit"] == "wave" and architecture in CDNA:
        return {
            "f64": r"v_mfma_f64_16x16x4_?f64",
            "f32": r"v_mfma_f32_32x32x2_?f32",
            "f16": r"v_mfma_f32_32x32x(8|16)_?f16",
            "bf16": r"v_mfma_f32_32x32x(8|16)_?bf16(_1k)?",
            "i8": r"v_mfma_i32_32x32x(8|16|32)_?i8",
        }[operand]
    if kernel["unit"] == "wave":
        return {
            "f16": "v_wmma_f32_16x16x16_f16",
            "bf16": "v_wmma_f32_16x16x16_bf16",
            "i8": "v_wmma_i32_16x16x16_iu8",
        }[operand]
    if architecture.startswith("sm_"):
        return r"fma\.rn\.f32"
    return {
        "f64": r"v_fmac?_f64(_e\d+)?",
        "f16": r"v_dot2c?_f32_f16(_e\d+)?",
        "i8": r"v_dot4c?_i32_i8(_e\d+)?",
    }.get(operand, r"v_(dual_|pk_)?fmac?_f32(_e\d+)?")


def check(architecture: str, manifest: dict[str, Any]) -> None:
    assert manifest["architecture"] == architecture
    for kernel in manifest["kernels"]:
        name, counts = kernel["name"], kernel["instructions"]
        if kernel["kind"] in ("matmul", "convolution"):
            pattern = expected_instruction(architecture, kernel)
            assert [word for word in counts if re.fullmatch(pattern, word)], (name, counts)
        if kernel["kind"].startswith("attention"):
            numbers = rf"f32\.{kernel['number']}\.{kernel['number']}"
            products = [word for word in counts if re.fullmatch(rf"wgmma\.mma_async\S+\.m64n\d+k16\.{numbers}", word)]
            # Of queries and keys as many columns as a step has rows, of what is summed as many as a query has elements.
            columns = {int(re.search(r"m64n(\d+)", word)[1]) for word in products}
            assert columns == {kernel["tile"], kernel["size"]}, (name, counts)
        assert not [
            word for word in counts if word.startswith(("scratch_load", "scratch_store", "ld.local", "st.local"))
        ], name
        resources = kernel["resources"]
        assert resources["lds_bytes"] <= SHARED_LIMIT_BYTES[architecture], name
        if architecture in AMD:
            assert (resources["scratch_bytes"], resources["spills"]) == (0, 0), name
            assert resources["max_threads"] == kernel["threads"]
            assert resources["wave_size"] == (64 if architecture in CDNA else 32)
            assert 0 < resources["registers"] <= 512 if architecture in CDNA else 256
            assert resources["waves_per_simd"] >= 1
        if kernel.get("unit") == "wgmma":
            assert any(word.startswith("cp.async.bulk.tensor") for word in counts), name
        if (kernel.get("unit"), kernel.get("operand")) == ("mma", "f64"):
            assert any(word.startswith("cp.async") for word in counts), name


def samples(architecture: str) -> list[Variant]:
    """For every unit and number format of an architecture one kernel with all there is, and one for any alignment."""
    chosen: dict[tuple[Any, ...], Any] = {}
    for variant in matmuls(architecture):
        chosen.setdefault((variant.unit, variant.operand, variant.is_aligned), variant)
        if variant.epilogue == "gelu" and variant.layout == "nt":
            chosen.setdefault((variant.unit, variant.operand, "gelu"), variant)
    # Matrix units first: what they need of the tools is more than plain lanes do. float64 has generators of its own.
    products = sorted(chosen.values(), key=lambda variant: (variant.unit == "simt", variant.operand != "f64"))[:8]
    wanted = ("transpose_2_64", "pad_2")
    wanted += (
        "vector_bf16_bf16_k_aligned",
        "vector_i8_i32_outer_aligned",
        "vector_f64_f64_outer_any",
        "parts_f32_bf16",
    )
    wanted += (
        "attention_f16_64_128_2",
        "attention_masked_bf16_128_64_2",
        "attention_levels_bf16_128_128_2",
        "attention_by_queries_f16_128_64_2",
        "attention_by_keys_bf16_128_64_2",
    )
    others = [entry for entry in variants(architecture) if entry.name in wanted]
    others += [
        entry
        for entry in variants(architecture)
        if entry.kind == "convolution" and entry.name.startswith("convolution_bf16")
    ][:1]
    return [*products, *others]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds the archive of the samples of an architecture, and gives the folder of all that were.

    What was compiled for them is kept in the working tree under its sources' digest, as that of `./x kernels` is.
    """
    folder = tmp_path_factory.mktemp("archives") / "kernels"
    builder = kernels.Builder(ROOT, sys.executable, STATE / "test-kernels", folder)

    def made(architecture: str) -> Path:
        builder.build([architecture], lambda done, wanted, name: None, samples)
        return folder

    return made


def manifest_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
        names = set(archive.namelist())
    assert {kernel["code"] for kernel in manifest["kernels"]} <= names
    return manifest


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("architecture", SAMPLES)
def test_kernels_hold_the_instructions_of_their_architecture_and_no_private_memory(
    build: Callable[[str], Path], architecture: str
) -> None:
    check(architecture, manifest_of(build(architecture) / f"{architecture}.archive"))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_of_an_archive_that_was_built_does(architecture: str) -> None:
    path = ROOT / "python" / "amdgpu" / "_lib" / "kernels" / f"{architecture}.archive"
    if not path.exists():
        pytest.skip("./x kernels was not run")
    check(architecture, manifest_of(path))


def load_and_launch_code_objects() -> None:
    """Run in a process of its own, by the test below."""
    with amdgpu.initialize_device("null:gfx1100") as device:
        kernel = next(entry for entry in gpu_kernels.archived_kernels("gfx1100") if entry.unit == "wave")
        operands = [amdgpu.empty((64, 64), "bfloat16", device=device.name) for _ in range(2)]
        assert (kernel.operand, kernel.layout) == ("bf16", "nn")
        assert gpu_kernels.matmul(device, *operands, kernel=kernel).shape == (64, 64)
        assert gpu_kernels.transpose(device, operands[0].reshape(16, 256)).shape == (256, 16)
        column = amdgpu.empty((64, 1), "bfloat16", device=device.name)
        problem = gpu_kernels.Problem(64, 1, 64, 1, "bf16", "bf16", "nn", "", is_aligned=False)
        way = next(one for one in gpu_kernels.ways(device, problem) if one.is_vector)
        out = amdgpu.empty((64, 1), "bfloat16", device=device.name)
        launched = _native.MatmulCall(device, problem, operands[0], column, out, way=way.name)
        launched()
        images, filters = (
            amdgpu.empty(shape, "bfloat16", device=device.name) for shape in ((2, 9, 9, 8), (3, 3, 8, 16))
        )
        assert gpu_kernels.convolve(device, images, filters, stride=2, padding=1).shape == (2, 5, 5, 16)


def refuse_what_no_archived_kernel_computes() -> None:
    """Run in a process of its own, by the test below."""
    with amdgpu.initialize_device("null:gfx1100") as device:
        x, y, bias, images, filters = (
            amdgpu.empty(shape, "bfloat16", device=device.name)
            for shape in ((64, 64), (64, 32), (64,), (2, 9, 9, 8), (3, 3, 8, 16))
        )
        wide = amdgpu.empty((64, 64), "float64", device=device.name)
        for error, call in (
            (errors.ShapeMismatchError, lambda: gpu_kernels.transpose(device, bias)),
            (errors.ShapeMismatchError, lambda: gpu_kernels.convolve(device, x, filters)),
            (errors.ShapeMismatchError, lambda: gpu_kernels.convolve(device, images, filters, groups=2)),
            (errors.ShapeMismatchError, lambda: gpu_kernels.convolve(device, images, filters, dilation=5)),
            (errors.ShapeMismatchError, lambda: gpu_kernels.convolve(device, images, filters, bias=bias)),
            (errors.InvalidArgumentError, lambda: gpu_kernels.convolve(device, images, filters, stride=0)),
            (errors.InvalidArgumentError, lambda: gpu_kernels.convolve(device, images, filters, activation="relu")),
            (errors.InvalidArgumentError, lambda: gpu_kernels.convolve(device, images, filters, precision="fp64")),
            (errors.ShapeMismatchError, lambda: gpu_kernels.matmul(device, x, images)),
            (errors.ShapeMismatchError, lambda: gpu_kernels.matmul(device, y, y)),
            (errors.UnsupportedDtypeError, lambda: gpu_kernels.matmul(device, x, wide)),
            (errors.InvalidArgumentError, lambda: gpu_kernels.matmul(device, x, x, precision="tf32")),
            (errors.InvalidArgumentError, lambda: gpu_kernels.matmul(device, x, x, precision="fp32")),
            (errors.InvalidArgumentError, lambda: gpu_kernels.matmul(device, x, x, beta=1.0)),
            (errors.InvalidArgumentError, lambda: gpu_kernels.matmul(device, x, x, activation="relu")),
        ):
            with pytest.raises(error):
                call()


def test_a_second_build_compiles_nothing(build: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    built = build("gfx1100")
    builder = kernels.Builder(ROOT, sys.executable, STATE / "test-kernels", built)
    monkeypatch.setattr(builder, "_run", lambda *arguments: pytest.fail("compiled again"))
    before = {path: path.read_bytes() for path in built.iterdir()}
    builder.build(["gfx1100"], lambda done, wanted, name: None, samples)
    assert {path: path.read_bytes() for path in built.iterdir()} == before


def test_names_tell_variants_apart() -> None:
    for architecture in ARCHITECTURES:
        names = [variant.name for variant in variants(architecture)]
        assert len(names) == len(set(names))


def test_ptx_is_split_into_kernels_with_their_own_variables() -> None:
    kernel = "\t// .globl\t{0}\n.visible .entry {0}(\n\t.param .u64 {0}_param_0\n)\n{{\n\tret;\n\n}}\n"
    text = "// head\n.version 8.3\n\n" + kernel.format("a") + kernel.format("b")
    parts = kernels.split_ptx(text)
    assert list(parts) == ["a", "b"]
    assert all(part.startswith("// head\n.version 8.3") and part.count(".entry") == 1 for part in parts.values())


def test_directives_stand_between_parameters_and_body() -> None:
    variant = wgmma("bf16", "nn", (128, 256), 2, 4, cluster=2)
    text = ".extern .shared .align 1024 .u8 dynamic_shared;\n.visible .entry a(\n\t.param .u64 a_param_0\n)\n{\n\tret;\n}\n"
    changed = kernels.ptx_directives(text, variant)
    assert ".extern .shared .align 1024 .b8 dynamic_shared[];" in changed
    directives = changed[changed.index(")\n") + 2 : changed.index("{")].splitlines()
    assert directives == [".maxntid 384, 1, 1", ".minnctapersm 1", ".explicitcluster", ".reqnctapercluster 2, 1, 1"]


def test_attributes_of_amd_kernels_name_the_work_group_and_no_features() -> None:
    text = 'attributes #0 = { nounwind "target-cpu"="gfx1100" "target-features"="+a,-b" }\n'
    assert kernels.amd_attributes(text, 256) == (
        'attributes #0 = { "amdgpu-flat-work-group-size"="256,256" nounwind "target-cpu"="gfx1100" }\n'
    )


def test_the_command_refuses_architectures_that_have_no_kernels() -> None:
    options = cli.parser().parse_args(["kernels", "gfx1100", "gfx1"])
    with pytest.raises(Failure, match="gfx1"):
        cli.HANDLERS["kernels"](Console(io.StringIO()), options, [])


def test_a_wave_count_is_limited_by_registers_and_block_memory() -> None:
    occupied = {"wave_size": 64, "registers": 134, "lds_bytes": 40960}
    # 512 / 136 = 3 waves of a SIMD; 64 KiB hold one group of four waves, one a SIMD.
    assert code_objects.waves_per_simd("gfx90a", occupied, 256) == 1
    assert code_objects.waves_per_simd("gfx90a", {**occupied, "lds_bytes": 16384}, 256) == 3


def test_metadata_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no metadata"):
        code_objects.kernels(b"\x7fELF" + bytes(60))


def test_an_archive_that_is_missing_or_damaged_names_the_command_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMDGPU_LIBRARY_PATH", str(tmp_path))
    with pytest.raises(errors.LibraryMissingError, match=r"\./x kernels"):
        gpu_kernels.archived_kernels("gfx0")
    assert "gfx0" not in gpu_kernels.architectures()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "gfx0.archive").write_bytes(b"no archive")
    assert "gfx0" in gpu_kernels.architectures()
    with pytest.raises(errors.LibraryMissingError, match=r"gfx0 cannot be read.*\./x kernels"):
        gpu_kernels.archived_kernels("gfx0")


@pytest.mark.parametrize("program", [load_and_launch_code_objects, refuse_what_no_archived_kernel_computes])
def test_null_devices_have_the_archives_that_were_built(
    build: Callable[[str], Path], program: Callable[[], None]
) -> None:
    # A process looks for an archive once, and other tests open the same device.
    call = f"import {__name__}; {__name__}.{program.__name__}()"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "AMDGPU_LIBRARY_PATH": str(build("gfx1100").parent), "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
