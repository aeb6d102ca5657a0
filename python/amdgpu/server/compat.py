"""`/metrics` under the names of AMD's device-metrics-exporter or NVIDIA's dcgm-exporter, so that existing dashboards keep working.

Which name of ours is which of theirs stands in `metrics.toml`; here stand the units, and which label of ours their name means. What they
have no counterpart of is not on these pages. They know GPUs only, so the CPU is not on them either.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amdgpu.telemetry.metrics_page import END, escape

MEBI = 1 / 2**20
MEGA = 1e-6
KILO = 1e-3


@dataclass(frozen=True, slots=True)
class Rule:
    """One foreign name: of which metric of ours, with which labels, times what.

    `labels` chooses series of ours; `carried` maps labels of ours to labels of theirs.
    """

    metric: str
    name: str
    factor: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)
    carried: Mapping[str, str] = field(default_factory=dict)
    kind: str = "gauge"
    # Whether it is the metric minus what is used of it (free memory).
    is_free: bool = False


AMD = (
    Rule("amdgpu_busy_ratio", "gpu_gfx_activity", 100, {"core": "all"}),
    Rule("amdgpu_memory_controller_busy_ratio", "gpu_umc_activity", 100),
    Rule("amdgpu_memory_used_bytes", "gpu_used_vram", MEBI),
    Rule("amdgpu_memory_total_bytes", "gpu_total_vram", MEBI),
    Rule("amdgpu_temperature_celsius", "gpu_edge_temperature", 1, {"sensor": "edge"}),
    Rule("amdgpu_temperature_celsius", "gpu_junction_temperature", 1, {"sensor": "junction"}),
    Rule("amdgpu_temperature_celsius", "gpu_memory_temperature", 1, {"sensor": "memory"}),
    Rule("amdgpu_power_watts", "gpu_package_power", 1, {"kind": "package"}),
    Rule("amdgpu_energy_joules_total", "gpu_energy_consumed", 1e6, kind="counter"),
    Rule("amdgpu_clock_hertz", "gpu_clock", MEGA, carried={"domain": "clock_type"}),
    Rule("amdgpu_engine_busy_ratio", "gpu_vcn_activity", 100, {"engine": "video"}),
    Rule("amdgpu_engine_busy_ratio", "gpu_jpeg_activity", 100, {"engine": "jpeg"}),
    Rule("amdgpu_partition_busy_ratio", "gpu_gfx_busy_instantaneous", 100, carried={"partition": "gpu_partition_id"}),
    Rule("amdgpu_shared_memory_used_bytes", "gpu_used_gtt", MEBI),
    Rule("amdgpu_shared_memory_total_bytes", "gpu_total_gtt", MEBI),
    Rule("amdgpu_voltage_volts", "gpu_voltage", 1e3, carried={"rail": "rail"}),
    Rule("amdgpu_pcie_throughput_bytes_per_second", "pcie_bandwidth", 8e-6, carried={"direction": "direction"}),
    Rule("amdgpu_pcie_replays_total", "pcie_replay_count", kind="counter"),
    Rule("amdgpu_ecc_errors_total", "gpu_ecc_uncorrect_total", 1, {"severity": "uncorrected"}, kind="counter"),
    Rule("amdgpu_ecc_errors_total", "gpu_ecc_correct_total", 1, {"severity": "corrected"}, kind="counter"),
)
DCGM = (
    Rule("amdgpu_busy_ratio", "DCGM_FI_DEV_GPU_UTIL", 100, {"core": "all"}),
    Rule("amdgpu_memory_controller_busy_ratio", "DCGM_FI_DEV_MEM_COPY_UTIL", 100),
    Rule("amdgpu_memory_used_bytes", "DCGM_FI_DEV_FB_USED", MEBI),
    Rule("amdgpu_memory_total_bytes", "DCGM_FI_DEV_FB_FREE", MEBI, is_free=True),
    Rule("amdgpu_temperature_celsius", "DCGM_FI_DEV_GPU_TEMP", 1, {"sensor": "gpu"}),
    Rule("amdgpu_temperature_celsius", "DCGM_FI_DEV_GPU_TEMP", 1, {"sensor": "edge"}),
    Rule("amdgpu_temperature_celsius", "DCGM_FI_DEV_MEMORY_TEMP", 1, {"sensor": "memory"}),
    Rule("amdgpu_power_watts", "DCGM_FI_DEV_POWER_USAGE", 1, {"kind": "package"}),
    Rule("amdgpu_energy_joules_total", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1e3, kind="counter"),
    Rule("amdgpu_clock_hertz", "DCGM_FI_DEV_SM_CLOCK", MEGA, {"domain": "sm"}),
    Rule("amdgpu_clock_hertz", "DCGM_FI_DEV_SM_CLOCK", MEGA, {"domain": "graphics"}),
    Rule("amdgpu_clock_hertz", "DCGM_FI_DEV_MEM_CLOCK", MEGA, {"domain": "memory"}),
    Rule("amdgpu_throttle_seconds_total", "DCGM_FI_DEV_POWER_VIOLATION", 1e9, {"reason": "power"}, kind="counter"),
    Rule("amdgpu_throttle_seconds_total", "DCGM_FI_DEV_THERMAL_VIOLATION", 1e9, {"reason": "thermal"}, kind="counter"),
    Rule("amdgpu_pcie_bytes_total", "DCGM_FI_PROF_PCIE_RX_BYTES", 1, {"direction": "receive"}, kind="counter"),
    Rule("amdgpu_pcie_bytes_total", "DCGM_FI_PROF_PCIE_TX_BYTES", 1, {"direction": "transmit"}, kind="counter"),
    Rule("amdgpu_engine_busy_ratio", "DCGM_FI_DEV_DEC_UTIL", 100, {"engine": "decoder"}),
    Rule("amdgpu_engine_busy_ratio", "DCGM_FI_DEV_ENC_UTIL", 100, {"engine": "encoder"}),
    Rule("amdgpu_fan_speed_ratio", "DCGM_FI_DEV_FAN_SPEED", 100),
    Rule("amdgpu_pcie_throughput_bytes_per_second", "DCGM_FI_DEV_PCIE_RX_THROUGHPUT", KILO, {"direction": "receive"}),
    Rule("amdgpu_pcie_throughput_bytes_per_second", "DCGM_FI_DEV_PCIE_TX_THROUGHPUT", KILO, {"direction": "transmit"}),
    Rule("amdgpu_pcie_replays_total", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kind="counter"),
    Rule("amdgpu_ecc_errors_total", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 1, {"severity": "uncorrected"}, kind="counter"),
    Rule("amdgpu_ecc_errors_total", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 1, {"severity": "corrected"}, kind="counter"),
)
RULES = {"amd": AMD, "dcgm": DCGM}


def page(
    compat: str, rows: Sequence[Mapping[str, Any]], devices: Iterable[Mapping[str, Any]], *, open_metrics: bool
) -> str:
    """The page: `rows` are counters and gauges of a snapshot, `devices` those of `device:list`."""
    gpus = [device for device in devices if device["kind"] != "cpu"]
    identities = {device["device"]: _identity(compat, number, device) for number, device in enumerate(gpus)}
    families: dict[str, list[str]] = {}
    seen: set[tuple[str, str]] = set()
    for rule in RULES[compat]:
        for row in rows:
            labels = row["labels"]
            identity = identities.get(labels.get("device", ""))
            if row["metric"] != rule.metric or identity is None or not rule.labels.items() <= labels.items():
                continue
            value = row["value"] - _used(rows, labels["device"]) if rule.is_free else row["value"]
            pairs = identity | {theirs: labels[ours] for ours, theirs in rule.carried.items()}
            text = "{" + ",".join(f'{name}="{escape(str(each))}"' for name, each in pairs.items()) + "}"
            # Two labels of ours may mean the same name of theirs; a card has one of them.
            if (rule.name, text) in seen:
                continue
            seen.add((rule.name, text))
            _add(families, rule, text, value * rule.factor, open_metrics)
    body = "".join(f"{line}\n" for lines in families.values() for line in lines)
    return body + END if open_metrics else body


def _add(families: dict[str, list[str]], rule: Rule, labels: str, value: float, open_metrics: bool) -> None:
    # OpenMetrics wants counters to end in _total, which these names do not all: there they are gauges in name.
    kind = "unknown" if open_metrics and rule.kind == "counter" else rule.kind
    lines = families.setdefault(
        rule.name, [f"# HELP {rule.name} {rule.metric} of amdgpu.", f"# TYPE {rule.name} {kind}"]
    )
    lines.append(f"{rule.name}{labels} {value:.10g}")


def _used(rows: Sequence[Mapping[str, Any]], device: str) -> float:
    return sum(
        float(row["value"])
        for row in rows
        if row["metric"] == "amdgpu_memory_used_bytes" and row["labels"].get("device") == device
    )


def _identity(compat: str, number: int, device: Mapping[str, Any]) -> dict[str, str]:
    """The labels by which the other exporters' dashboards know a card."""
    uuid = str(device.get("uuid") or device["device"])
    if compat == "amd":
        return {
            "gpu_id": str(number),
            "gpu_uuid": uuid,
            "card_model": device["name"],
            "hostname": platform.node(),
        }
    return {
        "gpu": str(number),
        "UUID": uuid,
        "device": f"nvidia{number}",
        "modelName": device["name"],
        "Hostname": platform.node(),
    }
