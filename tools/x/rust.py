"""The Rust toolchain: rustup when it is there, else a cargo that is new enough."""

from __future__ import annotations

import functools
import os
import re
import shutil
from pathlib import Path

from x.failure import Failure
from x.paths import ROOT, VENV_PYTHON
from x.process import capture
from x.steps import Reporter

RUSTUP_INSTALL = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal"


def find_program(name: str) -> str | None:
    """`name` on PATH, or in cargo's own folder, which a fresh rustup puts on the PATH of new shells only."""
    home = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    return shutil.which(name) or shutil.which(name, path=os.path.join(home, "bin"))


def wanted_channel(root: Path = ROOT) -> str:
    """The version that rust-toolchain.toml pins."""
    match = re.search(r'^channel\s*=\s*"([^"]+)"', (root / "rust-toolchain.toml").read_text(), re.MULTILINE)
    if match is None:
        raise Failure("rust-toolchain.toml names no channel")
    return match[1]


def minimum_version(root: Path = ROOT) -> tuple[int, ...]:
    """`rust-version` of the workspace."""
    match = re.search(r'^rust-version\s*=\s*"([^"]+)"', (root / "Cargo.toml").read_text(), re.MULTILINE)
    if match is None:
        raise Failure("Cargo.toml names no rust-version")
    return version_numbers(match[1])


def version_numbers(text: str) -> tuple[int, ...]:
    """The first dotted number in `text`: `cargo 1.95.0 (…)` gives (1, 95, 0)."""
    match = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def cargo_command() -> str:
    """The cargo to call."""
    cargo = find_program("cargo")
    if cargo is None:
        raise Failure("Rust is missing: there is no cargo on PATH nor in ~/.cargo/bin", fix=RUSTUP_INSTALL)
    return cargo


def search_path() -> str:
    """PATH with cargo's folder on it."""
    folder = str(Path(cargo_command()).parent)
    search = os.environ.get("PATH", "")
    return search if folder in search.split(os.pathsep) else os.pathsep.join([folder, search])


def cargo_environment() -> dict[str, str]:
    """Variables every cargo call shares, so that no two of them undo each other's build."""
    return {"PYO3_PYTHON": str(VENV_PYTHON), "PATH": search_path()}


def target_folder() -> Path:
    """Where cargo builds."""
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


@functools.cache
def incremental(target: Path) -> dict[str, str]:
    """What cargo keeps for the next change costs a fifth of the compiler's time: not where it has built no tests before.

    Asked once in a run of `./x`, all of which is the first build then. Cargo does not build again what was built this way.
    """
    is_first = not (target / "debug").exists()
    return {"CARGO_INCREMENTAL": "0"} if is_first and "CARGO_INCREMENTAL" not in os.environ else {}


def prepare_rust(reporter: Reporter) -> str:
    """The step "rust toolchain"."""
    cargo = cargo_command()
    rustup = find_program("rustup")
    channel = wanted_channel()
    if rustup is None:
        found = capture([cargo, "--version"]) or ""
        if version_numbers(found) < minimum_version():
            least = ".".join(map(str, minimum_version()))
            raise Failure(f"cargo is too old: Rust {least} or newer is needed, found `{found}`", fix=RUSTUP_INSTALL)
        return f"{found}, without rustup, so rust-toolchain.toml is not enforced"
    installed = capture([rustup, "toolchain", "list"]) or ""
    if any(line.startswith(channel + "-") for line in installed.splitlines()):
        return f"Rust {channel}"
    reporter.say(f"installing Rust {channel} with rustup")
    command = [
        rustup,
        "toolchain",
        "install",
        channel,
        "--profile",
        "minimal",
        "-c",
        "rustfmt",
        "-c",
        "clippy",
        "--no-self-update",
    ]
    done = reporter.run(command, log_name="rustup")
    done.require(f"rustup could not install Rust {channel}", fix=f"with a network: {' '.join(command)}")
    return f"installed Rust {channel}"
