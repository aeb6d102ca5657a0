"""Random kernels that are well defined: whatever a pass does to them, they must give the same bits.

A program has integers, floats, a private array, a struct, a shared array that the block writes before a barrier and reads behind it,
loops with constant and with given numbers of turns, branches, `switch`, device functions, and accesses to memory that cannot alias
and to memory that can. Every work-item writes places of its own only.
"""

from __future__ import annotations

import random

BLOCK = 32
ITEMS = 96
PROLOGUE = """
struct Pair { float x; int n; };
static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int mix(int a, int b) { if (a < b) return a * 3 - b; return a ^ (b << 2); }
__device__ float blend(float a, float b) { float s = 0; for (int k = 0; k < 3; ++k) s += a * b - k; return s; }
"""


class Program:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0
        self.counters = 0
        self.assignable = ["a", "b", "c"]
        self.readable = ["a", "b", "c", "i", "n", "pair.n"]

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

    def integer(self, depth: int = 0) -> str:
        if depth > 2 or self.random.random() < 0.3:
            return self.number()
        one, other = self.integer(depth + 1), self.integer(depth + 1)
        pick = self.random.randrange(10)
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
        return f"({one} {self.random.choice(['+', '-', '*', '&', '|', '^', '<<', '>>'])} {other})"

    def real(self, depth: int = 0) -> str:
        pick = self.random.randrange(9 if depth < 3 else 4)
        if pick < 3:
            return self.random.choice(["f", "g", "pair.x", "in[i * 4 + 1]", "in[i * 4 + 2]"])
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
        pick = self.random.randrange(15 if self.depth < 3 else 8)
        if pick < 2:
            return f"{self.random.choice(self.assignable)} = {self.integer()};"
        if pick == 2:
            return f"local[{self.random.choice([str(self.random.randrange(4)), 'a & 3', 'i & 3'])}] = {self.integer()};"
        if pick == 3:
            return f"{self.random.choice(['f', 'g', 'pair.x'])} = {self.real()};"
        if pick == 4:
            return f"pair.n = {self.integer()};"
        if pick == 5:
            return f"mine[{self.random.randrange(4)}] = {self.integer()};"
        if pick == 6:
            return f"out[i * 4 + {self.random.randrange(4)}] {self.random.choice(['=', '+='])} {self.real()};"
        if pick == 7:
            return f"atomicAdd(&mine[{self.random.randrange(4)}], {self.number()});"
        if pick < 10:
            text = f"if ({self.integer()} {self.random.choice(['<', '>', '=='])} {self.integer()}) {{ {self.body()} }}"
            return text + (f" else {{ {self.body()} }}" if self.random.random() < 0.5 else "")
        if pick == 10:
            return (
                f"switch ({self.number()} & 3) {{ case 0: {self.body()} break; case 1: {self.body()} "
                f"case 2: {self.body()} break; default: {self.body()} }}"
            )
        return self.loop()

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
        return f"""{PROLOGUE}
__global__ void k(float* {restrict} out, const float* {restrict} in, int* {restrict} sums, int n) {{
    __shared__ int tile[{BLOCK}];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a = i, b = n, c = 0, local[4] = {{1, 2, 3}};
    float f = in[i * 4], g = 1;
    Pair pair = {{f, i}};
    int* mine = sums + i * 4;
    {parts[0]}
    tile[threadIdx.x] = a;
    __syncthreads();
    b += tile[({BLOCK - 1} - threadIdx.x) ^ 1];
    {parts[1]}
    out[i * 4] += f + g + pair.x;
    mine[0] += a ^ b ^ c ^ pair.n ^ local[i & 3];
}}
"""
