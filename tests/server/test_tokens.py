"""Tokens by default: where they are kept, how guessing is limited, what a user is told; and requests that no honest client sends."""

import json
import logging
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from amdgpu.server import addresses, token_file
from amdgpu.server.guard_app import LOG_SECONDS, RefusalLog
from amdgpu.server.guesses import BURST, MAX_ADDRESSES, SECONDS_PER_GUESS, Guesses
from amdgpu.server.security import Refused
from server_client import running

TIMEOUT_SECONDS = 20


def answer_of(url, **headers):
    """Status, headers and body."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def raw_status(server, head):
    """The status of a request that is sent as it is."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_SECONDS) as connected:
        connected.sendall(head)
        return int(connected.recv(4096).split()[1])


@pytest.fixture
def started():
    """Starts `amdgpu serve` with what it prints to a person; its process and its lines until the last one of its greeting."""
    processes = []

    def start(*options):
        command = [sys.executable, "-m", "amdgpu", "serve", "--port", "0", "--no-browser", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if "Ctrl-C" in line:
                break
        assert lines, process.stderr.read()
        return process, lines

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_server_has_a_token_unless_it_is_told_otherwise(started):
    _, lines = started()
    url = lines[0].removeprefix("amdgpu serve: ")
    base, _, token = url.partition("?token=")
    assert answer_of(f"{base}api/v1/programs")[0] == 401
    assert answer_of(f"{base}metrics")[0] == 401
    assert answer_of(f"{base}metrics?token={token}")[0] == 200
    assert not any("warning" in line for line in lines)


def test_no_token_says_what_it_means(started):
    _, lines = started("--no-token")
    url = lines[0].removeprefix("amdgpu serve: ")
    assert "token" not in url
    assert answer_of(f"{url}metrics")[0] == 200
    assert any("every user of this machine can read command lines, kernel sources" in line for line in lines)


def test_the_token_is_in_a_file_of_its_user_alone_until_the_server_ends(started):
    process, lines = started()
    url = lines[0].removeprefix("amdgpu serve: ")
    path = Path(next(line for line in lines if "token file" in line).rpartition(": ")[2])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == url.partition("?token=")[2] + "\n"
    listed = subprocess.run(
        [sys.executable, "-m", "amdgpu", "serve", "--list"], capture_output=True, text=True, check=True, timeout=60
    )
    assert url in listed.stdout.splitlines()
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    assert not path.exists()
    assert not path.with_suffix(token_file.URL).exists()


def test_a_token_file_that_others_may_read_or_that_is_a_link_is_not_believed():
    path = token_file.write(1, "a token", "http://127.0.0.1:1/")
    try:
        assert {"url": "http://127.0.0.1:1/?token=a token", "token_file": str(path)} in token_file.servers()
        path.chmod(0o644)
        assert str(path) not in {one["token_file"] for one in token_file.servers()}
        path.chmod(0o600)
        elsewhere = path.with_name("elsewhere")
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
        assert str(path) not in {one["token_file"] for one in token_file.servers()}
        elsewhere.unlink()
        # A new server at the port replaces the link, and does not write through it.
        token_file.write(1, "b", "http://127.0.0.1:1/")
        assert not path.is_symlink()
        assert not elsewhere.exists()
        token_file.remove(path, "of another server")
        assert path.exists()
    finally:
        path.unlink(missing_ok=True)
        path.with_suffix(token_file.URL).unlink(missing_ok=True)


def test_guesses_come_back_one_by_one():
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(BURST):
        assert guesses.wait_seconds("a") == 0
        guesses.note_wrong("a")
    assert guesses.wait_seconds("a") == pytest.approx(SECONDS_PER_GUESS)
    assert guesses.wait_seconds("b") == 0
    now[0] += SECONDS_PER_GUESS
    assert guesses.wait_seconds("a") == 0
    guesses.note_wrong("a")
    assert guesses.wait_seconds("a") > 0
    for number in range(2 * MAX_ADDRESSES):
        guesses.note_wrong(str(number))
    assert len(guesses._left) == MAX_ADDRESSES


def test_guessing_is_limited_and_locks_nobody_out_with_a_strong_token():
    with running(token="correct horse battery") as server:
        url = f"{server.base_url}metrics?token="
        assert [answer_of(f"{url}guess{number}")[0] for number in range(BURST)] == [401] * BURST
        status, headers, body = answer_of(f"{url}another")
        assert status == 429
        assert 1 <= int(headers["retry-after"]) <= SECONDS_PER_GUESS
        assert b"too many wrong tokens from 127.0.0.1" in body
        assert answer_of(f"{url}correct+horse+battery")[0] == 200


def test_a_weak_token_is_not_found_by_trying_on():
    with running(token="b") as server:
        url = f"{server.base_url}metrics?token="
        for number in range(BURST):
            answer_of(f"{url}guess{number}")
        assert answer_of(f"{url}b")[0] == 429


def test_requests_that_no_honest_client_sends_are_answered_400():
    with running() as server:
        two = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        assert raw_status(server, two) == 400
        assert raw_status(server, two.replace(b"evil.example", b"localhost")) == 400
        for path in ("%00", "%0a", "api/v1/%1b", "index.html%00.js", "%7f"):
            assert answer_of(server.base_url + path)[0] == 400, path
        assert answer_of(server.base_url)[0] == 200


def test_a_flood_of_refusals_is_one_log_line_a_second(caplog):
    now = [0.0]
    refusals = RefusalLog(lambda: now[0])
    scope = {"path": "/metrics\x1b[2J", "client": ("10.0.0.1", 5)}
    with caplog.at_level(logging.WARNING, "amdgpu.server"):
        for _ in range(1000):
            refusals.note(scope, Refused(401, "not-permitted", "no token"))
        assert len(caplog.records) == 1
        now[0] += LOG_SECONDS
        refusals.note(scope, Refused(401, "not-permitted", "no token"))
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == [
        "refused 1 request",
        "refused 1000 requests",
    ]
    assert "\x1b" not in caplog.text


def test_the_server_keeps_to_one_line_a_second(started):
    process, lines = started()
    base = lines[0].removeprefix("amdgpu serve: ").partition("?")[0]
    for _ in range(50):
        assert answer_of(f"{base}metrics")[0] == 401
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    told = [line for line in errors.splitlines() if "refused" in line]
    assert told
    assert len(told) < 50


def test_a_server_at_all_addresses_names_those_that_work_and_says_that_nothing_is_encrypted(started):
    _, lines = started("--host", "0.0.0.0")
    assert any("nothing is encrypted" in line for line in lines)
    outside = [line.partition(": ")[2] for line in lines if "from other machines" in line]
    assert len(outside) == len(addresses.hosts("0.0.0.0")) - 1
    for url in [lines[0].removeprefix("amdgpu serve: "), *outside]:
        base, _, token = url.partition("?token=")
        assert "0.0.0.0" not in base
        assert answer_of(f"{base}metrics?token={token}")[0] == 200, url


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "192.168.1.7"])
def test_an_address_that_is_no_wildcard_is_its_own(host):
    assert addresses.hosts(host) == [host]


def test_the_facts_in_json_are_complete(started):
    command = [sys.executable, "-m", "amdgpu", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = json.loads(process.stdout.readline())
        finally:
            process.terminate()
    assert said["url"] == f"{said['base_url']}?token={said['token']}"
    assert said["other_urls"] == []
    assert Path(said["token_file"]).name == f"serve-{said['port']}.token"
