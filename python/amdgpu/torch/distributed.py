"""`torch.distributed` for tensors of rdna: the backend `rdna`, by the engines that torch has.

    torch.distributed.init_process_group("cpu:gloo,rdna:rdna", ...)

Where this torch computes on the same GPUs and every process of the machine has one of its own, NCCL (RCCL on AMD) works on the tensors' own
memory. Else they are copied to pinned memory and gloo talks to the other processes. `AMDGPU_TORCH_COLLECTIVES` chooses:
`auto`, `gloo` or `nccl`.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from amdgpu.torch.loading import shim

NAME = "rdna"
SETTING = "AMDGPU_TORCH_COLLECTIVES"


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    asked = os.environ.get(SETTING, "auto")
    if asked not in ("auto", "gloo", "nccl"):
        raise ValueError(f"{SETTING}={asked!r} is none of auto, gloo, nccl")
    why_not = _why_no_nccl(size)
    if asked == "nccl" and why_not:
        raise RuntimeError(f"{SETTING}=nccl: {why_not}")
    own = dist.PrefixStore("amdgpu-rdna", store)
    if asked == "gloo" or why_not:
        return shim().collectives(dist.ProcessGroupGloo(own, rank, size, timeout), [])
    options = dist.ProcessGroupNCCL.Options()
    options._timeout = timeout  # noqa: SLF001 - torch's own name for it
    return shim().collectives(dist.ProcessGroupNCCL(own, rank, size, options), _peers())


def _why_no_nccl(size: int) -> str:
    """Why NCCL or RCCL cannot work on tensors of rdna; nothing where it can."""
    if not dist.is_nccl_available() or not torch.cuda.is_available():
        return "this torch has no NCCL, or sees no GPU of its own"
    kind = "hip" if torch.version.hip else "cuda"
    names = _names()
    others = [name for name in names if name.partition(":")[0] != kind]
    if others:
        return f"rdna is {', '.join(others)}, which torch's own device does not see"
    local = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if len(set(names)) < local:
        return f"{local} processes share {len(set(names))} GPU{'s' if len(set(names)) > 1 else ''}, and each needs one of its own"
    return ""


def _names() -> list[str]:
    """What amdgpu calls the devices of rdna."""
    return [torch.rdna.get_device_properties(index).amdgpu_name for index in range(torch.rdna.device_count())]


def _peers() -> list[int]:
    """The numbers that torch's own devices have for those of rdna."""
    return [int(name.partition(":")[2]) for name in _names()]


def register() -> None:
    """Makes `rdna` a backend of torch.distributed, once."""
    if dist.is_available() and NAME not in dist.Backend.backend_list:
        dist.Backend.register_backend(NAME, _create, devices=["rdna"])
