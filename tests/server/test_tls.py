"""TLS: a certificate made here, clients that trust only it, files that are no certificates."""

import json
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from amdgpu.errors import InvalidArgumentError
from amdgpu.server import Settings
from certificates import make
from server_client import TIMEOUT_SECONDS, client, running


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make(tmp_path_factory.mktemp("tls"), "server")


@pytest.fixture(scope="module")
def server(files):
    certificate, key = files
    with running(certificate=certificate, key=key, token="a-token") as started:
        yield started


@pytest.fixture
def trust(files):
    return ssl.create_default_context(cafile=files[0])


def test_rest_is_answered_to_who_trusts_the_certificate(server, trust):
    assert server.base_url == f"https://127.0.0.1:{server.port}/"
    with urllib.request.urlopen(
        f"{server.base_url}api/v1/health?token=a-token", timeout=TIMEOUT_SECONDS, context=trust
    ) as answer:
        assert json.load(answer)["schema"] == "amdgpu.server_health/1"


def test_who_does_not_trust_it_does_not_get_as_far(server):
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(server.base_url, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())


def test_sockets_join_and_get_frames(server, trust):
    origin = server.base_url.rstrip("/")
    with client(server, token="a-token", ssl=trust, origin=origin) as connected:
        status, schema = connected.join("gpu:telemetry")
        assert status == "ok"
        sequence, _, values = connected.frame()
        assert len(values) == len(schema["devices"]) * len(schema["metrics"])
        assert connected.frame()[0] > sequence


def test_plain_http_is_not_answered(server):
    with socket.create_connection(("127.0.0.1", server.port), TIMEOUT_SECONDS) as plain:
        plain.sendall(b"GET /api/v1/health?token=a-token HTTP/1.1\r\nHost: localhost\r\n\r\n")
        plain.settimeout(TIMEOUT_SECONDS)
        assert b"HTTP/1.1" not in plain.recv(4096)
    # It still answers those who speak TLS.
    with socket.create_connection(("127.0.0.1", server.port), TIMEOUT_SECONDS):
        pass


def test_a_file_may_hold_both(files, tmp_path, trust):
    both = tmp_path / "both.pem"
    both.write_text(Path(files[0]).read_text() + Path(files[1]).read_text())
    with (
        running(certificate=str(both)) as server,
        urllib.request.urlopen(f"{server.base_url}api/v1/health", timeout=TIMEOUT_SECONDS, context=trust) as answer,
    ):
        assert answer.status == 200


def test_files_that_do_not_fit_are_said_before_anything_listens(files, tmp_path):
    certificate, key = files
    other_certificate, other_key = make(tmp_path, "other")
    _, secret = make(tmp_path, "secret", password="a password")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_bytes(bytes(range(256)))
    for arguments, words in (
        ({"key": key}, "a key without a certificate"),
        ({"certificate": str(tmp_path / "nothing.pem")}, r"nothing\.pem cannot be read: No such file"),
        ({"certificate": certificate, "key": str(tmp_path)}, "cannot be read: Is a directory"),
        ({"certificate": str(nonsense)}, r"nonsense\.pem: no certificate"),
        ({"certificate": certificate}, "no certificate with its private key"),
        ({"certificate": certificate, "key": other_key}, "do not belong together"),
        ({"certificate": other_certificate, "key": secret}, r"secret\.key is encrypted"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            Settings(port=0, **arguments)
