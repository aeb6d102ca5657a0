"""Reads what the metadata of an AMD code object says about its kernels.

Sources: "User Guide for AMDGPU Backend" of LLVM, Code Object V5 Metadata; the ELF and MessagePack specifications; for occupancy as
`crates/amdgpu-compiler/src/occupancy.rs`, which says more for kernels that are loaded.
"""

from __future__ import annotations

import struct
from typing import Any

# Vector registers of a SIMD's lane (for the kernels' waves), their granule, most waves of a SIMD, SIMDs and block memory of a unit.
_LIMITS = {
    "gfx90a": (512, 8, 8, 4, 64 << 10),
    "gfx942": (512, 8, 8, 4, 64 << 10),
    "gfx950": (512, 8, 8, 4, 160 << 10),
    "gfx1030": (1024, 16, 16, 4, 128 << 10),
    "gfx1100": (1536, 24, 16, 4, 128 << 10),
    "gfx1151": (1536, 24, 16, 4, 128 << 10),
    "gfx1200": (1536, 24, 16, 4, 128 << 10),
    "gfx1201": (1536, 24, 16, 4, 128 << 10),
}
NOTE_SECTION = 7
AMDGPU_METADATA_NOTE = 32


def kernels(code: bytes) -> dict[str, dict[str, Any]]:
    """The metadata of each kernel, by name."""
    return {entry[".name"]: entry for entry in _metadata(code)["amdhsa.kernels"]}


def resources(metadata: dict[str, Any]) -> dict[str, int]:
    """What a kernel occupies: registers of a lane and of a wave, block memory, private memory, spills."""
    return {
        "registers": metadata[".vgpr_count"],
        "accumulation_registers": metadata.get(".agpr_count", 0),
        "scalar_registers": metadata[".sgpr_count"],
        "lds_bytes": metadata[".group_segment_fixed_size"],
        "scratch_bytes": metadata[".private_segment_fixed_size"],
        "spills": metadata.get(".vgpr_spill_count", 0) + metadata.get(".sgpr_spill_count", 0),
        "wave_size": metadata[".wavefront_size"],
        "max_threads": metadata[".max_flat_workgroup_size"],
    }


def waves_per_simd(architecture: str, occupied: dict[str, int], threads: int) -> int:
    """How many waves of a kernel a SIMD holds at once, by registers, waves and block memory."""
    registers, granule, most, simds, lds = _LIMITS[architecture]
    waves_of_group = -(-threads // occupied["wave_size"])
    by_registers = min(registers // (-(-max(occupied["registers"], 1) // granule) * granule), most)
    groups = by_registers * simds // waves_of_group
    if occupied["lds_bytes"]:
        groups = min(groups, lds // occupied["lds_bytes"])
    return -(-groups * waves_of_group // simds)


def _metadata(code: bytes) -> dict[str, Any]:
    (sections_at,) = struct.unpack_from("<Q", code, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", code, 0x3A)
    for index in range(count):
        header = sections_at + index * entry_bytes
        (kind,) = struct.unpack_from("<I", code, header + 4)
        offset, size = struct.unpack_from("<QQ", code, header + 24)
        if kind == NOTE_SECTION:
            name_bytes, text_bytes, note = struct.unpack_from("<III", code, offset)
            if note == AMDGPU_METADATA_NOTE:
                start = offset + 12 + (name_bytes + 3) // 4 * 4
                value, _ = _value(code[start : min(start + text_bytes, offset + size)], 0)
                if isinstance(value, dict):
                    return value
    raise ValueError("no metadata of kernels in the code object")


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """One MessagePack value and where the next begins; the kinds that metadata uses."""
    tag, at = data[at], at + 1
    if tag < 0x80:
        return tag, at
    if tag < 0x90:
        return _map(data, at, tag & 15)
    if tag < 0xA0:
        return _list(data, at, tag & 15)
    if tag < 0xC0:
        return data[at : at + (tag & 31)].decode(), at + (tag & 31)
    if tag in (0xC2, 0xC3):
        return tag == 0xC3, at
    sizes = {
        0xCC: "B",
        0xCD: "H",
        0xCE: "I",
        0xCF: "Q",
        0xD9: "B",
        0xDA: "H",
        0xDC: "H",
        0xDD: "I",
        0xDE: "H",
        0xDF: "I",
    }
    if tag not in sizes:
        raise ValueError(f"metadata holds a MessagePack value of kind {tag:#x}")
    (number,) = struct.unpack_from(">" + sizes[tag], data, at)
    at += struct.calcsize(sizes[tag])
    if tag in (0xD9, 0xDA):
        return data[at : at + number].decode(), at + number
    if tag in (0xDC, 0xDD):
        return _list(data, at, number)
    if tag in (0xDE, 0xDF):
        return _map(data, at, number)
    return number, at


def _map(data: bytes, at: int, count: int) -> tuple[dict[Any, Any], int]:
    result = {}
    for _ in range(count):
        key, at = _value(data, at)
        result[key], at = _value(data, at)
    return result, at


def _list(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
    result = []
    for _ in range(count):
        value, at = _value(data, at)
        result.append(value)
    return result, at
