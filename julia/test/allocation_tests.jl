function bytes_of_all_entries(x, weight, bias, y, rates)
    total = 0
    for kind in F.ACTIVATION_IDENTITY:F.ACTIVATION_NEUROMORPHIC
        activation = Ref(F.Activation(kind, 0.5f0, 0.5f0, 0))
        GC.@preserve activation begin
            ptr = Base.unsafe_convert(Ptr{F.Activation}, activation)
            if kind != F.ACTIVATION_SOFTMAX
                total += @allocated F.activation_entry(x, y, UInt64(100), ptr)
            end
            total += @allocated F.dense_forward_entry(x, weight, bias, y, UInt64(10), UInt64(20), UInt64(30), ptr)
            total += @allocated F.dense_forward_entry(x, weight, bias, y, UInt64(1), UInt64(20), UInt64(30), ptr)
        end
    end
    total += @allocated F.softmax_entry(x, y, UInt64(10), UInt64(20))
    total += @allocated F.adaptive_learning_rate_entry(x, y, rates, UInt64(100), 0.1f0, 0.9f0)
    total += @allocated F.momentum_update_entry(y, x, rates, UInt64(100), 0.1f0, 0.9f0)
    return total
end

@testset "calls allocate nothing" begin
    x, weight, bias, y, rates = noise(200), noise(600), noise(30), noise(300), noise(300)
    GC.@preserve x weight bias y rates begin
        pointers = pointer.((x, weight, bias, y, rates))
        bytes_of_all_entries(pointers...)
        @test bytes_of_all_entries(pointers...) == 0
    end
end

@testset "kernels are type-stable" begin
    @test Base.return_types(F.activate!, Tuple{Ptr{Float32},Ptr{Float32},Int,F.Activation}) == [Int32]
    for entry in
        (F.activation_entry, F.softmax_entry, F.dense_forward_entry, F.adaptive_learning_rate_entry, F.momentum_update_entry)
        @test Base.return_types(entry) == [Int32]
    end
end
