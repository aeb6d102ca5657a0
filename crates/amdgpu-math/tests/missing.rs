//! Without Julia: a sentence, and nothing is opened.

// Tests stop at the first surprise, and results that are exact are compared exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_math::Math;

#[test]
fn a_switched_off_or_absent_julia_gives_its_reason() {
    for (value, reason) in [
        ("off", "switched off"),
        ("/nowhere/bin/julia", "/nowhere/bin/julia"),
        ("no-such-julia", "not on PATH"),
    ] {
        // SAFETY: the only test of this process, and no other thread reads the environment.
        unsafe { std::env::set_var("AMDGPU_JULIA", value) };
        let availability = Math::availability();
        assert!(
            !availability.found && availability.version.is_none() && availability.path.is_none()
        );
        assert!(availability.reason.unwrap().contains(reason));
        let error = Math::global().err().unwrap();
        assert_eq!(error.code(), ErrorCode::JuliaMissing);
        assert!(error.code().hint().contains("Install Julia"));
        assert!(error.to_string().contains(reason), "{error}");
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("libjulia"));
}
