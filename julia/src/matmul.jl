# The matrix multiplication behind dense layers: the Matrix core's, called through the address that the process hands over.

"Address of `agpu_matrix_matmul`, or null before [`use_matmul`](@ref)."
const MATMUL = Ref{Ptr{Cvoid}}(C_NULL)

# What describes the operands to the Matrix core. One thread calls, and the memory lives as long as the module, so that a call
# allocates nothing.
const MATMUL_SHAPES = zeros(Int64, 6)
const MATMUL_TENSORS = Vector{Tensor}(undef, 3)
const MATMUL_OPTIONS =
    Ref(MatmulOptions(sizeof(MatmulOptions), 1.0, 0.0, C_NULL, C_NULL, C_NULL, C_NULL, PRECISION_OPERANDS, 0))

"""
    use_matmul(address) -> Nothing

Take `address` as that of `agpu_matrix_matmul` of the Matrix core (libagpu_matrix.so of this version), which must stay valid as long
as the process. Dense layers need it; the other kernels do not.
"""
function use_matmul(address::Ptr{Cvoid})
    MATMUL[] = address
    return nothing
end

"Describe tensor `index` of the call: `rows` x `cols` elements of Float32 at `data`, row-major and contiguous."
@inline function describe_matrix!(index::Int, data::Ptr{Float32}, rows::Int, cols::Int)
    shape = pointer(MATMUL_SHAPES, 2 * index - 1)
    unsafe_store!(shape, rows, 1)
    unsafe_store!(shape, cols, 2)
    tensor = Tensor(
        Ptr{Cvoid}(data),
        DeviceRef(DEVICE_CPU, 0),
        2,
        Dtype(DTYPE_FLOAT, 32, 1),
        shape,
        Ptr{Int64}(C_NULL),
        0,
    )
    unsafe_store!(pointer(MATMUL_TENSORS), tensor, index)
    return nothing
end

"""
    matmul!(y, x, w, m, k, n) -> Int32

`y[m, n] = x[m, k] @ w[k, n]`: Float32, row-major, contiguous; `y` must not overlap the others. Runs on the calling thread alone.
Returns a status: `library-missing` before [`use_matmul`](@ref), else that of the Matrix core.
"""
function matmul!(y::Ptr{Float32}, x::Ptr{Float32}, w::Ptr{Float32}, m::Int, k::Int, n::Int)
    MATMUL[] == C_NULL && return fail(ERROR_LIBRARY_MISSING, "dense layers need the Matrix core, which was not handed over")
    (m == 0 || n == 0) && return OK
    status = GC.@preserve MATMUL_SHAPES MATMUL_TENSORS MATMUL_OPTIONS begin
        describe_matrix!(1, x, m, k)
        describe_matrix!(2, w, k, n)
        describe_matrix!(3, y, m, n)
        tensors = pointer(MATMUL_TENSORS)
        ccall(
            MATMUL[],
            Int32,
            (Ptr{Tensor}, Ptr{Tensor}, Ptr{Tensor}, Ptr{MatmulOptions}),
            tensors,
            tensors + sizeof(Tensor),
            tensors + 2 * sizeof(Tensor),
            Base.unsafe_convert(Ptr{MatmulOptions}, MATMUL_OPTIONS),
        )
    end
    return status == OK ? OK : fail_with_matmul(status, m, k, n)
end

@noinline function fail_with_matmul(status::Int32, m::Int, k::Int, n::Int)
    return fail(status, string("the Matrix core refused a matmul of ", m, " x ", k, " and ", k, " x ", n, " (status ", status, ")"))
end
