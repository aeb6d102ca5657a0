"""`amdgpu.ops` on arrays of a device: kernels in HIP-C that are generated for the dtypes at hand and compiled by amdgpu's own compiler.

The same kernels run on every kind of device; the tests run them on the CPU device. `placed` is what the dispatcher calls.
"""
