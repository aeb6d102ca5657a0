"""Random kernels with barriers against the same program run here, one generator for each work-item."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator

import numpy as np
import pytest
from kernel_harness import Kernels

THREADS = 40
NAMES = ("a", "b", "c")
UNIFORM = ("u", "w")


class Writer:
    """Writes one program twice: in C, and as the body of a Python generator that yields at barriers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.c: list[str] = []
        self.python: list[str] = []
        self.loops = 0

    def line(self, depth: int, c: str, python: str) -> None:
        self.c.append("    " * depth + c)
        self.python.append("    " * depth + python)

    def value(self, names: tuple[str, ...]) -> str:
        choose = self.random
        left, right = choose.choice(names), choose.choice((*names, str(choose.randrange(1, 9))))
        return f"(({left} {choose.choice('+-*^&|')} {right}) & 1023)"

    def barrier(self, depth: int) -> None:
        self.line(depth, "__syncthreads();", "yield")

    def exchange(self, depth: int) -> None:
        value, name, step = self.value((*NAMES, "t")), self.random.choice(NAMES), self.random.randrange(THREADS)
        self.line(depth, f"s[t] = {value};", f"s[t] = {value}")
        self.barrier(depth)
        if self.random.random() < 0.5:
            self.bounded(depth)
            self.barrier(depth)
        self.line(depth, f"{name} = s[(t + {step}) % {THREADS}];", f"{name} = s[(t + {step}) % {THREADS}]")
        self.barrier(depth)

    def bounded(self, depth: int) -> None:
        """What only the first work-items do, between two barriers and nothing else."""
        value, bound = self.value((*NAMES, "t")), self.value(UNIFORM)
        self.line(depth, f"if (t < ({bound} & 63)) {{ s[t] = {value}; }}", f"if t < ({bound} & 63): s[t] = {value}")

    def apart(self, depth: int) -> None:
        """Ways that work-items take alone, without barriers."""
        name, value, condition = (
            self.random.choice(NAMES),
            self.value((*NAMES, *UNIFORM, "t")),
            self.value((*NAMES, "t")),
        )
        if self.random.random() < 0.5:
            self.line(
                depth, f"if ({condition} > 300) {{ {name} = {value}; }}", f"if {condition} > 300: {name} = {value}"
            )
            return
        loop = f"n{self.loops}"
        self.loops += 1
        self.line(depth, f"int {loop} = 0;", f"{loop} = 0")
        self.line(depth, f"while ({loop} < ({condition} & 3)) {{", f"while {loop} < ({condition} & 3):")
        self.line(depth + 1, f"{name} = {value}; ++{loop};", f"{name} = {value}; {loop} += 1")
        self.line(depth, "}", "pass")
        self.line(depth, f"b = (b + {loop}) & 1023;", f"b = (b + {loop}) & 1023")

    def together(self, depth: int) -> None:
        """Ways that all work-items take, with barriers in them."""
        kind = self.random.randrange(3)
        if kind == 0:
            bound = self.value(UNIFORM)
            self.line(depth, f"if ({bound} > 200) {{", f"if {bound} > 200:")
            self.statements(depth + 1)
            self.line(depth, "} else {", "else:")
            self.statements(depth + 1)
            self.line(depth, "}", "pass")
            return
        loop = f"n{self.loops}"
        self.loops += 1
        bound = self.value(UNIFORM)
        self.line(depth, f"int {loop} = 0;", f"{loop} = 0")
        self.line(depth, f"for (; {loop} < ({bound} & 3); ++{loop}) {{", f"while {loop} < ({bound} & 3):")
        self.line(depth + 1, f"w = (w + {loop}) & 1023;", f"w = (w + {loop}) & 1023")
        if kind == 2:
            self.line(depth + 1, "if (w & 1) break;", "if w & 1: break")
        self.statements(depth + 1)
        self.line(depth + 1, "", f"{loop} += 1")
        self.line(depth, "}", "pass")

    def statements(self, depth: int) -> None:
        for _ in range(self.random.randrange(1, 4)):
            kinds: list[Callable[[int], None]] = [self.exchange, self.apart, self.assign]
            if depth < 4:
                kinds.append(self.together)
            self.random.choice(kinds)(depth)

    def assign(self, depth: int) -> None:
        names = (*NAMES, *UNIFORM, "t")
        name, value = self.random.choice(NAMES), self.value(names)
        if self.random.random() < 0.3:
            name, value = self.random.choice(UNIFORM), self.value(UNIFORM)
        self.line(depth, f"{name} = {value};", f"{name} = {value}")

    def program(self) -> tuple[str, str]:
        for _ in range(3):
            self.statements(1)
            if self.random.random() < 0.4:
                condition = f"((a ^ t) & {self.random.choice((1, 7, 15))}) == 1"
                self.line(1, f"if ({condition}) {{ out[t] = -t; return; }}", f"if {condition}: out[t] = -t; return")
        self.exchange(1)
        c = "\n".join(self.c)
        python = "\n".join(self.python)
        kernel = f"""__global__ void k(int* out, int u, int w) {{
    __shared__ int s[{THREADS}];
    int t = threadIdx.x, a = t * 7, b = 3, c = u;
    s[t] = 0;
    __syncthreads();
{c}
    out[t] = a + b * 1024 + c * 2048 + w * 4096;
}}"""
        model = f"""def run(t, s, out, u, w):
    a, b, c = t * 7, 3, u
    s[t] = 0
    yield
{python}
    out[t] = a + b * 1024 + c * 2048 + w * 4096
"""
        return kernel, model


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_give_what_their_model_gives(seed: int) -> None:
    kernel, model = Writer(seed).program()
    space: dict[str, Callable[..., Generator[None]]] = {}
    exec(model, space)
    compiled = Kernels(kernel, *(("--level", "none") if seed % 4 == 0 else ()))
    for u, w in [(1, 2), (333, 517), (1000, 77)]:
        expected, out = [0] * THREADS, np.zeros(THREADS, np.int32)
        shared = [0] * THREADS
        running = [space["run"](t, shared, expected, u, w) for t in range(THREADS)]
        while running:
            running = [item for item in running if next(item, "over") is None]
        compiled("k", (1,), (THREADS,), out, u, w)
        assert out.tolist() == expected, f"{kernel}\n{(u, w)}"
