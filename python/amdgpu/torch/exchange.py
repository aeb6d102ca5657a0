"""DLPack, and memory shared with arrays of amdgpu."""

from __future__ import annotations

import functools
from typing import Any

import torch

from amdgpu._native import Array
from amdgpu.array import from_dlpack
from amdgpu.torch.devices import device_index
from amdgpu.torch.loading import shim

# kDLExtDev: what torch itself calls a device of another package in DLPack.
_OTHER_DEVICE = 12


class _Lent:
    """The memory of a tensor as DLPack on the device beneath rdna."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        place: tuple[int, int] = shim().beneath(self.tensor.device.index)
        return place

    def __dlpack__(self, **options: Any) -> Any:
        del options
        return shim().lend(self.tensor)


def as_array(tensor: torch.Tensor) -> Array:
    """An `amdgpu.Array` over the memory of a tensor, without a copy.

    Args:
        tensor: On rdna, of a dtype that arrays have.

    Returns:
        The array, which keeps the memory alive; what is written to one is seen in the other.

    Raises:
        ValueError: The tensor is not on rdna.
        BufferError: The tensor needs gradients, or is read as a conjugate.

    Example:
        >>> x = torch.ones(3, device="rdna")  # doctest: +SKIP
        >>> amdgpu.ops.add(torch.rdna.as_array(x), 1.0)  # doctest: +SKIP
    """
    if tensor.device.type != "rdna":
        raise ValueError(f"as_array takes a tensor of rdna, not one of {tensor.device}; use amdgpu.from_dlpack")
    if tensor.requires_grad:
        raise BufferError("the tensor needs gradients, of which the array would know nothing; pass tensor.detach()")
    if tensor.is_conj() or tensor.is_neg():
        raise BufferError(
            "the tensor is a conjugate or negative view of its memory; pass tensor.resolve_conj().resolve_neg()"
        )
    return from_dlpack(_Lent(tensor))


def as_tensor(array: Any, device: Any = None) -> torch.Tensor:
    """A tensor of rdna over the memory of an `amdgpu.Array`, without a copy.

    Args:
        array: On the device beneath; anything else that has DLPack there.
        device: Which rdna device, where several stand for the array's; None is the current one.

    Returns:
        The tensor, which keeps the memory alive; what is written to one is seen in the other.

    Raises:
        RuntimeError: The array is on another device.
    """
    tensor: torch.Tensor = shim().borrow(array.__dlpack__(), device_index(device))
    return tensor


def install() -> None:
    """Lets tensors of rdna say in DLPack where they are, which torch refuses for devices that were renamed."""
    known = torch.Tensor.__dlpack_device__
    if getattr(known, "_knows_rdna", False):
        return

    @functools.wraps(known)
    def __dlpack_device__(self: torch.Tensor) -> tuple[Any, int]:  # noqa: N807 - a method of Tensor
        if self.device.type == "rdna":
            return _OTHER_DEVICE, self.device.index
        place: tuple[Any, int] = known(self)
        return place

    __dlpack_device__._knows_rdna = True  # type: ignore[attr-defined]  # noqa: SLF001 - our own mark
    torch.Tensor.__dlpack_device__ = __dlpack_device__
