@testset "adaptive learning rate averages gradients and shrinks steep steps" begin
    for len in (0, 1, 7, 8, 33)
        gradients, momentum = noise(len; seed = 2) .* 9.0f0, noise(len; seed = 4)
        rates, before = fill(NaN32, len), copy(momentum)
        status = ccall(
            TABLE.adaptive_learning_rate,
            Int32,
            (Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, UInt64, Float32, Float32),
            gradients,
            momentum,
            rates,
            len,
            0.01f0,
            0.9f0,
        )
        @test status == F.OK
        @test rates ≈ 0.01f0 ./ (1.0f0 .+ abs.(gradients)) rtol = 4eps(Float32)
        @test momentum ≈ 0.9f0 .* before .+ (1.0f0 - 0.9f0) .* gradients rtol = 4eps(Float32)
    end
end

@testset "momentum update moves weights along the velocity" begin
    for len in (0, 1, 7, 8, 33)
        weights, gradients, velocity = noise(len; seed = 1), noise(len; seed = 2), noise(len; seed = 3)
        expected_velocity = 0.9f0 .* velocity .+ gradients
        expected_weights = weights .- 0.1f0 .* expected_velocity
        status = ccall(
            TABLE.momentum_update,
            Int32,
            (Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, UInt64, Float32, Float32),
            weights,
            gradients,
            velocity,
            len,
            0.1f0,
            0.9f0,
        )
        @test status == F.OK
        @test velocity ≈ expected_velocity rtol = 4eps(Float32)
        @test weights ≈ expected_weights rtol = 4eps(Float32)
    end
end
