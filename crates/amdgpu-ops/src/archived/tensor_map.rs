//! Descriptors of matrices for TMA, the copy engine of NVIDIA's Hopper, made by the driver and kept on the device.
//!
//! Source: CUDA Driver API, Tensor Map Object Management.

use std::ffi::c_void;
use std::sync::{OnceLock, PoisonError, RwLock};

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use libloading::Library;
use rustc_hash::FxHashMap;

use super::archive::ArchivedKernel;
use super::gemm::Gemm;
use super::problem::{Number, Problem};
use crate::{DeviceOps, Error, Result};

const DESCRIPTOR_BYTES: usize = 128;
/// Rows of shared memory that TMA swizzles.
const SWIZZLE_BYTES: u64 = 128;
/// Of a box of results.
const RESULT_ROWS: u64 = 64;
/// `CU_TENSOR_MAP_SWIZZLE_128B` and `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`.
const SWIZZLE_128: u32 = 3;
const PROMOTION_256: u32 = 3;
/// Products whose descriptors, of 384 bytes, a device keeps.
const LIMIT: usize = 4096;

/// `cuTensorMapEncodeTiled`.
type Encode = unsafe extern "C" fn(
    map: *mut c_void,
    data_type: u32,
    rank: u32,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    box_dims: *const u32,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> u32;

/// Of the driver, which wants it at a multiple of 64.
#[repr(C, align(64))]
struct Descriptor([u8; DESCRIPTOR_BYTES]);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    problem: Problem,
    leads: [u64; 3],
    strides: [u64; 3],
    kernel: usize,
    addresses: [u64; 3],
}

/// Descriptors of both operands and the result, by product and addresses: networks multiply the same arrays again.
#[derive(Default)]
pub struct TensorMaps(RwLock<FxHashMap<Key, Array>>);

impl TensorMaps {
    /// The descriptors of a product, on the device.
    ///
    /// # Errors
    ///
    /// `driver-fault` where the driver refuses a description; `out-of-memory`.
    pub fn of(
        &self,
        ops: &DeviceOps,
        kernel: &ArchivedKernel,
        call: &Gemm<'_>,
        (leads, strides): ([u64; 3], [u64; 3]),
    ) -> Result<Array> {
        let addresses = [call.a, call.b, call.out].map(|array| array.address().address());
        let key = Key {
            problem: call.problem,
            leads,
            strides,
            kernel: kernel.index,
            addresses,
        };
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return Ok(found.clone());
        }
        drop(known);
        let mut bytes = Vec::with_capacity(3 * DESCRIPTOR_BYTES);
        for map in descriptions(kernel, &key) {
            bytes.extend_from_slice(&map.encode()?.0);
        }
        // Also while a graph is recorded the copy is made now: replays find the descriptors there.
        let device = ops.device();
        let made = Array::from_host(device, &bytes, [bytes.len() as i64].as_slice(), U8)?;
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= LIMIT {
            // Launches may still read them; a graph that was recorded keeps its own.
            device.settle()?;
            known.clear();
        }
        known.insert(key, made.clone());
        Ok(made)
    }
}

const U8: Dtype = Dtype::U8;

/// A batch of matrices.
struct Description {
    number: Number,
    /// Of the first element, a multiple of 16.
    address: u64,
    /// Contiguous dimension, other dimension, matrices.
    shape: [u64; 3],
    /// From row to row and from matrix to matrix, in elements; multiples of 16 bytes.
    strides: [u64; 2],
    /// How much is copied at a time: of the contiguous dimension (128 bytes) and of the other.
    box_shape: [u64; 2],
}

/// Of both operands and the result.
fn descriptions(kernel: &ArchivedKernel, key: &Key) -> [Description; 3] {
    let problem = &key.problem;
    let (tile, is_transposed) = (kernel.tile, kernel.layout.is_transposed());
    // Size along the outer dimension, whether k is contiguous, rows of a box where it is.
    let operand = |side: usize, outer: u64, is_k_contiguous: bool, rows: u64| Description {
        number: problem.operand,
        address: key.addresses[side],
        shape: if is_k_contiguous {
            [problem.k, outer, problem.batch]
        } else {
            [outer, problem.k, problem.batch]
        },
        strides: [key.leads[side], key.strides[side]],
        box_shape: [
            SWIZZLE_BYTES / problem.operand.bytes(),
            if is_k_contiguous { rows } else { tile.k },
        ],
    };
    [
        operand(0, problem.m, !is_transposed[0], tile.m),
        operand(1, problem.n, is_transposed[1], tile.n / kernel.cluster),
        Description {
            number: problem.output,
            address: key.addresses[2],
            shape: [problem.n, problem.m, problem.batch],
            strides: [key.leads[2], key.strides[2]],
            box_shape: [SWIZZLE_BYTES / problem.output.bytes(), RESULT_ROWS],
        },
    ]
}

impl Description {
    fn encode(&self) -> Result<Descriptor> {
        let mut made = Descriptor([0; DESCRIPTOR_BYTES]);
        let steps = self.strides.map(|stride| stride * self.number.bytes());
        let boxes = [self.box_shape[0] as u32, self.box_shape[1] as u32, 1];
        let ones = [1_u32; 3];
        let encode = encode()?;
        // SAFETY: the arrays have three entries for three dimensions, the strides one less; the address is stored and not read.
        let status = unsafe {
            encode(
                made.0.as_mut_ptr().cast(),
                data_type(self.number),
                3,
                std::ptr::with_exposed_provenance_mut(self.address as usize),
                self.shape.as_ptr(),
                steps.as_ptr(),
                boxes.as_ptr(),
                ones.as_ptr(),
                0,
                SWIZZLE_128,
                PROMOTION_256,
                0,
            )
        };
        if status == 0 {
            return Ok(made);
        }
        Err(Error::refused(
            ErrorCode::DriverFault,
            format!(
                "cuTensorMapEncodeTiled refuses {} {:?} with strides {:?} and boxes {:?}: status {status}",
                self.number.name(),
                self.shape,
                self.strides,
                self.box_shape
            ),
        ))
    }
}

/// `CUtensorMapDataType`.
fn data_type(number: Number) -> u32 {
    match number {
        Number::I8 => 0,
        Number::I32 => 3,
        Number::F16 => 6,
        Number::F32 => 7,
        // No matrix is copied by TMA in float64.
        Number::F64 => 8,
        Number::Bf16 => 9,
        Number::Tf32 => 11,
    }
}

/// The driver's function; the driver is in the process where there is a device of its kind.
fn encode() -> Result<Encode> {
    static FOUND: OnceLock<std::result::Result<(Library, Encode), String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        // SAFETY: the driver's library was loaded before, by the device whose kernels need the descriptors.
        let library = unsafe { Library::new("libcuda.so.1") }.map_err(|error| error.to_string())?;
        // SAFETY: the prototype is the one that cuda.h of CUDA 12 gives.
        let encode = unsafe { library.get::<Encode>(b"cuTensorMapEncodeTiled\0") }
            .map_err(|error| error.to_string())?;
        let encode = *encode;
        Ok((library, encode))
    });
    match found {
        Ok((_, encode)) => Ok(*encode),
        Err(reason) => Err(Error::refused(
            ErrorCode::DriverFault,
            format!("cuTensorMapEncodeTiled is not there: {reason}"),
        )),
    }
}
