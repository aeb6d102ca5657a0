# Run with: julia --startup-file=no julia/test/runtests.jl

using Test

include(joinpath(@__DIR__, "..", "src", "AgpuKernels.jl"))
include("oracle.jl")

@testset "AgpuKernels" begin
    include("table_tests.jl")
    include("elementary_tests.jl")
    include("activation_tests.jl")
    include("softmax_tests.jl")
    include("dense_forward_tests.jl")
    include("optimizer_tests.jl")
    include("failure_tests.jl")
    include("allocation_tests.jl")
end
