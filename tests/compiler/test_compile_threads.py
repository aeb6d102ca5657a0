"""Compiling from several threads: compilations run beside each other, without the interpreter's lock."""

import threading

import amdgpu
import pytest

pytestmark = pytest.mark.llvm

ATTEMPTS = 5
FUNCTIONS = 20


def large_source(name: str) -> str:
    """A kernel that takes the front end a while: many functions that all have to be parsed, checked and inlined."""
    functions = "\n".join(
        f"__device__ float step{i}(float x) {{ float y = x * {i}.5f; for (int k = 0; k < 3; ++k) y = y * x + {i}.25f; return y; }}"
        for i in range(FUNCTIONS)
    )
    calls = "\n".join(f"    v = step{i}(v);" for i in range(FUNCTIONS))
    return f"{functions}\n__global__ void {name}(float* x) {{\n    float v = x[threadIdx.x];\n{calls}\n    x[threadIdx.x] = v;\n}}"


def compilations(names: set[str]) -> list[tuple[int, int]]:
    """Begin and end of the compilations of these files, from the telemetry bus."""
    bus = amdgpu.telemetry.snapshot()
    known = bus["names"]["names"]
    records = [row for row in bus["records"] if row["kind"] == "compile" and known[row["name_id"]] in names]
    return [(record["start_ns"], record["start_ns"] + record["duration_ns"]) for record in records]


def test_two_threads_compile_at_the_same_time(device):
    for attempt in range(ATTEMPTS):
        names = [f"parallel_{attempt}_{number}.hip" for number in range(2)]
        barrier = threading.Barrier(2)

        def compile_one(name, barrier=barrier):
            source = large_source(name.removesuffix(".hip"))
            barrier.wait()
            device.compile_kernel(source, file_name=name)

        threads = [threading.Thread(target=compile_one, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (first_begin, first_end), (second_begin, second_end) = compilations(set(names))
        if max(first_begin, second_begin) < min(first_end, second_end):
            return
    raise AssertionError("one compilation always began when the other had ended")
