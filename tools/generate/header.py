"""Reads agpu.h into plain data. Only the forms that the header promises to use are understood; anything else is an error."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

SCALAR_BYTES = {
    "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8,
    "float": 4, "double": 8, "char": 1, "void": 0,
}  # fmt: skip
POINTER_BYTES = 8


@dataclass(frozen=True)
class CType:
    """A C type: `base` with `pointers` levels of indirection; `is_const` speaks of the innermost pointee."""

    base: str
    pointers: int = 0
    is_const: bool = False


@dataclass(frozen=True)
class Member:
    name: str
    ctype: CType


@dataclass(frozen=True)
class Struct:
    name: str
    members: tuple[Member, ...]
    comment: str = ""


@dataclass(frozen=True)
class Function:
    """A prototype or function-pointer typedef; `library` is matrix, neuro or empty for a typedef."""

    name: str
    returns: CType
    parameters: tuple[Member, ...]
    library: str = ""
    comment: str = ""


@dataclass
class Header:
    constants: list[tuple[str, int]] = field(default_factory=list)
    structs: list[Struct] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    callbacks: list[Function] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)

    def struct(self, name: str) -> Struct | None:
        return next((struct for struct in self.structs if struct.name == name), None)

    def is_callback(self, name: str) -> bool:
        return any(callback.name == name for callback in self.callbacks)

    def size_and_alignment(self, ctype: CType) -> tuple[int, int]:
        """Size and alignment in bytes on the 64-bit targets that the header promises."""
        if ctype.pointers or ctype.base in self.handles or self.is_callback(ctype.base):
            return POINTER_BYTES, POINTER_BYTES
        if ctype.base == "agpu_status":
            return 4, 4
        struct = self.struct(ctype.base)
        if struct is not None:
            offsets, size, alignment = self.layout(struct)
            del offsets
            return size, alignment
        size = SCALAR_BYTES[ctype.base]
        return size, size

    def layout(self, struct: Struct) -> tuple[list[int], int, int]:
        """Offsets of the members, size and alignment of the struct, in bytes."""
        offset, widest, offsets = 0, 1, []
        for member in struct.members:
            size, alignment = self.size_and_alignment(member.ctype)
            offset = -(-offset // alignment) * alignment
            offsets.append(offset)
            offset += size
            widest = max(widest, alignment)
        return offsets, -(-offset // widest) * widest, widest

    def manifest(self) -> str:
        """One line per struct: `name size=NN member@offset ...`, in header order. Every library must report the same text."""
        lines = []
        for struct in self.structs:
            offsets, size, _ = self.layout(struct)
            members = " ".join(f"{m.name}@{o}" for m, o in zip(struct.members, offsets, strict=True))
            lines.append(f"{struct.name} size={size} {members}")
        return "\n".join(lines) + "\n"

    def abi_hash(self) -> int:
        """64 bits over everything a stale library could disagree on."""
        text = (
            self.manifest() + repr(self.constants) + repr([(f.name, f.returns, f.parameters) for f in self.functions])
        )
        text += repr([(f.name, f.returns, f.parameters) for f in self.callbacks])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def parse_type_and_name(text: str) -> Member:
    match = re.fullmatch(r"\s*(const\s+)?(\w+)\s*(\**)\s*(\w+)\s*", text)
    if match is None:
        raise SystemExit(f"agpu.h: cannot read the declaration {text!r}")
    const, base, stars, name = match.groups()
    return Member(name, CType(base, len(stars), const is not None))


def parse_parameters(text: str) -> tuple[Member, ...]:
    if text.strip() == "void":
        return ()
    return tuple(parse_type_and_name(part) for part in text.split(","))


def parse(source: str) -> Header:
    """Parse the text of agpu.h.

    Raises:
        SystemExit: a declaration has a form the generator does not know.
    """
    header = Header()
    for name, value in re.findall(r"^#define (AGPU_\w+) (\d+)\s*$", source, re.MULTILINE):
        header.constants.append((name, int(value)))
    body = re.sub(r"^#.*$|^extern \"C\" \{$|^\}$", "", source, flags=re.MULTILINE)
    token = re.compile(
        r"/\*(?P<comment>.*?)\*/"
        r"|typedef struct \{(?P<members>.*?)\} (?P<struct>\w+);"
        r"|typedef void \*(?P<handle>\w+);"
        r"|typedef int32_t (?P<status>agpu_status);"
        r"|typedef (?P<cb_return>\w+) \(\*(?P<callback>\w+)\)\((?P<cb_params>[^)]*)\);"
        r"|AGPU_(?P<library>MATRIX|NEURO) (?P<fn_return>\w+) (?P<function>\w+)\((?P<fn_params>[^)]*)\);"
        r"|(?P<space>\s+)"
        r"|(?P<unknown>.)",
        re.DOTALL,
    )
    comment = ""
    for match in token.finditer(body):
        group = match.groupdict()
        if group["unknown"]:
            line = body[match.start() :].split("\n", 1)[0]
            raise SystemExit(f"agpu.h: unknown form: {line}")
        if group["comment"] is not None:
            comment = " ".join(re.sub(r"\n\s*\*", " ", group["comment"]).split())
            continue
        if group["space"]:
            if group["space"].count("\n") > 1:
                comment = ""
            continue
        if group["struct"]:
            members = tuple(parse_type_and_name(part) for part in group["members"].split(";") if part.strip())
            header.structs.append(Struct(group["struct"], members, comment))
        elif group["handle"]:
            header.handles.append(group["handle"])
        elif group["callback"]:
            params = parse_parameters(group["cb_params"])
            header.callbacks.append(Function(group["callback"], CType(group["cb_return"]), params, "", comment))
        elif group["function"]:
            params = parse_parameters(group["fn_params"])
            library = group["library"].lower()
            header.functions.append(Function(group["function"], CType(group["fn_return"]), params, library, comment))
        comment = ""
    return header
