"""Values of arrays: fills, comparisons, dtypes in every spelling."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "complex64", "complex128",
]  # fmt: skip
# Around the bytes that come from the host, and a size that is no power of two.
COUNTS = [0, 1, 3, 1 << 14, (1 << 14) + 1, 100_003]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0, 1, 1.0, True, np.float32(1), np.int64(1), np.array(1)], ids=repr)
def test_fill_sets_values_of_the_dtype(dtype, value):
    array = amdgpu.empty(5, dtype)
    array.fill(value)
    assert array.numpy().tolist() == [array.numpy().dtype.type(value)] * 5


@pytest.mark.parametrize("count", COUNTS)
def test_fill_reaches_every_element(count):
    array = amdgpu.empty(count, "float64")
    array.fill(np.pi)
    assert (array.numpy() == np.pi).all()


def test_a_view_is_filled_and_no_more():
    array = amdgpu.zeros((3, 4), "int32")
    array.reshape(12).fill(-5)
    assert (array.numpy() == -5).all()
    memory = np.zeros(6, "float32")
    amdgpu.from_dlpack(memory[1:5]).fill(2.5)
    assert memory.tolist() == [0, 2.5, 2.5, 2.5, 2.5, 0]


GAPPED = {
    "every second": lambda x: x[::2],
    "columns": lambda x: x[:, 1:3],
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::-1],
}


@pytest.mark.parametrize("view", GAPPED.values(), ids=GAPPED)
def test_views_with_gaps_are_filled_and_copied(view):
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        wanted, source = (rng.integers(0, 2, (6, 4)).astype(amdgpu.empty(1, dtype).numpy().dtype) for _ in range(2))
        array = amdgpu.array(wanted, device="cpu:0")
        view(array).fill(1)
        view(wanted)[...] = 1
        assert array.numpy().tobytes() == wanted.tobytes()
        view(array).copy_from(view(amdgpu.array(source, device="cpu:0")))
        view(wanted)[...] = view(source)
        assert array.numpy().tobytes() == wanted.tobytes()
        # Only one of both has gaps.
        dense = amdgpu.empty(view(wanted).shape, dtype, device="cpu:0")
        dense.copy_from(view(array))
        assert (dense.numpy() == view(wanted)).all()
        view(array).copy_from(np.ascontiguousarray(view(source[::-1])))
        view(wanted)[...] = view(source[::-1])
        assert array.numpy().tobytes() == wanted.tobytes()
        view(array).fill_bytes(0)
        view(wanted)[...] = 0
        assert array.numpy().tobytes() == wanted.tobytes()


def test_views_with_gaps_of_a_gpu_are_filled_and_copied_by_its_kernels():
    """On a device that computes nothing: the kernels are compiled for a GPU and launched."""
    for dtype in ("bool", "float16", "float32", "complex128"):
        array = amdgpu.zeros((6, 4), dtype, device="null:gfx1100")
        array[:, 1:3].fill(1)
        array[::2].copy_from(array[1::2])
        array.T[1].fill_bytes(0)
        assert array.device == "null:gfx1100"


def test_views_of_one_memory_are_copied_as_if_one_were_elsewhere():
    array = amdgpu.arange(10)
    array[1:].copy_from(array[:-1])
    assert array.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    array = amdgpu.arange(10)
    array[::2].copy_from(array[4::-1])
    assert array.tolist() == [4, 1, 3, 3, 2, 5, 1, 7, 0, 9]


def test_views_with_gaps_are_copied_between_devices():
    null, here = (
        amdgpu.zeros((4, 4), "float32", device="null:gfx1100"),
        amdgpu.ones((4, 4), dtype="float32", device="cpu:0"),
    )
    null[::2].copy_from(here[::2])
    here[:, ::2].copy_from(null[:, ::2])
    # A null device holds nothing.
    assert here.tolist() == [[0, 1, 0, 1]] * 4
    strided = np.arange(8.0, dtype="float32")[::2]
    line = amdgpu.zeros(4, "float32", device="cpu:0")
    line.copy_from(strided)
    assert line.tolist() == [0, 2, 4, 6]


def test_places_that_two_elements_share_are_not_written():
    array = amdgpu.zeros((1, 3), "float32")
    with pytest.raises(errors.ReadOnlyError):
        array.broadcast_to(2, 3).fill(1)
    with pytest.raises(errors.ReadOnlyError):
        array.broadcast_to(2, 3).copy_from(np.ones((2, 3), "float32"))


def test_fills_of_views_with_gaps_are_part_of_graphs():
    array = amdgpu.zeros((100, 3), "float32", device="cpu:0")
    with amdgpu.CapturedGraph() as graph:
        array[:, 1].fill(2.5)
    assert not array.numpy().any()
    graph.replay()
    assert (array.numpy() == [0, 2.5, 0]).all()


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("uint8", 256, errors.InvalidArgumentError),
        ("uint8", -1, errors.InvalidArgumentError),
        ("int64", 1 << 63, errors.InvalidArgumentError),
        ("int32", 1.5, errors.InvalidArgumentError),
        ("int32", float("nan"), errors.InvalidArgumentError),
        ("int32", float("inf"), errors.InvalidArgumentError),
        ("bool", 2, errors.InvalidArgumentError),
        ("float32", 1j, errors.InvalidTypeError),
        ("float32", "1", errors.InvalidTypeError),
        ("float32", None, errors.InvalidTypeError),
        ("float32", [1], errors.InvalidTypeError),
        ("float32", np.ones(1), errors.InvalidTypeError),
    ],
)
def test_fill_refuses_what_the_dtype_does_not_hold(dtype, value, error):
    array = amdgpu.zeros(3, dtype)
    with pytest.raises(error, match=rf"fill of a {dtype} array"):
        array.fill(value)
    assert not array.numpy().any()


def test_largest_values_are_filled_as_they_are():
    for dtype in ("int64", "uint64", "int8", "uint32"):
        for value in (np.iinfo(dtype).min, np.iinfo(dtype).max):
            array = amdgpu.empty(3, dtype)
            array.fill(value)
            assert array.numpy().tolist() == [value] * 3


def test_bytes_are_filled_by_name():
    array = amdgpu.empty(2, "uint32")
    array.fill_bytes(0x7F)
    assert array.numpy().tolist() == [0x7F7F7F7F] * 2
    for value in (-1, 256):
        with pytest.raises(errors.InvalidArgumentError, match="0 to 255"):
            array.fill_bytes(value)


@pytest.mark.parametrize("value", [0, 1.5])
def test_fills_are_part_of_graphs(value):
    array = amdgpu.zeros(100_003, "float32", device="cpu:0")
    with amdgpu.CapturedGraph() as graph:
        array.fill(value)
    assert not array.numpy().any()
    for _ in range(2):
        graph.replay()
        assert (array.numpy() == np.float32(value)).all()
        array.fill(7)


def test_comparisons_are_elementwise():
    a, b = amdgpu.array([1.0, 2.0, 3.0]), amdgpu.array([3.0, 2.0, 1.0])
    assert (a == b).tolist() == [False, True, False]
    assert (a != b).tolist() == [True, False, True]
    assert ((a < b).tolist(), (a >= b).tolist()) == ([True, False, False], [False, True, True])
    assert (a == 2).tolist() == [False, True, False]
    assert (a == None) is False  # noqa: E711
    assert (a != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="'<' not supported"):
        _ = a < "text"
    assert isinstance(np.ones(3) == a, amdgpu.Array)


def test_arrays_are_keys_by_identity():
    a, b = amdgpu.zeros(3, "float32"), amdgpu.zeros(3, "float32")
    assert hash(a) == hash(a)
    named = {a: "a", b: "b"}
    assert (named[a], named[b], len({a, b, a})) == ("a", "b", 2)
    assert a in named


SPELLINGS = [
    "f4", "<f4", "=f4", "single", "double", "half", "e", "d", "f", "i8", "<i8", "?", "b", "B", "h", "uint", "intp", "int_", "c8", "D",
    float, int, bool, complex, np.float32, np.int8, np.uint64, np.complex64, np.dtype("int16"), np.dtype("<f8"), None,
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS, ids=repr)
def test_dtypes_are_taken_as_numpy_takes_them(spelling):
    for make in (amdgpu.zeros, amdgpu.empty):
        assert make(2, spelling).dtype == np.zeros(2, spelling).dtype


def test_dtypes_of_other_libraries_are_taken():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for spelling in (ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16), "bfloat16"):
        assert amdgpu.zeros(2, spelling).dtype == np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    "spelling", ["nonsense", ">f4", np.dtype(">i2"), "U3", object, "M8[s]", "f4,i4", 3.5, "float8"], ids=repr
)
def test_dtypes_that_devices_do_not_know_are_refused(spelling):
    with pytest.raises(errors.UnsupportedDtypeError):
        amdgpu.zeros(2, spelling)
