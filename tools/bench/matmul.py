"""Matrix products on the CPU, against NumPy's OpenBLAS: squares of 64 to 4096, shapes of ResNet-50 and BERT, one and two threads.

`--quick` leaves out the largest and takes fewer rounds, `--only GROUP,…` takes some groups, `--threads N,…` other numbers of threads,
`--torch PYTHON` also measures bfloat16 and int8 beside the PyTorch (oneDNN) of that interpreter,
`--plot` measures nothing and writes the newest whole record into docs/performance.md. Each contender has a process of its own for each
number of threads, checks its own result, and they take turns in every round, each turn after calls that are not timed. Narrow types are
compared with our own float32.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path

from frame import Report
from suite import page, products
from suite.contender import Contender

TORCH_DTYPES = ("bfloat16", "int8")
PEER = "NumPy `a @ b` (its OpenBLAS); for narrow types our own float32"
WORKER = Path(products.__file__).with_name("product_worker.py")
DTYPES = ("float32", "float64")
NARROW = ("bfloat16", "float16", "int8")
# OpenBLAS's idle threads spin before they sleep: 101 ms of processor time after each product, measured with NumPy 2's on AMD EPYC (Zen 4).
SETTLE_SECONDS = 0.12
# As tools/bench/tensor.py: the third cache of an Intel Xeon takes that many calls to hold 64 MB which others drove out of it. A call that
# takes longer than the limit brings its data in by itself.
UNTIMED_CALLS, UNTIMED_SECONDS = 6, 0.1
ROUNDS = {"quick": 7, "full": 15}
ROUND_SECONDS = {"quick": 0.01, "full": 0.03}
# The largest products take seconds a call: this many rounds of them have met a quiet moment of the machine.
LEAST_ROUNDS = 4
CASE_SECONDS = 6.0
QUICK_OPERATIONS = 2 * 1024**3


def run(report: Report, arguments: list[str]) -> None:
    """Starts the contenders, checks, measures, prints."""
    parser = argparse.ArgumentParser(prog="./x bench matmul --", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, up to 1024 cubed")
    parser.add_argument("--only", default="", metavar="GROUP,…", help=f"of {', '.join(products.GROUPS)}")
    parser.add_argument("--threads", default="1,2", metavar="N,…", help="numbers of threads (default: 1,2)")
    parser.add_argument(
        "--plot", action="store_true", help="write the newest whole record into the page, measure nothing"
    )
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has PyTorch and NumPy")
    options = parser.parse_args(arguments)
    if options.plot:
        write_page()
        return
    groups = [name.strip() for name in options.only.split(",") if name.strip()] or list(products.GROUPS)
    unknown = sorted(set(groups) - set(products.GROUPS))
    if unknown:
        parser.error(f"no group called {', '.join(unknown)}; there are {', '.join(products.GROUPS)}")
    size = "quick" if options.quick else "full"
    for threads in map(int, options.threads.split(",")):
        contenders = [
            Contender.start(name, title, [sys.executable, str(WORKER), name], threads)
            for name, title in (("ours", "ours"), ("numpy", "NumPy"))
        ]
        try:
            for group in groups:
                if group == "narrow":
                    measure_narrow(report, contenders[0], threads, size)
                else:
                    measure_group(report, contenders, group, threads, size)
            if options.torch:
                contenders.append(Contender.start("torch", "PyTorch", [options.torch, str(WORKER), "torch"], threads))
                measure_torch(report, contenders[0], contenders[-1], threads, size)
        finally:
            for contender in contenders:
                contender.end()


def measure_group(report: Report, contenders: list[Contender], group: str, threads: int, size: str) -> None:
    """A row for each product and type, then the geometric mean and the worst of them."""
    for dtype in DTYPES:
        ratios = {}
        for index, case in enumerate(products.GROUPS[group]):
            if size == "quick" and case.operations > QUICK_OPERATIONS:
                continue
            for contender in contenders:
                prepare(contender, group, index, dtype)
            best = turns(contenders, size, threads)
            where = described(dtype, threads)
            if case.is_fresh:
                report.add(f"{case.name} / {where}", "µs", *(seconds * 1e6 for seconds in best))
            else:
                figures = (case.operations / seconds / 1e9 for seconds in best)
                report.add(f"{case.name} / {where}", "GFLOP/s", *figures, higher_is_better=True)
            ratios[case.name] = best[1] / best[0]
        summarise(report, group, described(dtype, threads), ratios)


def measure_torch(report: Report, ours: Contender, torch: Contender, threads: int, size: str) -> None:
    """Narrow types beside PyTorch."""
    for dtype in TORCH_DTYPES:
        ratios = {}
        for index, case in enumerate(products.GROUPS["narrow"]):
            if size == "quick" and case.operations > QUICK_OPERATIONS:
                continue
            for contender in (ours, torch):
                prepare(contender, "narrow", index, dtype)
            best = turns([ours, torch], size, threads)
            figures = (case.operations / seconds / 1e9 for seconds in best)
            name = f"{case.name}, {torch.about}"
            report.add(f"{name} / {described(dtype, threads)}", "GFLOP/s", *figures, higher_is_better=True)
            ratios[name] = best[1] / best[0]
        summarise(report, "narrow, PyTorch", described(dtype, threads), ratios)


def measure_narrow(report: Report, ours: Contender, threads: int, size: str) -> None:
    """Narrow types beside our own float32."""
    for dtype in NARROW:
        ratios = {}
        for index, case in enumerate(products.GROUPS["narrow"]):
            if size == "quick" and case.operations > QUICK_OPERATIONS:
                continue
            seconds = []
            for kind in (dtype, "float32"):
                prepare(ours, "narrow", index, kind)
                seconds += turns([ours], size, threads)
            figures = (case.operations / value / 1e9 for value in seconds)
            report.add(f"{case.name} / {described(dtype, threads)}", "GFLOP/s", *figures, higher_is_better=True)
            ratios[case.name] = seconds[1] / seconds[0]
        summarise(report, "narrow", described(dtype, threads), ratios)


def summarise(report: Report, group: str, where: str, ratios: dict[str, float]) -> None:
    """The geometric mean and the worst."""
    mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
    worst = min(ratios, key=lambda name: ratios[name])
    report.add(f"{group}: geometric mean / {where}", "ratio", mean, 1.0, higher_is_better=True)
    report.add(f"{group}: worst / {where}", "ratio", ratios[worst], 1.0, higher_is_better=True, note=worst)


def described(dtype: str, threads: int) -> str:
    """The column of the table."""
    return f"{dtype}, {threads} thread{'s' if threads > 1 else ''}"


def prepare(contender: Contender, group: str, index: int, dtype: str) -> None:
    """Makes the operands; ends the benchmark if the contender's product is wrong."""
    wrong = contender.ask(do="prepare", group=group, index=index, dtype=dtype)["wrong"]
    if wrong:
        raise SystemExit(f"{contender.title}, {group} {index} in {dtype}: {wrong}; its speed means nothing")


def turns(contenders: list[Contender], size: str, threads: int) -> list[float]:
    """Seconds per call of each contender: minima over rounds, in which they take turns."""
    slowest = max(contender.seconds(1) for contender in contenders)
    untimed = min(UNTIMED_CALLS, max(1, round(UNTIMED_SECONDS / slowest)))
    first = [contender.seconds(1, untimed) for contender in contenders]
    counts = [max(1, round(ROUND_SECONDS[size] / seconds)) for seconds in first]
    round_seconds = sum(count * seconds for count, seconds in zip(counts, first, strict=True))
    rounds = max(LEAST_ROUNDS, min(ROUNDS[size], round(CASE_SECONDS / round_seconds)))
    best = [math.inf] * len(contenders)
    for round_number in range(rounds):
        for place in range(len(contenders)):
            # Who begins changes, so that nobody always follows the same neighbour.
            index = (place + round_number) % len(contenders)
            if threads > 1:
                time.sleep(SETTLE_SECONDS)
            best[index] = min(best[index], contenders[index].seconds(counts[index], untimed))
    return best


def write_page() -> None:
    """The newest record with every group, as tables."""
    for path in sorted(page.RESULTS.glob("matmul-*.json"), reverse=True):
        record = json.loads(path.read_text())
        rows = {tuple(row["case"].split(" / ")): row for row in record["rows"]}
        cases = list(dict.fromkeys(case for case, _ in rows))
        if set(products.GROUPS) <= {case.partition(":")[0] for case in cases} and "--quick" not in record["command"]:
            break
    else:
        raise SystemExit("no record of all groups in bench-results/matmul-*.json")
    tables = []
    for dtypes, is_narrow, unit in ((DTYPES, False, "GFLOP/s"), (DTYPES, False, "µs"), (NARROW, True, "GFLOP/s")):
        columns = [where for where in dict.fromkeys(where for _, where in rows) if where.startswith(dtypes)]
        head = [
            unit,
            *(head for where in columns for head in (f"{where}: ours", "peer" if is_narrow else "NumPy", "ratio")),
        ]
        lines = [head]
        for case in cases:
            found = [rows.get((case, where)) for where in columns]
            is_summary = ":" in case
            belongs = case.startswith("whole call") == (unit == "µs") and case.startswith("narrow") == is_narrow
            if not belongs or not any(found):
                continue
            line = [case]
            for row in found:
                if row is None or is_summary:
                    line += ["", "", "" if row is None else page.shown(row["ratio"])]
                else:
                    line += [f"{row['ours']:.3g}", f"{row['peer']:.3g}", page.shown(row["ratio"])]
            lines.append(line)
        tables.append(page.markdown(lines))
    page.put_into_page("matmul", record, "\n\n".join(tables))
