"""Which joined elementwise steps are tuned when somebody asks for it: those of graphs, and the usual ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from amdgpu import _native
from amdgpu.errors import InvalidTypeError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice
    from amdgpu.graph import Executable

# A short chain, one of ten operations, and one with a row for every column.
_STEPS = (
    "fused(%0) {{multiply(i0, 1.5 {d}) {d}; add(s0, 0.5 {d}) {d}; maximum(s1, 0.0 {d}) {d}}}",
    (
        "fused(%0) {{multiply(i0, 1.5 {d}) {d}; add(s0, 0.5 {d}) {d}; maximum(s1, 0.0 {d}) {d}; multiply(s2, s2) {d};"
        " subtract(s3, i0) {d}; multiply(s4, 0.25 {d}) {d}; minimum(s5, 6.0 {d}) {d}; absolute(s6) {d}; add(s7, i0) {d};"
        " multiply(s8, 0.875 {d}) {d}}}"
    ),
    "fused(%0, %1) {{add(i0, i1) {d}; maximum(s0, 0.0 {d}) {d}; multiply(s1, i1) {d}}}",
)
_SIZES = ((1024, 4096), (4096, 16384))


class Fused(NamedTuple):
    """Joined elementwise steps.

    Attributes:
        text: A graph of inputs and one node, as `str(graph)` writes it.
    """

    text: str

    def __str__(self) -> str:
        steps = self.text.split("{", 1)[1].split("}", 1)[0].split("; ")
        names = "+".join(step.split("(", 1)[0].strip() for step in steps)
        return f"{names} {self.text.rsplit('} : ', 1)[1].splitlines()[0]}"

    def ways(self, device: AMDGPUDevice) -> tuple[str, list[str]]:
        """What the tuning database calls the steps, and the forms of their kernel, which give the same bits.

        Args:
            device: A GPU, or a CPU device, which computes large results of exactly rounded steps by a kernel.

        Returns:
            The subject, and forms such as "block 256 ahead 2", the usual one first; none where no kernel computes the steps.

        Raises:
            InvalidArgumentError: The text is another graph.
        """
        return _native.FusedSteps(self.text).forms(device)

    def compute(self, device: AMDGPUDevice, form: str, *inputs: Any) -> Any:
        """The steps of some arrays by a kernel of one form.

        Args:
            device: Holds the arrays.
            form: One of `ways`.
            inputs: Arrays of the dtypes of the graph's inputs.

        Returns:
            An array on the device.

        Raises:
            InvalidArgumentError: The kernel has no such form, or there is another number of inputs.
        """
        return _native.FusedSteps(self.text).compute(device, form, inputs)


def fused_of(graph: Executable | str) -> list[Fused]:
    """The joined elementwise steps of a graph.

    Args:
        graph: What `jitted.graph(...)` or `graph.compile(...)` gives, or the text of a graph without constants.

    Raises:
        InvalidArgumentError: The text is no graph; the message names the line.
        InvalidTypeError: Neither a graph nor a text.

    Example:
        >>> import amdgpu
        >>> traced = amdgpu.jit(lambda x: amdgpu.maximum(x * 2.0 + 1.0, 0.0))
        >>> for steps in amdgpu.tuning.fused_of(traced.graph(amdgpu.zeros((64, 1024), "float32", device="cpu:0"))):
        ...     print(steps)
        multiply+add+maximum float32[64, 1024]
    """
    from amdgpu.graph import Executable

    if isinstance(graph, Executable):
        return [Fused(text) for text in graph.fused_texts]
    if not isinstance(graph, str):
        raise InvalidTypeError(
            f"fused_of: graph must be a compiled graph or the text of one, got {type(graph).__name__}"
        )
    return [Fused(text) for text in _native.fused_texts(graph)]


def usual_fused(dtypes: list[str]) -> list[Fused]:
    """Usual steps on two sizes of arrays.

    Args:
        dtypes: Names of dtypes of floating-point numbers.
    """
    return [Fused(_text(steps, rows, columns, d)) for d in dtypes for rows, columns in _SIZES for steps in _STEPS]


def _text(steps: str, rows: int, columns: int, dtype: str) -> str:
    lines = [f"%0 = input : {dtype}[{rows}, {columns}]"]
    if "%1" in steps:
        lines.append(f"%1 = input : {dtype}[{columns}]")
    made = len(lines)
    lines += [f"%{made} = {steps.format(d=dtype)} : {dtype}[{rows}, {columns}]", f"return %{made}"]
    return "\n".join(lines)
