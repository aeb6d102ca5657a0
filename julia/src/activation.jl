# The activations of the network language. Each is a small callable that maps one Float32, written without branches, so that
# the loop over it becomes SIMD code.

"`x`. Exact."
struct Identity end
@inline (::Identity)(x::Float32) = x

"`max(x, 0)`; NaN stays NaN. Exact."
struct Relu end
@inline (::Relu)(x::Float32) = ifelse(x < 0.0f0, 0.0f0, x)

"`x` above zero, `slope * x` below (Maas, Hannun and Ng 2013). Exact to rounding: 0.5 ulp."
struct LeakyRelu
    slope::Float32
end
@inline (f::LeakyRelu)(x::Float32) = ifelse(x < 0.0f0, f.slope * x, x)

"`1 / (1 + exp(-x))`. At most 0.51 ulp."
struct Sigmoid end
@inline (::Sigmoid)(x::Float32) = Float32(sigmoid_wide(Float64(x)))

"`tanh(x)`. At most 0.51 ulp."
struct Tanh end
@inline (::Tanh)(x::Float32) = Float32(tanh_wide(Float64(x)))

const INVERSE_SQRT_2 = 0.7071067811865476
# x * Phi(x) and x * sigmoid(x) are below the smallest Float32 there; the bound keeps -Inf from becoming -Inf * 0.
const GATE_MIN = -200.0

@inline function gate_input(x::Float32)
    wide = Float64(x)
    return ifelse(wide < GATE_MIN, GATE_MIN, wide)
end

"""
`x * Phi(x)` with the normal distribution function, the exact form of Hendrycks and Gimpel 2016, "Gaussian error linear units":
`x/2 * erfc(-x / sqrt(2))`. At most 0.51 ulp while |gelu(x)| > 1e-38.
"""
struct Gelu end
@inline function (::Gelu)(x::Float32)
    wide = gate_input(x)
    return Float32(0.5 * wide * erfc_wide(-wide * INVERSE_SQRT_2))
end

"`x * sigmoid(x)` (Elfwing, Uchibe and Doya 2018). At most 0.51 ulp."
struct Silu end
@inline function (::Silu)(x::Float32)
    wide = gate_input(x)
    return Float32(wide * sigmoid_wide(wide))
end

"`log(1 + exp(x))` (Dugas et al. 2001), computed as `max(x, 0) + log1p(exp(-|x|))`. At most 0.51 ulp."
struct Softplus end
@inline function (::Softplus)(x::Float32)
    wide = Float64(x)
    return Float32(ifelse(wide < 0.0, 0.0, wide) + log1p_unit(exp_wide(-abs(wide))))
end

"`x` above zero, `alpha * (exp(x) - 1)` below (Clevert, Unterthiner and Hochreiter 2016). At most 0.51 ulp."
struct Elu
    alpha::Float64
end
@inline function (f::Elu)(x::Float32)
    wide = Float64(x)
    return Float32(ifelse(wide < 0.0, f.alpha * expm1_wide(wide), wide))
end

# beyond this x * exp(-x^2) is below 1e-300; the bound keeps Inf from becoming Inf * 0
const BUMP_MAX = 26.0

"""
`tanh(alpha * x) + beta * x * exp(-x^2)`, the activation of the network language for rate models of spiking populations. At most 0.51
ulp of the larger of the two terms.
"""
struct Neuromorphic
    alpha::Float64
    beta::Float64
end
@inline function (f::Neuromorphic)(x::Float32)
    wide = Float64(x)
    near = ifelse(wide > BUMP_MAX, BUMP_MAX, ifelse(wide < -BUMP_MAX, -BUMP_MAX, wide))
    return Float32(tanh_wide(f.alpha * wide) + f.beta * near * exp_wide(-near * near))
end

"""
    map_elements!(f, y, x, len)

`y[i] = f(x[i])` for `len` Float32 elements; `x` and `y` may be the same pointer, but may not overlap otherwise.
"""
@noinline function map_elements!(f::F, y::Ptr{Float32}, x::Ptr{Float32}, len::Int) where {F}
    @simd ivdep for i in 1:len
        unsafe_store!(y, f(unsafe_load(x, i)), i)
    end
    return nothing
end

"""
    activate!(y, x, len, activation) -> Int32

[`map_elements!`](@ref) with the function that `activation` names. Unknown kinds and softmax, which is not elementwise, give
`ERROR_INVALID_ARGUMENT`.
"""
function activate!(y::Ptr{Float32}, x::Ptr{Float32}, len::Int, activation::Activation)
    kind = activation.kind
    if kind == ACTIVATION_IDENTITY
        map_elements!(Identity(), y, x, len)
    elseif kind == ACTIVATION_RELU
        map_elements!(Relu(), y, x, len)
    elseif kind == ACTIVATION_LEAKY_RELU
        map_elements!(LeakyRelu(activation.alpha), y, x, len)
    elseif kind == ACTIVATION_SIGMOID
        map_elements!(Sigmoid(), y, x, len)
    elseif kind == ACTIVATION_TANH
        map_elements!(Tanh(), y, x, len)
    elseif kind == ACTIVATION_GELU
        map_elements!(Gelu(), y, x, len)
    elseif kind == ACTIVATION_SILU
        map_elements!(Silu(), y, x, len)
    elseif kind == ACTIVATION_SOFTPLUS
        map_elements!(Softplus(), y, x, len)
    elseif kind == ACTIVATION_ELU
        map_elements!(Elu(activation.alpha), y, x, len)
    elseif kind == ACTIVATION_NEUROMORPHIC
        map_elements!(Neuromorphic(activation.alpha, activation.beta), y, x, len)
    elseif kind == ACTIVATION_SOFTMAX
        return fail(ERROR_INVALID_ARGUMENT, "softmax is not elementwise: use the softmax function, which knows the rows")
    else
        return fail_with_kind(kind)
    end
    return OK
end

@noinline function fail_with_kind(kind::UInt32)
    return fail(
        ERROR_INVALID_ARGUMENT,
        string("unknown activation kind ", kind, "; known are 0 to ", ACTIVATION_NEUROMORPHIC),
    )
end

function activation!(x::Ptr{Float32}, y::Ptr{Float32}, len::UInt64, activation::Ptr{Activation})
    is_usable(x, len) || return fail_with_buffer("x", len)
    is_usable(y, len) || return fail_with_buffer("y", len)
    activation == C_NULL && return fail(ERROR_INVALID_ARGUMENT, "the activation is null")
    return activate!(y, x, Int(len), unsafe_load(activation))
end

"""
    activation_entry(x, y, len, activation) -> Int32

`agpu_math_activation_fn`: `y[i] = f(x[i])` for `len` Float32 elements with the function named by `activation`.
"""
function activation_entry(x::Ptr{Float32}, y::Ptr{Float32}, len::UInt64, activation::Ptr{Activation})
    return guarded(activation!, x, y, len, activation)
end
