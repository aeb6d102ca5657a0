//! A missing library is an error with a sentence, and not for ever. In a process of its own, because it changes the environment.

#![allow(clippy::unwrap_used)]

use amdgpu_abi::{Coded, ErrorCode, Language};
use amdgpu_matrix::Matrix;

#[test]
fn a_missing_library_is_named_and_may_appear_later() {
    let checkout =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/amdgpu/_lib");
    let empty = std::env::temp_dir().join(format!("agpu-matrix-missing-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();
    // SAFETY: this process runs this one test, and no other thread reads the environment meanwhile.
    unsafe {
        std::env::remove_var("CARGO_MANIFEST_DIR");
        std::env::set_var("AMDGPU_LIBRARY_PATH", &empty);
    }
    let error = Matrix::global().err().unwrap();
    assert_eq!(
        (error.code(), error.language()),
        (ErrorCode::LibraryMissing, Language::Rust)
    );
    let message = error.to_string();
    assert!(
        message.contains("libagpu_matrix.so") && message.contains(&*empty.to_string_lossy()),
        "{message}"
    );

    if checkout.join("libagpu_matrix.so").exists() {
        // SAFETY: as above.
        unsafe { std::env::set_var("AMDGPU_LIBRARY_PATH", &checkout) };
        assert!(Matrix::global().is_ok());
    } else {
        println!("skipped the second half: libagpu_matrix.so is not built");
    }
    std::fs::remove_dir_all(&empty).unwrap();
}
