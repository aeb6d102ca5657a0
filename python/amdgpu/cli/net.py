"""`amdgpu net FILE`: check a network and run it forward."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output

if TYPE_CHECKING:
    import argparse

    import numpy as np
    import numpy.typing as npt

    from amdgpu.network import Network

SCHEMA = "amdgpu.net/1"
SHOWN_ROWS = 5
SHOWN_VALUES = 10


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the sub-command."""
    parser = commands.add_parser("net", help="check a network file and run it forward")
    parser.add_argument("file", help="network text, or - for standard input")
    parser.add_argument("--input", metavar="FILE.npy", help="input of shape (batch, inputs); default: random values")
    parser.add_argument("--output", metavar="FILE.npy", help="write the answer here")
    parser.add_argument(
        "--backend", choices=("matrix", "julia", "nim"), help="who computes; default: the best available"
    )
    parser.add_argument("--batch", type=int, default=1, help="rows of random input (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random input (default 0)")
    parser.add_argument("--device", default="0", help="index or name of the device (default 0)")
    parser.add_argument("--plan", action="store_true", help="print the checked plan and stop")
    output.add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load, check, run, print."""
    import numpy as np

    import amdgpu

    device: int | str = int(options.device) if options.device.lstrip("-").isdigit() else options.device
    network = (
        amdgpu.Network(sys.stdin.read(), device=device)
        if options.file == "-"
        else amdgpu.Network.load(options.file, device=device)
    )
    if options.plan:
        output.print_json("amdgpu.network_plan/1", {"plan": network.plan})
        return 0
    x = _input(options, network)
    start_ns = time.perf_counter_ns()
    y = network.forward(x, backend=options.backend)
    seconds = (time.perf_counter_ns() - start_ns) / 1e9
    if options.output:
        np.save(options.output, y)
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

    from amdgpu.errors import InvalidArgumentError

    if options.input:
        try:
            loaded: npt.NDArray[Any] = np.load(options.input, allow_pickle=False)
        except ValueError as error:
            raise InvalidArgumentError(f"{options.input} is no .npy file: {error}") from None
        return loaded
    if options.batch < 1:
        raise InvalidArgumentError(f"--batch is {options.batch}; it must be at least 1")
    return np.random.default_rng(options.seed).random((options.batch, network.input_size), dtype=np.float32)


def _print(network: Network, y: npt.NDArray[np.float32], seconds: float) -> None:
    layers = network.plan["layers"]
    output.print_table(
        f"Network {network.name}",
        [("layer", "left"), ("size", "right"), ("activation", "left")],
        [[layer["name"], str(layer["size"]), layer["activation"]["kind"]] for layer in layers],
    )
    for warning in network.warnings:
        print(f"warning: {warning}")
    print(f"forward: {y.shape[0] if y.ndim > 1 else 1} rows in {output.seconds_text(seconds)}")
    rows = y.reshape(-1, y.shape[-1])
    for index, row in enumerate(rows[:SHOWN_ROWS]):
        shown = " ".join(f"{value:.4f}" for value in row[:SHOWN_VALUES])
        more = f" ... ({len(row)} values)" if len(row) > SHOWN_VALUES else ""
        print(f"  row {index}: {shown}{more}")
    if len(rows) > SHOWN_ROWS:
        print(f"  ... {len(rows) - SHOWN_ROWS} more rows; --output FILE.npy keeps all")
