//! Hashes the compiler's own sources, so that kernels cached by another state of the compiler are never taken for its own.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let mut files = Vec::new();
    for folder in ["src", "device_lib"] {
        println!("cargo::rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files);
    }
    files.sort();
    let hash = files.iter().fold(FNV_OFFSET, |hash, path| {
        let content = fs::read(path).unwrap_or_default();
        let name = path.to_string_lossy().into_owned();
        add(add(hash, name.as_bytes()), &content)
    });
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=AMDGPU_COMPILER_IDENTITY=amdgpu-compiler {version} {hash:016x}");
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): a change is to be noticed, an attack is not the concern.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn add(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
    })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
