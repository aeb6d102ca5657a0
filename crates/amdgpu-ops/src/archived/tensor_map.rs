//! Descriptors of matrices and images for TMA, the copy engine of NVIDIA's Hopper, made by the driver and kept on the device.
//!
//! Source: CUDA Driver API, Tensor Map Object Management.

use std::ffi::c_void;
use std::sync::{OnceLock, PoisonError, RwLock};

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use libloading::Library;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::archive::ArchivedKernel;
use super::gemm::Gemm;
use super::operations::Convolution;
use super::problem::{Number, Problem};
use crate::{DeviceOps, Error, Result};

const DESCRIPTOR_BYTES: usize = 128;
/// Rows of shared memory that TMA swizzles.
const SWIZZLE_BYTES: u64 = 128;
/// Of a box of results.
const RESULT_ROWS: u64 = 64;
/// Of a box of queries, keys, values or gradients.
const ATTENTION_ROWS: u64 = 64;
/// `CU_TENSOR_MAP_SWIZZLE_128B` and `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`.
const SWIZZLE_128: u32 = 3;
const PROMOTION_256: u32 = 3;
/// Products and convolutions whose descriptors, of 384 bytes at most, a device keeps.
const LIMIT: usize = 4096;

/// `cuTensorMapEncodeTiled`.
type EncodeTiled = unsafe extern "C" fn(
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
/// `cuTensorMapEncodeIm2col`.
type EncodePatches = unsafe extern "C" fn(
    map: *mut c_void,
    data_type: u32,
    rank: u32,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    lower_corner: *const i32,
    upper_corner: *const i32,
    channels: u32,
    pixels: u32,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> u32;
/// `cuDriverGetVersion`.
type DriverVersion = unsafe extern "C" fn(version: *mut i32) -> u32;

/// Of the driver, which wants it at a multiple of 64.
#[repr(C, align(64))]
struct Descriptor([u8; DESCRIPTOR_BYTES]);

#[derive(Clone, PartialEq, Eq, Hash)]
struct ProductKey {
    problem: Problem,
    leads: [u64; 3],
    strides: [u64; 3],
    addresses: [u64; 3],
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ConvolutionKey {
    number: Number,
    /// Of images and filters.
    addresses: [u64; 2],
    /// (images, height, width, channels)
    images: [u64; 4],
    /// (filters, rows, columns, channels of a group)
    filters: [u64; 4],
    /// Rows and columns of the results.
    results: [u64; 2],
    stride: u32,
    padding: i32,
    dilation: i32,
}

/// Rows of heads of batches, as attention reads them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    pub address: u64,
    /// (elements, rows, heads, batches)
    pub shape: [u64; 4],
    /// Elements from row to row, head to head and batch to batch.
    pub strides: [u64; 3],
}

/// Queries, keys, values and gradients of results.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct AttentionKey {
    pub number: Number,
    pub inputs: [Rows; 4],
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Product(usize, ProductKey),
    Convolution(usize, ConvolutionKey),
    Attention(AttentionKey),
}

/// Descriptors of operands and results, by what is computed and addresses: networks multiply the same arrays again.
#[derive(Default)]
pub struct TensorMaps(RwLock<FxHashMap<Key, Array>>);

impl TensorMaps {
    /// The descriptors of both operands and the result of a product, on the device.
    ///
    /// # Errors
    ///
    /// `driver-fault` where the driver refuses a description; `out-of-memory`.
    pub fn of_product(
        &self,
        ops: &DeviceOps,
        kernel: &ArchivedKernel,
        call: &Gemm<'_>,
        (leads, strides): ([u64; 3], [u64; 3]),
    ) -> Result<Array> {
        let key = ProductKey {
            problem: call.problem,
            leads,
            strides,
            addresses: [call.a, call.b, call.out].map(|array| array.address().address()),
        };
        self.known_or(ops, Key::Product(kernel.index, key.clone()), || {
            let maps = descriptions(kernel, &key);
            maps.iter().map(Description::encode).collect()
        })
    }

    /// The descriptors of images and filters, on the device.
    ///
    /// # Errors
    ///
    /// As [`of_product`](Self::of_product).
    pub fn of_convolution(
        &self,
        ops: &DeviceOps,
        kernel: &ArchivedKernel,
        call: &Convolution<'_>,
    ) -> Result<Array> {
        let extents = |array: &Array| std::array::from_fn(|axis| array.shape[axis] as u64);
        let key = ConvolutionKey {
            number: call.problem.operand,
            addresses: [call.images, call.filters].map(|array| array.address().address()),
            images: extents(call.images),
            filters: extents(call.filters),
            results: [1, 2].map(|axis| call.result.shape[axis] as u64),
            stride: call.stride as u32,
            padding: call.padding as i32,
            dilation: call.dilation as i32,
        };
        self.known_or(ops, Key::Convolution(kernel.index, key.clone()), || {
            Ok(vec![
                key.encode_patches(kernel)?,
                key.filters(kernel).encode()?,
            ])
        })
    }

    /// The descriptors of queries, keys, values and gradients, on the device; all kernels of attention copy the same boxes.
    ///
    /// # Errors
    ///
    /// As [`of_product`](Self::of_product).
    pub fn of_attention(&self, ops: &DeviceOps, key: &AttentionKey) -> Result<Array> {
        self.known_or(ops, Key::Attention(key.clone()), || {
            key.descriptions().iter().map(Description::encode).collect()
        })
    }

    fn known_or(
        &self,
        ops: &DeviceOps,
        key: Key,
        describe: impl Fn() -> Result<Vec<Descriptor>>,
    ) -> Result<Array> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return Ok(found.clone());
        }
        drop(known);
        let device = ops.device();
        let mut described = Ok(Vec::new());
        // The driver takes addresses of the current device only, and outside of our own calls another GPU may be current.
        device
            .device()
            .with_current(&mut || described = describe())?;
        let bytes: Vec<u8> = described?.iter().flat_map(|one| one.0).collect();
        // Also while a graph is recorded the copy is made now: replays find the descriptors there.
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

/// Larger images do not need [`CLEARED_BIT`].
const SMALL_BYTES: u64 = 131_072;
/// Drivers up to this one describe small images wrongly unless the bit of the descriptor's second word is cleared, as CUTLASS does
/// (`copy_traits_sm90_im2col.hpp`).
const LAST_WRONG_DRIVER: i32 = 13_010;
const CLEARED_BIT: u64 = 1 << 21;

impl ConvolutionKey {
    /// Images as the patches that results are sums of.
    fn encode_patches(&self, kernel: &ArchivedKernel) -> Result<Descriptor> {
        let mut made = Descriptor([0; DESCRIPTOR_BYTES]);
        let [images, height, width, channels] = self.images;
        let bytes = self.number.bytes();
        let dims = [channels, width, height, images];
        let steps =
            [channels, width * channels, height * width * channels].map(|step| step * bytes);
        let lower = [-self.padding; 2];
        // How far from the image's last column and row the first tap of the last patch lies.
        let [rows, columns] = self.results;
        let upper = [(width, columns), (height, rows)].map(|(extent, results)| {
            (results as i32 - 1) * self.stride as i32 - self.padding - (extent as i32 - 1)
        });
        let strides = [1, self.stride, self.stride, 1];
        let driver = driver()?;
        // SAFETY: the arrays have four entries for four dimensions, the strides one less, the corners two less; the address is stored and
        // not read.
        let status = unsafe {
            (driver.encode_patches)(
                made.0.as_mut_ptr().cast(),
                data_type(self.number),
                4,
                std::ptr::with_exposed_provenance_mut(self.addresses[0] as usize),
                dims.as_ptr(),
                steps.as_ptr(),
                lower.as_ptr(),
                upper.as_ptr(),
                (SWIZZLE_BYTES / bytes) as u32,
                kernel.tile.m as u32,
                strides.as_ptr(),
                0,
                SWIZZLE_128,
                PROMOTION_256,
                0,
            )
        };
        if status != 0 {
            return Err(Error::refused(
                ErrorCode::DriverFault,
                format!(
                    "cuTensorMapEncodeIm2col refuses {} {dims:?} from {lower:?} to {upper:?} by {strides:?}: status {status}",
                    self.number.name(),
                ),
            ));
        }
        let size: u64 = dims.iter().product::<u64>() * bytes;
        if driver.version <= LAST_WRONG_DRIVER && size < SMALL_BYTES {
            let word: [u8; 8] = std::array::from_fn(|place| made.0[8 + place]);
            let word = u64::from_ne_bytes(word) & !CLEARED_BIT;
            made.0[8..16].copy_from_slice(&word.to_ne_bytes());
        }
        Ok(made)
    }

    /// Filters as matrices of a filter each, with a row for each tap.
    fn filters(&self, kernel: &ArchivedKernel) -> Description {
        let [filters, rows, columns, channels] = self.filters;
        let taps = rows * columns;
        Description {
            number: self.number,
            address: self.addresses[1],
            shape: smallvec![channels, taps, filters],
            strides: smallvec![channels, taps * channels],
            box_shape: smallvec![SWIZZLE_BYTES / self.number.bytes(), 1, kernel.tile.n],
        }
    }
}

impl AttentionKey {
    /// Boxes have 64 rows of 64 elements (`zig/src/kernels/attention_tiles.zig`).
    fn descriptions(&self) -> [Description; 4] {
        self.inputs.map(|rows| Description {
            number: self.number,
            address: rows.address,
            shape: SmallVec::from_slice(&rows.shape),
            strides: SmallVec::from_slice(&rows.strides),
            box_shape: SmallVec::from_slice(&[
                SWIZZLE_BYTES / self.number.bytes(),
                ATTENTION_ROWS,
                1,
                1,
            ]),
        })
    }
}

/// A batch of matrices, or batches of them.
struct Description {
    number: Number,
    /// Of the first element, a multiple of 16.
    address: u64,
    /// Contiguous dimension, other dimension, matrices, batches of them if there are such.
    shape: SmallVec<[u64; 4]>,
    /// From row to row, matrix to matrix and batch to batch, in elements; multiples of 16 bytes.
    strides: SmallVec<[u64; 4]>,
    /// How much is copied at a time: of the contiguous dimension (128 bytes), of the other, and matrices.
    box_shape: SmallVec<[u64; 4]>,
}

/// Of both operands and the result.
fn descriptions(kernel: &ArchivedKernel, key: &ProductKey) -> [Description; 3] {
    let problem = &key.problem;
    let (tile, is_transposed) = (kernel.tile, kernel.layout.is_transposed());
    // Size along the outer dimension, whether k is contiguous, rows of a box where it is.
    let operand = |side: usize, outer: u64, is_k_contiguous: bool, rows: u64| Description {
        number: problem.operand,
        address: key.addresses[side],
        shape: if is_k_contiguous {
            smallvec![problem.k, outer, problem.batch]
        } else {
            smallvec![outer, problem.k, problem.batch]
        },
        strides: smallvec![key.leads[side], key.strides[side]],
        box_shape: smallvec![
            SWIZZLE_BYTES / problem.operand.bytes(),
            if is_k_contiguous { rows } else { tile.k },
            1,
        ],
    };
    [
        operand(0, problem.m, !is_transposed[0], tile.m),
        operand(1, problem.n, is_transposed[1], tile.n / kernel.cluster),
        Description {
            number: problem.output,
            address: key.addresses[2],
            shape: smallvec![problem.n, problem.m, problem.batch],
            strides: smallvec![key.leads[2], key.strides[2]],
            box_shape: smallvec![SWIZZLE_BYTES / problem.output.bytes(), RESULT_ROWS, 1],
        },
    ]
}

impl Description {
    fn encode(&self) -> Result<Descriptor> {
        let mut made = Descriptor([0; DESCRIPTOR_BYTES]);
        let bytes = self.number.bytes();
        let steps: SmallVec<[u64; 4]> = self.strides.iter().map(|one| one * bytes).collect();
        let boxes: SmallVec<[u32; 4]> = self.box_shape.iter().map(|one| *one as u32).collect();
        let ones = [1_u32; 4];
        let encode = driver()?.encode_tiled;
        // SAFETY: the arrays have an entry for each dimension, of which there are four at most, the strides one less; the address is stored and
        // not read.
        let status = unsafe {
            encode(
                made.0.as_mut_ptr().cast(),
                data_type(self.number),
                self.shape.len() as u32,
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

/// What is called of the driver.
struct Driver {
    encode_tiled: EncodeTiled,
    encode_patches: EncodePatches,
    version: i32,
    /// Keeps the functions where they are.
    _library: Library,
}

/// The driver is in the process where there is a device of its kind.
fn driver() -> Result<&'static Driver> {
    static FOUND: OnceLock<std::result::Result<Driver, String>> = OnceLock::new();
    FOUND
        .get_or_init(|| open().map_err(|error| error.to_string()))
        .as_ref()
        .map_err(|reason| {
            let message =
                format!("the driver's functions for the copy engine are not there: {reason}");
            Error::refused(ErrorCode::DriverFault, message)
        })
}

fn open() -> std::result::Result<Driver, libloading::Error> {
    // SAFETY: the driver's library was loaded before, by the device whose kernels need the descriptors; the prototypes are those that cuda.h
    // of CUDA 12 gives.
    unsafe {
        let library = Library::new("libcuda.so.1")?;
        let encode_tiled = *library.get::<EncodeTiled>(b"cuTensorMapEncodeTiled\0")?;
        let encode_patches = *library.get::<EncodePatches>(b"cuTensorMapEncodeIm2col\0")?;
        let mut version = 0;
        // Without a version the driver is taken for an old one.
        library.get::<DriverVersion>(b"cuDriverGetVersion\0")?(&raw mut version);
        Ok(Driver {
            encode_tiled,
            encode_patches,
            version,
            _library: library,
        })
    }
}
