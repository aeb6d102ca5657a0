"""Tensor operations of `amdgpu.ops` on one thread: elementwise, reductions, norms, movement, convolution, pooling.

Both sides run in the same fresh process, alternating; the shortest time of each counts, because the machine may be busy. Results are
compared before anything is timed. NumPy has no softmax, norm, convolution or pooling: there the peer is what one writes with NumPy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from frame import Report, in_turns

PEER = "NumPy, one thread"
# A case: name, ours, peer, bytes that have to be read and written, or 0 where arithmetic counts.
Case = tuple[str, Callable[[], Any], Callable[[], Any], int]


def run(report: Report, arguments: list[str]) -> None:
    """Starts the measuring process: the threads of NumPy's BLAS are fixed when it is loaded."""
    environment = {**os.environ, "AMDGPU_CPU_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None  # asked for with PIPE
        for line in child.stdout:
            row = json.loads(line)
            speed = f"{row['bytes'] / row['ours'] / 1e9:.1f} GB/s" if row["bytes"] else ""
            report.add(row["case"], "us", row["ours"] * 1e6, row["peer"] * 1e6, note=speed)
    if child.returncode:
        raise SystemExit(f"the measuring process ended with exit code {child.returncode}")


def measure(wanted: list[str]) -> None:
    """The measuring process: one JSON line per case."""
    import numpy as np

    for name, ours, peer, count in cases():
        if wanted and not any(part in name for part in wanted):
            continue
        ours_result, peer_result = np.asarray(ours()), np.asarray(peer())
        if not np.allclose(ours_result, peer_result, rtol=1e-3, atol=1e-3):
            raise SystemExit(f"{name}: the results differ, so the speed means nothing")
        ours_seconds, peer_seconds = in_turns([ours, peer], rounds=9)
        print(
            json.dumps({"case": name, "ours": min(ours_seconds), "peer": min(peer_seconds), "bytes": count}), flush=True
        )


def cases() -> Iterator[Case]:
    """Every comparison, with its data."""
    import numpy as np

    generator = np.random.default_rng(4)

    def data(*shape: int) -> Any:
        return generator.standard_normal(shape).astype(np.float32)

    yield from elementwise_cases(data)
    yield from reduction_cases(data)
    yield from row_cases(data)
    yield from movement_cases(data, generator)
    yield from image_cases(data)


def elementwise_cases(data: Callable[..., Any]) -> Iterator[Case]:
    """Arithmetic and functions, results written to arrays that exist."""
    import numpy as np
    from amdgpu import ops

    for size in (1_000, 100_000, 16_000_000):
        a, b, out = data(size), data(size), data(size)
        yield (
            f"add, {size:,}",
            lambda a=a, b=b, out=out: ops.add(a, b, out=out),
            lambda a=a, b=b, out=out: np.add(a, b, out=out),
            12 * size,
        )
    x, out = data(1_000_000), data(1_000_000)
    positive = np.abs(x)
    for name in ("exp", "log1p", "tanh", "sqrt"):
        ours, peer = getattr(ops, name), getattr(np, name)
        yield f"{name}, 1,000,000", lambda f=ours: f(positive, out=out), lambda f=peer: f(positive, out=out), 0
    yield (
        "gelu (tanh), 1,000,000",
        lambda: ops.gelu(x, approximate="tanh", out=out),
        lambda: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))),
        0,
    )
    matrix, row, column, target = data(4096, 1024), data(1024), data(4096, 1), data(4096, 1024)
    bytes_of = 8 * matrix.size
    yield (
        "add a row to 4096 x 1024",
        lambda: ops.add(matrix, row, out=target),
        lambda: np.add(matrix, row, out=target),
        bytes_of,
    )
    yield (
        "add a column to 4096 x 1024",
        lambda: ops.add(matrix, column, out=target),
        lambda: np.add(matrix, column, out=target),
        bytes_of,
    )
    square = data(2048, 2048)
    other, result = data(2048, 2048), data(2048, 2048)
    yield (
        "add a transpose, 2048",
        lambda: ops.add(square.T, other, out=result),
        lambda: np.add(square.T, other, out=result),
        12 * square.size,
    )
    mask = matrix > 0
    yield (
        "where, 4096 x 1024",
        lambda: ops.where(mask, matrix, target),
        lambda: np.where(mask, matrix, target),
        13 * matrix.size,
    )
    half = matrix.astype(np.float16)
    half_out = half.copy()
    yield (
        "float16 multiply, 4096 x 1024",
        lambda: ops.multiply(half, half, out=half_out),
        lambda: np.multiply(half, half, out=half_out),
        6 * half.size,
    )


def reduction_cases(data: Callable[..., Any]) -> Iterator[Case]:
    """Reductions of everything, of rows, of columns."""
    import numpy as np
    from amdgpu import ops

    large, matrix = data(16_000_000), data(4096, 1024)
    for name in ("sum", "max", "argmax"):
        ours, peer = getattr(ops, name), getattr(np, name)
        yield f"{name}, 16,000,000", lambda f=ours: f(large), lambda f=peer: f(large), 4 * large.size
        for axis in (0, 1):
            yield (
                f"{name} over axis {axis} of 4096 x 1024",
                lambda f=ours, axis=axis: f(matrix, axis),
                lambda f=peer, axis=axis: f(matrix, axis=axis),
                4 * matrix.size,
            )
    yield "var over axis 1 of 4096 x 1024", lambda: ops.var(matrix, 1), lambda: np.var(matrix, axis=1), 0
    image = data(8, 64, 56, 56)
    yield (
        "mean of channels, 8 x 64 x 56 x 56",
        lambda: ops.mean(image, (0, 2, 3)),
        lambda: np.mean(image, (0, 2, 3)),
        4 * image.size,
    )


def row_cases(data: Callable[..., Any]) -> Iterator[Case]:
    """Softmax and layer norm."""
    import numpy as np
    from amdgpu import ops

    matrix, weight, bias = data(4096, 1024), data(1024), data(1024)
    out = np.empty_like(matrix)

    def softmax(x: Any, axis: int) -> Any:
        powers = np.exp(x - x.max(axis, keepdims=True))
        powers /= powers.sum(axis, keepdims=True)
        return powers

    def layer_norm() -> Any:
        centered = matrix - matrix.mean(-1, keepdims=True)
        return centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + 1e-5) * weight + bias

    yield (
        "softmax of rows, 4096 x 1024",
        lambda: ops.softmax(matrix, out=out),
        lambda: softmax(matrix, -1),
        8 * matrix.size,
    )
    yield (
        "softmax of columns, 4096 x 1024",
        lambda: ops.softmax(matrix, 0, out=out),
        lambda: softmax(matrix, 0),
        8 * matrix.size,
    )
    yield (
        "layer norm, 4096 x 1024",
        lambda: ops.layer_norm(matrix, 1024, weight, bias, out=out),
        layer_norm,
        8 * matrix.size,
    )


def movement_cases(data: Callable[..., Any], generator: Any) -> Iterator[Case]:
    """What computes nothing or little."""
    import numpy as np
    from amdgpu import ops

    square, out = data(2048, 2048), data(2048, 2048)
    yield (
        "a copy by NumPy on both sides, 2048 x 2048",
        lambda: copy(out, square),
        lambda: copy(out, square),
        8 * square.size,
    )
    yield "transpose, 2048", lambda: ops.transpose(square, out=out), lambda: copy(out, square.T), 8 * square.size
    image, turned = data(8, 64, 56, 56), data(8, 56, 56, 64)
    yield (
        "NCHW to NHWC, 8 x 64 x 56 x 56",
        lambda: ops.transpose(image, (0, 2, 3, 1), out=turned),
        lambda: copy(turned, image.transpose(0, 2, 3, 1)),
        8 * image.size,
    )
    matrix, sums = data(4096, 1024), data(4096, 1024)
    for axis in (0, 1):
        yield (
            f"cumsum over axis {axis} of 4096 x 1024",
            lambda axis=axis: ops.cumsum(matrix, axis, out=sums),
            lambda axis=axis: np.cumsum(matrix, axis, out=sums),
            8 * matrix.size,
        )
    table, indices = data(50_000, 256), generator.integers(0, 50_000, 8192)
    rows = data(8192, 256)
    yield (
        "embedding, 8192 rows of 256",
        lambda: ops.embedding(indices, table, out=rows),
        lambda: np.take(table, indices, 0, out=rows),
        8 * rows.size,
    )

    def best() -> Any:
        places = np.argpartition(matrix, -10, axis=1)[:, -10:]
        values = np.take_along_axis(matrix, places, 1)
        return np.take_along_axis(values, np.argsort(-values, axis=1), 1)

    yield "top 10 of rows, 4096 x 1024", lambda: ops.top_k(matrix, 10)[0], best, 4 * matrix.size


def copy(target: Any, source: Any) -> Any:
    """`numpy.copyto` that returns what it wrote."""
    import numpy as np

    np.copyto(target, source)
    return target


def image_cases(data: Callable[..., Any]) -> Iterator[Case]:
    """Layers of ResNet-50 and MobileNet."""
    import numpy as np
    from amdgpu import ops
    from numpy.lib.stride_tricks import sliding_window_view

    def windows(x: Any, window: int, stride: int, padding: int, fill: float = 0.0) -> Any:
        padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
        return sliding_window_view(padded, (window, window), (2, 3))[:, :, ::stride, ::stride]

    def convolve(x: Any, weight: Any, stride: int, padding: int) -> Any:
        taps = windows(x, weight.shape[2], stride, padding)
        return np.moveaxis(np.tensordot(taps, weight, ((1, 4, 5), (1, 2, 3))), 3, 1)

    layers = (
        (3, 64, 224, 7, 2, 3),
        (64, 64, 56, 1, 1, 0),
        (64, 64, 56, 3, 1, 1),
        (128, 128, 28, 3, 1, 1),
        (512, 512, 7, 3, 1, 1),
    )
    for channels, outputs, extent, window, stride, padding in layers:
        x, weight = data(1, channels, extent, extent), data(outputs, channels, window, window)
        name = f"conv2d {channels} -> {outputs}, {extent}, window {window}, stride {stride}"
        yield (
            name,
            lambda x=x, weight=weight, s=stride, p=padding: ops.conv2d(x, weight, stride=s, padding=p),
            lambda x=x, weight=weight, s=stride, p=padding: convolve(x, weight, s, p),
            0,
        )
    x, depthwise = data(1, 128, 56, 56), data(128, 1, 3, 3)
    yield (
        "conv2d of each channel, 128, 56, window 3",
        lambda: ops.conv2d(x, depthwise, padding=1, groups=128),
        lambda: np.einsum("ncpqij,cij->ncpq", windows(x, 3, 1, 1), depthwise[:, 0]),
        0,
    )
    image = data(1, 64, 112, 112)
    yield (
        "max_pool2d, 64, 112, window 3, stride 2",
        lambda: ops.max_pool2d(image, 3, stride=2, padding=1),
        lambda: windows(image, 3, 2, 1, -np.inf).max((4, 5)),
        0,
    )
    yield (
        "avg_pool2d, 64, 112, window 2",
        lambda: ops.avg_pool2d(image, 2),
        lambda: windows(image, 2, 2, 0).mean((4, 5)),
        0,
    )


if __name__ == "__main__":
    measure(sys.argv[1:])
