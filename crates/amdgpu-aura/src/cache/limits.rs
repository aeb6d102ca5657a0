//! How much compiled code is kept, in memory and on disk.

use amdgpu_abi::environment::{self, CACHE_DISK_BYTES, CACHE_MEMORY_BYTES};

use crate::error::{Error, Result};

/// Some 2,500 small kernels: more than any program has in use, and little beside what a process with LLVM in it takes.
const MEMORY_BYTES: u64 = 64 << 20;
/// Some 100,000 small kernels.
const DISK_BYTES: u64 = 1 << 30;

/// Limits of the kernel cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheLimits {
    /// Of each open device.
    pub memory_bytes: usize,
    pub disk_bytes: u64,
}

impl CacheLimits {
    /// What the environment says, or the defaults.
    ///
    /// # Errors
    ///
    /// A variable that is no number of bytes.
    pub fn from_environment() -> Result<Self> {
        let memory_bytes = read(CACHE_MEMORY_BYTES, MEMORY_BYTES)?;
        Ok(Self {
            memory_bytes: usize::try_from(memory_bytes).unwrap_or(usize::MAX),
            disk_bytes: read(CACHE_DISK_BYTES, DISK_BYTES)?,
        })
    }
}

fn read(variable: &'static str, default: u64) -> Result<u64> {
    environment::read(variable).map_or(Ok(default), |text| parse(variable, &text))
}

fn parse(variable: &'static str, text: &str) -> Result<u64> {
    let number = text.trim().parse::<u64>().ok().filter(|bytes| *bytes > 0);
    number.ok_or_else(|| {
        Error::Hal(amdgpu_hal::Error::InvalidEnvironment {
            variable,
            value: text.to_owned(),
            expected: "a positive number of bytes",
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_of_bytes_is_refused() {
        assert_eq!(parse(CACHE_DISK_BYTES, " 4096 ").ok(), Some(4096));
        for text in ["0", "-1", "1G", "", "18446744073709551616"] {
            let message = parse(CACHE_DISK_BYTES, text).unwrap_err().to_string();
            let expected =
                format!("AMDGPU_CACHE_DISK_BYTES is `{text}`; expected a positive number of bytes");
            assert_eq!(message, expected);
        }
    }
}
