"""The operations as the dispatcher calls them: on the device, or, where it cannot, by the CPU with a fallback that is counted and said."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.array import array
from amdgpu.device_ops import embedding as rows
from amdgpu.device_ops import normalize as normalizations
from amdgpu.device_ops import pool as pools
from amdgpu.device_ops import reduce as reductions
from amdgpu.device_ops import scan as scans
from amdgpu.device_ops import top_k as searches
from amdgpu.device_ops import transpose as transposes
from amdgpu.errors import CodeGenerationError, CompileError, NoImplementationError, UnsupportedFeatureError
from amdgpu.gpu_kernels import images
from amdgpu.ops.convolve import on_host as convolve_on_host

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# What a device cannot do; whatever else goes wrong is the caller's to know.
_REASONS = (NoImplementationError, CompileError, CodeGenerationError, UnsupportedFeatureError)


def _placed(operation: str, on_device: Callable[..., Any], on_host: Callable[..., Any]) -> Callable[..., Any]:
    """A function that tries the device first."""

    @functools.wraps(on_device)
    def compute(*arguments: Any, device: AMDGPUDevice, **options: Any) -> Any:
        try:
            return on_device(*arguments, device=device, **options)
        except _REASONS as error:
            _native.record_fallback(operation, f"the CPU computes what {device.name} does not: {error}")
        out = options.pop("out", None)
        result = on_host(*(_to_host(argument) for argument in arguments), **options)
        if out is not None:
            out.copy_from(result)
            return out
        if isinstance(result, tuple):
            return tuple(array(one, device=device.name) for one in result)
        return array(result, device=device.name)

    return compute


def _to_host(argument: Any) -> Any:
    if isinstance(argument, tuple):
        return tuple(_to_host(one) for one in argument)
    if isinstance(argument, _native.Array) and not argument.is_on_host:
        return argument.numpy()
    return argument


convolve = _placed("convolve", images.convolve, convolve_on_host)
embedding = _placed("embedding", rows.embedding, _native.embedding)
normalize = _placed("normalize", normalizations.normalize, _native.normalize)
normalize_gradient = _placed("normalize_gradient", normalizations.normalize_gradient, _native.normalize_gradient)
pool = _placed("pool", pools.pool, _native.pool)
reduce = _placed("reduce", reductions.reduce, _native.reduce)
scan = _placed("scan", scans.scan, _native.scan)
top_k = _placed("top_k", searches.top_k, _native.top_k)
transpose = _placed("transpose", transposes.transpose, _native.transpose)
