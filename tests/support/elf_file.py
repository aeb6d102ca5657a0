"""A reader of 64-bit little-endian ELF files for tests: independent of the linker's own, and strict."""

from __future__ import annotations

import struct
from dataclasses import dataclass

RELOCATABLE, SHARED = 1, 3
UNDEFINED, ABSOLUTE = 0, 0xFFF1
SYMBOLS, RELOCATIONS, NOTE, NO_BITS, DYNAMIC_SYMBOLS = 2, 4, 7, 8, 11
ALLOCATE = 2


@dataclass(frozen=True)
class Section:
    """A section header with its bytes."""

    name: str
    kind: int
    flags: int
    address: int
    size: int
    link: int
    info: int
    align: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """An entry of a symbol table."""

    name: str
    kind: int
    binding: int
    visibility: int
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class Segment:
    """A program header."""

    kind: int
    flags: int
    offset: int
    address: int
    file_bytes: int
    memory_bytes: int
    align: int


@dataclass(frozen=True)
class Relocation:
    """A relocation record with its addend."""

    offset: int
    kind: int
    symbol: int
    addend: int


class ElfFile:
    """A parsed file."""

    def __init__(self, data: bytes) -> None:
        assert data[:7] == b"\x7fELF\x02\x01\x01", "a 64-bit little-endian ELF file"
        self.data = data
        self.os_abi, self.abi_version = data[7], data[8]
        header = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
        self.file_type, self.machine = header[0], header[1]
        segments_at, sections_at, self.flags = header[4], header[5], header[6]
        segment_count, section_count, names_index = header[9], header[11], header[12]
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections_at + 64 * index) for index in range(section_count)]
        names_at = headers[names_index][4]
        self.sections = [
            Section(
                name=self._text(names_at + name),
                kind=kind,
                flags=flags,
                address=address,
                size=size,
                link=link,
                info=info,
                align=align,
                data=b"" if kind in {0, NO_BITS} else data[offset : offset + size],
            )
            for name, kind, flags, address, offset, size, link, info, align, _ in headers
        ]
        self.segments = []
        for index in range(segment_count):
            kind, flags, offset, address, _, in_file, in_memory, align = struct.unpack_from(
                "<IIQQQQQQ", data, segments_at + 56 * index
            )
            self.segments.append(Segment(kind, flags, offset, address, in_file, in_memory, align))

    def _text(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode()

    def section(self, name: str) -> Section:
        """The one section of that name."""
        (found,) = [section for section in self.sections if section.name == name]
        return found

    def symbols(self, table_kind: int) -> list[Symbol]:
        """The entries of a symbol table, the null symbol first."""
        found = [section for section in self.sections if section.kind == table_kind]
        if not found:
            return []
        (table,) = found
        names = self.sections[table.link].data
        result = []
        for name, info, other, section, value, size in struct.iter_unpack("<IBBHQQ", table.data):
            text = names[name : names.index(b"\0", name)].decode()
            result.append(Symbol(text, info & 15, info >> 4, other & 3, section, value, size))
        return result

    def relocations(self, section: Section) -> list[Relocation]:
        """The records of a relocation section."""
        return [
            Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend)
            for offset, info, addend in struct.iter_unpack("<QQq", section.data)
        ]

    def place(self, address: int) -> tuple[str, int]:
        """The loaded section that an address is in, and how far."""
        for section in self.sections:
            if section.flags & ALLOCATE and section.address <= address < section.address + section.size:
                return section.name, address - section.address
        raise AssertionError(f"no section has the address {address:#x}")

    def read(self, address: int, size: int) -> int:
        """A number of the loaded file."""
        name, offset = self.place(address)
        return int.from_bytes(self.section(name).data[offset : offset + size], "little")
