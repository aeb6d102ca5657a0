"""Profiles of kernels: what is counted, how it is kept, and that compiling with it changes no bit."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from corpus import CORPUS

SUMS = """
__device__ float term(float x, int kind) {
    if (kind == 3) return x;
    return x * x;
}
extern "C" __global__ void sums(const float* x, float* out, int n, int kind) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += term(x[j * blockDim.x + threadIdx.x], kind);
    if (i % 2 == 0)
        out[i] = sum;
    else
        out[i] = -sum;
}
"""
# Floats are added by whichever work-item comes first, or the counts would be those of variables that the host sets.
NOT_COMPARED = {name for name, entry in CORPUS.items() if entry.launch(entry.sizes[0]).order_dependent}


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0", ["aura"]) as opened:
        yield opened


def arguments() -> tuple[Any, Any, int, int]:
    return np.arange(64 * 20, dtype=np.float32), np.zeros(128, np.float32), 20, 3


@pytest.fixture
def profile(cpu: Any) -> amdgpu.Profile:
    return cpu.profile_kernel(cpu.compile_kernel(SUMS), arguments(), grid=2, block=64)


def line_of(text: str) -> int:
    return 1 + next(number for number, line in enumerate(SUMS.splitlines()) if text in line)


def test_counts_are_those_of_the_source(profile: amdgpu.Profile) -> None:
    kernel = profile.facts()["kernel"]
    assert kernel["blocks"][0][1] == 128
    (loop,) = kernel["loops"]
    assert (loop["line"], loop["entries"], loop["iterations"]) == (line_of("for ("), 128, 128 * 20)
    branches = {branch["line"]: branch for branch in kernel["branches"]}
    odd, same = branches[line_of("i % 2")], branches[line_of("kind == 3")]
    assert (odd["runs"], odd["taken"]) == (128, 64)
    assert (odd["waves"], odd["uniform_waves"]) == (4, 0)
    assert (same["runs"], same["waves"], same["uniform_waves"]) == (128 * 20, 4, 4)
    assert same["taken"] in (0, 128 * 20)
    accesses = {access["line"]: access for access in kernel["accesses"]}
    load = accesses[line_of("sum += term")]
    assert (load["bytes"], load["stride_bytes"], load["percent"], load["is_store"]) == (4, 4, 100, False)
    assert {constant["name"]: constant["bits"] for constant in kernel["constants"]} == {"n": 20, "kind": 3}


def test_the_listing_shows_counts_beside_the_lines(profile: amdgpu.Profile) -> None:
    text = str(profile)
    assert text.startswith("profile of sums on cpu:0: 128 work-items\n")
    assert "parameter n was always the same (bits 0x14)" in text
    assert "^ loop: entered 128 times, 20.0 iterations each" in text
    assert "of 128 times, lanes agree in 0 % of the sampled waves" in text
    assert "^ load of 4 bytes: 4 bytes from lane to lane (consecutive) in 100 % of the pairs" in text
    for line in SUMS.splitlines():
        assert line in text


def test_results_with_a_profile_are_the_same_also_for_other_arguments(cpu: Any, profile: amdgpu.Profile) -> None:
    plain, profiled = cpu.compile_kernel(SUMS), cpu.compile_kernel(SUMS, profile=profile)
    rng = np.random.default_rng(7)
    for n, kind in ((20, 3), (20, 4), (19, 3), (0, 0), (1, 3)):
        x = rng.normal(size=64 * 20).astype(np.float32)
        one, other = np.zeros(128, np.float32), np.zeros(128, np.float32)
        plain[2, 64](x, one, n, kind)
        profiled[2, 64](x, other, n, kind)
        assert one.tobytes() == other.tobytes()
        assert n == 0 or one.any()


@pytest.mark.parametrize("constants", [True, False])
@pytest.mark.parametrize("counts", [True, False])
def test_every_way_to_use_a_profile_gives_the_same_bits(
    cpu: Any, profile: amdgpu.Profile, *, constants: bool, counts: bool
) -> None:
    way = amdgpu.Profile(profile.native.using(constants, counts))
    facts = way.facts()
    assert (facts["uses_constants"], facts["uses_counts"]) == (constants, counts)
    x, out, n, kind = arguments()
    expected = np.zeros_like(out)
    cpu.compile_kernel(SUMS)[2, 64](x, expected, n, kind)
    cpu.compile_kernel(SUMS, profile=way)[2, 64](x, out, n, kind)
    assert out.tobytes() == expected.tobytes()


def test_profiling_leaves_the_arrays_and_the_kernel_alone(cpu: Any) -> None:
    kernel, given = cpu.compile_kernel(SUMS), arguments()
    cpu.profile_kernel(kernel, given, grid=2, block=64)
    assert not given[1].any()
    with pytest.raises(errors.AmdgpuError, match="__amdgpu_profile"):
        kernel.read_profile(given)


def test_two_profiles_do_not_add_up_unless_merged(cpu: Any, profile: amdgpu.Profile) -> None:
    again = cpu.profile_kernel(cpu.compile_kernel(SUMS), arguments(), grid=2, block=64)
    assert again.facts()["kernel"] == profile.facts()["kernel"]
    x, out, n, _ = arguments()
    other = cpu.profile_kernel(cpu.compile_kernel(SUMS), (x, out, n, 4), grid=2, block=64)
    both = profile.merged(other).facts()["kernel"]
    assert both["loops"][0]["iterations"] == 2 * 128 * 20
    assert [constant["name"] for constant in both["constants"]] == ["n"]


def test_profiles_are_saved_and_loaded(cpu: Any, profile: amdgpu.Profile, tmp_path: Path) -> None:
    file = tmp_path / "sums.profile.json"
    profile.save(file)
    loaded = amdgpu.Profile.load(file)
    assert loaded.facts() == profile.facts()
    assert str(loaded) == str(profile)
    assert repr(loaded) == "<amdgpu.Profile of sums on cpu:0>"
    kernel = cpu.compile_kernel(SUMS, profile=loaded)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.recipe() == kernel.recipe()
    assert again.recipe()["profile"] is not None


@pytest.mark.parametrize("content", ["", "{", "{}", '{"schema": "amdgpu.profile/9"}'])
def test_files_that_are_no_profiles_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(errors.InvalidArgumentError, match=r"x\.json is not loaded: it is no profile"):
        amdgpu.Profile.load(file)
    with pytest.raises(FileNotFoundError):
        amdgpu.Profile.load(tmp_path / "absent.json")


def test_a_profile_of_another_source_or_other_macros_is_refused(cpu: Any, profile: amdgpu.Profile) -> None:
    for source, options in ((SUMS.replace("-sum", "+sum"), {}), (SUMS, {"defines": {"A": "1"}})):
        with pytest.raises(errors.InvalidArgumentError, match="the profile of `sums` is of another source"):
            cpu.compile_kernel(source, profile=profile, **options)
    with pytest.raises(errors.InvalidArgumentError, match="profile is for amdgpu's own compiler"):
        cpu.compile_kernel(SUMS, profile=profile, checked=True)
    with pytest.raises(errors.InvalidTypeError, match="profile is 'x'; a Profile"):
        cpu.compile_kernel(SUMS, profile="x")
    other = cpu.profile_kernel(cpu.compile_kernel(SUMS.replace("sums", "others")), arguments(), grid=2, block=64)
    with pytest.raises(errors.InvalidArgumentError, match="the profiles are of two kernels"):
        profile.merged(other)
    with pytest.raises(errors.InvalidTypeError, match="other is 3; a Profile is expected"):
        profile.merged(3)  # type: ignore[arg-type]


def test_wrong_launches_are_refused(cpu: Any) -> None:
    kernel = cpu.compile_kernel(SUMS)
    with pytest.raises(errors.InvalidLaunchError):
        cpu.profile_kernel(kernel, arguments(), grid=0, block=64)
    with pytest.raises(errors.ArgumentCountError):
        cpu.profile_kernel(kernel, arguments()[:3], grid=2, block=64)


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_counting_code_is_made_for_gpus_by_the_same_means(cpu: Any, target: str) -> None:
    """A `__device__` variable and atomic additions: nothing that only the CPU has."""
    counting = cpu.native.with_counting(cpu.compile_kernel(SUMS))
    assert [one["name"] for one in counting.module_globals] == ["__amdgpu_profile"]
    with amdgpu.AMDGPUDevice(f"null:{target}") as device:
        device.initialize()
        made = device.native.with_counting(device.compile_kernel(SUMS))
        assert [one["name"] for one in made.module_globals] == ["__amdgpu_profile"]


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("name", sorted(set(CORPUS) - NOT_COMPARED))
def test_a_profile_does_not_change_a_bit_of_the_corpus(cpu: Any, name: str) -> None:
    """Measured with one size, run with another as well: then the general copy runs."""
    entry = CORPUS[name]
    launch = entry.launch(entry.sizes[0])
    kernel = cpu.compile_kernel(entry.path.read_text(), name=launch.kernel or name)
    measured = cpu.profile_kernel(
        kernel, launch.arguments, grid=launch.grid, block=launch.block, shared_bytes=launch.shared_bytes
    )
    # Whatever was fastest here: all that a profile can do.
    profile = amdgpu.Profile(measured.native.using(True, True))
    for size in {entry.sizes[0], entry.sizes[-1]}:
        run = entry.launch(size)
        plain = entry.run(cpu, run)
        try:
            profiled = entry.run(cpu, run, profile=profile)
        except errors.InvalidArgumentError:
            assert (run.kernel or name) != (launch.kernel or name)
            continue
        for place, (a, b) in enumerate(zip(plain, profiled, strict=True)):
            if isinstance(a, np.ndarray) and place not in run.scratch:
                assert a.tobytes() == b.tobytes(), f"argument {place} at size {size}"
