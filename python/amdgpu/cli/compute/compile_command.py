"""`amdgpu compile FILE...`: kernels to files for devices that need not be here."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output
from amdgpu.cli.failure import UsageError
from amdgpu.errors import AmdgpuError, InvalidArgumentError

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.compile/1"
# LLVM admits one thread at a time, so a few threads are enough to keep the other stages ahead of it.
MAX_WORKERS = 4


@dataclass(frozen=True)
class Job:
    """One file for one target."""

    file: Path
    target: str


@dataclass(frozen=True)
class Output:
    """A file that was written, and what is in it."""

    file: str
    target: str
    output: str
    bytes: int
    seconds: float
    kernels: list[str]
    notes: list[str]
    resources: list[dict[str, Any]]
    passes: list[dict[str, Any]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="kernel source, for example saxpy.hip")
    parser.add_argument("--target", required=True, metavar="NAME,...", help="targets, for example gfx1100,sm_90,x86_64")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="folder of the results (default: here)")
    parser.add_argument(
        "--emit",
        choices=("ir", "llvm", "asm", "obj"),
        default="obj",
        help="the compiler's IR, LLVM IR, assembly, or what devices load (default: obj)",
    )
    parser.add_argument(
        "-D", dest="defines", action="append", default=[], metavar="NAME=VALUE", help="define a macro; may be repeated"
    )
    parser.add_argument(
        "-O",
        dest="level",
        choices=("none", "low", "high", "max"),
        default="high",
        help="optimization level (default: high)",
    )
    parser.add_argument(
        "--name",
        dest="names",
        action="append",
        default=[],
        metavar="NAME",
        help="instance of a template kernel to compile, for example 'scale<float, 4>'; may be repeated",
    )
    parser.add_argument(
        "--disable-pass",
        dest="disabled_passes",
        action="append",
        default=[],
        metavar="PASS",
        help="compiler pass that does not run; may be repeated",
    )
    parser.add_argument("--dump-ir", metavar="DIR", help="folder for the IR before the passes and after each of them")
    parser.add_argument("--fast-math", action="store_true", help="allow results to differ between devices")
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Compile every file for every target; exit code 1 when any of them fails."""
    jobs = _jobs(options)
    folder = Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgumentError(f"--output {folder}: the folder cannot be made: {error.strerror}") from None
    defines = [_define(text) for text in options.defines]
    start_ns = time.perf_counter_ns()
    outputs: list[Output] = []
    errors: list[dict[str, str]] = []
    told: set[str] = set()
    with _progress(len(jobs), is_quiet=options.json) as show, ThreadPoolExecutor(_workers(len(jobs))) as pool:
        running: dict[Future[Output], Job] = {pool.submit(_compile, job, folder, options, defines): job for job in jobs}
        try:
            for future in as_completed(running):
                job = running[future]
                try:
                    done = future.result()
                except (AmdgpuError, OSError, UnicodeError) as error:
                    errors.append({"file": str(job.file), "target": job.target, "message": _message(error)})
                    show(None, f"amdgpu: {job.file} for {job.target}: {_message(error)}")
                else:
                    outputs.append(done)
                    # One note for a file, not one for each of its targets.
                    notes = [] if options.json else [note for note in done.notes if note not in told]
                    told.update(notes)
                    show(done, "\n".join(f"amdgpu: {note}" for note in notes))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    order = {(str(job.file), job.target): index for index, job in enumerate(jobs)}
    outputs.sort(key=lambda done: order[done.file, done.target])
    errors.sort(key=lambda error: order[error["file"], error["target"]])
    if options.json:
        seconds = (time.perf_counter_ns() - start_ns) / 1e9
        output.print_json(SCHEMA, {"seconds": seconds, "outputs": [asdict(done) for done in outputs], "errors": errors})
    return 1 if errors else 0


def _jobs(options: argparse.Namespace) -> list[Job]:
    from amdgpu import _native

    targets = list(dict.fromkeys(name.strip() for name in options.target.split(",") if name.strip()))
    if not targets:
        raise UsageError("--target names no target")
    for target in targets:
        try:
            _native.check_target(target)
        except InvalidArgumentError as error:
            raise UsageError(error.args[0]) from None
    files: dict[str, Path] = {}
    for name in dict.fromkeys(options.files):
        file = Path(name)
        other = files.setdefault(file.stem, file)
        if other != file:
            raise UsageError(f"{other} and {file} would both be written to {file.stem}.*; compile them apart")
    return [Job(file, target) for file in files.values() for target in targets]


def _define(text: str) -> tuple[str, str]:
    name, is_valued, value = text.partition("=")
    return name, value if is_valued else "1"


def _workers(jobs: int) -> int:
    return max(1, min(jobs, os.cpu_count() or 1, MAX_WORKERS))


def _compile(job: Job, folder: Path, options: argparse.Namespace, defines: list[tuple[str, str]]) -> Output:
    from amdgpu import _native

    start_ns = time.perf_counter_ns()
    source = job.file.read_text(encoding="utf-8")
    unit = _native.compile_source(
        source,
        job.target,
        name=str(job.file),
        optimization_level=options.level,
        fast_math=options.fast_math,
        defines=defines,
        emit=options.emit,
        kernel_names=options.names,
        disabled_passes=options.disabled_passes,
    )
    if options.dump_ir is not None:
        from amdgpu.ir_dump import write

        write(
            Path(options.dump_ir) / job.file.stem,
            source,
            file_name=str(job.file),
            kernel_names=options.names,
            optimization_level=options.level,
            defines=dict(defines),
            disabled_passes=options.disabled_passes,
        )
    content = unit["content"]
    data: bytes = content if isinstance(content, bytes) else content.encode()
    path = folder / f"{job.file.stem}.{job.target}.{unit['file_extension']}"
    _write(path, data)
    return Output(
        file=str(job.file),
        target=job.target,
        output=str(path),
        bytes=len(data),
        seconds=(time.perf_counter_ns() - start_ns) / 1e9,
        kernels=[kernel["name"] for kernel in unit["kernels"]],
        notes=unit["notes"],
        resources=unit["resources"],
        passes=unit["passes"],
    )


def _write(path: Path, data: bytes) -> None:
    """Write the file whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None


def _message(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"the file is not UTF-8 text (byte {error.start})"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


@contextmanager
def _progress(total: int, *, is_quiet: bool) -> Iterator[Callable[[Output | None, str], None]]:
    """A way to show each result: results to standard output, errors and notes to standard error, and a bar if that is a terminal."""
    from rich.console import Console

    errors = Console(stderr=True, highlight=False)
    if not errors.is_terminal:
        yield lambda done, message: _show(done, message, is_quiet=is_quiet)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Redirected standard output must not end up where the bar is.
    with Progress(*columns, console=errors, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task("compiling", total=total)

        def advance(done: Output | None, message: str) -> None:
            if done is not None and sys.stdout.isatty() and not is_quiet:
                bar.console.print(output.plain(_line(done)), markup=False, soft_wrap=True)
            elif done is not None:
                _show(done, "", is_quiet=is_quiet)
            if message:
                bar.console.print(output.plain(message), markup=False, soft_wrap=True)
            bar.advance(task)

        yield advance


def _show(done: Output | None, message: str, *, is_quiet: bool) -> None:
    if done is not None and not is_quiet:
        output.say(_line(done), flush=True)
    if message:
        output.say(message, file=sys.stderr, flush=True)


def _line(done: Output) -> str:
    size = output.bytes_text(done.bytes)
    text = f"{done.output}: {', '.join(done.kernels)} ({size}, {output.seconds_text(done.seconds)})"
    for kernel in done.resources:
        text += (
            f"\n  {kernel['kernel']}: {kernel['vgpr_count']} VGPRs, {kernel['sgpr_count']} SGPRs, "
            f"{kernel['lds_bytes']} B of LDS, {kernel['scratch_bytes']} B of scratch, wave{kernel['wavefront_size']}"
        )
    return text
