"""One frame as text: `amdgpu top --once`, and what a screen reader or a log can use."""

from __future__ import annotations

from collections.abc import Sequence

from amdgpu.cli import output
from amdgpu.cli.top.frame import DeviceNow, Frame

BAR_CELLS = 20
ROWS = 10


def lines(frame: Frame, *, is_ascii: bool) -> list[str]:
    """The devices with their bars, then the busiest processes, kernels and pools."""
    text: list[str] = []
    for device in frame.devices:
        text += _device(device, is_ascii=is_ascii)
    text += ["", *_processes(frame)]
    if frame.kernels:
        columns = [
            ("kernel", "left"),
            ("pid", "right"),
            ("device", "left"),
            ("busy", "right"),
            ("calls/s", "right"),
            ("median", "right"),
        ]
        rows = [
            [
                row.title,
                str(row.pid),
                row.device,
                output.percent_text(row.busy_ratio),
                output.count_text(row.calls_per_second),
                "-" if row.p50_seconds is None else output.seconds_text(row.p50_seconds),
            ]
            for row in frame.kernels[:ROWS]
        ]
        text += ["", *output.table_lines(columns, rows)]
    text += [f"note: {note}" for note in frame.notes]
    return [line.replace("µ", "u") for line in text] if is_ascii else text


def _device(device: DeviceNow, *, is_ascii: bool) -> list[str]:
    shares: Sequence[tuple[str, float | None, str]] = (
        ("busy", device.busy_ratio, device.reasons.get("busy_ratio", "")),
        *((core, ratio, "") for core, ratio in device.core_busy_ratios.items()),
        ("memory", device.memory_ratio, device.reasons.get("memory_used_bytes", "")),
    )
    text = [f"{output.paint(device.device, 'bold', 'cyan')}  {device.description}"]
    for label, ratio, reason in shares:
        if ratio is None:
            text.append(f"   {label.ljust(13)}not known: {reason}")
        else:
            text.append(
                f"   {label.ljust(13)}{output.bar(ratio, BAR_CELLS, is_ascii=is_ascii)} {output.percent_text(ratio):>6}"
            )
    now = [
        "" if device.temperature_celsius is None else f"{device.temperature_celsius:.0f} C",
        "" if device.power_watts is None else f"{device.power_watts:.1f} W",
        "" if device.clock_hertz is None else f"{device.clock_hertz / 1e6:.0f} MHz",
        f"{output.count_text(device.launches_per_second)} launches/s",
        f"{output.count_text(sum(device.operations_per_second.values()))} operations/s",
        f"{output.bytes_text(device.copy_bytes_per_second)}/s copied",
    ]
    text.append(f"   {'now'.ljust(13)}{', '.join(part for part in now if part)}")
    return text


def _processes(frame: Frame) -> list[str]:
    if not frame.processes:
        return ["no process uses amdgpu now"]
    columns = [("pid", "right"), ("busy", "right"), ("launches/s", "right"), ("memory", "right"), ("command", "left")]
    rows = [
        [
            str(row.pid),
            output.percent_text(row.busy_ratio),
            output.count_text(row.launches_per_second),
            output.bytes_text(row.pool_reserved_bytes),
            output.command_text(row.command) + ("" if row.problem is None else f" ({row.problem})"),
        ]
        for row in frame.processes[:ROWS]
    ]
    return output.table_lines(columns, rows)
