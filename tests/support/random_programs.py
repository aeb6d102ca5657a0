"""Random kernels that are well defined: whatever a pass does to them, they must give the same bits.

A program has integers of every width, floats, a private array that is also read and written by elements of other sizes, structs and
vectors of which only a part has a value, a shared array that the block writes before a barrier and reads behind it, loops with constant
and with given numbers of turns, branches, `switch` with shared exits, device functions, and accesses to memory that cannot alias and to
memory that can. Every work-item writes places of its own only.
"""

from __future__ import annotations

import random

BLOCK = 32
ITEMS = 96
INTEGERS = {
    "c8": "signed char",
    "u8": "unsigned char",
    "s16": "short",
    "u16": "unsigned short",
    "u32": "unsigned int",
    "s64": "long long",
    "u64": "unsigned long long",
}
SIZES = {"signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4, "long long": 8}
# Less than the width, the width, and more; the count is taken modulo the width (docs/language.md).
SHIFTS = [0, 1, 7, 8, 15, 16, 16, 17, 31, 32, 33, 63, 64]
DIVISORS = [*(sign * 2**power for power in range(31) for sign in (1, -1)), 3, -3, 7, -7, 10, 1000, -1000, 2**31 - 1]
PROLOGUE = """
struct Pair { float x; int n; };
static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int mix(int a, int b) { if (a < b) return a * 3 - b; return a ^ (b << 2); }
__device__ Pair counted(Pair pair) { ++pair.n; return pair; }
__device__ float blend(float a, float b) { float s = 0; for (int k = 0; k < 3; ++k) s += a * b - k; return s; }
"""


class Program:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0
        self.counters = 0
        self.assignable = ["a", "b", "c", *INTEGERS]
        self.readable = ["a", "b", "c", "i", "n", "pair.n", "part.n", *INTEGERS]

    def number(self) -> str:
        pick = self.random.randrange(8)
        if pick == 0:
            return str(self.random.choice([0, 1, 2, 7, 8, 16, 31, 64, 1000, -1, -8, 2147483647]))
        if pick == 1:
            return f"local[({self.random.choice(self.readable)}) & 3]"
        if pick == 2:
            return f"local[{self.random.randrange(4)}]"
        if pick == 3:
            return f"table[{self.random.choice([str(self.random.randrange(8)), self.random.choice(self.readable) + ' & 7'])}]"
        if pick == 4:
            return f"mine[{self.random.randrange(4)}]"
        return self.random.choice(self.readable)

    def piece(self) -> str:
        """Some bytes of the private array as a number of another size."""
        type_name = self.random.choice(list(SIZES))
        offset = self.random.randrange(16 // SIZES[type_name]) * SIZES[type_name]
        return f"*({type_name}*)((char*)local + {offset})"

    def with_constants(self, value: str) -> str:
        """What rules about constants look for: shifts in a row, quotients and remainders of numbers whose sign is half known."""
        pick = self.random
        shift = pick.choice(["<<", ">>"])
        if pick.random() < 0.4:
            count = pick.choice(SHIFTS)
            return f"(({value} {shift} {count}) {shift} {pick.choice([count, pick.choice(SHIFTS)])})"
        if pick.random() < 0.5:
            value = f"({value} {pick.choice('|^&')} {pick.choice(['1', '-8', '255', '-32768'])})"
        return f"({value} {pick.choice('/%')} ({pick.choice(DIVISORS)}))"

    def integer(self, depth: int = 0) -> str:
        if depth > 2 or self.random.random() < 0.3:
            return self.number()
        one, other = self.integer(depth + 1), self.integer(depth + 1)
        pick = self.random.randrange(13)
        if pick == 0:
            return f"mix({one}, {other})"
        if pick == 1:
            return f"({one} / {self.random.choice([other, '8', '3', 'n'])})" if other != "0" else one
        if pick == 2:
            return f"({one} % {self.random.choice(['16', '7', 'i'])})"
        if pick == 3:
            return f"(({one}) {self.random.choice(['<', '>', '==', '!=', '<=', '>='])} ({other}) ? {one} : {other})"
        if pick == 4:
            return f"(int)((unsigned)({one}) {self.random.choice(['/', '%', '>>', '*'])} 8u)"
        if pick == 5:
            return f"(int)(f * 0.25f + {self.random.choice(['f', 'g'])})"
        if pick in (6, 7):
            return self.with_constants(one)
        if pick == 8:
            return f"(({self.random.choice([*INTEGERS.values()])}){one})"
        return f"({one} {self.random.choice(['+', '-', '*', '&', '|', '^', '<<', '>>'])} {other})"

    def real(self, depth: int = 0) -> str:
        pick = self.random.randrange(9 if depth < 3 else 4)
        if pick < 3:
            return self.random.choice(["f", "g", "pair.x", "half_known.y", "in[i * 4 + 1]", "in[i * 4 + 2]"])
        if pick == 3:
            return self.random.choice(["0.5f", "-0.0f", "2.0f", "1e-3f", "3.0f"])
        if pick == 4:
            return f"blend({self.real(depth + 1)}, {self.real(depth + 1)})"
        if pick == 5:
            return f"(float)({self.integer(1)} & 1023)"
        if pick == 6:
            return f"({self.real(depth + 1)} / {self.random.choice(['4.0f', '0.125f', '3.0f'])})"
        if pick == 7:
            return f"fabsf(-({self.real(depth + 1)}))"
        return f"({self.real(depth + 1)} {self.random.choice('+-*')} {self.real(depth + 1)})"

    def statement(self) -> str:
        """Assignments, and down to a depth of three what holds other statements."""
        if self.depth == 3 or self.random.random() < 0.6:
            return self.assignment()
        pick = self.random.randrange(7)
        if pick < 2:
            text = f"if ({self.integer()} {self.random.choice(['<', '>', '=='])} {self.integer()}) {{ {self.body()} }}"
            return text + (f" else {{ {self.body()} }}" if self.random.random() < 0.5 else "")
        return self.switch() if pick == 2 else self.loop()

    def assignment(self) -> str:
        pick = self.random.randrange(10)
        if pick < 2:
            return f"{self.random.choice(self.assignable)} = {self.integer()};"
        if pick == 2:
            return f"local[{self.random.choice([str(self.random.randrange(4)), 'a & 3', 'i & 3'])}] = {self.integer()};"
        if pick == 3:
            return f"{self.random.choice(['f', 'g', 'pair.x'])} = {self.real()};"
        if pick == 4:
            return f"{self.random.choice(['pair.n', f'mine[{self.random.randrange(4)}]'])} = {self.integer()};"
        if pick == 5:
            return f"out[i * 4 + {self.random.randrange(4)}] {self.random.choice(['=', '+='])} {self.real()};"
        if pick == 6:
            return f"atomicAdd(&mine[{self.random.randrange(4)}], (int)({self.number()}));"
        if pick == 7:
            return f"{self.piece()} = {self.integer(1)};"
        if pick == 8:
            return f"{self.random.choice(self.assignable)} = {self.piece()};"
        return self.of_a_part()

    def of_a_part(self) -> str:
        """Writes what has a value of a struct or vector, or moves all of it."""
        return self.random.choice(
            [
                "{ Pair other = part; part = other; }",
                "part = counted(part);",
                f"part.n = {self.number()};",
                f"half_known.y = {self.real(2)};",
                "{ float2 other = half_known; half_known = other; }",
            ]
        )

    def switch(self) -> str:
        """Cases that fall through, share an exit, or are not there."""
        cases = [
            f"case {number}: " + self.random.choice(["", "break;", self.body(), self.body() + " break;"])
            for number in self.random.sample(range(8), 6)
        ]
        return f"switch ({self.number()} & 7) {{ {' '.join(cases)} default: {self.body()} }}"

    def loop(self) -> str:
        self.counters += 1
        name = f"k{self.counters}"
        turns = self.random.choice(["1", "2", "4", "(n & 7)", "(i & 3)"])
        self.readable.append(name)
        body = self.body()
        self.readable.remove(name)
        leave = f"if ({name} == {self.random.randrange(3)}) {self.random.choice(['break', 'continue'])};"
        leave = leave if self.random.random() < 0.3 else ""
        if self.random.random() < 0.2:
            return f"{{ int {name} = 0; do {{ {body} ++{name}; }} while ({name} < {turns}); }}"
        return f"for (int {name} = 0; {name} < {turns}; ++{name}) {{ {leave} {body} }}"

    def body(self) -> str:
        self.depth += 1
        text = " ".join(self.statement() for _ in range(self.random.randrange(1, 4)))
        self.depth -= 1
        return text

    def text(self) -> str:
        """The program."""
        parts = [" ".join(self.statement() for _ in range(4)) for _ in range(2)]
        aliased = self.random.random() < 0.5
        restrict = "" if aliased else "__restrict__"
        integers = " ".join(
            f"{type_name} {name} = sums[i * 4 + {index % 4}] * {index * 977 + 1};"
            for index, (name, type_name) in enumerate(INTEGERS.items())
        )
        return f"""{PROLOGUE}
__global__ void k(float* {restrict} out, const float* {restrict} in, int* {restrict} sums, int n) {{
    __shared__ int tile[{BLOCK}];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a = i, b = n, c = 0;
    __align__(8) int local[4] = {{1, 2, 3}};
    {integers}
    float f = in[i * 4], g = 1;
    Pair pair = {{f, i}}, part;
    part.n = b;
    float2 half_known;
    half_known.y = f;
    int* mine = sums + i * 4;
    {parts[0]}
    tile[threadIdx.x] = a;
    __syncthreads();
    b += tile[({BLOCK - 1} - threadIdx.x) ^ 1];
    {parts[1]}
    out[i * 4] += f + g + pair.x + half_known.y;
    mine[0] += a ^ b ^ c ^ pair.n ^ local[i & 3] ^ part.n;
    mine[1] ^= (int)(c8 ^ u8 ^ s16 ^ u16 ^ u32 ^ s64 ^ u64 ^ (s64 >> 32) ^ (u64 >> 32));
}}
"""
