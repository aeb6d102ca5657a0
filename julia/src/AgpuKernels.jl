"""
    AgpuKernels

Numerical kernels of the Math core, handed to other languages as one table of C function pointers ([`table`](@ref),
`agpu_math_table` of `agpu.h`).

Promises
- Arguments are raw pointers and sizes of `Float32` data, row-major and contiguous; nothing is copied and a call allocates
  nothing on Julia's heap, so the garbage collector has no reason to run.
- No exception crosses the C boundary: every entry returns a status of `errors.toml` and keeps the message for `last_error`.
- Only the standard library and, for dense layers, the Matrix core's `agpu_matrix_matmul`, whose address is handed over with
  [`use_matmul`](@ref). No threads; Julia 1.5 to 1.12.
- Elementwise functions are evaluated in `Float64` and rounded once: at most 0.51 ulp from the exact value (1.01 ulp where the
  last step is a product with a second rounded function; the bounds stand with each function and are tested).

Refuses: null pointers with a non-zero length, unknown activation kinds, lengths that do not fit in an `Int64` of bytes. Shapes
are validated by the caller, which is the only one to know them.

Only the thread that owns the Julia runtime may call.
"""
module AgpuKernels

include("abi.jl")
include("failure.jl")
include("elementary.jl")
include("activation.jl")
include("softmax.jl")
include("matmul.jl")
include("dense_forward.jl")
include("adaptive_learning_rate.jl")
include("momentum_update.jl")
include("table.jl")

end
