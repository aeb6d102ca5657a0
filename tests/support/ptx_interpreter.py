"""Runs a PTX kernel block by block in NumPy: what archived kernels of attention are made of, with wgmma, TMA and their barriers.

Warps go one after the other; copies and products are done at once, so races between them do not show, but every address, operand, count
of a barrier and order of phases does. Lanes of a warp that took different branches go on from the lowest instruction; what all of them
have to execute together (`.sync.aligned`) waits for the others, and a product that they reach apart is an error. Layouts are those of the
PTX ISA: "Register Fragments for wgmma", "Matrix-Descriptor", "Swizzling modes" (128 bytes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

U = np.uint64
WORD = U(0xFFFFFFFF)
SHARED_BYTES = 228 << 10
# Not a multiple of 1024: kernels align by themselves.
DYNAMIC_SHARED = 0x410
DESCRIPTOR_BYTES = 128
WARP = 32
TOGETHER = ("wgmma", "bar.", "shfl")
SIZES = {"b8": 1, "u8": 1, "b16": 2, "u16": 2, "b32": 4, "u32": 4, "f32": 4, "b64": 8, "u64": 8, "f64": 8}


@dataclass
class Instruction:
    """A predicate with whether it is negated, the operation, its operands."""

    predicate: tuple[str, bool] | None
    operation: str
    operands: list[str]


@dataclass
class Barrier:
    """Of shared memory: arrivals of a phase, those that are pending, bytes that are, and the parity of the phase."""

    arrivals: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def settle(self) -> None:
        """Ends the phase where nothing is pending."""
        assert self.pending >= 0, "more arrivals than a phase has"
        if self.pending == 0 and self.bytes == 0:
            self.phase ^= 1
            self.pending = self.arrivals


@dataclass
class Program:
    """A kernel's instructions, labels by name and parameters in order."""

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    parameters: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, name: str) -> Program:
        """The kernel of that name."""
        head, rest = text[text.index(f".entry {name}(") :].split("\n)\n", 1)
        made = cls(parameters=re.findall(r"(\w+_param_\d+)", head))
        code = re.sub(r"//[^\n]*", "", rest[rest.index("{") + 1 : rest.rindex("}")])
        scopes: list[tuple[int, list[str]]] = []
        number = 0
        for kind, statement in _statements(code):
            if kind == "open":
                number += 1
                scopes.append((number, []))
            elif kind == "close":
                scopes.pop()
            else:
                made.add(statement, scopes[-1] if scopes else None)
        return made

    def add(self, statement: str, scope: tuple[int, list[str]] | None) -> None:
        while label := re.match(r"([\w$]+):\s*(.*)", statement, re.DOTALL):
            self.labels[f"{label[1]}@{scope[0]}" if scope else label[1]] = len(self.instructions)
            statement = label[2]
        if not statement:
            return
        if statement.startswith("."):
            if scope and statement.startswith(".reg"):
                scope[1].extend(name.strip(",") for name in statement.split()[2:])
            return
        for name in scope[1] if scope else ():
            statement = re.sub(rf"\b{name}\b", f"{name}@{scope[0]}", statement)  # type: ignore[index]
        if scope and (jump := re.fullmatch(r"((?:@\S+ )?bra(?:\.uni)? )(\w+)", statement)):
            statement = f"{jump[1]}{jump[2]}@{scope[0]}"
        predicate = None
        if found := re.match(r"@(!?)(\S+)\s+(.*)", statement, re.DOTALL):
            predicate, statement = (found[2], found[1] == "!"), found[3]
        operation, _, operands = statement.partition(" ")
        self.instructions.append(Instruction(predicate, operation, _split(operands)))


def _statements(code: str) -> list[tuple[str, str]]:
    """Statements, and where blocks open and close; braces within a statement belong to it."""
    found: list[tuple[str, str]] = []
    text, depth = "", 0
    for character in code.replace("\n", " "):
        if character == "{" and re.fullmatch(r"\s*([\w$]+:\s*)*", text):
            found.append(("statement", text.strip()))
            text = ""
            found.append(("open", ""))
        elif character == "}" and depth == 0:
            # What is left are labels.
            found += [("statement", text.strip()), ("close", "")]
            text = ""
        elif character == ";":
            found.append(("statement", text.strip()))
            text = ""
        else:
            depth += (character == "{") - (character == "}")
            text += character
    return found


def _split(operands: str) -> list[str]:
    """Operands; those in brackets stay together."""
    found, text, depth = [], "", 0
    for character in operands.strip():
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0:
            found.append(text.strip())
            text = ""
        else:
            text += character
    return [*found, text.strip()] if text.strip() else found


def floats(bits: Any) -> Any:
    """Bits as float32."""
    return bits.astype(np.uint32).view(np.float32)


def bits_of(values: Any) -> Any:
    """float32 as bits."""
    return np.asarray(values, np.float32).view(np.uint32).astype(U)


def signed(bits: Any) -> Any:
    """32 bits as signed numbers."""
    return bits.astype(np.uint32).view(np.int32).astype(np.int64)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "mad": lambda x, y, z: x * y + z,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "not": lambda x: ~x,
    "neg": lambda x: U(0) - x,
    "shl": lambda x, y: x << y,
    "shr": lambda x, y: x >> y,
    "min": np.minimum,
    "max": np.maximum,
    "div": lambda x, y: x // np.maximum(y, U(1)),
    "rem": lambda x, y: x % np.maximum(y, U(1)),
    "bfe": lambda x, first, count: (x >> first) & ((U(1) << count) - U(1)),
}
OF_FLOATS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "fma": lambda x, y, z: (x.astype(np.float64) * y + z).astype(np.float32),
    "max": np.fmax,
    "min": np.fmin,
    "neg": lambda x: -x,
    "ex2": np.exp2,
    "lg2": np.log2,
    "rcp": lambda x: np.float32(1) / x,
}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    # Also of what is not a number.
    "neu": np.not_equal,
}


class Machine:
    """A kernel with what it reads and writes.

    Args:
        program: The kernel.
        arguments: A number for each parameter; pointers are addresses in `memory`.
        memory: Arrays by the addresses where they begin.
        maps: Arrays that TMA copies, (batches, heads, rows, elements) of 16 bits, in the order of their descriptors.
        first_map: The address of the first descriptor.
    """

    def __init__(
        self,
        program: Program,
        arguments: Sequence[int],
        memory: dict[int, np.ndarray],
        maps: Sequence[np.ndarray],
        first_map: int,
    ) -> None:
        self.program, self.memory, self.maps, self.first_map = program, memory, maps, first_map
        self.arguments = dict(zip(program.parameters, arguments, strict=True))

    def run(self, blocks: int, threads: int) -> None:
        """All blocks, one after the other."""
        with np.errstate(all="ignore"):
            for block in range(blocks):
                Block(self, block, blocks, threads).run()


class Block:
    """The state of a block."""

    def __init__(self, machine: Machine, number: int, count: int, threads: int) -> None:
        self.machine, self.program, self.threads = machine, machine.program, threads
        self.special = {"%ctaid.x": number, "%nctaid.x": count, "dynamic_shared": DYNAMIC_SHARED}
        self.registers: dict[str, np.ndarray] = {}
        # What nobody wrote is no zero.
        self.shared = np.full(SHARED_BYTES, 0xAB, np.uint8)
        self.next = np.zeros(threads, np.int64)
        self.is_alive = np.ones(threads, bool)
        self.is_waiting = np.zeros(threads, bool)
        self.barriers: dict[int, Barrier] = {}
        self.barriers: dict[int, tuple[int, list[np.ndarray]]] = {}

    def run(self) -> None:
        """Until every thread has returned."""
        idle = 0
        while self.is_alive.any():
            has_moved = [self.run_warp(first) for first in range(0, self.threads, WARP)]
            idle = 0 if any(has_moved) else idle + 1
            assert idle < 4, f"all warps wait for ever: {self.barriers}"

    def run_warp(self, first: int) -> bool:
        """Until the warp waits; whether it came any further."""
        all_lanes = np.arange(first, first + WARP)
        has_moved = False
        while len(lanes := all_lanes[self.is_alive[all_lanes] & ~self.is_waiting[all_lanes]]):
            chosen = self.choose(lanes)
            at = int(self.next[chosen[0]])
            instruction = self.program.instructions[at]
            operation, operands = instruction.operation, instruction.operands
            self.next[chosen] = at + 1
            if instruction.predicate is not None:
                name, is_negated = instruction.predicate
                chosen = chosen[(self.register(name)[chosen] != 0) != is_negated]
            if operation.startswith("bra"):
                self.next[chosen] = self.program.labels[operands[0]]
                if operands[0].startswith("again@") and len(chosen):
                    return has_moved
                continue
            has_moved |= not operation.startswith("mbarrier.try_wait")
            if len(chosen):
                self.execute(operation, operands, chosen)
        return has_moved

    def choose(self, lanes: np.ndarray) -> np.ndarray:
        """Lanes that go on together."""
        at = self.next[lanes].min()
        chosen = lanes[self.next[lanes] == at]
        if len(chosen) < len(lanes) and self.program.instructions[at].operation.startswith(TOGETHER):
            others = lanes[self.next[lanes] != at]
            return others[self.next[others] == self.next[others].min()]
        return chosen

    def register(self, name: str) -> np.ndarray:
        if name not in self.registers:
            self.registers[name] = np.zeros(self.threads, U)
        return self.registers[name]

    def value(self, operand: str, lanes: np.ndarray) -> Any:
        if operand == "%tid.x":
            return lanes.astype(U)
        if operand in self.special:
            return np.full(len(lanes), self.special[operand], U)
        if re.match(r"0[fd][0-9A-Fa-f]+$", operand):
            return np.full(len(lanes), int(f"0x{operand[2:]}", 0), U)
        if re.match(r"-?\d", operand):
            return np.full(len(lanes), int(operand, 0) & 0xFFFFFFFFFFFFFFFF, U)
        return self.register(operand)[lanes]

    def address(self, operand: str, lanes: np.ndarray) -> Any:
        base, _, offset = operand[1:-1].partition("+")
        return self.value(base, lanes) + U(int(offset or 0) & 0xFFFFFFFFFFFFFFFF)

    def bytes_at(self, is_shared: bool, address: int, count: int) -> np.ndarray:
        """Memory of the block or of the device, to be read and written."""
        if is_shared:
            return self.shared[address : address + count]
        for base, array in self.machine.memory.items():
            if base <= address and address + count <= base + array.nbytes:
                return array.reshape(-1).view(np.uint8)[address - base : address - base + count]
        raise AssertionError(f"no array has {count} bytes at {address:#x}")

    def execute(self, operation: str, operands: list[str], lanes: np.ndarray) -> None:
        kind = operation.partition(".")[0]
        if kind in ("ret", "exit"):
            self.is_alive[lanes] = False
        elif kind in ("ld", "st"):
            self.move(operation, operands, lanes)
        elif kind == "mbarrier":
            self.use_barrier(operation, operands, lanes)
        elif kind == "cp":
            self.copy(operation, operands, lanes)
        elif kind == "bar":
            self.arrive(
                int(self.value(operands[0], lanes)[0]), int((operands[1:] or [self.threads])[0]), lanes, operation
            )
        elif operation.startswith("wgmma.mma_async"):
            Product(self, operation, operands, lanes).execute()
        elif operation.startswith("wgmma.wait_group"):
            # A product takes all four warps of its group.
            self.arrive(-1 - int(lanes[0]) // (4 * WARP), 4 * WARP, lanes, "bar.sync")
        elif kind not in ("wgmma", "fence", "setmaxnreg"):
            self.register(operands[0])[lanes] = self.result(operation, kind, operands, lanes)

    def arrive(self, number: int, threads: int, lanes: np.ndarray, operation: str) -> None:
        assert len(lanes) == WARP, "lanes of a warp reach a barrier apart"
        count, waiting = self.barriers.get(number, (0, []))
        count += WARP
        if operation.startswith("bar.sync"):
            waiting = [*waiting, lanes]
            self.is_waiting[lanes] = True
        if count >= threads:
            for others in waiting:
                self.is_waiting[others] = False
            count, waiting = 0, []
        self.barriers[number] = (count, waiting)

    def move(self, operation: str, operands: list[str], lanes: np.ndarray) -> None:
        is_load, is_shared = operation.startswith("ld"), ".shared" in operation
        side, memory = (operands[0], operands[1]) if is_load else (operands[1], operands[0])
        if ".param" in operation:
            self.register(side)[lanes] = self.machine.arguments[memory[1:-1].split("+")[0]]
            return
        size = SIZES[operation.rpartition(".")[2]]
        names = [name.strip() for name in side.strip("{}").split(",")]
        addresses = self.address(memory, lanes)
        for place, name in enumerate(names):
            values = None if is_load else self.value(name, lanes)
            for lane, address, index in zip(lanes, addresses, range(len(lanes)), strict=True):
                found = self.bytes_at(is_shared, int(address) + place * size, size)
                if values is None:
                    self.register(name)[lane] = int.from_bytes(found.tobytes(), "little")
                else:
                    found[:] = np.frombuffer(int(values[index]).to_bytes(8, "little")[:size], np.uint8)

    def use_barrier(self, operation: str, operands: list[str], lanes: np.ndarray) -> None:
        if operation.startswith("mbarrier.init"):
            count = int(self.value(operands[1], lanes)[0])
            self.barriers[int(self.address(operands[0], lanes)[0])] = Barrier(count, count)
        elif operation.startswith("mbarrier.try_wait"):
            addresses, parities = self.address(operands[1], lanes), self.value(operands[2], lanes)
            ended = [
                self.barriers[int(at)].phase != int(parity) for at, parity in zip(addresses, parities, strict=True)
            ]
            self.register(operands[0])[lanes] = ended
        else:
            has_bytes = ".expect_tx" in operation
            for address in self.address(operands[1], lanes):
                barrier = self.barriers[int(address)]
                barrier.bytes += int(self.value(operands[2], lanes)[0]) if has_bytes else 0
                barrier.pending -= 1
                barrier.settle()

    def copy(self, operation: str, operands: list[str], lanes: np.ndarray) -> None:
        """TMA: a box of 64 x 64 numbers, swizzled, or bytes as they are."""
        target = int(self.address(operands[0], lanes)[0])
        if ".tensor." in operation:
            pointer, places = operands[1][1:-1].split(",", 1)
            number, rest = divmod(int(self.value(pointer.strip(), lanes)[0]) - self.machine.first_map, DESCRIPTOR_BYTES)
            assert (rest, target % 1024) == (0, 0)
            x, y, head, batch = (int(signed(self.value(one, lanes))[0]) for one in _split(places.strip()[1:-1]))
            box = np.zeros((64, 64), np.uint16)
            part = self.machine.maps[number][batch, head, y : y + 64, x : x + 64]
            box[: part.shape[0], : part.shape[1]] = np.ascontiguousarray(part).view(np.uint16)
            chunks = box.view(np.uint8).reshape(64, 8, 16)
            for row in range(64):
                line = self.shared[target + row * 128 : target + row * 128 + 128].reshape(8, 16)
                line[np.arange(8) ^ (row & 7)] = chunks[row]
            count, barrier = box.nbytes, operands[2]
        else:
            source, count, barrier = (
                int(self.address(operands[1], lanes)[0]),
                int(self.value(operands[2], lanes)[0]),
                operands[3],
            )
            assert target % 16 == source % 16 == count % 16 == 0
            self.shared[target : target + count] = self.bytes_at(False, source, count)
        found = self.barriers[int(self.address(barrier, lanes)[0])]
        found.bytes -= count
        found.settle()

    def result(self, operation: str, kind: str, operands: list[str], lanes: np.ndarray) -> Any:
        """Of what writes one register."""
        if kind == "mov" and operands[1].startswith("{"):
            low, high = (self.value(one.strip(), lanes) for one in operands[1][1:-1].split(","))
            width = U(16 if operation == "mov.b32" else 32)
            return (low & ((U(1) << width) - U(1))) | (high << width)
        values = [self.value(one, lanes) for one in operands[1:] if not one.startswith("0x1f")]
        dtype = operation.rpartition(".")[2]
        if kind == "mov":
            return values[0]
        if kind == "setp":
            return self.compare(operation.split(".")[1], dtype, values)
        if kind == "selp":
            return np.where(values[2] != 0, values[0], values[1])
        if kind == "shfl":
            return values[0][np.arange(WARP) ^ int(values[1][0])]
        if kind == "cvt":
            return convert(operation, values)
        if dtype == "f32":
            return bits_of(OF_FLOATS[kind](*map(floats, values)))
        return integer(operation, kind, dtype, values)

    def compare(self, comparison: str, dtype: str, values: list[Any]) -> Any:
        if dtype == "f32":
            values = [floats(one) for one in values]
        elif dtype == "s32":
            values = [signed(one) for one in values]
        else:
            mask = U((1 << 8 * SIZES[dtype]) - 1)
            values = [one & mask for one in values]
        return COMPARISONS[comparison](*values)


def convert(operation: str, values: list[Any]) -> Any:
    """Between formats of numbers."""
    if operation == "cvt.rn.f16x2.f32":
        high, low = (floats(one).astype(np.float16).view(np.uint16).astype(U) for one in values)
        return high << U(16) | low
    if operation == "cvt.f32.f16":
        return bits_of(values[0].astype(np.uint16).view(np.float16))
    if operation == "cvt.rn.f32.f64":
        return bits_of(values[0].view(np.float64))
    assert re.fullmatch(r"cvt\.u\d+\.u\d+", operation), operation
    return values[0] & (U(0xFFFF) if "u16" in operation else WORD)


def integer(operation: str, kind: str, dtype: str, values: list[Any]) -> Any:
    """Of whole numbers and truth values."""
    if dtype == "pred":
        return values[0] ^ U(1) if kind == "not" else ARITHMETIC[kind](*values)
    if ".wide" in operation or not dtype.endswith("64"):
        values = [*(one & WORD for one in values[:2]), *values[2:]]
    if operation.startswith("mul.hi"):
        return values[0] * values[1] >> U(32)
    assert dtype[0] != "s" or kind in ("add", "sub", "mul", "mad", "shl"), operation
    found = ARITHMETIC[kind](*values)
    return found if dtype.endswith("64") or ".wide" in operation else found & WORD


class Product:
    """One warp's 16 rows of `wgmma.mma_async` of float16."""

    def __init__(self, block: Block, operation: str, operands: list[str], lanes: np.ndarray) -> None:
        assert len(lanes) == WARP, "lanes of a warp reach a product apart"
        self.block, self.operands, self.lanes = block, operands, lanes
        self.columns = int(re.search(r"m64n(\d+)k16\.f32\.f16\.f16", operation)[1])  # type: ignore[index]
        self.sums = [name.strip() for name in operands[0][1:-1].split(",")]

    def execute(self) -> None:
        lane = np.arange(WARP)
        is_of_registers = self.operands[1].startswith("{")
        a = self.fragment() if is_of_registers else self.rows(self.operands[1], 64, is_along_k=True)
        if not is_of_registers:
            first = int(self.lanes[0]) // WARP % 4 * 16
            a = a[first : first + 16]
        b = self.rows(self.operands[2], self.columns, is_along_k=self.operands[-1] == "0")
        made = a @ b.T
        is_kept = self.block.value(self.operands[3], self.lanes)[0] != 0
        for number, name in enumerate(self.sums):
            column = number // 4 * 8 + lane % 4 * 2 + number % 2
            values = made[lane // 4 + number // 2 % 2 * 8, column]
            register = self.block.register(name)
            register[self.lanes] = bits_of(values + floats(register[self.lanes]) if is_kept else values)

    def fragment(self) -> np.ndarray:
        lane = np.arange(WARP)
        made = np.zeros((16, 16), np.float32)
        for number, name in enumerate(self.operands[1][1:-1].split(",")):
            pair = self.block.value(name.strip(), self.lanes).astype(np.uint32)[:, None].view(np.float16)
            for half in range(2):
                made[lane // 4 + number % 2 * 8, lane % 4 * 2 + number // 2 * 8 + half] = pair[:, half]
        return made

    def rows(self, operand: str, count: int, *, is_along_k: bool) -> np.ndarray:
        """A matrix of shared memory, (count, 16)."""
        descriptor = int(self.block.value(operand, self.lanes)[0])
        start, leading, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
        assert descriptor >> 62 == 1, "not swizzled by 128 bytes"
        outer, k = np.arange(count)[:, None], np.arange(16)[None, :]
        if is_along_k:
            address = start + outer // 8 * stride + outer % 8 * 128 + k * 2
        else:
            address = start + outer // 64 * leading + k // 8 * stride + k % 8 * 128 + outer % 64 * 2
        address ^= (address >> 7 & 7) << 4
        shared = self.block.shared
        return (shared[address] | shared[address + 1].astype(np.uint16) << 8).view(np.float16).astype(np.float32)
