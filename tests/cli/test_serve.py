"""`amdgpu serve`, as a process of its own."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("starlette")
from server_client import Client
from websockets.sync.client import connect


@pytest.fixture
def serve():
    """Starts `amdgpu serve` and returns the process and what it says when it is ready."""
    started = []

    def start(*options):
        command = [sys.executable, "-m", "amdgpu", "serve", "--port", "0", "--json", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return process, json.loads(line)

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_ends_on_a_signal(serve, end):
    process, said = serve()
    assert (said["schema"], said["pid"]) == ("amdgpu.serve/1", process.pid)
    assert said["url"] == f"{said['base_url']}?token={said['token']}"
    with urllib.request.urlopen(f"{said['base_url']}api/v1/health?token={said['token']}", timeout=20) as answer:
        assert json.load(answer)["pid"] == process.pid
    process.send_signal(end)
    assert process.wait(30) in (0, -end)
    assert "Traceback" not in process.stderr.read()


def test_the_token_of_a_file_is_asked_for(serve, tmp_path):
    path = tmp_path / "token"
    path.write_text("secret of the file\nnot this\n")
    _, said = serve("--token-file", str(path))
    assert said["token"] == "secret of the file"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{said['port']}/metrics", timeout=20)
    with caught.value as answer:
        assert answer.code == 401


def test_a_port_in_use_is_said_with_its_holder(serve):
    process, said = serve()
    command = [sys.executable, "-m", "amdgpu", "serve", "--port", str(said["port"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"in use by process {process.pid}" in done.stderr
    assert "is free: --port" in done.stderr


def test_it_ends_although_a_client_s_kernel_cannot_be_stopped(serve):
    process, said = serve("--allow-execute")
    assert said["token"]
    address = f"ws://127.0.0.1:{said['port']}/socket/websocket?vsn=2.0.0&token={said['token']}"
    with connect(address) as socket:
        api = Client(socket)
        api.join("gpu:api")
        source = "__global__ void endless(volatile int* x) { while (x[0] == 0) { } }"
        _, compiled = api.call("kernel:compile", {"source": source})
        zeros = {"$zeros": {"dtype": "int32", "shape": [1]}}
        payload = {
            "kernelHandle": compiled["kernelHandle"],
            "args": [zeros],
            "options": {"timeoutMs": 100, "grid": 1, "block": 1},
        }
        status, response = api.call("kernel:execute", payload)
        assert (status, response["reason"]) == ("error", "timeout")
    process.send_signal(signal.SIGTERM)
    process.wait(30)


def test_without_its_packages_it_says_what_to_install(run_python):
    done = run_python(
        "import sys; sys.modules['starlette'] = None; from amdgpu.cli import main; sys.exit(main(['serve']))",
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'amdgpu-framework[server]'" in done.stderr
