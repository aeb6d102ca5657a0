"""Memory of the host in huge pages: what the Matrix core holds shows in `memory_stats()` of the CPU device."""

import threading

import amdgpu
import numpy as np

KEYS = {
    f"host_memory.{name}" for name in ("plain_bytes", "advised_bytes", "pool_bytes", "allocations", "frees", "failures")
}


def test_workspaces_are_counted_by_kind_of_page():
    device = amdgpu.initialize_device("cpu:0")
    a = np.ones((1000, 1000), np.float32)
    amdgpu.matrix_multiply(a, a)
    stats = device.memory_stats()
    assert {key for key in stats if key.startswith("host_memory.")} == KEYS
    held = sum(stats[f"host_memory.{kind}_bytes"] for kind in ("plain", "advised", "pool"))
    assert held % (2 << 20) == 0
    assert 0 < held <= 9 << 20
    assert stats["host_memory.allocations"] >= 1
    assert stats["host_memory.failures"] == 0


def test_threads_that_compute_at_once_leave_no_more_than_is_kept():
    def work():
        for size in (200, 400, 800):
            x = np.ones((size, size))
            amdgpu.matrix_multiply(x, x, precision="fp64")
            amdgpu.ops.var(x, 0)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = amdgpu.initialize_device("cpu:0").memory_stats()
    assert stats["host_memory.allocations"] >= 1
    assert sum(stats[f"host_memory.{kind}_bytes"] for kind in ("plain", "advised", "pool")) <= 9 << 20
