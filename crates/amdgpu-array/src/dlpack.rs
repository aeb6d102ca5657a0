//! DLPack in both directions: the legacy and the versioned structs. What wraps them (a Python capsule, a C pointer) is the caller's.
//!
//! Source: DLPack 1.1, `dlpack.h`.

use std::ffi::c_void;

use amdgpu_abi::{Dtype, ErrorCode, Tensor};

use crate::owner::Owner;
use crate::storage::External;
use crate::{Array, Dims, Error, MemoryLocation, Result, device_for_external, row_major};

/// The version that this build speaks: major, minor.
pub const VERSION: [u32; 2] = [1, 1];
const FLAG_READ_ONLY: u64 = 1;

/// `DLManagedTensor`.
#[repr(C)]
pub struct ManagedTensor {
    pub tensor: Tensor,
    manager_context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub struct ManagedTensorVersioned {
    pub version: [u32; 2],
    manager_context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensorVersioned)>,
    flags: u64,
    pub tensor: Tensor,
}

/// A managed tensor of either kind, which whoever has it releases once with its deleter.
#[derive(Clone, Copy, Debug)]
pub enum Capsule {
    Legacy(*mut ManagedTensor),
    Versioned(*mut ManagedTensorVersioned),
}

/// What an exported tensor keeps alive.
struct Exported {
    shape: Dims,
    strides: Dims,
    #[allow(dead_code, reason = "held, not read")]
    owner: Owner,
}

impl Exported {
    fn leak(tensor: &mut Tensor, array: &Array) -> *mut c_void {
        let exported = Box::new(Self {
            shape: array.shape.clone(),
            strides: array.strides.clone(),
            owner: array.owner(),
        });
        tensor.shape = exported.shape.as_ptr().cast_mut();
        tensor.strides = exported.strides.as_ptr().cast_mut();
        Box::into_raw(exported).cast()
    }

    /// # Safety
    ///
    /// `context` came from [`Exported::leak`] and is released once.
    unsafe fn release(context: *mut c_void) {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(context.cast::<Self>()) });
    }
}

unsafe extern "C" fn delete_legacy(managed: *mut ManagedTensor) {
    // SAFETY: consumers call the deleter once, with the pointer that `export` leaked.
    unsafe {
        let managed = Box::from_raw(managed);
        Exported::release(managed.manager_context);
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedTensorVersioned) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        Exported::release(managed.manager_context);
    }
}

impl Capsule {
    /// A managed tensor over an array, which it keeps alive.
    #[must_use]
    pub fn export(array: &Array, is_versioned: bool) -> Self {
        let mut tensor = array.tensor();
        let context = Exported::leak(&mut tensor, array);
        if is_versioned {
            Self::Versioned(Box::into_raw(Box::new(ManagedTensorVersioned {
                version: VERSION,
                manager_context: context,
                deleter: Some(delete_versioned),
                flags: if array.is_read_only {
                    FLAG_READ_ONLY
                } else {
                    0
                },
                tensor,
            })))
        } else {
            Self::Legacy(Box::into_raw(Box::new(ManagedTensor {
                tensor,
                manager_context: context,
                deleter: Some(delete_legacy),
            })))
        }
    }

    #[must_use]
    pub fn pointer(self) -> *mut c_void {
        match self {
            Self::Legacy(managed) => managed.cast(),
            Self::Versioned(managed) => managed.cast(),
        }
    }

    /// Calls the deleter.
    ///
    /// # Safety
    ///
    /// The pointer is valid and is released once.
    pub unsafe fn release(self) {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Self::Legacy(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Self::Versioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        }
    }
}

/// A tensor that another library lent through DLPack; given back when dropped.
#[derive(Debug)]
pub struct Imported {
    capsule: Capsule,
    pub tensor: Tensor,
    pub is_read_only: bool,
}

// SAFETY: DLPack lets the deleter run on any thread; the struct owns the only reference to the managed tensor.
unsafe impl Send for Imported {}
// SAFETY: shared access only reads plain fields.
unsafe impl Sync for Imported {}

impl Imported {
    /// Takes over a managed tensor.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another major version of DLPack; the tensor stays the caller's.
    ///
    /// # Safety
    ///
    /// The pointer is valid, and nobody else releases it.
    pub unsafe fn take(capsule: Capsule) -> Result<Self> {
        // SAFETY: as the caller promises.
        let (tensor, is_read_only) = unsafe {
            match capsule {
                Capsule::Legacy(managed) => ((*managed).tensor, false),
                Capsule::Versioned(managed) => {
                    let version = (*managed).version;
                    if version[0] != VERSION[0] {
                        return Err(Error::refused(
                            ErrorCode::InvalidArgument,
                            format!(
                                "DLPack {}.{} is not understood; this build speaks {}.{}",
                                version[0], version[1], VERSION[0], VERSION[1]
                            ),
                        ));
                    }
                    ((*managed).tensor, (*managed).flags & FLAG_READ_ONLY != 0)
                }
            }
        };
        Ok(Self {
            capsule,
            tensor,
            is_read_only,
        })
    }

    #[must_use]
    pub fn shape(&self) -> &[i64] {
        // SAFETY: the producer guarantees `ndim` entries while the tensor is not released.
        unsafe { dims(self.tensor.shape, self.tensor.ndim) }
    }

    /// Strides in elements; row-major when the producer gave none.
    #[must_use]
    pub fn strides(&self) -> Dims {
        if self.tensor.strides.is_null() {
            return row_major(self.shape());
        }
        // SAFETY: as for the shape.
        Dims::from_slice(unsafe { dims(self.tensor.strides, self.tensor.ndim) })
    }

    /// Address of index 0.
    #[must_use]
    pub fn data(&self) -> *mut c_void {
        let bytes = self.tensor.data.cast::<u8>();
        bytes.wrapping_add(self.tensor.byte_offset as usize).cast()
    }

    /// Refuses element types that arrays cannot hold.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`.
    pub fn check_dtype(&self) -> Result<()> {
        if self.tensor.dtype.name().is_some() {
            return Ok(());
        }
        let Dtype { code, bits, lanes } = self.tensor.dtype;
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "the DLPack dtype of code {code} with {bits} bits in {lanes} lanes is not a type of device memory; supported: {}",
                Dtype::known_names().collect::<Vec<_>>().join(", ")
            ),
        ))
    }

    /// The memory as an array, which gives it back when the last view is gone.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`; `wrong-device` for devices that this package has no driver for.
    pub fn into_array(self) -> Result<Array> {
        self.check_dtype()?;
        let location = MemoryLocation::of_dlpack(self.tensor.device)?;
        let device = location.gpu().map(device_for_external).transpose()?;
        let address = amdgpu_hal::DevicePointer::from_host(self.data());
        let layout = (Dims::from_slice(self.shape()), self.strides());
        let (dtype, is_read_only) = (self.tensor.dtype, self.is_read_only);
        let external = External {
            location,
            device,
            owner: Box::new(self),
        };
        Ok(Array::of_external(
            external,
            address,
            layout,
            dtype,
            is_read_only,
        ))
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: taken over once, so this is the only release.
        unsafe { self.capsule.release() }
    }
}

/// # Safety
///
/// `pointer` is null with `ndim` 0, or points to `ndim` values.
unsafe fn dims<'a>(pointer: *const i64, ndim: i32) -> &'a [i64] {
    if pointer.is_null() || ndim <= 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(pointer, ndim as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use amdgpu_aura::OpenDevice;
    use amdgpu_hal::MemoryKind;

    #[test]
    fn an_exported_array_comes_back_and_keeps_its_memory() {
        let device = OpenDevice::open("cpu:0").unwrap();
        let array = Array::empty(
            &device,
            Dims::from_slice(&[2, 3]),
            Dtype::F32,
            MemoryKind::Device,
        )
        .unwrap();
        array.fill(&1.5_f32.to_ne_bytes()).unwrap();
        for is_versioned in [false, true] {
            let view = array.view(Dims::from_slice(&[3, 2]), Dims::from_slice(&[1, 3]));
            let capsule = Capsule::export(&view, is_versioned);
            drop(view);
            // SAFETY: exported just now, taken once.
            let back = unsafe { Imported::take(capsule) }
                .unwrap()
                .into_array()
                .unwrap();
            assert_eq!(back.shape.as_slice(), [3, 2]);
            assert_eq!(back.strides.as_slice(), [1, 3]);
            assert_eq!(back.address(), array.address());
            // SAFETY: memory of the CPU device that the array keeps.
            assert_eq!(unsafe { *back.data().cast::<u32>() }, 1.5_f32.to_bits());
        }
    }

    #[test]
    fn read_only_arrays_say_so_in_the_versioned_form() {
        let device = OpenDevice::open("cpu:0").unwrap();
        let mut array = Array::empty(
            &device,
            Dims::from_slice(&[4]),
            Dtype::F64,
            MemoryKind::Device,
        )
        .unwrap();
        array.is_read_only = true;
        let capsule = Capsule::export(&array, true);
        // SAFETY: exported just now, taken once.
        let back = unsafe { Imported::take(capsule) }.unwrap();
        assert!(back.is_read_only);
    }
}
