//! Which Python runs LLVM for a program without Python.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amdgpu_abi::environment;

use crate::folder::own_folder;

/// Beside the library: the interpreter that a build in a working tree belongs to.
const BUILT_WITH: &str = "python-interpreter";

/// What the interpreter runs; its argument is the folder that the package is in, where the library knows it.
pub const PROGRAM: &str =
    "import sys; sys.path[:0] = sys.argv[1:]; from amdgpu.codegen.remote import main; main()";

/// The interpreter: that of `AMDGPU_PYTHON`, the one that the library was built or installed with, or `python3`.
pub fn find() -> PathBuf {
    if let Some(named) = environment::read(environment::PYTHON) {
        return PathBuf::from(named);
    }
    let installed =
        own_folder().and_then(|folder| built_with(&folder).or_else(|| installed_with(&folder)));
    installed.unwrap_or_else(|| PathBuf::from("python3"))
}

/// What to do when it fails.
pub fn advice() -> String {
    format!(
        "set {} to a Python that has the package amdgpu-framework (pip install amdgpu-framework)",
        environment::PYTHON
    )
}

/// The folder that holds the package `amdgpu`, when the library lies inside of it.
pub fn package_folder() -> Option<PathBuf> {
    let package = own_folder()?.parent()?.to_path_buf();
    package
        .join("codegen/remote.py")
        .exists()
        .then(|| package.parent().map(Path::to_path_buf))?
}

fn built_with(folder: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(folder.join(BUILT_WITH)).ok()?;
    Some(PathBuf::from(text.trim())).filter(|path| is_executable(path))
}

/// `PREFIX/bin/python3` of a library in `PREFIX/lib/python3.N/site-packages/amdgpu/_lib`.
fn installed_with(folder: &Path) -> Option<PathBuf> {
    Some(prefix_of(folder)?.join("bin/python3")).filter(|path| is_executable(path))
}

/// What is installed under a prefix with the folder of packages that `folder` is in.
fn prefix_of(folder: &Path) -> Option<&Path> {
    let is_packages = |name: &OsStr| name == "site-packages" || name == "dist-packages";
    let packages = folder
        .ancestors()
        .find(|path| path.file_name().is_some_and(is_packages))?;
    packages.ancestors().nth(3)
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_three_folders_above_the_packages() {
        for (folder, prefix) in [
            (
                "/opt/env/lib/python3.11/site-packages/amdgpu/_lib",
                Some("/opt/env"),
            ),
            ("/usr/lib/python3/dist-packages/amdgpu/_lib", Some("/usr")),
            ("/src/tree/python/amdgpu/_lib", None),
            ("/usr/local/lib", None),
        ] {
            assert_eq!(
                prefix_of(Path::new(folder)),
                prefix.map(Path::new),
                "{folder}"
            );
        }
    }
}
