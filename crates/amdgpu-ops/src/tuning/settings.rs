//! `AMDGPU_TUNE` and `AMDGPU_MATMUL`, and what a program sets instead.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use amdgpu_abi::{ErrorCode, environment};

use crate::archived::choice::Demand;
use crate::{Error, Result};

/// What a process may spend on measuring when the variable is "on".
const DEFAULT_BUDGET_SECONDS: f64 = 60.0;
/// A day: more is a mistake in the unit.
const MAX_BUDGET_SECONDS: f64 = 86_400.0;

/// Whether databases are asked.
static IS_CACHING: AtomicBool = AtomicBool::new(true);
/// Whether shapes are measured as they come: as the variable says, never, or for the usual time.
static MEASURING: AtomicU8 = AtomicU8::new(AS_THE_VARIABLE_SAYS);
const AS_THE_VARIABLE_SAYS: u8 = 0;
const NEVER: u8 = 1;
const ALWAYS: u8 = 2;

/// Whether databases are asked.
#[must_use]
pub fn is_caching() -> bool {
    IS_CACHING.load(Ordering::Relaxed)
}

/// Lets databases be asked, or every question go unanswered. Choices are made again.
pub fn set_caching(is_enabled: bool) {
    if IS_CACHING.swap(is_enabled, Ordering::Relaxed) != is_enabled {
        super::note_change();
    }
}

/// Lets shapes be measured as they come, or not, whatever `AMDGPU_TUNE` says; `None` asks the variable again.
pub fn set_measuring(is_enabled: Option<bool>) {
    let state = match is_enabled {
        None => AS_THE_VARIABLE_SAYS,
        Some(false) => NEVER,
        Some(true) => ALWAYS,
    };
    if MEASURING.swap(state, Ordering::Relaxed) != state {
        super::note_change();
    }
}

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
    match MEASURING.load(Ordering::Relaxed) {
        NEVER => return Ok(0.0),
        ALWAYS => return Ok(DEFAULT_BUDGET_SECONDS),
        _ => {}
    }
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
