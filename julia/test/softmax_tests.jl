function oracle_softmax(x::Matrix{Float32})
    y = Matrix{BigFloat}(undef, size(x)...)
    for row in 1:size(x, 2)
        e = exp.(BigFloat.(x[:, row]) .- maximum(x[:, row]))
        y[:, row] = e ./ sum(e)
    end
    return y
end

@testset "softmax is within 1.6 ulp and rows sum to one" begin
    setprecision(BigFloat, BITS) do
        for (cols, rows, scale) in ((10, 7, 4), (1, 3, 1), (33, 5, 60), (1000, 2, 10), (17, 3, 1e4))
            x = noise(cols, rows) .* Float32(scale)
            y = call_softmax(x)
            exact = oracle_softmax(x)
            @test maximum(ulp_error.(y, exact)) <= 1.6
            @test all(abs.(sum(Float64.(y); dims = 1) .- 1) .< 1e-6)
        end
    end
end

@testset "softmax is stable and keeps NaN in its row" begin
    x = Float32[1e38 1 NaN -Inf Inf -Inf; -1e38 2 1 0 0 -Inf; 1e38 3 2 1 1 -Inf]
    y = call_softmax(x)
    @test y[:, 1] == Float32[0.5, 0, 0.5]
    @test all(isfinite, y[:, 2])
    @test all(isnan, y[:, 3])
    @test y[1, 4] == 0 && sum(y[:, 4]) ≈ 1
    @test all(isnan, y[:, 5]) && all(isnan, y[:, 6])
    negative_nan = reshape(Float32[-NaN32, 1, 2], 3, 1)
    @test all(isnan, call_softmax(negative_nan))
    @test call_softmax(zeros(Float32, 0, 3)) == zeros(Float32, 0, 3)
    @test call_softmax(zeros(Float32, 3, 0)) == zeros(Float32, 3, 0)
end
