"""Transposes and convolutions of the archive beside PyTorch, on an NVIDIA GPU: run it as a program.

    python tests/gpu/operations_vs_torch.py

Prints one JSON object per line: gigabytes read and written per second, TFLOP/s for convolutions, ours and PyTorch's. Times are the smallest
of five mean times of launches that queue up behind each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import torch
from amdgpu import gpu_kernels
from matmul_vs_cublas import ROUND_SECONDS, ROUNDS, mean_seconds

ROWS = COLUMNS = 16384
IMAGES, SIDE, CHANNELS = 64, 56, 64


def best_seconds(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    best = min(mean_seconds(run, wait, 3) for _ in range(2))
    count = max(3, min(500, int(ROUND_SECONDS / best)))
    return min(mean_seconds(run, wait, count) for _ in range(ROUNDS))


def cases(device: Any) -> Iterator[tuple[str, float, str, Callable[[], Any], Callable[[], Any]]]:
    """Name, what is counted, its unit, ours, PyTorch's."""
    for name, dtype in (("float32", torch.float32), ("float16", torch.float16)):
        x = torch.randn(ROWS, COLUMNS, device="cuda", dtype=dtype)
        out = torch.empty_like(x)
        ours_x = amdgpu.array(x, device=device.name)
        moved = x.numel() * x.element_size() / 1e9
        yield (
            f"transpose {name}",
            2 * moved,
            "GB/s",
            lambda a=ours_x: gpu_kernels.transpose(device, a),
            lambda a=x, o=out: o.copy_(a.T),
        )
    torch.backends.cudnn.allow_tf32 = False
    for name, dtype in (("float32", torch.float32), ("float16", torch.float16)):
        images = torch.randn(IMAGES, SIDE, SIDE, CHANNELS, device="cuda", dtype=dtype)
        filters = torch.randn(3, 3, CHANNELS, CHANNELS, device="cuda", dtype=dtype)
        ours = [amdgpu.array(tensor, device=device.name) for tensor in (images, filters)]
        channels_first = images.permute(0, 3, 1, 2)
        kernels_first = filters.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        yield (
            f"convolution 3x3 {name}",
            2 * images.numel() * 9 * CHANNELS / 1e12,
            "TFLOP/s",
            lambda a=ours: gpu_kernels.convolve(device, *a, padding=1),
            lambda a=channels_first, b=kernels_first: torch.nn.functional.conv2d(a, b, padding=1),
        )


def main() -> None:
    device = amdgpu.initialize_device("cuda:0")
    for name, count, unit, ours, peer in cases(device):
        record: dict[str, Any] = {"operation": name, "unit": unit}
        try:
            record["ours"] = round(count / best_seconds(ours, device.synchronize), 1)
            record["torch"] = round(count / best_seconds(peer, torch.cuda.synchronize), 1)
            record["ratio"] = round(record["ours"] / record["torch"], 3)
        except amdgpu.errors.AmdgpuError as error:
            record["failed"] = str(error)
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
