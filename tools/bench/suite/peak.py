"""What arithmetic does at best, measured in the same process as what is compared with it: vector operations a second, by their units.

peak.c is compiled by the Zig that builds the library, for this machine. The kinds are those that the units of a processor tell
apart: multiplications (and multiply-adds), additions (and comparisons, which x86 processors do in the same units), integers and
shuffles, divisions. Some processors do one 512-bit operation of each of the first two kinds in a cycle, others two of one kind: so
each is measured alone, and both together.
"""

from __future__ import annotations

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stream import compiled

SOURCE = Path(__file__).with_name("peak.c")
KINDS = ("multiply", "add", "compare", "integer", "divide", "together")
# A vector of stream.c and peak.c, in float32.
LANES = 16
# Operations of one call: some milliseconds, so that starting threads does not show.
COUNT = 8_000_000
ROUNDS = 12


@dataclass(frozen=True)
class Arithmetic:
    """Vector operations that an algorithm takes for each of its values, as counted in its innermost loop.

    Loads, stores and addresses do not count: other units do them.
    """

    multiplies: float = 0
    adds: float = 0
    # Integers, shuffles, bits: any unit may do them, so that they count only for all units together.
    others: float = 0
    divides: float = 0


def counts_hold() -> bool:
    """Whether this machine runs the code in which was counted."""
    try:
        return " avx512vl " in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


class Peak:
    """Operations a second on a number of threads, each busy alone."""

    def __init__(self, threads: int) -> None:
        library = compiled(SOURCE, "-fno-honor-nans")
        self.values_per_second: dict[str, float] = {}
        with ThreadPoolExecutor(threads) as pool:
            for kind in KINDS:
                function = getattr(library, f"peak_{kind}")
                function.argtypes = [ctypes.c_size_t, ctypes.c_float]
                function.restype = ctypes.c_float
                best = float("inf")
                # Divisions take ten times as long.
                count = COUNT // 10 if kind == "divide" else COUNT
                for _ in range(ROUNDS):
                    started = time.perf_counter()
                    for done in [pool.submit(function, count, 1.0) for _ in range(threads)]:
                        done.result()
                    best = min(best, time.perf_counter() - started)
                self.values_per_second[kind] = LANES * count * threads / best

    def seconds(self, values: int, work: Arithmetic) -> float:
        """The least time for `values` values: that of the unit that is busy longest, or of all together."""
        rates = self.values_per_second
        return values * max(
            work.multiplies / rates["multiply"],
            work.adds / rates["add"],
            work.divides / rates["divide"],
            (work.multiplies + work.adds + work.others) / max(rates["together"], rates["integer"]),
        )

    def described(self) -> str:
        """One line for the report."""
        rates = {kind: speed / LANES / 1e9 for kind, speed in self.values_per_second.items()}
        return ", ".join(f"{kind} {rate:.2f}" for kind, rate in rates.items()) + " G vectors of 16 float32 a second"
