"""One run of a spiking network by ours, in a process of its own: `python network_worker.py FILE --seconds 1 --threads 1`.

Prints one line of JSON with `build_seconds` (text to the first step, kernels compiled or found in the cache), `run_seconds` and
`cpu_seconds` (the least of the rounds), the mean rate of all neurons, the hash of the spikes of the first round, and memory: what was
predicted, and the most that the process had.
"""

from __future__ import annotations

import argparse
import json
import resource
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
    parser.add_argument("--before", type=Path, help="a network that is built and stepped once before the clock starts")
    parser.add_argument("--warm-up", type=float, default=0.0, help="model time before the first round, seconds")
    options = parser.parse_args()
    device_name = int(options.device) if options.device.isdigit() else options.device
    if options.before is not None:
        amdgpu.Network(options.before.read_text(), device=device_name, threads=options.threads).step()
    begin = time.perf_counter()
    network = amdgpu.Network(options.file.read_text(), device=device_name, threads=options.threads)
    network.step()
    build_seconds = time.perf_counter() - begin
    if options.warm_up:
        network.run(options.warm_up)
    results, cpu_seconds = [], []
    for _ in range(options.rounds):
        begin_cpu = time.process_time()
        results.append(network.run(options.seconds))
        cpu_seconds.append(time.process_time() - begin_cpu)
    first = results[0]
    estimate = network.memory_estimate()
    neurons = [name for name in first.sizes if name in {one["name"] for one in network.plan["spiking"]["populations"]}]
    spikes = sum(first.counts[name] for name in neurons)
    print(
        json.dumps(
            {
                "build_seconds": build_seconds,
                "run_seconds": min(result.wall_time for result in results),
                "cpu_seconds": min(cpu_seconds),
                "model_seconds": first.duration,
                "steps": first.steps,
                "rate_hz": spikes / sum(first.sizes[name] for name in neurons) / first.duration,
                "spike_hash": first.spike_hash,
                "predicted_bytes": estimate["total_bytes"],
                "storage": sorted({one["storage"] for one in estimate["projections"]}),
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
