"""What the tests of the command line share: starting it, the shape of a JSON document, texts that are compared with files."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "cli" / "golden"
WATCHED_PROGRAM = Path(__file__).parent / "telemetry_program.py"
# The command line, as this Python runs it.
AMDGPU = (sys.executable, "-m", "amdgpu")
# Set it to write the files anew; then look at the difference.
UPDATE = "UPDATE_GOLDEN"


def amdgpu(*arguments, folder=None, standard_input=None, timeout=120, **environment):
    """Run `amdgpu` in a process of its own; a variable that is None is taken away."""
    env = {key: value for key, value in (os.environ | environment).items() if value is not None}
    return subprocess.run(
        [sys.executable, "-m", "amdgpu", *map(str, arguments)],
        input=standard_input,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=folder,
        env=env,
    )


def in_terminal(command, keys, until, environment=None, size=(30, 100)):
    """Run a command in a terminal of its own; type `keys` once `until` was drawn. Returns exit code and everything that was drawn."""
    main, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    env = (os.environ if environment is None else environment) | {"TERM": "xterm-256color"}
    process = subprocess.Popen([str(part) for part in command], stdin=child, stdout=child, stderr=child, env=env)
    os.close(child)
    drawn = b""
    typed = False
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([main], [], [], 0.2)
        if ready:
            try:
                data = os.read(main, 65536)
            except OSError:
                break
            drawn += data
        if not typed and until.encode() in drawn:
            os.write(main, keys)
            typed = True
        if process.poll() is not None and not ready:
            break
    os.close(main)
    process.kill()
    return process.wait(), drawn.decode("utf-8", "replace")


def document(done):
    """The one JSON document on standard output."""
    assert done.stderr == "" or not done.stderr.startswith("Traceback"), done.stderr
    return json.loads(done.stdout)


def shape(value):
    """The types of a JSON document: what a reader may rely on. Elements of a list are merged into one."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        merged = []
        for item in value:
            found = shape(item)
            if found not in merged:
                merged.append(found)
        return sorted(merged, key=json.dumps)
    return {bool: "boolean", int: "number", float: "number", str: "text", type(None): "null"}[type(value)]


def check_golden(name, text):
    """Compare a text with the file that holds what it should be."""
    path = GOLDEN / name
    if os.environ.get(UPDATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path} is missing; {UPDATE}=1 writes it"
    assert text == path.read_text(), f"{name} has changed; {UPDATE}=1 writes it anew"


def check_shape(name, content):
    """Compare the shape of a JSON document with the one that its schema version promises."""
    check_golden(f"{name}.json", json.dumps(shape(content), indent=1, sort_keys=True) + "\n")
