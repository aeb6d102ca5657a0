@noinline function momentum_update_elements!(
    weights::Ptr{Float32},
    gradients::Ptr{Float32},
    velocity::Ptr{Float32},
    len::Int,
    learning_rate::Float32,
    momentum::Float32,
)
    @simd ivdep for i in 1:len
        updated = momentum * unsafe_load(velocity, i) + unsafe_load(gradients, i)
        unsafe_store!(velocity, updated, i)
        unsafe_store!(weights, unsafe_load(weights, i) - learning_rate * updated, i)
    end
    return nothing
end

function momentum_update!(
    weights::Ptr{Float32},
    gradients::Ptr{Float32},
    velocity::Ptr{Float32},
    len::UInt64,
    learning_rate::Float32,
    momentum::Float32,
)
    is_usable(weights, len) || return fail_with_buffer("weights", len)
    is_usable(gradients, len) || return fail_with_buffer("gradients", len)
    is_usable(velocity, len) || return fail_with_buffer("velocity", len)
    momentum_update_elements!(weights, gradients, velocity, Int(len), learning_rate, momentum)
    return OK
end

"""
    momentum_update_entry(weights, gradients, velocity, len, learning_rate, momentum) -> Int32

`agpu_math_momentum_update_fn`, per element and in Float32: `velocity = momentum * velocity + gradient`,
`weight -= learning_rate * velocity` (Polyak 1964, in the form of Sutskever et al. 2013 without Nesterov's look-ahead). `weights` and
`velocity` are updated in place, the three buffers must not overlap.
"""
function momentum_update_entry(
    weights::Ptr{Float32},
    gradients::Ptr{Float32},
    velocity::Ptr{Float32},
    len::UInt64,
    learning_rate::Float32,
    momentum::Float32,
)
    return guarded(momentum_update!, weights, gradients, velocity, len, learning_rate, momentum)
end
