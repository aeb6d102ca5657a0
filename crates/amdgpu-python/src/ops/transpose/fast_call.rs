//! The fast path in front of `amdgpu.ops.transpose`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};
use smallvec::SmallVec;

use super::{TRANSPOSE, compute_on_device, compute_on_host};
use crate::fast_call::{self, Arguments, Choice, DeviceChoice, FastPath, is_on_host};

/// `function(x, axes=None, *, out=None)` of the façade with its fast path in front, for memory of the host and for arrays of a device. `host`
/// and `device` are a table of the dispatcher and the function of this module that the path replaces.
#[pyfunction]
pub fn transpose_fast_call<'py>(
    function: &Bound<'py, PyAny>,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let path = FastTranspose {
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("transpose", &device.0, &device.1),
    };
    fast_call::new(function, Box::new(path))
}

struct FastTranspose {
    choice: Choice,
    on_device: DeviceChoice,
}

/// Parameters that are given by position.
const POSITIONAL: usize = 2;

impl FastPath for FastTranspose {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let names = || [intern!(py, "x"), intern!(py, "axes"), intern!(py, "out")];
        let positional = arguments.positional;
        let Some([Some(x), axes, out]) = (positional.len() <= POSITIONAL)
            .then(|| arguments.bind(names, positional))
            .flatten()
        else {
            return Ok(None);
        };
        let order = match axes.filter(|axes| !axes.is_none()) {
            None => None,
            Some(axes) => match integers(axes) {
                Some(order) => Some(order),
                None => return Ok(None),
            },
        };
        let (axes, out) = (order.as_deref(), out.filter(|out| !out.is_none()));
        if is_on_host(x) && out.is_none_or(is_on_host) {
            let key = intern!(py, "transpose").as_any();
            let Some(_crossing) = self.choice.enter(key, &TRANSPOSE) else {
                return Ok(None);
            };
            return compute_on_host(x, axes, out, None).map(Some);
        }
        let arrays = std::iter::once(x).chain(out);
        let Some((ops, _crossing)) = self.on_device.enter(arrays, &TRANSPOSE) else {
            return Ok(None);
        };
        compute_on_device(py, &ops, x, axes, out).map(Some)
    }
}

/// Integers of a tuple; `None` for every other object.
fn integers(object: &Bound<'_, PyAny>) -> Option<SmallVec<[i64; 6]>> {
    let given = object.cast_exact::<PyTuple>().ok()?;
    let integer = |one: Bound<'_, PyAny>| one.cast_exact::<PyInt>().ok()?.extract::<i64>().ok();
    given.iter().map(integer).collect()
}
