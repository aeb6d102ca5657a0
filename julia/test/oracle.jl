# Independent answers at 256 bits, and the calls through the table that the tests compare with them.

const BITS = 256

"erf by its Maclaurin series; the working precision covers the cancellation up to |z| = 15."
function oracle_erf(z::BigFloat)
    return setprecision(BigFloat, 1200) do
        z = BigFloat(z)
        sum, term, n = BigFloat(0), z, 0
        while n < 8 || abs(term) > BigFloat(2)^-1100
            sum += term / (2n + 1)
            n += 1
            term *= -z * z / n
        end
        return 2 * sum / sqrt(BigFloat(pi))
    end
end

oracle_sigmoid(x) = 1 / (1 + exp(-x))
oracle_gelu(x) = setprecision(BigFloat, 1200) do
    wide = BigFloat(x)
    return wide / 2 * (1 + oracle_erf(wide / sqrt(BigFloat(2))))
end

"Error of `value` in units in the last place of the exact answer rounded to Float32."
function ulp_error(value::Float32, exact::BigFloat)
    nearest = Float32(exact)
    spacing = BigFloat(isfinite(nearest) ? eps(nearest) : floatmax(Float32))
    return Float64(abs(BigFloat(value) - exact) / spacing)
end

const F = AgpuKernels
const TABLE = unsafe_load(F.table())

function call_activation(x::Vector{Float32}, kind; alpha = 0.0f0, beta = 0.0f0)
    y = similar(x)
    activation = Ref(F.Activation(kind, alpha, beta, 0))
    status = ccall(
        TABLE.activation, Int32, (Ptr{Float32}, Ptr{Float32}, UInt64, Ref{F.Activation}), x, y, length(x), activation
    )
    @test status == F.OK
    return y
end

"`x[cols, rows]` in Julia's order is `x[rows, cols]` in the row-major order of the table."
function call_softmax(x::Matrix{Float32})
    y = similar(x)
    status = ccall(
        TABLE.softmax, Int32, (Ptr{Float32}, Ptr{Float32}, UInt64, UInt64), x, y, size(x, 2), size(x, 1)
    )
    @test status == F.OK
    return y
end

"Matrices are given transposed: `x[inputs, batch]`, `weight[outputs, inputs]`; the answer is `[outputs, batch]`."
function call_dense_forward(x, weight, bias, kind; alpha = 0.0f0, beta = 0.0f0)
    inputs, batch = size(x)
    outputs = size(weight, 1)
    y = fill(NaN32, outputs, batch)
    activation = Ref(F.Activation(kind, alpha, beta, 0))
    status = ccall(
        TABLE.dense_forward,
        Int32,
        (Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, UInt64, UInt64, UInt64, Ref{F.Activation}),
        x,
        weight,
        bias === nothing ? Ptr{Float32}(C_NULL) : bias,
        y,
        batch,
        inputs,
        outputs,
        activation,
    )
    @test status == F.OK
    return y
end

function last_message()
    len = ccall(TABLE.last_error, UInt64, (Ptr{UInt8}, UInt64), C_NULL, 0)
    bytes = zeros(UInt8, len)
    ccall(TABLE.last_error, UInt64, (Ptr{UInt8}, UInt64), bytes, len)
    return String(bytes)
end

"Reproducible pseudo-random floats in [-1, 1) without the Random library: a 64-bit linear congruential generator (Knuth's MMIX)."
function noise(dims...; seed = 1)
    state = UInt64(seed)
    values = Array{Float32}(undef, dims...)
    for index in eachindex(values)
        state = state * 0x5851f42d4c957f2d + 0x14057b7ef767814f
        values[index] = Float32(Int64(state >> 40) - 2^23) / 2.0f0^23
    end
    return values
end
