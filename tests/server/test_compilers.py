"""Processes that compile for the server: sources that never end or eat memory cost a process, not the server."""

import concurrent.futures
import os
import signal
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from amdgpu import initialize_device
from amdgpu.errors import CompileError, InternalError, LimitExceededError, RequestTimeoutError
from amdgpu.server import Limits, compilers
from server_client import client, running

TOKEN = "correct-horse-battery-staple"
# The compiler itself bounds its work, so hostile sources are played: the process, its limits and the pipes are the real ones.
HOSTILE = """
import os, sys, time
sys.path[:] = filter(None, sys.path)
from amdgpu import _native
from amdgpu.codegen import worker

compile_job = _native.compile_job

def play(job):
    if b"ENDLESS" in job:
        while True:
            pass
    if b"SLEEPER" in job:
        time.sleep(1000)
    if b"HUNGRY" in job:
        kept = []
        while True:
            kept.append(bytearray(1 << 24))
    if b"CRASHER" in job:
        os.abort()
    if b"TALKER" in job:
        print("lines on the standard output", flush=True)
        os.write(1, b"of the process\\n")
        os.write(2, b"x" * (1 << 20))
    return compile_job(job)

_native.compile_job = play
worker.main(sys.argv[1:])
"""


def source(number, word=""):
    return f"// {word}\n__global__ void set(float* x) {{ x[threadIdx.x] = {number}.25f; }}"


@pytest.fixture
def hostile(monkeypatch, tmp_path):
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    ordinary = compilers._command
    monkeypatch.setattr(compilers, "_command", lambda limits: [sys.executable, "-c", HOSTILE, *ordinary(limits)[3:]])


@pytest.fixture
def compile_with(hostile):
    """A function that compiles a source on the CPU device by a pool with these limits; pools are closed at the end."""
    device = initialize_device("cpu:0")
    pools = []

    def make(**limits):
        pool = compilers.Compilers(Limits(**limits))
        pools.append(pool)
        return pool, lambda text: device.native.compile(text, remote=pool.compile)

    yield make
    for pool in pools:
        pool.close()


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_what_another_process_compiles_is_what_this_one_compiles(compile_with):
    pool, build = compile_with()
    made, again = build(source(1)), build(source(1))
    assert (made.cache_answer, again.cache_answer) == ("miss", "memory")
    other = initialize_device("cpu:0").compile_kernel(source(1))
    assert (other.cache_answer, str(other)) == ("disk", str(made))
    (pid,) = pool.process_ids()
    assert pid != os.getpid()
    build(source(2))
    assert pool.process_ids() == [pid], "a warm process compiles again"


def test_errors_of_the_source_come_back_as_they_are(compile_with):
    _, build = compile_with()
    text = "__global__ void f(float* x) { x[0] = y; }"
    with pytest.raises(CompileError) as here:
        initialize_device("cpu:0").compile_kernel(text)
    with pytest.raises(CompileError) as there:
        build(text)
    assert str(there.value) == str(here.value)
    assert there.value.language == here.value.language


@pytest.mark.parametrize("word", ["ENDLESS", "SLEEPER"])
def test_what_never_ends_is_stopped_and_its_process_replaced(compile_with, word):
    pool, build = compile_with(compile_seconds=1.0)
    build(source(1))
    (before,) = pool.process_ids()
    with pytest.raises(RequestTimeoutError, match="took longer than 1 s and was stopped; make the source smaller"):
        build(source(1, word))
    assert not is_alive(before)
    build(source(2))
    (after,) = pool.process_ids()
    assert after != before


def test_what_eats_memory_is_stopped(compile_with):
    _, build = compile_with(compile_bytes=256 << 20)
    with pytest.raises(LimitExceededError, match="took more than 256 MiB of memory and was stopped; make the source"):
        build(source(1, "HUNGRY"))
    assert build(source(2)).name == "set"


def test_a_crash_is_an_error_of_the_call(compile_with):
    _, build = compile_with()
    with pytest.raises(InternalError, match="ended by signal SIGABRT"):
        build(source(1, "CRASHER"))
    assert build(source(2)).name == "set"


def test_what_the_compiler_prints_does_not_disturb_the_answer(compile_with):
    _, build = compile_with()
    assert build(source(1, "TALKER")).name == "set"


def test_a_process_that_was_killed_while_idle_is_replaced(compile_with):
    pool, build = compile_with()
    build(source(1))
    (pid,) = pool.process_ids()
    os.kill(pid, signal.SIGKILL)
    while is_alive(pid):
        time.sleep(0.001)
    assert build(source(2)).name == "set"


def test_processes_are_replaced_after_so_many_jobs(compile_with, monkeypatch):
    monkeypatch.setattr(compilers, "MAX_JOBS", 2)
    pool, build = compile_with()
    seen = set()
    for number in range(5):
        build(source(number))
        seen.update(pool.process_ids())
    assert len(seen) >= 3


def test_a_job_that_others_wait_for_makes_way(compile_with, monkeypatch):
    monkeypatch.setattr(compilers, "CONTENDED_SECONDS", 0.5)
    pool, build = compile_with(compilers=2, compile_seconds=60.0)
    with concurrent.futures.ThreadPoolExecutor(5) as threads:
        endless = [threads.submit(build, source(number, "ENDLESS")) for number in range(4)]
        while len(pool.process_ids()) < 2:
            time.sleep(0.001)
        assert build(source(9)).name == "set"
        # Nobody waits behind the last ones.
        pool.close()
        failures = [str(job.exception()) for job in endless]
    assert sum("because others wait" in text for text in failures) >= 2, failures


def test_closing_ends_every_process(compile_with):
    pool, build = compile_with()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        job = threads.submit(build, source(1, "ENDLESS"))
        while not pool.process_ids():
            time.sleep(0.001)
        pids = pool.process_ids()
        pool.close()
        assert "closing" in str(job.exception())
    assert not any(map(is_alive, pids))


def test_eight_hostile_sources_at_once_leave_the_server_useful(hostile, monkeypatch):
    monkeypatch.setattr(compilers, "CONTENDED_SECONDS", 1.0)
    limits = Limits(compile_seconds=8.0, compile_bytes=256 << 20)
    with running(token=TOKEN, allow_execute=True, limits=limits) as server, client(server, token=TOKEN) as attacker:
        attacker.join("gpu:api")
        words = ["ENDLESS", "ENDLESS", "HUNGRY", "SLEEPER"] * 2
        sent = [
            attacker.push("gpu:api", "kernel:compile", {"source": source(number, word)})
            for number, word in enumerate(words)
        ]
        with client(server, token=TOKEN) as user:
            user.join("gpu:api")
            status, answer = user.call("kernel:compile", {"source": source(100)})
            assert status == "ok", answer
            args = [{"$zeros": {"dtype": "float32", "shape": [2]}}]
            options = {"grid": 1, "block": 2}
            payload = {"kernelHandle": answer["kernelHandle"], "args": args, "options": options}
            status, answer = user.call("kernel:execute", payload)
            assert (status, answer["result"]["output"]) == ("ok", [100.25, 100.25])
            status, answer = user.call("matrix:multiply", {"a": [[1, 2]], "b": [[3], [4]]})
            assert (status, answer["output"]) == ("ok", [[11.0]])
        # Answers come in the order in which processes end.
        answers = {}
        while len(answers) < len(sent):
            _, ref, _, event, payload = attacker.receive()
            if event == "phx_reply" and ref in sent:
                answers[ref] = payload["response"]
        for answer in answers.values():
            assert answer["reason"] in ("request-timeout", "limit-exceeded")
            assert "make the source smaller" in answer["message"]
