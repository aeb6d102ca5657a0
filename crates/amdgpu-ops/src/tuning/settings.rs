//! `AMDGPU_TUNE` and `AMDGPU_MATMUL`.

use amdgpu_abi::{ErrorCode, environment};

use crate::archived::choice::Demand;
use crate::{Error, Result};

/// What a process may spend on measuring when the variable is "on".
const DEFAULT_BUDGET_SECONDS: f64 = 60.0;
/// A day: more is a mistake in the unit.
const MAX_BUDGET_SECONDS: f64 = 86_400.0;

fn read(name: &str) -> String {
    let text = environment::read(name).unwrap_or_default();
    text.trim().to_owned()
}

/// Seconds that this process may spend on measuring shapes as they come; 0 for none.
///
/// # Errors
///
/// `invalid-argument` where `AMDGPU_TUNE` is neither off, on, nor a number of seconds.
pub fn budget_seconds() -> Result<f64> {
    let text = read(environment::TUNE);
    match text.as_str() {
        "" | "off" => return Ok(0.0),
        "on" => return Ok(DEFAULT_BUDGET_SECONDS),
        _ => {}
    }
    let seconds = text.parse().unwrap_or(f64::NAN);
    if (0.0..=MAX_BUDGET_SECONDS).contains(&seconds) {
        return Ok(seconds);
    }
    Err(Error::refused(
        ErrorCode::InvalidArgument,
        format!(
            "AMDGPU_TUNE is '{text}'; it may be off, on (at most {DEFAULT_BUDGET_SECONDS:.0} seconds of a process), or a number of seconds up to {MAX_BUDGET_SECONDS:.0}"
        ),
    ))
}

/// Whose kernels compute products on GPUs.
///
/// # Errors
///
/// `invalid-argument` where `AMDGPU_MATMUL` is neither auto, ours nor vendor.
pub fn demand() -> Result<Demand> {
    let text = read(environment::MATMUL);
    match text.as_str() {
        "" | "auto" => Ok(Demand::Auto),
        "ours" => Ok(Demand::Ours),
        "vendor" => Ok(Demand::Vendor),
        _ => Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("AMDGPU_MATMUL is '{text}'; it may be auto, ours, vendor"),
        )),
    }
}
