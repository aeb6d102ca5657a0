//! Tensors of a kernel, and views of their memory.

use std::ffi::{CStr, c_void};
use std::ops::Deref;

pub use amdgpu_client::view::{Dims, row_major};
use amdgpu_client::view::{ElementType, Place};

use crate::amdgpu::Handle;
use crate::devices;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensorflow::{self, Opaque};

pub type View = amdgpu_client::view::View<OnDevice>;
pub type Made = amdgpu_client::view::Made<OnDevice>;

/// An open device of libamdgpu, in whose memory tensors are. Views have addresses that libamdgpu knows.
#[derive(Clone, Copy, Debug)]
pub struct OnDevice(pub Handle);

impl From<Handle> for OnDevice {
    fn from(device: Handle) -> Self {
        Self(device)
    }
}

impl Place for OnDevice {
    type Dtype = Dtype;

    fn device(self) -> Outcome<Handle> {
        Ok(self.0)
    }

    fn real_address(self, address: *mut c_void) -> Outcome<*mut c_void> {
        Ok(address)
    }

    fn does_not_expand(own: &[i64], wanted: &[i64]) -> Failure {
        Failure::refused(format!(
            "Incompatible shapes: {} vs. {}",
            shown(own),
            shown(wanted)
        ))
    }
}

impl ElementType for Dtype {
    fn name(self) -> Outcome<&'static CStr> {
        self.name()
    }

    fn of_name(name: &CStr) -> Outcome<Self> {
        Self::of_name(name)
    }

    fn item_bytes(self) -> usize {
        self.item_bytes()
    }
}

/// An axis that may count from the end.
pub fn axis_of(axis: i64, rank: usize) -> Outcome<usize> {
    let count = rank as i64;
    let place = if axis < 0 { axis + count } else { axis };
    if (0..count).contains(&place) {
        return Ok(place as usize);
    }
    Err(Failure::refused(format!(
        "axis {axis} is out of range: a tensor of rank {rank} has axes from {} to {}",
        -count,
        count - 1
    )))
}

/// A shape as TensorFlow writes it.
pub fn shown(shape: &[i64]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", extents.join(","))
}

/// The shape that both broadcast to.
pub fn broadcast(a: &[i64], b: &[i64]) -> Outcome<Dims> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[i64], axis: usize| {
        let missing = rank - shape.len();
        if axis < missing {
            1
        } else {
            shape[axis - missing]
        }
    };
    (0..rank)
        .map(|axis| match (extent(a, axis), extent(b, axis)) {
            (own, other) if own == other || other == 1 => Ok(own),
            (1, other) => Ok(other),
            _ => Err(OnDevice::does_not_expand(a, b)),
        })
        .collect()
}

/// A tensor of TensorFlow that this owns a reference of, and the view of its memory.
pub struct Tensor {
    pub handle: Opaque,
    view: View,
}

impl Tensor {
    /// A tensor whose handle this takes over, in memory of a device or of the host.
    pub fn of(handle: Opaque, device: Handle) -> Outcome<Self> {
        let tensorflow = tensorflow::get()?;
        // SAFETY: a live tensor.
        let (dtype, shape, address) = unsafe {
            let rank = (tensorflow.TF_NumDims)(handle);
            let shape: Dims = (0..rank)
                .map(|axis| (tensorflow.TF_Dim)(handle, axis))
                .collect();
            (
                Dtype((tensorflow.TF_TensorType)(handle)),
                shape,
                (tensorflow.TF_TensorData)(handle),
            )
        };
        let view = View {
            address: devices::real(address),
            dtype,
            strides: row_major(&shape),
            shape,
            place: OnDevice(device),
        };
        Ok(Self { handle, view })
    }
}

impl Deref for Tensor {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        if let Ok(tensorflow) = tensorflow::get() {
            // SAFETY: a reference that this owns.
            unsafe { (tensorflow.TF_DeleteTensor)(self.handle) };
        }
    }
}
