//! A lock for short critical sections. Spins, then yields: nothing here is held longer than a few hundred instructions.

const std = @import("std");

pub const Lock = struct {
    held: std.atomic.Value(bool) = .init(false),

    /// About two microseconds of spinning; longer than any section below, shorter than a time slice.
    const spins_before_yield = 100;

    pub fn acquire(lock: *Lock) void {
        var spins: usize = 0;
        while (lock.held.swap(true, .acquire)) {
            while (lock.held.load(.monotonic)) {
                spins += 1;
                if (spins < spins_before_yield) std.atomic.spinLoopHint() else std.Thread.yield() catch {};
            }
        }
    }

    /// Gives up after a bounded wait. For callers that can do without the lock, such as a child process forked while its parent held the lock.
    pub fn tryAcquire(lock: *Lock) bool {
        for (0..spins_before_yield) |_| {
            if (!lock.held.swap(true, .acquire)) return true;
            std.atomic.spinLoopHint();
        }
        return false;
    }

    pub fn release(lock: *Lock) void {
        lock.held.store(false, .release);
    }
};

test "a held lock is not waited for without bound" {
    var lock: Lock = .{};
    try std.testing.expect(lock.tryAcquire());
    try std.testing.expect(!lock.tryAcquire());
    lock.release();
    try std.testing.expect(lock.tryAcquire());
}

test "the lock excludes other threads" {
    const Counter = struct {
        lock: Lock = .{},
        value: usize = 0,

        fn add(counter: *@This()) void {
            for (0..10_000) |_| {
                counter.lock.acquire();
                counter.value += 1;
                counter.lock.release();
            }
        }
    };
    var counter: Counter = .{};
    var threads: [4]std.Thread = undefined;
    for (&threads) |*thread| thread.* = try std.Thread.spawn(.{}, Counter.add, .{&counter});
    for (threads) |thread| thread.join();
    try std.testing.expectEqual(40_000, counter.value);
}
