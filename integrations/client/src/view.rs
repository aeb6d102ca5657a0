//! Memory of a framework's tensors as arrays of libamdgpu.

use std::ffi::{CStr, c_void};
use std::fmt::Debug;
use std::ops::Deref;

use smallvec::SmallVec;

use crate::amdgpu::{self, Facts, Handle, OPERAND_MEMORY, Operand, Owned, agpu};
use crate::failure::{Failure, Outcome};

pub type Dims = SmallVec<[i64; 6]>;

/// A framework's number for the type of elements.
#[allow(
    clippy::missing_errors_doc,
    reason = "refuses what libamdgpu has no dtype for"
)]
pub trait ElementType: Copy + Debug {
    fn name(self) -> Outcome<&'static CStr>;
    fn of_name(name: &CStr) -> Outcome<Self>;
    fn item_bytes(self) -> usize;
}

/// Where a framework's memory is.
#[allow(
    clippy::missing_errors_doc,
    reason = "refuses memory of the host, says what cannot be opened"
)]
pub trait Place: Copy + Debug {
    type Dtype: ElementType;

    /// The open device of libamdgpu.
    fn device(self) -> Outcome<Handle>;

    /// The address that libamdgpu knows of memory that the framework shows at `address`.
    fn real_address(self, address: *mut c_void) -> Outcome<*mut c_void>;

    /// What the framework says where a shape does not broadcast to another.
    fn does_not_expand(own: &[i64], wanted: &[i64]) -> Failure;
}

/// Memory as an array: an address, extents and strides in elements. It does not keep the memory.
#[derive(Clone, Debug)]
pub struct View<P: Place> {
    pub address: *mut c_void,
    pub dtype: P::Dtype,
    pub shape: Dims,
    pub strides: Dims,
    pub place: P,
}

/// The strides of the row-major order.
#[must_use]
pub fn row_major(shape: &[i64]) -> Dims {
    let mut strides = Dims::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

#[allow(
    clippy::missing_errors_doc,
    reason = "those of the place and of the dtype"
)]
impl<P: Place> View<P> {
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    #[must_use]
    pub fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let dense = row_major(&self.shape);
        let mut axes = self.shape.iter().zip(self.strides.iter().zip(&dense));
        self.is_empty() || axes.all(|(extent, (own, wanted))| *extent == 1 || own == wanted)
    }

    /// Whether elements of both lie in the same order.
    #[must_use]
    pub fn is_laid_out_like(&self, other: &Self) -> bool {
        let strides = self.strides.iter().zip(&other.strides);
        let mut axes = self.shape.iter().zip(strides);
        self.shape == other.shape
            && axes.all(|(extent, (own, others))| *extent == 1 || own == others)
    }

    /// Whether elements lie without gaps, in any order of the axes.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        if self.is_contiguous() {
            return true;
        }
        let mut axes: SmallVec<[usize; 6]> = (0..self.rank()).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse((self.strides[*axis], self.shape[*axis])));
        self.permuted(&axes).is_contiguous()
    }

    #[must_use]
    pub fn with_layout(&self, shape: Dims, strides: Dims) -> Self {
        Self {
            shape,
            strides,
            ..self.clone()
        }
    }

    /// A row-major view under another shape of as many elements.
    #[must_use]
    pub fn reshaped(&self, shape: &[i64]) -> Self {
        self.with_layout(Dims::from_slice(shape), row_major(shape))
    }

    /// The same bytes as elements of another dtype of this size.
    #[must_use]
    pub fn seen_as(&self, dtype: P::Dtype) -> Self {
        Self {
            dtype,
            ..self.clone()
        }
    }

    /// The view that begins so many elements behind this one.
    #[must_use]
    pub fn at(&self, offset: i64) -> Self {
        let bytes = offset * self.dtype.item_bytes() as i64;
        Self {
            address: self.address.wrapping_byte_offset(bytes as isize),
            ..self.clone()
        }
    }

    #[must_use]
    pub fn narrow(&self, axis: usize, start: i64, length: i64) -> Self {
        let mut part = self.at(start * self.strides[axis]);
        part.shape[axis] = length;
        part
    }

    #[must_use]
    pub fn permuted(&self, axes: &[usize]) -> Self {
        self.with_layout(
            axes.iter().map(|axis| self.shape[*axis]).collect(),
            axes.iter().map(|axis| self.strides[*axis]).collect(),
        )
    }

    /// With one more axis, of one element.
    #[must_use]
    pub fn with_axis(&self, place: usize) -> Self {
        let mut view = self.clone();
        view.shape.insert(place, 1);
        view.strides.insert(place, 1);
        view
    }

    /// A tensor without axes as one with one.
    #[must_use]
    pub fn with_axes(&self) -> Self {
        if self.rank() == 0 {
            self.with_axis(0)
        } else {
            self.clone()
        }
    }

    #[must_use]
    pub fn without_axis(&self, place: usize) -> Self {
        let mut view = self.clone();
        view.shape.remove(place);
        view.strides.remove(place);
        view
    }

    /// Broadcast to a shape: new and repeated axes have stride 0.
    pub fn expanded(&self, shape: &[i64]) -> Outcome<Self> {
        let refusal = || P::does_not_expand(&self.shape, shape);
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

    /// The open device of libamdgpu.
    pub fn device(&self) -> Outcome<Handle> {
        self.place.device()
    }

    /// The address that libamdgpu knows.
    pub fn real_address(&self) -> Outcome<*mut c_void> {
        self.place.real_address(self.address)
    }

    /// An array of libamdgpu over the memory.
    pub fn array(&self) -> Outcome<Owned> {
        let mut array = 0;
        agpu!(agpu_array_from_address(
            self.device()?,
            self.real_address()?,
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
            address: self.real_address()?,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            integer: 0,
            real: 0.0,
            imaginary: 0.0,
        })
    }
}

/// A result of libamdgpu, which keeps its memory.
pub struct Made<P: Place> {
    #[allow(dead_code, reason = "held, not read")]
    owner: Owned,
    view: View<P>,
}

impl<P: Place> Made<P> {
    /// The array of a handle that this takes over, at a place of the framework's.
    ///
    /// # Errors
    ///
    /// The framework has no such dtype.
    pub fn of(handle: amdgpu::Handle, place: impl Into<P>) -> Outcome<Self> {
        let owner = Owned(handle);
        let mut facts = Facts::default();
        agpu!(agpu_array_info(owner.0, &raw mut facts))?;
        let rank = facts.dimensions as usize;
        // SAFETY: the library ends the name with a null byte.
        let name = unsafe { CStr::from_ptr(facts.dtype.as_ptr()) };
        let view = View {
            address: facts.address,
            dtype: P::Dtype::of_name(name)?,
            shape: Dims::from_slice(&facts.shape[..rank]),
            strides: Dims::from_slice(&facts.strides[..rank]),
            place: place.into(),
        };
        Ok(Self { owner, view })
    }
}

impl<P: Place> Deref for Made<P> {
    type Target = View<P>;

    fn deref(&self) -> &View<P> {
        &self.view
    }
}
