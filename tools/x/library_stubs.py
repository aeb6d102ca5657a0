"""Libraries of the names of NVIDIA's whose functions say "no device".

The wheels of torch in the package index for x86-64 are built for CUDA and do not start without NVIDIA's libraries, which
are gigabytes. Where nothing runs on a GPU, these take their place.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from x.failure import Failure

SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux.*)\.so")
FOREIGN = re.compile(r"cu|nccl|nv|__cuda")
# cudaErrorNoDevice; functions that give strings or handles give null.
NO_DEVICE = 100


def write_stubs(folder: Path) -> list[Path]:
    """Makes the libraries that those of `folder` need and that are neither there nor the system's."""
    for tool in ("cc", "readelf"):
        if shutil.which(tool) is None:
            raise Failure(f"torch needs stubs for NVIDIA's libraries, and `{tool}` is not there", fix="./x doctor")
    present = sorted(folder.glob("*.so*"))
    names = {path.name for path in present}
    needed = {name for path in present for name in needs(path) if name not in names and not SYSTEM.match(name)}
    defined: set[str] = set()
    missing: dict[str, set[str]] = {}
    owners: dict[str, str] = {}
    for path in present:
        owners |= versions(path)
        for name, version, is_defined in symbols(path):
            if is_defined:
                defined.add(name)
            else:
                missing.setdefault(version, set()).add(name)
    # Names without a version are given by whichever comes first.
    unversioned = {name for name in missing.get("", set()) - defined if FOREIGN.match(name)}
    made = []
    for number, library in enumerate(sorted(needed)):
        versioned = {version: names for version, names in missing.items() if owners.get(version) == library}
        made.append(compile_stub(folder, library, versioned, unversioned if number == 0 else set()))
    return made


def needs(path: Path) -> list[str]:
    """Libraries that one asks for."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", must(["readelf", "-dW", str(path)]))


def versions(path: Path) -> dict[str, str]:
    """Which library each version of symbols is of that one asks for."""
    found: dict[str, str] = {}
    library = ""
    for line in must(["readelf", "-VW", str(path)]).splitlines():
        if match := re.search(r"Version: \d+  File: (\S+)", line):
            library = match[1]
        elif library and (match := re.search(r"Name: (\S+)  Flags", line)):
            found[match[1]] = library
    return found


def symbols(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Name and version of what a library defines, or has to find elsewhere."""
    for line in must(["readelf", "--dyn-syms", "-W", str(path)]).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        name, _, version = fields[7].partition("@")
        is_defined = fields[6] != "UND"
        if is_defined or fields[4] == "GLOBAL":
            yield name, version, is_defined


def compile_stub(folder: Path, library: str, versioned: dict[str, set[str]], unversioned: set[str]) -> Path:
    """One library, with its functions by their versions."""
    source, script = folder / "stub.c", folder / "stub.map"
    lines = []
    for name in sorted(unversioned.union(*versioned.values())):
        is_status = name.startswith("cuda") and not name.endswith("String")
        lines.append(f"long {name}(void) {{ return {NO_DEVICE if is_status else 0}; }}\n")
    source.write_text("".join(lines))
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-w",
        "-fno-builtin",
        str(source),
        "-o",
        str(folder / library),
        f"-Wl,-soname,{library}",
    ]
    if versioned:
        nodes = (
            f"{version} {{ global: {' '.join(f'{name};' for name in sorted(names))} }};"
            for version, names in versioned.items()
        )
        script.write_text("\n".join(nodes) + "\n")
        command.append(f"-Wl,--version-script={script}")
    must(command)
    source.unlink()
    script.unlink(missing_ok=True)
    return folder / library


def must(command: list[str]) -> str:
    """Output of a command that has to succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        tail = " ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise Failure(f"`{' '.join(command[:4])} …` failed: {tail}")
    return done.stdout
