"""What the thresholds of graph passes on CPU devices stand for: reductions and norms with their steps, layouts of convolutions.

A graph that was joined for a large shape is read again from its text with other shapes, so that what the passes would leave as it is
is timed joined, too. A ratio above 1 says that joining pays. The constants are in `crates/amdgpu-graph/src/passes`:

- `reductions.rs`: LEAST_BYTES and LEAST_ROW are where the cases `squares` begin to pay; `softmax` says whether functions such as exp
  still forbid it; MOST_ROW_BYTES (`rows.rs`) is where long rows no longer pay.
- `rows.rs`: LEAST_BYTES is where `norm` begins to pay.
- `layouts.rs`: OF_WINDOWS and OF_STRIDES are what channels first lose of a convolution's time (1 - 1 / ratio of `conv`), OF_BYTES what
  a byte of a transposition costs in multiplications (the note of `conv`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import numpy as np
from amdgpu import ops
from frame import Report, in_turns

PEER = "the operations one after the other; of convolutions the same with channels first"
# Shapes for which the passes join.
JOINED_SHAPE = (16384, 1024)
WHOLE_BYTES = tuple(1 << power for power in range(20, 27))
ROW_LENGTHS = (64, 256, 512, 1024, 4096, 16384, 32768, 65536)
ROW_OF_BYTES = 1024
BYTES_OF_ROWS = 32 << 20
# Layers of ResNet-50: channels, side, outputs, window, stride.
LAYERS = (
    (64, 56, 64, 1, 1),
    (64, 56, 64, 3, 1),
    (128, 56, 128, 3, 2),
    (256, 56, 512, 1, 2),
    (256, 14, 256, 3, 1),
    (512, 7, 512, 3, 1),
)


def run(report: Report, arguments: list[str]) -> None:
    """All cases; words choose cases by parts of their names."""

    def is_wanted(name: str) -> bool:
        return not arguments or any(word in name for word in arguments)

    for name, function in FUNCTIONS.items():
        text = joined_text(name)
        for shape in shapes():
            case = f"{name} {shape[0]} x {shape[1]}"
            if is_wanted(case):
                rows(report, case, function, text, shape)
    for images in (1, 4):
        for layer in LAYERS:
            case = f"conv {images} images, {' '.join(map(str, layer))}"
            if is_wanted(case):
                convolution(report, case, images, layer)


def squares(x: amdgpu.Array) -> amdgpu.Array:
    """Shares of squared distances from the largest."""
    apart = x - amdgpu.max(x, axis=-1, keepdims=True)
    return apart * apart / amdgpu.sum(apart * apart, axis=-1, keepdims=True)


def norm(x: amdgpu.Array) -> amdgpu.Array:
    """A norm between steps."""
    return ops.relu(ops.layer_norm(x + x, x.shape[-1])) * x


def softmax(x: amdgpu.Array) -> amdgpu.Array:
    """The same with exp in the place of the square."""
    powers = amdgpu.exp(x - amdgpu.max(x, axis=-1, keepdims=True))
    return powers / amdgpu.sum(powers, axis=-1, keepdims=True)


FUNCTIONS: dict[str, Callable[[amdgpu.Array], amdgpu.Array]] = {"squares": squares, "softmax": softmax, "norm": norm}


def joined_text(name: str) -> str:
    """A function joined for a large shape; the passes leave softmax alone, which has the stages of `squares`."""
    text = str(amdgpu.jit(norm if name == "norm" else squares).graph(numbers(JOINED_SHAPE)))
    if "rows" not in text:
        raise SystemExit(f"{name} of {JOINED_SHAPE} is not joined here: {text}")
    return text.replace("multiply(s0, s0)", "exp(s0)") if name == "softmax" else text


def shapes() -> Iterator[tuple[int, int]]:
    """Values of more and more bytes, then longer and longer rows."""
    for whole in WHOLE_BYTES:
        yield whole // 4 // ROW_OF_BYTES, ROW_OF_BYTES
    for length in ROW_LENGTHS:
        yield BYTES_OF_ROWS // 4 // length, length


def rows(report: Report, case: str, function: Callable[..., Any], text: str, shape: tuple[int, int]) -> None:
    """Rows of a shape joined beside one operation after the other."""
    x = numbers(shape)
    plain = amdgpu.jit(function, optimize=False).graph(x)
    was, now = (", ".join(map(str, one)) for one in (JOINED_SHAPE, shape))
    # Norms are of rows of their own length.
    text = text.replace(f"[{was}]", f"[{now}]").replace(f"= [{JOINED_SHAPE[1]}]", f"= [{shape[1]}]")
    joined = amdgpu.graph.Graph.parse(text).compile("cpu:0", optimize=False)
    np.testing.assert_allclose(joined(x)[0].numpy(), plain(x)[0].numpy(), rtol=1e-4, atol=1e-6)
    own, other = in_turns([lambda: joined(x), lambda: plain(x)], rounds=15, round_seconds=0.05)
    report.add(case, "us", min(own) * 1e6, min(other) * 1e6, note=f"{x.size * 4 >> 20} MiB")


def convolution(report: Report, case: str, images: int, layer: tuple[int, int, int, int, int]) -> None:
    """A convolution with channels last beside one with channels first, and a transposition of its images."""
    channels, side, outputs, window, stride = layer
    first, weight = numbers((images, channels, side, side)), numbers((outputs, channels, window, window))
    last = amdgpu.permute_dims(first, (0, 2, 3, 1)).copy()
    options = {"stride": stride, "padding": window // 2}
    calls = [
        lambda: ops.conv2d(last, weight, layout="NHWC", **options),
        lambda: ops.conv2d(first, weight, **options),
        lambda: amdgpu.permute_dims(first, (0, 2, 3, 1)).copy(),
    ]
    own, other, moved = (min(times) for times in in_turns(calls, rounds=15, round_seconds=0.05))
    results = images * ((side - 1) // stride + 1) ** 2 * outputs
    multiplications = results * channels * window * window
    of_byte = moved / (first.size * 4) / (own / multiplications)
    report.add(
        case, "us", own * 1e6, other * 1e6, note=f"a byte transposed takes as long as {of_byte:.1f} multiplications"
    )


def numbers(shape: tuple[int, ...]) -> amdgpu.Array:
    """Normally distributed numbers."""
    return amdgpu.array(np.random.default_rng(0).standard_normal(shape).astype(np.float32), device="cpu:0")
