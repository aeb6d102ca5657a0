"""Tensor operations of `amdgpu.ops` on one and two threads: elementwise, reductions, norms, movement, convolution, pooling.

Three sides run in the same fresh process, alternating; the shortest time of each counts, because the machine may be busy: ours, NumPy, and
memory itself reading and writing as many bytes (tools/bench/suite/stream.c). Results are compared before anything is timed. NumPy has no
softmax, norm, convolution or pooling: there the peer is what one writes with NumPy.

The bound of an operation is the slower of that memory and of the vector operations that its innermost loops take, at the speed that this
machine has for them in the same process (tools/bench/suite/peak.c). All are timed after some calls of their own, with their data where the
caches keep them. The operations were counted in zig/src for AVX-512; on other machines and
where nothing was counted there is no bound.

`--quick` takes a minute, `--threads 1` or `2` one of both, `--plot` draws the newest whole record as rooflines into docs/performance.md;
other words choose cases by parts of their names.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frame import Report, in_turns

PEER = "NumPy, one thread"
THREADS = (1, 2)
SUITE = Path(__file__).with_name("suite")
sys.path.insert(0, str(SUITE))
from environments import draw  # noqa: E402  (beside the others of the suite)
from peak import Arithmetic, Peak, counts_hold  # noqa: E402

# Rounds and seconds of each; --quick takes a minute for both numbers of threads.
FULL, QUICK = (9, 0.02), (4, 0.004)
# What moves less is not compared with memory: the call of the loop that moves as much takes three microseconds itself.
LEAST_BYTES = 1 << 16
# The third cache of an Intel Xeon takes that many calls to hold 64 MB which others drove out of it: the first call takes 1.6 to
# 2.5 times as long as the seventh, ours and memory's own loop alike.
UNTIMED_CALLS = 6
# As long as OpenBLAS's idle threads spin (tools/bench/matmul.py).
SETTLE_SECONDS = 0.12


@dataclass(frozen=True)
class Work:
    """What an operation has to do at least: bytes that are read and written, and floating-point operations.

    Functions count as the additions and multiplications of their series (zig/src). Without bytes only arithmetic counts.
    The bound is that of `vectors` for each of `values`.
    """

    read_bytes: int = 0
    written_bytes: int = 0
    operations: float = 0
    values: int = 0
    vectors: Arithmetic | None = None

    @property
    def bytes(self) -> int:
        """Both ways."""
        return self.read_bytes + self.written_bytes


# Vector operations for each value where AVX-512 does them. Of e^x of the elementwise operations (vector_math.zig, `expOrdinary` without
# fused operations, so that every instruction set has the same bits): x log2 e, two parts of n ln 2, r^2 and five terms; as many additions
# and 1 +; the test whether all are ordinary, a shift and the addition to the exponent.
EXP = Arithmetic(multiplies=9, adds=10, others=4)
# x^3 and the factor of the series; 1 / (1 + e^-x); times x.
GELU = Arithmetic(multiplies=14, adds=12, others=5, divides=1)
# -2 |x|, its reduction, the series of e^x - 1 and its scaling, t / (t + 2); bounds, exponent, sign.
TANH = Arithmetic(multiplies=10, adds=11, others=6, divides=1)
# Of e^x of rows (exp_table.zig, `ordinary`): reduction twice, the series three times, the power; n; the test, a shift, the table, the
# exponent.
POWER = Arithmetic(multiplies=6, adds=1, others=4)
# row_kernel.zig: the maximum, x - maximum, the sum; the factor. The logarithm takes maximum and logarithm off instead.
SOFTMAX = Arithmetic(multiplies=POWER.multiplies + 1, adds=POWER.adds + 3, others=POWER.others)
LOG_SOFTMAX = Arithmetic(multiplies=POWER.multiplies, adds=POWER.adds + 5, others=POWER.others)
# column_kernel.zig: the maximum of a block; x - maximum, the power and the sum; once more x - maximum, the power, the factor.
SOFTMAX_OF_COLUMNS = Arithmetic(multiplies=2 * POWER.multiplies + 1, adds=2 * POWER.adds + 4, others=2 * POWER.others)
# The sum; x - mean and its square; x - mean, the factor, scale and shift at once.
LAYER_NORM = Arithmetic(multiplies=3, adds=3)
# (x - mean) * factor + shift, each rounded (elementwise_kernel.zig, `standardize`).
BATCH_NORM = Arithmetic(multiplies=1, adds=2)
SUM = Arithmetic(adds=1)
# x - shift, the sum; x - mean, the sum of its squares (moments_kernel.zig).
VARIANCE = Arithmetic(multiplies=1, adds=3)
# A comparison, half of one for NaN; of rows that are folded together a comparison, one for NaN, a choice.
LARGEST = Arithmetic(adds=1.5, others=0.25)
LARGEST_OF_ROWS = Arithmetic(adds=2, others=1)
# And a quarter of them once more for the place, where a run is one block; by rows one of eight is compared with the best.
PLACE = Arithmetic(adds=1.75, others=0.5)
PLACE_OF_ROWS = LARGEST

# A case: name, ours, peer, what is to be done.
Case = tuple[str, Callable[[], Any], Callable[[], Any], Work]


def run(report: Report, arguments: list[str]) -> None:
    """Starts a measuring process for each number of threads: those of NumPy's BLAS are fixed when it is loaded."""
    parser = argparse.ArgumentParser(prog="./x bench tensor --")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, choices=THREADS)
    parser.add_argument("--plot", action="store_true")
    parser.add_argument("wanted", nargs="*")
    given = parser.parse_args(arguments)
    if given.plot:
        draw(SUITE / "roofline.py")
        return
    for threads in (given.threads,) if given.threads else THREADS:
        environment = {**os.environ, "AMDGPU_CPU_THREADS": str(threads)}
        environment |= {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, __file__, str(threads), *(["--quick"] if given.quick else []), *given.wanted]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None  # asked for with PIPE
            for line in child.stdout:
                row = json.loads(line)
                if "peak" in row:
                    print(row["peak"])
                    continue
                report.add(f"{row['case']}, {threads}T", "us", row["ours"] * 1e6, row["peer"] * 1e6, note=note(row))
        if child.returncode:
            raise SystemExit(f"the measuring process ended with exit code {child.returncode}")


def note(row: dict[str, Any]) -> str:
    """How much of the memory's speed, and operations a second."""
    parts = []
    if row["memory"]:
        speed, memory = row["bytes"] / row["ours"] / 1e9, row["bytes"] / row["memory"] / 1e9
        parts.append(f"{speed:.1f} GB/s; memory {memory:.1f} GB/s; {row['memory'] / row['ours']:.2f} of it")
    if row["bound"]:
        parts.append(f"{row['bound'] / row['ours']:.2f} of its bound ({row['bound_by']}: {row['bound'] * 1e6:,.0f} us)")
    if row["operations"]:
        parts.append(f"{row['operations'] / row['ours'] / 1e9:.2f} GFLOP/s at {row['intensity']:.3g} per byte")
    return "; ".join(parts)


def measure(arguments: list[str]) -> None:
    """The measuring process: one JSON line per case."""
    import numpy as np
    from stream import Stream

    threads, *rest = arguments
    wanted = [word for word in rest if word != "--quick"]
    rounds, seconds = QUICK if "--quick" in rest else FULL
    # One thread alone may be faster for what takes less time than waking another.
    memories = [Stream(count) for count in sorted({1, int(threads)})]
    peak = Peak(int(threads)) if counts_hold() else None
    if peak:
        print(json.dumps({"peak": f"{threads}T: {peak.described()}"}), flush=True)
    for name, ours, peer, work in cases():
        if wanted and not any(part in name for part in wanted):
            continue
        ours_result, peer_result = np.asarray(ours()), np.asarray(peer())
        if not np.allclose(ours_result, peer_result, rtol=1e-3, atol=1e-3):
            raise SystemExit(f"{name}: the results differ, so the speed means nothing")
        moved = (work.read_bytes, work.written_bytes)
        is_large = work.bytes >= LEAST_BYTES
        ways = [way for memory in memories for way in memory.ways(*moved)] if is_large else []
        # Where arithmetic alone counts the peer is a product, and the idle threads of its BLAS would spin beside ours.
        settle = SETTLE_SECONDS if int(threads) > 1 and not work.bytes else 0.0
        ours_seconds, peer_seconds, *way_seconds = in_turns(
            [ours, peer, *ways],
            rounds=rounds,
            round_seconds=seconds,
            settle_seconds=settle,
            untimed_calls=UNTIMED_CALLS if is_large else 0,
        )
        moving = min((min(way) for way in way_seconds), default=0.0)
        computing = peak.seconds(work.values, work.vectors) if peak and work.vectors else 0.0
        row = {
            "case": name,
            "ours": min(ours_seconds),
            "peer": min(peer_seconds),
            "memory": moving,
            "bound": max(moving, computing) if computing and is_large else 0.0,
            "bound_by": "memory" if moving > computing else "arithmetic",
            "bytes": work.bytes,
            "operations": work.operations,
            "intensity": work.operations / work.bytes if work.bytes else 0.0,
        }
        print(json.dumps(row), flush=True)


def cases() -> Iterator[Case]:
    """Every comparison, with its data."""
    import numpy as np

    generator = np.random.default_rng(4)

    def data(*shape: int) -> Any:
        return generator.standard_normal(shape).astype(np.float32)

    yield from product_cases(data)
    yield from elementwise_cases(data)
    yield from reduction_cases(data)
    yield from row_cases(data)
    yield from movement_cases(data, generator)
    yield from image_cases(data)


def product_cases(data: Callable[..., Any]) -> Iterator[Case]:
    """What arithmetic can be had at all: the peak of the rooflines."""
    import amdgpu

    a, b, out = data(1024, 1024), data(1024, 1024), data(1024, 1024)
    yield (
        "matrix product, 1024",
        lambda: amdgpu.matrix_multiply(a, b, out=out),
        lambda: np_multiply(a, b, out),
        Work(operations=2.0 * 1024**3),
    )


def np_multiply(a: Any, b: Any, out: Any) -> Any:
    """`numpy.matmul`."""
    import numpy as np

    return np.matmul(a, b, out=out)


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
            Work(8 * size, 4 * size, size, size, SUM),
        )
    x, out = data(1_000_000), data(1_000_000)
    positive = np.abs(x)
    # Additions and multiplications of the series; divisions and roots count once.
    vectors = {"exp": EXP, "tanh": TANH}
    for name, count in (("exp", 20), ("log", 25), ("log1p", 30), ("tanh", 24), ("sin", 24), ("sqrt", 1)):
        ours, peer = getattr(ops, name), getattr(np, name)
        work = Work(4 * x.size, 4 * x.size, count * x.size, x.size, vectors.get(name))
        yield f"{name}, 1,000,000", lambda f=ours: f(positive, out=out), lambda f=peer: f(positive, out=out), work
    yield (
        "gelu (tanh), 1,000,000",
        lambda: ops.gelu(x, approximate="tanh", out=out),
        lambda: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))),
        Work(4 * x.size, 4 * x.size, 30 * x.size, x.size, GELU),
    )
    matrix, row, column, target = data(4096, 1024), data(1024), data(4096, 1), data(4096, 1024)
    both_ways = Work(4 * matrix.size, 4 * matrix.size, matrix.size, matrix.size, SUM)
    yield (
        "add a row to 4096 x 1024",
        lambda: ops.add(matrix, row, out=target),
        lambda: np.add(matrix, row, out=target),
        both_ways,
    )
    yield (
        "add a column to 4096 x 1024",
        lambda: ops.add(matrix, column, out=target),
        lambda: np.add(matrix, column, out=target),
        both_ways,
    )
    square = data(2048, 2048)
    other, result = data(2048, 2048), data(2048, 2048)
    yield (
        "add a transpose, 2048",
        lambda: ops.add(square.T, other, out=result),
        lambda: np.add(square.T, other, out=result),
        Work(8 * square.size, 4 * square.size, square.size),
    )
    mask = matrix > 0
    yield (
        "where, 4096 x 1024",
        lambda: ops.where(mask, matrix, target),
        lambda: np.where(mask, matrix, target),
        Work(9 * matrix.size, 4 * matrix.size),
    )
    half = matrix.astype(np.float16)
    half_out = half.copy()
    yield (
        "float16 multiply, 4096 x 1024",
        lambda: ops.multiply(half, half, out=half_out),
        lambda: np.multiply(half, half, out=half_out),
        Work(2 * half.size, 2 * half.size, half.size),
    )


def reduction_cases(data: Callable[..., Any]) -> Iterator[Case]:
    """Reductions of everything, of rows, of columns."""
    import numpy as np
    from amdgpu import ops

    large, matrix = data(16_000_000), data(4096, 1024)
    # Of everything and of rows; of columns.
    vectors = {
        "sum": (SUM, SUM),
        "max": (LARGEST, LARGEST_OF_ROWS),
        "argmax": (PLACE, PLACE_OF_ROWS),
        "var": (VARIANCE, VARIANCE),
    }
    for name, (of_runs, of_rows) in vectors.items():
        ours, peer = getattr(ops, name), getattr(np, name)
        count = 4 if name == "var" else 1
        yield (
            f"{name}, 16,000,000",
            lambda f=ours: f(large),
            lambda f=peer: f(large),
            Work(4 * large.size, 0, count * large.size, large.size, of_runs),
        )
        for axis in (0, 1):
            yield (
                f"{name} over axis {axis} of 4096 x 1024",
                lambda f=ours, axis=axis: f(matrix, axis),
                lambda f=peer, axis=axis: f(matrix, axis=axis),
                Work(4 * matrix.size, 0, count * matrix.size, matrix.size, of_runs if axis else of_rows),
            )
    image = data(8, 64, 56, 56)
    yield (
        "mean of channels, 8 x 64 x 56 x 56",
        lambda: ops.mean(image, (0, 2, 3)),
        lambda: np.mean(image, (0, 2, 3)),
        Work(4 * image.size, 0, image.size, image.size, SUM),
    )


def row_cases(data: Callable[..., Any]) -> Iterator[Case]:
    """Softmax, log-softmax, layer norm and batch norm."""
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
        Work(4 * matrix.size, 4 * matrix.size, 24 * matrix.size, matrix.size, SOFTMAX),
    )
    yield (
        "log-softmax of rows, 4096 x 1024",
        lambda: ops.log_softmax(matrix, out=out),
        lambda: np.log(softmax(matrix, -1)),
        Work(4 * matrix.size, 4 * matrix.size, 24 * matrix.size, matrix.size, LOG_SOFTMAX),
    )
    few, few_out = data(64, 1024), np.empty((64, 1024), np.float32)
    yield (
        "softmax of rows, 64 x 1024",
        lambda: ops.softmax(few, out=few_out),
        lambda: softmax(few, -1),
        Work(4 * few.size, 4 * few.size, 24 * few.size, few.size, SOFTMAX),
    )
    yield (
        "softmax of columns, 4096 x 1024",
        lambda: ops.softmax(matrix, 0, out=out),
        lambda: softmax(matrix, 0),
        Work(4 * matrix.size, 4 * matrix.size, 24 * matrix.size, matrix.size, SOFTMAX_OF_COLUMNS),
    )
    yield (
        "layer norm, 4096 x 1024",
        lambda: ops.layer_norm(matrix, 1024, weight, bias, out=out),
        layer_norm,
        Work(4 * matrix.size, 4 * matrix.size, 8 * matrix.size, matrix.size, LAYER_NORM),
    )
    images, means, variances = data(8, 64, 56, 56), data(64), np.abs(data(64)) + 1
    channels = (slice(None), None, None)
    yield (
        "batch norm, 8 x 64 x 56 x 56",
        lambda: ops.batch_norm(images, means, variances, weight[:64], bias[:64]),
        lambda: (
            (images - means[channels]) / np.sqrt(variances[channels] + 1e-5) * weight[:64][channels]
            + bias[:64][channels]
        ),
        Work(4 * images.size, 4 * images.size, 3 * images.size, images.size, BATCH_NORM),
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
        Work(4 * square.size, 4 * square.size),
    )
    moved = Work(4 * square.size, 4 * square.size)
    yield "transpose, 2048", lambda: ops.transpose(square, out=out), lambda: copy(out, square.T), moved
    image, turned = data(8, 64, 56, 56), data(8, 56, 56, 64)
    yield (
        "NCHW to NHWC, 8 x 64 x 56 x 56",
        lambda: ops.transpose(image, (0, 2, 3, 1), out=turned),
        lambda: copy(turned, image.transpose(0, 2, 3, 1)),
        Work(4 * image.size, 4 * image.size),
    )
    matrix, sums = data(4096, 1024), data(4096, 1024)
    for axis in (0, 1):
        yield (
            f"cumsum over axis {axis} of 4096 x 1024",
            lambda axis=axis: ops.cumsum(matrix, axis, out=sums),
            lambda axis=axis: np.cumsum(matrix, axis, out=sums),
            Work(4 * matrix.size, 4 * matrix.size, matrix.size, matrix.size, SUM),
        )
    table, indices = data(50_000, 256), generator.integers(0, 50_000, 8192)
    rows = data(8192, 256)
    yield (
        "embedding, 8192 rows of 256",
        lambda: ops.embedding(indices, table, out=rows),
        lambda: np.take(table, indices, 0, out=rows),
        Work(4 * rows.size, 4 * rows.size),
    )

    def best() -> Any:
        places = np.argpartition(matrix, -10, axis=1)[:, -10:]
        values = np.take_along_axis(matrix, places, 1)
        return np.take_along_axis(values, np.argsort(-values, axis=1), 1)

    yield "top 10 of rows, 4096 x 1024", lambda: ops.top_k(matrix, 10)[0], best, Work(4 * matrix.size)


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
            Work(operations=2.0 * weight.size * ((extent + 2 * padding - window) // stride + 1) ** 2),
        )
    x, depthwise = data(1, 128, 56, 56), data(128, 1, 3, 3)
    yield (
        "conv2d of each channel, 128, 56, window 3",
        lambda: ops.conv2d(x, depthwise, padding=1, groups=128),
        lambda: np.einsum("ncpqij,cij->ncpq", windows(x, 3, 1, 1), depthwise[:, 0]),
        Work(),
    )
    image = data(1, 64, 112, 112)
    yield (
        "max_pool2d, 64, 112, window 3, stride 2",
        lambda: ops.max_pool2d(image, 3, stride=2, padding=1),
        lambda: windows(image, 3, 2, 1, -np.inf).max((4, 5)),
        Work(),
    )
    yield (
        "avg_pool2d, 64, 112, window 2",
        lambda: ops.avg_pool2d(image, 2),
        lambda: windows(image, 2, 2, 0).mean((4, 5)),
        Work(),
    )


if __name__ == "__main__":
    measure(sys.argv[1:])
