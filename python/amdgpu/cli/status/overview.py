"""`amdgpu` and `amdgpu overview`: devices, memory, sensors, kernel cache and processes at a glance.

It has 150 ms in all, so it draws its few lines itself: Rich alone takes a third of that to load.
"""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any

from amdgpu.cli import machine, output
from amdgpu.cli.status import processes

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.overview/1"
# A reason is not cut into shorter pieces, however narrow the terminal is.
MIN_REASON_COLUMNS = 30
BAR_CELLS = 24
LABEL_CELLS = 13
# Shares from which on a bar has another colour: a fifth is left, a twentieth is left.
WARN_SHARE = 0.8
ALARM_SHARE = 0.95


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the overview."""
    content = collect()
    if options.json:
        output.print_json(SCHEMA, content)
    else:
        output.say("\n".join(lines(content)))
    return 0


def collect() -> dict[str, Any]:
    """Everything that the overview shows."""
    import amdgpu

    # Loads are differences between two looks; the first one is taken for the second to have something to compare with.
    machine.readings()
    devices = machine.device_rows(amdgpu.list_devices())
    cache = machine.kernel_cache()
    found, problem = processes.summaries()
    readings = machine.readings()
    for device in devices:
        device["sensors"] = [row for row in readings if row["labels"].get("device") == device["device"]]
    return {
        "version": amdgpu.__version__,
        "devices": devices,
        "kernel_cache": cache,
        "processes": found,
        "processes_absent": problem,
    }


def lines(content: dict[str, Any]) -> list[str]:
    """The overview as text."""
    width = shutil.get_terminal_size((output.LOG_WIDTH_COLUMNS, 24)).columns
    is_ascii = not output.has_unicode()
    text = [output.paint(f"amdgpu {content['version']}", "bold"), ""]
    for device in content["devices"]:
        text += [*device_lines(device, width, is_ascii=is_ascii), ""]
    cache = content["kernel_cache"]
    known = f"{cache['kernels']} kernels, {output.bytes_text(cache['bytes'])}" if cache["kernels"] is not None else "-"
    place = f"  {output.paint(cache['path'] or '', 'dim')}" if cache["path"] else ""
    why = f"  {output.paint(cache['reason'], 'dim')}" if cache["reason"] else ""
    text.append(_labelled("kernel cache", f"{known}{place}{why}"))
    text += _process_lines(content, width)
    text += ["", output.paint("`amdgpu top` watches, `amdgpu --help` lists the commands", "dim")]
    return text


def device_lines(device: dict[str, Any], width: int, *, is_ascii: bool) -> list[str]:
    """A device as the overview shows it: its name, cores, memory and load, and what sensors tell."""
    name, sensors = device["device"], device["sensors"]
    head = f"{device['id']}  {output.paint(name, 'bold', 'cyan')}  {device['name']}"
    dot = " | " if is_ascii else " · "
    cores = dot.join(f"{count} {core}" for core, count in device["core_counts"].items())
    used, total = machine.memory(sensors, name, device["free_memory_bytes"], device["total_memory_bytes"])
    busy, no_busy = machine.find(sensors, "amdgpu_busy_ratio", name)
    return [
        f"{head}  {output.paint(device['architecture'], 'dim')}",
        _labelled("cores", cores),
        *_memory_lines(used, total, sensors, name, width, is_ascii=is_ascii),
        *(
            _absent_lines("busy", no_busy, width)
            if busy is None
            else [_labelled("busy", f"{_bar(busy, is_ascii=is_ascii)}  {output.percent_text(busy):>5}")]
        ),
        *condition_lines(device, dot, width),
    ]


def _memory_lines(
    used: int | None, total: int, sensors: list[dict[str, Any]], name: str, width: int, *, is_ascii: bool
) -> list[str]:
    """How much memory is used of how much, or why that is not known."""
    if used is None:
        _, why = machine.find(sensors, "amdgpu_memory_used_bytes", name)
        return _absent_lines("memory", f"{why} (the device has {output.bytes_text(total)})", width)
    share = used / total if total else 0.0
    amounts = f"{output.bytes_text(used)} of {output.bytes_text(total)}"
    return [_labelled("memory", f"{_bar(share, is_ascii=is_ascii)}  {output.percent_text(share):>5}  {amounts}")]


def condition_lines(device: dict[str, Any], dot: str, width: int) -> list[str]:
    """Temperature, power and clock: what is known on one line, what is not with its reason on lines of their own."""
    name, sensors = device["device"], device["sensors"]
    heat, no_heat = machine.hottest(sensors, name)
    power, no_power = machine.find(sensors, "amdgpu_power_watts", name)
    limit, _ = machine.find(sensors, "amdgpu_power_limit_watts", name)
    clock, _ = machine.find(sensors, "amdgpu_clock_hertz", name)
    known = [
        f"{heat:.0f} °C" if heat is not None else "",
        f"{power:.1f} W" + (f" of {limit:.0f} W" if limit is not None else "") if power is not None else "",
        f"{clock / 1e6:.0f} MHz" if clock is not None else "",
    ]
    text = [_labelled("now", dot.join(part for part in known if part))] if any(known) else []
    if heat is None:
        text += _absent_lines("temperature", no_heat, width)
    if power is None:
        text += _absent_lines("power", no_power, width)
    return text


def _process_lines(content: dict[str, Any], width: int) -> list[str]:
    found = content["processes"]
    if not found:
        return _absent_lines("processes", content["processes_absent"] or "none uses amdgpu now", width)
    now_ns = time.time_ns()
    rows = []
    for row in found:
        age = "-" if row["started_epoch_ns"] is None else _age_text(max(now_ns - row["started_epoch_ns"], 0) / 1e9)
        launches = "-" if row["launches_total"] is None else output.count_text(row["launches_total"])
        memory = "-" if row["pool_reserved_bytes"] is None else output.bytes_text(row["pool_reserved_bytes"])
        reason = "" if row["reason"] is None else f" ({row['reason']})"
        rows.append([str(row["pid"]), age, launches, memory, output.command_text(row["command"]) + reason])
    columns = [("pid", "right"), ("age", "right"), ("launches", "right"), ("memory", "right"), ("command", "left")]
    table = output.table_lines(columns, rows)
    text = [_labelled("processes", f"{len(found)}")]
    text += [
        f"   {output.paint(line[: width - 3], 'dim') if number == 0 else line[: width - 3]}"
        for number, line in enumerate(table)
    ]
    return text


def _age_text(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _labelled(label: str, text: str) -> str:
    return f"   {output.paint(label.ljust(LABEL_CELLS), 'dim')}{text}"


def _absent_lines(label: str, reason: str, width: int) -> list[str]:
    """Why a value is not there, within the width of the terminal."""
    import textwrap

    room = max(width - 3 - LABEL_CELLS, MIN_REASON_COLUMNS)
    parts = textwrap.wrap(f"not known: {reason}", room)
    return [_labelled(label if number == 0 else "", output.paint(part, "dim")) for number, part in enumerate(parts)]


def _bar(share: float, *, is_ascii: bool) -> str:
    shade = "red" if share >= ALARM_SHARE else "yellow" if share >= WARN_SHARE else "green"
    return output.paint(output.bar(share, BAR_CELLS, is_ascii=is_ascii), shade)
