"""Which ways there are to compute a product on a GPU, from manifests of archives alone. Nothing is built and nothing runs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amdgpu import errors, gpu_kernels
from amdgpu.gpu_kernels import archive, choice, operations, parts
from x.kernel_catalog import Variant, variants

UNITS = 132
OUTPUTS = {"i8": "i32", "tf32": "f32"}
Archive = Callable[..., Any]


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    """Makes a device whose archive has the kernels of the catalogue that a condition lets pass."""
    remembered = (gpu_kernels.archived_kernels, choice._turned_kernels, choice._split_kernels, choice._padded_kernels)

    def make(passes: Callable[[Variant], bool] = lambda variant: True, architecture: str = "sm_90") -> Any:
        for function in remembered:
            function.cache_clear()
        records = [
            {**variant.record(), "code": "", "resources": {}} for variant in variants(architecture) if passes(variant)
        ]
        with zipfile.ZipFile(tmp_path / f"{architecture}.archive", "w") as file:
            file.writestr("manifest.json", json.dumps({"kernels": records}))
        return SimpleNamespace(name="cuda:0", _kernel_facts=(architecture, UNITS))

    monkeypatch.setattr(archive, "_folder", lambda: tmp_path)
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    yield make
    for function in remembered:
        function.cache_clear()


def problem_of(
    extents: tuple[int, ...], operand: str, layout: str = "nn", epilogue: str = "", output: str = ""
) -> gpu_kernels.Problem:
    """Of arrays that begin at multiples of 16 bytes."""
    m, n, k, batch = (*extents, 1)[:4]
    made = output or OUTPUTS.get(operand, operand)
    item = parts.ITEM_BYTES
    columns = (m if layout[0] == "t" else k, k if layout[1] == "t" else n)
    sizes = [*(one * item[operand] for one in columns), n * item[made]]
    is_aligned = not any(size % 16 for size in sizes)
    return gpu_kernels.Problem(m, n, k, batch, operand, made, layout, epilogue, is_aligned=is_aligned)


def names_of(device: Any, problem: gpu_kernels.Problem) -> list[str]:
    """Kinds of ways: vector, split, padded, or plain."""
    words = {
        "vector" if way.is_vector else "padded" if way.is_padded else "split" if way.parts > 1 else "plain"
        for way in gpu_kernels.ways(device, problem, with_vendor=False)
    }
    return sorted(words)


@pytest.mark.parametrize(
    ("extents", "layout"), [((4096, 1, 4096), "nn"), ((1, 4096, 4096), "nt"), ((1, 1, 8192), "tt")]
)
@pytest.mark.parametrize("operand", ["f64", "f32", "tf32", "f16", "bf16", "i8"])
def test_vectors_kernels_are_taken_for_the_results_that_they_write(
    device: Archive, extents: tuple[int, int, int], layout: str, operand: str
) -> None:
    gpu = device()
    problem = problem_of(extents, operand, layout)
    assert "vector" in names_of(gpu, problem)
    assert choice.choose(gpu, problem, is_ours=True) is choice._OF_VECTOR
    if operand in ("f16", "bf16"):
        wide = problem_of(extents, operand, layout, output="f32")
        assert "vector" not in names_of(gpu, wide)
        chosen = choice.choose(gpu, wide, is_ours=True)
        assert chosen is None or (chosen.kernel is not None and chosen.kernel.output == "f32")


@pytest.mark.parametrize("epilogue", ["gelu", "silu"])
@pytest.mark.parametrize("operand", ["f64", "i8"])
@pytest.mark.parametrize("extents", [(1, 4096, 4096), (16, 256, 4096), (1001, 1003, 1005)])
def test_activations_of_float32_follow_no_other_sums(
    device: Archive, operand: str, epilogue: str, extents: tuple[int, int, int]
) -> None:
    gpu = device()
    assert names_of(gpu, problem_of(extents, operand)) != ["plain"]
    problem = problem_of(extents, operand, "nn", epilogue)
    assert names_of(gpu, problem) == []
    a, b, out, bias = (
        SimpleNamespace(shape=shape, ndim=len(shape), dtype={"f64": "float64", "i32": "int32"}[problem.output])
        for shape in (extents[::2], extents[:0:-1], extents[:2], extents[1:2])
    )
    out.kernel_address = 0
    with pytest.raises(errors.NoImplementationError, match=epilogue):
        gpu_kernels.plan_matmul(gpu, problem, a, b, out, bias=bias)


def test_operands_are_padded_only_where_their_copies_are_small(device: Archive) -> None:
    gpu = device()
    assert "padded" in names_of(gpu, problem_of((4095, 4095, 4095), "f16"))
    # Sums of 36,000 x 36,001 in float32 take more than 4 GiB, and so do copies of operands.
    assert names_of(gpu, problem_of((36_000, 36_001, 64), "f16", "tn")) == ["plain"]
    assert names_of(gpu, problem_of((128, 128, 17_000_001), "f16", "nt")) == ["plain"]
    # Only the second operand is copied.
    large = problem_of((120_000, 1001, 20_000), "f16")
    assert "padded" in names_of(gpu, large)
    # Operands that are small enough to count may be too large when they are padded.
    problem = problem_of((1, 3, 1_400_000_000), "i8", "tn")
    assert parts.is_counted(problem)
    assert not parts.can_pad("sm_90", problem)
    # Where extents need no padding, addresses do, and both operands may be copied.
    aligned = problem_of((65_536, 64, 32_768), "f16")
    assert aligned.is_aligned
    assert parts.can_pad("sm_90", problem_of((65_536, 64, 16_384), "f16"))
    assert not parts.can_pad("sm_90", aligned)


@pytest.mark.parametrize("missing", ["vector", "parts", "pad"])
def test_an_archive_that_lacks_a_kind_of_kernel_does_without(device: Archive, missing: str) -> None:
    whole, partial = device(), ["vector", "split", "padded"]
    shapes = {"vector": (1, 4096, 4096), "split": (16, 256, 4096), "padded": (1001, 1003, 1005)}
    assert all(kind in names_of(whole, problem_of(shapes[kind], "f32")) for kind in partial)
    gpu = device(lambda variant: getattr(variant, "kind", "") != missing)
    gone = {"vector": ["vector"], "parts": partial, "pad": ["padded"]}[missing]
    for kind, shape in shapes.items():
        problem = problem_of(shape, "f32")
        assert (kind in names_of(gpu, problem)) == (kind not in gone)
        assert choice.choose(gpu, problem, is_ours=True) is not None
    with pytest.raises(errors.NoImplementationError, match=f"for sm_90 have no {missing} of item_bytes 3"):
        parts._find(gpu, missing, item_bytes=3)


def test_counts_leave_room_for_the_threads_of_a_block() -> None:
    # A thread beyond the last result of the last block still counts in 32 bits.
    assert not parts.is_counted(problem_of((1, (1 << 32) - 256, 1), "i8"))
    assert parts.is_counted(problem_of((1, (1 << 32) - 257, 1), "i8"))


def convolve(device: Any, images: Any, filters: Any, **options: Any) -> Any:
    return operations.convolve(device, images, filters, **options)


def of_shape(shape: tuple[int, ...], address: int = 0) -> Any:
    return SimpleNamespace(shape=shape, ndim=len(shape), dtype="float32", kernel_address=address, size=1)


def test_convolutions_name_the_precisions_they_know_and_the_axes_they_want(device: Archive) -> None:
    gpu = device()
    images, filters = of_shape((1, 8, 8, 16)), of_shape((3, 3, 16, 16))
    with pytest.raises(errors.InvalidArgumentError, match="precision is 'TF32'; known are fp32, tf32"):
        convolve(gpu, images, filters, precision="TF32")
    for precision in ("fp32", "tf32"):
        with pytest.raises(errors.ShapeMismatchError, match="four axes"):
            convolve(gpu, images, of_shape(()), precision=precision)


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
@pytest.mark.parametrize("which", [None, 0, 1])
def test_convolutions_of_arrays_that_begin_anywhere_load_single_numbers(
    device: Archive, monkeypatch: pytest.MonkeyPatch, which: int | None, precision: str
) -> None:
    gpu = device()
    gpu.native = SimpleNamespace(empty=lambda shape, dtype: of_shape(shape))
    launched: list[gpu_kernels.ArchivedKernel] = []
    monkeypatch.setattr(operations, "load", lambda device, kernel, parameters: launched.append(kernel))
    monkeypatch.setattr(operations, "launch", lambda *given, **options: None)
    filters = (16, 3, 3, 16) if precision == "tf32" else (3, 3, 16, 16)
    convolve(
        gpu,
        of_shape((1, 8, 8, 16), 4 if which == 0 else 0),
        of_shape(filters, 4 if which == 1 else 0),
        precision=precision,
    )
    assert [kernel.is_aligned for kernel in launched] == [which is None]
    assert [kernel.operand for kernel in launched] == ["f32" if precision == "fp32" else "tf32"]


class Tuner:
    """Notes what it is asked to measure."""

    left_seconds = 60.0

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def tune(self, product: Any, names: list[str]) -> None:
        self.asked.append((product, names))


def test_nothing_is_measured_while_a_graph_is_recorded(device: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement would run kernels, and a library's calls are no part of a graph."""
    monkeypatch.setenv("AMDGPU_TUNE", "on")
    monkeypatch.setenv("AMDGPU_MATMUL", "auto")
    gpu, problem = device(), problem_of((520, 504, 536), "f16")
    gpu._tuner = tuner = Tuner()
    recording = [True]
    monkeypatch.setattr(choice._native, "is_recording_graph", lambda: recording[0])
    monkeypatch.setattr(choice.vendor, "libraries_of", lambda _: ("cublaslt",))
    monkeypatch.setattr(choice.vendor, "first_verified", lambda *_: pytest.fail("a library was tried out"))
    chosen = choice.choose(gpu, problem)
    assert chosen is not None
    assert chosen.library == ""
    assert tuner.asked == []
    recording[0] = False
    choice.choose(gpu, problem)
    assert len(tuner.asked) == 1, "what was chosen while recording is not taken for measured"
    assert choice.choose(gpu, problem, is_ours=True) == chosen
    assert len(tuner.asked) == 1, "who wants a kernel of ours waits for no measurement"
