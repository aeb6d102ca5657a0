//! Kernels of another version are refused by name, and the right ones work afterwards in the same process.

// Tests stop at the first surprise, and results that are exact are compared exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]

use std::path::{Path, PathBuf};

use amdgpu_abi::{ABI_HASH, Coded, ErrorCode};
use amdgpu_math::Math;

/// A library folder with a changed copy of the sources.
fn folder(name: &str, change: impl Fn(String) -> String) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../julia/src");
    let root = std::env::temp_dir().join(format!("agpu-stale-{name}-{}", std::process::id()));
    let target = root.join("julia/src");
    std::fs::create_dir_all(&target).unwrap();
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        let mut text = std::fs::read_to_string(&path).unwrap();
        if path.ends_with("abi.jl") {
            text = change(text);
        }
        std::fs::write(target.join(path.file_name().unwrap()), text).unwrap();
    }
    root
}

fn start_from(root: &Path) -> Result<&'static Math, amdgpu_math::Error> {
    // SAFETY: the only test of this process; Julia's own threads read nothing of it.
    unsafe { std::env::set_var("AMDGPU_LIBRARY_PATH", root) };
    Math::global()
}

#[test]
fn stale_and_broken_sources_are_named_and_do_no_harm() {
    if !Math::availability().found {
        eprintln!("skipped: {:?}", Math::availability().reason);
        return;
    }
    let other_hash = folder("hash", |text| {
        let own = format!("{ABI_HASH:#018x}");
        assert!(text.contains(&own));
        text.replace(&own, "0x0000000000000001")
    });
    let other_version = folder("version", |text| {
        assert!(text.contains("ABI_VERSION = UInt32(1)"));
        text.replace("ABI_VERSION = UInt32(1)", "ABI_VERSION = UInt32(99)")
    });
    let other_package = folder("package", |text| {
        let own = format!("PACKAGE_VERSION = \"{}\"", amdgpu_abi::PACKAGE_VERSION);
        assert!(text.contains(&own));
        text.replace(&own, "PACKAGE_VERSION = \"0.0.9\"")
    });
    let broken = folder("broken", |text| {
        format!("{text}\nerror(\"half an edit\")\n")
    });
    let good = folder("good", |text| text);

    let error = start_from(&other_hash).err().unwrap();
    assert_eq!(error.code(), ErrorCode::LibraryStale, "{error}");
    assert!(
        error.to_string().contains(other_hash.to_str().unwrap()),
        "{error}"
    );
    let error = start_from(&other_version).err().unwrap();
    assert_eq!(error.code(), ErrorCode::LibraryStale, "{error}");
    assert!(error.to_string().contains("99"), "{error}");
    let error = start_from(&other_package).err().unwrap();
    assert_eq!(error.code(), ErrorCode::LibraryStale, "{error}");
    assert!(error.to_string().contains("0.0.9"), "{error}");
    let error = start_from(&broken).err().unwrap();
    assert_eq!(error.code(), ErrorCode::LibraryMissing, "{error}");
    assert!(
        error.to_string().contains("half an edit")
            && error.to_string().contains(broken.to_str().unwrap()),
        "{error}"
    );

    let math = start_from(&good).unwrap();
    assert!(math.kernel_source().starts_with(&good));
    let mut y = [0.0];
    math.softmax(&[3.0], &mut y, 1, 1).unwrap();
    assert_eq!(y, [1.0]);
    for root in [other_hash, other_version, other_package, broken, good] {
        std::fs::remove_dir_all(root).unwrap();
    }
}
