const NULL = Ptr{Float32}(C_NULL)

struct Unshowable <: Exception end
Base.showerror(::IO, ::Unshowable) = error("no text")

throwing(x) = x > 0 ? throw(DomainError(x, "refused")) : F.OK

@testset "an exception becomes a status with Julia's message" begin
    @test F.guarded(throwing, 1) == F.ERROR_FOREIGN_ERROR
    @test occursin("DomainError", last_message()) && occursin("refused", last_message())
    @test F.guarded(throwing, 0) == F.OK
    @test F.guarded(() -> throw(Unshowable())) == F.ERROR_FOREIGN_ERROR
    @test occursin("Unshowable", last_message())
end

@testset "bad arguments are refused and named" begin
    x = zeros(Float32, 4)
    identity = F.Activation(F.ACTIVATION_IDENTITY, 0, 0, 0)
    GC.@preserve x begin
        ptr = pointer(x)
        activation = Ref(identity)
        GC.@preserve activation begin
            kind = Base.unsafe_convert(Ptr{F.Activation}, activation)
            @test F.activation_entry(NULL, ptr, UInt64(4), kind) == F.ERROR_INVALID_ARGUMENT
            @test occursin("`x`", last_message())
            @test F.activation_entry(ptr, NULL, UInt64(4), kind) == F.ERROR_INVALID_ARGUMENT
            @test F.activation_entry(ptr, ptr, typemax(UInt64), kind) == F.ERROR_INVALID_ARGUMENT
            @test F.activation_entry(NULL, NULL, UInt64(0), kind) == F.OK
            @test F.activation_entry(ptr, ptr, UInt64(4), Ptr{F.Activation}(C_NULL)) == F.ERROR_INVALID_ARGUMENT
            @test F.softmax_entry(ptr, ptr, UInt64(2)^40, UInt64(2)^40) == F.ERROR_INVALID_ARGUMENT
            @test F.softmax_entry(NULL, ptr, UInt64(2), UInt64(2)) == F.ERROR_INVALID_ARGUMENT
            @test occursin("`x` of 2 x 2", last_message())
            @test F.softmax_entry(ptr, NULL, UInt64(2), UInt64(2)) == F.ERROR_INVALID_ARGUMENT
            @test occursin("`y` of 2 x 2", last_message())
            @test F.softmax_entry(NULL, NULL, UInt64(0), UInt64(2)) == F.OK
            @test F.dense_forward_entry(ptr, ptr, NULL, NULL, UInt64(2), UInt64(2), UInt64(2), kind) ==
                  F.ERROR_INVALID_ARGUMENT
            @test occursin("`y` of 2 x 2", last_message())
            @test F.momentum_update_entry(ptr, ptr, NULL, UInt64(1), 0.0f0, 0.0f0) == F.ERROR_INVALID_ARGUMENT
            @test F.adaptive_learning_rate_entry(ptr, ptr, NULL, UInt64(1), 0.0f0, 0.0f0) == F.ERROR_INVALID_ARGUMENT
        end
        for kind in (F.ACTIVATION_SOFTMAX, UInt32(11), typemax(UInt32))
            activation = Ref(F.Activation(kind, 0, 0, 0))
            status = ccall(
                TABLE.activation, Int32, (Ptr{Float32}, Ptr{Float32}, UInt64, Ref{F.Activation}), ptr, ptr, 4, activation
            )
            @test status == F.ERROR_INVALID_ARGUMENT
        end
        @test occursin(string(typemax(UInt32)), last_message())
    end
    @test x == zeros(Float32, 4)
end

@testset "last_error copies no more than it is given room for" begin
    F.fail(F.ERROR_INVALID_ARGUMENT, "größer")
    bytes = fill(0xff, 12)
    @test ccall(TABLE.last_error, UInt64, (Ptr{UInt8}, UInt64), bytes, 3) == sizeof("größer")
    @test bytes[1:2] == UInt8['g', 'r'] && bytes[4:end] == fill(0xff, 9)
    @test last_message() == "größer"
end
