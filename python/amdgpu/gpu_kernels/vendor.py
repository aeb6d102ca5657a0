"""Products by the GPU vendors' libraries: which are there, which were found right, and calls of them.

A library is opened when a choice first considers it. Before the first use for a number format it computes a small product, which is
compared with our own kernel's; wrong answers are refused, said once, and ours computes from then on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from amdgpu import _native
from amdgpu.array import array
from amdgpu.errors import AmdgpuError, LibraryMissingError, NoImplementationError
from amdgpu.gpu_kernels.loading import facts_of
from amdgpu.gpu_kernels.problem import DTYPES, ERROR_BOUNDS, Problem
from amdgpu.tuning.entries import OUTPUTS

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_LIBRARIES = {"cuda": ("cublaslt",), "hip": ("hipblaslt", "rocblas")}
# Where wheels put them, below the folders of `sys.path`.
_WHEEL_FOLDERS = {"cuda": ("nvidia/cu13/lib", "nvidia/cublas/lib"), "hip": ("torch/lib",)}
# gelu of the libraries is the approximation by tanh, ours is the one by erf; they have no silu.
_EPILOGUES = ("", "bias", "relu")
# Sums of int8 products that cannot leave 32 bits; beyond, ours wraps and a library may not.
_MAX_INT8_DEPTH = 131_071
# Of the product that is compared: no multiple of a tile, but rows of whole vectors in every format.
_ROWS, _COLUMNS, _DEPTH, _BATCH = 80, 48, 112, 2
_CPU_PRECISIONS = {"f64": "fp64", "f32": "fp32", "tf32": "tf32", "f16": "fp16", "bf16": "bf16", "i8": "int8"}


class Session:
    """A library on a device."""

    def __init__(self, device: AMDGPUDevice, native: _native.VendorSession) -> None:
        self._device = device.name
        self._architecture = facts_of(device)[0]
        self._native = native
        # By number format and epilogue.
        self._verdicts: dict[tuple[str, str], bool] = {}

    def multiply(
        self,
        problem: Problem,
        a: _native.Array,
        b: _native.Array,
        out: _native.Array,
        *,
        bias: _native.Array | None = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        stream: _native.Stream | None = None,
    ) -> bool:
        """Compute a product; False when the library does not, and nothing was done. Without a stream it is queued on the device's own."""
        return self._native.multiply(
            a,
            b,
            out,
            extents=(problem.m, problem.n, problem.k, problem.batch),
            number=problem.operand,
            transposes=(problem.layout[0] == "t", problem.layout[1] == "t"),
            bias=bias,
            relu=problem.epilogue == "relu",
            alpha=alpha,
            beta=beta,
            stream=stream,
        )

    def require(
        self,
        problem: Problem,
        a: _native.Array,
        b: _native.Array,
        out: _native.Array,
        *,
        stream: _native.Stream | None = None,
    ) -> None:
        """As `multiply`.

        Raises:
            NoImplementationError: The library does not compute it.
        """
        if not self.multiply(problem, a, b, out, stream=stream):
            raise NoImplementationError(
                f"{self._native.library} does not compute {problem.operand} {problem.layout} of these extents"
            )

    def is_verified(self, operand: str, epilogue: str) -> bool:
        """Whether its products are right; asked once, then remembered."""
        key = (operand, epilogue)
        if key not in self._verdicts:
            self._verdicts[key] = self._verify(operand, epilogue)
        return self._verdicts[key]

    def _verify(self, operand: str, epilogue: str) -> bool:
        """Compares products of both layouts, computed a second time with `beta`, with those of our own kernels."""
        tried = False
        for layout in ("nn", "nt"):
            try:
                answer = self._compare(operand, epilogue, layout)
            except AmdgpuError as error:
                self._refuse(operand, f"fails with {type(error).__name__}")
                return False
            if answer is False:
                self._refuse(operand, "gives other results than our own kernels")
                return False
            tried = tried or answer is True
        return tried

    def _refuse(self, operand: str, what: str) -> None:
        _native.record_fallback(
            "matrix_multiply",
            f"{self._native.library} {what} for {operand} products on {self._architecture}: our own kernels compute them",
        )

    def _compare(self, operand: str, epilogue: str, layout: str) -> bool | None:
        """None when the library does not compute it."""
        output = OUTPUTS[operand]
        problem = Problem(_ROWS, _COLUMNS, _DEPTH, _BATCH, operand, output, layout, epilogue, is_aligned=True)
        random = np.random.default_rng(20261121)
        dtype = _dtype(operand)
        shapes = ((_BATCH, _ROWS, _DEPTH), (_BATCH, _DEPTH, _COLUMNS))
        if operand == "i8":
            a, b = (random.integers(-128, 128, shape).astype(dtype) for shape in shapes)
        else:
            a, b = (random.standard_normal(shape).astype(dtype) for shape in shapes)
        if epilogue == "relu":
            # What is not a number stays so.
            a[0, 3, 5] = np.nan
        bias = random.integers(-64, 64, _COLUMNS).astype(_dtype(output)) if epilogue else None
        stored_b = np.ascontiguousarray(b.swapaxes(1, 2)) if layout[1] == "t" else b
        left, right = (array(x, device=self._device) for x in (a, stored_b))
        out = array(np.full((_BATCH, _ROWS, _COLUMNS), 7, _dtype(output)), device=self._device)
        given = None if bias is None else array(bias, device=self._device)
        for beta in (0.0, 1.0):
            if not self.multiply(problem, left, right, out, bias=given, alpha=2.0, beta=beta):
                return None
        # Sums of our own kernels, before they are rounded to the format of the result.
        precision = _CPU_PRECISIONS[operand] if operand in ("f64", "i8") else "fp32"
        wide = [x if operand in ("f64", "i8") else x.astype(np.float32) for x in (a, b)]
        product = np.asarray(_native.matmul(*wide, precision=precision), np.float64)
        scale = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
        added = np.zeros(_COLUMNS) if bias is None else bias.astype(np.float64)
        first = 2 * product + added
        if epilogue == "relu":
            first = np.maximum(first, 0)
        second = 2 * product + first + added
        if epilogue == "relu":
            second = np.maximum(second, 0)
        result = out.numpy().astype(np.float64)
        bound = 2 * ERROR_BOUNDS[operand] * (4 * scale + 2 * np.abs(added))
        is_near = np.abs(result - second) <= bound
        return bool(np.all(is_near | (np.isnan(result) & np.isnan(second))))


def _dtype(number: str) -> Any:
    if number == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return DTYPES[number]


class Sessions:
    """Libraries of the vendor on a device.

    Attributes:
        found: The opened ones by name; None until they were looked for.
    """

    found: dict[str, Session] | None = None


def _sessions(device: AMDGPUDevice) -> dict[str, Session]:
    """The libraries that are there, opened."""
    sessions = device.native.cache(Sessions)
    if sessions.found is not None:
        return sessions.found
    kind = device.native.kind
    folders = [Path(entry) / folder for entry in sys.path for folder in _WHEEL_FOLDERS.get(kind, ())]
    found: dict[str, Session] = {}
    for library in _LIBRARIES.get(kind, ()):
        try:
            found[library] = Session(device, _native.VendorSession(device.native, library, folders))
        except LibraryMissingError:
            continue
        except AmdgpuError as error:
            _native.record_fallback("matrix_multiply", f"{library} does not start: {type(error).__name__}")
    sessions.found = found
    return found


def libraries_of(device: AMDGPUDevice) -> list[str]:
    """Names of the libraries that are there."""
    return list(_sessions(device))


def session_of(device: AMDGPUDevice, library: str) -> Session:
    """A library that is there."""
    return _sessions(device)[library]


def takes(problem: Problem) -> bool:
    """Whether a library may be asked for a product: it means the same as ours."""
    return (
        problem.epilogue in _EPILOGUES
        and problem.output == OUTPUTS[problem.operand]
        and problem.k > 0
        and not (problem.operand == "i8" and problem.k > _MAX_INT8_DEPTH)
    )


def is_verified(device: AMDGPUDevice, library: str, problem: Problem) -> bool:
    """Whether a library may compute a product: there, of the same meaning, found right."""
    session = _sessions(device).get(library)
    return session is not None and takes(problem) and session.is_verified(problem.operand, problem.epilogue)


def first_verified(device: AMDGPUDevice, problem: Problem) -> str:
    """The best library that may compute a product; empty when there is none."""
    return next((library for library in _sessions(device) if is_verified(device, library, problem)), "")


def absence(device: AMDGPUDevice, problem: Problem) -> str:
    """Why no library computes a product."""
    found = libraries_of(device)
    if not found:
        wanted = " or ".join(_LIBRARIES.get(device.native.kind, ())) or "a vendor's library"
        return f"{wanted} is not installed"
    return f"{', '.join(found)} is not used for {problem.operand} products of this kind"
