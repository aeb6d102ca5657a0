"""Loads the compiled shim and the kernel library, and registers the device with torch."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from amdgpu import _native
from amdgpu.torch import compiling

# Loads libamdgpu.so, which the shim is linked with.
assert _native is not None

KERNEL_LIBRARY = Path(__file__).resolve().parent.parent / "_lib" / "libamdgpu_torch.so"

_shim: ModuleType | None = None


def shim() -> Any:
    """The module of the compiled shim.

    Raises:
        ImportError: It is not loaded.
    """
    if _shim is None:
        raise ImportError("the PyTorch device rdna is not loaded: import amdgpu.torch")
    return _shim


def is_command() -> bool:
    """Whether the interpreter looks for `amdgpu.torch.build` to run it: this package is imported before, and the shim need not be there."""
    # Python's own arguments as they were given; `sys.argv` begins with "-m" until the module was found.
    return sys.argv[:1] == ["-m"] and any(
        argument.removeprefix("-m").startswith("amdgpu.torch.") for argument in sys.orig_argv[1:]
    )


def load() -> None:
    """Registers the device, unless it is registered already.

    Raises:
        ImportError: torch is missing or too old, or the shim is not compiled for it.
        ImportError: The shim that is there cannot be loaded.
        RuntimeError: Another package has taken torch's place for a device of its own.
    """
    global _shim
    if _shim is not None:
        return
    installed = compiling.installed_torch()
    path = compiling.shim_path(installed)
    if not path.exists():
        raise ImportError(
            f"the PyTorch device rdna is not compiled for torch {installed.version} yet: run `python -m amdgpu.torch.build` "
            "once, which takes about a minute and needs g++ 12 or newer"
        )
    _check_name_is_free()
    _shim = _load_module(path)
    _register()


def _check_name_is_free() -> None:
    import torch

    name = torch._C._get_privateuse1_backend_name()  # noqa: SLF001 - torch has no other way to ask
    if name not in ("privateuseone", "rdna"):
        raise RuntimeError(
            f"torch has one place for devices of other packages, and {name!r} has taken it in this process; "
            "run rdna in a process without it"
        )


def _load_module(path: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(compiling.MODULE, str(path))
    spec = importlib.util.spec_from_file_location(compiling.MODULE, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} is no Python module; run `python -m amdgpu.torch.build --force`")
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        if KERNEL_LIBRARY.exists():
            module.load_kernels(str(KERNEL_LIBRARY))
        module.complete_operators()
    except (ImportError, RuntimeError) as error:
        raise ImportError(f"{path} cannot be loaded ({error}); run `python -m amdgpu.torch.build --force`") from error
    sys.modules[compiling.MODULE] = module
    return module


def _register() -> None:
    import torch

    from amdgpu.torch import distributed, exchange, profiling, rdna

    torch.utils.rename_privateuse1_backend("rdna")
    torch._register_device_module("rdna", rdna)  # noqa: SLF001 - what its documentation names for this
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    exchange.install()
    profiling.install()
    distributed.register()
