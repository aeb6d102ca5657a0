"""Payloads with arrays: the binary layout, and what text says instead."""

import json

import numpy as np
import pytest

pytest.importorskip("msgspec")
from amdgpu import errors
from amdgpu.server import arrays
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

dtypes = st.sampled_from(sorted(arrays.DTYPES))
some_arrays = dtypes.flatmap(
    lambda name: npst.arrays(np.dtype(name), npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)
values = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10).filter(str.isprintable)
payloads = st.dictionaries(
    st.sampled_from("abcdef"),
    st.recursive(
        values | some_arrays, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("x"), inner)
    ),
    max_size=4,
)


def same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b


@settings(
    suppress_health_check=[HealthCheck.too_slow]
)  # A busy machine draws slowly; the first payload makes NumPy's tables.
@given(payloads)
def test_what_is_packed_is_unpacked(payload):
    assert same(payload, arrays.unpack(arrays.pack(payload)))


def test_the_layout_is_the_documented_one():
    packed = arrays.pack({"args": [np.array([1, 2, 3], "uint8"), np.array([[0.5]], "float32")], "n": 7})
    length = int.from_bytes(packed[:4], "little")
    assert json.loads(packed[4 : 4 + length]) == {
        "args": [{"$array": 0}, {"$array": 1}],
        "n": 7,
        "$arrays": [{"dtype": "uint8", "shape": [3]}, {"dtype": "float32", "shape": [1, 1]}],
    }
    start = -(-(4 + length) // 8) * 8
    assert packed[4 + length : start] == bytes(start - 4 - length)
    assert packed[start : start + 8] == bytes([1, 2, 3, 0, 0, 0, 0, 0])
    assert packed[start + 8 : start + 12] == np.float32(0.5).tobytes()


def with_header(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(4, "little") + text + bytes(-(4 + len(text)) % 8) + data


ONE = {"a": {"$array": 0}, "$arrays": [{"dtype": "int32", "shape": [2]}]}


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "four bytes"),
        (b"\x08\x00\x00\x00{}", "header has 8 bytes"),
        (with_header(b"nonsense"), "not JSON"),
        (with_header([]), "no object"),
        (with_header(ONE, b"\x01\x00\x00\x00"), "of which 4 are there"),
        (with_header(ONE, bytes(16)), "follow the last array"),
        (with_header(ONE, bytes(8) + b"\x01"), "follow the last array"),
        (with_header({"a": {"$array": 1}, "$arrays": []}), "names none"),
        (with_header({"a": {"$array": True}, "$arrays": []}), "names none"),
        (with_header({"$arrays": {}}), "no list"),
        (with_header({"$arrays": [{"dtype": "int32", "shape": [1]}] * 300}), "no list"),
        (with_header({"$arrays": [{"dtype": "object", "shape": [1]}]}), "must be one of"),
        (with_header({"$arrays": [{"dtype": ["int32"], "shape": [1]}]}), "must be one of"),
        (with_header({"$arrays": [{"dtype": "int32", "shape": [-1]}]}), "no list of at most"),
        (with_header({"$arrays": [{"dtype": "int32", "shape": [2**61, 2**61, 2**61]}]}), "of which"),
        (with_header({"$arrays": [{"dtype": "int32", "shape": [1] * 40}]}), "no list of at most"),
        (with_header(b'{"a":' * 40 + b"1" + b"}" * 40), "nested deeper"),
    ],
)
def test_other_layouts_are_refused(data, match):
    with pytest.raises(errors.InvalidMessageError, match=match):
        arrays.unpack(data)


def test_a_header_that_would_hold_up_the_others_is_refused():
    with pytest.raises(errors.LimitExceededError, match="header"):
        arrays.unpack(with_header({"x": "y" * (1 << 20)}))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_payload_or_an_error(data):
    try:
        assert isinstance(arrays.unpack(data), dict)
    except (errors.InvalidMessageError, errors.LimitExceededError):
        return


@given(payloads, st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_payload_is_a_payload_or_an_error(payload, position, byte):
    packed = bytearray(arrays.pack(payload))
    packed[position % len(packed)] = byte
    try:
        assert isinstance(arrays.unpack(bytes(packed)), dict)
    except (errors.InvalidMessageError, errors.LimitExceededError, errors.UnsupportedDtypeError):
        return


def test_text_says_what_is_not_finite():
    payload = {"output": np.array([[1.5, np.nan], [np.inf, -np.inf]], "float32"), "n": np.arange(3)}
    text = json.dumps(arrays.to_text(payload), allow_nan=False)
    assert json.loads(text) == {"output": [[1.5, "NaN"], ["Infinity", "-Infinity"]], "n": [0, 1, 2]}


def test_base64_holds_an_array():
    array = arrays.from_text({"$base64": "AACAPwAAAEA=", "dtype": "float32", "shape": [2]}, "x")
    assert array.tolist() == [1.0, 2.0]
    for wrong in ("AACAPw==", "%%%%", None):
        with pytest.raises(errors.InvalidMessageError):
            arrays.from_text({"$base64": wrong, "dtype": "float32", "shape": [2]}, "x")


def test_bfloat16_keeps_its_bits():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.array([1.0, -0.0, 3.140625], ml_dtypes.bfloat16)
    (found,) = arrays.unpack(arrays.pack({"a": [values]}))["a"]
    assert found.dtype == ml_dtypes.bfloat16
    assert found.tobytes() == values.tobytes()
