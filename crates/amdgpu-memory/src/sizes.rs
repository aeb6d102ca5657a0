//! Sizes of blocks and segments, with the constants of PyTorch's `CUDACachingAllocator`, so that its documentation holds here too.

/// Blocks are multiples of this.
pub(crate) const MIN_BLOCK_BYTES: u64 = 512;
/// The largest block of the small pool.
pub(crate) const SMALL_BYTES: u64 = 1 << 20;
/// A segment of the small pool.
pub(crate) const SMALL_SEGMENT_BYTES: u64 = 2 << 20;
/// The usual segment of the large pool.
pub(crate) const LARGE_SEGMENT_BYTES: u64 = 20 << 20;
/// Blocks from this size on get a segment of their own, rounded to `ROUND_LARGE_BYTES`.
const MIN_LARGE_BYTES: u64 = 10 << 20;
const ROUND_LARGE_BYTES: u64 = 2 << 20;

/// The size of the block that serves a request; `None` past the range of addresses.
pub(crate) fn round(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(MIN_BLOCK_BYTES)
}

/// Whether a block of this rounded size belongs to the small pool.
pub(crate) const fn is_small(rounded_bytes: u64) -> bool {
    rounded_bytes <= SMALL_BYTES
}

/// The segment to ask the device for when no cached block serves a request of this rounded size.
pub(crate) fn segment(rounded_bytes: u64) -> Option<u64> {
    if is_small(rounded_bytes) {
        Some(SMALL_SEGMENT_BYTES)
    } else if rounded_bytes < MIN_LARGE_BYTES {
        Some(LARGE_SEGMENT_BYTES)
    } else {
        rounded_bytes.checked_next_multiple_of(ROUND_LARGE_BYTES)
    }
}

/// Bytes as a person reads them.
#[must_use]
pub fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_rounded_to_512_bytes() {
        for (bytes, rounded) in [
            (0, 512),
            (1, 512),
            (512, 512),
            (513, 1024),
            (1 << 20, 1 << 20),
        ] {
            assert_eq!(round(bytes), Some(rounded));
        }
        assert_eq!(round(u64::MAX), None);
        assert_eq!(round(u64::MAX - 511), Some(u64::MAX - 511));
    }

    #[test]
    fn segments_follow_the_size_of_the_block() {
        let mebibytes = |count: u64| count << 20;
        let cases = [
            (512, mebibytes(2)),
            (mebibytes(1), mebibytes(2)),
            (mebibytes(1) + 512, mebibytes(20)),
            (mebibytes(10) - 512, mebibytes(20)),
            (mebibytes(10), mebibytes(10)),
            (mebibytes(11), mebibytes(12)),
            (mebibytes(100) + 512, mebibytes(102)),
        ];
        for (rounded, expected) in cases {
            assert_eq!(segment(rounded), Some(expected), "{rounded}");
        }
        assert_eq!(segment(u64::MAX - 511), None);
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(readable(0), "0 bytes");
        assert_eq!(readable(1536), "1.50 KiB");
        assert_eq!(readable(20 << 20), "20.00 MiB");
        assert_eq!(readable(u64::MAX), "16384.00 PiB");
    }
}
