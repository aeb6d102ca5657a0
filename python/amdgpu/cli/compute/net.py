"""`amdgpu net FILE`: check a network, show what it is, and run it: a layered one forward, a spiking one over time."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output
from amdgpu.cli.compute import net_run

if TYPE_CHECKING:
    import argparse

    import numpy as np
    import numpy.typing as npt

    from amdgpu.network import Network

SCHEMA = "amdgpu.net/1"
SHOWN_ROWS = 5
SHOWN_VALUES = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", help="network text, or - for standard input")
    parser.add_argument("--device", default="0", help="index or name of the device (default 0)")
    parser.add_argument(
        "--seed",
        type=_seed,
        help="in place of the text's seed; also that of random input (default 0)",
    )
    parser.add_argument("--plan", action="store_true", help="print the checked plan and stop")
    parser.add_argument("--plot", metavar="FILE.png", help="draw what was recorded, or else the network")
    output.add_json_option(parser)
    spiking = parser.add_argument_group("spiking networks")
    spiking.add_argument("--run", metavar="TIME", type=_duration, dest="duration", help="model time: 1s, 250ms, 0.5")
    spiking.add_argument("--save", metavar="FILE", help="write the state after the run, for net.restore")
    layered = parser.add_argument_group("layered networks")
    layered.add_argument("--input", metavar="FILE.npy", help="input of shape (batch, inputs); default: random values")
    layered.add_argument("--output", metavar="FILE.npy", help="write the answer here")
    layered.add_argument(
        "--backend", choices=("matrix", "julia", "nim"), help="who computes; default: the best available"
    )
    layered.add_argument("--batch", type=int, help="rows of random input (default 1)")


def run(options: argparse.Namespace) -> int:
    """Load, check, run, print."""
    import amdgpu
    from amdgpu.plotting.canvas import check_ending

    device: int | str = int(options.device) if options.device.lstrip("-").isdigit() else options.device
    if options.plot:
        check_ending(options.plot)
    network = (
        amdgpu.Network(sys.stdin.read(), device=device, seed=options.seed)
        if options.file == "-"
        else amdgpu.Network.load(options.file, device=device, seed=options.seed)
    )
    _refuse_others(options, network)
    if options.plan:
        output.print_json("amdgpu.network_plan/1", {"plan": network.plan})
        return 0
    if isinstance(network, amdgpu.SpikingNetwork):
        return net_run.run(options, network)
    return _forward(options, network)


def _refuse_others(options: argparse.Namespace, network: Network) -> None:
    """Options of the other kind of network would have no effect."""
    from amdgpu.errors import InvalidArgumentError

    of_layers = ("input", "output", "backend", "batch")
    names = of_layers if network.is_spiking else ("duration", "save")
    given = [name for name in names if getattr(options, name) is not None]
    if given:
        shown = ", ".join("--run" if name == "duration" else f"--{name}" for name in given)
        kind = (
            "spiking: it is run with --run TIME" if network.is_spiking else "layered: it is run forward, without time"
        )
        raise InvalidArgumentError(f"{shown} does not fit: the network {network.name!r} is {kind}")


def _duration(text: str) -> float:
    """Seconds of `1s`, `250ms`, `250.ms`, `0.5`."""
    import argparse
    import math

    for unit, size in (("ms", 1e-3), ("us", 1e-6), ("s", 1.0), ("", 1.0)):
        if text.endswith(unit):
            try:
                seconds = float(text.removesuffix(unit).strip()) * size
            except ValueError:
                break
            if math.isfinite(seconds) and seconds > 0:
                return seconds
            break
    raise argparse.ArgumentTypeError(f"{text!r} is no time above 0; write 1s, 250ms or 0.5 (seconds)")


def _seed(text: str) -> int:
    import argparse

    if text.isascii() and text.isdigit() and int(text) < 2**63:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no seed: a whole number from 0 to 2^63 - 1")


def _forward(options: argparse.Namespace, network: Network) -> int:
    """Run a layered network."""
    import numpy as np

    x = _input(options, network)
    start_ns = time.perf_counter_ns()
    y = network.forward(x, backend=options.backend)
    seconds = (time.perf_counter_ns() - start_ns) / 1e9
    if options.output:
        np.save(options.output, y)
    if options.plot:
        network.plot_graph(options.plot)
    if options.json:
        content = {
            "network": network.name,
            "layers": network.plan["layers"],
            "warnings": network.warnings,
            "seconds": seconds,
            "shape": list(y.shape),
            "output": y.tolist(),
        }
        output.print_json(SCHEMA, content)
        return 0
    _print(network, y, seconds)
    return 0


def _input(options: argparse.Namespace, network: Network) -> npt.NDArray[Any]:
    import numpy as np

    from amdgpu.cli.failure import UsageError
    from amdgpu.errors import InvalidArgumentError

    if options.input:
        try:
            loaded: npt.NDArray[Any] = np.load(options.input, allow_pickle=False)
        except ValueError as error:
            raise InvalidArgumentError(f"{options.input} is no .npy file: {error}") from None
        return loaded
    batch = 1 if options.batch is None else options.batch
    if batch < 1:
        raise UsageError(f"--batch must be at least 1, got {batch}")
    return np.random.default_rng(options.seed or 0).random((batch, network.input_size), dtype=np.float32)


def _print(network: Network, y: npt.NDArray[np.float32], seconds: float) -> None:
    layers = network.plan["layers"]
    output.print_table(
        f"Network {network.name}",
        [("layer", "left"), ("size", "right"), ("activation", "left")],
        [[layer["name"], str(layer["size"]), layer["activation"]["kind"]] for layer in layers],
    )
    for warning in network.warnings:
        output.say(f"warning: {warning}")
    output.say(f"forward: {y.shape[0] if y.ndim > 1 else 1} rows in {output.seconds_text(seconds)}")
    rows = y.reshape(-1, y.shape[-1])
    for index, row in enumerate(rows[:SHOWN_ROWS]):
        shown = " ".join(f"{value:.4f}" for value in row[:SHOWN_VALUES])
        more = f" ... ({len(row)} values)" if len(row) > SHOWN_VALUES else ""
        output.say(f"  row {index}: {shown}{more}")
    if len(rows) > SHOWN_ROWS:
        output.say(f"  ... {len(rows) - SHOWN_ROWS} more rows; --output FILE.npy keeps all")
