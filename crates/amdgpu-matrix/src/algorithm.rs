//! Which way a product is computed: the kernel, and how many threads.

use amdgpu_abi::Dtype;

/// What the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub rows: u64,
    pub columns: u64,
    pub depth: u64,
    pub dtype: Dtype,
}

impl Problem {
    /// Multiplications and additions.
    #[must_use]
    pub fn floating_point_operations(&self) -> u64 {
        2_u64
            .saturating_mul(self.rows)
            .saturating_mul(self.columns)
            .saturating_mul(self.depth)
    }

    /// Of both operands and the product, each once, where all are of one dtype; more goes through the caches.
    #[must_use]
    pub fn least_bytes(&self) -> u64 {
        let area = |a: u64, b: u64| a.saturating_mul(b);
        area(self.rows, self.depth)
            .saturating_add(area(self.depth, self.columns))
            .saturating_add(area(self.rows, self.columns))
            .saturating_mul(u64::from(self.dtype.bits).div_ceil(8))
    }
}

/// A choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Instruction set of the micro-kernel, as in the object `gemm_<name>` of `zig/compile.py`.
    pub kernel: Kernel,
    pub threads: u32,
}

/// Micro-kernels of the Zig library on this architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Generic,
    Avx2,
    Avx512,
}

impl Kernel {
    /// The kernel that the Zig library takes on this CPU: the same CPUID bits as `detectInstructionSet` in `zig/src/simd/cpu.zig`.
    #[must_use]
    pub fn of_this_cpu() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2")
                && has!("fma")
                && has!("bmi1")
                && has!("bmi2")
                && has!("f16c")
                && has!("lzcnt")
                && has!("movbe")
            {
                let is_wide = has!("avx512f")
                    && has!("avx512dq")
                    && has!("avx512cd")
                    && has!("avx512bw")
                    && has!("avx512vl");
                return if is_wide { Self::Avx512 } else { Self::Avx2 };
            }
        }
        Self::Generic
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

/// Below this much work one thread does it. Measured on two Zen 4 cores with `cargo bench -p amdgpu-matrix`: with the pool awake two threads
/// are 1.5 times as fast from 64 cubed on, but waking a sleeping pool costs the caller 2 us, which at 96 cubed is an eighth of the time.
const PARALLEL_OPERATIONS: u64 = 2 * 96 * 96 * 96;

impl Algorithm {
    /// The way to compute `problem` on the CPU with at most `thread_limit` threads.
    #[must_use]
    pub fn choose(problem: &Problem, kernel: Kernel, thread_limit: u32) -> Self {
        let is_small = problem.floating_point_operations() < PARALLEL_OPERATIONS;
        Self {
            kernel,
            threads: if is_small { 1 } else { thread_limit.max(1) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_products_stay_on_one_thread() {
        let cube = |n| Problem {
            rows: n,
            columns: n,
            depth: n,
            dtype: Dtype::F32,
        };
        assert_eq!(Algorithm::choose(&cube(16), Kernel::Generic, 8).threads, 1);
        assert_eq!(
            Algorithm::choose(&cube(1024), Kernel::Generic, 8).threads,
            8
        );
        assert_eq!(
            Algorithm::choose(&cube(1024), Kernel::Generic, 0).threads,
            1
        );
        assert_eq!(
            Algorithm::choose(&cube(u64::MAX), Kernel::Generic, 2).threads,
            2
        );
    }
}
