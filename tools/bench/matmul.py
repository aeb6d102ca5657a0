"""Matrix product of square float32 and float64 matrices, 64 to 2048, with one thread and with all.

Both sides run in the same fresh process, alternating, with the same number of threads; the result is checked against
NumPy's before anything is timed. GFLOP/s counts 2 n^3 operations.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from frame import Report, side_by_side

PEER = "NumPy `a @ b` (its OpenBLAS)"
# OpenBLAS's idle threads spin for 2^26 clock ticks before they sleep (its README, OPENBLAS_THREAD_TIMEOUT): about 30 ms.
SETTLE_SECONDS = 0.06
SIZES = (64, 128, 256, 512, 1024, 2048)
DTYPES = {"float32": "fp32", "float64": "fp64"}


def run(report: Report, arguments: list[str]) -> None:
    """Starts a process per thread count: NumPy's threads are fixed when it is loaded."""
    sizes = [int(text) for text in arguments] or list(SIZES)
    cores = len(os.sched_getaffinity(0))
    for threads in sorted({1, min(2, cores), cores}):
        environment = {
            **os.environ,
            "AMDGPU_CPU_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
        }
        command = [sys.executable, __file__, str(threads), *map(str, sizes)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None  # asked for with PIPE
            for line in child.stdout:
                row = json.loads(line)
                case = f"{row['dtype']} {row['size']}, {threads} thread{'s' if threads > 1 else ''}"
                report.add(case, "GFLOP/s", row["ours"], row["peer"], higher_is_better=True)
        if child.returncode:
            raise SystemExit(f"the measuring process ended with exit code {child.returncode}")


def measure(threads: int, sizes: list[int]) -> None:
    """The measuring process: one JSON line per case."""
    import amdgpu
    import numpy as np

    generator = np.random.default_rng(2)
    for dtype, precision in DTYPES.items():
        for size in sizes:
            a, b = (generator.standard_normal((size, size)).astype(dtype) for _ in range(2))
            ours_out, peer_out = np.empty((size, size), dtype), np.empty((size, size), dtype)

            def ours(a=a, b=b, out=ours_out, precision=precision) -> None:  # noqa: ANN001
                amdgpu.matrix_multiply(a, b, "cpu:0", precision, out=out)

            def peer(a=a, b=b, out=peer_out) -> None:  # noqa: ANN001
                np.matmul(a, b, out=out)

            ours()
            peer()
            # k * eps * sum |a||b| bounds either side (Higham, section 3.5), so their difference is within twice that.
            bound = 2 * size * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b))
            if not (np.abs(ours_out - peer_out) <= bound).all():
                raise SystemExit(f"{dtype} {size}: the product is wrong, so its speed means nothing")
            seconds_ours, seconds_peer = side_by_side(ours, peer, settle_seconds=SETTLE_SECONDS if threads > 1 else 0.0)
            operations = 2 * size**3 / 1e9
            row = {"dtype": dtype, "size": size, "ours": operations / seconds_ours, "peer": operations / seconds_peer}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    measure(int(sys.argv[1]), [int(text) for text in sys.argv[2:]])
