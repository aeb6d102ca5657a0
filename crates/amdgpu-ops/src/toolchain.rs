//! The code generator of this process, which generated kernels are compiled with.

use std::sync::OnceLock;

use amdgpu_abi::ErrorCode;
use amdgpu_aura::Toolchain;

use crate::{Error, Result};

static TOOLCHAIN: OnceLock<Box<dyn Toolchain>> = OnceLock::new();

/// Registers the code generator; the first one stays. Returns whether this was the first.
pub fn register(toolchain: Box<dyn Toolchain>) -> bool {
    TOOLCHAIN.set(toolchain).is_ok()
}

/// The code generator of this process; where none is registered, `make`'s becomes it.
pub fn get_or_register(make: impl FnOnce() -> Box<dyn Toolchain>) -> &'static dyn Toolchain {
    TOOLCHAIN.get_or_init(make).as_ref()
}

pub(crate) fn get() -> Result<&'static dyn Toolchain> {
    TOOLCHAIN.get().map(AsRef::as_ref).ok_or_else(|| {
        Error::refused(
            ErrorCode::CodeGeneratorMissing,
            "no code generator is registered in this process, so kernels cannot be compiled",
        )
    })
}
