//! Which numbers a product is made of: what operands hold, what panels hold, what sums are.

pub const Conversion = enum {
    none,
    /// IEEE half to single precision: exact.
    f16_to_f32,
    /// The upper half of a single: exact.
    bf16_to_f32,
    /// Rounded to half precision (nearest, ties to even), kept as single.
    f32_to_f16,
    /// Rounded to bfloat16 (nearest, ties to even), kept as single.
    f32_to_bf16,
    /// Rounded to bfloat16 and kept in 16 bits.
    f32_to_bf16_bits,
    i8_to_i16,
    /// Instructions that multiply unsigned by signed bytes: the left operand is stored 128 too large, and 128 times the sum of the
    /// right operand, which ends its panel, is taken off again.
    i8_offset,
};

pub const Numbers = struct {
    /// Of `left` and `right` where they lie. bfloat16 is read as u16.
    Source: type,
    /// One number in a panel.
    Element: type,
    /// Elements that are neighbours along the depth and are multiplied by one instruction.
    group: comptime_int = 1,
    /// Panels hold a multiple of so many words along the depth; what is missing is zero.
    word_multiple: comptime_int = 1,
    /// Of `out`, and of all sums.
    Sum: type,
    conversion: Conversion = .none,

    pub fn plain(comptime T: type) Numbers {
        return .{ .Source = T, .Element = T, .Sum = T };
    }

    /// Operands may be read where they lie.
    pub fn isPlain(comptime numbers: Numbers) bool {
        return numbers.conversion == .none and numbers.group == 1 and numbers.Source == numbers.Sum;
    }

    /// A group as panels hold it.
    pub fn Word(comptime numbers: Numbers) type {
        return if (numbers.group == 1) numbers.Element else u32;
    }

    /// Whether a right panel ends with the sum of each of its lines.
    pub fn hasLineSums(comptime numbers: Numbers) bool {
        return numbers.conversion == .i8_offset;
    }

    /// Words along a depth.
    pub fn words(comptime numbers: Numbers, depth: usize) usize {
        return (depth + numbers.stepMultiple() - 1) / numbers.stepMultiple() * numbers.word_multiple;
    }

    /// Steps of the depth after which a panel can be cut.
    pub fn stepMultiple(comptime numbers: Numbers) comptime_int {
        return numbers.group * numbers.word_multiple;
    }
};

/// What a product is asked to compute; an instruction set says with which `Numbers` it does.
pub const Format = enum { f32, f64, bf16, f16, f32_as_bf16, f32_as_f16, i8 };

/// With nothing but multiplications and additions of vectors of single precision or 32-bit integers.
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

/// With instructions that add dot products of pairs of bfloat16 and of quadruples of bytes.
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

/// With tiles of pairs of bfloat16 and of quadruples of bytes; only these formats have instructions.
pub fn tiled(comptime format: Format) Numbers {
    return switch (format) {
        .bf16 => .{ .Source = u16, .Element = u16, .group = 2, .word_multiple = tile_words, .Sum = f32 },
        .f32_as_bf16 => .{ .Source = f32, .Element = u16, .group = 2, .word_multiple = tile_words, .Sum = f32, .conversion = .f32_to_bf16_bits },
        .i8 => .{ .Source = i8, .Element = i8, .group = 4, .word_multiple = tile_words, .Sum = i32 },
        else => simple(format),
    };
}

pub const Side = enum { left, right };

/// Elements of a panel out of elements of an operand.
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
        .i8_offset => if (side == .left)
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
