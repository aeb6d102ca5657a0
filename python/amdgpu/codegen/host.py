"""What this machine's processor is, in LLVM's words."""

from __future__ import annotations

import functools
import json

from amdgpu.codegen import llvm_process

_HOST_TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}


@functools.cache
def host_target() -> tuple[str, str, str]:
    """Triple, processor and feature string of this machine.

    The triple always names ELF, the object format that the loader of kernels reads.

    Raises:
        RuntimeError: the architecture is not supported, or its fused multiply-add is missing.
    """
    process_triple, name, features = json.loads(llvm_process.ask({"ask": "host"}))
    architecture = process_triple.split("-", maxsplit=1)[0]
    triple = _HOST_TRIPLES.get(architecture)
    if triple is None:
        raise RuntimeError(
            f"kernels cannot run on the architecture '{architecture}'; supported are {', '.join(_HOST_TRIPLES)}"
        )
    if architecture == "x86_64" and not features.get("fma", False):
        raise RuntimeError("kernels need a processor with fused multiply-add (x86-64-v3, made since 2013)")
    return triple, name, ",".join(f"{'+' if has else '-'}{feature}" for feature, has in sorted(features.items()))
