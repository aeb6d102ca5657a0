"""Profile-guided optimisation: what a kernel did in one run, for a compilation that makes such runs faster."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.array import array
from amdgpu.errors import InvalidArgumentError, InvalidTypeError
from amdgpu.kernel import compile_recipe

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# The variable that a counting kernel counts in.
_BUFFER = "__amdgpu_profile"
# What a compilation may use: constants and counts, one of them, nothing.
_WAYS = ((True, True), (True, False), (False, True), (False, False))
# Each way is launched so often, in turns; the shortest launch counts.
_ROUNDS = 12
# What is not faster than the plain kernel by so much stays plain.
_WORTH_IT = 1.03
# Larger files are none of ours.
_MAX_FILE_BYTES = 64 << 20


class Profile:
    """What a kernel counted: how often lines ran, branches were taken and loops went round, and how addresses differ from lane to lane.

    `AMDGPUDevice.profile_kernel` makes one, `compile_kernel(profile=...)` uses it. `str(profile)` is the source with the counts beside its
    lines.

    Args:
        native: What native code counted.
    """

    def __init__(self, native: _native.KernelProfile) -> None:
        if not isinstance(native, _native.KernelProfile):
            raise InvalidTypeError(
                f"Profile: native is {shortened(native)}; profiles come from profile_kernel and Profile.load"
            )
        self.native = native

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """A profile that `save` wrote.

        Raises:
            InvalidArgumentError: The file holds no profile of this version.
            OSError: The file cannot be read.
        """
        source = arguments.path("Profile.load", "path", path)
        if source.stat().st_size > _MAX_FILE_BYTES:
            raise InvalidArgumentError(f"{path} is no profile: it is larger than {_MAX_FILE_BYTES} bytes")
        try:
            return cls(_native.KernelProfile(source.read_text(encoding="utf-8")))
        except (InvalidArgumentError, UnicodeDecodeError) as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            raise InvalidArgumentError(f"{path} is not loaded: {reason}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile to a file, with the source that it is of.

        Raises:
            OSError: The file cannot be written.
        """
        arguments.path("Profile.save", "path", path).write_text(self.native.text(), encoding="utf-8")

    def merged(self, other: Profile) -> Profile:
        """The counts of two runs of one kernel; a parameter with two values is no constant any more.

        Raises:
            InvalidArgumentError: The profiles are of two kernels.
            InvalidTypeError: Something else than a profile.
        """
        if not isinstance(other, Profile):
            raise InvalidTypeError(f"merged: other is {shortened(other)}; a Profile is expected")
        return Profile(self.native.merged(other.native))

    def facts(self) -> dict[str, Any]:
        """Everything that was counted.

        Returns:
            Under `kernel`: `blocks` (line and how often it ran), `branches` (line, runs, taken; waves that were sampled and those whose
            lanes agreed), `loops` (line, entries, iterations), `accesses` (line, bytes, stride_bytes from lane to lane, percent of the
            pairs that have it) and `constants` (parameters that had one value). `uses_constants` and `uses_counts` say what
            compilations use.
        """
        found: dict[str, Any] = json.loads(self.native.text())
        return found

    def __str__(self) -> str:
        return self.native.listing()

    def __repr__(self) -> str:
        facts = self.facts()
        return f"<amdgpu.Profile of {facts['kernel']['name']} on {facts['device']}>"


def measure(
    device: AMDGPUDevice, kernel: _native.Kernel, args: Sequence[Any], shape: tuple[Any, Any], shared_bytes: int
) -> Profile:
    """The body of `AMDGPUDevice.profile_kernel`."""
    given = arguments.sequence("profile_kernel", "args", args, "the kernel's arguments")
    counting = device.native.with_counting(kernel)
    counting.module_global(_BUFFER).fill(0)
    launch = _Launch(device, given, shape, shared_bytes)
    launch.run(counting)
    counted = counting.read_profile(launch.args)
    ways = [counted.using(constants, counts) for constants, counts in _WAYS]
    recipe = kernel.recipe()
    kernels = [compile_recipe(device, recipe | {"profile": way.text()}) for way in ways]
    shortest = [
        min(times) for times in zip(*([launch.run(one) for one in kernels] for _ in range(_ROUNDS)), strict=True)
    ]
    best = min(range(len(ways)), key=shortest.__getitem__)
    # Of ways that hardly differ the simplest: it is the last.
    simple = len(ways) - 1
    return Profile(ways[simple if shortest[simple] <= shortest[best] * _WORTH_IT else best])


class _Launch:
    """A launch on copies of arrays, which have their first values again each time."""

    def __init__(self, device: AMDGPUDevice, given: Sequence[Any], shape: tuple[Any, Any], shared_bytes: int) -> None:
        self._device = device
        self._given = given
        self._shape = shape
        self._shared_bytes = shared_bytes
        self.args = [array(arg, device=device) if getattr(arg, "ndim", 0) else arg for arg in given]

    def run(self, kernel: _native.Kernel) -> int:
        """Nanoseconds that it took."""
        for parameter, arg, first in zip(kernel.parameters, self.args, self._given, strict=False):
            if parameter["is_pointer"] and not parameter["is_const"] and getattr(first, "ndim", 0):
                arg.copy_from(first)
        self._device.synchronize()
        _, duration_ns = kernel.launch(*self._shape, self.args, shared_bytes=self._shared_bytes)
        return duration_ns


def native_of(profile: Profile) -> _native.KernelProfile:
    """What `compile_kernel` hands on.

    Raises:
        InvalidTypeError: Something else than a profile.
    """
    if isinstance(profile, Profile):
        return profile.native
    raise InvalidTypeError(
        f"compile_kernel: profile is {shortened(profile)}; a Profile of profile_kernel or Profile.load is expected"
    )
