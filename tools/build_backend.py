"""PEP 517 and PEP 660 backend: maturin, once everything else is in python/amdgpu/_lib: libamdgpu, the Zig and Nim libraries, the dashboard.

How those are built stands in `x.native`, which `./x build` uses as well. Missing tools are named in one sentence each,
all of them at once, before anything is built.

A wheel holds the archives of GPU kernels that are in python/amdgpu/_lib/kernels. Which of them are built first is the setting `kernels`
(`pip install . --config-settings kernels=all`; docs/adr/0007-archives-in-wheels.md): `here`, the default, for the GPUs of this machine that
have none, `all`, `none`, or names of architectures separated by commas.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import maturin
from x import core_library, gpus, native, rust, web, wheel_contents
from x.failure import Failure
from x.kernel_catalog import ARCHITECTURES
from x.kernels import Builder
from x.system import by_hand

ROOT = Path(__file__).resolve().parents[1]
ConfigSettings = Mapping[str, Any] | None


def missing_tools() -> list[str]:
    """A sentence, with the command that mends it, for each tool that the build needs and does not find."""
    sentences = []
    if shutil.which("nim") is None:
        sentences.append(f"the Nim compiler (`nim`) is missing: {by_hand(['nim'])}")
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        sentences.append(f"a C compiler (`cc`) is missing: {by_hand(['gcc', 'libc6-dev'])}")
    if rust.find_program("cargo") is None:
        sentences.append(f"Rust (`cargo`) is missing: {rust.RUSTUP_INSTALL}")
    if importlib.util.find_spec("ziglang") is None:
        sentences.append(f"the Python package `ziglang` is missing: {sys.executable} -m pip install ziglang==0.17.0")
    return sentences


def _prepare() -> None:
    """Fills python/amdgpu/_lib, or stops with what is missing."""
    sentences = missing_tools()
    if sentences:
        raise SystemExit("amdgpu-framework cannot be built here:\n  " + "\n  ".join(sentences))
    # maturin looks for cargo on PATH only; a fresh rustup is not on it yet.
    os.environ["PATH"] = rust.search_path()
    for piece in native.pieces(ROOT, sys.executable, ROOT / ".x"):
        print(f"building the {piece.name}: {piece.recipe()}", file=sys.stderr, flush=True)
        try:
            native.build_piece(piece, _run)
        except Failure as failure:
            raise SystemExit(f"amdgpu-framework cannot be built: {failure.text()}") from failure
    print("building libamdgpu", file=sys.stderr, flush=True)
    output = native.library_folder(ROOT) / core_library.LIBRARY_NAME
    try:
        core_library.build_for_wheel(rust.cargo_command(), ROOT, output, {"PYO3_PYTHON": sys.executable})
    except Failure as failure:
        raise SystemExit(f"amdgpu-framework cannot be built: {failure.text()}") from failure
    print("building the dashboard", file=sys.stderr, flush=True)
    try:
        sentence = web.prepare_package(_run)
    except Failure as failure:
        raise SystemExit(f"amdgpu-framework cannot be built: {failure.text()}") from failure
    if sentence:
        print(f"going on: {sentence}", file=sys.stderr, flush=True)


def kernel_architectures(setting: str, built: Sequence[str], here: Sequence[str]) -> list[str]:
    """The architectures whose archives are brought up to date before a wheel is packed.

    Args:
        setting: `here`, `all`, `none` or names separated by commas.
        built: Those with an archive.
        here: Those of this machine's GPUs.
    """
    if setting == "none":
        return []
    if setting == "all":
        return list(ARCHITECTURES)
    if setting == "here":
        return [name for name in here if name not in built]
    names = [name.strip() for name in setting.split(",")]
    unknown = [name for name in names if name not in ARCHITECTURES]
    if unknown:
        known = ", ".join(ARCHITECTURES)
        raise SystemExit(
            f"kernels={setting}: no kernels are built for {', '.join(unknown)}; known are {known}, here, all, none"
        )
    return names


def _say_progress(done: int, todo: int, name: str) -> None:
    """A line for every tenth of the groups."""
    if done * 10 // todo != (done - 1) * 10 // todo:
        print(f"  {done} of {todo} groups of kernels ({name})", file=sys.stderr, flush=True)


def _build_kernels(config_settings: ConfigSettings) -> None:
    """Builds the archives that the setting asks for."""
    setting = str((config_settings or {}).get("kernels", "here"))
    builder = Builder(ROOT, sys.executable, ROOT / ".x")
    built = [path.stem for path in builder.output.glob("*.archive")]
    wanted = kernel_architectures(setting, built, gpus.architectures_here())
    if not wanted:
        return
    print(f"building the GPU kernels for {', '.join(wanted)}: half a minute each", file=sys.stderr, flush=True)
    try:
        builder.build(wanted, _say_progress)
    except Failure as failure:
        raise SystemExit(f"amdgpu-framework cannot be built: {failure.text()}") from failure


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    # The front end reads stdout of some hooks, so the tools speak on stderr.
    done = subprocess.run(list(command), cwd=ROOT, env={**os.environ, **environment}, stdout=sys.stderr, check=False)
    if done.returncode:
        raise Failure(f"`{' '.join(command)}` failed with exit code {done.returncode}")


def build_wheel(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """Builds the wheel, native libraries and archives of GPU kernels inside."""
    _prepare()
    _build_kernels(config_settings)
    name = str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))
    sentences = wheel_contents.problems_of(Path(wheel_directory) / name, ROOT)
    if sentences:
        raise SystemExit(f"{name} is not complete:\n  " + "\n  ".join(sentences))
    return name


def build_editable(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """Builds a wheel that points at this working tree."""
    _prepare()
    return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: ConfigSettings = None) -> str:
    """Packs the sources; needs cargo to read the workspace, builds nothing."""
    return str(maturin.build_sdist(sdist_directory, config_settings))


def get_requires_for_build_wheel(config_settings: ConfigSettings = None) -> list[str]:
    """Nothing beyond `build-system.requires`."""
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: ConfigSettings = None) -> str:
    """Writes the metadata alone, so that a resolver need not build."""
    return str(maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
