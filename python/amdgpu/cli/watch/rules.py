"""What costs a program its time: rules over the figures of a run, each with its threshold and where that comes from.

A rule looks at one share of the time. A share S of the time can at best be won whole, which makes the run 1 / (1 - S) times as fast
(Amdahl, AFIPS 1967): a finding says so, findings are ordered by it, and below `WORTHWHILE_SHARE` there is none. What has no share (a
fallback whose cost nobody measured) stands behind those that have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from amdgpu.cli import output

Figures = Mapping[str, Any]

MAX_FINDINGS = 3
# A gain of a factor of 1.11 at best; less is lost in the noise from run to run of a machine that does other things too.
WORTHWHILE_SHARE = 0.1
# What a launch costs its caller, beside the kernel: docs/performance.md, "Calls" (vector add of one element) and "NVIDIA H200" (in a
# stream). A hip device was not measured; its launches take the same calls of the driver.
LAUNCH_SECONDS = {"cpu": 0.41e-6, "cuda": 4.1e-6, "hip": 4.1e-6}
# Of a kernel that runs for as long as four launches cost, a fifth of launch plus kernel is the launch.
SMALL_KERNEL_LAUNCHES = 4.0
# A call of a few microseconds is dominated by its conversions and the interpreter around it: `execute` costs 24 µs, a plain native call
# 0.09 µs (docs/performance.md, "Calls").
SHORT_CALL_SECONDS = 10e-6
# Below a quarter of the waves that a unit holds, few are left to run while others wait for memory: a choice. AMD's "Occupancy explained"
# (gpuopen.com) describes the effect; more waves need not be faster, so the finding asks to measure.
LOW_OCCUPANCY = 0.25


@dataclass(frozen=True)
class Finding:
    """One thing that costs time.

    Attributes:
        rule: Stable name.
        title: What it is, in a sentence.
        evidence: The figures behind it.
        fix: What to do.
        threshold: From where on the rule speaks, and the source of that.
        share: Share of the time that it could win at most; None where nobody measured it.
    """

    rule: str
    title: str
    evidence: str
    fix: str
    threshold: str
    share: float | None

    @property
    def speedup(self) -> float | None:
        """How much faster the run could be at most."""
        return None if self.share is None else 1 / (1 - min(self.share, 0.99))


def findings(figures: Figures, seconds: float, kernel_details: list[dict[str, Any]] | None = None) -> list[Finding]:
    """At most three findings, the most worthwhile first.

    Args:
        figures: What `figures.figures` counted.
        seconds: How long the program was watched.
        kernel_details: The rows of `Process.kernels()`, where a process could be asked.
    """
    found: list[Finding] = []
    for rule in RULES:
        found += rule(figures, max(seconds, 1e-9))
    found += _low_occupancy(figures, max(seconds, 1e-9), kernel_details or [])
    return sorted(found, key=lambda finding: -(finding.share or 0.0))[:MAX_FINDINGS]


def _share_threshold(what: str) -> str:
    return f"{what} takes {output.percent_text(WORTHWHILE_SHARE)} of the time or more: a gain of 1.11 at best (Amdahl 1967)"


def _compiling(figures: Figures, seconds: float) -> Iterator[Finding]:
    compiles, cache = figures["compiles"], figures["kernel_cache"]
    share = compiles["seconds"] / seconds
    if share < WORTHWHILE_SHARE:
        return
    requests = cache["memory"] + cache["disk"] + cache["miss"]
    yield Finding(
        "compiling",
        "Compiling kernels takes much of the time",
        f"{compiles['count']} kernels compiled in {output.seconds_text(compiles['seconds'])} of {output.seconds_text(seconds)}; "
        f"{cache['miss']} of {requests} requests missed the kernel cache",
        "Run it again: compiled kernels stay in the kernel cache. If they miss every time, keep the sources and options constant (no "
        "numbers pasted into the text; pass them as arguments), and let AMDGPU_CACHE_DIR be a folder that stays.",
        _share_threshold("compiling"),
        share,
    )


def _small_launches(figures: Figures, seconds: float) -> Iterator[Finding]:
    for kernel in figures["kernels"]:
        cost = LAUNCH_SECONDS.get(kernel["device"].partition(":")[0])
        # A network's kernels are called by its steps, in native code: nobody could launch them less often.
        if cost is None or not kernel["calls"] or kernel["core"] == "neuromorphic":
            continue
        typical = kernel["seconds"] / kernel["calls"]
        share = kernel["calls"] * cost / seconds
        if typical < SMALL_KERNEL_LAUNCHES * cost and share >= WORTHWHILE_SHARE:
            yield Finding(
                "small-launches",
                f"`{kernel['title']}` is launched too often for too little work",
                f"{output.count_text(kernel['calls'])} launches of {output.seconds_text(typical)} each on {kernel['device']}, where a "
                f"launch alone costs about {output.seconds_text(cost)}",
                "Give each launch more elements, record the launches in an `amdgpu.CapturedGraph` and replay it, or use "
                "`kernel.prepare(...)`.",
                f"a kernel that runs for less than {SMALL_KERNEL_LAUNCHES:.0f} launches' cost (docs/performance.md), and "
                f"{_share_threshold('launching it')}",
                share,
            )


def _short_calls(figures: Figures, seconds: float) -> Iterator[Finding]:
    for row in figures["boundaries"]:
        each = row["seconds"] / row["count"]
        share = row["seconds"] / seconds
        if each < SHORT_CALL_SECONDS and share >= WORTHWHILE_SHARE:
            yield Finding(
                "short-calls",
                f"`{row['name']}` crosses from {row['from']} to {row['to']} for little work each time",
                f"{output.count_text(row['count'])} calls of {output.seconds_text(each)}, {output.seconds_text(row['seconds'])} in all",
                "Do the work of many calls in one: stack the arrays and call once, or move the loop into a kernel.",
                f"a call shorter than {output.seconds_text(SHORT_CALL_SECONDS)} (docs/performance.md), and "
                f"{_share_threshold('all of them')}",
                share,
            )


def _copies(figures: Figures, seconds: float) -> Iterator[Finding]:
    spent = figures["copy_seconds"]
    if spent / seconds < WORTHWHILE_SHARE:
        return
    moved = sum(row["value"] for row in figures["copies"])
    yield Finding(
        "copies",
        "Copies between host and device take much of the time",
        f"{output.bytes_text(moved)} copied in {output.seconds_text(spent)} of {output.seconds_text(seconds)}",
        "Keep arrays on the device (`amdgpu.array`) between launches, copy in a stream beside the work, or from pinned memory "
        "(`amdgpu.allocate_memory(kind='pinned')`).",
        _share_threshold("copying"),
        spent / seconds,
    )


def _idle_device(figures: Figures, seconds: float) -> Iterator[Finding]:
    span = figures["work_span_seconds"]
    if not span:
        return
    # Cores that work at the same time count each for itself: the devices may wait a little longer than this, never less.
    work = min(sum(row["seconds"] for row in figures["busy"]), span)
    idle = span - work
    share = idle / seconds
    if work / span < IDLE_BUSY_SHARE and share >= WORTHWHILE_SHARE:
        cores = ", ".join(f"{row['core']} of {row['device']}" for row in figures["busy"])
        yield Finding(
            "idle-device",
            "The devices wait for the program",
            f"between the first work and the last, {output.seconds_text(span)}, the cores ({cores}) worked for "
            f"{output.seconds_text(work)} ({output.percent_text(work / span)})",
            "See what the host does in between with `amdgpu trace -- PROGRAM`; launch into streams and wait later, or less often.",
            f"devices busy for less than {output.percent_text(IDLE_BUSY_SHARE)} between the first work and the last, and "
            f"{_share_threshold('waiting')}",
            share,
        )


# With the device idle for more than half of the span, what happens between the pieces of work outweighs them.
IDLE_BUSY_SHARE = 0.5


def _fallbacks(figures: Figures, _seconds: float) -> Iterator[Finding]:
    rows = figures["fallbacks"]
    if not rows:
        return
    first = rows[0]
    more = f", and {len(rows) - 1} others" if len(rows) > 1 else ""
    yield Finding(
        "fallbacks",
        f"`{first['operation']}` runs on another implementation than the preferred one",
        f"{first['value']} times{more}: {first['reason']}",
        "Remove the reason it names; `amdgpu doctor` says what is missing on this machine.",
        "every counted fallback: each is a slower way than the one that was meant",
        None,
    )


def _memory_pressure(figures: Figures, _seconds: float) -> Iterator[Finding]:
    refused = [row for row in figures["errors"] if row["error"] == "out-of-memory"]
    if refused:
        peak = max((pool["reserved_peak_bytes"] for pool in figures["pools"]), default=0)
        yield Finding(
            "out-of-memory",
            "The device had no room for an allocation",
            f"{refused[0]['value']} requests refused; at most {output.bytes_text(peak)} were reserved",
            "Free arrays that are done with, work in smaller batches, or take a device with more memory: `amdgpu pick --memory SIZE`.",
            "every refused allocation",
            None,
        )


def _low_occupancy(figures: Figures, seconds: float, details: list[dict[str, Any]]) -> Iterator[Finding]:
    spent = {(kernel["device"], kernel["id"]): kernel for kernel in figures["kernels"] if kernel["id"]}
    for row in details:
        occupancy = row.get("occupancy")
        kernel = spent.get((row["device"], row["id"]))
        share = 0.0 if kernel is None else kernel["seconds"] / seconds
        ratio = occupancy.get("ratio") if isinstance(occupancy, Mapping) else occupancy
        if ratio is None or ratio >= LOW_OCCUPANCY or share < WORTHWHILE_SHARE:
            continue
        yield Finding(
            "low-occupancy",
            f"`{row['name'] if kernel is None else kernel['title']}` keeps few waves on a unit of {row['device']}",
            f"occupancy {output.percent_text(ratio)}; {row.get('registers') or '?'} registers a thread, "
            f"{output.bytes_text(row.get('shared_bytes') or 0)} of shared memory a block; "
            f"it takes {output.percent_text(share)} of the time",
            "`kernel.occupancy(block)` tells what limits it: use smaller blocks, fewer registers (`__launch_bounds__`) or less shared "
            "memory, and measure.",
            f'occupancy below {output.percent_text(LOW_OCCUPANCY)} (AMD, "Occupancy explained"), and {_share_threshold("the kernel")}',
            share,
        )


RULES: tuple[Callable[[Figures, float], Iterator[Finding]], ...] = (
    _compiling,
    _small_launches,
    _short_calls,
    _copies,
    _idle_device,
    _memory_pressure,
    _fallbacks,
)
