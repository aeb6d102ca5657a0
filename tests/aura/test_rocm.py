"""`amdgpu.rocm`: devices by ROCm's ids and by texts, and the one current device of a thread."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, rocm

FAKES = Path(__file__).parents[1] / "ops" / "fakes"
KEYS = {
    "device_id": int,
    "name": str,
    "architecture": str,
    "total_memory": int,
    "free_memory": int,
    "compute_units": int,
}


@pytest.fixture(autouse=True)
def own_thread(request: pytest.FixtureRequest) -> None:
    """Tests of this file run where no device was chosen; what they choose is theirs."""
    found: list[BaseException] = []
    work = request.node.obj

    def kept(**arguments: Any) -> None:
        def run() -> None:
            try:
                work(**arguments)
            except BaseException as error:  # noqa: BLE001 (raised again below)
                found.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if found:
            raise found[0]

    request.node.obj = kept


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU as device 0, and a device that computes nothing as device 1."""
    monkeypatch.setenv("AMDGPU_ROCM_DEVICES", "cpu,null:gfx1100")


@pytest.fixture
def none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDGPU_ROCM_DEVICES", "hip:4095")


def test_without_an_amd_gpu(none: None) -> None:
    assert rocm.rocm_is_available() is False
    assert rocm.rocm_device_count() == 0
    assert rocm.rocm_get_device() == -1
    calls: list[Callable[[], Any]] = [
        rocm.rocm_get_device_info,
        lambda: rocm.rocm_set_device(0),
        rocm.rocm_synchronize,
        lambda: rocm.set_device("rocm"),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"ROCm is not available.*AMDGPU_ROCM_DEVICES=cpu") as caught:
            call()
        assert isinstance(caught.value, errors.DeviceNotFoundError)


def test_devices_by_id(cpu: None) -> None:
    assert rocm.rocm_is_available() is True
    assert rocm.rocm_device_count() == 2
    info = rocm.rocm_get_device_info()
    assert {key: type(value) for key, value in info.items()} == KEYS
    assert 0 < info["free_memory"] <= info["total_memory"]
    assert rocm.rocm_get_device_info(device_id=1)["architecture"] == "gfx1100"
    rocm.rocm_synchronize()
    assert rocm.rocm_get_device() == -1
    for device_id in (1, np.int64(0), True):
        rocm.rocm_set_device(device_id)
        assert rocm.rocm_get_device() == device_id
        rocm.rocm_synchronize()


@pytest.mark.parametrize("device_id", [-1, 2, 2**31, -(2**63), 2**70])
def test_ids_that_are_not_there(cpu: None, device_id: int) -> None:
    for call in (rocm.rocm_get_device_info, rocm.rocm_set_device):
        with pytest.raises(RuntimeError, match="the ROCm devices are: 0 is cpu:0, 1 is null:gfx1100"):
            call(device_id)
    assert rocm.rocm_get_device() == -1


@pytest.mark.parametrize("device_id", ["0", 0.0, None, [0]])
def test_ids_that_are_no_integers(cpu: None, device_id: Any) -> None:
    for call in (rocm.rocm_get_device_info, rocm.rocm_set_device):
        with pytest.raises(TypeError, match="device_id must be an integer, got"):
            call(device_id)


def test_devices_by_text(cpu: None) -> None:
    for text, wanted, device_id in (
        ("rocm", "rocm:0", 0),
        ("cpu", "cpu", -1),
        ("rocm:1", "rocm:1", 1),
        ("cpu:0", "cpu", -1),
        ("null:gfx90a", "null:gfx90a", -1),
        ("rocm:0", "rocm:0", 0),
    ):
        rocm.set_device(text)
        assert (rocm.get_device(), rocm.rocm_get_device()) == (wanted, device_id)
        rocm.synchronize()


def test_facts_of_the_current_device(cpu: None) -> None:
    rocm.set_device("rocm")
    info, by_id = rocm.device_info(), rocm.rocm_get_device_info(0)
    assert info.keys() == by_id.keys() | {"type"}
    same = ["device_id", "name", "architecture", "total_memory", "compute_units"]
    assert info["type"] == "rocm"
    assert [info[key] for key in same] == [by_id[key] for key in same]
    rocm.set_device("cpu")
    info = rocm.device_info()
    assert info.keys() == {"type", "name", "cores"}
    assert info["type"] == "cpu"
    assert info["name"]
    assert info["cores"] > 0
    rocm.set_device("null:gfx1100")
    assert rocm.device_info()["type"] == "null"


@pytest.mark.parametrize(
    "text", ["", "gpu", "rocm:", "rocm:x", "rocm:-1", "cpu:", "sim", "cerebras:2", "ROCM", " rocm"]
)
def test_texts_that_name_no_device(cpu: None, text: str) -> None:
    rocm.set_device("rocm:1")
    with pytest.raises(ValueError, match="known are cpu, rocm, rocm:N") as caught:
        rocm.set_device(text)
    assert not isinstance(caught.value, RuntimeError)
    assert rocm.get_device() == "rocm:1"


@pytest.mark.parametrize(
    "text", ["rocm:2", "cpu:1", "cuda:4095", "hip:4095", "cerebras", "cerebras:simulator", "null:gfx1"]
)
def test_devices_that_are_not_available(cpu: None, text: str) -> None:
    with pytest.raises(RuntimeError, match=f"no device `{text}`"):
        rocm.set_device(text)


def test_only_texts_are_texts(cpu: None) -> None:
    for wrong in (0, None, b"cpu"):
        with pytest.raises(TypeError, match="device must be a text"):
            rocm.set_device(wrong)  # type: ignore[arg-type]


def test_there_is_one_current_device(cpu: None) -> None:
    assert amdgpu.list_devices()[0].device == amdgpu.get_device().name
    rocm.rocm_set_device(1)
    assert amdgpu.get_device().name == "null:gfx1100"
    amdgpu.set_device("cpu")
    assert (rocm.get_device(), rocm.rocm_get_device()) == ("cpu", -1)
    amdgpu.set_device("rocm:1")
    assert (rocm.get_device(), rocm.rocm_get_device()) == ("rocm:1", 1)
    # A block gives back what was chosen, and how.
    with amdgpu.initialize_device("cpu:0"):
        assert rocm.get_device() == "cpu"
    assert rocm.get_device() == "rocm:1"
    with pytest.raises(errors.DeviceNotFoundError):
        amdgpu.set_device("rocm:7")
    assert rocm.get_device() == "rocm:1"


def test_each_thread_has_its_own(cpu: None) -> None:
    rocm.rocm_set_device(1)
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.extend((rocm.rocm_get_device(), rocm.set_device("rocm:0"), rocm.get_device()))
    )
    thread.start()
    thread.join()
    assert found == [-1, None, "rocm:0"]
    assert rocm.get_device() == "rocm:1"


def test_products_run_on_the_current_device(cpu: None) -> None:
    rocm.set_device("rocm:0")
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 2), np.float32)
    found = rocm.matmul(a, b)
    assert found.device.name == "cpu:0" if hasattr(found.device, "name") else "cpu" in str(found.device)
    np.testing.assert_array_equal(found.numpy(), a @ b)
    np.testing.assert_array_equal(amdgpu.array(a, device="rocm").numpy(), a)
    rocm.rocm_set_device(1)
    assert "null" in str(rocm.matmul(amdgpu.array(a), amdgpu.array(b)).device)


def test_a_variable_that_names_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDGPU_ROCM_DEVICES", "quantum")
    with pytest.raises(ValueError, match="AMDGPU_ROCM_DEVICES is `quantum`"):
        rocm.rocm_device_count()


def build(library: Path, *arguments: object) -> None:
    """A shared library of C sources."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", str(library), *map(str, arguments)], check=True)


def test_an_amd_gpu(tmp_path: Path, run_python: Any) -> None:
    """With a driver that stands in for HIP's: what `hip:0` is, and that it comes first."""
    build(tmp_path / "libamdhip64.so.7", "-DHIP", FAKES / "driver.c")
    code = """
import amdgpu
from amdgpu import rocm
assert rocm.rocm_is_available() and rocm.rocm_device_count() == 1
# Nothing was chosen, and the best device is the GPU.
assert (rocm.get_device(), rocm.rocm_get_device()) == ("rocm:0", -1)
info = rocm.rocm_get_device_info(0)
assert (info["name"], info["architecture"], info["total_memory"]) == ("stand-in", "gfx942", 1 << 30), info
rocm.rocm_set_device(0)
assert rocm.rocm_get_device() == 0 and amdgpu.get_device().name == "hip:0"
assert rocm.device_info()["type"] == "rocm"
rocm.set_device("cpu")
rocm.set_device("hip:0")
assert rocm.get_device() == "rocm:0"
amdgpu.set_device(0)
assert rocm.rocm_get_device() == 0
rocm.rocm_synchronize()
rocm.synchronize()
array = amdgpu.array([1.0, 2.0], device="rocm")
assert "hip" in str(array.device) and array.numpy().tolist() == [1, 2]
try:
    rocm.rocm_set_device(1)
except RuntimeError as error:
    assert "the ROCm devices are: 0 is hip:0" in str(error)
print("ok")
"""
    done = run_python(code, LD_LIBRARY_PATH=str(tmp_path), AMDGPU_DEVICES="hip,cpu")
    assert done.stdout.split() == ["ok"]


def test_a_driver_that_brings_an_llvm_of_its_own(tmp_path: Path, run_python: Any) -> None:
    """As the HIP runtime of Debian does, beside a library that shows another LLVM to the whole process, as TensorFlow does."""
    function = 'version(void) __asm__("_ZN4llvm11raw_ostream5writeEPKcm")'
    (tmp_path / "llvm.c").write_text(f"int {function};\nint version(void) {{ return VERSION; }}\n")
    (tmp_path / "uses_llvm.c").write_text(
        f"#include <stdlib.h>\nint {function};\n"
        "__attribute__((constructor)) static void check(void) { if (version() != 17) abort(); }\n"
    )
    llvm = tmp_path / "llvm.c"
    build(tmp_path / "libother.so", "-DVERSION=20", llvm)
    build(tmp_path / "libown.so", "-DVERSION=17", llvm)
    sources = [tmp_path / "uses_llvm.c", FAKES / "driver.c"]
    build(tmp_path / "libamdhip64.so.7", "-DHIP", *sources, tmp_path / "libown.so", f"-Wl,-rpath,{tmp_path}")
    code = f"""
import ctypes
ctypes.CDLL({str(tmp_path / "libother.so")!r}, ctypes.RTLD_GLOBAL)
import amdgpu
print(*amdgpu.array([1.0, 2.0], device="hip:0").numpy())
"""
    done = run_python(code, LD_LIBRARY_PATH=str(tmp_path), AMDGPU_DEVICES="hip,cpu")
    assert done.stdout.split() == ["1.0", "2.0"]


def test_without_a_card_hip_stays_closed_unless_it_is_named(tmp_path: Path, run_python: Any) -> None:
    if any(Path(one).exists() for one in ("/dev/kfd", "/dev/dxg")):
        pytest.skip("there is an AMD GPU")
    build(tmp_path / "libamdhip64.so.7", "-DHIP", FAKES / "driver.c")
    code = """
import amdgpu
print(sorted({device.kind for device in amdgpu.list_devices()}), "libamdhip64" in open("/proc/self/maps").read())
try:
    amdgpu.initialize_device("hip:0")
except amdgpu.errors.DeviceNotFoundError as error:
    print(error)
"""
    done = run_python(code, LD_LIBRARY_PATH=str(tmp_path), AMDGPU_DEVICES=None)
    listed, refused = done.stdout.splitlines()[:2]
    assert "hip" not in listed
    assert listed.endswith("False")
    assert "/dev/kfd or /dev/dxg" in refused
