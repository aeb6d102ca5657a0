"""The current device of a thread, and what every name of a device shares."""

from __future__ import annotations

import threading

import amdgpu
import pytest
from amdgpu import errors
from amdgpu.device import default_device


def in_a_thread(work: object) -> object:
    """What `work()` gives in a thread of its own, which begins without a choice."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(work()))  # type: ignore[operator]
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_begins_with_the_first_device_of_the_list() -> None:
    assert in_a_thread(lambda: amdgpu.get_device().name) == amdgpu.list_devices()[0].device


def test_each_thread_chooses_for_itself() -> None:
    def choose() -> tuple[str, str, str]:
        amdgpu.set_device("null:gfx1100")
        own = amdgpu.get_device().name
        other = in_a_thread(lambda: amdgpu.get_device().name)
        amdgpu.set_device(amdgpu.initialize_device("cpu:0", ["aura"]))
        return own, str(other), amdgpu.get_device().name

    assert in_a_thread(choose) == ("null:gfx1100", amdgpu.list_devices()[0].device, "cpu:0")


def test_calls_that_name_no_device_use_the_current_one() -> None:
    def use() -> tuple[str, ...]:
        amdgpu.set_device("null:gfx90a")
        amdgpu.synchronize()
        return (
            amdgpu.device_info().device,
            amdgpu.allocate_memory(size=512).device,
            amdgpu.zeros(3, "float32").device,
            amdgpu.array([1, 2]).device,
            str(amdgpu.get_telemetry()["device"]),
            amdgpu.device_info("cpu:0").device,
        )

    assert in_a_thread(use) == (*["null:gfx90a"] * 5, "cpu:0")


def test_what_is_no_device_changes_nothing() -> None:
    def fail() -> str:
        amdgpu.set_device("null:gfx1100")
        for wrong in (-1, 1000, "tpu:0"):
            with pytest.raises(errors.DeviceNotFoundError):
                amdgpu.set_device(wrong)
        with pytest.raises(errors.InvalidTypeError):
            amdgpu.set_device(None)  # type: ignore[arg-type]
        return amdgpu.get_device().name

    assert in_a_thread(fail) == "null:gfx1100"


def test_all_names_of_a_device_share_one_opening() -> None:
    index = [info.device for info in amdgpu.list_devices()].index("cpu:0")
    assert default_device(index) is default_device("cpu:0") is default_device("cpu")
