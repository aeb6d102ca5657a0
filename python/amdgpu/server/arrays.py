"""Payloads with arrays in them: the binary layout, and what text can say instead.

A binary payload is a header and raw arrays, so that typed arrays travel without a detour through JSON:

    u32 little endian   bytes of the header text
    header              UTF-8 JSON; `{"$array": i}` stands for an array, `"$arrays": [{"dtype", "shape"}, ...]` says what they are
    zeros               to the next multiple of 8, counted from the start
    array 0, zeros to the next multiple of 8, array 1, ...      little endian, C order

Offsets are not written down, they follow. Anything else than up to seven zero bytes after the last array is an error.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from amdgpu._generated.dtypes import COMPUTED
from amdgpu.errors import InvalidMessageError, LimitExceededError, UnsupportedDtypeError

ALIGNMENT = 8
# Kernels take at most a few dozen arguments; a header that lists more is none.
MAX_ARRAYS = 256
MAX_DIMENSIONS = 16
# JSON of more would hold up the event loop.
MAX_HEADER_BYTES = 1 << 20
MAX_DEPTH = 32
LENGTH = struct.Struct("<I")
# NumPy has no bfloat16 of its own.
BFLOAT16 = "bfloat16"
DTYPES = {name: np.dtype(name).newbyteorder("<") for name in COMPUTED if name != BFLOAT16}
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def pack(payload: dict[str, Any]) -> bytes:
    """A payload with NumPy arrays in it as header and raw arrays."""
    arrays: list[np.ndarray[Any, Any]] = []

    def place(array: np.ndarray[Any, Any]) -> Any:
        arrays.append(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape))
        return {"$array": len(arrays) - 1}

    header = _walk(payload, place, 0)
    if arrays:
        header["$arrays"] = [{"dtype": array.dtype.name, "shape": array.shape} for array in arrays]
    text = msgspec.json.encode(header)
    parts = [LENGTH.pack(len(text)), text, bytes(-(LENGTH.size + len(text)) % ALIGNMENT)]
    for array in arrays:
        parts += [array.tobytes(), bytes(-array.nbytes % ALIGNMENT)]
    return b"".join(parts)


def unpack(data: bytes) -> dict[str, Any]:
    """The payload of `pack`; its arrays are read-only views of `data`.

    Raises:
        InvalidMessageError: `data` has another layout; the message says where.
        LimitExceededError: Its header is too long.
    """
    if len(data) < LENGTH.size:
        raise InvalidMessageError("a binary payload starts with the four bytes of its header's length")
    (length,) = LENGTH.unpack_from(data)
    if length > MAX_HEADER_BYTES:
        raise LimitExceededError(
            f"the header has {length} bytes; at most {MAX_HEADER_BYTES} are read, arrays follow it"
        )
    start = LENGTH.size + length
    if len(data) < start:
        raise InvalidMessageError(f"the header has {length} bytes, of which {len(data) - LENGTH.size} are there")
    try:
        header = msgspec.json.decode(data[LENGTH.size : start])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidMessageError(f"the header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise InvalidMessageError("the header is no object")
    arrays = _arrays(data, start, header.pop("$arrays", []))

    def resolve(value: dict[str, Any]) -> Any:
        if "$array" not in value:
            return value
        index = value["$array"]
        if len(value) != 1 or type(index) is not int or not 0 <= index < len(arrays):
            raise InvalidMessageError(f'{{"$array": {index!r}}} names none of the {len(arrays)} arrays')
        return arrays[index]

    result: dict[str, Any] = _walk(header, None, 0, resolve)
    return result


def _arrays(data: bytes, end_of_header: int, described: Any) -> list[np.ndarray[Any, Any]]:
    if not isinstance(described, list) or len(described) > MAX_ARRAYS:
        raise InvalidMessageError(f'"$arrays" is no list of at most {MAX_ARRAYS}')
    arrays = []
    position = end_of_header
    for index, entry in enumerate(described):
        dtype, shape = described_array(entry, f"array {index}")
        position += -position % ALIGNMENT
        bytes_of_array = math.prod(shape) * dtype.itemsize
        if position + bytes_of_array > len(data):
            left = max(len(data) - position, 0)
            raise InvalidMessageError(f"array {index} has {bytes_of_array} bytes, of which {left} are there")
        count = math.prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, position if count else 0).reshape(shape))
        position += bytes_of_array
    if len(data) - position >= ALIGNMENT or any(data[position:]):
        raise InvalidMessageError(f"{len(data) - position} bytes follow the last array")
    return arrays


def described_array(entry: Any, what: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Dtype and shape of `{"dtype", "shape"}`.

    Raises:
        InvalidMessageError: It describes no array.
    """
    if not isinstance(entry, dict):
        raise InvalidMessageError(f'{what} is not described by {{"dtype", "shape"}}')
    name, shape = entry.get("dtype"), entry.get("shape")
    dtype = _dtype(name)
    if dtype is None:
        raise InvalidMessageError(f"dtype of {what} must be one of {', '.join(DTYPES)}, {BFLOAT16}, got {name!r}")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(map(_is_extent, shape)):
        raise InvalidMessageError(f"shape of {what} is no list of at most {MAX_DIMENSIONS} counts")
    return dtype, tuple(shape)


def _is_extent(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _dtype(name: Any) -> np.dtype[Any] | None:
    if name == BFLOAT16:
        try:
            import ml_dtypes
        except ImportError:
            raise UnsupportedDtypeError(f"{BFLOAT16} arrays need ml_dtypes where the server runs") from None
        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    return DTYPES.get(name) if isinstance(name, str) else None


def from_text(entry: dict[str, Any], what: str) -> np.ndarray[Any, Any]:
    """The array of `{"$base64", "dtype", "shape"}`, for clients without binary frames."""
    dtype, shape = described_array(entry, what)
    try:
        raw = base64.b64decode(str(entry["$base64"]), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidMessageError(f"{what} is not base64: {error}") from None
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise InvalidMessageError(f"{what} has {len(raw)} bytes; {list(shape)} of {dtype.name} have others")
    return np.frombuffer(raw, dtype).reshape(shape)


def to_text(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload for JSON: arrays become nested lists, in which what is not finite is a string."""
    result: dict[str, Any] = _walk(payload, _as_list, 0)
    return result


def finite_or_text(value: Any) -> Any:
    """A number as JSON can say it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _as_list(array: np.ndarray[Any, Any]) -> Any:
    values = array.tolist()
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return values

    def convert(value: Any) -> Any:
        return [convert(each) for each in value] if isinstance(value, list) else finite_or_text(value)

    return convert(values)


def _walk(
    value: Any,
    on_array: Callable[[np.ndarray[Any, Any]], Any] | None,
    depth: int,
    on_dict: Callable[[dict[str, Any]], Any] | None = None,
) -> Any:
    """A copy in which arrays, or dicts, are replaced."""
    if depth > MAX_DEPTH:
        raise InvalidMessageError(f"the payload is nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        replaced = value if on_dict is None else on_dict(value)
        if not isinstance(replaced, dict):
            return replaced
        return {key: _walk(each, on_array, depth + 1, on_dict) for key, each in replaced.items()}
    if isinstance(value, list | tuple):
        return [_walk(each, on_array, depth + 1, on_dict) for each in value]
    if on_array is not None and isinstance(value, np.ndarray):
        return on_array(value)
    return value
