//! Hands index ranges to the executor of the process; without one, the caller does the work.

const abi = @import("../abi.zig");

pub fn threadCount(executor: ?*const abi.Executor) usize {
    const given = executor orelse return 1;
    return @max(1, given.thread_count);
}

pub const Error = error{ExecutorFailed};

/// Runs `job.run(begin, end)` over [0, count).
pub fn run(executor: ?*const abi.Executor, count: usize, comptime Job: type, job: *const Job) Error!void {
    if (count > 1) {
        if (executor) |given| {
            if (given.thread_count > 1) {
                if (given.parallel_for) |parallelFor| {
                    const Task = struct {
                        fn run(data: ?*anyopaque, begin: u64, end: u64) callconv(.c) void {
                            const self: *const Job = @ptrCast(@alignCast(data.?));
                            self.run(begin, end);
                        }
                    };
                    const status = parallelFor(given.context, count, &Task.run, @constCast(job));
                    return if (status == abi.ok) {} else error.ExecutorFailed;
                }
            }
        }
    }
    job.run(0, count);
}
