"""`amdgpu tune`: measure the ways to compute products and convolutions, and forms of kernels; write, read and list what was measured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output

if TYPE_CHECKING:
    import argparse

    from amdgpu.tuning import Entry, Record
    from amdgpu.tuning.tuner import Tunable

SCHEMA = "amdgpu.tune/1"
DEFAULT_BUDGET_SECONDS = 600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--device", default=None, metavar="NAME", help="the GPU, or with --fused a CPU device; default: the first GPU"
    )
    parser.add_argument(
        "--shapes", metavar="LIST", help="N, MxNxK or MxNxKxBATCH, separated by commas; default: usual shapes"
    )
    parser.add_argument(
        "--convolutions",
        metavar="LIST",
        help="NxCxHxW:KxRxS with :s2 (stride), :p1 (padding), :d2 (dilation), :g4 (groups) behind it, separated by commas, or usual;"
        " products are measured too where --shapes is given",
    )
    parser.add_argument(
        "--reductions",
        metavar="LIST",
        help="OPERATION:SHAPE:AXES such as sum:4096x4096:1 or mean:64x3x224x224:0+2+3, separated by commas, or usual",
    )
    parser.add_argument(
        "--fused",
        metavar="FILES",
        help="texts of graphs, as print(graph) writes them, separated by commas, or usual: blocks of the kernels of joined steps",
    )
    parser.add_argument(
        "--images", default="NCHW", metavar="LIST", help="NCHW, NHWC: layouts of convolutions; default: %(default)s"
    )
    parser.add_argument(
        "--passes",
        default="forward",
        metavar="LIST",
        help="forward, image_gradient, weight_gradient: of convolutions; default: %(default)s",
    )
    parser.add_argument("--formats", default="f32,tf32,f16,bf16,f64,i8", metavar="LIST", help="default: %(default)s")
    parser.add_argument(
        "--layouts", default="nn,nt,tn", metavar="LIST", help="t: an operand is stored transposed; default: %(default)s"
    )
    parser.add_argument(
        "--budget", type=float, default=DEFAULT_BUDGET_SECONDS, metavar="SECONDS", help="default: %(default).0f"
    )
    parser.add_argument("--missing", action="store_true", help="leave out what was measured before")
    parser.add_argument(
        "--verbose", action="store_true", help="show what the measuring process writes, and why a way failed"
    )
    parser.add_argument(
        "--no-measure", action="store_true", help="measure nothing, for example to export what is known"
    )
    parser.add_argument("--export", metavar="FILE", help="then write the measurements of the architecture to a file")
    parser.add_argument(
        "--import", dest="import_file", metavar="FILE", help="merge the measurements of a file, and measure nothing"
    )
    parser.add_argument(
        "--architecture", metavar="NAME", help="with --no-measure: of this architecture, for which no GPU is needed"
    )
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Import, measure, export: what was asked for."""
    from amdgpu import tuning

    if options.import_file:
        architecture, changed = tuning.import_database(options.import_file)
        _say(options, {"architecture": architecture, "changed": changed}, f"{architecture}: {changed} products changed")
        return 0
    content: dict[str, Any] = {}
    if options.no_measure:
        architecture = options.architecture or _architecture(options.device or _first_gpu())
        if not options.export and not options.json:
            output.say("nothing is measured: --no-measure was given, and no --export")
    else:
        report = _measure(options, options.device or _first_gpu())
        architecture = report.database.architecture
        content = {
            "tuned": [_record(entry) for entry in report.tuned],
            "known": len(report.known),
            "skipped": [str(product) for product in report.skipped],
            "left": [str(product) for product in report.left],
        }
        _print_report(options, report)
    if options.export:
        count = tuning.export_database(architecture, options.export)
        content["exported"] = count
        if not options.json:
            output.say(f"{options.export}: {count} products of {architecture}")
    if options.json:
        output.print_json(SCHEMA, {"architecture": architecture, **content})
    return 0


def _say(options: argparse.Namespace, content: dict[str, Any], text: str) -> None:
    if options.json:
        output.print_json(SCHEMA, content)
    else:
        output.say(text)


def _first_gpu() -> str:
    import amdgpu
    from amdgpu.errors import DeviceNotFoundError

    for info in amdgpu.list_devices():
        if info.kind in ("hip", "cuda"):
            return info.device
    raise DeviceNotFoundError("there is no GPU to tune; --no-measure --architecture NAME --export FILE needs none")


def _architecture(device: str) -> str:
    import amdgpu

    return amdgpu.initialize_device(device).info().architecture


def _wanted(options: argparse.Namespace) -> list[Tunable]:
    from amdgpu import tuning
    from amdgpu.cli.failure import UsageError
    from amdgpu.errors import InvalidArgumentError
    from amdgpu.tuning.convolutions import USUAL_CONVOLUTIONS
    from amdgpu.tuning.reductions import USUAL_REDUCTIONS
    from amdgpu.tuning.shapes import USUAL_SHAPES

    formats = options.formats.split(",")
    wanted: list[Tunable] = []
    try:
        if options.shapes or not (options.convolutions or options.reductions or options.fused):
            wanted += tuning.products_of(options.shapes or USUAL_SHAPES, formats, options.layouts.split(","))
        if options.convolutions:
            shapes = USUAL_CONVOLUTIONS if options.convolutions == "usual" else options.convolutions
            # Whole numbers are multiplied, and not convolved.
            formats = [name for name in formats if name != "i8" or len(formats) == 1]
            wanted += tuning.convolutions_of(shapes, formats, options.images.split(","), options.passes.split(","))
        if options.reductions:
            shapes = USUAL_REDUCTIONS if options.reductions == "usual" else options.reductions
            # float32 is one dtype, however it is multiplied.
            wanted += tuning.reductions_of(shapes, [name for name in formats if name != "tf32" or len(formats) == 1])
        if options.fused:
            wanted += _fused(options.fused, formats)
    except InvalidArgumentError as error:
        raise UsageError(error.args[0]) from None
    return wanted


def _fused(files: str, formats: list[str]) -> list[Tunable]:
    """The joined steps of some files, or usual ones in number formats of floating-point numbers."""
    from pathlib import Path

    from amdgpu._generated.dtypes import FORMATS
    from amdgpu.cli.failure import UsageError
    from amdgpu.tuning.fused import fused_of, usual_fused

    if files == "usual":
        floats = [FORMATS[name].dtype for name in formats if name in FORMATS and "float" in FORMATS[name].dtype]
        return list(usual_fused(list(dict.fromkeys(floats))))
    found: list[Tunable] = []
    for file in files.split(","):
        try:
            found += fused_of(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} is no text of a graph: {error}") from None
    return found


def _measure(options: argparse.Namespace, device: str) -> Any:
    from amdgpu import tuning

    products = _wanted(options)

    def measure(progress: Any) -> Any:
        return tuning.tune(
            products,
            device,
            budget_seconds=options.budget,
            is_missing_only=options.missing,
            progress=progress,
            is_verbose=options.verbose,
        )

    numbers = {product: number for number, product in enumerate(products)}

    def describe(product: Tunable, name: str, result: float | str) -> str:
        return f"{product}: {name} {result if isinstance(result, str) else output.seconds_text(result)}"

    if not sys.stderr.isatty():

        def log(product: Tunable, name: str, result: float | str, done: int, count: int) -> None:
            if options.verbose or done == count:
                text = f" {describe(product, name, result)}" if options.verbose else f" {product}"
                output.say(f"{numbers[product] + 1}/{len(products)}{text}", file=sys.stderr, flush=True)

        return measure(log)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("tuning", total=len(products))

        def show(product: Tunable, name: str, result: float | str, done: int, count: int) -> None:
            reached = numbers[product] + done / max(count, 1)
            short = "failed" if isinstance(result, str) else result
            bar.update(task, completed=reached, description=describe(product, name, short))
            if options.verbose and isinstance(result, str):
                bar.console.print(output.plain(describe(product, name, result)), highlight=False, markup=False)

        return measure(show)


def _record(entry: Entry | Record) -> dict[str, Any]:
    from amdgpu.tuning import Entry

    if isinstance(entry, Entry):
        subject: dict[str, Any] = {"product": entry.product._asdict()}
    else:
        kind, _, _ = entry.subject.partition(" ")
        subject = {kind: entry.subject}
    return subject | {"seconds": entry.seconds, "failed": entry.failed}


def _row(entry: Entry | Record) -> tuple[str, ...]:
    from amdgpu.tuning import Entry

    ranking = entry.ranking()
    best = entry.seconds[ranking[0]]
    second = f"{ranking[1]} {entry.seconds[ranking[1]] / best:.2f} x" if len(ranking) > 1 else ""
    if not isinstance(entry, Entry):
        return (entry.subject.removeprefix("convolution "), ranking[0], output.seconds_text(best), "", second)
    m, n, k, batch = entry.product[:4]
    rate = f"{2 * m * n * k * batch / best / 1e12:.2f}"
    return (str(entry.product), ranking[0], output.seconds_text(best), rate, second)


def _print_report(options: argparse.Namespace, report: Any) -> None:
    if options.json:
        return
    rows = [_row(entry) for entry in report.tuned]
    kinds = {"convolutions": "convolutions", "reductions": "reductions", "fused": "joined steps"}
    asked = [name for option, name in kinds.items() if getattr(options, option)]
    what = " and ".join(["products", *asked] if options.shapes or not asked else asked)
    columns = [("product", "left"), ("fastest", "left"), ("time", "right"), ("TFLOP/s", "right"), ("next", "left")]
    output.print_table(f"{report.database.architecture}: {len(rows)} {what} tuned", columns, rows)
    for count, became in (
        (len(report.known), "were measured before"),
        (len(report.skipped), "are computed by no kernel here"),
        (len(report.left), "are left: the budget is used up"),
    ):
        if count:
            output.say(f"{count} {what} {became}")
