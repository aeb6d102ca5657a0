"""Networks on the first GPU beside this machine's cores: times, and whether every spike is the same.

    python tests/gpu/networks.py

Prints one line of JSON for each measurement.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import spiking_plans as plans

STEPS = 3000


def spiking(name: str, plan: dict[str, Any], gpu: int, steps: int = STEPS) -> None:
    """Steps of one network."""
    found = {}
    for where in ("cpu:0", gpu):
        device = amdgpu.device.default_device(where).native
        network = amdgpu._native.SpikingNetwork(plans.native(plan), device)
        # Kernels are compiled and graphs made.
        network.run(512)
        result = network.run(steps)
        found[str(where)] = (result["spike_hash"], result["wall_seconds"] / steps * 1e6)
        is_replayed = network.is_replayed
    (here, here_us), (there, there_us) = found.values()
    line = {"network": name, "same": here == there, "cpu_us": here_us, "gpu_us": there_us, "is_replayed": is_replayed}
    print(json.dumps(line), flush=True)


def batch(name: str, plan: dict[str, Any], gpu: int, members: int, seconds: float = 0.1) -> None:
    """Members of a batch by the same launches, and one after the other."""
    device = amdgpu.device.default_device(gpu).native
    seeded = [plans.native(plan).with_seed(seed) for seed in range(1, members + 1)]
    together = amdgpu._native.SpikingBatch(seeded, device)
    together.run(seconds)
    results = together.run(seconds)
    alone = [amdgpu._native.SpikingNetwork(one, device) for one in seeded[:4]]
    hashes = []
    for network in alone:
        network.run(network.steps_of(seconds))
        hashes.append(network.run(network.steps_of(seconds)))
    steps = results[0]["steps"]
    line = {
        "batch": name,
        "members": members,
        "same": [one["spike_hash"] for one in hashes] == [one["spike_hash"] for one in results[:4]],
        "together_us_a_step": results[0]["wall_seconds"] / steps * 1e6,
        "alone_us_a_step": sum(one["wall_seconds"] for one in hashes) / len(hashes) / steps * 1e6,
    }
    print(json.dumps(line), flush=True)


def layered(gpu: int, sizes: tuple[int, ...], rows: int) -> None:
    """The forward pass, from arrays of the host and of the device."""
    text = "".join(f"layer l{number}({size}, activation: relu)\n" for number, size in enumerate(sizes))
    text += "".join(f"connect l{number} -> l{number + 1}\n" for number in range(len(sizes) - 1))
    x = np.random.default_rng(1).random((rows, sizes[0]), dtype=np.float32)
    here, there = amdgpu.Network(text, device="cpu:0"), amdgpu.Network(text, device=gpu)
    lent = amdgpu.array(x, device=gpu)
    wanted = here.forward(x)
    found = there.forward(x)
    line: dict[str, Any] = {"layers": sizes, "rows": rows}
    line["error"] = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    for name, network, given in (("cpu_us", here, x), ("gpu_us", there, x), ("gpu_array_us", there, lent)):
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            network.forward(given)
            times.append(time.perf_counter() - begin)
        line[name] = min(times) * 1e6
    print(json.dumps(line), flush=True)


def main() -> None:
    """All of it."""
    gpu = next((number for number, info in enumerate(amdgpu.list_devices()) if info.kind in ("cuda", "hip")), None)
    if gpu is None:
        sys.exit("there is no GPU")
    spiking("cuba", plans.cuba(), gpu)
    spiking("stdp", plans.stdp(delay=1e-3), gpu)
    for members in (4, 16, 64):
        batch("cuba", plans.cuba(), gpu, members)
        batch("stdp", plans.stdp(delay=1e-3), gpu, members)
    layered(gpu, (784, 256, 10), 1)
    layered(gpu, (784, 256, 10), 4096)
    layered(gpu, (4096, 4096, 4096, 4096), 4096)


if __name__ == "__main__":
    main()
