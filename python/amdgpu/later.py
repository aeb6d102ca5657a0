"""Names of the array API standard's extensions whose functions come later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from amdgpu.errors import NoImplementationError

__all__ = ["ComesLaterError", "answer"]


class ComesLaterError(NoImplementationError, AttributeError):  # type: ignore[misc]  # `name` is that of AmdgpuError
    """A function that is not there yet. It is an AttributeError too, so that `hasattr` says that the name is missing."""


def answer(module: str, names: Iterable[str]) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module that lacks these names: it says that they come later, and of others that they do not exist."""
    later = frozenset(names)

    def missing(name: str) -> Any:
        if name not in later:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise ComesLaterError(
            f"{module}.{name} is not there yet; {module.replace('amdgpu', 'numpy')}.{name} takes x.numpy()"
        )

    return missing
