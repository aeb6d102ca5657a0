"""Relocations of x86-64 objects, and those that the loader of kernels knows."""

from __future__ import annotations

LOADABLE_RELOCATIONS = {
    1: "R_X86_64_64",
    2: "R_X86_64_PC32",
    4: "R_X86_64_PLT32",
    9: "R_X86_64_GOTPCREL",
    41: "R_X86_64_GOTPCRELX",
    42: "R_X86_64_REX_GOTPCRELX",
}


def relocations(code: bytes) -> tuple[set[int], set[str]]:
    """Types of all relocations that are not about debugging, and the names that are undefined."""

    def number(offset: int, size: int) -> int:
        return int.from_bytes(code[offset : offset + size], "little")

    start, size, count = number(40, 8), number(58, 2), number(60, 2)
    sections = [start + index * size for index in range(count)]
    types: set[int] = set()
    undefined: set[str] = set()
    for section in sections:
        kind, offset, length, link = (
            number(section + 4, 4),
            number(section + 24, 8),
            number(section + 32, 8),
            number(section + 40, 4),
        )
        if kind == 4:
            types |= {number(offset + entry + 8, 4) for entry in range(0, length, 24)}
        if kind == 2:
            names = number(sections[link] + 24, 8)
            for entry in range(24, length, 24):
                name = names + number(offset + entry, 4)
                if number(offset + entry + 6, 2) == 0:
                    undefined.add(code[name : code.index(b"\0", name)].decode())
    return types, undefined
