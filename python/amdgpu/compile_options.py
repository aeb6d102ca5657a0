"""Options of compilers as people write them for NVRTC, hiprtc, nvcc and clang: those that mean something to this package's compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from amdgpu import arguments
from amdgpu.errors import InvalidTypeError

# The compiler's language has what these bring to kernels, whichever is named.
STANDARDS = frozenset(f"{dialect}{year}" for dialect in ("c++", "gnu++") for year in ("11", "14", "17", "20"))
FAST_MATH = ("-use_fast_math", "--use_fast_math", "-ffast-math")
_KNOWN = "-DNAME, -DNAME=VALUE, -std=c++11 to c++20, --use_fast_math"


@dataclass
class CompileOptions:
    """What options ask for."""

    defines: dict[str, str] = field(default_factory=dict)
    fast_math: bool = False


def parse(operation: str, options: Any) -> CompileOptions:
    """The meaning of a sequence of options.

    Raises:
        InvalidTypeError: An option that is not understood.
    """
    found = CompileOptions()
    rest: Sequence[str] = arguments.names(operation, "options", options)
    for option in rest:
        dashes, _, standard = option.partition("std=")
        if option.startswith("-D") and len(option) > 2:
            name, _, value = option[2:].partition("=")
            found.defines[name] = value or "1"
        elif option in FAST_MATH:
            found.fast_math = True
        elif dashes not in ("-", "--") or standard not in STANDARDS:
            raise InvalidTypeError(f"{operation}: option {option!r} is not understood; known are {_KNOWN}")
    return found
