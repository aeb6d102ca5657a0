"""A process that compiles for another one: jobs come on its standard input, cache entries go to its standard output.

Both are frames: eight bytes with the length, then so many bytes. An answer begins with `DONE` or `FAILED`; what failed follows as JSON. The
limits are the system's own, so that they hold whatever the compiler does: the process dies of them, and its parent says why.
"""

from __future__ import annotations

import json
import os
import resource
import struct
import sys
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE = b"\0"
FAILED = b"\1"
LENGTH = struct.Struct("<Q")
# What a killed process took of the processor is more than its share of one job: times are counted in whole seconds, and it starts.
SPARE_SECONDS = 2
# Addresses that every job reserves and hardly touches: the stack of the compiler's thread (`STACK_BYTES` of `compiler.rs`) and its heap.
RESERVED_BYTES = (256 + 128) << 20


def main(arguments: Sequence[str]) -> None:
    """Answer jobs until the standard input ends; the arguments are bytes of memory and seconds that a job may take."""
    from amdgpu.codegen.llvm_process import run_here
    from amdgpu.codegen.loader import binding

    memory_bytes, seconds = int(arguments[0]), float(arguments[1])
    # What the compiler prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    jobs = sys.stdin.buffer
    binding()
    # Its limits are those of this process.
    run_here()
    limit_memory(memory_bytes)
    # Says that it is ready: starting is not part of the first job's time.
    write_frame(answers, DONE)
    while (job := read_frame(jobs)) is not None:
        limit_time(seconds)
        write_frame(answers, _answer(job))


def _answer(job: bytes) -> bytes:
    from amdgpu import _native
    from amdgpu.errors import AmdgpuError

    try:
        return DONE + _native.compile_job(job)
    except AmdgpuError as error:
        failure = {"code": error.code, "message": str(error.args[0]), "language": error.language}
        return FAILED + json.dumps(failure).encode()


def limit_memory(more_bytes: int) -> None:
    """Let this process have so much memory beyond what it has now."""
    pages = int(open("/proc/self/statm").read().split()[0])  # noqa: PTH123, SIM115
    limit = pages * resource.getpagesize() + RESERVED_BYTES + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def limit_time(seconds: float) -> None:
    """Have the system end this process when it has computed for so long from now on, should nobody else."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + SPARE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame; None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    length = LENGTH.unpack(head)[0]
    body = stream.read(length)
    return body if len(body) == length else None


def write_frame(stream: BinaryIO, body: bytes) -> None:
    """Send a frame."""
    stream.write(LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
