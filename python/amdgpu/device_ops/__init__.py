"""Kernels in HIP-C that are generated for the dtypes at hand: those of products and layered networks that Python still launches.

`amdgpu.ops` on arrays of a device is computed by `crates/amdgpu-ops`; `dispatch` names its functions.
"""
