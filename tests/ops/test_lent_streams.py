"""Streams that other libraries submit to, over a fake driver: `agpu_stream_lend` from Python's ctypes."""

from __future__ import annotations

import pytest

LEND = """
import ctypes
from pathlib import Path
library = ctypes.CDLL(str(Path(amdgpu.__file__).parent / "_lib" / "libamdgpu.so"))
device, stream, lent = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_bool()
assert library.agpu_device_open(NAME.encode(), None, ctypes.byref(device)) == 0
assert library.agpu_stream_create(device, ctypes.byref(stream)) == 0
given = []
Work = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def work(answer):
    def call(native, data):
        given.append([native is not None, data])
        return answer
    return Work(call)
good, bad = work(0), work(3)
statuses = [library.agpu_stream_lend(stream, one, ctypes.c_void_p(7), ctypes.byref(lent)) for one in (good, bad, good)]
library.agpu_stream_synchronize(stream)
print(json.dumps([statuses[0], statuses[1] != 0, statuses[2], lent.value, given]))
"""


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_a_stream_of_a_driver_is_lent_and_a_failure_is_told(run, kind):
    first, is_refused, last, was_lent, given = run(LEND, kind)
    # Work that fails does not keep the stream from being lent again.
    assert (first, is_refused, last, was_lent) == (0, True, 0, True)
    assert given == [[True, 7]] * 3
