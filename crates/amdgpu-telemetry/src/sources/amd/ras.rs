//! Memory errors that a card counted.
//!
//! Source: `drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c`, "AMDGPU RAS sysfs Error Count Interface": a file for each block, with lines `ue: N` and
//! `ce: N`, and `de: N` on newer cards.

use std::path::Path;

use super::super::{Absence, Value, tree};

/// Blocks of a card, at most.
const MAX_BLOCKS: usize = 64;

/// Sums over the blocks, by severity. A card without the feature has one absent value that says so.
pub(super) fn count(folder: &Path) -> Vec<(&'static str, Value)> {
    let mut sums = [
        ("corrected", "ce", None),
        ("uncorrected", "ue", None),
        ("deferred", "de", None),
    ];
    let mut failure = None;
    let files = tree::names(folder);
    for file in files
        .iter()
        .filter(|file| file.ends_with("_err_count"))
        .take(MAX_BLOCKS)
    {
        match tree::text(&folder.join(file)) {
            Ok(text) => {
                for (_, key, sum) in &mut sums {
                    if let Some(errors) = entry(&text, key) {
                        *sum = Some(sum.unwrap_or(0.0) + errors as f64);
                    }
                }
            }
            Err(reason) => failure = Some(reason),
        }
    }
    if sums.iter().all(|(_, _, sum)| sum.is_none()) {
        let reason = failure.unwrap_or(Absence::new("the card counts no memory errors"));
        return vec![("uncorrected", Err(reason))];
    }
    sums.into_iter()
        .filter_map(|(severity, _, sum)| Some((severity, Ok(sum?))))
        .collect()
}

fn entry(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, number) = line.split_once(':')?;
        (name.trim() == key).then(|| number.trim().parse().ok())?
    })
}
