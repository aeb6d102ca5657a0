//! Makes room in a folder of cached kernels.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Endings of the names of entries, and of files that are not yet entries.
pub(super) const ENTRY: &str = "agpu";
pub(super) const UNFINISHED: &str = "tmp";
/// After this time nobody is writing an unfinished file any more: its process was killed.
const ABANDONED: Duration = Duration::from_secs(3600);
/// A full folder is emptied by this part more than it has to be, so that not every new entry has to look for the oldest.
const SPARE_PART: u64 = 10;

struct Found {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// Remove the entries of a folder that were used longest ago until all together have at most `limit_bytes`; `newest` stays in any case.
///
/// Of several processes that do this at once each may remove a few more than it had to.
pub(super) fn make_room(folder: &Path, newest: &Path, limit_bytes: u64) {
    let now = SystemTime::now();
    let mut entries = Vec::new();
    for found in files(folder) {
        match found.path.extension().and_then(|ending| ending.to_str()) {
            Some(ENTRY) => entries.push(found),
            Some(UNFINISHED) if age(now, found.used) > ABANDONED => remove(&found.path),
            _ => {}
        }
    }
    let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if bytes <= limit_bytes {
        return;
    }
    entries.sort_by_key(|entry| entry.used);
    for entry in entries.iter().filter(|entry| entry.path != newest) {
        if bytes <= limit_bytes - limit_bytes / SPARE_PART {
            break;
        }
        remove(&entry.path);
        bytes -= entry.bytes;
    }
}

/// How long ago something was; no time at all for what lies in the future.
pub(super) fn age(now: SystemTime, then: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}

fn files(folder: &Path) -> impl Iterator<Item = Found> {
    let listing = fs::read_dir(folder).into_iter().flatten().flatten();
    listing.filter_map(|file| {
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Found {
            used: metadata.modified().ok()?,
            bytes: metadata.len(),
            path: file.path(),
        })
    })
}

fn remove(path: &Path) {
    // Another process may have been first; what cannot be removed is tried again with the next entry.
    let _ = fs::remove_file(path);
}
