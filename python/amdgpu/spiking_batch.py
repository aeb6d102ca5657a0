"""Runs of one spiking network with several seeds or inputs, several of them at once: what `SpikingNetwork.run_batch` does."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.external_inputs import ExternalInputs

if TYPE_CHECKING:
    import numpy.typing as npt

    Inputs = Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]


# Part of the device's free memory that the networks of a batch may take together.
USABLE = 0.8


def plans_of(
    plan: _native.NetworkPlan, seeds: Sequence[int] | None, inputs: Sequence[Inputs] | None
) -> list[_native.NetworkPlan]:
    """The plans of the members: each with its seed, and with its spikes in place of those that the text lists."""
    if seeds is None and inputs is None:
        raise InvalidArgumentError("a batch is given by seeds, by inputs, or by both")
    if seeds is not None:
        seeds = arguments.sequence("run_batch", "seeds", seeds, "integers")
    if inputs is not None:
        inputs = arguments.sequence("run_batch", "inputs", inputs, "dicts, one for each member,")
    count = len(seeds) if seeds is not None else len(inputs or ())
    if inputs is not None and len(inputs) != count:
        raise InvalidArgumentError(f"there are {count} seeds and {len(inputs)} inputs; a batch takes one of each")
    members = []
    for number in range(count):
        member = plan
        if seeds is not None:
            member = member.with_seed(arguments.count("run_batch", f"seeds[{number}]", seeds[number]))
        if inputs is not None:
            member = _with_spikes(member, inputs[number], number)
        members.append(member)
    return members


def _with_spikes(plan: _native.NetworkPlan, given: Inputs, number: int) -> _native.NetworkPlan:
    """The plan with the spikes of one member; the plan itself checks them, besides their types."""
    pairs = arguments.mapping("run_batch", f"inputs[{number}]", given, "(times, indices) by the name of a source")
    for name, pair in pairs.items():
        what = f"input {number} of {name!r}"
        given_times, given_indices = arguments.two("run_batch", f"inputs[{number}][{name!r}]", pair, "(times, indices)")
        seconds = arguments.reals("run_batch", f"the times of {what}", given_times)
        neurons = arguments.values("run_batch", f"the indices of {what}", given_indices)
        if seconds.ndim != 1 or seconds.shape != neurons.shape:
            raise InvalidArgumentError(
                f"{what} has times of shape {seconds.shape} and indices of shape {neurons.shape}; "
                "both have one entry for each spike"
            )
        if neurons.size and neurons.dtype.kind not in "iu":
            raise InvalidArgumentError(f"the indices of {what} are {neurons.dtype}, not whole numbers")
        plan = plan.with_spikes(str(name), seconds, neurons.astype("int64"), what)
    return plan


# Members that launches serve together at most: rows of their tables are blocks of a grid, of which there are 65,535.
MOST_TOGETHER = 256


def members_at_once(
    device: _native.Device, plan: _native.NetworkPlan, threads: int | None, count: int, external: ExternalInputs
) -> int:
    """How many networks are stepped beside one another, as far as they fit into memory: one a thread on the CPU, many on a GPU."""
    wanted = MOST_TOGETHER
    if device.kind == "cpu":
        wanted = threads or int(os.environ.get("AMDGPU_CPU_THREADS") or os.cpu_count() or 1)
    estimate = json.loads(
        _native.network_memory(plan, device, base_directory=external.base_directory, arrays=external.arrays)
    )
    room = int(estimate["free_bytes"] * USABLE // max(1, estimate["total_bytes"]))
    return max(1, min(wanted, room, count))


class _Stopped(Exception):
    """Another member failed, or the user interrupted the batch."""


def run(
    plans: Sequence[_native.NetworkPlan],
    device: _native.Device,
    *,
    duration: float,
    external: ExternalInputs,
    threads: int | None,
    progress: Callable[[float], None] | None,
) -> list[tuple[dict[str, Any], float]]:
    """What each member's run gave, with its time step."""
    if not plans:
        return []
    at_once = members_at_once(device, plans[0], threads, len(plans), external)
    how: dict[str, Any] = {"duration": duration, "external": external, "progress": progress}
    if device.kind != "cpu" and at_once > 1:
        return run_together(plans, device, at_once, **how)
    return run_beside(plans, device, at_once, threads=threads, **how)


def run_beside(
    plans: Sequence[_native.NetworkPlan],
    device: _native.Device,
    at_once: int,
    *,
    duration: float,
    external: ExternalInputs,
    threads: int | None,
    progress: Callable[[float], None] | None,
) -> list[tuple[dict[str, Any], float]]:
    """What `run` gives, with a thread for each of so many members at a time."""
    stop = threading.Event()
    done = [0.0] * len(plans)

    def member(number: int) -> tuple[dict[str, Any], float]:
        def watch(steps: int, total: int, _spikes: int) -> None:
            done[number] = steps / max(1, total)
            if stop.is_set():
                raise _Stopped

        if stop.is_set():
            raise _Stopped
        alone = threads if at_once == 1 else 1
        network = _native.SpikingNetwork(
            plans[number], device, base_directory=external.base_directory, arrays=external.arrays, threads=alone
        )
        raw = network.run(network.steps_of(float(duration)), watch)
        if raw["error"] is not None:
            raise raw["error"]
        if progress is not None:
            done[number] = 1.0
            progress(sum(done) / len(done))
        return raw, network.dt_seconds

    with ThreadPoolExecutor(at_once, thread_name_prefix="amdgpu-batch") as pool:
        futures = [pool.submit(member, number) for number in range(len(plans))]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            stop.set()
            if isinstance(error, _Stopped):
                raise _first_failure(futures) from None
            raise


def run_together(
    plans: Sequence[_native.NetworkPlan],
    device: _native.Device,
    at_once: int,
    *,
    duration: float,
    external: ExternalInputs,
    progress: Callable[[float], None] | None,
) -> list[tuple[dict[str, Any], float]]:
    """What `run` gives, with so many members at a time stepped by the same launches."""
    results: list[tuple[dict[str, Any], float]] = []
    for first in range(0, len(plans), at_once):
        members = plans[first : first + at_once]

        def watch(steps: int, total: int, _spikes: int, first: int = first, count: int = len(members)) -> None:
            if progress is not None:
                progress((first + count * steps / max(1, total)) / len(plans))

        batch = _native.SpikingBatch(members, device, base_directory=external.base_directory, arrays=external.arrays)
        raw = batch.run(float(duration), watch)
        if raw[0]["error"] is not None:
            raise raw[0]["error"]
        results += [(one, batch.dt_seconds) for one in raw]
    return results


def _first_failure(futures: Sequence[Future[Any]]) -> BaseException:
    """What stopped the members of a batch."""
    failures = [failure for future in futures if (failure := future.exception()) is not None]
    return next((failure for failure in failures if not isinstance(failure, _Stopped)), failures[0])
