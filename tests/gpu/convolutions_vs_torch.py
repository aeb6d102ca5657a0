"""Convolutions of 16-bit numbers on an NVIDIA GPU beside PyTorch, whose cuDNN chooses among its algorithms: run it as a program.

    python tests/gpu/convolutions_vs_torch.py [--batch 128] [--dtypes f16,bf16] [--layouts NHWC,NCHW]

Prints one JSON object per line: microseconds and TFLOP/s of ours (`amdgpu.ops.conv2d`) and of PyTorch (channels last for NHWC, after
`torch.backends.cudnn.benchmark` tried its algorithms), and how many times faster ours is; the last line has the geometric mean. The
layers are those of ResNet-50. Times are the smallest of mean times of calls that queue up behind each other; results are compared before.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any

import amdgpu
import torch
from amdgpu import ops, tuning
from sort_vs_torch import best_milliseconds

DEVICE = "cuda:0"
LAYERS = (
    "64x56x56:64x1x1",
    "64x56x56:64x3x3:p1",
    "64x56x56:256x1x1",
    "256x56x56:64x1x1",
    "256x56x56:128x1x1",
    "128x56x56:128x3x3:s2:p1",
    "256x56x56:512x1x1:s2",
    "128x28x28:128x3x3:p1",
    "128x28x28:512x1x1",
    "512x28x28:128x1x1",
    "256x28x28:256x3x3:s2:p1",
    "256x14x14:256x3x3:p1",
    "256x14x14:1024x1x1",
    "1024x14x14:256x1x1",
    "512x14x14:512x3x3:s2:p1",
    "512x7x7:512x3x3:p1",
    "512x7x7:2048x1x1",
    "2048x7x7:512x1x1",
    "3x224x224:64x7x7:s2:p3",
)
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
TOLERANCE = {"f16": 2e-3, "bf16": 2e-2}


def compare(asked: tuning.Convolution, wait: Callable[[], None]) -> dict[str, Any]:
    """A line about a layer."""
    count, channels, rows, columns = asked.images
    dtype, options = DTYPES[asked.operand], asked.keywords
    # Arrays of ours are copies: launches on memory that another library may look at are waited for.
    x = torch.randn(count, channels, rows, columns, device="cuda", dtype=dtype)
    weight = torch.randn(asked.filters, device="cuda", dtype=dtype)
    if asked.layout == "NHWC":
        x, weight = (one.to(memory_format=torch.channels_last) for one in (x, weight))
        own_x = amdgpu.from_dlpack(x.permute(0, 2, 3, 1)).copy()
        own_weight = amdgpu.from_dlpack(weight.permute(0, 2, 3, 1)).copy().transpose(0, 3, 1, 2)
    else:
        own_x, own_weight = (amdgpu.from_dlpack(one).copy() for one in (x, weight))
    own = lambda: ops.conv2d(own_x, own_weight, **options)  # noqa: E731
    theirs = lambda: torch.nn.functional.conv2d(x, weight, stride=asked.stride, padding=asked.padding)  # noqa: E731
    expected = theirs().float()
    result = torch.from_dlpack(own())
    result = (result.permute(0, 3, 1, 2) if asked.layout == "NHWC" else result).float()
    scale = float(expected.abs().max())
    error = float((result - expected).abs().max()) / scale
    if not error <= TOLERANCE[asked.operand]:
        raise SystemExit(f"{asked}: results differ by {error:.2e}")
    work = 2e-9 * expected.numel() * math.prod(asked.filters[1:])
    ours_ms, torch_ms = best_milliseconds(own, wait), best_milliseconds(theirs, wait)
    return {
        "case": str(asked),
        "ours_us": round(1e3 * ours_ms, 1),
        "torch_us": round(1e3 * torch_ms, 1),
        "ours_tflops": round(work / ours_ms, 1),
        "torch_tflops": round(work / torch_ms, 1),
        "ratio": round(torch_ms / ours_ms, 2),
    }


def main() -> None:
    """Prints a line per layer and format."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=128, help="images at once")
    parser.add_argument("--dtypes", default="f16,bf16")
    parser.add_argument("--layouts", default="NHWC,NCHW")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    layers = ",".join(f"{options.batch}x{layer}" for layer in LAYERS)
    with amdgpu.initialize_device(DEVICE) as device:

        def wait() -> None:
            device.synchronize()
            torch.cuda.synchronize()

        for layout in options.layouts.split(","):
            for dtype in options.dtypes.split(","):
                ratios = []
                for asked in tuning.convolutions_of(layers, [dtype], [layout]):
                    line = compare(asked, wait)
                    ratios.append(line["ratio"])
                    print(json.dumps(line), flush=True)
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(json.dumps({"mean_of": f"{layout} {dtype}", "ratio": round(mean, 3)}), flush=True)


if __name__ == "__main__":
    main()
