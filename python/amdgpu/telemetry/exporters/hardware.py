"""The names that OpenTelemetry's conventions have for hardware: `hw.*`, beside the catalogue's own.

Source: "Semantic conventions for hardware" (still "development" there). A device is a component of type `gpu` or `cpu`; its temperature,
voltage and fan sensors are components of their own, with the device as `hw.parent`. What the conventions have no name for is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Labels = Mapping[str, str]
Attributes = dict[str, str]

# How the conventions count: `gauge`, `counter`, or `updown`, a sum that may fall.
GAUGE, COUNTER, UP_DOWN = "gauge", "counter", "updown"
DIRECTIONS = frozenset({"receive", "transmit"})


@dataclass(frozen=True, slots=True)
class Convention:
    """One metric of the conventions.

    Attributes:
        name: For example `hw.power`.
        unit: As the conventions write it.
        kind: gauge, counter or updown.
        attributes: Makes those of a row from its labels; None for a row that has no place there.
    """

    name: str
    unit: str
    kind: str
    attributes: Callable[[Labels], Attributes | None]


def _component(labels: Labels) -> Attributes:
    device = labels["device"]
    return {"hw.id": device, "hw.type": "cpu" if device.startswith("cpu:") else "gpu"}


def _gpu(labels: Labels) -> Attributes | None:
    found = _component(labels)
    return found if found["hw.type"] == "gpu" else None


def _utilization(labels: Labels) -> Attributes | None:
    # Shares of single engines have no place: the task is that of the whole device.
    found = _gpu(labels)
    return None if found is None or labels.get("core") != "all" else {**found, "hw.gpu.task": "general"}


def _traffic(labels: Labels) -> Attributes | None:
    found = _gpu(labels)
    if found is None or labels.get("direction") not in DIRECTIONS:
        return None
    return {**found, "network.io.direction": labels["direction"]}


def _sensor(kind: str, label: str | None = None) -> Callable[[Labels], Attributes]:
    def attributes(labels: Labels) -> Attributes:
        place = labels.get(label, "") if label else ""
        found = {"hw.id": f"{labels['device']} {place or kind}", "hw.type": kind, "hw.parent": labels["device"]}
        return {**found, "hw.sensor_location": place} if place else found

    return attributes


def _errors(name: str | None) -> Callable[[Labels], Attributes]:
    def attributes(labels: Labels) -> Attributes:
        return {**_component(labels), "error.type": name or labels["severity"]}

    return attributes


CONVENTIONS: dict[str, Convention] = {
    "amdgpu_busy_ratio": Convention("hw.gpu.utilization", "1", GAUGE, _utilization),
    "amdgpu_memory_used_bytes": Convention("hw.gpu.memory.usage", "By", UP_DOWN, _gpu),
    "amdgpu_memory_total_bytes": Convention("hw.gpu.memory.limit", "By", UP_DOWN, _gpu),
    "amdgpu_temperature_celsius": Convention("hw.temperature", "Cel", GAUGE, _sensor("temperature", "sensor")),
    "amdgpu_power_watts": Convention("hw.power", "W", GAUGE, _component),
    "amdgpu_energy_joules_total": Convention("hw.energy", "J", COUNTER, _component),
    "amdgpu_voltage_volts": Convention("hw.voltage", "V", GAUGE, _sensor("voltage", "rail")),
    "amdgpu_pcie_bytes_total": Convention("hw.gpu.io", "By", COUNTER, _traffic),
    "amdgpu_pcie_replays_total": Convention("hw.errors", "{error}", COUNTER, _errors("pcie_replay")),
    "amdgpu_ecc_errors_total": Convention("hw.errors", "{error}", COUNTER, _errors(None)),
    "amdgpu_fan_speed_rpm": Convention("hw.fan.speed", "rpm", GAUGE, _sensor("fan")),
    "amdgpu_fan_speed_ratio": Convention("hw.fan.speed_ratio", "1", GAUGE, _sensor("fan")),
}


def rows_of(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Rows of the bus under the conventions' names: name, unit and kind, then rows with attributes as labels.

    Of several rows that say the same of one component, as average and momentary power do, the first counts.
    """
    found: dict[tuple[str, str, str], dict[tuple[tuple[str, str], ...], dict[str, Any]]] = {}
    for row in rows:
        convention = CONVENTIONS.get(row["metric"])
        attributes = convention.attributes(row["labels"]) if convention is not None else None
        if convention is None or attributes is None:
            continue
        group = found.setdefault((convention.name, convention.unit, convention.kind), {})
        group.setdefault(tuple(sorted(attributes.items())), {"labels": attributes, "value": row["value"]})
    return {key: list(group.values()) for key, group in found.items()}
