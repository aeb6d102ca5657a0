"""What the assembly text of GPU kernels shows: AMD's, from which the code objects are assembled, and PTX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# Instructions that the manifest counts: multiplication, block memory, copies, and private memory, which no kernel should touch.
_AMD = re.compile(
    r"v_(?:wmma|swmmac|mfma|dot\d)\w*|v_(?:dual_)?fma(?:c|mk|ak)?\w*|v_pk_fma\w*|ds_(?:load|store|read|write)\w*|scratch_\w+|global_load\w*"
)
_NVIDIA = re.compile(
    r"mma\.sync\S*|wgmma\.mma_async\S*|fma\.rn\.\w+|cp\.async\S*|ldmatrix\S*|(?:ld|st)\.local\S*|setmaxnreg\.\w+"
)


def amd_instructions(text: str, kernel: str) -> dict[str, int]:
    """How often each counted instruction stands in a kernel of an AMD assembly file."""
    start = re.search(rf"(?m)^{kernel}:", text)
    if start is None:
        raise ValueError(f"the assembly has no kernel {kernel}")
    end = text.index(".Lfunc_end", start.start())
    # Two instructions that issue together are written on one line, with `::` between them.
    words = (
        word for line in text[start.end() : end].splitlines() for word in line.split(";")[0].replace("::", " ").split()
    )
    return _count(word for word in words if _AMD.fullmatch(word))


def ptx_instructions(text: str) -> dict[str, int]:
    """How often each counted instruction stands in the text of one PTX kernel."""
    words = (word.rstrip(";") for line in text.splitlines() for word in line.split("//")[0].split())
    return _count(word for word in words if _NVIDIA.fullmatch(word))


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))
