# Every 65521st bit pattern of Float32 (a prime, so that all exponents and many significands occur) and the interesting range finely.
const SAMPLES = filter(
    isfinite, vcat(reinterpret.(Float32, UInt32.(0:65521:typemax(UInt32))), collect(-20.0f0:0.01f0:20.0f0), Float32[-0.0, 0.0])
)

const ALPHA = 0.75f0
const BETA = -1.25f0

oracle_exp(x) = exp(max(x, big(-1e6)))

const ORACLES = (
    (F.ACTIVATION_IDENTITY, x -> x),
    (F.ACTIVATION_RELU, x -> max(x, 0)),
    (F.ACTIVATION_LEAKY_RELU, x -> x < 0 ? BigFloat(ALPHA) * x : x),
    (F.ACTIVATION_SIGMOID, x -> 1 / (1 + oracle_exp(-x))),
    (F.ACTIVATION_TANH, tanh),
    (F.ACTIVATION_SILU, x -> x / (1 + oracle_exp(-x))),
    (F.ACTIVATION_SOFTPLUS, x -> max(x, 0) + log1p(oracle_exp(-abs(x)))),
    (F.ACTIVATION_ELU, x -> x < 0 ? BigFloat(ALPHA) * expm1(x) : x),
)

@testset "activations are within 0.51 ulp of the exact value" begin
    setprecision(BigFloat, BITS) do
        for (kind, oracle) in ORACLES
            y = call_activation(SAMPLES, kind; alpha = ALPHA, beta = BETA)
            worst = maximum(ulp_error(y[i], BigFloat(oracle(BigFloat(SAMPLES[i])))) for i in eachindex(y))
            @test (kind, worst <= 0.51) == (kind, true)
        end
    end
end

@testset "gelu is the exact form, within 0.51 ulp" begin
    x = collect(-13.0f0:0.0103f0:13.0f0)
    y = call_activation(x, F.ACTIVATION_GELU)
    @test maximum(ulp_error(y[i], oracle_gelu(x[i])) for i in eachindex(x)) <= 0.51
    tiny = Float32[1e-30, -1e-30, 1e-8, -1e-8]
    @test maximum(ulp_error(v, oracle_gelu(t)) for (v, t) in zip(call_activation(tiny, F.ACTIVATION_GELU), tiny)) <= 0.51
    # the tanh approximation of gelu differs from the exact form by 4.7e-4 near here
    @test abs(y[argmin(abs.(x .- 2.2f0))] - Float32(oracle_gelu(x[argmin(abs.(x .- 2.2f0))]))) < 1e-6
end

@testset "neuromorphic is tanh(alpha x) + beta x exp(-x^2)" begin
    setprecision(BigFloat, BITS) do
        y = call_activation(SAMPLES, F.ACTIVATION_NEUROMORPHIC; alpha = ALPHA, beta = BETA)
        worst = 0.0
        for (value, sample) in zip(y, SAMPLES)
            x = BigFloat(sample)
            terms = (tanh(ALPHA * x), BETA * x * exp(-min(x * x, big(1e6))))
            scale = eps(Float32(maximum(abs.(terms))))
            worst = max(worst, Float64(abs(BigFloat(value) - sum(terms)) / scale))
        end
        @test worst <= 0.51
    end
end

@testset "activations of infinities are their limits and NaN stays NaN" begin
    limits = (
        (F.ACTIVATION_IDENTITY, -Inf32, Inf32),
        (F.ACTIVATION_RELU, 0.0f0, Inf32),
        (F.ACTIVATION_LEAKY_RELU, -Inf32, Inf32),
        (F.ACTIVATION_SIGMOID, 0.0f0, 1.0f0),
        (F.ACTIVATION_TANH, -1.0f0, 1.0f0),
        (F.ACTIVATION_GELU, 0.0f0, Inf32),
        (F.ACTIVATION_SILU, 0.0f0, Inf32),
        (F.ACTIVATION_SOFTPLUS, 0.0f0, Inf32),
        (F.ACTIVATION_ELU, -ALPHA, Inf32),
        (F.ACTIVATION_NEUROMORPHIC, -1.0f0, 1.0f0),
    )
    for (kind, low, high) in limits
        y = call_activation(Float32[-Inf32, Inf32, NaN32], kind; alpha = ALPHA, beta = BETA)
        @test (kind, y[1] == low, y[2] == high, isnan(y[3])) == (kind, true, true, true)
    end
end

@testset "activation works in place and on any length" begin
    for len in (0, 1, 3, 7, 8, 9, 31, 33)
        x = noise(len)
        expected = call_activation(x, F.ACTIVATION_TANH)
        activation = Ref(F.Activation(F.ACTIVATION_TANH, 0, 0, 0))
        status = ccall(
            TABLE.activation, Int32, (Ptr{Float32}, Ptr{Float32}, UInt64, Ref{F.Activation}), x, x, len, activation
        )
        @test status == F.OK
        @test x == expected
    end
end
