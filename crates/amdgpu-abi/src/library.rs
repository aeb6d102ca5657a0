//! Opens the native libraries of the other languages and refuses stale ones.

use std::ffi::c_void;
use std::mem::size_of;
use std::path::{Path, PathBuf};
use std::sync::RwLock;

use libloading::Library;

use crate::environment;
use crate::error::{Coded, ErrorCode};
use crate::layout::{
    ABI_HASH, ABI_VERSION, LAYOUT_MANIFEST, LastError, LibraryInfo, PACKAGE_VERSION, Status, Str,
};

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("{file} was not found; looked in: {looked_in}")]
    Missing { file: String, looked_in: String },
    #[error("{path} cannot be opened: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{path} is stale: {reason}")]
    Stale { path: String, reason: String },
}

impl Coded for LibraryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Missing { .. } | Self::Unreadable { .. } => ErrorCode::LibraryMissing,
            Self::Stale { .. } => ErrorCode::LibraryStale,
        }
    }
}

static REGISTERED_DIRECTORY: RwLock<Option<PathBuf>> = RwLock::new(None);

/// Tell where the package keeps its native libraries (`amdgpu/_lib`). Called once by the Python module when it is imported.
pub fn set_library_directory(directory: PathBuf) {
    if let Ok(mut slot) = REGISTERED_DIRECTORY.write() {
        *slot = Some(directory);
    }
}

/// Folders in which native libraries and the Julia sources are looked for, first match wins.
#[must_use]
pub fn search_directories() -> Vec<PathBuf> {
    let mut directories = Vec::new();
    directories.extend(environment::read(environment::LIBRARY_PATH).map(PathBuf::from));
    directories.extend(
        REGISTERED_DIRECTORY
            .read()
            .ok()
            .and_then(|slot| slot.clone()),
    );
    // Set by cargo for `cargo test` and `cargo run` only: the checkout's own build output.
    directories.extend(
        environment::read("CARGO_MANIFEST_DIR")
            .map(|manifest| Path::new(&manifest).join("../../python/amdgpu/_lib")),
    );
    directories
}

/// The first of the search directories that has `file`.
///
/// # Errors
///
/// [`LibraryError::Missing`] names every folder that was looked in.
pub fn find(file: &str) -> Result<PathBuf, LibraryError> {
    let directories = search_directories();
    directories
        .iter()
        .map(|directory| directory.join(file))
        .find(|path| path.exists())
        .ok_or_else(|| LibraryError::Missing {
            file: file.to_owned(),
            looked_in: if directories.is_empty() {
                "no folder is registered".to_owned()
            } else {
                directories
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            },
        })
}

/// What a library says of itself, copied out.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: String,
    pub version: String,
    pub language: String,
    pub abi_version: u32,
    pub abi_hash: u64,
    pub layout_manifest: String,
}

/// An open native library that fits this build. It stays open for the life of the process: its code may be on any stack.
#[derive(Debug)]
pub struct NativeLibrary {
    handle: &'static Library,
    path: PathBuf,
    description: Description,
}

type DescribeFn = unsafe extern "C" fn(*mut LibraryInfo) -> Status;

impl NativeLibrary {
    /// Open `libagpu_<name>.so` from the search directories.
    ///
    /// # Errors
    ///
    /// The library is missing, cannot be loaded, or was built from another version.
    pub fn open(name: &str) -> Result<Self, LibraryError> {
        Self::open_path(&find(&format!("libagpu_{name}.so"))?, name)
    }

    /// Open the library at `path`, which must call itself `name`.
    ///
    /// # Errors
    ///
    /// As [`NativeLibrary::open`].
    pub fn open_path(path: &Path, name: &str) -> Result<Self, LibraryError> {
        let shown = path.display().to_string();
        // SAFETY: the file is one of our own libraries; their initialisers only set up their own globals.
        let library = unsafe { Library::new(path) }.map_err(|error| LibraryError::Unreadable {
            path: shown.clone(),
            reason: error.to_string(),
        })?;
        let stale = |reason: String| LibraryError::Stale {
            path: shown.clone(),
            reason,
        };
        let description = describe(&library, name).map_err(&stale)?;
        check(&description, name).map_err(&stale)?;
        Ok(Self {
            handle: Box::leak(Box::new(library)),
            path: path.to_owned(),
            description,
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Address of an exported function, for the generated `*Symbols::resolve`.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<*const c_void> {
        // SAFETY: the symbol is read as a bare address and not called here.
        let symbol = unsafe { self.handle.get::<*const c_void>(name.as_bytes()) }.ok()?;
        Some(*symbol)
    }

    /// The error for a library that passed the checks but lacks an entry point.
    #[must_use]
    pub fn lacks(&self, symbol: &str) -> LibraryError {
        LibraryError::Stale {
            path: self.path.display().to_string(),
            reason: format!("it does not export {symbol}"),
        }
    }
}

/// Reads the message of the last failure on this thread.
///
/// # Safety
///
/// `last_error` must be the function of that name of a library that passed [`NativeLibrary::open`].
#[must_use]
pub unsafe fn last_error(
    last_error: unsafe extern "C" fn(*mut LastError) -> Status,
) -> (i32, String) {
    let mut out = LastError {
        size_bytes: size_of::<LastError>() as u64,
        code: 0,
        reserved: 0,
        message: Str {
            ptr: std::ptr::null(),
            len: 0,
        },
    };
    // SAFETY: `out` is a valid struct of the size it states; the text is copied before any other call on this thread.
    unsafe {
        last_error(&raw mut out);
        (out.code, out.message.to_text())
    }
}

fn describe(library: &Library, name: &str) -> Result<Description, String> {
    let symbol = format!("agpu_{name}_describe");
    // SAFETY: the symbol's prototype is fixed by agpu.h since its first version.
    let describe = unsafe { library.get::<DescribeFn>(symbol.as_bytes()) }
        .map_err(|_| format!("it does not export {symbol}"))?;
    let empty = Str {
        ptr: std::ptr::null(),
        len: 0,
    };
    let mut info = LibraryInfo {
        size_bytes: size_of::<LibraryInfo>() as u64,
        abi_version: 0,
        reserved: 0,
        abi_hash: 0,
        name: empty,
        version: empty,
        language: empty,
        layout_manifest: empty,
    };
    // SAFETY: `info` is a valid struct of the size it states; text in it lives as long as the library.
    unsafe {
        let status = describe(&raw mut info);
        if status != 0 {
            return Err(format!("{symbol} failed with status {status}"));
        }
        // A library with another ABI version may lay out the rest differently: read no text from it.
        if info.abi_version != ABI_VERSION {
            return Err(format!(
                "it speaks ABI version {}, this build needs {ABI_VERSION}",
                info.abi_version
            ));
        }
        Ok(Description {
            name: info.name.to_text(),
            version: info.version.to_text(),
            language: info.language.to_text(),
            abi_version: info.abi_version,
            abi_hash: info.abi_hash,
            layout_manifest: info.layout_manifest.to_text(),
        })
    }
}

fn check(description: &Description, name: &str) -> Result<(), String> {
    if description.name != name {
        return Err(format!(
            "it calls itself {:?}, not {name:?}",
            description.name
        ));
    }
    if description.version != PACKAGE_VERSION {
        return Err(format!(
            "it was built for amdgpu {}, this is {PACKAGE_VERSION}",
            description.version
        ));
    }
    if description.layout_manifest != LAYOUT_MANIFEST {
        let differing = LAYOUT_MANIFEST
            .lines()
            .find(|line| {
                !description
                    .layout_manifest
                    .lines()
                    .any(|other| other == *line)
            })
            .and_then(|line| line.split(' ').next())
            .unwrap_or("the list of structs");
        return Err(format!("its layout of {differing} differs from agpu.h"));
    }
    if description.abi_hash != ABI_HASH {
        return Err("it was built from another agpu.h".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting() -> Description {
        Description {
            name: "matrix".into(),
            version: PACKAGE_VERSION.into(),
            language: "zig".into(),
            abi_version: ABI_VERSION,
            abi_hash: ABI_HASH,
            layout_manifest: LAYOUT_MANIFEST.into(),
        }
    }

    #[test]
    fn a_fitting_library_passes_and_each_kind_of_staleness_is_named() {
        assert_eq!(check(&fitting(), "matrix"), Ok(()));
        let spoil = |change: fn(&mut Description)| {
            let mut description = fitting();
            change(&mut description);
            check(&description, "matrix").unwrap_err()
        };
        assert!(spoil(|d| d.name = "neuro".into()).contains("calls itself"));
        assert!(spoil(|d| d.version = "0.0.1".into()).contains("0.0.1"));
        assert!(spoil(|d| d.abi_hash ^= 1).contains("another agpu.h"));
        let manifest = spoil(|d| {
            d.layout_manifest = d
                .layout_manifest
                .replace("agpu_tensor size=48", "agpu_tensor size=40");
        });
        assert!(manifest.contains("agpu_tensor"), "{manifest}");
    }

    #[test]
    fn a_missing_library_names_the_file_and_the_folders() {
        let message = NativeLibrary::open("nowhere").unwrap_err().to_string();
        assert!(message.contains("libagpu_nowhere.so"), "{message}");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_by_name() {
        let path =
            std::env::temp_dir().join(format!("agpu-not-a-library-{}.so", std::process::id()));
        std::fs::write(&path, b"not an ELF file").unwrap();
        let error = NativeLibrary::open_path(&path, "matrix").unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.code(), ErrorCode::LibraryMissing);
        assert!(error.to_string().contains("agpu-not-a-library"));
    }
}
