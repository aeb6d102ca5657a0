"""Convolutions of ResNet-50 in float32, forward and both gradients, against oneDNN as PyTorch calls it on the CPU.

`--quick` takes one image, `--layout NHWC` the other layout, `--pass forward`, `--threads 1` and `--batch 8` less than everything,
`--only 3x3` layers whose name holds the text. `--python PATH` names an interpreter that has torch; without it an environment is made
under .x/bench.

Both sides run in one process, in turns; the shortest time of each counts. A turn begins with untimed calls, the same number for both: what
the other side left in the caches is not what a layer finds there that is called again. PyTorch is measured as it is called: where oneDNN
wants another order of values, its conversions count, as our copies do. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frame import ROOT, Report, in_turns
from suite import peers, torch_peer

PEER = "oneDNN, called by torch.nn.functional.conv2d and torch.ops.aten.convolution_backward"
PASSES = ("forward", "image gradient", "weight gradient")
ROUNDS = {"quick": 5, "full": 9}
# Calls after which data of tens of megabytes are as near as they get (Intel Xeon of the Granite Rapids line, shared third cache).
UNTIMED_CALLS = 6
# Threads of OpenMP spin after a call before they sleep.
SETTLE_SECONDS = 0.01


@dataclass(frozen=True)
class Layer:
    """A convolution of ResNet-50 (He et al. 2016, table 1, with the strides of torchvision, in the 3 x 3 windows)."""

    inputs: int
    outputs: int
    extent: int
    window: int
    stride: int

    @property
    def name(self) -> str:
        """As the tables have it."""
        return f"{self.inputs} -> {self.outputs}, {self.extent}, {self.window}x{self.window}/{self.stride}"

    @property
    def padding(self) -> int:
        """Half of the window."""
        return self.window // 2

    @property
    def result(self) -> int:
        """Extent of the result."""
        return (self.extent + 2 * self.padding - self.window) // self.stride + 1

    def operations(self, batch: int) -> int:
        """Multiplications and additions."""
        return 2 * batch * self.outputs * self.inputs * self.window**2 * self.result**2


def stage(width: int, extent: int, before: int, stride: int) -> list[Layer]:
    """The distinct layers of one stage of bottleneck blocks."""
    inner = extent // stride
    return [
        Layer(before, width, extent, 1, 1),
        Layer(width, width, extent, 3, stride),
        Layer(width, 4 * width, inner, 1, 1),
        Layer(before, 4 * width, extent, 1, stride),
        Layer(4 * width, width, inner, 1, 1),
        Layer(width, width, inner, 3, 1),
    ]


LAYERS = tuple(
    dict.fromkeys(
        [
            Layer(3, 64, 224, 7, 2),
            *stage(64, 56, 64, 1),
            *stage(128, 56, 256, 2),
            *stage(256, 28, 512, 2),
            *stage(512, 14, 1024, 2),
        ]
    )
)


def run(report: Report, arguments: list[str]) -> None:
    """Starts one measuring process for each number of threads, in the peer's environment."""
    options = parse(arguments)
    try:
        python = Path(options.python) if options.python else torch_peer.torch_python()
    except peers.Absent as reason:
        raise SystemExit(f"without PyTorch there is nothing to compare with: {reason}") from None
    cores = len(os.sched_getaffinity(0))
    for threads in options.threads or [1, 2]:
        if threads > cores:
            print(f"without {threads} threads: there are {cores} cores")
            continue
        count = str(threads)
        paths = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        environment = {**os.environ, "AMDGPU_CPU_THREADS": count, "OMP_NUM_THREADS": count, "PYTHONPATH": paths}
        command = [str(python), __file__, *arguments]
        ratios: dict[str, list[float]] = {}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None  # asked for with PIPE
            for line in child.stdout:
                row = json.loads(line)
                group = f"{row['pass']}, batch {row['batch']}, {threads} {'thread' if threads == 1 else 'threads'}"
                speeds = [row["operations"] / row[side] / 1e9 for side in ("ours", "peer")]
                report.add(f"{row['layer']}, {group}", "GFLOP/s", *speeds, higher_is_better=True)
                ratios.setdefault(group, []).append(speeds[0] / speeds[1])
        if child.returncode:
            raise SystemExit(f"the measuring process ended with exit code {child.returncode}")
        for group, values in ratios.items():
            mean = math.exp(statistics.fmean(math.log(value) for value in values))
            note = f"{min(values):.2f} to {max(values):.2f}"
            report.add(f"geometric mean, {group}", "ratio", mean, 1.0, higher_is_better=True, note=note)


def parse(arguments: list[str]) -> argparse.Namespace:
    """What to measure."""
    parser = argparse.ArgumentParser(prog="./x bench convolution --", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one image, fewer rounds")
    parser.add_argument("--layout", choices=("NCHW", "NHWC"), default="NCHW")
    parser.add_argument("--pass", dest="passes", action="append", choices=PASSES)
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--batch", type=int, action="append")
    parser.add_argument("--only", default="", help="layers whose name holds this")
    parser.add_argument("--python", default="", help="an interpreter with torch and numpy")
    return parser.parse_args(arguments)


def measure(arguments: list[str]) -> None:
    """The measuring process: one JSON line per case."""
    import numpy as np
    import torch

    options = parse(arguments)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    settle = SETTLE_SECONDS if torch.get_num_threads() > 1 else 0.0
    rounds = ROUNDS["quick" if options.quick else "full"]
    for batch in options.batch or ([1] if options.quick else [1, 8]):
        for name in options.passes or PASSES:
            for layer in LAYERS:
                if options.only not in layer.name:
                    continue
                ours, peer = sides(layer, batch, name, options.layout)
                ours_result, peer_result = ours(), peer()
                size = float(np.abs(peer_result).max())
                if not np.allclose(ours_result, peer_result, rtol=1e-4, atol=1e-4 * size):
                    raise SystemExit(f"{layer.name}, {name}: the results differ, so the speed means nothing")
                seconds = in_turns([ours, peer], rounds=rounds, settle_seconds=settle, untimed_calls=UNTIMED_CALLS)
                row = {"layer": layer.name, "pass": name, "batch": batch, "operations": layer.operations(batch)}
                print(json.dumps({**row, "ours": min(seconds[0]), "peer": min(seconds[1])}), flush=True)


def sides(layer: Layer, batch: int, name: str, layout: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Ours and PyTorch's, with the same data; both give arrays in the order of `layout`."""
    import numpy as np
    import torch
    from amdgpu import ops

    generator = np.random.default_rng(7)
    is_nhwc = layout == "NHWC"

    def data(*shape: int) -> Any:
        return generator.standard_normal(shape, np.float32)

    def ordered(array: Any) -> Any:
        return np.ascontiguousarray(np.moveaxis(array, 1, 3)) if is_nhwc else array

    def tensor(array: Any) -> Any:
        return torch.from_numpy(array).contiguous(
            memory_format=torch.channels_last if is_nhwc else torch.contiguous_format
        )

    x = data(batch, layer.inputs, layer.extent, layer.extent)
    weight = data(layer.outputs, layer.inputs, layer.window, layer.window)
    gradient = data(batch, layer.outputs, layer.result, layer.result)
    mine = {"stride": layer.stride, "padding": layer.padding, "layout": layout}
    ours_x, ours_gradient = ordered(x), ordered(gradient)
    their_x, their_weight, their_gradient = tensor(x), tensor(weight), tensor(gradient)
    slides = ([layer.stride] * 2, [layer.padding] * 2, [1, 1], False, [0, 0], 1)

    def backward(which: int) -> Any:
        wanted = [which == 0, which == 1, False]
        return torch.ops.aten.convolution_backward(their_gradient, their_x, their_weight, None, *slides, wanted)[which]

    def forward() -> Any:
        with torch.no_grad():
            return torch.nn.functional.conv2d(their_x, their_weight, stride=layer.stride, padding=layer.padding)

    if name == "forward":
        return lambda: ops.conv2d(ours_x, weight, **mine), lambda: to_array(forward(), is_nhwc)
    if name == "image gradient":
        return (
            lambda: ops.conv2d_input_gradient(ours_gradient, weight, ours_x.shape, **mine),
            lambda: to_array(backward(0), is_nhwc),
        )
    return (
        lambda: ops.conv2d_weight_gradient(ours_x, ours_gradient, weight.shape, **mine),
        lambda: to_array(backward(1), False),
    )


def to_array(result: Any, is_nhwc: bool) -> Any:
    """A view, without a copy."""
    array = result.numpy()
    return array.transpose(0, 2, 3, 1) if is_nhwc else array


if __name__ == "__main__":
    measure(sys.argv[1:])
