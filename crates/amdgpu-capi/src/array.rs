//! array.h: arrays and their views.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{
    Array, Capsule, Dims, Imported, Side, byte_range, copy, element_count, recording,
};
use amdgpu_aura::OpenDevice;
use amdgpu_hal::DevicePointer;
use amdgpu_ops::strided;

use crate::borrowed::{Described, Items, ItemsOut, Options, Out, Text, Versioned, fixed_text};
use crate::device::memory_kind;
use crate::handles::{self, Handle, Object};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

/// `AGPU_MAX_DIMENSIONS`.
const MAX_DIMENSIONS: usize = 16;

pub struct ArrayObject {
    pub array: Array,
    /// The opening that it was made by; none for memory of other libraries.
    device: Option<Arc<DeviceObject>>,
}

impl Object for ArrayObject {
    const KIND: u8 = 12;
}

impl ArrayObject {
    /// A handle of an array that an operation made for others of this opening.
    pub fn insert(array: Array, device: Option<Arc<DeviceObject>>) -> Handle {
        handles::insert(Arc::new(Self { array, device }))
    }

    /// The array of a handle, whose memory was not freed.
    pub fn alive(name: &str, handle: Handle) -> Answer<Arc<Self>> {
        let object = handles::get::<Self>(handle, name)?;
        object.array.check_alive()?;
        Ok(object)
    }

    pub fn device(&self) -> Option<&Arc<DeviceObject>> {
        self.device.as_ref()
    }

    /// The device that computes with the array: for memory of other libraries it is opened.
    pub fn open_device(&self) -> Answer<Arc<OpenDevice>> {
        Ok(match self.array.open_device() {
            Some(device) => Arc::clone(device),
            None => OpenDevice::open(self.array.device_name())?,
        })
    }

    fn view(&self, array: Array) -> Handle {
        Self::insert(array, self.device.clone())
    }
}

/// `agpu_array_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArrayOptions {
    size_bytes: u64,
    kind: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for ArrayOptions {
    const NAME: &'static str = "agpu_array_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_array_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArrayFacts {
    size_bytes: u64,
    device: [u8; 64],
    dtype: [u8; 16],
    address: *mut c_void,
    elements: u64,
    item_bytes: u32,
    dimensions: u32,
    shape: [i64; MAX_DIMENSIONS],
    strides: [i64; MAX_DIMENSIONS],
    is_contiguous: u32,
    is_read_only: u32,
}

// SAFETY: plain numbers and a pointer; all zeros is a valid value.
unsafe impl Versioned for ArrayFacts {
    const NAME: &'static str = "agpu_array_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// The dtype of a name.
pub fn dtype_of(name: &str) -> Answer<Dtype> {
    Dtype::from_name(name).ok_or_else(|| {
        let known = Dtype::known_names().collect::<Vec<_>>().join(", ");
        let message = format!("dtype {name} is not a type of device memory; supported: {known}");
        Failure::new(ErrorCode::UnsupportedDtype, message)
    })
}

/// The extents of the caller.
pub fn dims_of(items: Items<i64>, dimensions: u32, name: &str) -> Answer<Dims> {
    let count = dimensions as usize;
    if count > MAX_DIMENSIONS {
        return Err(Failure::invalid(format!(
            "dimensions is {count}; arrays have at most {MAX_DIMENSIONS}"
        )));
    }
    Ok(Dims::from_slice(items.slice(count, name)?))
}

fn check_bytes(array: &Array, bytes: u64) -> Answer {
    if bytes == array.bytes() as u64 {
        return Ok(());
    }
    let message = format!("bytes is {bytes}; the array has {}", array.bytes());
    Err(Failure::new(ErrorCode::ShapeMismatch, message))
}

fn check_contiguous(array: &Array) -> Answer {
    if array.is_contiguous() {
        return Ok(());
    }
    Err(Failure::new(
        ErrorCode::NotContiguous,
        "the array has gaps between its elements",
    ))
}

/// A new array whose elements are not set.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_create(
    device: Handle,
    dtype: Text,
    dimensions: u32,
    shape: Items<i64>,
    options: Options<ArrayOptions>,
    array: Out<Handle>,
) -> Status {
    answer(|| {
        let place = array.required("array")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let dtype = dtype_of(dtype.required("dtype")?)?;
        let shape = dims_of(shape, dimensions, "shape")?;
        let kind = memory_kind(options.read()?.kind)?;
        let made = Array::empty(device.context.open_device()?, shape, dtype, kind)?;
        place.write(ArrayObject::insert(made, Some(device)));
        Ok(())
    })
}

/// Facts of an array.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_info(array: Handle, info: Described<ArrayFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let array = &handles::get::<ArrayObject>(array, "array")?.array;
        array.check_alive()?;
        let extents = |given: &Dims| {
            let mut all = [0; MAX_DIMENSIONS];
            all[..given.len()].copy_from_slice(given);
            all
        };
        place.set(&ArrayFacts {
            size_bytes: size_of::<ArrayFacts>() as u64,
            device: fixed_text(array.device_name()),
            dtype: fixed_text(array.dtype.name().unwrap_or_default()),
            address: array.data(),
            elements: array.len() as u64,
            item_bytes: array.dtype.size_bytes() as u32,
            dimensions: array.shape.len() as u32,
            shape: extents(&array.shape),
            strides: extents(&array.strides),
            is_contiguous: u32::from(array.is_contiguous()),
            is_read_only: u32::from(array.is_read_only),
        });
        Ok(())
    })
}

/// Set the elements from the host, in row-major order.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_write(array: Handle, data: Items<u8>, bytes: u64) -> Status {
    answer(|| {
        let array = &handles::get::<ArrayObject>(array, "array")?.array;
        recording::check_not_recording("copying from the host")?;
        array.check_alive()?;
        array.check_writable()?;
        check_contiguous(array)?;
        check_bytes(array, bytes)?;
        let data = data.slice(bytes as usize, "data")?;
        array.finish_uses()?;
        let from = Side {
            address: DevicePointer::from_host(data.as_ptr()),
            device: None,
        };
        // SAFETY: both hold as many bytes, and live until the wait is over.
        unsafe { copy(&array.side(), &from, bytes)? };
        Ok(())
    })
}

/// Get the elements, in row-major order.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_read(array: Handle, data: ItemsOut<u8>, bytes: u64) -> Status {
    answer(|| {
        let array = &handles::get::<ArrayObject>(array, "array")?.array;
        check_bytes(array, bytes)?;
        let data = data.slice(bytes as usize, "data")?;
        data.copy_from_slice(&array.read()?);
        Ok(())
    })
}

/// Set all elements to one.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_fill(array: Handle, element: Items<u8>, bytes: u64) -> Status {
    answer(|| {
        let array = &handles::get::<ArrayObject>(array, "array")?.array;
        let wanted = array.dtype.size_bytes() as u64;
        if bytes != wanted {
            let message = format!("bytes is {bytes}; an element has {wanted}");
            return Err(Failure::new(ErrorCode::ShapeMismatch, message));
        }
        toolchain::of_process();
        Ok(strided::fill(
            array,
            element.slice(bytes as usize, "element")?,
        )?)
    })
}

/// Copy the elements of an array of the same shape and dtype, from whatever device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_copy(destination: Handle, source: Handle) -> Status {
    answer(|| {
        let to = &handles::get::<ArrayObject>(destination, "destination")?.array;
        let from = &handles::get::<ArrayObject>(source, "source")?.array;
        recording::check_not_recording("copying an array")?;
        toolchain::of_process();
        Ok(strided::copy(to, from)?)
    })
}

/// The same elements under another shape; -1 once, for the extent that is left.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_reshape(
    array: Handle,
    dimensions: u32,
    shape: Items<i64>,
    view: Out<Handle>,
) -> Status {
    answer(|| {
        let place = view.required("view")?;
        let object = handles::get::<ArrayObject>(array, "array")?;
        let shape = dims_of(shape, dimensions, "shape")?;
        place.write(object.view(object.array.reshaped(&shape)?));
        Ok(())
    })
}

/// Another view of the elements: strides count elements and stay within the array's own, which are contiguous.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_view(
    array: Handle,
    dimensions: u32,
    shape: Items<i64>,
    strides: Items<i64>,
    view: Out<Handle>,
) -> Status {
    answer(|| {
        let place = view.required("view")?;
        let object = handles::get::<ArrayObject>(array, "array")?;
        let (shape, strides) = (
            dims_of(shape, dimensions, "shape")?,
            dims_of(strides, dimensions, "strides")?,
        );
        if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
            return Err(Failure::invalid(format!(
                "shape has the negative extent {extent}"
            )));
        }
        check_contiguous(&object.array)?;
        let own = object.array.bytes() as i64;
        let range = byte_range(&shape, &strides, object.array.dtype.size_bytes() as usize);
        if !range
            .is_some_and(|(first, end)| element_count(&shape) == 0 || (first >= 0 && end <= own))
        {
            return Err(Failure::invalid("the view reaches beyond the array"));
        }
        place.write(object.view(object.array.view(shape, strides)));
        Ok(())
    })
}

/// Wait for what streams were given to do with the array.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_synchronize(array: Handle) -> Status {
    answer(|| {
        let array = &handles::get::<ArrayObject>(array, "array")?.array;
        recording::check_not_recording("waiting for an array")?;
        Ok(array.wait()?)
    })
}

/// A `DLManagedTensorVersioned` (or, with `is_versioned` false, a `DLManagedTensor`) over the array, which it keeps alive.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_to_dlpack(
    array: Handle,
    is_versioned: bool,
    managed: Out<*mut c_void>,
) -> Status {
    answer(|| {
        let place = managed.required("managed")?;
        let array = &handles::get::<ArrayObject>(array, "array")?.array;
        array.check_alive()?;
        if array.is_read_only && !is_versioned {
            return Err(Failure::new(
                ErrorCode::ReadOnly,
                "only the versioned form says that an array is read-only",
            ));
        }
        array.wait()?;
        // Counted: from now on the memory is not handed on while somebody may look.
        let _ = array.lend();
        place.write(Capsule::export(array, is_versioned).pointer());
        Ok(())
    })
}

/// Take over a tensor of another library.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_from_dlpack(
    managed: *mut c_void,
    is_versioned: bool,
    array: Out<Handle>,
) -> Status {
    answer(|| {
        let place = array.required("array")?;
        if managed.is_null() {
            return Err(Failure::invalid("managed is NULL; pass a DLPack tensor"));
        }
        let capsule = if is_versioned {
            Capsule::Versioned(managed.cast())
        } else {
            Capsule::Legacy(managed.cast())
        };
        // SAFETY: a managed tensor of that form, as the caller says; it is released once, by the array.
        let imported = unsafe { Imported::take(capsule)? };
        let made = imported.into_array()?;
        if made.shape.len() > MAX_DIMENSIONS {
            return Err(Failure::invalid(format!(
                "the tensor has more than {MAX_DIMENSIONS} dimensions"
            )));
        }
        place.write(ArrayObject::insert(made, None));
        Ok(())
    })
}
