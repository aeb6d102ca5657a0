# Run with: julia --startup-file=no julia/test/runtests.jl

using Libdl
using Test

include(joinpath(@__DIR__, "..", "src", "AgpuKernels.jl"))
include("oracle.jl")

"The Matrix core of this checkout, or of the folder that `AMDGPU_LIBRARY_PATH` names."
const LIBRARIES = get(ENV, "AMDGPU_LIBRARY_PATH", joinpath(@__DIR__, "..", "..", "python", "amdgpu", "_lib"))
const MATRIX_CORE = Libdl.dlopen(joinpath(LIBRARIES, "libagpu_matrix.so"))

@testset "AgpuKernels" begin
    include("matmul_tests.jl")
    include("table_tests.jl")
    include("elementary_tests.jl")
    include("activation_tests.jl")
    include("softmax_tests.jl")
    include("dense_forward_tests.jl")
    include("optimizer_tests.jl")
    include("failure_tests.jl")
    include("allocation_tests.jl")
end
