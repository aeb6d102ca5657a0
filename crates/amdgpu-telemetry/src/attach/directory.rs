//! The private folder of the sockets.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use amdgpu_abi::environment;

/// Ending of the name of a socket; before it stands the number of the process.
const EXTENSION: &str = "sock";
/// Sockets of one folder that are looked at: far more than processes of one user that use a device.
const MAX_SOCKETS: usize = 4096;

pub(super) fn user() -> u32 {
    // SAFETY: takes nothing, touches no memory, cannot fail.
    unsafe { libc::geteuid() }
}

/// The folders in which this user's processes may listen, the preferred one first.
pub(super) fn candidates() -> Vec<PathBuf> {
    let runtime = environment::read("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .map(|path| path.join("amdgpu"));
    let fallback = PathBuf::from(format!("/tmp/amdgpu-{}", user()));
    runtime.into_iter().chain([fallback]).collect()
}

/// Whether a folder is this user's alone.
fn check(path: &Path) -> io::Result<()> {
    let refuse = |reason| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    // Not followed: a link in a folder that everybody may write to could lead anywhere.
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return refuse("it is no folder");
    }
    if metadata.uid() != user() {
        return refuse("it belongs to another user");
    }
    if metadata.mode() & 0o077 != 0 {
        return refuse("others may enter it");
    }
    Ok(())
}

fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => check(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(path),
        Err(error) => Err(error),
    }
}

/// A private folder, made where there is none; otherwise why there can be none.
///
/// # Errors
///
/// Each folder that was tried, with what is wrong with it.
pub fn prepare() -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for path in candidates() {
        match make(&path) {
            Ok(()) => return Ok(path),
            Err(error) => reasons.push(format!("{}: {error}", path.display())),
        }
    }
    Err(reasons.join("; "))
}

/// Where a process listens in a folder.
pub(super) fn socket_of(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{pid}.{EXTENSION}"))
}

/// The process of a socket's name.
fn pid_of(path: &Path) -> Option<u32> {
    (path.extension() == Some(OsStr::new(EXTENSION)))
        .then(|| path.file_stem()?.to_str()?.parse().ok())
        .flatten()
}

/// Every socket that is there, of living and of dead processes, by number. Folders that are not private are passed over.
pub(super) fn sockets() -> Vec<(u32, PathBuf)> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for folder in candidates() {
        if check(&folder).is_err() {
            continue;
        }
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten().take(MAX_SOCKETS) {
            let path = entry.path();
            if let Some(pid) = pid_of(&path)
                && !found.iter().any(|(known, _)| *known == pid)
            {
                found.push((pid, path));
            }
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder of this test's own.
    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("agpu-attach-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn a_new_folder_is_private() {
        let base = scratch("new");
        let path = base.join("amdgpu");
        make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        make(&path).unwrap();
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn folders_that_others_may_enter_links_and_files_are_refused() {
        let base = scratch("refused");
        let open = base.join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make(&open).unwrap_err().to_string().contains("others"));
        let private = base.join("private");
        make(&private).unwrap();
        let link = base.join("link");
        symlink(&private, &link).unwrap();
        assert!(make(&link).unwrap_err().to_string().contains("no folder"));
        let file = base.join("file");
        fs::write(&file, "").unwrap();
        assert!(make(&file).is_err());
        assert!(make(&base.join("missing/deep")).is_err());
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn names_of_sockets_are_numbers_of_processes() {
        assert_eq!(pid_of(&socket_of(Path::new("/x"), 12)), Some(12));
        for other in ["/x/12", "/x/12.txt", "/x/a.sock", "/x/.sock", "/x/-1.sock"] {
            assert_eq!(pid_of(Path::new(other)), None, "{other}");
        }
    }
}
