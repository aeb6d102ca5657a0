"""Fusions: nodes of graphs that the plug-in computes as one (docs/tensorflow.md)."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from amdgpu.tensorflow.loading import plug_in

_SWITCHES = {"": True, "1": True, "on": True, "0": False, "off": False}
_is_enabled = True


@dataclass(frozen=True)
class Fusion:
    """Nodes of one kind that took the place of several.

    Attributes:
        name: The kind: "matmul", "convolution", "attention", "layer norm", "gelu", "elementwise"; "lists on the CPU" for nodes that moved.
        nodes: How many such nodes graphs got.
        joined: How many nodes they took the place of.
    """

    name: str
    nodes: int
    joined: int


def fusion_report() -> list[Fusion]:
    """What was fused in graphs so far, when they were made. Graphs that run again are not counted again.

    TensorFlow may hand one graph over several times, each of which counts.
    """
    name, nodes, joined = ctypes.c_char_p(), ctypes.c_uint64(), ctypes.c_uint64()
    answers = (ctypes.byref(name), ctypes.byref(nodes), ctypes.byref(joined))
    report: list[Fusion] = []
    place = 0
    while not plug_in().agpu_tensorflow_fusions(ctypes.c_uint64(place), *answers):
        if nodes.value and name.value is not None:
            report.append(Fusion(name.value.decode(), nodes.value, joined.value))
        place += 1
    return report


def reset_fusion_report() -> None:
    """Lets the counts begin again."""
    plug_in().agpu_tensorflow_reset_fusions()


def is_fusion_enabled() -> bool:
    """Whether nodes are fused in graphs that are made from now on."""
    return _is_enabled


def set_fusion_enabled(enabled: bool) -> None:
    """Says whether nodes are fused in graphs that are made from now on, as TF_RDNA_FUSION does at the start."""
    global _is_enabled
    _is_enabled = bool(enabled)
    plug_in().agpu_tensorflow_set_fusion(ctypes.c_bool(_is_enabled))


def install() -> None:
    """Begins as TF_RDNA_FUSION says: "on" or "off".

    Raises:
        ValueError: It is neither.
    """
    given = os.environ.get("TF_RDNA_FUSION", "")
    if given not in _SWITCHES:
        raise ValueError(f"TF_RDNA_FUSION is {given!r}; known are on and off")
    set_fusion_enabled(_SWITCHES[given])
