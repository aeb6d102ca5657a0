//! The number types of a matmul: those of the operands, of the packed panels and of the sums.

pub const Conversion = enum {
    none,
    /// From IEEE half to single precision, which is exact.
    f16_to_f32,
    /// bfloat16 to single precision, which is exact: it is the upper half of one.
    bf16_to_f32,
    /// Rounded to half precision (nearest, ties to even), kept as single.
    f32_to_f16,
    /// Rounded to bfloat16 (nearest, ties to even), kept as single.
    f32_to_bf16,
    /// Rounded to bfloat16 and kept in 16 bits.
    f32_to_bf16_bits,
    i8_to_i16,
    /// Instructions that multiply unsigned by signed bytes: the operand `a` is stored 128 too large, and 128 times the sum of the
    /// operand `b`, which ends its panel, is taken off again.
    i8_offset,
};

pub const Numbers = struct {
    /// Type of the elements of `a` and `b` in memory. bfloat16 is read as u16.
    Source: type,
    /// Type of one number in a panel.
    Element: type,
    /// Number of neighbouring elements along k that one instruction multiplies.
    group: comptime_int = 1,
    /// Panels hold a multiple of so many words along k; what is missing is zero.
    word_multiple: comptime_int = 1,
    /// Type of `out` and of all sums.
    Sum: type,
    conversion: Conversion = .none,

    pub fn plain(comptime T: type) Numbers {
        return .{ .Source = T, .Element = T, .Sum = T };
    }

    /// Whether operands may be read in place, without conversion.
    pub fn isPlain(comptime numbers: Numbers) bool {
        return numbers.conversion == .none and numbers.group == 1 and numbers.Source == numbers.Sum;
    }

    /// The type that holds one group in a panel.
    pub fn Word(comptime numbers: Numbers) type {
        return if (numbers.group == 1) numbers.Element else u32;
    }

    /// Whether a panel of `b` ends with the sum of each of its lines.
    pub fn hasLineSums(comptime numbers: Numbers) bool {
        return numbers.conversion == .i8_offset;
    }

    /// Words along `k` steps.
    pub fn words(comptime numbers: Numbers, k: usize) usize {
        return (k + numbers.stepMultiple() - 1) / numbers.stepMultiple() * numbers.word_multiple;
    }

    /// Steps along k after which a panel can be cut.
    pub fn stepMultiple(comptime numbers: Numbers) comptime_int {
        return numbers.group * numbers.word_multiple;
    }
};

/// What a matmul is asked to compute; an instruction set says with which `Numbers` it does.
pub const Format = enum { f32, f64, bf16, f16, f32_as_bf16, f32_as_f16, i8 };

/// Formats whose operands are converted when they are packed.
pub const converted_formats = [_]Format{ .bf16, .f16, .f32_as_bf16, .f32_as_f16, .i8 };
/// Formats that AMX has instructions for.
pub const tiled_formats = [_]Format{ .bf16, .f32_as_bf16, .i8 };

/// Uses nothing but multiplications and additions of vectors of single precision or 32-bit integers.
pub fn simple(comptime format: Format) Numbers {
    return switch (format) {
        .f32 => .plain(f32),
        .f64 => .plain(f64),
        .bf16 => .{ .Source = u16, .Element = f32, .Sum = f32, .conversion = .bf16_to_f32 },
        .f16 => .{ .Source = f16, .Element = f32, .Sum = f32, .conversion = .f16_to_f32 },
        .f32_as_bf16 => .{ .Source = f32, .Element = f32, .Sum = f32, .conversion = .f32_to_bf16 },
        .f32_as_f16 => .{ .Source = f32, .Element = f32, .Sum = f32, .conversion = .f32_to_f16 },
        .i8 => .{ .Source = i8, .Element = i16, .group = 2, .Sum = i32, .conversion = .i8_to_i16 },
    };
}

/// Uses instructions that add dot products of pairs of bfloat16 and of quadruples of bytes.
pub fn dotted(comptime format: Format) Numbers {
    return switch (format) {
        .bf16 => .{ .Source = u16, .Element = u16, .group = 2, .Sum = f32 },
        .f32_as_bf16 => .{ .Source = f32, .Element = u16, .group = 2, .Sum = f32, .conversion = .f32_to_bf16_bits },
        .i8 => .{ .Source = i8, .Element = u8, .group = 4, .Sum = i32, .conversion = .i8_offset },
        else => simple(format),
    };
}

/// Words in a row of an AMX tile register, and rows in it.
pub const tile_words = 16;

/// Uses tile registers of pairs of bfloat16 and of quadruples of bytes; only these formats have instructions.
pub fn tiled(comptime format: Format) Numbers {
    return switch (format) {
        .bf16 => .{ .Source = u16, .Element = u16, .group = 2, .word_multiple = tile_words, .Sum = f32 },
        .f32_as_bf16 => .{ .Source = f32, .Element = u16, .group = 2, .word_multiple = tile_words, .Sum = f32, .conversion = .f32_to_bf16_bits },
        .i8 => .{ .Source = i8, .Element = i8, .group = 4, .word_multiple = tile_words, .Sum = i32 },
        else => simple(format),
    };
}

pub const Side = enum { a, b };

/// Converts elements of an operand to elements of a panel.
pub inline fn convert(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime len: comptime_int,
    values: @Vector(len, numbers.Source),
) @Vector(len, numbers.Element) {
    const Bits = @Vector(len, u32);
    return switch (numbers.conversion) {
        .none => values,
        .f16_to_f32 => @floatCast(values),
        .bf16_to_f32 => @bitCast(@as(Bits, values) << @splat(16)),
        .f32_to_f16 => @floatCast(@as(@Vector(len, f16), @floatCast(values))),
        .f32_to_bf16 => @bitCast(roundedToBfloat16(len, @bitCast(values)) << @splat(16)),
        .f32_to_bf16_bits => @intCast(roundedToBfloat16(len, @bitCast(values))),
        .i8_to_i16 => values,
        .i8_offset => if (side == .a)
            @as(@Vector(len, u8), @bitCast(values)) ^ @as(@Vector(len, u8), @splat(0x80))
        else
            @bitCast(values),
    };
}

/// To nearest, ties to even; a NaN stays one and becomes quiet.
inline fn roundedToBfloat16(comptime len: comptime_int, bits: @Vector(len, u32)) @Vector(len, u32) {
    const Bits = @Vector(len, u32);
    const one: Bits = @splat(1);
    const sixteen: Bits = @splat(16);
    const rounded = (bits +% @as(Bits, @splat(0x7fff)) +% (bits >> sixteen & one)) >> sixteen;
    const quiet = bits >> sixteen | @as(Bits, @splat(0x40));
    const is_nan = bits & @as(Bits, @splat(0x7fff_ffff)) > @as(Bits, @splat(0x7f80_0000));
    return @select(u32, is_nan, quiet, rounded);
}
