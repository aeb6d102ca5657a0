//! Where operations that are put together of others compute, for arguments of the host and of devices alike.

use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_aura::OpenDevice;
use amdgpu_ops::{DeviceOps, Operand};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::on_device::{self, lend_any_in_place, lend_in_place};

/// Where a call computes: on a device by its kernels, or on the CPU where its arrays lie.
pub struct Place<'py> {
    pub ops: Arc<DeviceOps>,
    pub py: Python<'py>,
    is_host: bool,
    /// Whether results of the host are arrays of ours, as an argument is.
    makes_arrays: bool,
}

impl<'py> Place<'py> {
    pub fn of(
        arguments: &[&Bound<'py, PyAny>],
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let py = arguments[0].py();
        let ops = if let Some(device) = device {
            on_device::ops_of(device)?
        } else {
            let device = OpenDevice::open("cpu:0").into_py_result(py)?;
            DeviceOps::of(&device).into_py_result(py)?
        };
        Ok(Self {
            ops,
            py,
            is_host: device.is_none(),
            makes_arrays: arguments.iter().any(|one| one.is_instance_of::<Array>()),
        })
    }

    /// An argument on the device.
    pub fn lend(
        &self,
        operation: &str,
        name: &str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Operand> {
        if self.is_host {
            return lend_in_place(operation, name, object);
        }
        on_device::lend(operation, name, object, &self.ops)
    }

    /// The same, for operations that know about complex numbers.
    pub fn lend_any(
        &self,
        operation: &str,
        name: &str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Operand> {
        if self.is_host {
            return lend_any_in_place(operation, name, object);
        }
        on_device::lend_any(operation, name, object, &self.ops)
    }

    /// An argument that need not be there.
    pub fn lend_optional(
        &self,
        operation: &str,
        name: &str,
        object: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Operand>> {
        object
            .map(|object| self.lend(operation, name, object))
            .transpose()
    }

    /// Memory of the host for a result; `None` where there is none, or a device computes.
    pub fn lend_out(
        &self,
        operation: &str,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<amdgpu_array::Array>> {
        let Some(out) = out.filter(|_| self.is_host) else {
            return Ok(None);
        };
        let lent = lend_any_in_place(operation, "out", out)?;
        Ok(Some(lent.into_array().into_py_result(self.py)?))
    }

    /// A result, for the caller.
    pub fn give(&self, made: amdgpu_array::Array) -> PyResult<Bound<'py, PyAny>> {
        let made = Bound::new(self.py, Array::from(made))?;
        if !self.is_host || self.makes_arrays {
            return Ok(made.into_any());
        }
        // NumPy takes no bfloat16 through DLPack.
        if made.get().dtype == Dtype::BF16 {
            return made.call_method0("numpy");
        }
        self.py
            .import("numpy")?
            .call_method1("from_dlpack", (made,))
    }

    pub fn give_all(
        &self,
        made: impl IntoIterator<Item = amdgpu_array::Array>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let given = made.into_iter().map(|one| self.give(one));
        PyTuple::new(self.py, given.collect::<PyResult<Vec<_>>>()?)
    }
}
