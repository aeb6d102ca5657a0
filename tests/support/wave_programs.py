"""Random kernels whose work-items meet in waves and blocks, and a model of them: lanes in lockstep under masks, as in the papers.

`Program(seed, ...)` has the C text (`source`) and `run(block, grid, u, w)`, which gives what the kernel must leave in `out`. With
`is_portable` a program only does what every GPU defines: operations of a wave stand where the whole wave comes, or name the
lanes that come.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from typing import Any

WAVE = 32
NAMES = ("a", "b", "c")
UNIFORM = ("u", "w")
ROW = 1024
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "^": lambda x, y: x ^ y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
}

Lane = dict[str, int]


class Expression:
    """`((left op right) & 1023)`."""

    def __init__(self, choose: random.Random, names: tuple[str, ...]) -> None:
        self.left = choose.choice(names)
        self.operator = choose.choice(list(OPERATORS))
        self.right = choose.choice((*names, str(choose.randrange(1, 9))))
        self.text = f"(({self.left} {self.operator} {self.right}) & 1023)"

    def __call__(self, lane: Lane) -> int:
        right = int(self.right) if self.right.isdigit() else lane[self.right]
        return OPERATORS[self.operator](lane[self.left], right) & 1023


class Wave:
    """The lanes of one wave while it runs: who is there, who has left the turn, the loop or the kernel."""

    def __init__(self, lanes: list[Lane], shared: list[int]) -> None:
        self.lanes = lanes
        self.shared = shared
        self.gone: set[int] = set()


# A statement prints itself and runs for a set of lanes; it gives those that go on, and yields at barriers of the block.
Run = Generator[None, None, set[int]]


class Statement:
    def text(self, pad: str) -> str:
        raise NotImplementedError

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        raise NotImplementedError
        yield


class Simple(Statement):
    """One line of C, and a function of the wave and the lanes that are there."""

    def __init__(self, text: str, act: Callable[[Wave, set[int]], None]) -> None:
        self.c, self.act = text, act

    def text(self, pad: str) -> str:
        return f"{pad}{self.c}\n"

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        if active:
            self.act(wave, active)
        return active
        yield


class Barrier(Statement):
    def text(self, pad: str) -> str:
        return f"{pad}__syncthreads();\n"

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        if active:
            yield
        return active


class Sequence(Statement):
    def __init__(self, statements: list[Statement]) -> None:
        self.statements = statements

    def text(self, pad: str) -> str:
        return "".join(statement.text(pad) for statement in self.statements)

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        for statement in self.statements:
            active = yield from statement.run(wave, active, leave)
        return active


class Branch(Statement):
    def __init__(self, condition: Expression, limit: int, yes: Statement, no: Statement) -> None:
        self.condition, self.limit, self.yes, self.no = condition, limit, yes, no

    def text(self, pad: str) -> str:
        head = f"{pad}if ({self.condition.text} > {self.limit}) {{\n"
        return f"{head}{self.yes.text(pad + '    ')}{pad}}} else {{\n{self.no.text(pad + '    ')}{pad}}}\n"

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        yes = {lane for lane in active if self.condition(wave.lanes[lane]) > self.limit}
        no = active - yes
        yes = yield from self.yes.run(wave, yes, leave)
        no = yield from self.no.run(wave, no, leave)
        return yes | no


class Leave(Statement):
    """`if (…) break;`, `continue;` or `return;`"""

    def __init__(self, word: str, condition: Expression, limit: int) -> None:
        self.word, self.condition, self.limit = word, condition, limit

    def text(self, pad: str) -> str:
        word = "{ out[i] = -a; return; }" if self.word == "return" else f"{self.word};"
        return f"{pad}if ({self.condition.text} > {self.limit}) {word}\n"

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        gone = {lane for lane in active if self.condition(wave.lanes[lane]) > self.limit}
        if self.word == "return":
            for lane in gone:
                wave.lanes[lane]["out"] = -wave.lanes[lane]["a"]
        elif self.word == "continue":
            leave[-1].update(gone)
        return active - gone
        yield


class Loop(Statement):
    """Each lane makes as many turns as its bound says."""

    def __init__(self, name: str, bound: Expression, body: Statement) -> None:
        self.name, self.bound, self.body = name, bound, body

    def text(self, pad: str) -> str:
        n = self.name
        head = f"{pad}for (int {n} = 0; {n} < ({self.bound.text} & 3); ++{n}) {{\n"
        return f"{head}{self.body.text(pad + '    ')}{pad}}}\n"

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        after: set[int] = set()
        for lane in active:
            wave.lanes[lane][self.name] = 0
        while True:
            here = {lane for lane in active if wave.lanes[lane][self.name] < (self.bound(wave.lanes[lane]) & 3)}
            after |= active - here
            if not here:
                return after
            before, leave_turn = set(here), [*leave, set()]
            here = yield from self.body.run(wave, here, leave_turn)
            active = here | leave_turn[-1]
            # Broken out, not returned: `out` is written by lanes that return.
            after |= {lane for lane in before - active if "out" not in wave.lanes[lane]}
            for lane in active:
                wave.lanes[lane][self.name] += 1


def bits(lanes: set[int]) -> int:
    return sum(1 << lane for lane in lanes)


SHUFFLES = {"shfl": "__shfl", "up": "__shfl_up", "down": "__shfl_down", "xor": "__shfl_xor"}
# The first depends on who happens to arrive together.
VOTES = ("active", "ballot", "any", "all", "match", "add")


class WaveOperation(Statement):
    """`name = operation(value, …);`"""

    def __init__(self, choose: random.Random, name: str, value: Expression, is_sync: bool) -> None:
        self.name, self.value, self.is_sync = name, value, is_sync
        self.kind = choose.choice((*SHUFFLES, *(VOTES[1:] if is_sync else VOTES)))
        self.width = choose.choice((4, 16, 32, 32))
        self.step = choose.randrange(1, 9)
        self.step_varies = choose.random() < 0.5

    def text(self, pad: str) -> str:
        sync, mask = ("_sync", "0xffffffff, ") if self.is_sync else ("", "")
        value = self.value.text
        step = f"(({self.name} & 3) + {self.step})" if self.step_varies else str(self.step)
        calls = {
            "any": f"__any{sync}({mask}{value} > 400)",
            "all": f"__all{sync}({mask}{value} > 400)",
            "ballot": f"(int)(__ballot{sync}({mask}{value} > 400) % 1021)",
            "match": f"(int)(__match_any{sync}({mask}{value} & 3) % 1021)",
            "add": f"(__reduce_add_sync(0xffffffff, {value}) & 1023)",
            "active": "(int)(__activemask() % 1021)",
        }
        for kind, function in SHUFFLES.items():
            calls[kind] = f"{function}{sync}({mask}{value}, {step}, {self.width})"
        return f"{pad}{self.name} = {calls[self.kind]};\n"

    def run(self, wave: Wave, active: set[int], leave: list[set[int]]) -> Run:
        values = {lane: self.value(wave.lanes[lane]) for lane in active}
        results = {lane: self.result(wave, values, lane) for lane in active}
        for lane in active:
            wave.lanes[lane][self.name] = results[lane]
        return active
        yield

    def result(self, wave: Wave, values: dict[int, int], lane: int) -> int:
        if self.kind in SHUFFLES:
            return values.get(self.source(wave.lanes[lane], lane), values[lane])
        held = {other for other, value in values.items() if value > 400}
        same = {other for other, value in values.items() if value & 3 == values[lane] & 3}
        return {
            "ballot": bits(held) % 1021,
            "any": int(bool(held)),
            "all": int(len(held) == len(values)),
            "match": bits(same) % 1021,
            "add": sum(values.values()) & 1023,
            "active": bits(set(values)) % 1021,
        }[self.kind]

    def source(self, state: Lane, lane: int) -> int:
        """The lane whose value a lane takes."""
        step = (state[self.name] & 3) + self.step if self.step_varies else self.step
        first, own, other = lane & ~(self.width - 1), lane & (self.width - 1), lane ^ step
        return {
            "shfl": first | step & (self.width - 1),
            "up": lane - step if own >= step else lane,
            "down": lane + step if own + step < self.width else lane,
            "xor": other if other < first + self.width else lane,
        }[self.kind]


class Program:
    """A random kernel and its model."""

    def __init__(self, seed: int, *, is_portable: bool = False) -> None:
        self.choose = random.Random(seed)
        self.is_portable = is_portable
        self.loops = 0
        parts: list[Statement] = []
        for _ in range(3):
            parts.append(self.body(0, True))
            if self.choose.random() < 0.3 and not is_portable:
                parts.append(Leave("return", self.expression((*NAMES, "t")), self.choose.choice((600, 900))))
        parts += self.exchange()
        self.statement = Sequence(parts)
        self.source = f"""__global__ void k(int* out, int u, int w) {{
    __shared__ int s[{ROW}];
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int size = blockDim.x * blockDim.y * blockDim.z, i = blockIdx.x * size + t, lane = t % warpSize;
    int a = t * 7 & 1023, b = 3, c = u & 1023;
    for (int at = t; at < {ROW}; at += size) s[at] = 0;
    __syncthreads();
{self.statement.text("    ")}    out[i] = a + b * 1024 + c * 1048576;
}}
"""

    def expression(self, names: tuple[str, ...]) -> Expression:
        return Expression(self.choose, names)

    def name(self) -> str:
        return self.choose.choice(NAMES)

    def body(self, depth: int, is_whole: bool, in_loop: bool = False) -> Statement:
        statements: list[Statement] = []
        for _ in range(self.choose.randrange(1, 4)):
            kinds: list[Callable[[], list[Statement]]] = [self.assign]
            if is_whole or not self.is_portable:
                kinds += [self.wave_operation, self.wave_operation]
            if is_whole:
                kinds += [self.exchange, self.named_lanes]
            if depth < 3:
                kinds += [
                    lambda: self.apart(depth, in_loop),
                    lambda: self.apart_loop(depth),
                    lambda: self.together(depth, is_whole, in_loop),
                ]
            statements += self.choose.choice(kinds)()
        if in_loop and not is_whole and self.choose.random() < 0.4:
            word = self.choose.choice(("break", "continue"))
            place = self.choose.randrange(len(statements) + 1)
            statements.insert(place, Leave(word, self.expression((*NAMES, "t")), 500))
        return Sequence(statements)

    def assign(self) -> list[Statement]:
        name, value = self.name(), self.expression((*NAMES, *UNIFORM, "t"))

        def act(wave: Wave, active: set[int]) -> None:
            for lane in active:
                wave.lanes[lane][name] = value(wave.lanes[lane])

        return [Simple(f"{name} = {value.text};", act)]

    def wave_operation(self) -> list[Statement]:
        """An operation among the lanes that come, whoever they are."""
        choose, value = self.choose, self.expression((*NAMES, "t"))
        # In portable programs a whole wave comes, and the mask says so.
        return [WaveOperation(choose, self.name(), value, self.is_portable)]

    def named_lanes(self) -> list[Statement]:
        """Some lanes exchange among themselves and say who they are."""
        name, condition, value = self.name(), self.expression((*NAMES, "t")), self.expression((*NAMES, "t"))
        text = (
            f"{{ unsigned m = __ballot_sync(0xffffffff, {condition.text} > 300); "
            f"if ({condition.text} > 300) {{ {name} = __shfl_sync(m, {value.text}, __ffs(m) - 1); "
            f"{name} = ({name} + __popc(m & (unsigned)__lanemask_lt()) + __reduce_max_sync(m, {name})) & 1023; }} }}"
        )

        def act(wave: Wave, active: set[int]) -> None:
            some = {lane for lane in active if condition(wave.lanes[lane]) > 300}
            values = {lane: value(wave.lanes[lane]) for lane in some}
            for lane in some:
                first = values[min(some)]
                before = len([other for other in some if other < lane])
                wave.lanes[lane][name] = (first + before + first) & 1023

        return [Simple(text, act)]

    def exchange(self) -> list[Statement]:
        """Through shared memory, with a barrier of the block or of the wave."""
        name, value, step = self.name(), self.expression((*NAMES, "t")), self.choose.randrange(1, 32)
        is_block = self.choose.random() < 0.5

        def write(wave: Wave, active: set[int]) -> None:
            for lane in active:
                wave.shared[wave.lanes[lane]["t"]] = value(wave.lanes[lane])

        def read(wave: Wave, active: set[int]) -> None:
            for lane in active:
                t, size = wave.lanes[lane]["t"], wave.lanes[lane]["size"]
                at = (t + step) % size if is_block else t - t % WAVE + (t + step) % WAVE
                wave.lanes[lane][name] = wave.shared[at]

        at = f"(t + {step}) % size" if is_block else f"t - lane + (t + {step}) % warpSize"
        meet: Statement = Barrier() if is_block else Simple("__syncwarp();", lambda wave, active: None)
        # Elements of lanes that are not there have the value of the last exchange.
        return [Simple(f"s[t] = {value.text};", write), meet, Simple(f"{name} = s[{at}];", read), meet]

    def apart(self, depth: int, in_loop: bool) -> list[Statement]:
        condition, limit = self.expression((*NAMES, "t")), self.choose.choice((100, 300, 600))
        yes, no = self.body(depth + 1, False, in_loop), self.body(depth + 1, False, in_loop)
        return [Branch(condition, limit, yes, no)]

    def apart_loop(self, depth: int) -> list[Statement]:
        name = f"n{self.loops}"
        self.loops += 1
        return [Loop(name, self.expression((*NAMES, "t")), self.body(depth + 1, False, True))]

    def together(self, depth: int, is_whole: bool, in_loop: bool) -> list[Statement]:
        condition = self.expression(UNIFORM)
        if self.choose.random() < 0.5:
            yes, no = self.body(depth + 1, is_whole, in_loop), self.body(depth + 1, is_whole, in_loop)
            return [Branch(condition, 200, yes, no)]
        name = f"n{self.loops}"
        self.loops += 1
        return [Loop(name, condition, self.body(depth + 1, is_whole, True))]

    def run(self, block: int, grid: int, u: int, w: int) -> list[int]:
        """`out` after a launch of blocks of so many work-items."""
        out: list[int] = []
        for _ in range(grid):
            shared = [0] * (block + WAVE)
            lanes: list[Lane] = [
                {"t": t, "size": block, "a": t * 7 & 1023, "b": 3, "c": u & 1023, "u": u, "w": w} for t in range(block)
            ]
            waves: list[Any] = []
            for first in range(0, block, WAVE):
                wave = Wave(lanes[first : first + WAVE], shared)
                waves.append(self.statement.run(wave, set(range(len(wave.lanes))), []))
            while waves:
                waves = [wave for wave in waves if next(wave, "over") is None]
            for lane in lanes:
                out.append(lane.get("out", lane["a"] + lane["b"] * 1024 + lane["c"] * 1048576))
        return out
