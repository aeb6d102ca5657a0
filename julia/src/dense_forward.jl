"Add `bias[cols]` to every row of `y[rows, cols]`."
@noinline function add_bias!(y::Ptr{Float32}, bias::Ptr{Float32}, rows::Int, cols::Int)
    for row in 0:(rows - 1)
        y_row = y + 4 * row * cols
        @simd ivdep for col in 1:cols
            unsafe_store!(y_row, unsafe_load(y_row, col) + unsafe_load(bias, col), col)
        end
    end
    return nothing
end

function dense_forward!(
    x::Ptr{Float32},
    weight::Ptr{Float32},
    bias::Ptr{Float32},
    y::Ptr{Float32},
    batch::UInt64,
    inputs::UInt64,
    outputs::UInt64,
    activation::Ptr{Activation},
)
    is_usable(x, batch, inputs) || return fail_with_buffer("x", batch, inputs)
    is_usable(weight, inputs, outputs) || return fail_with_buffer("weight", inputs, outputs)
    is_usable(y, batch, outputs) || return fail_with_buffer("y", batch, outputs)
    activation == C_NULL && return fail(ERROR_INVALID_ARGUMENT, "the activation is null")
    chosen = unsafe_load(activation)
    chosen.kind > ACTIVATION_NEUROMORPHIC && return fail_with_kind(chosen.kind)
    rows, cols = Int(batch), Int(outputs)
    status = matmul!(y, x, weight, rows, Int(inputs), cols)
    status == OK || return status
    bias == C_NULL || add_bias!(y, bias, rows, cols)
    chosen.kind == ACTIVATION_IDENTITY && return OK
    if chosen.kind == ACTIVATION_SOFTMAX
        softmax_rows!(y, y, rows, cols)
        return OK
    end
    return activate!(y, y, rows * cols, chosen)
end

"""
    dense_forward_entry(x, weight, bias, y, batch, inputs, outputs, activation) -> Int32

`agpu_math_dense_forward_fn`: `y[batch, outputs] = f(x[batch, inputs] @ weight[inputs, outputs] + bias[outputs])`, Float32, row-major and
contiguous; `bias` may be null; `y` must not overlap the others. Softmax runs over each row. The Matrix core multiplies
([`matmul!`](@ref)): it accumulates in Float32 along the inputs, in an order that depends on the shape and the CPU only.
"""
function dense_forward_entry(
    x::Ptr{Float32},
    weight::Ptr{Float32},
    bias::Ptr{Float32},
    y::Ptr{Float32},
    batch::UInt64,
    inputs::UInt64,
    outputs::UInt64,
    activation::Ptr{Activation},
)
    return guarded(dense_forward!, x, weight, bias, y, batch, inputs, outputs, activation)
end
