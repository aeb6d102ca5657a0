"""Device arrays: memory, DLPack, NumPy."""

import gc

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_come_back_as_they_went_in(dtype, rng):
    source = (rng.random((3, 5)) * 100).astype(dtype)
    array = amdgpu.array(source)
    assert (array.shape, array.dtype, array.nbytes) == (source.shape, source.dtype, source.nbytes)
    assert array.strides == source.strides
    assert np.array_equal(array.numpy(), source)


def test_an_open_device_may_be_named_by_itself(device):
    made = amdgpu.array([1.0, 2.0], device=device)
    assert made.device == device.name
    assert amdgpu.zeros(2, "float32", device=device).numpy().tolist() == [0, 0]


def test_bfloat16_comes_back_through_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source = np.array([1.5, -2, 3], ml_dtypes.bfloat16)
    array = amdgpu.array(source)
    assert array.dtype == ml_dtypes.bfloat16
    assert np.array_equal(array.numpy(), source)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
def test_every_shape_is_possible(shape):
    array = amdgpu.zeros(shape, "float32")
    assert array.shape == shape
    assert array.size == int(np.prod(shape))
    assert np.array_equal(array.numpy(), np.zeros(shape, "float32"))


def test_a_single_value_is_a_number_and_a_truth():
    assert amdgpu.array(2.5).item() == 2.5
    assert isinstance(amdgpu.array([7]).item(), int)
    assert float(amdgpu.ops.sum(amdgpu.array([1.0, 2.0]))) == 3.0
    assert amdgpu.ops.any(amdgpu.array([0, 1]))
    assert not amdgpu.ops.any(amdgpu.array([0, 0]))
    # Not its length.
    assert not amdgpu.zeros(1, "float32")
    for several in (amdgpu.zeros(2, "float32"), amdgpu.zeros((0, 3), "float32")):
        for take in (bool, float, amdgpu.Array.item):
            with pytest.raises(errors.InvalidArgumentError, match=r"is not a single value; reduce it"):
                take(several)


def test_numpy_looks_at_cpu_memory_without_a_copy():
    array = amdgpu.zeros(4, "float32")
    view = np.asarray(array)
    view[2] = 7
    assert array.numpy().tolist() == [0, 0, 7, 0]
    assert view.__array_interface__["data"][0] == array.ptr == array.__array_interface__["data"][0]


@pytest.mark.parametrize("version", [None, (1, 1)])
def test_dlpack_lends_and_borrows_without_a_copy(version):
    array = amdgpu.array(np.arange(6, dtype="int32").reshape(2, 3))
    capsule = array.__dlpack__(max_version=version)
    assert ("dltensor_versioned" if version else '"dltensor"') in repr(capsule)
    view = np.from_dlpack(array)
    assert view.__array_interface__["data"][0] == array.ptr
    assert array.__dlpack_device__() == (1, 0)
    back = amdgpu.from_dlpack(view)
    assert (back.ptr, back.shape, back.strides) == (array.ptr, (2, 3), (12, 4))


def test_borrowed_memory_lives_as_long_as_its_borrower():
    view = np.from_dlpack(amdgpu.array(np.full(1000, 3.0)))
    gc.collect()
    others = [amdgpu.zeros(1000, "float64") for _ in range(50)]
    assert (view == 3).all()
    del others


def test_memory_that_is_freed_while_borrowed_stays_until_the_borrower_is_gone(device):
    array = device.native.empty((1000,), "float32")
    view = np.from_dlpack(array)
    array.free()
    view[:] = 1
    others = [device.native.empty((1000,), "float32") for _ in range(20)]
    for other in others:
        other.fill(0)
    assert (view == 1).all()


def test_strided_and_reversed_arrays_are_borrowed_as_they_are():
    source = np.arange(12.0).reshape(3, 4)[::-1, ::2]
    array = amdgpu.from_dlpack(source)
    assert array.strides == source.strides
    assert np.array_equal(array.numpy(), source)


def test_read_only_arrays_stay_read_only():
    source = np.arange(3.0)
    source.flags.writeable = False
    array = amdgpu.from_dlpack(source)
    assert array.is_read_only
    with pytest.raises(errors.ReadOnlyError):
        array.copy_from(np.zeros(3))
    with pytest.raises(errors.ReadOnlyError):
        array.fill(0)


def test_freed_arrays_refuse_everything():
    array = amdgpu.zeros(4, "float32")
    array.free()
    assert array.is_freed
    for use in (array.numpy, array.free, lambda: array.ptr, lambda: array.fill(0), array.__dlpack__):
        with pytest.raises(errors.UseAfterFreeError):
            use()


def test_free_gives_the_block_back_at_once(device):
    before = device.memory_stats()["allocated_bytes.all.current"]
    array = device.native.empty((1 << 20,), "uint8")
    assert device.memory_stats()["allocated_bytes.all.current"] > before
    array.free()
    assert device.memory_stats()["allocated_bytes.all.current"] == before


def test_reshape_shares_memory_and_checks_the_count():
    array = amdgpu.array(np.arange(6))
    assert array.reshape(2, -1).shape == (2, 3)
    assert array.reshape(3, 2).ptr == array.ptr
    with pytest.raises(errors.ShapeMismatchError, match=r"\[4, 2\]"):
        array.reshape(4, 2)
    with pytest.raises(errors.ShapeMismatchError):
        array.reshape(-1, -1)


@pytest.mark.parametrize("bad", ["object", "U8", "datetime64[s]", "longdouble"])
def test_dtypes_that_devices_do_not_know_are_refused(bad):
    with pytest.raises(errors.UnsupportedDtypeError, match="float32"):
        amdgpu.empty(3, np.dtype(bad))


def test_foreign_byte_order_is_refused():
    with pytest.raises(errors.UnsupportedDtypeError, match="byte order"):
        amdgpu.from_dlpack(np.zeros(3, ">f4"))


def test_bad_sizes_are_refused():
    with pytest.raises(errors.InvalidArgumentError, match="negative"):
        amdgpu.empty((2, -1), "float32")
    for bad in ("x", 1.5, (2, "y"), (2, 1.5)):
        with pytest.raises(errors.InvalidTypeError, match="integer"):
            amdgpu.empty(bad, "float32")
    with pytest.raises(errors.InvalidArgumentError, match="negative"):
        amdgpu.allocate_memory(0, -5)
    with pytest.raises(errors.InvalidArgumentError, match="pinned"):
        amdgpu.allocate_memory(0, 5, kind="magic")
    with pytest.raises(MemoryError):
        amdgpu.empty((1 << 40, 1 << 40), "float32")


def test_out_of_memory_is_clean_and_says_what_is_in_use(run_python):
    done = run_python(
        "import amdgpu\n"
        "a = amdgpu.allocate_memory(0, 32 << 20)\n"
        "try:\n    amdgpu.allocate_memory(0, 200 << 20)\n"
        "except MemoryError as error:\n    print(type(error).__name__, error)\n"
        "a.free()\n"
        "print(amdgpu.allocate_memory(0, 40 << 20).nbytes)\n",
        AMDGPU_CPU_MEMORY_LIMIT_BYTES=str(64 << 20),
    )
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("OutOfMemoryError")
    assert int(last) == 40 << 20


def test_copies_check_shape_and_dtype():
    array = amdgpu.zeros((2, 2), "float32")
    with pytest.raises(errors.ShapeMismatchError, match=r"\[3\]"):
        array.copy_from(np.zeros(3, "float32"))
    with pytest.raises(errors.UnsupportedDtypeError, match="float64"):
        array.copy_from(np.zeros((2, 2)))
    with pytest.raises(errors.InvalidTypeError):
        array.copy_from([[1, 2], [3, 4]])
    with pytest.raises(errors.InvalidTypeError, match="__dlpack__"):
        amdgpu.from_dlpack(3)


def test_pinned_and_unified_memory_can_be_used():
    for kind in ("pinned", "unified"):
        array = amdgpu.allocate_memory(0, 100, kind=kind)
        array.fill(7)
        assert (array.numpy() == 7).all()
