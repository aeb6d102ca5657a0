@noinline function adaptive_learning_rate_elements!(
    gradients::Ptr{Float32},
    momentum::Ptr{Float32},
    rates::Ptr{Float32},
    len::Int,
    learning_rate::Float32,
    decay::Float32,
)
    @simd ivdep for i in 1:len
        gradient = unsafe_load(gradients, i)
        unsafe_store!(momentum, decay * unsafe_load(momentum, i) + (1.0f0 - decay) * gradient, i)
        unsafe_store!(rates, learning_rate / (1.0f0 + abs(gradient)), i)
    end
    return nothing
end

function adaptive_learning_rate!(
    gradients::Ptr{Float32},
    momentum::Ptr{Float32},
    rates::Ptr{Float32},
    len::UInt64,
    learning_rate::Float32,
    decay::Float32,
)
    is_usable(gradients, len) || return fail_with_buffer("gradients", len)
    is_usable(momentum, len) || return fail_with_buffer("momentum", len)
    is_usable(rates, len) || return fail_with_buffer("rates", len)
    adaptive_learning_rate_elements!(gradients, momentum, rates, Int(len), learning_rate, decay)
    return OK
end

"""
    adaptive_learning_rate_entry(gradients, momentum, rates, len, learning_rate, decay) -> Int32

`agpu_math_adaptive_learning_rate_fn`, per element and in Float32:
`momentum = decay * momentum + (1 - decay) * gradient` (exponential moving average) and
`rate = learning_rate / (1 + |gradient|)`, the rule of the requirement documents: steps shrink where the gradient is steep.
`momentum` is updated in place, `rates` is written, the three buffers must not overlap.
"""
function adaptive_learning_rate_entry(
    gradients::Ptr{Float32},
    momentum::Ptr{Float32},
    rates::Ptr{Float32},
    len::UInt64,
    learning_rate::Float32,
    decay::Float32,
)
    return guarded(adaptive_learning_rate!, gradients, momentum, rates, len, learning_rate, decay)
end
