# A Ref of a bits type never moves, and as a module constant it is never collected: its address may be handed out.
const TABLE = Ref{MathTable}()
const TABLE_READY = Ref(false)

function build_table()
    return MathTable(
        sizeof(MathTable),
        ABI_VERSION,
        0,
        ABI_HASH,
        @cfunction(activation_entry, Int32, (Ptr{Float32}, Ptr{Float32}, UInt64, Ptr{Activation})),
        @cfunction(softmax_entry, Int32, (Ptr{Float32}, Ptr{Float32}, UInt64, UInt64)),
        @cfunction(
            dense_forward_entry,
            Int32,
            (Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, UInt64, UInt64, UInt64, Ptr{Activation})
        ),
        @cfunction(
            adaptive_learning_rate_entry,
            Int32,
            (Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, UInt64, Float32, Float32)
        ),
        @cfunction(
            momentum_update_entry,
            Int32,
            (Ptr{Float32}, Ptr{Float32}, Ptr{Float32}, UInt64, Float32, Float32)
        ),
        @cfunction(last_error_entry, UInt64, (Ptr{UInt8}, UInt64)),
    )
end

"""
    table() -> Ptr{MathTable}

The `agpu_math_table` of this module. The address is the same on every call and valid as long as the process.
"""
function table()
    if !TABLE_READY[]
        TABLE[] = build_table()
        TABLE_READY[] = true
    end
    return Base.unsafe_convert(Ptr{MathTable}, TABLE)
end
