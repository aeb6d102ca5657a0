"""What memory does at best for a given number of bytes read and written, measured in the same process as what is compared with it.

stream.c is compiled by the Zig that builds the library, for this machine. Of the ways to move the bytes the fastest counts.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("stream.c")
ALIGNMENT_BYTES = 64


class Stream:
    """Reads and copies on a number of threads, each with a share of the bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self.library = _library()
        self.arrays: dict[tuple[str, int], Any] = {}

    def ways(self, read_bytes: int, written_bytes: int) -> list[Callable[[], None]]:
        """Functions that read and write that much each, in different ways."""
        source = self._array("source", max(read_bytes, written_bytes))
        if not written_bytes:
            return [lambda: self._share(read_bytes, lambda at, count: self.library.stream_read(source + 4 * at, count))]
        target = self._array("target", written_bytes)
        rest = max(0, read_bytes - written_bytes)

        def way(function: Any) -> Callable[[], None]:
            def run() -> None:
                self._share(written_bytes, lambda at, count: function(target + 4 * at, source + 4 * at, count))
                if rest:
                    first = source + written_bytes
                    self._share(rest, lambda at, count: self.library.stream_read(first + 4 * at, count))

            return run

        return [way(self.library.stream_copy), way(self.library.stream_copy_past)]

    def _share(self, size_bytes: int, work: Callable[[int, int], Any]) -> None:
        count = size_bytes // 4
        # Shares of whole cache lines.
        share = -(-count // self.threads // 16) * 16
        spans = [(at, min(share, count - at)) for at in range(0, count, share)]
        others = [self.pool.submit(work, *span) for span in spans[1:]] if self.pool else []
        work(*spans[0])
        for other in others:
            other.result()

    def _array(self, name: str, size_bytes: int) -> int:
        import numpy as np

        if (name, size_bytes) not in self.arrays:
            array = np.ones(size_bytes // 4 + ALIGNMENT_BYTES, np.float32)
            self.arrays[name, size_bytes] = array, array.ctypes.data + -array.ctypes.data % ALIGNMENT_BYTES
        address: int = self.arrays[name, size_bytes][1]
        return address


def _library() -> ctypes.CDLL:
    library = compiled(SOURCE)
    for name, pointers in (("stream_read", 1), ("stream_copy", 2), ("stream_copy_past", 2)):
        function = getattr(library, name)
        function.argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_size_t]
        function.restype = ctypes.c_float if pointers == 1 else None
    return library


@cache
def compiled(source: Path, *flags: str) -> ctypes.CDLL:
    """A C file as a library for this machine."""
    with tempfile.TemporaryDirectory(prefix="amdgpu-bench-") as folder:
        target = Path(folder) / "compiled.so"
        command = [
            sys.executable,
            "-m",
            "ziglang",
            "cc",
            "-O3",
            "-march=native",
            "-shared",
            "-fPIC",
            "-fno-sanitize=all",
        ]
        subprocess.run([*command, *flags, "-o", str(target), str(source)], check=True)
        return ctypes.CDLL(str(target))
