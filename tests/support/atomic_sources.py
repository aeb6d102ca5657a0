"""Kernels with every atomic operation of every type and scope, for the CPU and for GPUs."""

from __future__ import annotations

import numpy as np

COUNT = 192
INTEGERS = {"int": np.int32, "unsigned int": np.uint32, "long long": np.int64, "unsigned long long": np.uint64}
FLOATS = {"float": np.float32, "double": np.float64}
SCOPES = ("", "_system", "_block")


def integer_source() -> str:
    parts = []
    for number, (ty, scope) in enumerate((ty, scope) for ty in INTEGERS for scope in SCOPES):
        body = "".join(
            f"atomic{name}{scope}(&out[{index}], {value}); "
            for index, (name, value) in enumerate(
                [("Add", "x"), ("Sub", "x"), ("Min", "x"), ("Max", "x"), ("And", "x"), ("Or", "x"), ("Xor", "x")]
            )
        )
        wrap = (
            f"atomicInc{scope}(&out[7], ({ty})9); atomicDec{scope}(&out[8], ({ty})9);"
            if "unsigned" in ty
            else f"atomicAdd{scope}(&out[7], 1); atomicSub{scope}(&out[8], 1);"
        )
        parts.append(f"""
__global__ void k{number}(const {ty}* in, {ty}* out, {ty}* old, int n) {{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    {ty} x = in[t];
    {body} {wrap}
    {ty} seen = out[9], expected;
    do {{ expected = seen; seen = atomicCAS{scope}(&out[9], expected, expected + x); }} while (seen != expected);
    old[t] = atomicExch{scope}(&out[10], ({ty})t);
}}""")
    return "".join(parts)


def float_source() -> str:
    return "".join(
        f"""
__global__ void k_{ty}{scope}(const {ty}* in, {ty}* out) {{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMin{scope}(&out[0], in[t]); atomicMax{scope}(&out[1], in[t]);
    atomicAdd{scope}(&out[2], ({ty})t); atomicSub{scope}(&out[3], ({ty})t);
    {ty} seen = out[4], expected;
    do {{ expected = seen; seen = atomicCAS{scope}(&out[4], expected, expected + 1); }} while (seen != expected);
    if (t == 7) atomicExch{scope}(&out[5], in[t]);
}}"""
        for ty in FLOATS
        for scope in SCOPES
    )
