"""Compiling and running kernels, products and networks for clients."""

import numpy as np
import pytest

pytest.importorskip("starlette")
from amdgpu.server import Limits
from server_client import client, running

TOKEN = "correct-horse-battery-staple"
TWICE = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
ENDLESS = "__global__ void endless(volatile int* x) { while (x[0] == 0) { x[1] += 1; } }"


@pytest.fixture(scope="module")
def server():
    limits = Limits(call_bytes=1 << 20, source_bytes=4096, kernels=3)
    with running(token=TOKEN, allow_execute=True, limits=limits) as started:
        yield started


@pytest.fixture
def api(server):
    with client(server, token=TOKEN) as connected:
        connected.join("gpu:api")
        yield connected


def compiled(api, source=TWICE, **options):
    status, response = api.call("kernel:compile", {"coreType": "aura", "source": source, "options": options})
    assert status == "ok", response
    return response


def test_a_device_is_opened(api):
    status, response = api.call("device:initialize", {"deviceId": "cpu:0", "coreTypes": ["aura", "matrix"]})
    assert status == "ok"
    assert response["deviceInfo"]["device"] == "cpu:0"


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"deviceId": 99}, "device-not-found"),
        ({"deviceId": -1}, "device-not-found"),
        ({"deviceId": "cuda:99"}, "device-not-found"),
        ({"deviceId": 0, "coreTypes": ["tensor"]}, "unknown-core-type"),
        ({"deviceId": 0.5}, "invalid-argument"),
        ({"deviceId": 0, "surprise": 1}, "invalid-argument"),
    ],
)
def test_a_device_that_cannot_be_opened_says_why(api, payload, reason):
    assert api.call("device:initialize", payload)[1]["reason"] == reason


def test_a_kernel_is_compiled(api):
    answer = compiled(api)
    assert answer["name"] == "twice"
    assert [parameter["name"] for parameter in answer["parameters"]] == ["x", "y", "n"]
    assert [parameter["isConst"] for parameter in answer["parameters"]] == [True, False, True]
    assert answer["parameters"][0]["dtype"] == "float32"


@pytest.mark.parametrize(
    ("payload", "reason", "text"),
    [
        ({"source": "__global__ void f(float* x) { x[0] = y; }"}, "compile-failed", "y"),
        ({"source": "int f() { return 1; }"}, "kernel-not-found", "kernel"),
        ({"source": ""}, "kernel-not-found", ""),
        ({"source": "x" * 5000}, "limit-exceeded", "4096"),
        ({"source": 5}, "invalid-argument", "source"),
        ({}, "invalid-argument", "source"),
        ({"source": TWICE, "coreType": "tensor"}, "core-not-enabled", "tensor"),
        ({"source": TWICE, "options": {"optimizationLevel": "maximal"}}, "invalid-argument", ""),
        ({"source": TWICE, "options": {"deviceId": "cuda:99"}}, "device-not-found", ""),
    ],
)
def test_what_does_not_compile_says_why(api, payload, reason, text):
    status, response = api.call("kernel:compile", payload)
    assert (status, response["reason"]) == ("error", reason)
    assert text in response["message"]


def test_arrays_travel_in_binary(api):
    handle = compiled(api)["kernelHandle"]
    x = np.arange(1000, dtype="float32")
    payload = {"kernelHandle": handle, "args": [x, {"$zeros": {"dtype": "float32", "shape": [1000]}}, 1000]}
    status, response = api.call_binary("kernel:execute", payload)
    assert status == "ok", response
    result = response["result"]
    assert result["written"] == [1]
    assert result["output"].tobytes() == (2 * x).tobytes()
    assert result["executionTimeSeconds"] > 0
    assert result["memoryUsageBytes"] == 8000


def test_lists_travel_in_text(api):
    handle = compiled(api)["kernelHandle"]
    args = [[1, 2.5, -3], {"$zeros": {"dtype": "float32", "shape": [3]}}, 3]
    status, response = api.call("kernel:execute", {"kernelHandle": handle, "args": args, "options": {"block": 32}})
    assert (status, response["result"]["output"]) == ("ok", [2.0, 5.0, -6.0])


def test_numbers_that_json_cannot_say_are_arguments(api):
    source = "__global__ void keep(float* x, float a, unsigned long long n) { x[0] = a; x[1] = n == 18446744073709551615ull; }"
    handle = compiled(api, source)["kernelHandle"]
    zeros = {"$zeros": {"dtype": "float32", "shape": [2]}}
    args = [zeros, {"$float": "-Infinity"}, {"$integer": "18446744073709551615"}]
    status, response = api.call(
        "kernel:execute", {"kernelHandle": handle, "args": args, "options": {"grid": 1, "block": 1}}
    )
    assert (status, response["result"]["output"]) == ("ok", ["-Infinity", 1.0])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kernelHandle": "nothing"}, "invalid-handle"),
        ({"kernelHandle": 5}, "invalid-argument"),
        ({"args": []}, "argument-count"),
        ({"args": [[1.0], [1.0]]}, "argument-count"),
        ({"args": ["text", [1.0], 1]}, "invalid-argument"),
        ({"args": [[[1.0], 2.0], [1.0], 1]}, "invalid-argument"),
        ({"args": [{"$array": 0}, [1.0], 1]}, "invalid-argument"),
        ({"args": [{"$zeros": {"dtype": "float32", "shape": [1 << 30]}}, [1.0], 1]}, "limit-exceeded"),
        ({"args": [{"$zeros": {"dtype": "complex64", "shape": [1]}}, [1.0], 1]}, "invalid-message"),
        ({"args": [{"$integer": "1e5"}, [1.0], 1]}, "invalid-argument"),
        ({"args": [{"$float": "nan"}, [1.0], 1]}, "invalid-argument"),
        ({"args": [{"what": 1}, [1.0], 1]}, "invalid-argument"),
        ({"args": [None, [1.0], 1]}, "invalid-argument"),
        ({"options": {"grid": [1, 1, 1, 1]}}, "invalid-launch"),
        ({"options": {"block": 0}}, "invalid-launch"),
        ({"options": {"grid": "all"}}, "invalid-argument"),
    ],
)
def test_a_launch_that_makes_no_sense_says_why(api, change, reason):
    handle = compiled(api)["kernelHandle"]
    payload = {"kernelHandle": handle, "args": [[1.0], [1.0], 1]} | change
    status, response = api.call("kernel:execute", payload)
    assert (status, response["reason"]) == ("error", reason), response
    assert api.call("kernel:execute", {"kernelHandle": handle, "args": [[1.0], [0.0], 1]})[0] == "ok"


def test_arrays_larger_than_a_call_may_have_are_refused(api):
    handle = compiled(api)["kernelHandle"]
    half = {"$zeros": {"dtype": "float32", "shape": [(1 << 17) + 1]}}
    status, response = api.call("kernel:execute", {"kernelHandle": handle, "args": [half, half, 1]})
    assert (status, response["reason"]) == ("error", "limit-exceeded")


def test_a_kernel_that_does_not_end_is_stopped_and_nobody_waits_for_it(server, api):
    handle = compiled(api, ENDLESS)["kernelHandle"]
    args = [{"$zeros": {"dtype": "int32", "shape": [2]}}]
    options = {"timeoutMs": 300, "grid": 1, "block": 1}
    ref = api.push("gpu:api", "kernel:execute", {"kernelHandle": handle, "args": args, "options": options})
    # The same socket and another one are answered meanwhile.
    assert api.call("heartbeat", topic="phoenix") == ("ok", {})
    with client(server, token=TOKEN) as other:
        other.join("gpu:api")
        assert other.call("device:list")[0] == "ok"
    answered = [frame for frame in api.aside if frame[1] == ref]
    status, response = (answered[0][4]["status"], answered[0][4]["response"]) if answered else api.reply(ref)
    assert (status, response["reason"]) == ("error", "timeout")
    handle = compiled(api)["kernelHandle"]
    assert api.call("kernel:execute", {"kernelHandle": handle, "args": [[1.0], [0.0], 1]})[0] == "ok"


def test_a_handle_survives_the_socket_and_the_oldest_goes_first(server, api):
    handle = compiled(api)["kernelHandle"]
    with client(server, token=TOKEN) as other:
        other.join("gpu:api")
        assert other.call("kernel:execute", {"kernelHandle": handle, "args": [[1.0], [0.0], 1]})[0] == "ok"
        for number in range(3):
            compiled(other, TWICE.replace("twice", f"twice{number}"))
        status, response = other.call("kernel:execute", {"kernelHandle": handle, "args": [[1.0], [0.0], 1]})
    assert (status, response["reason"]) == ("error", "invalid-handle")
    assert "compile it again" in response["message"]


def test_calls_without_end_are_bounded(server):
    with (
        running(token=TOKEN, allow_execute=True, limits=Limits(calls_in_flight=2)) as small,
        client(small, token=TOKEN) as connected,
    ):
        connected.join("gpu:api")
        handle = compiled(connected, ENDLESS)["kernelHandle"]
        args = [{"$zeros": {"dtype": "int32", "shape": [2]}}]
        payload = {"kernelHandle": handle, "args": args, "options": {"timeoutMs": 300, "grid": 1, "block": 1}}
        refs = [connected.push("gpu:api", "kernel:execute", payload) for _ in range(3)]
        answers = {}
        while len(answers) < 3:
            frame = connected.receive()
            answers[frame[1]] = frame[4]["response"]["reason"]
        assert [answers[ref] for ref in refs] == ["timeout", "timeout", "limit-exceeded"]


def test_kernels_do_not_run_unless_that_was_allowed():
    with running() as closed, client(closed) as connected:
        connected.join("gpu:api")
        handle = compiled(connected)["kernelHandle"]
        status, response = connected.call("kernel:execute", {"kernelHandle": handle, "args": [[1.0], [0.0], 1]})
        assert (status, response["reason"]) == ("error", "not-permitted")
        assert "--allow-execute" in response["message"]


def test_matrices_are_multiplied(api, rng):
    a, b = rng.standard_normal((5, 7), "float32"), rng.standard_normal((7, 3), "float32")
    status, response = api.call_binary("matrix:multiply", {"a": a, "b": b, "precision": "fp32"})
    assert status == "ok", response
    import amdgpu

    assert response["output"].tobytes() == amdgpu.matrix_multiply(a, b).tobytes()
    status, response = api.call("matrix:multiply", {"a": [[1, 2]], "b": [[3], [4]]})
    assert response["output"] == [[11.0]]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"a": [[1.0]], "b": [[1.0], [2.0]]}, "shape-mismatch"),
        ({"a": [[1.0], [2.0, 3.0]], "b": [[1.0]]}, "invalid-argument"),
        ({"a": "x", "b": [[1.0]]}, "invalid-argument"),
        ({"a": [[1.0]], "b": [[1.0]], "precision": "fp7"}, "invalid-argument"),
        ({"a": [[1.0]]}, "invalid-argument"),
        ({"a": [[1.0]] * 600, "b": [[1.0] * 600]}, "limit-exceeded"),
    ],
)
def test_products_that_make_no_sense_say_why(api, payload, reason):
    status, response = api.call("matrix:multiply", payload)
    assert (status, response["reason"]) == ("error", reason), response


def test_a_network_is_made_run_and_closed(api):
    config = {"architecture": [3, 4, 2], "activation": "relu", "outputActivation": "softmax", "seed": 7}
    status, made = api.call("network:create", config)
    assert (status, made["parameterCount"]) == ("ok", 3 * 4 + 4 + 4 * 2 + 2)
    handle = made["networkHandle"]
    x = np.ones((2, 3), "float32")
    status, response = api.call_binary("network:forward", {"networkHandle": handle, "input": x})
    import amdgpu

    wanted = amdgpu.neural_network_forward(
        {"architecture": [3, 4, 2], "activation": "relu", "output_activation": "softmax", "seed": 7}, x
    )
    assert response["output"].tobytes() == wanted.tobytes()
    assert api.call("network:close", {"networkHandle": handle}) == ("ok", {})
    assert api.call("network:forward", {"networkHandle": handle, "input": [1, 1, 1]})[1]["reason"] == "invalid-handle"


def test_a_network_takes_the_client_s_weights(api):
    weights = [np.full((2, 1), 0.5, "float32")]
    biases = [np.array([1.0], "float32")]
    payload = {"architecture": [2, 1], "activation": "identity", "outputActivation": "identity"}
    status, made = api.call_binary("network:create", payload | {"weights": weights, "biases": biases})
    assert status == "ok", made
    status, response = api.call("network:forward", {"networkHandle": made["networkHandle"], "input": [2, 4]})
    assert response["output"] == [4.0]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"architecture": [1]}, "invalid-argument"),
        ({"architecture": [0, 3]}, "invalid-argument"),
        ({"architecture": [1 << 20, 1 << 20]}, "limit-exceeded"),
        ({"architecture": [2, 2], "activation": "sharp"}, "network-invalid"),
        ({"architecture": [2, 2], "weights": []}, "invalid-argument"),
        ({"architecture": "deep"}, "invalid-argument"),
    ],
)
def test_networks_that_make_no_sense_say_why(api, payload, reason):
    status, response = api.call("network:create", payload)
    assert (status, response["reason"]) == ("error", reason), response


def test_the_kernel_used_longest_ago_goes_first(api):
    handles = [compiled(api, TWICE.replace("2 *", f"{number} *"))["kernelHandle"] for number in (31, 32, 33)]

    def run(handle):
        args = [[1.0], {"$zeros": {"dtype": "float32", "shape": [1]}}, 1]
        payload = {"kernelHandle": handle, "args": args, "options": {"grid": 1, "block": 1}}
        return api.call("kernel:execute", payload)

    assert run(handles[0])[0] == "ok"
    compiled(api, TWICE.replace("2 *", "34 *"))
    assert run(handles[0])[0] == "ok", "it was used after the others were compiled"
    assert run(handles[1])[1]["reason"] == "invalid-handle"


def test_networks_are_kept_as_long_as_there_is_room_for_their_parameters():
    limits = Limits(network_bytes=4 * (100 * 100 + 100) * 2)
    with running(token=TOKEN, limits=limits) as server, client(server, token=TOKEN) as api:
        api.join("gpu:api")

        def create():
            status, answer = api.call("network:create", {"architecture": [100, 100]})
            assert status == "ok", answer
            return answer["networkHandle"]

        def forward(handle):
            return api.call("network:forward", {"networkHandle": handle, "input": [[0.0] * 100]})

        first, second = create(), create()
        assert forward(first)[0] == "ok"
        third = create()
        assert forward(second)[1]["reason"] == "invalid-handle", "used longest ago"
        assert (forward(first)[0], forward(third)[0]) == ("ok", "ok")
        assert api.call("network:close", {"networkHandle": first})[0] == "ok"
        fourth = create()
        assert (forward(third)[0], forward(fourth)[0]) == ("ok", "ok")
