"""Products on the CPU with fewer threads beside all of them: run it as a program on a machine with many cores.

Prints one JSON object per line: microseconds for each number of threads, and how much the best of them gains over the package's choice.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import numpy as np
from amdgpu import _native

SHAPES = [(n, n, n) for n in (64, 96, 112, 128, 160, 192, 256, 384, 512, 1024)]
SHAPES += [(1, 1024, 1024), (8, 1024, 1024), (64, 64, 4096), (4096, 64, 64), (512, 768, 768)]
ROUNDS = 30


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64, 128) if count <= cores]
    random = np.random.default_rng(0)
    for dtype, precision in ((np.float32, "fp32"), (np.float64, "fp64")):
        for m, n, k in SHAPES:
            a, b = random.standard_normal((m, k)).astype(dtype), random.standard_normal((k, n)).astype(dtype)
            out = np.empty((m, n), dtype)
            best: dict[Any, float] = {}
            for _ in range(ROUNDS):
                for count in [None, *counts]:
                    calls = max(1, int(2e8 / (2 * m * n * k)))
                    begin = time.perf_counter()
                    for _ in range(calls):
                        _native.matmul(a, b, out, precision=precision, threads=count)
                    best[count] = min(best.get(count, 1e9), (time.perf_counter() - begin) / calls)
            fastest = min(counts, key=lambda count: best[count])
            record = {"shape": [m, n, k], "precision": precision, "best": fastest, "gain": best[None] / best[fastest]}
            record["microseconds"] = {str(count): round(seconds * 1e6, 1) for count, seconds in best.items()}
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
