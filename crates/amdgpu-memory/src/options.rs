//! The allocator's knobs, named as PyTorch names them.

use crate::sizes::LARGE_SEGMENT_BYTES;
use crate::{Error, Result};

/// How an allocator behaves. The default suits most programs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AllocatorOptions {
    /// Blocks of at least this size are never split, which keeps large segments whole. More than 20. `None`: no limit.
    pub max_split_size_mb: Option<u64>,
    /// When more than this share (0 to 1, exclusive) of the device's memory is reserved, large cached segments that were not used for the
    /// longest time are given back before a new one is asked for. `None`: only when the device is full.
    pub garbage_collection_threshold: Option<f64>,
    /// The most this allocator reserves from the device, for each kind of memory. `None`: what the device has.
    pub limit_bytes: Option<u64>,
    /// Index of the device in `list_devices()`, for telemetry records.
    pub device_index: Option<u16>,
}

impl AllocatorOptions {
    /// Reads PyTorch's notation.
    ///
    /// ```
    /// use amdgpu_memory::AllocatorOptions;
    ///
    /// let options = AllocatorOptions::parse("max_split_size_mb:128,garbage_collection_threshold:0.8")?;
    /// assert_eq!(options.max_split_size_mb, Some(128));
    /// # Ok::<(), amdgpu_memory::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let mut options = Self::default();
        for entry in text
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            let (name, value) = entry.split_once(':').unwrap_or((entry, ""));
            let invalid = |expected| Error::InvalidOption {
                name: name.trim().to_string(),
                value: value.trim().to_string(),
                expected,
            };
            match name.trim() {
                "max_split_size_mb" => {
                    let parsed = value.trim().parse();
                    options.max_split_size_mb = Some(parsed.map_err(|_| invalid(SPLIT_EXPECTED))?);
                }
                "garbage_collection_threshold" => {
                    let parsed = value.trim().parse();
                    options.garbage_collection_threshold =
                        Some(parsed.map_err(|_| invalid(THRESHOLD_EXPECTED))?);
                }
                _ => return Err(invalid(NAME_EXPECTED)),
            }
        }
        options.check()?;
        Ok(options)
    }

    /// Refuses values that make no sense.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(size) = self.max_split_size_mb
            && (size <= LARGE_SEGMENT_BYTES >> 20 || size > u64::MAX >> 20)
        {
            return Err(Error::InvalidOption {
                name: "max_split_size_mb".to_string(),
                value: size.to_string(),
                expected: SPLIT_EXPECTED,
            });
        }
        if let Some(threshold) = self.garbage_collection_threshold
            && !(threshold > 0.0 && threshold < 1.0)
        {
            return Err(Error::InvalidOption {
                name: "garbage_collection_threshold".to_string(),
                value: threshold.to_string(),
                expected: THRESHOLD_EXPECTED,
            });
        }
        Ok(())
    }

    pub(crate) fn max_split_bytes(&self) -> u64 {
        self.max_split_size_mb.map_or(u64::MAX, |size| size << 20)
    }
}

const SPLIT_EXPECTED: &str = "a whole number of mebibytes greater than 20";
const THRESHOLD_EXPECTED: &str = "a number between 0 and 1, both excluded";
const NAME_EXPECTED: &str = "max_split_size_mb or garbage_collection_threshold";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytorch_notation_is_read() {
        let options =
            AllocatorOptions::parse(" max_split_size_mb:128, garbage_collection_threshold : 0.8,")
                .unwrap();
        assert_eq!(options.max_split_size_mb, Some(128));
        assert_eq!(options.garbage_collection_threshold, Some(0.8));
        assert_eq!(
            AllocatorOptions::parse("").unwrap(),
            AllocatorOptions::default()
        );
    }

    #[test]
    fn values_that_make_no_sense_are_refused_by_name() {
        for text in [
            "max_split_size_mb:20",
            "max_split_size_mb:-1",
            "max_split_size_mb",
            "max_split_size_mb:99999999999999",
            "garbage_collection_threshold:0",
            "garbage_collection_threshold:1",
            "garbage_collection_threshold:nan",
            "garbage_collection:0.5",
        ] {
            let error = AllocatorOptions::parse(text).unwrap_err();
            let name = text.split(':').next().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
