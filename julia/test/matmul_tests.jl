@testset "dense layers are refused until the Matrix core is handed over" begin
    x, weight, y = noise(4), noise(4), zeros(Float32, 4)
    activation = Ref(F.Activation(F.ACTIVATION_IDENTITY, 0, 0, 0))
    GC.@preserve x weight y activation begin
        kind = Base.unsafe_convert(Ptr{F.Activation}, activation)
        call() = F.dense_forward_entry(pointer(x), pointer(weight), Ptr{Float32}(C_NULL), pointer(y), UInt64(2), UInt64(2), UInt64(2), kind)
        @test call() == F.ERROR_LIBRARY_MISSING
        @test occursin("Matrix core", last_message())
        @test y == zeros(Float32, 4)
        @test F.use_matmul(Libdl.dlsym(MATRIX_CORE, :agpu_matrix_matmul)) === nothing
        @test call() == F.OK
    end
end

@testset "a refusal of the Matrix core becomes the status of the call" begin
    x = noise(4)
    GC.@preserve x begin
        # The result overlaps an operand.
        @test F.matmul!(pointer(x), pointer(x), pointer(x), 2, 2, 2) == F.ERROR_INVALID_ARGUMENT
        @test occursin("2 x 2", last_message())
    end
end
