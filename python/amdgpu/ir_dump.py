"""Writes the compiler's IR before its passes and after each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu import _native
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# The IR is the same for every target but for the last pass, which only processors have; this one needs no device.
TARGET = "x86_64"


def write(
    folder: Path,
    source: str,
    *,
    file_name: str = "kernel.hip",
    kernel_names: Sequence[str] = (),
    optimization_level: str = "high",
    defines: dict[str, str] | None = None,
    disabled_passes: Sequence[str] = (),
) -> list[Path]:
    """Write `00.start.ir`, `01.PASS.ir`, … into a folder, which is made if it is not there.

    Args:
        folder: Where to.
        source: HIP-C text.
        file_name: Name that error messages show.
        kernel_names: Instances of templates to compile, `scale<float, 4>`.
        optimization_level: none, low, high or max; decides which passes run.
        defines: Preprocessor macros.
        disabled_passes: Passes that do not run.

    Returns:
        The files, in the order of the passes.

    Raises:
        CompileError: The source has errors.
        InvalidArgumentError: The folder cannot be written.
    """
    unit = _native.compile_source(
        source,
        TARGET,
        name=file_name,
        optimization_level=optimization_level,
        defines=list((defines or {}).items()),
        emit="ir",
        kernel_names=list(kernel_names),
        disabled_passes=list(disabled_passes),
    )
    files = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stage, text in unit["dumps"]:
            path = folder / f"{stage}.ir"
            path.write_text(text, encoding="utf-8")
            files.append(path)
    except OSError as error:
        raise InvalidArgumentError(f"dump_ir {folder}: cannot be written: {error.strerror}") from None
    return files
