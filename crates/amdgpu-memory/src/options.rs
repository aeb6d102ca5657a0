//! The allocator's knobs, named as PyTorch names them.

use amdgpu_abi::environment;

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
    /// Reads the notation of `PYTORCH_ALLOC_CONF`, with `limit_bytes` beside PyTorch's names.
    ///
    /// ```
    /// use amdgpu_memory::AllocatorOptions;
    ///
    /// let options = AllocatorOptions::parse("max_split_size_mb:128,garbage_collection_threshold:0.8")?;
    /// assert_eq!(options.max_split_size_mb, Some(128));
    /// # Ok::<(), amdgpu_memory::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An unknown name, or a value that makes no sense.
    pub fn parse(text: &str) -> Result<Self> {
        let mut options = Self::default();
        let entries = text.split(',').map(str::trim);
        for entry in entries.filter(|entry| !entry.is_empty()) {
            let (name, value) = entry.split_once(':').unwrap_or((entry, ""));
            options.set(name.trim(), value.trim())?;
        }
        options.check()?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let invalid = |expected| invalid(name, &value, expected);
        match name {
            "max_split_size_mb" => {
                let parsed = value.parse().map_err(|_| invalid(SPLIT_EXPECTED))?;
                self.max_split_size_mb = Some(parsed);
            }
            "garbage_collection_threshold" => {
                let parsed = value.parse().map_err(|_| invalid(THRESHOLD_EXPECTED))?;
                self.garbage_collection_threshold = Some(parsed);
            }
            "limit_bytes" => {
                let parsed = value.parse().map_err(|_| invalid(LIMIT_EXPECTED))?;
                self.limit_bytes = Some(parsed);
            }
            "expandable_segments" if value.eq_ignore_ascii_case("false") => {}
            "expandable_segments" => return Err(invalid(EXPANDABLE_EXPECTED)),
            _ => return Err(invalid(NAME_EXPECTED)),
        }
        Ok(())
    }

    /// What the environment variable `AMDGPU_ALLOC_CONF` says, in the notation of [`Self::parse`].
    ///
    /// # Errors
    ///
    /// A text that cannot be understood; the message names the variable.
    pub fn from_environment() -> Result<Self> {
        let Some(text) = environment::read(environment::ALLOC_CONF) else {
            return Ok(Self::default());
        };
        Self::parse(&text).map_err(|error| match error {
            Error::InvalidOption {
                name,
                value,
                expected,
            } => Error::InvalidOption {
                name: format!("{}: {name}", environment::ALLOC_CONF),
                value,
                expected,
            },
            error => error,
        })
    }

    /// These options; where one is not given, that of `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            max_split_size_mb: self.max_split_size_mb.or(others.max_split_size_mb),
            garbage_collection_threshold: self
                .garbage_collection_threshold
                .or(others.garbage_collection_threshold),
            limit_bytes: self.limit_bytes.or(others.limit_bytes),
            device_index: self.device_index.or(others.device_index),
        }
    }

    /// Whether an allocator that was opened with `others` behaves as these options ask: those that are not given ask for nothing.
    #[must_use]
    pub fn agrees_with(self, others: Self) -> bool {
        let wanted = Self {
            device_index: others.device_index,
            ..self
        };
        wanted.or(others) == others
    }

    /// Refuses values that make no sense.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(size) = self.max_split_size_mb
            && (size <= LARGE_SEGMENT_BYTES >> 20 || size > u64::MAX >> 20)
        {
            return Err(invalid("max_split_size_mb", &size, SPLIT_EXPECTED));
        }
        if let Some(threshold) = self.garbage_collection_threshold
            && !(threshold > 0.0 && threshold < 1.0)
        {
            let name = "garbage_collection_threshold";
            return Err(invalid(name, &threshold, THRESHOLD_EXPECTED));
        }
        Ok(())
    }

    pub(crate) fn max_split_bytes(&self) -> u64 {
        self.max_split_size_mb.map_or(u64::MAX, |size| size << 20)
    }
}

fn invalid(name: &str, value: &dyn ToString, expected: &'static str) -> Error {
    Error::InvalidOption {
        name: name.to_string(),
        value: value.to_string(),
        expected,
    }
}

const SPLIT_EXPECTED: &str = "a whole number of mebibytes greater than 20";
const THRESHOLD_EXPECTED: &str = "a number between 0 and 1, both excluded";
const LIMIT_EXPECTED: &str = "a whole number of bytes";
const EXPANDABLE_EXPECTED: &str = "False: segments of this allocator keep their size";
const NAME_EXPECTED: &str =
    "max_split_size_mb, garbage_collection_threshold, limit_bytes or expandable_segments";

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
        let limited = AllocatorOptions::parse("limit_bytes:4096,expandable_segments:False");
        assert_eq!(limited.unwrap().limit_bytes, Some(4096));
        assert_eq!(
            AllocatorOptions::parse("").unwrap(),
            AllocatorOptions::default()
        );
    }

    #[test]
    fn options_that_are_not_given_come_from_the_others_and_ask_for_nothing() {
        let parse = |text| AllocatorOptions::parse(text).unwrap();
        let given = parse("max_split_size_mb:128,limit_bytes:4096");
        let others = parse("max_split_size_mb:64,garbage_collection_threshold:0.8");
        let both = given.or(others);
        assert_eq!(
            both,
            parse("max_split_size_mb:128,garbage_collection_threshold:0.8,limit_bytes:4096")
        );
        assert!(AllocatorOptions::default().agrees_with(both) && given.agrees_with(both));
        assert!(!others.agrees_with(both) && !both.agrees_with(AllocatorOptions::default()));
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
            "limit_bytes:1e9",
            "expandable_segments:True",
        ] {
            let error = AllocatorOptions::parse(text).unwrap_err();
            let name = text.split(':').next().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
