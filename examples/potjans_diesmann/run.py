"""Run the cortical microcircuit of Potjans and Diesmann 2014 and compare it with the paper.

    python examples/potjans_diesmann/run.py --scale 0.1
    python examples/potjans_diesmann/run.py --scale 1 --drive dc --threads 1

Prints the predicted memory before anything is built, the time for building, the real-time factor (wall time over model time, behind a
start of 0.1 s that is not measured), the rate of each population beside the published one, and the largest memory that the process had.
At full scale the circuit has 77,169 neurons and 299 million synapses.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

import amdgpu
import microcircuit
import potjans_diesmann as numbers

# Model time until the start of the circuit is over.
START_SECONDS = 0.1


def main() -> None:
    """One run, one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.1, help="part of the neurons, and of the synapses of each")
    parser.add_argument("--seconds", type=float, default=1.0, help="model time that is measured")
    parser.add_argument("--drive", choices=("poisson", "dc"), default="poisson")
    parser.add_argument("--seed", type=int, default=55)
    parser.add_argument("--device", default="0", help="index or name of list_devices()")
    parser.add_argument("--threads", type=int, help="threads on the CPU device")
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead")
    options = parser.parse_args()
    device = int(options.device) if options.device.isdigit() else options.device
    text = microcircuit.text(options.scale, seed=options.seed, drive=options.drive, is_recorded=False)
    network = amdgpu.Network(text, device=device, threads=options.threads)
    estimate = network.memory_estimate()
    synapses = sum(one["synapses"] for one in estimate["projections"])
    predicted_bytes = estimate["total_bytes"]
    if not options.json:
        neurons = sum(microcircuit.sizes(options.scale).values())
        print(f"{neurons} neurons, {synapses} synapses; predicted memory {predicted_bytes / 2**30:.2f} GiB")
    begin = time.perf_counter()
    network.run(START_SECONDS)
    build_seconds = time.perf_counter() - begin
    begin_cpu = time.process_time()
    result = network.run(options.seconds)
    cpu_seconds = time.process_time() - begin_cpu
    rates = {name: rate for name, rate in result.rates().items() if name in microcircuit.sizes(options.scale)}
    # Linux counts in KiB, macOS in bytes.
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if options.json:
        found = {
            "scale": options.scale,
            "drive": options.drive,
            "synapses": synapses,
            "predicted_bytes": predicted_bytes,
            "peak_bytes": peak_bytes,
            "build_seconds": build_seconds,
            "run_seconds": result.wall_time,
            "cpu_seconds": cpu_seconds,
            "realtime_factor": result.realtime_factor,
            "rates_hz": rates,
            "spike_hash": result.spike_hash,
        }
        print(json.dumps(found))
        return
    print(f"built and started in {build_seconds:.1f} s; largest memory of the process {peak_bytes / 2**30:.2f} GiB")
    print(f"real-time factor {result.realtime_factor:.2f} (CPU time {cpu_seconds:.2f} s); spikes {result.spike_hash}")
    print(f"{'population':>10} {'Hz':>8} {'published':>10}")
    for (name, rate), published in zip(rates.items(), numbers.PUBLISHED_HZ, strict=True):
        print(f"{name:>10} {rate:8.2f} {published:10.2f}")


if __name__ == "__main__":
    main()
