//! Families of kernels. A row of a table names an operation of TensorFlow, its dtypes and the function that makes its kernels.

use std::ffi::CStr;

use crate::dtype::Dtype;
use crate::registry::Row;
use crate::tensor::Tensor;

mod collective;
mod convolution;
mod einsum;
mod elementwise;
mod fused;
mod indexing;
mod losses;
mod matmul;
mod movement;
mod normalization;
mod pooling;
mod random;
mod reduction;
mod refusals;
mod resize;
mod spatial;
mod stitching;
mod variables;

const T: &CStr = c"T";

const FLOATS: &[Dtype] = &[Dtype::F16, Dtype::BF16, Dtype::F32, Dtype::F64];
const FLOATS_AND_I64: &[Dtype] = &[Dtype::F16, Dtype::BF16, Dtype::F32, Dtype::F64, Dtype::I64];
const INT32: &[Dtype] = &[Dtype::I32];
const INTEGERS: &[Dtype] = &[
    Dtype::I8,
    Dtype::I16,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
];
const ALL_INTEGERS: &[Dtype] = &[
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
];
/// What arithmetic is done with on the device: int32 is TensorFlow's own, in the memory of the host.
const NUMBERS: &[Dtype] = &[
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
];
const SIGNED: &[Dtype] = &[
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I64,
];
const SIGNED_AND_INT32: &[Dtype] = &[
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
];
const NUMBERS_AND_INT32: &[Dtype] = &[
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
];
/// What is moved without being computed with.
const ANY: &[Dtype] = &[
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
    Dtype::BOOL,
];
const ANY_AND_INT32: &[Dtype] = &[
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
    Dtype::BOOL,
];

/// A row whose tensors are in the memory of the device but for the named arguments.
const fn row(
    operation: &'static CStr,
    types: &'static [(&'static CStr, &'static [Dtype])],
    host: &'static [&'static CStr],
    make: fn(&crate::call::Attributes) -> crate::failure::Outcome<crate::registry::Kernel>,
) -> Row {
    Row {
        operation,
        types,
        host,
        host_types: &[],
        arguments: &[],
        make,
    }
}

/// Numbers to a tensor in the memory of the host that has as many.
fn write_to_host<T: Copy>(out: &Tensor, values: &[T]) {
    debug_assert_eq!(out.len() as usize, values.len());
    // SAFETY: an output in the memory of the host, of so many elements of this size.
    unsafe {
        std::ptr::copy_nonoverlapping(values.as_ptr(), out.address.cast::<T>(), values.len());
    }
}

impl Row {
    /// With kernels of int32, all of whose arguments are in the memory of the host.
    const fn and_host_int32(mut self, arguments: &'static [&'static CStr]) -> Self {
        self.host_types = INT32;
        self.arguments = arguments;
        self
    }
}

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Row> {
    [
        elementwise::ROWS,
        reduction::ROWS,
        movement::ROWS,
        indexing::ROWS,
        stitching::ROWS,
        matmul::ROWS,
        einsum::ROWS,
        convolution::ROWS,
        pooling::ROWS,
        resize::ROWS,
        normalization::ROWS,
        losses::ROWS,
        random::ROWS,
        variables::ROWS,
        refusals::ROWS,
        fused::ROWS,
        collective::ROWS,
    ]
    .into_iter()
    .flatten()
}
