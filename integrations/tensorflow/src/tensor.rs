//! Tensors of a kernel, and views of their memory.

use std::ffi::{CStr, c_void};
use std::ops::Deref;

use smallvec::SmallVec;

use crate::amdgpu::{self, Facts, Handle, OPERAND_MEMORY, Operand, Owned, agpu};
use crate::devices;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensorflow::{self, Opaque};

pub type Dims = SmallVec<[i64; 6]>;

/// Memory of a device as an array: an address, extents and strides in elements. It does not keep the memory.
#[derive(Clone, Debug)]
pub struct View {
    pub address: *mut c_void,
    pub dtype: Dtype,
    pub shape: Dims,
    pub strides: Dims,
    /// The open device of libamdgpu.
    pub device: Handle,
}

/// The strides of the row-major order.
pub fn row_major(shape: &[i64]) -> Dims {
    let mut strides = Dims::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
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
            _ => Err(Failure::refused(format!(
                "Incompatible shapes: {} vs. {}",
                shown(a),
                shown(b)
            ))),
        })
        .collect()
}

impl View {
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    pub fn is_contiguous(&self) -> bool {
        let dense = row_major(&self.shape);
        let mut axes = self.shape.iter().zip(self.strides.iter().zip(&dense));
        self.is_empty() || axes.all(|(extent, (own, wanted))| *extent == 1 || own == wanted)
    }

    pub fn with_layout(&self, shape: Dims, strides: Dims) -> Self {
        Self {
            shape,
            strides,
            ..self.clone()
        }
    }

    /// A row-major view under another shape of as many elements.
    pub fn reshaped(&self, shape: &[i64]) -> Self {
        self.with_layout(Dims::from_slice(shape), row_major(shape))
    }

    /// The same bytes as elements of another dtype of this size.
    pub fn seen_as(&self, dtype: Dtype) -> Self {
        Self {
            dtype,
            ..self.clone()
        }
    }

    /// The view that begins so many elements behind this one.
    pub fn at(&self, offset: i64) -> Self {
        let bytes = offset * self.dtype.item_bytes() as i64;
        Self {
            address: self.address.wrapping_byte_offset(bytes as isize),
            ..self.clone()
        }
    }

    pub fn narrow(&self, axis: usize, start: i64, length: i64) -> Self {
        let mut part = self.at(start * self.strides[axis]);
        part.shape[axis] = length;
        part
    }

    pub fn permuted(&self, axes: &[usize]) -> Self {
        self.with_layout(
            axes.iter().map(|axis| self.shape[*axis]).collect(),
            axes.iter().map(|axis| self.strides[*axis]).collect(),
        )
    }

    /// With one more axis, of one element.
    pub fn with_axis(&self, place: usize) -> Self {
        let mut view = self.clone();
        view.shape.insert(place, 1);
        view.strides.insert(place, 1);
        view
    }

    pub fn without_axis(&self, place: usize) -> Self {
        let mut view = self.clone();
        view.shape.remove(place);
        view.strides.remove(place);
        view
    }

    /// Broadcast to a shape: new and repeated axes have stride 0.
    pub fn expanded(&self, shape: &[i64]) -> Outcome<Self> {
        let refusal = || {
            Failure::refused(format!(
                "Incompatible shapes: {} vs. {}",
                shown(&self.shape),
                shown(shape)
            ))
        };
        let missing = shape.len().checked_sub(self.rank()).ok_or_else(refusal)?;
        let mut strides = Dims::from_elem(0, shape.len());
        for axis in 0..self.rank() {
            let (own, wanted) = (self.shape[axis], shape[missing + axis]);
            if own == wanted {
                strides[missing + axis] = self.strides[axis];
            } else if own != 1 {
                return Err(refusal());
            }
        }
        Ok(self.with_layout(Dims::from_slice(shape), strides))
    }

    /// An array of libamdgpu over the memory.
    pub fn array(&self) -> Outcome<Owned> {
        let mut array = 0;
        agpu!(agpu_array_from_address(
            self.device,
            self.address,
            self.dtype.name()?.as_ptr(),
            self.rank() as u32,
            self.shape.as_ptr(),
            self.strides.as_ptr(),
            &raw mut array,
        ))?;
        Ok(Owned(array))
    }

    /// The operand that the memory is. It points into the view, which must stay where it is as long as the operand is used.
    pub fn operand(&self) -> Outcome<Operand> {
        Ok(Operand {
            kind: OPERAND_MEMORY,
            dimensions: self.rank() as u32,
            dtype: self.dtype.name()?.as_ptr(),
            address: self.address,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            integer: 0,
            real: 0.0,
            imaginary: 0.0,
        })
    }
}

/// A result of libamdgpu, which keeps its memory.
pub struct Made {
    #[allow(dead_code, reason = "held, not read")]
    owner: Owned,
    view: View,
}

impl Made {
    /// The array of a handle that this takes over.
    pub fn of(handle: amdgpu::Handle, device: Handle) -> Outcome<Self> {
        let owner = Owned(handle);
        let mut facts = Facts::default();
        agpu!(agpu_array_info(owner.0, &raw mut facts))?;
        let rank = facts.dimensions as usize;
        // SAFETY: the library ends the name with a null byte.
        let name = unsafe { CStr::from_ptr(facts.dtype.as_ptr()) };
        let view = View {
            address: facts.address,
            dtype: Dtype::of_name(name)?,
            shape: Dims::from_slice(&facts.shape[..rank]),
            strides: Dims::from_slice(&facts.strides[..rank]),
            device,
        };
        Ok(Self { owner, view })
    }
}

impl Deref for Made {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
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
            device,
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
