"""Operators of the device rdna beside those of torch's CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_map

Tensor = torch.Tensor

# Relative and absolute, of results of one operator.
TOLERANCES = {
    torch.float64: (1e-10, 1e-10),
    torch.float32: (2e-5, 2e-5),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
}
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def on_rdna(values: Any) -> Any:
    """The same arguments with tensors on rdna, views as views of the same strides."""
    return tree_map(lambda value: _moved(value) if isinstance(value, Tensor) else value, values)


def _moved(tensor: Tensor) -> Tensor:
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage()).to("rdna")
    moved = storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return moved.detach().requires_grad_(tensor.requires_grad)


def check(function: Callable[..., Any], *args: Any, tolerance: float | None = None, **kwargs: Any) -> None:
    """`function` gives the same on rdna, in the same shapes and dtypes."""
    wanted = function(*args, **kwargs)
    found = function(*on_rdna(args), **on_rdna(kwargs))
    compare(found, wanted, tolerance)


def compare(found: Any, wanted: Any, tolerance: float | None = None) -> None:
    """Both are the same within the tolerances of their dtypes."""
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            compare(one, other, tolerance)
    elif isinstance(wanted, Tensor):
        assert found.device.type == "rdna"
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        relative, absolute = TOLERANCES.get(wanted.dtype, (0, 0))
        if tolerance is not None:
            relative = absolute = tolerance
        torch.testing.assert_close(found.detach().cpu(), wanted.detach(), rtol=relative, atol=absolute, equal_nan=True)
    else:
        assert found == wanted


def check_gradients(function: Callable[..., Tensor], *args: Any, tolerance: float = 1e-4, **kwargs: Any) -> None:
    """`function` and its gradients by all arguments that want one are the same on rdna."""
    moved = on_rdna(args)
    wanted, found = function(*args, **kwargs), function(*moved, **on_rdna(kwargs))
    compare(found, wanted, tolerance)
    weights = torch.linspace(-1, 1, wanted.numel(), dtype=wanted.dtype).reshape(wanted.shape)
    by = [argument for argument in args if isinstance(argument, Tensor) and argument.requires_grad]
    by_moved = [argument for argument in moved if isinstance(argument, Tensor) and argument.requires_grad]
    compare(
        torch.autograd.grad(found, by_moved, weights.to("rdna")), torch.autograd.grad(wanted, by, weights), tolerance
    )


def values(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, *, low: float = -3, high: float = 3) -> Tensor:
    """Numbers that repeat from run to run."""
    generator = torch.Generator().manual_seed(sum(shape) + 7)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if not dtype.is_floating_point:
        start = 0 if dtype == torch.uint8 else int(low)
        return torch.randint(start, int(high) + 1, shape, generator=generator).to(dtype)
    return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype)


def layouts(dtype: torch.dtype = torch.float32, *, low: float = -3, high: float = 3) -> Iterator[Tensor]:
    """Tensors in row-major order, transposed, with gaps, repeated, backwards in memory, without axes and without elements."""
    yield values((3, 4), dtype, low=low, high=high)
    yield values((4, 3), dtype, low=low, high=high).T
    yield values((6, 12), dtype, low=low, high=high)[1::2, 2::3]
    yield values((1, 4), dtype, low=low, high=high).expand(3, 4)
    yield values((2, 3, 4), dtype, low=low, high=high).permute(2, 0, 1)
    yield values((), dtype, low=low, high=high)
    yield values((0, 4), dtype, low=low, high=high)
