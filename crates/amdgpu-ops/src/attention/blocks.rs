//! Whether attention is computed by products, and of how many heads at a time.

/// Multiplications that a work-item of the other kernels does one after the other: of more, the products' launches take less time.
const SERIAL_LIMIT: i64 = 2048;
/// Scores of a block of heads: most of them are still in the second cache of a large GPU when they are read.
const BLOCK_BYTES: i64 = 64 << 20;
/// Scores of one key head at most.
const HEAD_BYTES_LIMIT: i64 = 1 << 30;

/// The extents of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extents {
    pub key_heads: i64,
    /// Heads of queries for each of keys.
    pub group: i64,
    pub queries: i64,
    pub keys: i64,
    pub size: i64,
    pub value_size: i64,
}

/// Key heads that are computed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    pub heads: i64,
}

impl Blocks {
    /// `None` where products are not faster, or the scores of one head are too many.
    pub fn of(extents: Extents, score_bytes: i64) -> Option<Self> {
        let Extents {
            key_heads,
            group,
            queries,
            keys,
            size,
            value_size,
        } = extents;
        if key_heads == 0 || queries == 0 || keys.saturating_mul(size + value_size) < SERIAL_LIMIT {
            return None;
        }
        let scores = group.saturating_mul(queries).saturating_mul(keys);
        let bytes = scores.saturating_mul(score_bytes);
        let heads = (BLOCK_BYTES / bytes).clamp(1, key_heads);
        (bytes <= HEAD_BYTES_LIMIT).then_some(Self { heads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_products_of_as_many_heads_as_fit() {
        let of = |key_heads, group, length, size| {
            let extents = Extents {
                key_heads,
                group,
                queries: length,
                keys: length,
                size,
                value_size: size,
            };
            Blocks::of(extents, 4).map(|blocks| blocks.heads)
        };
        assert_eq!(of(192, 1, 128, 64), Some(192));
        assert_eq!(of(48, 1, 1024, 64), Some(16));
        assert_eq!(of(12, 4, 1024, 64), Some(4));
        // One head by itself is more than a block, and too much.
        assert_eq!(of(12, 1, 8192, 64), Some(1));
        assert_eq!(of(12, 1, 32_768, 64), None);
        // Few steps of a work-item, and nothing at all.
        assert_eq!(of(12, 1, 10, 64), None);
        assert_eq!(of(0, 1, 128, 64), None);
        assert_eq!(of(12, 1, 0, 64), None);
    }
}
