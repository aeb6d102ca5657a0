"""The 12-kernel suite: one list of cases, and the contenders that run them.

`cases` has inputs, launch shapes and what counts as the same result; the HIP-C sources are those of tests/kernels. `worker` is the
process that one contender measures in: `ours` (this package on the CPU device), `openmp` (kernels.c through a C compiler) or `opencl`
(kernels.cl through PoCL). `peers` finds or makes what the contenders need.
"""
