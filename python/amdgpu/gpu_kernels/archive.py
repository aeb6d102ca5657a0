"""The archives of GPU kernels: `_lib/kernels/<architecture>.archive`, made by `./x kernels`.

An archive is a zip file with `manifest.json`, which describes every kernel, and files of code: PTX for NVIDIA, code objects for AMD.
"""

from __future__ import annotations

import functools
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amdgpu.errors import LibraryMissingError

_SUFFIX = ".archive"
_LIBRARIES = Path(__file__).resolve().parents[1] / "_lib"
# Archives that were found, by folder and architecture: looking through a folder takes longer than a launch.
_found: dict[tuple[Path, str], str] = {}


@dataclass(frozen=True)
class ArchivedKernel:
    """What the manifest says about a kernel.

    Attributes:
        architecture: What it was built for.
        name: Its symbol.
        kind: matmul, convolution, transpose, elementwise, reduction, vector, parts or pad.
        threads: Of a block.
        code: File of the archive.
        resources: Registers, block memory and private memory, from the metadata of the code; None where the driver's compiler decides.
        unit: simt, mma, wgmma or wave: what multiplies.
        operand: Number format of the operands: f64, f32, tf32, f16, bf16, i8.
        output: Number format of the result.
        layout: nn, nt, tn or tt; t says that an operand is stored transposed.
        is_aligned: Rows have to start at multiples of 16 bytes.
        epilogue: Empty, bias, relu, gelu or silu; the last three add a bias too.
        tile: Rows and columns of the result that a block computes, and of the inner dimension at a time.
        cluster: Blocks that share an operand.
        dynamic_shared_bytes: What a launch has to add.
        operation: Of elementwise kernels and reductions.
        number: Number format of elementwise kernels and reductions, of vectors' operands and of sums of parts.
        axis: row or column, of reductions.
        item_bytes: Of the numbers that a transpose or a padded copy moves.
        along: Which dimension is contiguous in the matrix that a vector is multiplied with: k or outer.
        alignment: aligned or any: whether rows of that matrix have to start at multiples of 16 bytes.
        parameters: What the kernel takes, as HIP-C declares it.
    """

    architecture: str
    name: str
    kind: str
    threads: int
    code: str
    resources: dict[str, int | None]
    unit: str = ""
    operand: str = ""
    output: str = ""
    layout: str = ""
    is_aligned: bool = True
    epilogue: str = ""
    tile: tuple[int, ...] = ()
    cluster: int = 1
    dynamic_shared_bytes: int = 0
    operation: str = ""
    number: str = ""
    axis: str = ""
    item_bytes: int = 0
    along: str = ""
    alignment: str = ""
    parameters: str = ""

    def read_code(self) -> bytes:
        """The code that a driver loads."""
        with zipfile.ZipFile(_folder() / (self.architecture + _SUFFIX)) as archive:
            return archive.read(self.code)


def _folder() -> Path:
    configured = os.environ.get("AMDGPU_LIBRARY_PATH")
    return (Path(configured) if configured else _LIBRARIES) / "kernels"


def architectures() -> list[str]:
    """Architectures with an archive, sorted."""
    return sorted(path.stem for path in _folder().glob("*" + _SUFFIX))


def archive_for(architecture: str) -> str | None:
    """The archive whose code runs on an architecture: its own, or of an older NVIDIA GPU, whose PTX newer ones take."""
    key = (_folder(), architecture)
    name = _found.get(key) or _search(architecture)
    if name is not None:
        _found[key] = name
    return name


def _search(architecture: str) -> str | None:
    known = architectures()
    name = architecture.split(":", maxsplit=1)[0]
    if name in known:
        return name
    if name.startswith("sm_"):
        # sm_90a code runs on Hopper alone, so only the plain archives stand in for others.
        older = [
            other for other in known if other.startswith("sm_") and other != "sm_90" and int(other[3:]) <= int(name[3:])
        ]
        return max(older, key=lambda other: int(other[3:]), default=None)
    return None


@functools.cache
def archived_kernels(architecture: str) -> tuple[ArchivedKernel, ...]:
    """The kernels of an archive.

    Raises:
        LibraryMissingError: There is no archive for the architecture.
    """
    path = _folder() / (architecture + _SUFFIX)
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise LibraryMissingError(
            f"the GPU kernels for {architecture} cannot be read ({error}): ./x kernels builds them"
        ) from error
    prototypes = manifest.get("prototypes", {})
    return tuple(_kernel(architecture, record, prototypes) for record in manifest["kernels"])


def _kernel(architecture: str, record: dict[str, Any], prototypes: dict[str, str]) -> ArchivedKernel:
    names = ArchivedKernel.__dataclass_fields__
    fields = {name: value for name, value in record.items() if name in names}
    # Transposes have square tiles, given by one number.
    tile = record.get("tile", ())
    fields["tile"] = (tile, tile) if isinstance(tile, int) else tuple(tile)
    of_unit = prototypes.get(f"{record['kind']} {record.get('unit', '')}")
    return ArchivedKernel(architecture=architecture, parameters=of_unit or prototypes.get(record["kind"], ""), **fields)
