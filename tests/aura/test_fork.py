"""Forks: a child gets clear errors from what its parent opened, and everything works that it opens itself.

Each program runs in a fresh interpreter. A child that hangs is ended by its alarm, which the parent sees as a failure.
"""

PRELUDE = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
import amdgpu
from amdgpu import errors

SOURCE = "__global__ void add(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }"
N = 1 << 18

def work(device):
    # Enough blocks for every thread of the pool, a stream, a graph and device memory.
    kernel = device.compile_kernel(SOURCE)
    x = np.zeros(N, "float32")
    kernel[N // 64, 64](x, N)
    stream = device.create_stream()
    kernel[N // 64, 64, 0, stream](x, N)
    stream.synchronize()
    with amdgpu.CapturedGraph() as graph:
        kernel[N // 64, 64](x, N)
    graph.replay()
    array = amdgpu.array(x, device=device.name)
    kernel[N // 64, 64](array, N)
    return float(array.numpy().min()), float(array.numpy().max())

def in_child(check):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            check()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def test_a_child_works_with_devices_of_its_own(run_python):
    program = (
        PRELUDE
        + """
parent = amdgpu.initialize_device("cpu:0")
assert work(parent) == (4, 4)
def check():
    with amdgpu.initialize_device("cpu:0") as own:
        assert work(own) == (4, 4)
    assert amdgpu.zeros(3, "float32").numpy().tolist() == [0, 0, 0]
print([in_child(check) for _ in range(3)], work(parent))
"""
    )
    assert run_python(program).stdout.strip() == "[0, 0, 0] (4.0, 4.0)"


def test_a_child_is_told_that_its_parents_objects_are_not_for_it(run_python):
    program = (
        PRELUDE
        + """
parent = amdgpu.initialize_device("cpu:0")
kernel = parent.compile_kernel(SOURCE)
x = np.zeros(N, "float32")
array = amdgpu.zeros(N, "float32", device="cpu:0")
prepared = kernel.prepare(N // 64, 64, x, N)
stream = parent.create_stream()
kernel[N // 64, 64, 0, stream](x, N)
event = stream.record()
stream.synchronize()
with amdgpu.CapturedGraph() as graph:
    prepared()
def check():
    for attempt in (
        lambda: kernel[N // 64, 64](x, N),
        lambda: kernel[N // 64, 64, 0, stream](x, N),
        lambda: prepared(),
        lambda: graph.replay(),
        lambda: graph.replay(stream),
        lambda: stream.synchronize(),
        lambda: stream.record(),
        lambda: event.synchronize(),
        lambda: parent.create_stream(),
        lambda: parent.synchronize(),
        lambda: array.fill(1),
        lambda: parent.native.empty((4,), "float32"),
    ):
        try:
            attempt()
        except errors.ForkedProcessError:
            continue
        raise AssertionError("no error")
    # Memory is a copy of the child's own.
    assert not np.asarray(array).any()
print(in_child(check))
prepared()
print(float(x.min()))
"""
    )
    assert run_python(program).stdout.split() == ["0", "2.0"]


def test_a_child_reads_its_copy_of_what_streams_of_its_parent_used(run_python):
    program = (
        PRELUDE
        + """
parent = amdgpu.initialize_device("cpu:0")
kernel = parent.compile_kernel(SOURCE)
array, stream = amdgpu.zeros(N, "float32", device=parent), parent.create_stream()
kernel[N // 64, 64, 0, stream](array, N)
stream.synchronize()
def check():
    assert (np.asarray(array) == 1).all()
print(in_child(check), float(array.numpy().max()))
"""
    )
    assert run_python(program).stdout.split() == ["0", "1.0"]


def test_pools_of_forked_processes_compute(run_python):
    program = (
        PRELUDE
        + """
import multiprocessing
def task(number):
    signal.alarm(60)
    return work(amdgpu.initialize_device("cpu:0"))
work(amdgpu.initialize_device("cpu:0"))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(task, range(4)))
"""
    )
    assert run_python(program).stdout.strip() == str([(4.0, 4.0)] * 4)


def test_a_fork_beside_busy_threads_leaves_nothing_locked(run_python):
    program = (
        PRELUDE
        + """
stop = threading.Event()
def busy():
    while not stop.is_set():
        with amdgpu.initialize_device("cpu:0") as device:
            assert work(device) == (4, 4)
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
def check():
    with amdgpu.initialize_device("cpu:0") as own:
        assert work(own) == (4, 4)
print([in_child(check) for _ in range(8)])
stop.set()
for thread in threads:
    thread.join()
"""
    )
    assert run_python(program, timeout=500).stdout.strip() == str([0] * 8)


def test_a_fork_beside_the_first_use_leaves_nothing_locked(run_python):
    # Whatever is set up once for the process is being set up by another thread when the fork comes.
    program = (
        PRELUDE
        + """
begin = threading.Barrier(2)
def first():
    begin.wait()
    amdgpu.list_devices()
    work(amdgpu.initialize_device("cpu:0"))
thread = threading.Thread(target=first)
thread.start()
begin.wait()
def check():
    assert amdgpu.list_devices()
    with amdgpu.initialize_device("cpu:0") as own:
        assert work(own) == (4, 4)
print(in_child(check))
thread.join()
"""
    )
    for _ in range(3):
        assert run_python(program).stdout.strip() == "0"


def test_a_fork_beside_the_first_use_of_other_libraries_leaves_nothing_locked(run_python):
    program = (
        PRELUDE
        + """
begin = threading.Barrier(2)
def use():
    a = np.ones((8, 8), "float32")
    assert (amdgpu.matrix_multiply(a, a) == 8).all()
    try:
        amdgpu.Network("this is no network")
    except errors.NetworkError:
        pass
def first():
    begin.wait()
    use()
thread = threading.Thread(target=first)
thread.start()
begin.wait()
print(in_child(use))
thread.join()
"""
    )
    for _ in range(3):
        assert run_python(program).stdout.strip() == "0"
