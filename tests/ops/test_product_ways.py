"""Which ways there are to compute a product on a GPU, and which is chosen, from manifests of archives alone. Nothing is built and nothing
runs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amdgpu import errors, gpu_kernels
from amdgpu._generated.dtypes import FORMATS
from x.kernel_catalog import PROTOTYPES, Variant, variants
from x.kernels import MANIFEST_VERSION

UNITS = 132
Archive = Callable[..., str]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Makes an archive with the kernels of the catalogue that a condition lets pass."""

    def make(
        passes: Callable[[Variant], bool] = lambda variant: True,
        architecture: str = "sm_90",
        version: int = MANIFEST_VERSION,
    ) -> str:
        records = [
            {**variant.record(), "code": "", "resources": {}} for variant in variants(architecture) if passes(variant)
        ]
        manifest = {"version": version, "prototypes": PROTOTYPES, "kernels": records}
        (tmp_path / "kernels").mkdir(exist_ok=True)
        with zipfile.ZipFile(tmp_path / "kernels" / f"{architecture}.archive", "w", zipfile.ZIP_LZMA) as file:
            file.writestr("manifest.json", json.dumps(manifest))
        return architecture

    monkeypatch.setenv("AMDGPU_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    return make


def problem_of(
    extents: tuple[int, ...], operand: str, layout: str = "nn", epilogue: str = "", output: str = ""
) -> gpu_kernels.Problem:
    """Of arrays that begin at multiples of 16 bytes."""
    m, n, k, batch = (*extents, 1)[:4]
    made = output or FORMATS[operand].output
    columns = (m if layout[0] == "t" else k, k if layout[1] == "t" else n)
    sizes = [*(one * FORMATS[operand].bytes for one in columns), n * FORMATS[made].bytes]
    is_aligned = not any(size % 16 for size in sizes)
    return gpu_kernels.Problem(m, n, k, batch, operand, made, layout, epilogue, is_aligned=is_aligned)


def names_of(architecture: str, problem: gpu_kernels.Problem) -> list[str]:
    """Kinds of ways: vector, split, padded, or plain."""
    _, ways = gpu_kernels.decide(architecture, UNITS, problem)
    words = {
        "vector" if way.is_vector else "padded" if way.is_padded else "split" if way.parts > 1 else "plain"
        for way in ways
    }
    return sorted(words)


def chosen(architecture: str, problem: gpu_kernels.Problem, **options: Any) -> gpu_kernels.Choice | None:
    """What is chosen of our own kernels, where options say nothing else."""
    return gpu_kernels.decide(architecture, UNITS, problem, **{"demand": "ours", **options})[0]


@pytest.mark.parametrize(
    ("extents", "layout"), [((4096, 1, 4096), "nn"), ((1, 4096, 4096), "nt"), ((1, 1, 8192), "tt")]
)
@pytest.mark.parametrize("operand", ["f64", "f32", "tf32", "f16", "bf16", "i8"])
def test_vectors_kernels_are_taken_for_the_results_that_they_write(
    archive: Archive, extents: tuple[int, int, int], layout: str, operand: str
) -> None:
    gpu = archive()
    problem = problem_of(extents, operand, layout)
    assert "vector" in names_of(gpu, problem)
    choice = chosen(gpu, problem)
    assert choice is not None
    assert choice.is_vector
    if operand in ("f16", "bf16"):
        wide = problem_of(extents, operand, layout, output="f32")
        assert "vector" not in names_of(gpu, wide)
        choice = chosen(gpu, wide)
        assert choice is None or (choice.kernel is not None and choice.kernel.output == "f32")


@pytest.mark.parametrize("epilogue", ["gelu", "silu"])
@pytest.mark.parametrize("operand", ["f64", "i8"])
@pytest.mark.parametrize("extents", [(1, 4096, 4096), (16, 256, 4096), (1001, 1003, 1005)])
def test_activations_of_float32_follow_no_other_sums(
    archive: Archive, operand: str, epilogue: str, extents: tuple[int, int, int]
) -> None:
    gpu = archive()
    assert names_of(gpu, problem_of(extents, operand)) != ["plain"]
    problem = problem_of(extents, operand, "nn", epilogue)
    assert names_of(gpu, problem) == []
    assert chosen(gpu, problem) is None


def test_operands_are_padded_only_where_their_copies_are_small(archive: Archive) -> None:
    gpu = archive()
    assert "padded" in names_of(gpu, problem_of((4095, 4095, 4095), "f16"))
    # Sums of 36,000 x 36,001 in float32 take more than 4 GiB, and so do copies of operands.
    assert names_of(gpu, problem_of((36_000, 36_001, 64), "f16", "tn")) == ["plain"]
    assert names_of(gpu, problem_of((128, 128, 17_000_001), "f16", "nt")) == ["plain"]
    # Only the second operand is copied.
    assert "padded" in names_of(gpu, problem_of((120_000, 1001, 20_000), "f16"))
    # Where extents need no padding, addresses do, and both operands may be copied.
    for k, can_pad in ((16_384, True), (32_768, False)):
        aligned = problem_of((65_536, 64, k), "f16")
        assert aligned.is_aligned
        displaced = gpu_kernels.Problem(65_536, 64, k, 1, "f16", "f16", "nn", "", is_aligned=False)
        assert ("padded" in names_of(gpu, displaced)) == can_pad


@pytest.mark.parametrize("missing", ["vector", "parts", "pad"])
def test_an_archive_that_lacks_a_kind_of_kernel_does_without(archive: Archive, missing: str) -> None:
    whole, partial = archive(), ["vector", "split", "padded"]
    shapes = {"vector": (1, 4096, 4096), "split": (16, 256, 4096), "padded": (1001, 1003, 1005)}
    assert all(kind in names_of(whole, problem_of(shapes[kind], "f32")) for kind in partial)
    gpu = archive(lambda variant: getattr(variant, "kind", "") != missing)
    gone = {"vector": ["vector"], "parts": partial, "pad": ["padded"]}[missing]
    for kind, shape in shapes.items():
        problem = problem_of(shape, "f32")
        assert (kind in names_of(gpu, problem)) == (kind not in gone)
        assert chosen(gpu, problem) is not None


def test_counts_leave_room_for_the_threads_of_a_block(archive: Archive) -> None:
    # A thread beyond the last result of the last block still counts in 32 bits.
    gpu = archive()
    assert "vector" not in names_of(gpu, problem_of((1, (1 << 32) - 256, 1), "i8"))
    assert "vector" in names_of(gpu, problem_of((1, (1 << 32) - 257, 1), "i8"))


def test_a_library_is_taken_where_ours_is_behind_and_only_when_it_is_right(archive: Archive) -> None:
    gpu = archive()
    # float32 on plain lanes, fewer blocks than units, a long inner dimension.
    problem = problem_of((64, 128, 8192, 3), "f32")
    for libraries, are_verified, expected in (
        (["cublaslt"], True, "cublaslt"),
        (["cublaslt"], False, ""),
        ([], True, ""),
    ):
        options = {"libraries": libraries, "are_verified": are_verified, "demand": "auto", "is_measured": False}
        choice = chosen(gpu, problem, **options)
        assert choice is not None
        assert choice.library == expected
    choice = chosen(gpu, problem_of((4096, 4096, 4096), "bf16"), libraries=["cublaslt"], demand="vendor")
    assert choice is not None
    assert choice.library == "cublaslt"
    gelu = chosen(gpu, problem_of((4096, 4096, 4096), "bf16", "nn", "gelu"), libraries=["cublaslt"], demand="vendor")
    assert gelu is not None
    assert gelu.library == "", "gelu of the libraries is another function"


def test_measured_ways_are_taken_and_ours_unless_a_library_is_faster_by_a_margin(archive: Archive) -> None:
    gpu = archive()
    problem = problem_of((4096, 4096, 4096), "bf16")
    choice = chosen(gpu, problem, demand="auto")
    assert choice is not None
    assert choice.kernel is not None
    assert choice.kernel.unit == "wgmma"
    near = problem_of((4000, 4096, 4096), "bf16")
    assert chosen(gpu, near, demand="auto") == choice, "a measurement speaks for products that are near"


def test_an_archive_of_another_version_is_refused_with_the_command_that_builds_it(archive: Archive) -> None:
    gpu = archive(version=1)
    with pytest.raises(errors.LibraryMissingError, match=r"version 1.*\./x kernels"):
        names_of(gpu, problem_of((64, 64, 64), "f32"))
