"""The summary card of `amdgpu run`: the same lines as text for a terminal and as Markdown for a pull request."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from amdgpu.cli import output

TOP_KERNELS = 5
TOP_BOUNDARIES = 3
NAME_CELLS = 40

Line = tuple[str, str]


def lines(content: dict[str, Any]) -> Iterator[Line]:
    """Label and text of each line, without the kernels."""
    ended = f"exit code {content['exit_code']}" if content["signal"] is None else f"ended by {content['signal']}"
    cpu = (
        f"{output.seconds_text(content['user_seconds'])} user, {output.seconds_text(content['system_seconds'])} system"
    )
    yield "time", f"{output.seconds_text(content['seconds'])} ({cpu}), {ended}"
    yield "energy", ", ".join(_energy(row) for row in content["energy"]) or "not known"
    yield "memory", ", ".join(_memory(content))
    if content["absent"]:
        yield "amdgpu", content["absent"]
        return
    yield "launches", output.count_text(content["launches_total"])
    if content["busy"]:
        yield (
            "work",
            ", ".join(
                f"{output.seconds_text(row['seconds'])} {row['core']} of {row['device']}" for row in content["busy"]
            ),
        )
    cache = content["kernel_cache"]
    ratio = "" if cache["hit_ratio"] is None else f" ({output.percent_text(cache['hit_ratio'])} found)"
    compiles = content["compiles"]
    yield (
        "kernel cache",
        (
            f"{cache['memory']} in memory, {cache['disk']} on disk, {cache['miss']} compiled{ratio}, "
            f"{output.seconds_text(compiles['seconds'])} of compiling"
        ),
    )
    yield "boundaries", _boundaries(content["boundaries"])
    if content["copies"]:
        yield "copies", ", ".join(f"{output.bytes_text(row['value'])} {row['direction']}" for row in content["copies"])
    for row in content["networks"]:
        factor = "" if row["realtime_factor"] is None else f", {row['realtime_factor']:.2f} s a model second"
        yield (
            "network",
            f"{row['name']}: {output.count_text(row['steps'])} steps, {output.count_text(row['spikes'])} spikes{factor}",
        )
    for row in content["fallbacks"]:
        yield "fallback", f"{row['operation']}: {row['reason']} ({row['value']} times)"
    for row in content["errors"]:
        yield "error", f"{row['error']} ({row['value']} times)"


def text(content: dict[str, Any]) -> str:
    """The card for a terminal, drawn with characters that standard error can take."""
    is_ascii = not output.has_unicode(sys.stderr)
    rule = "-" if is_ascii else "─"
    title = f"{rule * 2} amdgpu run: {' '.join(content['program'])} "
    body = [title + rule * max(0, 80 - len(title))]
    body += [f"{label.ljust(13)}{line}" for label, line in lines(content)]
    if content["kernels"]:
        body += ["", *output.table_lines(_KERNEL_COLUMNS, list(_kernel_rows(content)))]
        rest = len(content["kernels"]) - TOP_KERNELS
        if rest > 0:
            body.append(f"and {rest} more kernels (`--json` has all)")
    shown = "\n".join(body)
    return shown.replace("µ", "u") if is_ascii else shown


def markdown(content: dict[str, Any]) -> str:
    """The card as Markdown."""
    body = [f"### `{' '.join(content['program']).replace('`', '')}`", "", "| | |", "| --- | --- |"]
    body += [f"| {label} | {_escaped(line)} |" for label, line in lines(content)]
    if content["kernels"]:
        body += ["", f"| {' | '.join(header for header, _ in _KERNEL_COLUMNS)} |"]
        body.append(f"| {' | '.join('---:' if side == 'right' else '---' for _, side in _KERNEL_COLUMNS)} |")
        body += [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in _kernel_rows(content)]
    return "\n".join(body)


_KERNEL_COLUMNS = (
    ("kernel", "left"),
    ("device", "left"),
    ("calls", "right"),
    ("time", "right"),
    ("share", "right"),
    ("median", "right"),
)


def _kernel_rows(content: dict[str, Any]) -> Iterator[list[str]]:
    total = sum(kernel["seconds"] for kernel in content["kernels"]) or 1.0
    for kernel in content["kernels"][:TOP_KERNELS]:
        title = kernel["title"]
        name = title if len(title) <= NAME_CELLS else title[: NAME_CELLS - 1] + "~"
        median = "-" if kernel["p50_seconds"] is None else output.seconds_text(kernel["p50_seconds"])
        share = output.percent_text(kernel["seconds"] / total)
        yield [
            name,
            kernel["device"],
            output.count_text(kernel["calls"]),
            output.estimate_text(kernel),
            share,
            median,
        ]


def _energy(row: dict[str, Any]) -> str:
    if row["joules"] is None:
        return f"{row['device']} not known ({row['reason']})"
    return f"{row['device']} {row['joules']:.1f} J"


def _memory(content: dict[str, Any]) -> Iterator[str]:
    peak = content["peak_resident_bytes"]
    yield "not known, less than `amdgpu` itself has" if peak is None else f"{output.bytes_text(peak)} resident at most"
    for pool in content["pools"]:
        if pool["reserved_peak_bytes"]:
            yield f"{output.bytes_text(pool['reserved_peak_bytes'])} of {pool['device']} ({pool['pool']})"


def _boundaries(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "none crossed"
    pairs: dict[str, float] = {}
    for row in rows:
        pair = f"{row['from']} to {row['to']}"
        pairs[pair] = pairs.get(pair, 0.0) + row["seconds"]
    count = output.count_text(sum(row["count"] for row in rows))
    longest = sorted(pairs.items(), key=lambda item: -item[1])[:TOP_BOUNDARIES]
    return f"{count} calls; {', '.join(f'{output.seconds_text(seconds)} {pair}' for pair, seconds in longest)}"


def _escaped(line: str) -> str:
    return line.replace("|", "\\|").replace("<", "&lt;")
