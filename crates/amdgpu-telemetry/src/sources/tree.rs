//! Files of the kernel, read with bounds: they may vanish, refuse, answer garbage or never end.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{Absence, Value};

/// More than any file that is read here; `/proc/stat` of a thousand processors takes half of it.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// More entries than any folder that is listed here has.
const MAX_ENTRIES: usize = 65_536;

/// The root under which `sys` and `proc` lie: `/`, or a copy of another machine's.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Default for Tree {
    fn default() -> Self {
        Self::at("/")
    }
}

impl Tree {
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The place of `path`, which is relative to the root.
    #[must_use]
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Names in a folder, sorted; none if it is not there.
    #[must_use]
    pub fn list(&self, path: &str) -> Vec<String> {
        names(&self.join(path))
    }
}

/// Names in a folder, sorted; none if it is not there.
pub(super) fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .take(MAX_ENTRIES)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

fn absence(path: &Path, error: &std::io::Error) -> Absence {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound => format!("the driver has no file {name}").into(),
        // What drivers answer while a device is reset or on its way to sleep.
        _ if error.raw_os_error() == Some(libc::EPERM) => {
            format!("{name} is refused at the moment").into()
        }
        ErrorKind::PermissionDenied => format!("{name} may be read by root only").into(),
        _ => format!("{name}: {error}").into(),
    }
}

/// What is in a file, as bytes.
pub(super) fn bytes_into(path: &Path, buf: &mut Vec<u8>) -> Result<(), Absence> {
    buf.clear();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(buf));
    read.map(drop).map_err(|error| absence(path, &error))
}

/// What is in a file, without white space around it. Bytes that are no text become replacement characters.
pub(super) fn text(path: &Path) -> Result<String, Absence> {
    let mut buf = Vec::new();
    bytes_into(path, &mut buf)?;
    Ok(String::from_utf8_lossy(&buf).trim().to_owned())
}

/// A file that holds a number and nothing else.
pub(super) fn number<T: FromStr>(path: &Path) -> Result<T, Absence> {
    let text = text(path)?;
    text.parse().map_err(|_| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let shown: String = text.chars().take(40).collect();
        format!("{name} holds no number but `{shown}`").into()
    })
}

/// A file that holds an integer in small units: `scale` of them make one of ours.
pub(super) fn scaled(path: &Path, scale: f64) -> Value {
    number::<i64>(path).map(|value| value as f64 / scale)
}

/// The same where a value below zero cannot be.
pub(super) fn scaled_unsigned(path: &Path, scale: f64) -> Value {
    let value = number::<i64>(path)?;
    if value < 0 {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Err(format!("{name} reads {value}, which cannot be").into());
    }
    Ok(value as f64 / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_has_a_reason() {
        let folder = std::env::temp_dir().join(format!("amdgpu-tree-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("value");
        for (content, expected) in [
            ("", "no number but ``"),
            ("0x10", "`0x10`"),
            ("99999999999999999999", "no number"),
            ("1 2", "`1 2`"),
        ] {
            fs::write(&path, content).unwrap();
            let reason = scaled(&path, 1.0).unwrap_err().to_string();
            assert!(reason.contains(expected), "{reason}");
        }
        fs::write(&path, b"\xff\xfe\x00").unwrap();
        assert!(scaled(&path, 1.0).is_err());
        fs::write(&path, " 41500\n").unwrap();
        assert_eq!(scaled(&path, 1000.0), Ok(41.5));
        fs::write(&path, "-1").unwrap();
        assert!(scaled_unsigned(&path, 1.0).is_err());
        assert_eq!(scaled(&path, 1.0), Ok(-1.0));
        fs::remove_dir_all(&folder).unwrap();
        let reason = scaled(&path, 1.0).unwrap_err().to_string();
        assert_eq!(reason, "the driver has no file value");
    }

    #[test]
    fn reasons_say_who_refuses() {
        let said = |code| {
            let error = std::io::Error::from_raw_os_error(code);
            absence(Path::new("/sys/energy_uj"), &error).to_string()
        };
        assert_eq!(said(libc::EACCES), "energy_uj may be read by root only");
        assert_eq!(said(libc::EPERM), "energy_uj is refused at the moment");
        assert_eq!(said(libc::ENOENT), "the driver has no file energy_uj");
        assert!(said(libc::EBUSY).starts_with("energy_uj: "));
        assert!(said(libc::EIO).starts_with("energy_uj: "));
    }

    #[test]
    fn files_without_an_end_are_cut() {
        let mut buf = Vec::new();
        bytes_into(Path::new("/dev/zero"), &mut buf).unwrap();
        assert_eq!(buf.len() as u64, MAX_FILE_BYTES);
    }
}
