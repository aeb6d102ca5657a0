# |error| of a float32 dot product of n terms <= n * eps/2 * sum |x| |w| to first order (Higham, Accuracy and Stability, section 3.1).
function is_close_matmul(y, x, weight, bias)
    inputs = size(x, 1)
    wide_x, wide_weight = Float64.(x), Float64.(weight)
    offset = bias === nothing ? 0.0 : Float64.(bias)
    exact = wide_weight * wide_x .+ offset
    bound = (inputs + 2) * eps(Float32) / 2 .* (abs.(wide_weight) * abs.(wide_x) .+ abs.(offset)) .+ 1e-37
    return all(abs.(y .- exact) .<= bound)
end

@testset "dense forward is the matmul plus bias, empty and tiny matrices included" begin
    batches = (0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 97)
    shapes = ((0, 5), (5, 0), (1, 1), (3, 15), (4, 16), (7, 17), (255, 33), (257, 40), (600, 3), (19, 513))
    for batch in batches, (inputs, outputs) in shapes
        x = noise(inputs, batch; seed = 3)
        weight = noise(outputs, inputs; seed = 5)
        bias = noise(outputs; seed = 7)
        y = call_dense_forward(x, weight, bias, F.ACTIVATION_IDENTITY)
        @test (batch, inputs, outputs, is_close_matmul(y, x, weight, bias)) == (batch, inputs, outputs, true)
        y = call_dense_forward(x, weight, nothing, F.ACTIVATION_IDENTITY)
        @test (batch, inputs, outputs, is_close_matmul(y, x, weight, nothing)) == (batch, inputs, outputs, true)
    end
end

@testset "dense forward applies every activation after the bias" begin
    x, weight, bias = noise(20, 9; seed = 1), noise(18, 20; seed = 2), noise(18; seed = 3)
    for kind in F.ACTIVATION_IDENTITY:F.ACTIVATION_NEUROMORPHIC, given_bias in (bias, nothing)
        affine = call_dense_forward(x, weight, given_bias, F.ACTIVATION_IDENTITY)
        y = call_dense_forward(x, weight, given_bias, kind; alpha = 0.3f0, beta = 0.9f0)
        expected = if kind == F.ACTIVATION_SOFTMAX
            call_softmax(affine)
        else
            reshape(call_activation(vec(affine), kind; alpha = 0.3f0, beta = 0.9f0), size(affine))
        end
        @test (kind, y == expected) == (kind, true)
    end
end

@testset "dense forward propagates NaN to its row only" begin
    x, weight = noise(20, 9), noise(18, 20)
    x[4, 2] = NaN32
    y = call_dense_forward(x, weight, nothing, F.ACTIVATION_IDENTITY)
    @test all(isnan, y[:, 2])
    @test !any(isnan, y[:, [1, 3, 4, 5, 6, 7, 8, 9]])
end
