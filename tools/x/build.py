"""`./x build`: native libraries, the dashboard, the Python extension, and the development install in `.venv`."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from x import core_library, native, process, rust, web
from x.failure import Failure
from x.paths import (
    CORE_LIBRARY,
    EXTENSION,
    LIBRARIES,
    PYTHON_SOURCES,
    REQUIREMENTS,
    ROOT,
    STAMPS,
    STATE,
    TENSORFLOW_PLUG_IN,
    TORCH_KERNELS,
    VENV,
    VENV_PYTHON,
    shown,
)
from x.process import capture
from x.stamps import Stamp, digest
from x.steps import Reporter, Step

EXTENSION_CRATE = ROOT / "crates" / core_library.EXTENSION_CRATE
# What frameworks load; the shim of torch is compiled elsewhere.
FRAMEWORK_CRATES = [
    ROOT / "integrations" / "client",
    ROOT / "integrations" / "tensorflow",
    ROOT / "integrations" / "torch" / "kernels",
]
# Lines of cargo that say nothing about an error: its JSON messages and its progress.
CARGO_NOISE = re.compile(r'\{"reason"|\s+(?:Compiling|Downloaded|Downloading|Updating|Locking|Adding|Blocking|Fresh)\b')
DISTRIBUTION = "amdgpu_framework"


def build_steps(*, libraries: bool = True, dashboard: bool = True, extension: bool = True) -> list[Step]:
    """What turns sources into something that runs from the working tree."""
    steps = []
    if libraries:
        steps += [Step(piece.name, _build_piece(piece)) for piece in native.pieces(ROOT, str(VENV_PYTHON), STATE)]
    if dashboard:
        steps += [
            Step("npm packages", web.install_packages),
            Step("dashboard", web.build_dashboard, after=("npm packages",)),
        ]
    if extension:
        # The longest first: it keeps all processors busy, and the others fill its gaps.
        steps.insert(0, Step("python extension", build_extension))
        steps.append(Step("development install", install_for_development, after=("python extension",)))
    return steps


def _build_piece(piece: native.Piece) -> Callable[[Reporter], str]:
    def work(reporter: Reporter) -> str:
        if not piece.root_source.exists():
            return f"absent: {shown(piece.root_source)}"
        stamp = Stamp(STAMPS, piece.name.replace(" ", "-"))
        wanted = digest([*piece.inputs, REQUIREMENTS], piece.recipe())
        if stamp.is_fresh(wanted, [piece.output]):
            return "up to date"

        def runner(command: Sequence[str], environment: Mapping[str, str]) -> None:
            done = reporter.run(command, environment=environment, doing=piece.doing)
            done.require(f"the {piece.name} does not build")

        native.build_piece(piece, runner)
        stamp.write(wanted, [piece.output])
        return f"built {shown(piece.output)}{_size(piece.output)}"

    return work


def _size(path: Path) -> str:
    return f" ({path.stat().st_size / 1024:,.0f} KiB)" if path.is_file() else ""


def rust_inputs() -> list[Path]:
    """Everything that cargo reads for the workspace."""
    return [ROOT / "Cargo.toml", ROOT / "Cargo.lock", ROOT / "rust-toolchain.toml", ROOT / "crates", *FRAMEWORK_CRATES]


def build_extension(reporter: Reporter) -> str:
    """The step "python extension": `libamdgpu.so`, `amdgpu._native`, which opens it, and what torch and TensorFlow load."""
    if not (EXTENSION_CRATE / "Cargo.toml").exists():
        return f"absent: {shown(EXTENSION_CRATE)}"
    stamp = Stamp(STAMPS, "python-extension")
    target_folder = os.environ.get("CARGO_TARGET_DIR", "")
    wanted = digest(rust_inputs(), str(VENV_PYTHON), target_folder)
    built = {
        core_library.LIBRARY_CRATE: CORE_LIBRARY,
        core_library.EXTENSION_CRATE: EXTENSION,
        core_library.TORCH_CRATE: TORCH_KERNELS,
        core_library.TENSORFLOW_CRATE: TENSORFLOW_PLUG_IN,
    }
    if stamp.is_fresh(wanted, list(built.values())):
        return "up to date"
    command = [rust.cargo_command(), *core_library.cargo_arguments(*built)]
    environment = {**rust.cargo_environment(), **core_library.ENVIRONMENT}
    doing = "compiling the crates of the core, then all of them as one library"
    done = reporter.run(command, environment=environment, log_name="cargo-build", doing=doing)
    if done.exit_code:
        readable = ["    " + line for line in done.output.splitlines() if not CARGO_NOISE.match(line)]
        raise Failure(
            "the Python extension does not build",
            fix="mend the Rust sources named above",
            detail="\n".join(readable[-process.FAILURE_TAIL_LINES :]),
        )
    for crate, output in built.items():
        core_library.place(core_library.artifact(done.output, crate), output)
    (LIBRARIES / core_library.INTERPRETER_NAME).write_text(f"{VENV_PYTHON}\n")
    # What changed while cargo compiled is compiled the next time.
    stamp.write(wanted, list(built.values()))
    return f"built {shown(CORE_LIBRARY)}{_size(CORE_LIBRARY)} and {shown(EXTENSION)}"


def install_for_development(reporter: Reporter) -> str:
    """The step "development install": `import amdgpu`, the command `amdgpu` and the package's metadata, from python/.

    pip installs a wheel that holds a `.pth` file and the metadata of pyproject.toml, so uninstalling works as usual.
    """
    manifest = EXTENSION_CRATE / "Cargo.toml"
    if not manifest.exists():
        return f"absent: {shown(EXTENSION_CRATE)}"
    stamp = Stamp(STAMPS, "development-install")
    script = VENV / "bin" / "amdgpu"
    wanted = digest([ROOT / "pyproject.toml", ROOT / "Cargo.toml", manifest], str(PYTHON_SOURCES))
    if stamp.is_fresh(wanted, [script]):
        return "up to date"
    with tempfile.TemporaryDirectory(dir=STATE) as folder:
        command = [str(VENV / "bin" / "maturin"), "pep517", "write-dist-info", "--metadata-directory", folder]
        done = reporter.run(
            [*command, "--interpreter", str(VENV_PYTHON)], environment=rust.cargo_environment(), log_name="metadata"
        )
        done.require("maturin cannot derive the package's metadata from pyproject.toml")
        dist_info = next(Path(folder).glob("*.dist-info"))
        wheel = write_development_wheel(dist_info, PYTHON_SOURCES, Path(folder))
        install = [
            str(VENV_PYTHON),
            "-m",
            "pip",
            "install",
            "--no-deps",
            "--force-reinstall",
            "--disable-pip-version-check",
        ]
        done = reporter.run([*install, "--no-index", str(wheel)], log_name="development-install")
        done.require("pip cannot install the development wheel")
    stamp.write(wanted, [script])
    return f"`amdgpu` in {shown(VENV)} runs from {shown(PYTHON_SOURCES)}"


def write_development_wheel(dist_info: Path, sources: Path, folder: Path) -> Path:
    """A wheel whose only content is a path file to `sources` and the metadata in `dist_info`."""
    stem = dist_info.name.removesuffix(".dist-info")
    wheel = folder / f"{stem}-py3-none-any.whl"
    contents = {f"{DISTRIBUTION}.pth": f"{sources}\n"}
    for path in sorted(
        path for path in dist_info.rglob("*") if path.is_file() and path.name not in ("RECORD", "WHEEL")
    ):
        contents[f"{dist_info.name}/{path.relative_to(dist_info)}"] = path.read_text()
    contents[f"{dist_info.name}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = f"{dist_info.name}/RECORD"
    contents[record] = "".join(f"{name},,\n" for name in [*contents, record])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return wheel


def julia_is_usable() -> str | None:
    """The reason why Julia's suite cannot run, or None."""
    from x.system import julia_executable, julia_setting

    if julia_setting() == "off":
        return "AMDGPU_JULIA=off"
    executable = julia_executable()
    if executable is None:
        return "Julia is not installed (`./x doctor` says how)"
    return None if capture([executable, "--version"]) else f"{executable} does not start"


def libraries_environment() -> dict[str, str]:
    """Points programs that are not the Python package at the libraries of this working tree."""
    return {"AMDGPU_LIBRARY_PATH": str(LIBRARIES)}
