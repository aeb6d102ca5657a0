"""The archived matrix products beside cuBLAS, through PyTorch, on an NVIDIA GPU: run it as a program.

    python tests/gpu/matmul_vs_cublas.py [--sizes 1024,2048,4096,8192] [--formats f32,tf32,bf16,f16] [--layouts nn,nt] [--all]

Prints one JSON object per line: for every format, layout and size the TFLOP/s of cuBLAS, of the kernel that the package chooses, and with
`--all` of every kernel in the archive that computes the problem. A kernel is timed only after its result was compared with cuBLAS's in
float64. Times are the smallest of five mean times of launches that queue up behind each other; peers alternate.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import torch
from amdgpu import _native, gpu_kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from tolerances import PRODUCT_KERNEL

ROUNDS = 5
# Launches of a round run for about that long.
ROUND_SECONDS = 0.03
DTYPES = {"f64": "float64", "f32": "float32", "tf32": "float32", "bf16": "bfloat16", "f16": "float16"}


def mean_seconds(run: Callable[[], Any], wait: Callable[[], Any], count: int) -> float:
    wait()
    begin = time.perf_counter()
    for _ in range(count):
        run()
    wait()
    return (time.perf_counter() - begin) / count


def share(tensor: torch.Tensor, device: Any) -> Any:
    """A copy of a tensor in memory of ours."""
    host = tensor.cpu()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        values = host.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    else:
        values = host.numpy()
    return amdgpu.array(values, device=device.name)


def error_of(result: np.ndarray, reference: torch.Tensor, scale: float) -> float:
    return float((torch.from_numpy(result.astype(np.float64)) - reference.cpu().double()).abs().max() / scale)


def measure(device: Any, number: str, layout: str, n: int, *, everything: bool) -> dict[str, Any]:
    torch.backends.cuda.matmul.allow_tf32 = number == "tf32"
    dtype = getattr(torch, DTYPES[number])
    generator = torch.Generator(device="cuda").manual_seed(n)
    a, b = (torch.randn(n, n, device="cuda", generator=generator).to(dtype) for _ in range(2))
    left, right = (a.T if layout[0] == "t" else a), (b.T if layout[1] == "t" else b)
    output = torch.empty(n, n, device="cuda", dtype=dtype)
    exact = (left[: n // 8].double() @ right.double()).cpu()
    scale = float((left[:128].double().abs() @ right.double().abs()).max())

    own_a, own_b = share(a, device), share(b, device)
    own_out = amdgpu.empty((n, n), DTYPES[number], device=device.name)
    is_aligned = n * output.element_size() % 16 == 0
    problem = gpu_kernels.Problem(
        n, n, n, 1, number, "f32" if number == "tf32" else number, layout, "", is_aligned=is_aligned
    )
    entries: list[Any] = [None]
    if everything:
        entries += gpu_kernels.candidates(device.info().architecture, problem)
    flop = 2.0 * n**3
    runs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "cublas": (lambda: torch.matmul(left, right, out=output), torch.cuda.synchronize)
    }
    record: dict[str, Any] = {"format": number, "layout": layout, "n": n}
    errors = {}
    for entry in entries:
        own_out.fill(0)
        name = "chosen" if entry is None else entry.name.split(f"_{layout}_")[1]
        run = _native.MatmulCall(device, problem, own_a, own_b, own_out, kernel=entry)
        run()
        device.synchronize()
        error = error_of(own_out.numpy()[: n // 8], exact, scale)
        if entry is None:
            choice = gpu_kernels.choose(device, problem)
            record["kernel"] = "" if choice is None else choice.name
        errors[name] = error
        if not error <= PRODUCT_KERNEL[number]:
            record.setdefault("wrong", {})[name] = error
            continue
        runs[name] = (run, device.synchronize)
    best = dict.fromkeys(runs, float("inf"))
    for name, (run, wait) in runs.items():
        once = min(mean_seconds(run, wait, 3) for _ in range(2))
        best[name] = once
    for _ in range(ROUNDS):
        for name, (run, wait) in runs.items():
            count = max(3, min(500, int(ROUND_SECONDS / best[name])))
            best[name] = min(best[name], mean_seconds(run, wait, count))
    record["tflops"] = {name: round(flop / seconds / 1e12, 1) for name, seconds in best.items()}
    if "chosen" in best:
        record["ratio"] = round(best["cublas"] / best["chosen"], 3)
    record["error"] = max(errors.values())
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1024,2048,4096,8192")
    parser.add_argument("--formats", default="f32,tf32,bf16,f16")
    parser.add_argument("--layouts", default="nn,nt")
    parser.add_argument("--all", action="store_true", help="every kernel of the archive")
    options = parser.parse_args()
    device = amdgpu.initialize_device("cuda:0")
    for number in options.formats.split(","):
        for layout in options.layouts.split(","):
            for n in map(int, options.sizes.split(",")):
                try:
                    record = measure(device, number, layout, n, everything=options.all)
                except amdgpu.errors.AmdgpuError as error:
                    record = {"format": number, "layout": layout, "n": n, "failed": str(error)}
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
