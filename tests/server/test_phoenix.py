"""The official Phoenix client from npm, today's and one of 1.7, driven through the rows of the protocol page in Node."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from certificates import make
from server_client import running

FOLDER = Path(__file__).parent / "phoenix"


@pytest.fixture(scope="session")
def node():
    """Node with the packages of tests/server/phoenix; skips where they cannot be had."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        pytest.skip("node and npm are not installed: apt-get install nodejs npm")
    if not (FOLDER / "node_modules" / "phoenix17").is_dir():
        command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=240, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot install the Phoenix client: {done.stderr.strip()[-300:]}")
    return program


@pytest.fixture(scope="module", params=["open", "with a token and execution", "over TLS"])
def server(request, tmp_path_factory):
    settings = {}
    if request.param == "with a token and execution":
        settings = {"token": "a token of the tests", "allow_execute": True}
    elif request.param == "over TLS":
        certificate, key = make(tmp_path_factory.mktemp("tls"), "server")
        settings = {"certificate": certificate, "key": key}
    with running(**settings) as started:
        yield started


@pytest.mark.parametrize("version", ["2", "1"])
@pytest.mark.parametrize("package", ["phoenix", "phoenix17"])
def test_the_official_client_is_served(node, server, package, version):
    address = server.base_url.replace("http", "ws", 1)
    command = [node, "drive.mjs", address, package, version, server.token or ""]
    environment = os.environ | {"NODE_EXTRA_CA_CERTS": server.settings.certificate or ""}
    done = subprocess.run(
        command, cwd=FOLDER, capture_output=True, text=True, timeout=240, check=False, env=environment
    )
    results = {line["name"]: line["error"] for line in map(json.loads, done.stdout.splitlines())}
    assert {name: error for name, error in results.items() if error} == {}, done.stderr
    # Arrays are for version 2, the auth token for clients that have the option.
    wanted = 12 + (version == "2") + (server.token is not None and package == "phoenix")
    assert len(results) == wanted, done.stderr
    assert done.returncode == 0, done.stderr
