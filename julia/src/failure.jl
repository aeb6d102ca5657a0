# How a failure leaves Julia: a status, and a message that `last_error` copies out.

const LAST_MESSAGE = Ref{String}("")

"Largest length in elements that an entry accepts: its byte count still fits in an `Int64`."
const MAX_LENGTH = UInt64(typemax(Int64)) ÷ UInt64(sizeof(Float32))

"""
    fail(code, message) -> Int32

Keep `message` for [`last_error_entry`](@ref) and return `code`.
"""
@noinline function fail(code::Int32, message::String)
    LAST_MESSAGE[] = message
    return code
end

"""
    fail_with_exception(exception) -> Int32

Status of an exception that reached an entry; its text is the message.
"""
@noinline function fail_with_exception(@nospecialize(exception))
    message = try
        sprint(showerror, exception)
    catch
        string("an exception of type ", typeof(exception), " whose text cannot be shown")
    end
    return fail(ERROR_FOREIGN_ERROR, message)
end

"""
    guarded(kernel, arguments...) -> Int32

Call `kernel(arguments...)`, which returns a status, and turn an exception into one.
"""
@inline function guarded(kernel::F, arguments::Vararg{Any,N}) where {F,N}
    try
        return kernel(arguments...)::Int32
    catch exception
        return fail_with_exception(exception)
    end
end

"""
    is_usable(pointer, len) -> Bool

Whether `len` elements may be read or written at `pointer`: not null unless `len` is zero, and no length past [`MAX_LENGTH`](@ref).
"""
@inline function is_usable(pointer::Ptr, len::UInt64)
    return len <= MAX_LENGTH && (len == 0 || pointer != C_NULL)
end

"""
    is_usable(pointer, rows, cols) -> Bool

The same for a matrix of `rows` x `cols` elements.
"""
@inline function is_usable(pointer::Ptr, rows::UInt64, cols::UInt64)
    (rows == 0 || cols <= MAX_LENGTH ÷ rows) || return false
    return is_usable(pointer, rows * cols)
end

@noinline function fail_with_buffer(name::String, len::UInt64)
    return fail(ERROR_INVALID_ARGUMENT, string("buffer `", name, "` of ", len, " float32 elements is null or too long"))
end

@noinline function fail_with_buffer(name::String, rows::UInt64, cols::UInt64)
    return fail(
        ERROR_INVALID_ARGUMENT,
        string("buffer `", name, "` of ", rows, " x ", cols, " float32 elements is null or too long"),
    )
end

"""
    last_error_entry(buffer, capacity) -> UInt64

Copy the message of the last failure (UTF-8, not terminated) into `buffer`, at most `capacity` bytes; return its full length in
bytes.
"""
function last_error_entry(buffer::Ptr{UInt8}, capacity::UInt64)
    message = LAST_MESSAGE[]
    len = UInt64(sizeof(message))
    if buffer != C_NULL
        GC.@preserve message unsafe_copyto!(buffer, pointer(message), Int(min(len, capacity)))
    end
    return len
end
