"""Frames from what runs now: the sensors of this machine and every process of this user that uses amdgpu."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from amdgpu.cli import machine
from amdgpu.cli.status.processes import sentence
from amdgpu.cli.top.details import NOT_COMPILED, kernel_details
from amdgpu.cli.top.frame import Frame, KernelNow, Look, frame_of
from amdgpu.cli.watch import figures
from amdgpu.errors import AmdgpuError

if TYPE_CHECKING:
    from typing_extensions import Self


class LiveSource:
    """Looks at the machine each time a frame is asked for. Not for several threads at once.

    Args:
        pid: Only this process; None shows all.
    """

    def __init__(self, pid: int | None = None) -> None:
        import amdgpu

        self.pid = pid
        self.descriptions = {device.device: device.name for device in amdgpu.list_devices()}
        self._attached: dict[int, Any] = {}
        self._earlier: dict[int, Look] = {}
        # Loads are differences; the first look is there for the second one.
        machine.readings()

    def frame(self) -> Frame:
        """The frame now; rates are those since the frame before."""
        looks = self._looks()
        frame = frame_of(time.monotonic_ns(), self.descriptions, machine.readings(), looks, self._earlier)
        self._earlier = {look.pid: look for look in looks}
        return frame

    is_live = True
    is_over = False

    def require_process(self) -> None:
        """Check that there is the process that was asked for.

        Raises:
            AmdgpuError: There is not; the message says what there is.
        """
        from amdgpu.telemetry import attach

        if self.pid is not None:
            attach.attach(self.pid).close()

    def kernel_text(self, kernel: KernelNow) -> str:
        """What the process tells about a kernel."""
        process = self._attached.get(kernel.pid)
        if process is None:
            return f"process {kernel.pid} is gone"
        try:
            rows = [row for row in process.kernels() if (row["device"], row["id"]) == (kernel.device, kernel.id)]
            return "\n\n".join(kernel_details(process.kernel(row["handle"])) for row in rows) or NOT_COMPILED
        except (AmdgpuError, OSError) as error:
            return str(error)

    def play(self) -> None:
        """What runs now goes on by itself."""

    def position_text(self) -> str:
        """There is no other place than now."""
        return ""

    def seek(self, seconds: float) -> bool:  # noqa: ARG002
        """There is no other time than now."""
        return False

    def close(self) -> None:
        """Leave all processes alone."""
        for process in self._attached.values():
            process.close()
        self._attached.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _looks(self) -> list[Look]:
        from amdgpu.telemetry import attach

        running = {info.pid: info for info in attach.processes() if self.pid in (None, info.pid)}
        for gone in self._attached.keys() - running.keys():
            self._attached.pop(gone).close()
        return [self._look(pid, " ".join(info.command)) for pid, info in running.items()]

    def _look(self, pid: int, command: str) -> Look:
        from amdgpu.telemetry import attach

        try:
            process = self._attached.get(pid)
            if process is None:
                process = self._attached[pid] = attach.attach(pid)
            totals = process.totals()
            snapshot = figures.figures([process.snapshot(records=0)])
            medians = {figures.kernel_key(row): row["p50_seconds"] for row in snapshot["kernels"]}
            return Look(pid, command, totals, medians)
        except (AmdgpuError, OSError) as error:
            # It ended while it was asked, or it hangs; the next frame tries anew.
            broken = self._attached.pop(pid, None)
            if broken is not None:
                broken.close()
            return Look(pid, command, None, problem=sentence(error))
