"""What cargo builds for the Python package: `libamdgpu.so`, and the file that Python imports, which opens it.

docs/adr/0010-one-library-for-c-and-python.md says why they are two files.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from x.failure import Failure

LIBRARY_CRATE = "amdgpu-python"
EXTENSION_CRATE = "amdgpu-extension"
LIBRARY_NAME = "libamdgpu.so"
# Kernels of the PyTorch device rdna; it needs no torch to be built.
TORCH_CRATE = "amdgpu-torch"
TORCH_NAME = "libamdgpu_torch.so"
# The plug-in with the TensorFlow device RDNA; it needs no TensorFlow to be built.
TENSORFLOW_CRATE = "amdgpu-tensorflow"
TENSORFLOW_NAME = "libamdgpu_tensorflow.so"
# Beside the library in a working tree: the Python that runs LLVM for programs without Python (`interpreter.rs` reads it).
INTERPRETER_NAME = "python-interpreter"
# Leaves Python's symbols to the interpreter that loads the module, as maturin does for wheels.
ENVIRONMENT: Mapping[str, str] = {"PYO3_BUILD_EXTENSION_MODULE": "1"}

# Fields of ELF files (gABI, chapters 4 and 5).
_DYNAMIC_SYMBOLS = 11
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_BINDING_WEAK = 2
_PYTHON_PREFIXES = (b"Py", b"_Py")


def cargo_arguments(*crates: str, profile: str = "release") -> list[str]:
    """What follows `cargo` to build these crates: for a package, or with another profile of the workspace."""
    chosen = [argument for crate in crates for argument in ("-p", crate)]
    return ["build", f"--profile={profile}", *chosen, "--lib", "--message-format=json-render-diagnostics"]


def artifact(cargo_messages: str, crate: str) -> Path:
    """The shared library that cargo's JSON messages name for a crate."""
    found = None
    for line in cargo_messages.splitlines():
        if not line.startswith('{"reason":"compiler-artifact"'):
            continue
        message = json.loads(line)
        is_wanted = crate in (
            Path(message["manifest_path"]).parent.name,
            message["target"].get("name", "").replace("_", "-"),
        )
        if "cdylib" in message["target"]["kind"] and is_wanted:
            found = next((Path(name) for name in message["filenames"] if name.endswith(".so")), found)
    if found is None:
        raise Failure(f"cargo built {crate} but named no cdylib", fix='set crate-type = ["cdylib"] in its Cargo.toml')
    return found


def place(library: Path, output: Path) -> None:
    """Puts a library where it belongs; a process that has the old one open keeps it."""
    output.parent.mkdir(parents=True, exist_ok=True)
    draft = output.with_name(f".{os.getpid()}.{output.name}")
    shutil.copy2(library, draft)
    if output.name == LIBRARY_NAME:
        weaken_python_symbols(draft)
    os.replace(draft, output)


def build_for_wheel(cargo: str, root: Path, output: Path, environment: Mapping[str, str]) -> None:
    """Builds `libamdgpu.so` and what frameworks load, and puts them, without debug information, at `output` and beside it."""
    built = {
        LIBRARY_CRATE: output,
        TORCH_CRATE: output.with_name(TORCH_NAME),
        TENSORFLOW_CRATE: output.with_name(TENSORFLOW_NAME),
    }
    command = [cargo, *cargo_arguments(*built)]
    done = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, **environment, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failure(f"`{' '.join(command)}` failed with exit code {done.returncode}")
    strip = shutil.which("strip")
    for crate, library in built.items():
        place(artifact(done.stdout, crate), library)
        if strip is not None:
            subprocess.run([strip, "--strip-debug", str(library)], check=True)


def weaken_python_symbols(path: Path) -> int:
    """Makes the undefined symbols of Python weak, so that programs without Python can load the library too; tells how many.

    No linker option does this for some symbols and not for others. An undefined weak symbol that nobody defines has the address 0.
    """
    data = bytearray(path.read_bytes())
    if data[:5] != b"\x7fELF\x02":
        raise Failure(f"{path} is no 64-bit ELF file")
    (sections_offset,) = struct.unpack_from("<Q", data, 40)
    section_bytes, section_count = struct.unpack_from("<HH", data, 58)
    sections = [_SECTION.unpack_from(data, sections_offset + index * section_bytes) for index in range(section_count)]
    weakened = 0
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind == _DYNAMIC_SYMBOLS:
            weakened += _weaken_table(data, range(offset, offset + size, _SYMBOL.size), sections[link][4])
    path.write_bytes(data)
    return weakened


def _weaken_table(data: bytearray, places: Sequence[int], names: int) -> int:
    weakened = 0
    for place_of_symbol in places:
        name, info, other, section, value, size = _SYMBOL.unpack_from(data, place_of_symbol)
        is_undefined = section == 0
        if is_undefined and data[names + name : names + name + 3].startswith(_PYTHON_PREFIXES):
            info = _BINDING_WEAK << 4 | info & 15
            _SYMBOL.pack_into(data, place_of_symbol, name, info, other, section, value, size)
            weakened += 1
    return weakened
