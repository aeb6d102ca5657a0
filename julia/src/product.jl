# The float32 matrix product behind dense layers, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication"
# (ACM TOMS 34, 2008): the right operand is packed into panels that stay in the cache, and a micro-kernel keeps a tile of the result
# in registers.

const LANES = 8
const Lanes = NTuple{LANES,VecElement{Float32}}

# The tile of the micro-kernel: 6 x 16 needs 12 accumulators, 2 loads and 1 broadcast of the 16 registers that AVX2 has.
const TILE_ROWS = 6
const TILE_COLS = 2 * LANES
# One panel (depth x 16 floats) fills half of a 32 KiB first-level cache.
const BLOCK_DEPTH = 256
# Rows of the left operand that are used against every panel: 96 KiB, part of the second-level cache.
const BLOCK_ROWS = 16 * TILE_ROWS
# Packed columns: 512 KiB.
const BLOCK_COLS = 512

# Scratch memory of the one thread that may call; it lives as long as the module.
const PANELS = zeros(Float32, BLOCK_DEPTH * BLOCK_COLS)
const EDGE_TILE = zeros(Float32, TILE_ROWS * TILE_COLS)

@inline function splat(x::Float32)
    return ntuple(_ -> VecElement(x), Val(LANES))
end

@inline function multiply_add(a::Lanes, b::Lanes, c::Lanes)
    return ccall("llvm.fmuladd.v8f32", llvmcall, Lanes, (Lanes, Lanes, Lanes), a, b, c)
end

@inline load_lanes(ptr::Ptr{Float32}) = unsafe_load(Ptr{Lanes}(ptr))
@inline store_lanes!(ptr::Ptr{Float32}, value::Lanes) = unsafe_store!(Ptr{Lanes}(ptr), value)

"""
    pack_panels!(panels, w, depth, cols, row_stride)

Copy `w[depth, cols]` (rows `row_stride` elements apart) into panels of `TILE_COLS` columns, each panel contiguous along the depth, the
last one padded with zeros.
"""
@noinline function pack_panels!(panels::Ptr{Float32}, w::Ptr{Float32}, depth::Int, cols::Int, row_stride::Int)
    target = panels
    for first_col in 0:TILE_COLS:(cols - 1)
        width = min(TILE_COLS, cols - first_col)
        source = w + 4 * first_col
        if width == TILE_COLS
            for k in 0:(depth - 1)
                row = source + 4 * k * row_stride
                store_lanes!(target, load_lanes(row))
                store_lanes!(target + 4 * LANES, load_lanes(row + 4 * LANES))
                target += 4 * TILE_COLS
            end
        else
            for k in 0:(depth - 1)
                row = source + 4 * k * row_stride
                for col in 1:TILE_COLS
                    unsafe_store!(target, col <= width ? unsafe_load(row, col) : 0.0f0, col)
                end
                target += 4 * TILE_COLS
            end
        end
    end
    return nothing
end

"""
    multiply_tile!(Val(rows), y, y_stride, x, x_stride, panel, depth, accumulate)

`y[rows, 16] (+)= x[rows, depth] @ panel[depth, 16]` with the whole tile in registers; strides are elements between rows.
"""
@generated function multiply_tile!(
    ::Val{ROWS},
    y::Ptr{Float32},
    y_stride::Int,
    x::Ptr{Float32},
    x_stride::Int,
    panel::Ptr{Float32},
    depth::Int,
    accumulate::Bool,
) where {ROWS}
    return quote
        Base.Cartesian.@nexprs $ROWS r -> (y_r = y + 4 * (r - 1) * y_stride)
        Base.Cartesian.@nexprs $ROWS r -> (x_r = x + 4 * (r - 1) * x_stride)
        if accumulate
            Base.Cartesian.@nexprs $ROWS r -> (left_r = load_lanes(y_r))
            Base.Cartesian.@nexprs $ROWS r -> (right_r = load_lanes(y_r + 4 * LANES))
        else
            Base.Cartesian.@nexprs $ROWS r -> (left_r = splat(0.0f0))
            Base.Cartesian.@nexprs $ROWS r -> (right_r = splat(0.0f0))
        end
        for k in 1:depth
            left = load_lanes(panel)
            right = load_lanes(panel + 4 * LANES)
            panel += 4 * TILE_COLS
            Base.Cartesian.@nexprs $ROWS r -> begin
                factor_r = splat(unsafe_load(x_r, k))
                left_r = multiply_add(factor_r, left, left_r)
                right_r = multiply_add(factor_r, right, right_r)
            end
        end
        Base.Cartesian.@nexprs $ROWS r -> begin
            store_lanes!(y_r, left_r)
            store_lanes!(y_r + 4 * LANES, right_r)
        end
        return nothing
    end
end

@inline function multiply_rows!(rows::Int, arguments::Vararg{Any,N}) where {N}
    if rows == 6
        multiply_tile!(Val(6), arguments...)
    elseif rows == 5
        multiply_tile!(Val(5), arguments...)
    elseif rows == 4
        multiply_tile!(Val(4), arguments...)
    elseif rows == 3
        multiply_tile!(Val(3), arguments...)
    elseif rows == 2
        multiply_tile!(Val(2), arguments...)
    else
        multiply_tile!(Val(1), arguments...)
    end
    return nothing
end

"Copy `rows` x `cols` elements between matrices whose rows are `to_stride` and `from_stride` elements apart."
@inline function copy_tile!(to::Ptr{Float32}, to_stride::Int, from::Ptr{Float32}, from_stride::Int, rows::Int, cols::Int)
    for row in 0:(rows - 1), col in 0:(cols - 1)
        unsafe_store!(to + 4 * (row * to_stride + col), unsafe_load(from + 4 * (row * from_stride + col)))
    end
    return nothing
end

"""
    multiply_block!(y, y_stride, x, x_stride, panels, rows, depth, cols, accumulate)

`y[rows, cols] (+)= x[rows, depth] @ w` with `w` packed in `panels`.
"""
@noinline function multiply_block!(
    y::Ptr{Float32},
    y_stride::Int,
    x::Ptr{Float32},
    x_stride::Int,
    panels::Ptr{Float32},
    rows::Int,
    depth::Int,
    cols::Int,
    accumulate::Bool,
)
    edge = pointer(EDGE_TILE)
    for first_col in 0:TILE_COLS:(cols - 1)
        panel = panels + 4 * first_col * depth
        width = min(TILE_COLS, cols - first_col)
        for first_row in 0:TILE_ROWS:(rows - 1)
            height = min(TILE_ROWS, rows - first_row)
            x_tile = x + 4 * first_row * x_stride
            y_tile = y + 4 * (first_row * y_stride + first_col)
            if width == TILE_COLS
                multiply_rows!(height, y_tile, y_stride, x_tile, x_stride, panel, depth, accumulate)
            else
                accumulate && copy_tile!(edge, TILE_COLS, y_tile, y_stride, height, width)
                multiply_rows!(height, edge, TILE_COLS, x_tile, x_stride, panel, depth, accumulate)
                copy_tile!(y_tile, y_stride, edge, TILE_COLS, height, width)
            end
        end
    end
    return nothing
end

"""
    packed_product!(y, x, w, rows, depth, cols)

`y[rows, cols] = x[rows, depth] @ w[depth, cols]`, row-major and contiguous, `depth >= 1`.
"""
function packed_product!(y::Ptr{Float32}, x::Ptr{Float32}, w::Ptr{Float32}, rows::Int, depth::Int, cols::Int)
    GC.@preserve PANELS EDGE_TILE begin
        panels = pointer(PANELS)
        for first_col in 0:BLOCK_COLS:(cols - 1)
            width = min(BLOCK_COLS, cols - first_col)
            for first_k in 0:BLOCK_DEPTH:(depth - 1)
                block_depth = min(BLOCK_DEPTH, depth - first_k)
                pack_panels!(panels, w + 4 * (first_k * cols + first_col), block_depth, width, cols)
                for first_row in 0:BLOCK_ROWS:(rows - 1)
                    height = min(BLOCK_ROWS, rows - first_row)
                    multiply_block!(
                        y + 4 * (first_row * cols + first_col),
                        cols,
                        x + 4 * (first_row * depth + first_k),
                        depth,
                        panels,
                        height,
                        block_depth,
                        width,
                        first_k > 0,
                    )
                end
            end
        end
    end
    return nothing
end

"""
    row_product!(y, x, w, depth, cols)

`y[cols] = x[depth] @ w[depth, cols]` by streaming over `w` once, four rows at a time: packing does not pay for few rows.
"""
@noinline function row_product!(y::Ptr{Float32}, x::Ptr{Float32}, w::Ptr{Float32}, depth::Int, cols::Int)
    @simd ivdep for col in 1:cols
        unsafe_store!(y, 0.0f0, col)
    end
    k = 1
    while k + 3 <= depth
        w_1 = w + 4 * (k - 1) * cols
        w_2 = w_1 + 4 * cols
        w_3 = w_2 + 4 * cols
        w_4 = w_3 + 4 * cols
        x_1 = unsafe_load(x, k)
        x_2 = unsafe_load(x, k + 1)
        x_3 = unsafe_load(x, k + 2)
        x_4 = unsafe_load(x, k + 3)
        @simd ivdep for col in 1:cols
            sum = unsafe_load(y, col)
            sum = muladd(x_1, unsafe_load(w_1, col), sum)
            sum = muladd(x_2, unsafe_load(w_2, col), sum)
            sum = muladd(x_3, unsafe_load(w_3, col), sum)
            sum = muladd(x_4, unsafe_load(w_4, col), sum)
            unsafe_store!(y, sum, col)
        end
        k += 4
    end
    while k <= depth
        w_1 = w + 4 * (k - 1) * cols
        x_1 = unsafe_load(x, k)
        @simd ivdep for col in 1:cols
            unsafe_store!(y, muladd(x_1, unsafe_load(w_1, col), unsafe_load(y, col)), col)
        end
        k += 1
    end
    return nothing
end

"""
Up to this many rows the product streams over the right operand instead of packing it. Measured on Zen 4 with Julia 1.5.3: streaming
wins up to 3 rows for operands of 0.8 to 64 MB; at 4 rows packing is even (0.8 MB) or ahead (64 MB).
"""
const STREAMED_ROWS = 3

"""
    product!(y, x, w, rows, depth, cols)

`y[rows, cols] = x[rows, depth] @ w[depth, cols]`: Float32, row-major, contiguous; `y` must not overlap the others.
"""
function product!(y::Ptr{Float32}, x::Ptr{Float32}, w::Ptr{Float32}, rows::Int, depth::Int, cols::Int)
    if rows <= STREAMED_ROWS || depth == 0
        for row in 0:(rows - 1)
            row_product!(y + 4 * row * cols, x + 4 * row * depth, w, depth, cols)
        end
    else
        packed_product!(y, x, w, rows, depth, cols)
    end
    return nothing
end
