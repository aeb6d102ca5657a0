//! Files of databases: read as a whole, replaced as a whole, and kept aside when they are damaged.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Larger files are not ours.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Damaged files that are kept for a look; the last name is used again and again.
const MAX_SET_ASIDE: usize = 10;

/// The text of a file; `None` where there is none.
pub(super) fn text_of(path: &Path) -> Result<Option<String>, String> {
    let is_absent = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > MAX_FILE_BYTES => {
            return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
        }
        Err(error) if is_absent(&error) => return Ok(None),
        _ => {}
    }
    fs::read_to_string(path)
        .map(Some)
        .map_err(|error| error.to_string())
}

/// Gives a damaged file another name, so that a new one can take its place.
pub(super) fn set_aside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let names: Vec<PathBuf> = (0..MAX_SET_ASIDE)
        .map(|number| path.with_file_name(format!("{name}.damaged-{number}")))
        .collect();
    let free = names.iter().find(|name| !name.exists());
    let target = free.or(names.last())?;
    fs::rename(path, target).ok()?;
    Some(target.clone())
}

/// No reader ever sees half a file.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("json.{}.{serial}.draft", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = File::create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().inspect_err(|_| {
        // What matters is that no half-written file stays.
        let _ = fs::remove_file(&draft);
    })
}
