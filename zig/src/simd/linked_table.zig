//! Tables of routines that are compiled in an object file of their own, one for each instruction set, and linked with the rest of the library.
//!
//! Both sides are compiled from the same sources with the same optimisation mode (zig/compile.py), so that they agree on the layout of a
//! table and of the jobs that its functions take.

/// Publishes `table` (a pointer to a table of routines) to the other objects of the library, not to those who link the library.
pub fn publish(comptime table: anytype, comptime family: []const u8, comptime set: []const u8, comptime number: []const u8) void {
    const Holder = struct {
        const address: @TypeOf(table) = table;
    };
    @export(&Holder.address, .{ .name = symbol(family, set, number), .visibility = .hidden });
}

/// The table that the object of an instruction set published.
pub inline fn find(comptime Table: type, comptime family: []const u8, comptime set: []const u8, comptime number: []const u8) *const Table {
    return @extern(*const *const Table, .{ .name = symbol(family, set, number), .visibility = .hidden }).*;
}

fn symbol(comptime family: []const u8, comptime set: []const u8, comptime number: []const u8) []const u8 {
    return "agpu_" ++ family ++ "_" ++ set ++ "_" ++ number;
}
