"""Who may talk to the server, and who may not."""

import base64
import json
import urllib.error
import urllib.request

import pytest

pytest.importorskip("starlette")
from amdgpu import errors
from amdgpu.server import Settings, create_app
from amdgpu.server.security import Guard, Refused
from server_client import client, running
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

TOKEN = "correct horse battery"


@pytest.fixture
def guarded():
    with running(token=TOKEN) as started:
        yield started


def status_of(server, path, **headers):
    request = urllib.request.Request(server.base_url + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def socket_status(server, query="vsn=2.0.0", **options):
    address = f"{server.base_url.replace('http', 'ws')}socket/websocket?{query}"
    try:
        with connect(address, **options):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


@pytest.mark.parametrize("path", ["api/v1/devices", "api/v1/openapi.json", "api/v1/nothing", "metrics"])
def test_without_the_token_nothing_is_told(guarded, path):
    assert status_of(guarded, path) == 401
    assert status_of(guarded, path, Authorization="Bearer wrong") == 401
    assert status_of(guarded, path, Authorization="Basic Y29ycmVjdA==") == 401
    assert status_of(guarded, f"{path}?token=correct+horse") == 401


def test_the_token_is_taken_from_header_and_query(guarded):
    assert status_of(guarded, "metrics", Authorization=f"Bearer {TOKEN}") == 200
    assert status_of(guarded, f"metrics?token={TOKEN.replace(' ', '+')}") == 200
    assert status_of(guarded, "") == 200


def test_a_socket_needs_the_token(guarded):
    assert socket_status(guarded) == 403
    assert socket_status(guarded, "vsn=2.0.0&token=wrong") == 403
    assert socket_status(guarded, f"vsn=2.0.0&token={TOKEN.replace(' ', '+')}") == 101
    assert socket_status(guarded, additional_headers={"Authorization": f"Bearer {TOKEN}"}) == 101


def test_the_token_of_the_phoenix_client_travels_as_a_sub_protocol(guarded):
    encoded = base64.urlsafe_b64encode(TOKEN.encode()).decode().rstrip("=")
    offers = ["phoenix", f"base64url.bearer.phx.{encoded}"]
    with client(guarded, subprotocols=offers) as connected:
        assert connected.socket.subprotocol == "phoenix"
    assert socket_status(guarded, subprotocols=["phoenix", "base64url.bearer.phx.d3Jvbmc"]) == 403
    assert socket_status(guarded, subprotocols=["phoenix", "base64url.bearer.phx.%%%"]) == 403


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("http://127.0.0.1:{port}", True),
        ("http://localhost:{port}", False),
        ("http://127.0.0.1:1", False),
        ("https://evil.example", False),
        ("http://127.0.0.1:{port}.evil.example", False),
        ("null", False),
        ("", False),
        ("file://", False),
        ("http://allowed.example:8080", True),
        ("https://allowed.example:8080", False),
    ],
)
def test_only_pages_of_this_server_and_allowed_ones_may_ask(origin, is_allowed):
    with running(allowed_origins=("http://allowed.example:8080",)) as server:
        given = origin.format(port=server.port)
        assert socket_status(server, additional_headers={"Origin": given}) == (101 if is_allowed else 403)
        assert status_of(server, "api/v1/devices", Origin=given) == (200 if is_allowed else 403)


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1:{port}", True),
        ("localhost:{port}", True),
        ("LOCALHOST", True),
        ("[::1]:80", True),
        ("127.8.8.8", True),
        ("my.name", True),
        ("evil.example", False),
        ("evil.example:{port}", False),
        ("127.0.0.1.evil.example", False),
        ("10.0.0.1", False),
        ("", False),
        ("user@localhost", False),
        ("localhost/evil", False),
        ("[::1", False),
    ],
)
def test_a_stranger_s_name_for_this_machine_is_refused(host, is_own):
    guard = Guard(Settings(allowed_hosts=("my.name",)))
    scope = {"headers": [(b"host", host.format(port=4000).encode())], "query_string": b""}
    if is_own:
        guard.check_source(scope)
    else:
        with pytest.raises(Refused):
            guard.check_source(scope)


def test_a_request_under_a_stranger_s_name_is_answered_403():
    with running() as server:
        assert status_of(server, "", Host="evil.example") == 403
        assert status_of(server, "api/v1/devices", Host="evil.example") == 403


def test_a_public_server_is_reached_by_number_and_by_its_own_name():
    import socket

    guard = Guard(Settings(host="0.0.0.0", token="correct horse battery"))
    for host in ("192.168.1.7:4000", "[fe80::1]:4000", "localhost", socket.gethostname()):
        guard.check_source({"headers": [(b"host", host.encode())]})
    with pytest.raises(Refused):
        guard.check_source({"headers": [(b"host", b"rebound.example")]})


@pytest.mark.parametrize("settings", [{"host": "0.0.0.0"}, {"allow_execute": True}, {"host": "::"}])
def test_what_needs_a_token_does_not_run_without_one(settings):
    with pytest.raises(errors.InvalidArgumentError, match="token"):
        create_app(Settings(**settings))
    with pytest.raises(errors.InvalidArgumentError, match="--no-token"):
        Settings(**settings, allow_anonymous=True)
    for weak in ("sesame", "aaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababababab"):
        with pytest.raises(errors.InvalidArgumentError, match="too easy to guess"):
            Settings(**settings, token=weak)
    first, second = Settings(**settings).with_token(), Settings(**settings).with_token()
    assert first.token != second.token
    assert len(first.token) >= 32
    create_app(first)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.53"])
def test_loopback_asks_for_a_token_too_unless_told_otherwise(host):
    assert len(Settings(host=host).with_token().token) >= 32
    with pytest.raises(errors.InvalidArgumentError, match="token"):
        create_app(Settings(host=host))
    anonymous = Settings(host=host, allow_anonymous=True)
    assert anonymous.with_token().token is None
    create_app(anonymous)
    with pytest.raises(errors.InvalidArgumentError, match="asks for none"):
        Settings(host=host, token="a", allow_anonymous=True)
    # Whoever chooses a short one for this machine alone may; guesses are limited.
    assert Settings(host=host, token="a").with_token().token == "a"


@pytest.mark.parametrize(
    "settings",
    [
        {"token": ""},
        {"token": "ünicode"},
        {"token": "line\nbreak"},
        {"port": -1},
        {"port": 70000},
        {"compat": "x"},
        {"rate_hz": 0},
        {"idle_rate_hz": 0},
        {"idle_rate_hz": 1000},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(errors.InvalidArgumentError):
        Settings(**settings)


def test_refusals_say_what_to_do(guarded):
    request = urllib.request.Request(f"{guarded.base_url}metrics")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value as answer:
        told = json.loads(answer.read())
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert told["reason"] == "not-permitted"
    assert "Bearer" in told["message"]


def test_tokens_are_in_no_log(guarded, caplog, capfd):
    import logging

    caplog.set_level(logging.DEBUG)
    with client(guarded, token="correct%20horse%20battery") as connected:
        connected.join("gpu:api")
    status_of(guarded, f"metrics?token={TOKEN.replace(' ', '+')}")
    written = "".join(capfd.readouterr()) + "".join(
        record.getMessage() for record in caplog.records if record.name.startswith(("uvicorn", "amdgpu"))
    )
    assert "battery" not in written
