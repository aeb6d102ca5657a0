"""One run of a spiking network by ours, in a process of its own: `python network_worker.py FILE --seconds 1 --threads 1`.

Prints one line of JSON with `build_seconds` (text to the first step, kernels compiled or found in the cache), `run_seconds` (the least of
the rounds), the mean rate of all neurons and the hash of the spikes of the first round.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import amdgpu


def main() -> None:
    """One network, one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu:0")
    options = parser.parse_args()
    begin = time.perf_counter()
    network = amdgpu.Network(options.file.read_text(), device=options.device, threads=options.threads)
    network.step()
    build_seconds = time.perf_counter() - begin
    results = [network.run(options.seconds) for _ in range(options.rounds)]
    first = results[0]
    neurons = [name for name in first.sizes if name in {one["name"] for one in network.plan["spiking"]["populations"]}]
    spikes = sum(first.counts[name] for name in neurons)
    print(
        json.dumps(
            {
                "build_seconds": build_seconds,
                "run_seconds": min(result.wall_time for result in results),
                "rate_hz": spikes / sum(first.sizes[name] for name in neurons) / first.duration,
                "spike_hash": first.spike_hash,
            }
        )
    )


if __name__ == "__main__":
    main()
