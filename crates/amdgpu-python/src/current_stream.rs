//! The streams that a thread entered with `with stream:`: a launch that names none goes into the innermost one of its device.

use std::cell::RefCell;

use amdgpu_abi::{ErrorCode, Language};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::stream::Stream;

thread_local! {
    static ENTERED: RefCell<Vec<Py<Stream>>> = const { RefCell::new(Vec::new()) };
}

/// The block of a `with` begins.
pub fn enter(stream: &Bound<'_, Stream>) {
    ENTERED.with_borrow_mut(|entered| entered.push(stream.clone().unbind()));
}

/// The block ends.
///
/// # Errors
///
/// `invalid-argument` where another block was entered later, or another thread entered this one.
pub fn leave(stream: &Bound<'_, Stream>) -> PyResult<()> {
    let last = ENTERED.with_borrow_mut(|entered| entered.pop_if(|last| last.is(stream)));
    if last.is_some() {
        return Ok(());
    }
    let message =
        "a `with stream:` block ends in the thread that began it, behind the blocks inside it";
    let code = ErrorCode::InvalidArgument;
    Err(raise(stream.py(), code, Language::Rust, message))
}

/// The stream of a launch: the one it names, else the innermost one of the device that the thread entered.
pub fn chosen<'py>(
    py: Python<'py>,
    named: Option<Bound<'py, Stream>>,
    device: &str,
) -> Option<Bound<'py, Stream>> {
    named.or_else(|| {
        ENTERED.with_borrow(|entered| {
            let of_device = |stream: &&Py<Stream>| stream.get().device_name() == device;
            let found = entered.iter().rev().find(of_device);
            found.map(|stream| stream.bind(py).clone())
        })
    })
}

/// The stream of a device in which the calling thread launches: that of the innermost `with stream:`; None outside of such blocks.
#[pyfunction]
pub fn current_stream<'py>(py: Python<'py>, device: &str) -> Option<Bound<'py, Stream>> {
    chosen(py, None, device)
}
