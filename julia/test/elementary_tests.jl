relative_error(value, exact) = Float64(abs(BigFloat(value) - exact) / abs(exact))

# Stated bounds stand in the docstrings of elementary.jl.
@testset "elementary functions keep their stated relative error" begin
    setprecision(BigFloat, BITS) do
        @test maximum(relative_error(F.exp_wide(x), exp(big(x))) for x in -708.0:0.37:709.0) < 1e-14
        @test maximum(relative_error(F.exp_wide(x), exp(big(x))) for x in -0.35:0.00037:0.35) < 1e-14
        @test maximum(
            relative_error(F.expm1_wide(s * x), expm1(big(s * x))) for s in (-1, 1), x in exp2.(-40.0:0.03:5.0)
        ) < 1e-11
        @test maximum(relative_error(F.log1p_unit(u), log1p(big(u))) for u in exp2.(-100.0:0.07:0.0)) < 2e-10
        @test maximum(relative_error(F.tanh_wide(s * x), tanh(big(s * x))) for s in (-1, 1), x in exp2.(-60.0:0.03:7.0)) <
              1e-11
        @test maximum(relative_error(F.sigmoid_wide(x), oracle_sigmoid(big(x))) for x in -700.0:0.41:700.0) < 2e-14
        @test maximum(relative_error(F.erfc_wide(z), 1 - oracle_erf(big(z))) for z in -6.0:0.013:10.0) < 1e-10
    end
end

@testset "elementary functions handle the ends of the range" begin
    @test isnan(F.exp_wide(NaN)) && isnan(F.tanh_wide(NaN)) && isnan(F.erfc_wide(NaN)) && isnan(F.expm1_wide(NaN))
    @test Float32(F.exp_wide(-Inf)) === 0.0f0
    @test Float32(F.exp_wide(Inf)) === Inf32
    @test F.tanh_wide(Inf) === 1.0
    @test F.tanh_wide(-Inf) === -1.0
    @test F.erfc_wide(-Inf) === 2.0
    @test 0.0 <= F.erfc_wide(Inf) < 1e-300
    @test F.tanh_wide(-0.0) === -0.0
    @test F.expm1_wide(-0.0) === -0.0
end
