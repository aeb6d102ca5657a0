"""The Math core (Julia) from Python."""

import json
import signal
import subprocess
import sys

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from tolerances import ACTIVATION


def interrupted_output(code):
    """What a program prints that gets Control-C once it is ready. Programs started in the background ignore that signal: not this one."""
    code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout.readline().strip() == "ready"
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
            assert process.returncode == 0
            return out
        finally:
            process.kill()


@pytest.mark.usefixtures("needs_julia")
class TestKernels:
    def test_activations_agree_with_numpy(self, rng):
        x = (rng.standard_normal((50, 20)) * 3).astype("float32")
        wide = x.astype(np.float64)
        expected = {
            "identity": wide,
            "relu": np.maximum(wide, 0),
            "sigmoid": 1 / (1 + np.exp(-wide)),
            "tanh": np.tanh(wide),
            "softplus": np.logaddexp(wide, 0),
            "neuromorphic": np.tanh(1.2 * wide) + 0.3 * wide * np.exp(-(wide**2)),
        }
        for kind, values in expected.items():
            y = amdgpu.math.activation(x, kind)
            assert y.shape == x.shape
            assert np.abs(y - values).max() <= ACTIVATION * max(1, np.abs(values).max()), kind

    def test_parameters_of_activations_are_passed(self):
        assert np.allclose(amdgpu.math.activation([-1.0], "leaky_relu", alpha=0.25), -0.25)
        assert np.allclose(amdgpu.math.activation([0.5], "neuromorphic", alpha=0, beta=2), 2 * 0.5 * np.exp(-0.25))

    def test_softmax_rows_sum_to_one_and_large_values_do_not_overflow(self):
        y = amdgpu.math.softmax([[1000.0, 1000.0], [-1000.0, 0.0]])
        assert np.allclose(y, [[0.5, 0.5], [0, 1]])

    def test_momentum_and_learning_rate_follow_their_equations(self):
        gradients = np.array([1, -2], "float32")
        momentum = np.array([0.5, 0.5], "float32")
        rates = amdgpu.math.adaptive_learning_rate(gradients, momentum, learning_rate=0.1, decay=0.9)
        assert np.allclose(momentum, [0.55, 0.25])
        assert np.allclose(rates, [0.05, 0.1 / 3])
        weights, velocity = np.ones(2, "float32"), np.ones(2, "float32")
        amdgpu.math.momentum_update(weights, gradients, velocity, learning_rate=0.1, momentum=0.5)
        assert np.allclose(velocity, [1.5, -1.5])
        assert np.allclose(weights, [0.85, 1.15])

    def test_bad_arguments_are_refused_and_the_core_goes_on(self):
        with pytest.raises(errors.InvalidArgumentError, match="relu"):
            amdgpu.math.activation([1.0], "rleu")
        with pytest.raises(errors.AmdgpuError, match="softmax"):
            amdgpu.math.activation([1.0], "softmax")
        with pytest.raises(errors.ShapeMismatchError):
            amdgpu.math.momentum_update(
                np.ones(2, "float32"), [1.0], np.ones(2, "float32"), learning_rate=1, momentum=0
            )
        with pytest.raises(errors.UnsupportedDtypeError):
            amdgpu.math.momentum_update(np.ones(2), [1.0, 1.0], np.ones(2, "float32"), learning_rate=1, momentum=0)
        with pytest.raises(errors.ShapeMismatchError):
            amdgpu.math.softmax(np.float32(1))
        assert amdgpu.math.activation([-1.0], "relu")[0] == 0

    def test_zero_size_and_zero_dimensional_values(self):
        assert amdgpu.math.activation(np.zeros((0, 3)), "relu").shape == (0, 3)
        assert amdgpu.math.activation(np.float32(-2), "relu").shape == ()
        assert amdgpu.math.softmax(np.zeros((0, 3))).shape == (0, 3)

    def test_control_c_still_raises_keyboard_interrupt(self):
        code = (
            "import amdgpu, time\n"
            "amdgpu.math.activation([1.0], 'relu')\n"
            "try:\n    print('ready', flush=True)\n    time.sleep(60)\n"
            "except KeyboardInterrupt:\n    print('interrupted', float(amdgpu.math.activation([-1.0], 'relu')[0]))\n"
        )
        assert interrupted_output(code).split()[0] == "interrupted"

    def test_control_c_interrupts_a_loop_of_calls(self):
        code = (
            "import amdgpu, numpy as np\n"
            "x = np.ones(100, 'float32')\n"
            "amdgpu.math.activation(x, 'tanh')\n"
            "try:\n    print('ready', flush=True)\n    while True:\n        amdgpu.math.activation(x, 'tanh')\n"
            "except KeyboardInterrupt:\n    print('interrupted')\n"
        )
        assert interrupted_output(code).strip() == "interrupted"

    def test_a_julia_that_the_process_already_runs_is_used_instead(self, run_python):
        # juliacall needs Julia 1.10 and a package registry. The module put in its place here evaluates the very same calls in a real
        # libjulia, opened and owned by the program as juliacall would.
        done = run_python(STAND_IN_FOR_JULIACALL)
        assert json.loads(done.stdout) == {"result": [0.0, 2.0], "adopted": True}


STAND_IN_FOR_JULIACALL = r"""
import ctypes, json, subprocess, sys, types
facts = subprocess.run(["julia", "--startup-file=no", "-e",
    'import Libdl; println(first(filter(p -> occursin("libjulia.so", p), Libdl.dllist())));'
    ' println(unsafe_string(Base.JLOptions().image_file)); println(Sys.BINDIR)'],
    capture_output=True, text=True, check=True).stdout.split("\n")
library = ctypes.CDLL(facts[0], ctypes.RTLD_GLOBAL)
start = getattr(library, "jl_init_with_image__threading", None) or library.jl_init_with_image
start.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
start(facts[2].encode(), facts[1].encode())
library.jl_eval_string.restype = ctypes.c_void_p
library.jl_eval_string.argtypes = [ctypes.c_char_p]
library.jl_unbox_uint64.restype = ctypes.c_uint64
library.jl_unbox_uint64.argtypes = [ctypes.c_void_p]
library.jl_string_ptr.restype = ctypes.c_char_p
library.jl_string_ptr.argtypes = [ctypes.c_void_p]

def seval(code):
    value = library.jl_eval_string(code.encode())
    if code.startswith("UInt"):
        return library.jl_unbox_uint64(value)
    if code.startswith("string"):
        return library.jl_string_ptr(value).decode()

juliacall = types.ModuleType("juliacall")
juliacall.Main = types.SimpleNamespace(seval=seval)
sys.modules["juliacall"] = juliacall
import amdgpu
result = amdgpu.math.activation([-1.0, 2.0], "relu").tolist()
print(json.dumps({"result": result, "adopted": amdgpu.math._is_juliacall_adopted}))
"""


@pytest.mark.usefixtures("needs_julia")
def test_libraries_opened_after_julia_may_throw_cpp_exceptions(run_python):
    """Julia brings an unwinder of its own into the process, which exceptions of others must not meet."""
    pytest.importorskip(
        "matplotlib", reason="matplotlib is not installed; its ft2font throws and catches while it is imported"
    )
    done = run_python(
        "import amdgpu\namdgpu.math.activation([1.0], 'relu')\n"
        "import matplotlib.ft2font\nprint(hasattr(matplotlib.ft2font, 'no_such_name'))\n"
    )
    assert done.stdout.strip() == "False", done.stderr


SENDS_MUCH_AFTER_JULIA = """
import asyncio, amdgpu
amdgpu.math.softmax([1.0, 2.0])
import uvloop
LENGTH = 4 << 20
async def answer(reader, writer):
    writer.write(bytes(1000))
    writer.write(bytes(LENGTH))
    writer.close()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    print(len(await reader.read(-1)) - 1000 - LENGTH)
uvloop.run(main())
"""


@pytest.mark.usefixtures("needs_julia")
def test_event_loops_started_after_julia_lose_no_data(run_python):
    """Julia brings a libuv of its own into the process; uvloop must not call it in place of its own."""
    pytest.importorskip("uvloop")
    done = run_python(SENDS_MUCH_AFTER_JULIA)
    assert done.stdout.strip() == "0", done.stderr


def test_without_julia_the_error_says_what_to_install_and_the_rest_works(run_python):
    done = run_python(
        "import amdgpu, numpy as np\n"
        "print(amdgpu.math.availability()['found'])\n"
        "try:\n    amdgpu.math.activation([1.0], 'relu')\n"
        "except ImportError as error:\n    print(type(error).__name__, 'julialang.org' in str(error))\n"
        "net = amdgpu.Network('neuralNetwork n:\\n  layer a(2)\\n  layer b(1)\\n  connect a -> b (weight: 1.0)')\n"
        "print(net.forward(np.ones(2)).tolist(), amdgpu.matrix_multiply(np.eye(2), np.eye(2)).sum())\n",
        AMDGPU_JULIA="off",
    )
    assert done.stdout.splitlines() == ["False", "JuliaMissingError True", "[2.0] 2.0"]


def test_availability_does_not_start_julia(run_python):
    done = run_python("import amdgpu\namdgpu.math.availability()\nprint('libjulia' in open('/proc/self/maps').read())")
    assert done.stdout.strip() == "False"
