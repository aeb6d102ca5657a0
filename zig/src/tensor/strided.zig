//! Views with any strides, and walks over index spaces that several views share.
//!
//! Descriptions were validated in Rust (amdgpu-matrix); here they are asserted.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");

pub const Storage = generic.storage.Storage;

/// Largest number of axes of a tensor; amdgpu-matrix refuses more.
pub const max_rank = 16;

pub const View = struct {
    storage: Storage,
    address: usize,
    rank: usize,
    shape: [max_rank]usize,
    /// Strides in elements.
    strides: [max_rank]isize,

    pub fn of(tensor: *const abi.Tensor) View {
        std.debug.assert(tensor.device.device_type == abi.device_cpu);
        std.debug.assert(tensor.ndim >= 0 and tensor.ndim <= max_rank);
        var view: View = .{
            .storage = storageOf(tensor.dtype),
            .address = dataOf(tensor),
            .rank = @intCast(tensor.ndim),
            .shape = @splat(1),
            .strides = @splat(0),
        };
        var dense: isize = 1;
        var axis = view.rank;
        while (axis > 0) {
            axis -= 1;
            view.shape[axis] = @intCast(tensor.shape.?[axis]);
            view.strides[axis] = if (tensor.strides) |strides| @intCast(strides[axis]) else dense;
            dense *= @intCast(view.shape[axis]);
        }
        return view;
    }

    pub fn len(view: *const View) usize {
        return product(view.shape[0..view.rank]);
    }

    /// The view of axes [first, first + rank) alone.
    pub fn axes(view: *const View, first: usize, rank: usize) View {
        var part = view.*;
        part.rank = rank;
        for (0..max_rank) |axis| {
            part.shape[axis] = if (axis < rank) view.shape[first + axis] else 1;
            part.strides[axis] = if (axis < rank) view.strides[first + axis] else 0;
        }
        return part;
    }
};

pub fn product(shape: []const usize) usize {
    var total: usize = 1;
    for (shape) |extent| total *= extent;
    return total;
}

/// Address of the element with index zero.
pub fn dataOf(tensor: *const abi.Tensor) usize {
    return @intFromPtr(tensor.data) +% @as(usize, @intCast(tensor.byte_offset));
}

/// Whether elements are stored in the type that is computed in.
pub fn isOf(comptime T: type, dtype: abi.Dtype) bool {
    return storageOf(dtype).is(T);
}

fn storageOf(dtype: abi.Dtype) Storage {
    std.debug.assert(dtype.lanes == 1);
    return switch (dtype.code) {
        abi.dtype_bool => .bool,
        abi.dtype_uint => switch (dtype.bits) {
            8 => .u8,
            16 => .u16,
            32 => .u32,
            64 => .u64,
            else => unreachable,
        },
        abi.dtype_int => switch (dtype.bits) {
            8 => .i8,
            16 => .i16,
            32 => .i32,
            64 => .i64,
            else => unreachable,
        },
        abi.dtype_float => switch (dtype.bits) {
            16 => .f16,
            32 => .f32,
            64 => .f64,
            else => unreachable,
        },
        abi.dtype_bfloat => .bf16,
        else => unreachable,
    };
}

/// One index space with the strides of `count` views over it. View 0 leads: axes are ordered by its strides.
pub fn Space(comptime count: usize) type {
    return struct {
        rank: usize,
        shape: [max_rank]usize,
        strides: [count][max_rank]isize,

        const Self = @This();

        /// Makes the space of views that all have the shape of the first.
        pub fn of(views: [count]*const View) Self {
            var space: Self = .{ .rank = 0, .shape = @splat(1), .strides = @splat(@splat(0)) };
            for (0..views[0].rank) |axis| {
                if (views[0].shape[axis] == 1) continue;
                space.shape[space.rank] = views[0].shape[axis];
                for (0..count) |k| {
                    std.debug.assert(views[k].shape[axis] == views[0].shape[axis]);
                    space.strides[k][space.rank] = views[k].strides[axis];
                }
                space.rank += 1;
            }
            return space;
        }

        /// Orders the axes by the strides of the leading view, largest first. Only for work whose order does not matter.
        pub fn sort(space: *Self) void {
            for (1..@max(1, space.rank)) |axis| {
                var at = axis;
                while (at > 0 and @abs(space.strides[0][at]) > @abs(space.strides[0][at - 1])) : (at -= 1) {
                    std.mem.swap(usize, &space.shape[at], &space.shape[at - 1]);
                    for (&space.strides) |*strides| std.mem.swap(isize, &strides[at], &strides[at - 1]);
                }
            }
        }

        /// Joins neighbouring axes that every view walks in one step.
        pub fn coalesce(space: *Self) void {
            if (space.rank == 0) return;
            var last: usize = 0;
            for (1..space.rank) |axis| {
                const extent: isize = @intCast(space.shape[axis]);
                var joins = true;
                for (0..count) |k| joins = joins and space.strides[k][last] == space.strides[k][axis] * extent;
                if (!joins) last += 1;
                space.shape[last] = if (joins) space.shape[last] * space.shape[axis] else space.shape[axis];
                for (0..count) |k| space.strides[k][last] = space.strides[k][axis];
            }
            space.rank = last + 1;
            for (space.rank..max_rank) |axis| space.shape[axis] = 1;
        }

        pub fn len(space: *const Self) usize {
            return product(space.shape[0..space.rank]);
        }

        /// Extent of the innermost axis.
        pub fn innerLen(space: *const Self) usize {
            return if (space.rank == 0) 1 else space.shape[space.rank - 1];
        }

        pub fn innerStride(space: *const Self, k: usize) isize {
            return if (space.rank == 0) 0 else space.strides[k][space.rank - 1];
        }

        /// Whether view k names one element throughout.
        pub fn isSplat(space: *const Self, k: usize) bool {
            for (space.strides[k][0..space.rank]) |stride| if (stride != 0) return false;
            return true;
        }

        /// Whether view k names adjacent elements in the order of the space.
        pub fn isDense(space: *const Self, k: usize) bool {
            var dense: isize = 1;
            var axis = space.rank;
            while (axis > 0) {
                axis -= 1;
                if (space.strides[k][axis] != dense) return false;
                dense *= @intCast(space.shape[axis]);
            }
            return true;
        }

        /// Offset of flat index `flat` in view k, in elements.
        pub fn offset(space: *const Self, k: usize, flat: usize) isize {
            if (space.rank == 0) return 0;
            var rest = flat;
            var sum: isize = 0;
            var axis = space.rank;
            while (axis > 1) {
                axis -= 1;
                sum += @as(isize, @intCast(rest % space.shape[axis])) * space.strides[k][axis];
                rest /= space.shape[axis];
            }
            // A division costs more than a short row does, so the outermost axis takes none.
            return sum + @as(isize, @intCast(rest)) * space.strides[k][0];
        }

        /// The offsets of every view, computed with each division once.
        pub fn offsets(space: *const Self, flat: usize) [count]isize {
            var sums: [count]isize = @splat(0);
            if (space.rank == 0) return sums;
            var rest = flat;
            var axis = space.rank;
            while (axis > 1) {
                axis -= 1;
                const index: isize = @intCast(rest % space.shape[axis]);
                for (&sums, &space.strides) |*sum, *strides| sum.* += index * strides[axis];
                rest /= space.shape[axis];
            }
            for (&sums, &space.strides) |*sum, *strides| sum.* += @as(isize, @intCast(rest)) * strides[0];
            return sums;
        }

        /// A walk of view k along the innermost axis, run by run, from flat index `flat` on.
        pub fn walk(space: *const Self, k: usize, flat: usize) Walk {
            var self: Walk = .{ .space = space, .k = k, .index = @splat(0), .start = 0 };
            var rest = flat;
            var axis = space.rank;
            while (axis > 0) {
                axis -= 1;
                self.index[axis] = rest % space.shape[axis];
                rest /= space.shape[axis];
                self.start += @as(isize, @intCast(self.index[axis])) * space.strides[k][axis];
            }
            return self;
        }

        pub const Walk = struct {
            space: *const Self,
            k: usize,
            index: [max_rank]usize,
            /// Offset of the current element.
            start: isize,

            /// Elements to the end of the innermost axis.
            pub fn runLen(self: *const Walk) usize {
                if (self.space.rank == 0) return 1;
                return self.space.innerLen() - self.index[self.space.rank - 1];
            }

            /// Passes `count_passed` elements, at most to the end of the run.
            pub fn pass(self: *Walk, count_passed: usize) void {
                var axis = self.space.rank;
                if (axis == 0) return;
                const strides = &self.space.strides[self.k];
                axis -= 1;
                self.index[axis] += count_passed;
                self.start += @as(isize, @intCast(count_passed)) * strides[axis];
                while (self.index[axis] == self.space.shape[axis]) {
                    self.start -= @as(isize, @intCast(self.space.shape[axis])) * strides[axis];
                    self.index[axis] = 0;
                    if (axis == 0) return;
                    axis -= 1;
                    self.index[axis] += 1;
                    self.start += strides[axis];
                }
            }
        };
    };
}

/// Offset of a flat index in row-major order, in elements.
pub fn offsetOf(view: *const View, flat: usize) isize {
    var rest = flat;
    var sum: isize = 0;
    var axis = view.rank;
    while (axis > 0) {
        axis -= 1;
        sum += @as(isize, @intCast(rest % view.shape[axis])) * view.strides[axis];
        rest /= view.shape[axis];
    }
    return sum;
}

/// Address of the element `elements` away.
pub fn addressAt(view: *const View, elements: isize) usize {
    return view.address +% @as(usize, @bitCast(elements * @as(isize, @intCast(view.storage.bytes()))));
}

pub fn readElements(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    view: *const View,
    walk: anytype,
    len: usize,
    target: [*]T,
) void {
    var done: usize = 0;
    while (done < len) {
        const count = @min(walk.runLen(), len - done);
        table.load(&.{
            .storage = view.storage,
            .address = addressAt(view, walk.start),
            .step = walk.space.innerStride(walk.k),
            .len = count,
            .target = target + done,
        });
        walk.pass(count);
        done += count;
    }
}

pub fn writeElements(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    view: *const View,
    walk: anytype,
    len: usize,
    source: [*]const T,
) void {
    var done: usize = 0;
    while (done < len) {
        const count = @min(walk.runLen(), len - done);
        table.store(&.{
            .storage = view.storage,
            .address = addressAt(view, walk.start),
            .step = walk.space.innerStride(walk.k),
            .len = count,
            .source = source + done,
        });
        walk.pass(count);
        done += count;
    }
}
