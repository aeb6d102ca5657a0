//! Tensors, and views of their memory.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::ops::Deref;

use amdgpu_client::view::{self, ElementType};
pub use amdgpu_client::view::{Dims, row_major};
use smallvec::SmallVec;

use crate::amdgpu::Handle;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::host;
use crate::torch;

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Cpu,
    Rdna(i32),
}

pub type View = amdgpu_client::view::View<Place>;
pub type Made = amdgpu_client::view::Made<Place>;

impl Place {
    /// The index of the rdna device.
    pub fn index(self) -> Outcome<i32> {
        match self {
            Self::Rdna(index) => Ok(index),
            Self::Cpu => Err(Failure::refused(
                "Expected all tensors to be on the same device, but one is on cpu and another one on rdna",
            )),
        }
    }

    /// Refuses another device than that of the first operand.
    pub fn check_same(self, first: Self) -> Outcome {
        if self == first {
            return Ok(());
        }
        Err(Failure::refused(format!(
            "Expected all tensors to be on the same device, but found at least two devices, {first} and {self}!"
        )))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => formatter.write_str("cpu"),
            Self::Rdna(index) => write!(formatter, "rdna:{index}"),
        }
    }
}

impl view::Place for Place {
    type Dtype = Dtype;

    fn device(self) -> Outcome<Handle> {
        host::get()?.device(self.index()?)
    }

    fn real_address(self, address: *mut c_void) -> Outcome<*mut c_void> {
        self.index()?;
        let poison = host::get()?.poison_bits as usize;
        Ok(address.map_addr(|address| address & !poison))
    }

    fn does_not_expand(own: &[i64], wanted: &[i64]) -> Failure {
        Failure::refused(format!(
            "a tensor of shape {own:?} does not expand to {wanted:?}"
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

/// An axis that may count from the end; an array without axes counts as one with one.
pub fn axis_of(axis: i64, rank: usize) -> Outcome<usize> {
    let count = rank.max(1) as i64;
    let place = if axis < 0 { axis + count } else { axis };
    if (0..count).contains(&place) {
        return Ok(place as usize);
    }
    Err(Failure::refused(format!(
        "Dimension out of range (expected to be in range of [{}, {}], but got {axis})",
        -count,
        count - 1
    )))
}

/// The shape that all broadcast to.
pub fn broadcast<'a>(shapes: impl Iterator<Item = &'a [i64]>) -> Outcome<Dims> {
    let mut result = Dims::new();
    for shape in shapes {
        while result.len() < shape.len() {
            result.insert(0, 1);
        }
        let missing = result.len() - shape.len();
        for (own, extent) in result[missing..].iter_mut().zip(shape) {
            if *own == 1 {
                *own = *extent;
            } else if *extent != 1 && *extent != *own {
                return Err(Failure::refused(format!(
                    "the size {own} of one tensor does not match the size {extent} of another one where they broadcast"
                )));
            }
        }
    }
    Ok(result)
}

/// A tensor of torch, and the view of its memory when this was made.
pub struct Tensor {
    handle: torch::Handle,
    is_owned: bool,
    view: View,
}

/// `agpu_torch_tensor`: a tensor and what there is to know of it.
#[repr(C)]
pub struct CTensor {
    handle: torch::Handle,
    address: *mut c_void,
    shape: *const i64,
    strides: *const i64,
    rank: u32,
    dtype: i32,
    /// The index of the rdna device, [`ON_CPU`] or [`ELSEWHERE`].
    device: i32,
    reserved: u32,
}

/// `AGPU_TORCH_ON_CPU`.
const ON_CPU: i32 = -1;
/// `AGPU_TORCH_ELSEWHERE`.
const ELSEWHERE: i32 = -2;

impl CTensor {
    /// # Safety
    ///
    /// There are as many extents and strides as axes.
    unsafe fn view(&self) -> Outcome<View> {
        let dims = |from: *const i64| {
            if self.rank == 0 {
                return Dims::new();
            }
            // SAFETY: as the caller promises.
            Dims::from_slice(unsafe { std::slice::from_raw_parts(from, self.rank as usize) })
        };
        let place = match self.device {
            ELSEWHERE => return Err(elsewhere()),
            ON_CPU => Place::Cpu,
            index => Place::Rdna(index),
        };
        Ok(View {
            address: self.address,
            dtype: Dtype(self.dtype),
            shape: dims(self.shape),
            strides: dims(self.strides),
            place,
        })
    }
}

fn elsewhere() -> Failure {
    Failure::refused(
        "Expected all tensors to be on the same device, but one is neither on rdna nor on cpu",
    )
}

impl Tensor {
    /// A tensor that an argument is, `None` for one that was left out; it stays the caller's.
    ///
    /// # Safety
    ///
    /// The facts are those of the tensor.
    pub unsafe fn borrowed(given: &CTensor) -> Outcome<Option<Self>> {
        if given.handle.is_null() {
            return Ok(None);
        }
        Ok(Some(Self {
            handle: given.handle,
            is_owned: false,
            // SAFETY: as the caller promises.
            view: unsafe { given.view() }?,
        }))
    }

    /// A tensor whose handle this takes over.
    fn owned(handle: torch::Handle) -> Outcome<Self> {
        Ok(Self {
            handle,
            is_owned: true,
            view: view_of(handle)?,
        })
    }

    /// A tensor in row-major order whose elements are not set.
    pub fn empty(shape: &[i64], dtype: Dtype, place: Place) -> Outcome<Self> {
        Self::empty_strided(shape, &row_major(shape), dtype, place)
    }

    pub fn empty_strided(
        shape: &[i64],
        strides: &[i64],
        dtype: Dtype,
        place: Place,
    ) -> Outcome<Self> {
        let Place::Rdna(index) = place else {
            return Self::empty_on_host(shape, strides, dtype);
        };
        let (handle, address) = host::get()?.empty(shape, strides, dtype, index)?;
        Ok(Self {
            handle,
            is_owned: true,
            view: View {
                address,
                dtype,
                shape: Dims::from_slice(shape),
                strides: Dims::from_slice(strides),
                place,
            },
        })
    }

    fn empty_on_host(shape: &[i64], strides: &[i64], dtype: Dtype) -> Outcome<Self> {
        let torch = torch::get()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: extents and strides of as many axes, and a place for the handle.
        torch::done(unsafe {
            (torch.aoti_torch_empty_strided)(
                shape.len() as i64,
                shape.as_ptr(),
                strides.as_ptr(),
                dtype.0,
                (torch.aoti_torch_device_type_cpu)(),
                0,
                &raw mut handle,
            )
        })?;
        Self::owned(handle)
    }

    /// A tensor like a view, with its order of axes where it has no gaps.
    pub fn empty_like(view: &View, dtype: Dtype) -> Outcome<Self> {
        let mut axes: SmallVec<[usize; 6]> = (0..view.rank()).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse((view.strides[*axis], view.shape[*axis])));
        let ordered = view.permuted(&axes);
        if !ordered.is_contiguous() {
            return Self::empty(&view.shape, dtype, view.place);
        }
        let dense = row_major(&ordered.shape);
        let mut strides = Dims::from_elem(1, view.rank());
        for (axis, stride) in axes.iter().zip(dense) {
            strides[*axis] = stride;
        }
        Self::empty_strided(&view.shape, &strides, dtype, view.place)
    }

    /// The handle, for whoever takes it over. Only of tensors that own it.
    pub fn into_handle(mut self) -> torch::Handle {
        self.is_owned = false;
        self.handle
    }

    /// Another handle of the tensor, for whoever takes it over.
    fn new_handle(&self) -> Outcome<torch::Handle> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a live tensor, and a place for the handle.
        torch::done(unsafe {
            (torch::get()?.aoti_torch_new_tensor_handle)(self.handle, &raw mut handle)
        })?;
        Ok(handle)
    }

    /// The view after the shape was set; memory is made where it does not suffice.
    pub fn resized(&self, shape: &[i64]) -> Outcome<View> {
        if self.shape.as_slice() == shape {
            return Ok(self.view.clone());
        }
        let torch = torch::get()?;
        // The stable interface has no lists of sizes for kernels, so that a tensor of this shape, with one element, says them.
        let still = Dims::from_elem(0, shape.len());
        let like = Self::empty_strided(shape, &still, self.dtype, Place::Cpu)?;
        let mut stack = [self.new_handle()? as u64, like.into_handle() as u64, 0];
        // SAFETY: `resize_as_` takes two tensors and an optional memory format, and returns the first tensor.
        torch::done(unsafe {
            (torch.torch_call_dispatcher)(
                c"aten::resize_as_".as_ptr(),
                c"".as_ptr(),
                stack.as_mut_ptr(),
                torch::BUILD_VERSION,
            )
        })?;
        drop(Self::owned(std::ptr::with_exposed_provenance_mut(
            stack[0] as usize,
        ))?);
        view_of(self.handle)
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
        if self.is_owned
            && let Ok(torch) = torch::get()
        {
            // SAFETY: a handle that this owns.
            unsafe { (torch.aoti_torch_delete_tensor_object)(self.handle) };
        }
    }
}

fn view_of(handle: torch::Handle) -> Outcome<View> {
    let torch = torch::get()?;
    let (mut address, mut rank, mut dtype) = (std::ptr::null_mut(), 0, 0);
    let (mut shape, mut strides) = (std::ptr::null(), std::ptr::null());
    let (mut device_type, mut index) = (0, 0);
    // SAFETY: a live tensor and places for the answers; torch's arrays live as long as the tensor.
    unsafe {
        torch::done((torch.aoti_torch_get_dim)(handle, &raw mut rank))?;
        torch::done((torch.aoti_torch_get_sizes)(handle, &raw mut shape))?;
        torch::done((torch.aoti_torch_get_strides)(handle, &raw mut strides))?;
        torch::done((torch.aoti_torch_get_dtype)(handle, &raw mut dtype))?;
        torch::done((torch.aoti_torch_get_device_type)(
            handle,
            &raw mut device_type,
        ))?;
        torch::done((torch.aoti_torch_get_device_index)(handle, &raw mut index))?;
        torch::done((torch.aoti_torch_get_data_ptr)(handle, &raw mut address))?;
        let dims = |from: *const i64| {
            if rank == 0 {
                return Dims::new();
            }
            Dims::from_slice(std::slice::from_raw_parts(from, rank as usize))
        };
        let place = if device_type == (torch.aoti_torch_device_type_privateuse1)() {
            Place::Rdna(index)
        } else if device_type == (torch.aoti_torch_device_type_cpu)() {
            Place::Cpu
        } else {
            return Err(elsewhere());
        };
        Ok(View {
            address,
            dtype: Dtype(dtype),
            shape: dims(shape),
            strides: dims(strides),
            place,
        })
    }
}
