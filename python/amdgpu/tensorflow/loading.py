"""Loads the plug-in into TensorFlow."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

from amdgpu import _native

# Loads libamdgpu.so, which the plug-in calls.
assert _native is not None

LIBRARY = Path(__file__).resolve().parent.parent / "_lib" / "libamdgpu_tensorflow.so"
# The oldest version that the plug-in was tried with.
OLDEST = (2, 18)

_plug_in: ctypes.CDLL | None = None


def plug_in() -> ctypes.CDLL:
    """The library of the plug-in.

    Raises:
        ImportError: It is not loaded.
    """
    if _plug_in is None:
        raise ImportError("the TensorFlow device RDNA is not loaded: import tf_rdna")
    return _plug_in


def load() -> None:
    """Adds the device to TensorFlow, unless it is there already.

    Raises:
        ImportError: TensorFlow is missing or too old, or has made its devices already, or the plug-in is not built or refused.
    """
    global _plug_in
    if _plug_in is not None:
        return
    if "tensorflow" not in sys.modules:
        # TensorFlow shows an LLVM to the whole process, which drivers that bring their own are not to meet: they are opened before it.
        _native.list_devices()
    check_version(installed_version())
    if not LIBRARY.exists():
        raise ImportError(
            f"the plug-in of the TensorFlow device RDNA is missing ({LIBRARY}): reinstall amdgpu, or run `./x build` in its working tree"
        )
    _check_no_devices()
    library = _open(LIBRARY)
    from amdgpu.tensorflow import compilation, fusion, keras_defaults, optimizers, reports, variables

    variables.install(updates_natively=bool(library.agpu_tensorflow_updates_variables()))
    optimizers.install()
    keras_defaults.install()
    compilation.install()
    _plug_in = library
    reports.install()
    fusion.install()


def installed_version() -> str:
    """The version of TensorFlow.

    Raises:
        ImportError: There is none.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ImportError(
            f"the device RDNA needs TensorFlow, which cannot be imported ({error}): pip install tensorflow-cpu"
        ) from error
    return str(tf.__version__)


def check_version(version: str) -> None:
    """Refuses a TensorFlow that is older than the plug-in can use.

    Raises:
        ImportError: It is.
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(
            f"the device RDNA needs TensorFlow {oldest} or newer, but {version} is installed: pip install --upgrade tensorflow-cpu"
        )


def _check_no_devices() -> None:
    from tensorflow.python.eager import context

    if getattr(context.context(), "_initialized", False):
        raise ImportError(
            "TensorFlow has made its list of devices already, to which RDNA cannot be added: import tf_rdna before the first tensor is made"
        )


def _open(path: Path) -> ctypes.CDLL:
    from tensorflow.python.framework import errors
    from tensorflow.python.framework.load_library import load_pluggable_device_library

    try:
        load_pluggable_device_library(str(path))
    except errors.OpError as error:
        raise ImportError(f"TensorFlow refuses the plug-in {path} ({error.message})") from error
    library = ctypes.CDLL(str(path))
    for name in ("kernel", "registration_error", "device_name", "last_error", "collective_engine"):
        getattr(library, f"agpu_tensorflow_{name}").restype = ctypes.c_char_p
    library.agpu_tensorflow_kernel.argtypes = [ctypes.c_uint64]
    library.agpu_tensorflow_struct_size.restype = ctypes.c_size_t
    reason = library.agpu_tensorflow_registration_error()
    if reason is not None:
        raise ImportError(f"TensorFlow refuses kernels of the plug-in ({reason.decode()})")
    return library
