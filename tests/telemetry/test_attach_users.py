"""Another user of the machine, in fact: a process of "nobody" looks for what root's processes tell. Runs as root only."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import amdgpu
import pytest
from amdgpu.telemetry import attach

NOBODY = 65534
LIMIT_SECONDS = 60

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes the rights of another user, which only root can")

# Python itself may lie where only root gets to, so that everything is loaded before the rights are given up.
DROP = f"""
import json, os, socket, sys
import amdgpu
from amdgpu import errors
from amdgpu.telemetry import attach
attach.processes()
os.environ.pop("XDG_RUNTIME_DIR", None)
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""
ASK = """
pid = int(sys.argv[1])
try:
    attach.attach(pid)
    said = None
except errors.AmdgpuError as error:
    said = [error.code, str(error)]
with attach.Watcher() as watcher:
    watched = [info.pid for info in watcher.processes]
print(json.dumps({"said": said, "seen": [info.pid for info in attach.processes()], "watched": watched}))
"""
CONNECT = """
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.settimeout(20)
try:
    line.connect(sys.argv[1])
    line.sendall(b'{"op": "snapshot"}\\n')
    said = line.recv(1 << 16).decode()
except OSError as error:
    said = type(error).__name__
print(json.dumps(said))
"""


def as_nobody(script, *arguments):
    """What a script of another user prints."""
    done = subprocess.run(
        [sys.executable, "-c", DROP + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def folder(monkeypatch):
    """A folder for sockets that another user can get to, where its rights let him."""
    path = Path("/tmp") / f"amdgpu-users-{os.getpid()}"
    path.mkdir(mode=0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    yield path
    for entry in sorted(path.rglob("*"), reverse=True):
        entry.rmdir() if entry.is_dir() else entry.unlink()
    path.rmdir()


@pytest.fixture
def listening(folder):
    """The socket of a process of root's."""
    script = "import amdgpu, sys; from amdgpu.telemetry import attach; attach.listen(); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        (path,) = (folder / "amdgpu").glob("*.sock")
        assert process.pid in [info.pid for info in attach.processes()]
        yield process.pid, path
        process.stdin.close()


def test_another_user_is_refused_by_name_and_sees_nothing(listening):
    pid, _ = listening
    found = as_nobody(ASK, pid)
    code, sentence = found["said"]
    assert code == amdgpu.errors.NotPermittedError.code, sentence
    assert str(pid) in sentence
    assert pid not in found["seen"]
    assert pid not in found["watched"]


def test_the_folder_keeps_another_user_out(listening):
    _, path = listening
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert as_nobody(CONNECT, path) == "PermissionError"


def test_where_rights_were_loosened_the_process_itself_refuses_another_user(listening):
    _, path = listening
    path.parent.chmod(0o755)
    path.chmod(0o666)
    answer = as_nobody(CONNECT, path)
    assert "counters" not in answer
    assert answer in ("", "ConnectionResetError", "BrokenPipeError")
    # Root is still answered.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(LIMIT_SECONDS)
        line.connect(str(path))
        line.sendall(b'{"op": "process"}\n')
        assert b'"pid"' in line.recv(1 << 16)
