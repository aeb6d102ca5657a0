"""System packages: the Nim compiler, a C compiler, Julia. apt installs them when they are missing and this user may."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from x import apt_sources
from x.failure import Failure
from x.paths import STAMPS
from x.process import capture
from x.steps import Reporter

# Debian 12 has no Julia; Debian 11 has 1.5.3, which installs on 12. At priority 100 nothing else is taken from there.
JULIA_RELEASE = "bullseye"
JULIA_PIN_PRIORITY = 100
JULIA_PACKAGES = ("julia", "libjulia1")
# Julia 1.5.3 of Debian 11 is built against libunwind 1.3; with the 1.6 of Debian 12 every Julia exception ends the process.
JULIA_RELEASE_PACKAGES = ("--allow-downgrades", *JULIA_PACKAGES, f"libunwind8/{JULIA_RELEASE}")
JULIA_SOURCE_FILE = Path("/etc/apt/sources.list.d/amdgpu-bullseye.sources")
JULIA_PIN_FILE = Path("/etc/apt/preferences.d/amdgpu-bullseye")
# Waits for another apt-get of this machine instead of failing beside it.
APT = ("apt-get", "-o", "DPkg::Lock::Timeout=300")
APT_INSTALL = (*APT, "install", "--yes", "--no-install-recommends")
RETRY_JULIA_AFTER_S = 24 * 3600.0


@dataclass(frozen=True)
class Need:
    """A tool, the commands of which any one will do, and the Debian packages that bring it."""

    title: str
    commands: tuple[str, ...]
    packages: tuple[str, ...]

    def is_met(self) -> bool:
        return any(shutil.which(command) for command in self.commands)


NEEDS = (
    Need("Nim compiler", ("nim",), ("nim",)),
    Need("C compiler", ("cc", "gcc"), ("gcc", "libc6-dev")),
)


def missing_needs() -> list[Need]:
    """What has to be installed before anything can be built."""
    needs = [need for need in NEEDS if not need.is_met()]
    if importlib.util.find_spec("ensurepip") is None:
        needs.append(Need("venv module of Python", (), ("python3-venv",)))
    return needs


def root_prefix() -> list[str] | None:
    """What to put before a command to run it as root: nothing, sudo, or None when this user may not."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and capture(["sudo", "-n", "true"]) is not None:
        return ["sudo", "-n"]
    return None


def enumeration(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([part for part in (", ".join(words[:-1]), words[-1]) if part])


def by_hand(packages: Sequence[str]) -> str:
    """The command a person types to install `packages`."""
    return f"sudo apt-get update && sudo apt-get install --no-install-recommends {' '.join(packages)}"


def install_system_packages(reporter: Reporter) -> str:
    """The step "system packages"."""
    needs = missing_needs()
    if needs:
        install_needs(reporter, needs)
    julia = _julia_outcome(reporter)
    found = ", ".join(need.title for need in needs)
    return f"installed {found}; {julia}" if found else f"Nim and C compiler found; {julia}"


def install_needs(reporter: Reporter, needs: Sequence[Need]) -> None:
    packages = [package for need in needs for package in need.packages]
    titles = enumeration([need.title for need in needs])
    verb = "are" if len(needs) > 1 else "is"
    if shutil.which("apt-get") is None:
        raise Failure(
            f"{titles} {verb} missing, and this machine has no apt-get to install {' '.join(packages)} with",
            fix=f"use this machine's package manager (on Debian: {by_hand(packages)}), then run the command again",
        )
    prefix = root_prefix()
    if prefix is None:
        raise Failure(f"{titles} {verb} missing, and this user may not install packages", fix=by_hand(packages))
    reporter.say(f"{titles} {verb} missing: installing {', '.join(packages)} with apt-get")
    command = [*prefix, *APT_INSTALL, *packages]
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    if reporter.run(command, environment=environment, log_name="apt-install").exit_code == 0:
        return
    reporter.say("apt-get knows no such package yet: refreshing its lists first")
    # One unreachable third-party source makes the refresh fail; the install below decides whether that mattered.
    reporter.run([*prefix, *APT, "update"], environment=environment, log_name="apt-update")
    done = reporter.run(command, environment=environment, log_name="apt-install")
    done.require(f"apt-get could not install {' '.join(packages)}", fix=f"with a network: {by_hand(packages)}")


def julia_setting() -> str | None:
    """`AMDGPU_JULIA`: a path, `off`, or None."""
    return os.environ.get("AMDGPU_JULIA") or None


def julia_executable() -> str | None:
    """The Julia that the Math core would use."""
    setting = julia_setting()
    if setting == "off":
        return None
    return shutil.which(setting) if setting else shutil.which("julia")


def _julia_outcome(reporter: Reporter) -> str:
    if julia_setting() == "off":
        return "Julia switched off by AMDGPU_JULIA=off"
    if julia_executable():
        return "Julia found"
    if julia_setting():
        raise Failure(
            f"AMDGPU_JULIA names {julia_setting()}, which is no program", fix="unset AMDGPU_JULIA, or set it to `off`"
        )
    marker = STAMPS / "julia-unavailable"
    if marker.exists() and time.time() - marker.stat().st_mtime < RETRY_JULIA_AFTER_S:
        return f"without Julia: {marker.read_text()} (`./x clean stamps` tries again)"
    try:
        _install_julia(reporter)
    except Failure as failure:
        # The Math core is optional at run time, so the rest goes on; the sentence is repeated until Julia is there.
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text(failure.sentence)
        reporter.say(f"going on without Julia, so the Math core will be off: {failure.sentence}")
        if failure.fix:
            reporter.say(f"fix: {failure.fix}")
        return "without Julia"
    marker.unlink(missing_ok=True)
    return "installed Julia"


def _install_julia(reporter: Reporter) -> None:
    download = "install Julia from julialang.org and put `julia` on PATH, or set AMDGPU_JULIA"
    if shutil.which("apt-get") is None:
        raise Failure("Julia is missing and this machine has no apt-get", fix=download)
    prefix = root_prefix()
    if prefix is None:
        raise Failure(
            "Julia is missing and this user may not install packages", fix=f"{download}; or run `sudo ./x setup` once"
        )
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    if not _has_candidate("julia"):
        _add_julia_source(reporter, prefix, download)
        refresh = [
            *(*prefix, *APT, "update"),
            *(
                "-o",
                f"Dir::Etc::sourcelist={JULIA_SOURCE_FILE}",
                "-o",
                "Dir::Etc::sourceparts=-",
                "-o",
                "APT::Get::List-Cleanup=0",
            ),
        ]
        if not JULIA_SOURCE_FILE.exists():
            refresh = [*prefix, *APT, "update"]
        done = reporter.run(refresh, environment=environment, log_name="apt-update-julia")
        done.require("apt-get could not read the package lists that hold Julia", fix=download)
    packages = JULIA_RELEASE_PACKAGES if JULIA_SOURCE_FILE.exists() else JULIA_PACKAGES
    reporter.say(f"installing {', '.join(JULIA_PACKAGES)} with apt-get")
    done = reporter.run([*prefix, *APT_INSTALL, *packages], environment=environment, log_name="apt-julia")
    if done.exit_code:
        raise Failure("apt-get could not install julia", fix=download, detail=done.tail(8))


def _has_candidate(package: str) -> bool:
    policy = capture(["apt-cache", "policy", package]) or ""
    return "Candidate:" in policy and "Candidate: (none)" not in policy


def _add_julia_source(reporter: Reporter, prefix: Sequence[str], download: str) -> None:
    release = apt_sources.parse_os_release(Path("/etc/os-release").read_text())
    name = release.get("PRETTY_NAME", "this system")
    if release.get("ID") != "debian" or release.get("VERSION_ID") != "12":
        raise Failure(f"the package sources of {name} hold no Julia", fix=download)
    sources = apt_sources.read_sources()
    if apt_sources.has_suite(sources, JULIA_RELEASE):
        return
    stanza = apt_sources.derive_source(sources, release.get("VERSION_CODENAME", ""), JULIA_RELEASE)
    if stanza is None:
        raise Failure("no apt source of this machine serves the main archive of its own release", fix=download)
    reporter.say(
        f"{name} has no Julia: adding the {JULIA_RELEASE} release of this machine's own mirror at pin priority 100"
    )
    for path, text in (
        (JULIA_PIN_FILE, apt_sources.pin_text(JULIA_RELEASE, JULIA_PIN_PRIORITY)),
        (JULIA_SOURCE_FILE, stanza),
    ):
        reporter.say(f"writing {path}")
        _write_as_root(path, text, prefix)


def _write_as_root(path: Path, text: str, prefix: Sequence[str]) -> None:
    if not prefix:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    STAMPS.mkdir(parents=True, exist_ok=True)
    draft = STAMPS / path.name
    draft.write_text(text)
    if capture([*prefix, "install", "-D", "-m", "644", str(draft), str(path)]) is None:
        raise Failure(f"cannot write {path}", fix=f"sudo install -D -m 644 {draft} {path}")


def libjulia_path() -> str | None:
    """Where the loader finds libjulia, for `./x doctor`."""
    return ctypes.util.find_library("julia")
