"""The main job on real input, through Rust, Zig, Nim, Julia and Python together. Exits with 1 when an answer is wrong."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
from amdgpu.cli import output
from amdgpu.cli.status import info
from digits import images

HERE = Path(__file__).resolve().parent
VECTOR_ELEMENTS = 10_000_000
MATRIX_SIDE = 2048
TIMED_RUNS = 5
BLOCK_THREADS = 256
# OpenBLAS's threads spin for 0.1 s after a product and take cores from what follows (tools/bench/matmul.py).
SETTLE_SECONDS = 0.12
# float32 sums of 784 products of values below 1: k * eps of the wider layer, as in Higham, section 3.5, and room for another order.
NETWORK_TOLERANCE = 1e-4

VECTOR_ADD = """
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
"""


class Demo:
    """Runs the steps and remembers whether all answers were right."""

    def __init__(self) -> None:
        self.console = output.console()
        self.is_right = True

    def check(self, what: str, is_right: bool) -> None:
        """Print a verdict."""
        self.is_right &= is_right
        verdict = "[green]ok[/]" if is_right else "[bold red]WRONG[/]"
        self.console.print(f"  {verdict}  {what}")

    def step(self, number: int, title: str) -> None:
        """Print a heading."""
        self.console.print(f"\n[bold cyan]{number}. {title}[/]")

    def vector_add(self) -> None:
        """10 million elements through the HIP-C compiler (Rust, LLVM)."""
        self.step(2, "AURA core: a HIP-C kernel, compiled by Rust and LLVM, run on device 0")
        device = amdgpu.initialize_device(0, ["aura"])
        kernel = device.compile_kernel(VECTOR_ADD)
        rng = np.random.default_rng(1)
        a, b = (rng.random(VECTOR_ELEMENTS, dtype=np.float32) for _ in range(2))
        c = np.empty_like(a)
        grid = -(-VECTOR_ELEMENTS // BLOCK_THREADS)
        seconds = best_of(lambda: kernel[grid, BLOCK_THREADS](a, b, c, VECTOR_ELEMENTS))
        expected = np.empty_like(a)
        numpy_seconds = best_of(lambda: np.add(a, b, out=expected))
        gigabytes = 3 * a.nbytes / 1e9
        self.console.print(
            f"  {kernel.signature} compiled in {kernel.compile_seconds * 1e3:.1f} ms ({kernel.cache_answer})"
        )
        self.console.print(
            f"  {VECTOR_ELEMENTS:,} elements: {seconds * 1e3:.2f} ms, {gigabytes / seconds:.1f} GB/s; "
            f"NumPy {numpy_seconds * 1e3:.2f} ms, {gigabytes / numpy_seconds:.1f} GB/s"
        )
        self.check("every element equals NumPy's, bit for bit", bool(np.array_equal(c, expected)))

    def matrix_product(self) -> None:
        """2048 x 2048 by the Zig library."""
        self.step(3, f"Matrix core: {MATRIX_SIDE} x {MATRIX_SIDE} float32 product in Zig")
        rng = np.random.default_rng(2)
        a, b = (rng.random((MATRIX_SIDE, MATRIX_SIDE), dtype=np.float32) - 0.5 for _ in range(2))
        product = np.empty_like(a)
        seconds, numpy_seconds = float("inf"), float("inf")
        # Alternated, so that both see the same machine.
        for _ in range(TIMED_RUNS):
            time.sleep(SETTLE_SECONDS)
            seconds = min(seconds, timed(lambda: amdgpu.matrix_multiply(a, b, out=product)))
            time.sleep(SETTLE_SECONDS)
            numpy_seconds = min(numpy_seconds, timed(lambda: a @ b))
        operations = 2 * MATRIX_SIDE**3 / 1e9
        self.console.print(
            f"  {operations / seconds:.1f} GFLOP/s; NumPy {operations / numpy_seconds:.1f} GFLOP/s; "
            f"ratio {numpy_seconds / seconds:.2f}"
        )
        exact = a.astype(np.float64) @ b.astype(np.float64)
        bound = MATRIX_SIDE * 2.0**-24 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
        self.check("within k*eps*sum|a||b| of the float64 product", bool((np.abs(product - exact) <= bound).all()))

    def network(self) -> None:
        """784-256-10, compiled by Nim, run forward by Zig and Julia."""
        self.step(4, "Neuromorphic core: 784-256-10 network, checked by Nim, run by Zig and by Julia")
        net = amdgpu.Network.load(HERE / "test_network.nim")
        x = images()
        layers = " -> ".join(f"{layer['name']}({layer['size']})" for layer in net.plan["layers"])
        self.console.print(f"  {net.name}: {layers}; input: {len(x)} digits of 28 x 28 pixels")
        answers = {"zig": net.forward(x, backend="matrix"), "nim (reference)": net.forward(x, backend="nim")}
        julia = amdgpu.math.availability()
        if julia["found"]:
            answers["julia"] = net.forward(x, backend="julia")
        else:
            self.console.print(f"  Julia is not there, its half is skipped: {julia['reason']}")
        reference = answers["zig"]
        for name, answer in answers.items():
            difference = float(np.abs(answer - reference).max())
            self.check(f"{name}: rows sum to 1", bool(np.allclose(answer.sum(axis=1), 1, atol=1e-5)))
            if name != "zig":
                self.check(
                    f"{name} = zig within {NETWORK_TOLERANCE:g}: {difference:.1e}", difference <= NETWORK_TOLERANCE
                )

    def boundaries(self) -> None:
        """What crossed from language to language."""
        self.step(5, "What crossed which language boundary")
        rows = sorted(amdgpu.telemetry.boundaries(), key=lambda row: (row["from"], row["to"], row["name"]))
        output.print_table(
            "",
            [
                ("from", "left"),
                ("to", "left"),
                ("function", "left"),
                ("calls", "right"),
                ("total", "right"),
                ("median", "right"),
            ],
            [
                [
                    row["from"],
                    row["to"],
                    row["name"],
                    str(row["count"]),
                    output.seconds_text(row["total_seconds"]),
                    output.seconds_text(row["p50_seconds"]),
                ]
                for row in rows
            ],
        )
        languages = {row["from"] for row in rows} | {row["to"] for row in rows}
        wanted = {"python", "rust", "zig", "nim"} | ({"julia"} if amdgpu.math.availability()["found"] else set())
        self.check(f"languages that took part: {', '.join(sorted(languages))}", wanted <= languages)


def timed(function: Callable[[], Any]) -> float:
    """Seconds of one call."""
    start_ns = time.perf_counter_ns()
    function()
    return (time.perf_counter_ns() - start_ns) / 1e9


def best_of(function: Callable[[], Any]) -> float:
    """Seconds of the fastest of some calls."""
    return min(timed(function) for _ in range(TIMED_RUNS))


def main() -> int:
    """Run all steps."""
    demo = Demo()
    demo.console.print(f"[bold]amdgpu {amdgpu.__version__}[/]: one import, five languages")
    demo.step(1, "Devices of this machine")
    info.print_devices(amdgpu.list_devices())
    demo.vector_add()
    demo.matrix_product()
    demo.network()
    demo.boundaries()
    demo.console.print("\n[bold]Where to go next[/]")
    for command, what in (
        (".venv/bin/amdgpu info", "devices, cores, memory, libraries"),
        (".venv/bin/amdgpu net tools/demo/test_network.nim --batch 3", "run a network file"),
        ("./x test", "all tests of all languages"),
        ("docs/guide.md", "kernels, matrices, networks and telemetry from Python"),
    ):
        demo.console.print(f"  {command:<60} {what}")
    if not demo.is_right:
        demo.console.print("\n[bold red]An answer was wrong; see above.[/]")
    return 0 if demo.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
