//! The Math core of the test process, or the reason why there is none.

use amdgpu_math::Math;

/// Prints the reason and gives `None` where Julia is not installed; everything else that keeps the core from starting fails the test.
pub fn math() -> Option<&'static Math> {
    let availability = Math::availability();
    if let Some(reason) = availability.reason {
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(Math::global().expect("Julia was found, so the Math core starts"))
}
