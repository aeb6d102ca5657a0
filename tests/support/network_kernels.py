"""Runs the kernels of a network plan one by one on a device, with the arrays that their roles ask for."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np

LIBRARY = Path(amdgpu.__file__).parent / "_lib" / "libagpu_neuro.so"
UNIT = 2.0**-36


class _Text(ctypes.Structure):
    _fields_ = (("pointer", ctypes.c_void_p), ("len", ctypes.c_uint64))


def plan_of(text: str) -> dict[str, Any]:
    """The plan that the network language gives."""
    library = ctypes.CDLL(str(LIBRARY))
    data = text.encode()
    given = _Text(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))
    plan = ctypes.c_void_p()
    status = library.agpu_neuro_compile(ctypes.byref(given), None, ctypes.byref(plan))
    assert status == 0, f"status {status}: the text does not compile"
    try:
        answer = _Text()
        assert library.agpu_neuro_plan_json(plan, ctypes.byref(answer)) == 0
        return json.loads(ctypes.string_at(answer.pointer, answer.len))
    finally:
        library.agpu_neuro_plan_destroy(plan)


def values_of(ranges: list[dict[str, Any]], size: int) -> np.ndarray:
    """Constants over a group."""
    array = np.zeros(size, np.float32)
    for part in ranges:
        assert part["value"]["kind"] == "constant", "tests give other values themselves"
        array[part["first"] : part["first"] + part["count"]] = part["value"]["value"]
    return array


class PlanKernels:
    """The compiled kernels of a plan. `bind` says which array or number a role stands for."""

    def __init__(self, text: str) -> None:
        self.plan = plan_of(text)
        self.spiking = self.plan["spiking"]
        names = [device.name for device in amdgpu.list_devices()]
        assert names
        cpu = next(i for i, device in enumerate(amdgpu.list_devices()) if device.kind == "cpu")
        self.device = amdgpu.initialize_device(cpu)
        self._compiled: dict[str, Any] = {}

    def kernel(self, phase: str, *, group: int | None = None, projection: int | None = None) -> dict[str, Any] | None:
        """The entry of a phase, or None."""
        for entry in self.spiking["kernels"]:
            if entry["phase"] == phase and entry["group"] == group and entry["projection"] == projection:
                return entry
        return None

    def launch(self, entry: dict[str, Any], bound: dict[tuple[str, str], Any], count: int) -> None:
        """Call a kernel for `count` work-items."""
        name = entry["name"]
        if name not in self._compiled:
            self._compiled[name] = self.device.compile_kernel(self.spiking["source"], name=name)
        arguments = [bound[argument["role"], argument.get("name", "")] for argument in entry["arguments"]]
        self._compiled[name][((count + 63) // 64,), (64,)](*arguments)
        self.device.synchronize()


class GroupRunner(PlanKernels):
    """One group of a plan, stepped with inputs that the test gives."""

    def __init__(self, text: str, group: int = 0) -> None:
        super().__init__(text)
        self.index = group
        self.group = self.spiking["groups"][group]
        size = self.size = self.group["size"]
        self.state = {item["name"]: values_of(item["values"], size) for item in self.group["variables"]}
        self.rows = {name: np.zeros(size, np.int32) for name in self.group["inputs"]}
        self.refractory = np.zeros(size, np.int32)
        self.fired = np.zeros(size, np.uint8)
        self.step_number = 0

    def bound(self) -> dict[tuple[str, str], Any]:
        bound: dict[tuple[str, str], Any] = {
            ("count", ""): np.uint32(self.size),
            ("step", ""): np.uint64(self.step_number),
            ("seed", ""): np.uint64(self.plan["seed"]),
            ("refractory", ""): self.refractory,
            ("fired", ""): self.fired,
        }
        for name, array in self.state.items():
            bound["state", name] = array
        for name, row in self.rows.items():
            bound["input", name] = row
            bound["unit", name] = np.float32(UNIT)
        for item in self.group["parameters"]:
            array = values_of(item["values"], self.size)
            bound["parameter", item["name"]] = array[0]
            bound["parameter_array", item["name"]] = array
        return bound

    def initialize(self) -> None:
        entry = self.kernel("initialize", group=self.index)
        assert entry is not None
        self.launch(entry, self.bound(), self.size)

    def step(self, **inputs: np.ndarray) -> np.ndarray:
        """One step; the result says who fired."""
        for name, values in inputs.items():
            self.rows[name][:] = np.rint(values / UNIT)
        entry = self.kernel("update", group=self.index)
        assert entry is not None
        self.launch(entry, self.bound(), self.size)
        self.step_number += 1
        return self.fired.astype(bool)


class ProjectionRunner(PlanKernels):
    """One projection, all to all, whose neurons spike when the test says so."""

    def __init__(
        self,
        text: str,
        projection: int = 0,
        *,
        neurons: dict[tuple[str, str], np.ndarray] | None = None,
        unit: float = 2.0**-24,
    ) -> None:
        super().__init__(text)
        self.unit = unit
        self.index = projection
        plan = self.spiking["projections"][projection]
        sizes = {item["name"]: item["size"] for item in self.spiking["populations"] + self.spiking["sources"]}
        self.sources, self.targets = sizes[plan["from"]], sizes[plan["to"]]
        self.count = self.sources * self.targets

        def start(items: list[dict[str, Any]], size: int) -> dict[str, np.ndarray]:
            return {item["name"]: np.full(size, item["value"]["value"], np.float32) for item in items}

        self.synapse = start(plan["variables"], self.count)
        self.pre = start(plan["pre_variables"], self.sources)
        self.post = start(plan["post_variables"], self.targets)
        self.last = np.zeros(self.count, np.uint32)
        self.row_starts = (np.arange(self.sources + 1) * self.targets).astype(np.uint32)
        self.columns = np.tile(np.arange(self.targets), self.sources).astype(np.uint32)
        self.synapse_sources = np.repeat(np.arange(self.sources), self.targets).astype(np.uint32)
        self.column_starts = (np.arange(self.targets + 1) * self.sources).astype(np.uint32)
        order = np.arange(self.count).reshape(self.sources, self.targets)
        self.column_synapses = order.T.reshape(-1).astype(np.uint32)
        self.rows: dict[str, np.ndarray] = {}
        self.overflow = np.zeros(1, np.uint32)
        self.neurons = neurons or {}
        target = next(item for item in self.spiking["populations"] if item["name"] == plan["to"])
        self.parameters = {item["name"]: item for item in self.spiking["groups"][target["group"]]["parameters"]}
        self.step_number = 0

    def bound(self, entry: dict[str, Any], reward: float = 0.0) -> dict[tuple[str, str], Any]:
        bound: dict[tuple[str, str], Any] = {
            ("step", ""): np.uint64(self.step_number),
            ("seed", ""): np.uint64(self.plan["seed"]),
            ("reward", ""): np.float32(reward),
            ("row_starts", ""): self.row_starts,
            ("row_ends", ""): self.row_starts[1:],
            ("columns", ""): self.columns,
            ("column_starts", ""): self.column_starts,
            ("column_ends", ""): self.column_starts[1:],
            ("column_synapses", ""): self.column_synapses,
            ("column_sources", ""): self.synapse_sources[self.column_synapses],
            ("synapse_sources", ""): self.synapse_sources,
            ("last_update", ""): self.last,
        }
        for role, arrays in (("synapse_state", self.synapse), ("pre_state", self.pre), ("post_state", self.post)):
            for name, array in arrays.items():
                bound[role, name] = array
        bound.update(self.neurons)
        numbers = {
            "per_unit": np.float32(1 / self.unit),
            "per_wide_unit": np.float32(1 / self.unit),
            "most_units": np.float32(2**30),
            "most_wide_units": np.float32(2**60),
        }
        rows = {"target_input": np.int32, "wide_target_input": np.int64}
        for argument in entry["arguments"]:
            role, name = argument["role"], argument.get("name", "")
            if role in rows:
                bound[role, name] = self.rows.setdefault(name, np.zeros(self.targets, rows[role]))
            elif role in numbers:
                bound[role, name] = numbers[role]
            elif role == "overflow":
                bound[role, ""] = self.overflow
            elif role == "parameter":
                bound[role, name] = values_of(self.parameters[name]["values"], 1_000)[0]
        return bound

    def _events(self, phase: str, spikes: np.ndarray) -> None:
        entry = self.kernel(phase, projection=self.index)
        if entry is None or not spikes.any():
            return
        listed = np.flatnonzero(spikes).astype(np.uint32)
        bound = self.bound(entry)
        bound["spike_list", ""] = listed
        bound["spike_count", ""] = np.array([len(listed)], np.uint32)
        self.launch(entry, bound, 64 * len(listed))

    def _trace(self, phase: str, spikes: np.ndarray) -> None:
        entry = self.kernel(phase, projection=self.index)
        if entry is not None:
            bound = self.bound(entry)
            bound["count", ""] = np.uint32(len(spikes))
            bound["events", ""] = spikes.astype(np.uint8)
            self.launch(entry, bound, len(spikes))

    def _all(self, phase: str, reward: float = 0.0) -> None:
        entry = self.kernel(phase, projection=self.index)
        if entry is not None:
            bound = self.bound(entry, reward)
            bound["count", ""] = np.uint32(self.count)
            self.launch(entry, bound, self.count)

    def step(self, pre: np.ndarray, post: np.ndarray, reward: float = 0.0) -> dict[str, np.ndarray]:
        """One step in the order of docs/plan_schema.md; the result is what arrives at the targets."""
        for row in self.rows.values():
            row[:] = 0
        self._events("on_pre", pre)
        self._trace("trace_pre", pre)
        self._events("on_post", post)
        self._trace("trace_post", post)
        self._all("clocked")
        if reward:
            self._all("on_reward", reward)
        self.step_number += 1
        return {name: row * self.unit for name, row in self.rows.items()}

    def weights(self, name: str = "w") -> np.ndarray:
        """A variable of the synapses as a matrix."""
        return self.synapse[name].reshape(self.sources, self.targets)


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Philox4x32-10 of the columns of `counter`, after the paper."""
    words = [column.astype(np.uint64) for column in counter]
    low, high = key
    for _ in range(10):
        first, third = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        mask = np.uint64(0xFFFFFFFF)
        shift = np.uint64(32)
        words = [
            (third >> shift) ^ words[1] ^ np.uint64(low),
            third & mask,
            (first >> shift) ^ words[3] ^ np.uint64(high),
            first & mask,
        ]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return np.array(words)
