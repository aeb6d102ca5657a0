"""
    order_key(x::Float32) -> Int32

An integer that sorts as `x` does; positive NaN sorts above infinity. It is its own inverse on the bits. Integer maxima become SIMD code
without promises about NaN, those of floats do not.
"""
@inline function order_key(bits::Int32)
    return xor(bits, (bits >> 31) & typemax(Int32))
end
@inline order_key(x::Float32) = order_key(reinterpret(Int32, x))

"""
    maximum_element(x, len) -> Float32

Largest of `len >= 1` elements. A NaN may be returned or passed over; the caller meets it again.
"""
@inline function maximum_element(x::Ptr{Float32}, len::Int)
    best = typemin(Int32)
    @simd for i in 1:len
        key = order_key(unsafe_load(x, i))
        best = ifelse(key > best, key, best)
    end
    return reinterpret(Float32, order_key(best))
end

"""
    softmax_row!(y, x, len)

`y[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x)` over one row; `x` and `y` may be the same. At most 1.6 ulp for a row of up to 10^6
elements. A row that holds NaN or +Inf, or only -Inf, becomes NaN, as in the definition.
"""
@inline function softmax_row!(y::Ptr{Float32}, x::Ptr{Float32}, len::Int)
    highest = Float64(maximum_element(x, len))
    total = 0.0
    @simd ivdep for i in 1:len
        e = exp_wide(Float64(unsafe_load(x, i)) - highest)
        total += e
        unsafe_store!(y, Float32(e), i)
    end
    scale = 1.0 / total
    @simd ivdep for i in 1:len
        unsafe_store!(y, Float32(Float64(unsafe_load(y, i)) * scale), i)
    end
    return nothing
end

"""
    softmax_rows!(y, x, rows, cols)

Softmax over the last axis of `x[rows, cols]`, row-major.
"""
@noinline function softmax_rows!(y::Ptr{Float32}, x::Ptr{Float32}, rows::Int, cols::Int)
    cols == 0 && return nothing
    row_bytes = cols * sizeof(Float32)
    for row in 0:(rows - 1)
        softmax_row!(y + row * row_bytes, x + row * row_bytes, cols)
    end
    return nothing
end

function softmax!(x::Ptr{Float32}, y::Ptr{Float32}, rows::UInt64, cols::UInt64)
    is_usable(x, rows, cols) || return fail_with_buffer("x", rows, cols)
    is_usable(y, rows, cols) || return fail_with_buffer("y", rows, cols)
    softmax_rows!(y, x, Int(rows), Int(cols))
    return OK
end

"""
    softmax_entry(x, y, rows, cols) -> Int32

`agpu_math_softmax_fn`: softmax over the last axis of `x[rows, cols]`, Float32, row-major; `x` and `y` may be the same.
"""
function softmax_entry(x::Ptr{Float32}, y::Ptr{Float32}, rows::UInt64, cols::UInt64)
    return guarded(softmax!, x, y, rows, cols)
end
