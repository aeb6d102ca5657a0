"""Variants of a kernel that differ in their block and their macros, and what the tuning database calls them."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.kernel import covering_grid

if TYPE_CHECKING:
    from amdgpu import _native

# Of one call: each takes a compilation and some launches.
MAX_VARIANTS = 4096
# What `grid` may be: extents, or a function of the block and the macros that gives them.
Grid = int | Sequence[int] | Callable[[tuple[int, ...], dict[str, str]], int | Sequence[int]]


@dataclass(frozen=True)
class Variant:
    """A block and macros.

    Attributes:
        block: Threads along each axis.
        defines: Macros beside those of the kernel; these count more.
    """

    block: tuple[int, ...]
    defines: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """How the database calls it: `block=128x1 TILE=16`."""
        return " ".join([f"block={'x'.join(map(str, self.block))}", *(f"{name}={text}" for name, text in self.defines)])

    @classmethod
    def of_name(cls, name: str) -> Variant:
        """The variant of a name that the database holds."""
        first, *rest = name.split(" ")
        pairs = [word.partition("=") for word in rest]
        block = tuple(int(extent) for extent in first.removeprefix("block=").split("x"))
        return cls(block, tuple((macro, text) for macro, _, text in pairs))


def variants_of(block: Sequence[int | Sequence[int]], defines: Mapping[str, Sequence[Any]] | None) -> list[Variant]:
    """Every block with every choice of macros, in the order in which they are given.

    Raises:
        InvalidArgumentError: None, too many, a block that is none, or a macro's value that is not one word.
        InvalidTypeError: Something else than lists of blocks and of values.
    """
    blocks = [arguments.integers("tune", "block", one) for one in arguments.sequence("tune", "block", block, "blocks")]
    for one in blocks:
        if not 1 <= len(one) <= 3 or min(one) < 1:
            raise InvalidArgumentError(f"tune: block {one} is none; it has 1 to 3 extents from 1 on")
    choices = []
    for name, values in arguments.mapping("tune", "defines", defines or {}, "macros").items():
        arguments.text("tune", "defines", name, "the name of a macro")
        texts = [str(value) for value in arguments.sequence("tune", f"defines[{name!r}]", values, "values")]
        for text in texts:
            if not text or any(letter.isspace() for letter in text):
                raise InvalidArgumentError(f"tune: the value {text!r} of {name} is not one word")
        choices.append([(name, text) for text in texts])
    made = [Variant(one, chosen) for one in blocks for chosen in itertools.product(*choices)]
    if not 1 <= len(made) <= MAX_VARIANTS:
        raise InvalidArgumentError(f"tune: there are {len(made)} variants; 1 to {MAX_VARIANTS} can be measured")
    return made


def grid_of(grid: Grid | None, variant: Variant, args: Sequence[Any]) -> tuple[int, ...]:
    """The grid that a variant is launched with; without one, a thread for each element of the largest array."""
    if grid is None:
        return covering_grid(args, variant.block)
    given = grid(variant.block, dict(variant.defines)) if callable(grid) else grid
    return arguments.integers("tune", "grid", given)


def subject_of(recipe: Mapping[str, Any], args: Sequence[Any], *, has_grid: bool) -> str:
    """What the database calls a kernel with arguments: its name, a hash of what it is compiled from, and the class of its arguments.

    Arrays are of one class where their dtypes agree and their extents lie between the same powers of two.
    """
    compiled_from = {name: value for name, value in recipe.items() if name not in ("device", "file_name")}
    described = json.dumps(compiled_from | {"defines": sorted(dict(recipe["defines"]).items())}, sort_keys=True)
    classes = "".join(f" {_class_of(arg)}" for arg in args)
    return f"kernel {recipe['name']} {_hash_of(described)}{' grid' if has_grid else ''}{_shortened(classes)}"


@functools.lru_cache(maxsize=256)
def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _shortened(classes: str) -> str:
    """Names of subjects have a limit, and lists of arguments none."""
    return classes if len(classes) <= 256 else f" {_hash_of(classes)}"


def _class_of(arg: Any) -> str:
    if hasattr(arg, "shape") and hasattr(arg, "dtype") and arg.shape:
        return f"{arg.dtype}[{'x'.join(str(1 << max(0, int(extent) - 1).bit_length()) for extent in arg.shape)}]"
    return "-"


def recipe_with(recipe: Mapping[str, Any], variant: Variant) -> dict[str, Any]:
    """What a variant of a kernel is compiled from; a profile is of the macros that it was measured with."""
    macros = dict(recipe["defines"]) | dict(variant.defines)
    return {**recipe, "defines": macros, "profile": None if variant.defines else recipe["profile"]}


def compiled(kernel: _native.Kernel, variant: Variant) -> _native.Kernel:
    """The kernel of a variant; the same kernel where only its block differs."""
    if not variant.defines:
        return kernel
    from amdgpu.kernel import restored

    return restored(recipe_with(kernel.recipe(), variant))
