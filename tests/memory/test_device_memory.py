"""Options, peaks and snapshots of a device's allocator, and what is kept with a device until it is closed."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref

import amdgpu
import pytest
from amdgpu import errors

MEBIBYTE = 1 << 20


def test_a_limit_from_python_is_kept() -> None:
    with amdgpu.initialize_device("null:gfx1010", memory={"limit_bytes": 64 * MEBIBYTE}) as device:
        kept = amdgpu.empty(32 * MEBIBYTE, "uint8", device=device)
        with pytest.raises(errors.OutOfMemoryError, match=r"limit is 64\.00 MiB"):
            amdgpu.empty(48 * MEBIBYTE, "uint8", device=device)
        # Who opens the device again may ask for the same or for nothing, not for something else.
        amdgpu.initialize_device("null:gfx1010", memory="limit_bytes:67108864").close()
        amdgpu.initialize_device("null:gfx1010").close()
        with pytest.raises(errors.InvalidArgumentError, match="null:gfx1010"):
            amdgpu.initialize_device("null:gfx1010", memory={"limit_bytes": MEBIBYTE})
        assert kept.nbytes == 32 * MEBIBYTE


@pytest.mark.parametrize(
    "memory",
    [
        {"max_split_size_mb": 3},
        {"garbage_collection_threshold": 2},
        {"expandable_segments": True},
        {"unknown": 1},
        "limit_bytes:all",
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(memory: object) -> None:
    name = next(iter(memory)) if isinstance(memory, dict) else str(memory).partition(":")[0]
    with pytest.raises(errors.InvalidArgumentError, match=name):
        amdgpu.initialize_device("null:gfx1012", memory=memory)  # type: ignore[arg-type]


PROGRAM = """
import amdgpu, json, sys
device = amdgpu.initialize_device("null:gfx1010", memory=json.loads(sys.argv[1]))
print(device.memory_stats()["max_split_size"])
"""


@pytest.mark.parametrize(
    ("text", "memory", "expected"),
    [("max_split_size_mb:64", None, 64), ("max_split_size_mb:64", {"max_split_size_mb": 128}, 128)],
)
def test_the_environment_decides_what_python_leaves_open(
    text: str, memory: object, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMDGPU_ALLOC_CONF", text)
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(memory)], capture_output=True, text=True, check=True
    )
    assert int(answer.stdout) == expected * MEBIBYTE


def test_a_wrong_environment_is_named() -> None:
    program = f"import os; os.environ['AMDGPU_ALLOC_CONF'] = 'max_split_size_mb:x'\n{PROGRAM}"
    answer = subprocess.run([sys.executable, "-c", program, "null"], capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert "AMDGPU_ALLOC_CONF: max_split_size_mb" in answer.stderr


def test_peaks_begin_again_at_the_current_values() -> None:
    with amdgpu.initialize_device("null:gfx1030") as device:
        kept = amdgpu.empty(MEBIBYTE, "uint8", device=device)
        amdgpu.empty(4 * MEBIBYTE, "uint8", device=device).free()
        assert device.memory_stats()["allocated_bytes.all.peak"] == 5 * MEBIBYTE
        device.reset_peak_memory_stats()
        assert device.memory_stats()["allocated_bytes.all.peak"] == kept.nbytes


def test_a_snapshot_accounts_for_every_byte() -> None:
    with amdgpu.initialize_device("null:gfx1031") as device:
        kept = amdgpu.empty(1000, "uint8", device=device)
        (segment,) = device.memory_snapshot()
        assert (segment["device"], segment["pool"], segment["segment_type"]) == ("null:gfx1031", "device", "small")
        assert segment["total_size"] == device.memory_stats()["reserved_bytes.all.current"] == 2 * MEBIBYTE
        used, free = segment["blocks"]
        assert (used["address"], used["size"], used["requested_size"]) == (segment["address"], 1024, kept.nbytes)
        assert (used["state"], free["state"]) == ("active_allocated", "inactive")
        assert used["size"] + free["size"] == segment["total_size"]


class Kept:
    """Something that is kept with a device, and counts how often it was closed."""

    def __init__(self) -> None:
        self.device: object = None
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_caches_are_one_for_each_class_and_go_when_the_device_is_closed() -> None:
    device = amdgpu.initialize_device("null:gfx1032")
    kept, table = device.native.cache(Kept), device.native.cache(dict)
    assert device.native.cache(Kept) is kept
    assert device.native.cache(dict) is table
    other = amdgpu.initialize_device("null:gfx1032")
    assert other.native.cache(Kept) is not kept
    alive = weakref.ref(kept)
    native = device.native
    device.close()
    assert kept.closed == 1
    del kept
    assert alive() is None
    assert native.cache(Kept) is not native.cache(Kept), "a closed device keeps nothing"
    other.close()


def test_a_cache_that_holds_its_device_is_collected_with_it() -> None:
    device = amdgpu.initialize_device("null:gfx1033")
    kept = device.native.cache(Kept)
    kept.device = device
    alive = weakref.ref(kept)
    del device, kept
    gc.collect()
    assert alive() is None


def test_core_configurations_are_facts_of_the_device() -> None:
    with amdgpu.initialize_device("cpu:0", telemetry=False) as device:
        config, info = device.core_config, device.info()
    cores = info.compute_units
    assert config["aura"] == {
        "core_count": cores,
        "compute_units_per_core": 1,
        "optimization_level": "high",
        "telemetry_enabled": False,
    }
    assert config["matrix"]["simd_width"] == info.details["simd_width_bits"] // 32
    assert config["matrix"]["tensor_units"] in (0, cores)
    # Every neuron has at least two variables of four bytes.
    assert 0 < config["neuromorphic"]["neuron_capacity"] <= min(info.total_memory_bytes // 8, 1 << 30)
    with amdgpu.initialize_device("null:gfx1100", ["aura"]) as device:
        assert list(device.core_config) == ["aura"]
        assert device.core_config["aura"]["compute_units_per_core"] == 2


@pytest.mark.parametrize("kind", ["device", "pinned"])
def test_warm_up_reserves_memory_that_requests_then_find(kind: str) -> None:
    with amdgpu.initialize_device("null:gfx1034") as device:
        sizes = [32 * MEBIBYTE, 32 * MEBIBYTE, 512]
        assert amdgpu.memory.warm_up(sizes, device, kind=kind) == 66 * MEBIBYTE
        assert amdgpu.memory.warm_up(sizes, device, kind=kind) == 0
        kept = [amdgpu.allocate_memory(device, size, kind=kind) for size in sizes]
        assert amdgpu.memory.warm_up([], device, kind=kind) == 0
        del kept
        assert device.empty_cache() == 66 * MEBIBYTE


@pytest.mark.parametrize(
    ("sizes", "options", "error", "message"),
    [
        ([-1], {}, errors.InvalidArgumentError, r"sizes\[0\] is -1"),
        ([1.5], {}, errors.InvalidTypeError, r"sizes\[0\] is 1.5"),
        (4096, {}, errors.InvalidTypeError, "sizes is 4096; a list of numbers of bytes"),
        (
            [4096],
            {"kind": "shared"},
            errors.InvalidArgumentError,
            "kind is 'shared'; known are device, pinned, unified",
        ),
        ([1 << 60], {}, errors.OutOfMemoryError, "cpu:0"),
    ],
)
def test_wrong_sizes_and_kinds_of_a_warm_up_are_refused(
    sizes: object, options: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        amdgpu.memory.warm_up(sizes, "cpu:0", **options)  # type: ignore[arg-type]
