"""Arrays in files of NumPy's formats, `.npy` and `.npz`.

NumPy writes and reads them; values of a device pass through the memory of the host. bfloat16, which the formats do not know, is kept as
two raw bytes a value.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.errors import InvalidTypeError

if TYPE_CHECKING:
    from amdgpu._native import Array
    from amdgpu.device import AMDGPUDevice

    File = str | os.PathLike[str] | IO[bytes]

__all__ = ["load", "save", "savez", "savez_compressed"]


def save(file: File, x: Any, /) -> None:
    """Write an array to a `.npy` file.

    Args:
        file: A path, to which `.npy` is added where it is missing, or a file that is open for writing bytes.
        x: An array, or what NumPy makes one of.

    Raises:
        OSError: The file cannot be written.

    Example:
        >>> import amdgpu, io
        >>> file = io.BytesIO()
        >>> amdgpu.save(file, amdgpu.asarray([1, 2]))
        >>> amdgpu.load(io.BytesIO(file.getvalue())).tolist()
        [1, 2]
    """
    import numpy as np

    np.save(file, _host(x), allow_pickle=False)


def savez(file: File, /, *arrays: Any, **named: Any) -> None:
    """Write arrays to one `.npz` file, under `arr_0`, `arr_1` … or the names of keywords; arguments and errors as for `save`."""
    import numpy as np

    np.savez(file, *map(_host, arrays), **{name: _host(one) for name, one in named.items()})


def savez_compressed(file: File, /, *arrays: Any, **named: Any) -> None:
    """As `savez`, with the arrays compressed."""
    import numpy as np

    np.savez_compressed(file, *map(_host, arrays), **{name: _host(one) for name, one in named.items()})


def load(file: File, /, *, device: AMDGPUDevice | int | str | None = None) -> Array | dict[str, Array]:
    """Read the array of a `.npy` file, or those of an `.npz` file by name.

    Args:
        file: A path, or a file that is open for reading bytes.
        device: Where the arrays lie; None means the current device.

    Raises:
        InvalidTypeError: The file is of another kind, or holds Python objects, which are not read: they can run code.
        OSError: The file cannot be read.
    """
    import numpy as np

    from amdgpu.array import array

    try:
        found = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InvalidTypeError(f"load: the file holds no arrays of numbers: {error}") from None
    if isinstance(found, np.ndarray):
        return array(_known(found), device=device)
    with found:
        return {name: array(_known(found[name]), device=device) for name in found.files}


def _host(x: Any) -> Any:
    return x.numpy() if isinstance(x, _native.Array) else x


def _known(values: Any) -> Any:
    is_bfloat16 = values.dtype.kind == "V" and values.dtype.itemsize == 2 and values.dtype.names is None
    return values.view(_native.numpy_dtype("bfloat16")) if is_bfloat16 else values
