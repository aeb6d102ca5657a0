"""`amdgpu.ops` and `matrix_multiply` on arrays of a GPU beside PyTorch, as programs call them: run it as a program.

    python tests/gpu/calls_vs_torch.py [--only NAME]

Prints one line for each operation, in microseconds, ours and PyTorch's: `alone` is a call and the wait for its end, the least of many;
`queued` is the mean of calls behind each other, the least of some rounds; `host` is how long such a call keeps the host. Ours and PyTorch's
take turns. Results are compared before they are timed. Behind the calls of `matrix_multiply` come the steps they are made of.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import numpy as np
import torch
from amdgpu import gpu_kernels
from amdgpu.device import default_device

SIDE = 8192
PRODUCT = 4096
ALONE = 30
ROUNDS = 5
# Calls of a round run for about that long, ...
ROUND_SECONDS = 0.02
# ... and are as many at most: the driver holds about a thousand launches.
MOST_CALLS = 200

Call = Callable[[], Any]
Case = tuple[str, Call, Call | None]


def once(run: Call, wait: Call) -> float:
    begin = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - begin


def behind_each_other(run: Call, wait: Call, count: int) -> tuple[float, float]:
    """Mean time of a call and mean time that it keeps the host."""
    wait()
    begin = time.perf_counter()
    for _ in range(count):
        run()
    host = time.perf_counter() - begin
    wait()
    return (time.perf_counter() - begin) / count, host / count


def measured(calls: list[tuple[Call, Call]]) -> list[tuple[float, float, float]]:
    """For each call with its wait: alone, queued, host."""
    alone = [min(once(*call) for _ in range(3)) for call in calls]
    for _ in range(ALONE):
        alone = [min(best, once(*call)) for best, call in zip(alone, calls, strict=True)]
    counts = [max(5, min(MOST_CALLS, int(ROUND_SECONDS / best))) for best in alone]
    pairs = [(float("inf"), float("inf"))] * len(calls)
    for _ in range(ROUNDS):
        for index, (call, count) in enumerate(zip(calls, counts, strict=True)):
            found = behind_each_other(*call, count)
            pairs[index] = (min(pairs[index][0], found[0]), min(pairs[index][1], found[1]))
    return [(best, *pair) for best, pair in zip(alone, pairs, strict=True)]


def compare(name: str, ours: Any, theirs: Any) -> str:
    """Empty where both have the same values within what the format allows."""
    left = ours.numpy().astype(np.float64)
    right = theirs.double().cpu().numpy()
    wide = 2e-3 if str(ours.dtype) in ("float16", "bfloat16") else 2e-5
    scale = max(float(np.abs(right).max()), 1e-30)
    error = float(np.abs(left - right).max()) / scale
    return "" if left.shape == right.shape and error <= 4 * wide else f"  differs by {error:.2e}"


def elementwise_and_rows(device: Any) -> Iterator[Case]:
    for dtype in ("float32", "float16"):
        x = torch.randn(SIDE, SIDE, device="cuda", dtype=getattr(torch, dtype))
        a = amdgpu.array(x, device=device.name)
        yield f"{dtype} add", lambda a=a: amdgpu.ops.add(a, a), lambda x=x: torch.add(x, x)
        yield f"{dtype} exp", lambda a=a: amdgpu.ops.exp(a), lambda x=x: torch.exp(x)
        yield f"{dtype} gelu", lambda a=a: amdgpu.ops.gelu(a), lambda x=x: torch.nn.functional.gelu(x)
        yield f"{dtype} sum rows", lambda a=a: amdgpu.ops.sum(a, 1), lambda x=x: x.sum(1)
        yield f"{dtype} sum all", lambda a=a: amdgpu.ops.sum(a), lambda x=x: x.sum()
        yield f"{dtype} argmax rows", lambda a=a: amdgpu.ops.argmax(a, 1), lambda x=x: x.argmax(1)
        yield f"{dtype} variance rows", lambda a=a: amdgpu.ops.var(a, 1), lambda x=x: x.var(1, correction=0)
        yield f"{dtype} softmax", lambda a=a: amdgpu.ops.softmax(a), lambda x=x: torch.softmax(x, 1)


def columns(device: Any) -> Iterator[Case]:
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        for rows, wide in ((SIDE, SIDE), (4096, 4096), (16384, 1024), (1024, 16384), (65536, 256)):
            if dtype in ("bfloat16", "float64") and rows != SIDE:
                continue
            x = torch.randn(rows, wide, device="cuda", dtype=getattr(torch, dtype))
            a = amdgpu.array(x, device=device.name)
            size = f"{dtype} {rows}x{wide}"
            yield f"{size} sum columns", lambda a=a: amdgpu.ops.sum(a, 0), lambda x=x: x.sum(0)
            yield f"{size} max columns", lambda a=a: amdgpu.ops.max(a, 0), lambda x=x: x.amax(0)
            if rows == SIDE:
                yield f"{size} argmax columns", lambda a=a: amdgpu.ops.argmax(a, 0), lambda x=x: x.argmax(0)
                yield f"{size} var columns", lambda a=a: amdgpu.ops.var(a, 0), lambda x=x: x.var(0, correction=0)


def small(device: Any) -> Iterator[Case]:
    x = torch.randn(64, 256, device="cuda")
    a = amdgpu.array(x, device=device.name)
    yield "64x256 add", lambda: amdgpu.ops.add(a, a), lambda: torch.add(x, x)
    yield "64x256 sum columns", lambda: amdgpu.ops.sum(a, 0), lambda: x.sum(0)
    yield "64x256 softmax", lambda: amdgpu.ops.softmax(a), lambda: torch.softmax(x, 1)

    def ours() -> Any:
        y = a
        for _ in range(5):
            y = amdgpu.ops.relu(amdgpu.ops.add(y, a))
        return y

    def theirs() -> Any:
        y = x
        for _ in range(5):
            y = torch.relu(torch.add(y, x))
        return y

    yield "64x256 ten calls", ours, theirs


def products(device: Any) -> Iterator[Case]:
    for dtype, precision in (("bfloat16", "bf16"), ("float16", "fp16")):
        kind = getattr(torch, dtype)
        x, w = (torch.randn(PRODUCT, PRODUCT, device="cuda").to(kind) / 8 for _ in range(2))
        bias, residual = (
            torch.randn(PRODUCT, device="cuda").to(kind),
            torch.randn(PRODUCT, PRODUCT, device="cuda").to(kind),
        )
        a, b, c, r = (amdgpu.array(one, device=device.name) for one in (x, w, bias, residual))

        def ours(a: Any = a, b: Any = b, precision: str = precision, **options: Any) -> Any:
            return amdgpu.matrix_multiply(a, b, device.name, precision, **options)

        def linear(x: Any = x, w: Any = w, bias: Any = bias) -> Any:
            return torch.addmm(bias, x, w)

        yield f"{dtype} product", ours, lambda x=x, w=w: x @ w
        yield f"{dtype} product, bias", lambda o=ours, c=c: o(bias=c), linear
        yield (
            f"{dtype} product, bias, relu",
            lambda o=ours, c=c: o(bias=c, activation="relu"),
            lambda f=linear: torch.relu(f()),
        )
        yield (
            f"{dtype} product, bias, gelu",
            lambda o=ours, c=c: o(bias=c, activation="gelu"),
            lambda f=linear: torch.nn.functional.gelu(f()),
        )
        yield (
            f"{dtype} product, bias, silu",
            lambda o=ours, c=c: o(bias=c, activation="silu"),
            (lambda f=linear: torch.nn.functional.silu(f())),
        )
        yield (
            f"{dtype} product, bias, residual, tanh",
            (lambda o=ours, c=c, r=r: o(bias=c, activation="tanh", residual=r)),
            lambda f=linear, residual=residual: torch.tanh(f() + residual),
        )


def steps(device: Any) -> Iterator[Case]:
    """What products with an epilogue are made of: each archived kernel with sums left wide, and the kernel behind them."""
    x, w = (torch.randn(PRODUCT, PRODUCT, device="cuda").bfloat16() / 8 for _ in range(2))
    a, b = (amdgpu.array(one, device=device.name) for one in (x, w))
    sums = device.native.empty((PRODUCT, PRODUCT), "float32")
    for epilogue, is_wide in (("", False), ("", True), ("bias", False), ("gelu", False)):
        problem = gpu_kernels.problem_of(a, b, epilogue=epilogue, is_wide=is_wide)
        for kernel in gpu_kernels.candidates(device.info().architecture, problem):
            if epilogue == "gelu" and kernel.tile[1] > 128:
                # The driver compiles it for a minute.
                continue
            bias = amdgpu.zeros(PRODUCT, "bfloat16", device=device) if epilogue else None
            options = {"kernel": kernel, "bias": bias, "activation": epilogue if epilogue == "gelu" else None}
            out = sums if is_wide else None
            yield f"  {kernel.name}", lambda o=options, out=out: gpu_kernels.matmul(device, a, b, out=out, **o), None
    yield "  exp of the sums", lambda: amdgpu.ops.exp(sums), None
    yield "  gelu of the sums", lambda: amdgpu.ops.gelu(sums), None


def show(name: str, ours: Call, theirs: Call | None, device: Any) -> None:
    try:
        note = "" if theirs is None else compare(name, ours(), theirs())
        calls: list[tuple[Call, Call]] = [(ours, device.synchronize)] + (
            [] if theirs is None else [(theirs, torch.cuda.synchronize)]
        )
        figures = measured(calls)
    except Exception as error:  # noqa: BLE001
        print(f"{name:44} failed: {type(error).__name__}: {error}", flush=True)
        return
    texts = []
    for index in range(3):
        own = figures[0][index] * 1e6
        if theirs is None:
            texts.append(f"{own:8.1f} {'':8} {'':5}")
        else:
            peer = figures[1][index] * 1e6
            texts.append(f"{own:8.1f} {peer:8.1f} {peer / own:5.2f}")
    print(f"{name:44} {' | '.join(texts)}{note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="part of the names of operations")
    wanted = parser.parse_args().only
    device = default_device("cuda:0")
    torch.backends.cuda.matmul.allow_tf32 = False
    header = f"{'ours':>8} {'torch':>8} {'ratio':>5}"
    print(f"{'microseconds':44} {header} | {header} | {header}\n{'':44} {'alone':^23} | {'queued':^23} | {'host':^23}")
    for group in (small, columns, elementwise_and_rows, products, steps):
        for name, ours, theirs in group(device):
            if wanted in name:
                show(name, ours, theirs, device)


if __name__ == "__main__":
    main()
