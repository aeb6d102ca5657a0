"""The virtual environment `.venv` with the pinned development requirements."""

from __future__ import annotations

import sys

from x.failure import Failure
from x.paths import REQUIREMENTS, STAMPS, VENV, VENV_PYTHON, shown
from x.process import capture
from x.stamps import Stamp, digest
from x.steps import Reporter

PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"


def python_version_of(python: str) -> str | None:
    """`3.11`, or None when that interpreter does not start."""
    return capture([python, "-c", PROBE])


def pinned_versions(text: str, python: tuple[int, int] = sys.version_info[:2]) -> dict[str, str]:
    """Names and versions of a requirements file, as they hold for `python`."""
    pins = {}
    for line in text.splitlines():
        requirement, _, marker = line.partition("#")[0].partition(";")
        name, equals, version = requirement.strip().partition("==")
        if not equals:
            continue
        if ('>= "3.11"' in marker and python < (3, 11)) or ('< "3.11"' in marker and python >= (3, 11)):
            continue
        pins[name.strip()] = version.strip()
    return pins


def prepare_virtual_environment(reporter: Reporter) -> str:
    """The step "python packages"."""
    stamp = Stamp(STAMPS, "virtual-environment")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    wanted = digest([REQUIREMENTS], str(VENV))
    if VENV_PYTHON.exists() and stamp.is_fresh(wanted, [VENV / "pyvenv.cfg"]):
        return "up to date"
    if not VENV_PYTHON.exists() or python_version_of(str(VENV_PYTHON)) is None:
        reporter.say(f"making {shown(VENV)} with Python {version}")
        command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
        done = reporter.run(command, log_name="venv")
        done.require(
            "cannot make a virtual environment", fix="sudo apt-get install python3-venv, then run the command again"
        )
    count = len(pinned_versions(REQUIREMENTS.read_text()))
    reporter.say(f"installing {count} pinned packages from {shown(REQUIREMENTS)} into {shown(VENV)}")
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    done = reporter.run([*command, "-r", str(REQUIREMENTS)], log_name="pip")
    if done.exit_code:
        raise Failure(
            "pip could not install the development packages; the first time it needs the network",
            fix=f"{shown(VENV_PYTHON)} -m pip install -r {shown(REQUIREMENTS)}",
            detail=done.tail(12),
        )
    stamp.write(wanted, [VENV / "pyvenv.cfg"])
    return f"{count} packages in {shown(VENV)}"
