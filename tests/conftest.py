"""Fixtures shared by all suites."""

import atexit
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import amdgpu
import file_order
import numpy as np
import object_cache
import pytest
import sampling

# Programs for the GPU machine, whose peers are not installed elsewhere.
collect_ignore_glob = ["gpu/*_vs_*.py", "neuro_validation/peers/*.py"]

# Programs of this user outside of the tests, and those of tests that run beside these, are not seen.
os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="agpu-")
atexit.register(shutil.rmtree, os.environ["XDG_RUNTIME_DIR"], ignore_errors=True)

# Tests press Ctrl-C, which a shell without job control has ignored by what it starts in the background, and by all that is started there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    object_cache.install(config)
    sampling.choose_seed()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        object_cache.forget_old()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    sampling.sample(config, items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        file_order.sort(items)


def pytest_collection_finish(session):
    # Fifteen thousand tests and their modules: a garbage collection that looks at them takes half a second, and some tests ask for one.
    gc.freeze()


def pytest_runtest_logreport(report):
    file_order.count(report)


def pytest_sessionfinish(session):
    # Of a run of several processes, which is one of whole files.
    if session.config.getoption("numprocesses", None):
        file_order.keep()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    # What is timed is what users get.
    object_cache.serve(all(item.get_closest_marker(name) is None for name in ("llvm", "alone")))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"tests that are sampled: {sampling.VARIABLE}={os.environ[sampling.VARIABLE]}")


@pytest.fixture(scope="session", autouse=True)
def kernel_cache_of_its_own(tmp_path_factory):
    """Tests neither read nor fill the user's kernel cache; those of one run share a folder, whatever process they run in."""
    before = os.environ.get("AMDGPU_CACHE_DIR")
    # pytest-xdist gives each process a folder of its own inside that of the run.
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ["AMDGPU_CACHE_DIR"] = str(folder / "kernel-cache")
    yield
    if before is None:
        del os.environ["AMDGPU_CACHE_DIR"]
    else:
        os.environ["AMDGPU_CACHE_DIR"] = before


@pytest.fixture
def device():
    """The CPU device with all cores enabled."""
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture
def rng():
    return np.random.default_rng(20261121)


@pytest.fixture(scope="session")
def needs_julia():
    """Skips where no Julia is installed."""
    availability = amdgpu.math.availability()
    if not availability["found"]:
        pytest.skip(f"no Julia: {availability['reason']}")


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a fresh interpreter and returns its result; the environment can be changed."""

    def run(code, *, check=True, timeout=120, **environment):
        env = os.environ | {"AMDGPU_CACHE_DIR": str(tmp_path / "cache")} | environment
        env = {key: value for key, value in env.items() if value is not None}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run
