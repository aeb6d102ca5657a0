"""What a command cannot do, in a sentence that says what to do: no hint of the catalogue follows it."""

from __future__ import annotations

from amdgpu.errors import InvalidArgumentError


class CommandError(InvalidArgumentError):
    """A command was asked for something that is not possible; the message says what is."""

    hint = ""


class UsageError(CommandError):
    """The arguments of a command are wrong, whatever the machine has: exit code 2."""
