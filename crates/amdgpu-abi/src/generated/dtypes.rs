// Generated from dtypes.toml by ./x generate. Do not edit.

use serde::{Deserialize, Serialize};

use super::{DtypeRow, FormatRow, PrecisionRow};
use crate::layout::{
    DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_COMPLEX, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT, Dtype,
};

impl Dtype {
    pub const BOOL: Self = Self::new(DTYPE_BOOL, 8);
    pub const U8: Self = Self::new(DTYPE_UINT, 8);
    pub const U16: Self = Self::new(DTYPE_UINT, 16);
    pub const U32: Self = Self::new(DTYPE_UINT, 32);
    pub const U64: Self = Self::new(DTYPE_UINT, 64);
    pub const I8: Self = Self::new(DTYPE_INT, 8);
    pub const I16: Self = Self::new(DTYPE_INT, 16);
    pub const I32: Self = Self::new(DTYPE_INT, 32);
    pub const I64: Self = Self::new(DTYPE_INT, 64);
    pub const F16: Self = Self::new(DTYPE_FLOAT, 16);
    pub const BF16: Self = Self::new(DTYPE_BFLOAT, 16);
    pub const F32: Self = Self::new(DTYPE_FLOAT, 32);
    pub const F64: Self = Self::new(DTYPE_FLOAT, 64);
    pub const C64: Self = Self::new(DTYPE_COMPLEX, 64);
    pub const C128: Self = Self::new(DTYPE_COMPLEX, 128);
}

/// Rows of `dtypes.toml`.
pub const DTYPES: [DtypeRow; 15] = [
    DtypeRow {
        dtype: Dtype::BOOL,
        name: "bool",
        hip_c: "bool",
        computed_in: Dtype::I32,
        summed_in: Dtype::I64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::U8,
        name: "uint8",
        hip_c: "unsigned char",
        computed_in: Dtype::I32,
        summed_in: Dtype::U64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::U16,
        name: "uint16",
        hip_c: "unsigned short",
        computed_in: Dtype::I32,
        summed_in: Dtype::U64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::U32,
        name: "uint32",
        hip_c: "unsigned int",
        computed_in: Dtype::I64,
        summed_in: Dtype::U64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::U64,
        name: "uint64",
        hip_c: "unsigned long long",
        computed_in: Dtype::U64,
        summed_in: Dtype::U64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::I8,
        name: "int8",
        hip_c: "signed char",
        computed_in: Dtype::I32,
        summed_in: Dtype::I64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::I16,
        name: "int16",
        hip_c: "short",
        computed_in: Dtype::I32,
        summed_in: Dtype::I64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::I32,
        name: "int32",
        hip_c: "int",
        computed_in: Dtype::I32,
        summed_in: Dtype::I64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::I64,
        name: "int64",
        hip_c: "long long",
        computed_in: Dtype::I64,
        summed_in: Dtype::I64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::F16,
        name: "float16",
        hip_c: "half",
        computed_in: Dtype::F32,
        summed_in: Dtype::F16,
        as_float: Dtype::F16,
    },
    DtypeRow {
        dtype: Dtype::BF16,
        name: "bfloat16",
        hip_c: "__hip_bfloat16",
        computed_in: Dtype::F32,
        summed_in: Dtype::BF16,
        as_float: Dtype::BF16,
    },
    DtypeRow {
        dtype: Dtype::F32,
        name: "float32",
        hip_c: "float",
        computed_in: Dtype::F32,
        summed_in: Dtype::F32,
        as_float: Dtype::F32,
    },
    DtypeRow {
        dtype: Dtype::F64,
        name: "float64",
        hip_c: "double",
        computed_in: Dtype::F64,
        summed_in: Dtype::F64,
        as_float: Dtype::F64,
    },
    DtypeRow {
        dtype: Dtype::C64,
        name: "complex64",
        hip_c: "",
        computed_in: Dtype::C64,
        summed_in: Dtype::C64,
        as_float: Dtype::C64,
    },
    DtypeRow {
        dtype: Dtype::C128,
        name: "complex128",
        hip_c: "",
        computed_in: Dtype::C128,
        summed_in: Dtype::C128,
        as_float: Dtype::C128,
    },
];

/// Element types of the tensor operations, in the order in which messages list them.
pub const TENSOR_DTYPES: [Dtype; 13] = [
    Dtype::BOOL,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
];

/// Place of a dtype in `DTYPES`; in `TENSOR_DTYPES` the same.
#[must_use]
pub const fn position(dtype: Dtype) -> Option<usize> {
    if dtype.lanes != 1 {
        return None;
    }
    match (dtype.code, dtype.bits) {
        (DTYPE_BOOL, 8) => Some(0),
        (DTYPE_UINT, 8) => Some(1),
        (DTYPE_UINT, 16) => Some(2),
        (DTYPE_UINT, 32) => Some(3),
        (DTYPE_UINT, 64) => Some(4),
        (DTYPE_INT, 8) => Some(5),
        (DTYPE_INT, 16) => Some(6),
        (DTYPE_INT, 32) => Some(7),
        (DTYPE_INT, 64) => Some(8),
        (DTYPE_FLOAT, 16) => Some(9),
        (DTYPE_BFLOAT, 16) => Some(10),
        (DTYPE_FLOAT, 32) => Some(11),
        (DTYPE_FLOAT, 64) => Some(12),
        (DTYPE_COMPLEX, 64) => Some(13),
        (DTYPE_COMPLEX, 128) => Some(14),
        _ => None,
    }
}

/// The dtype in which two meet, by their places in `TENSOR_DTYPES`.
pub const PROMOTED: [[Dtype; 13]; 13] = [
    [
        Dtype::BOOL,
        Dtype::U8,
        Dtype::U16,
        Dtype::U32,
        Dtype::U64,
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::F16,
        Dtype::BF16,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::U8,
        Dtype::U8,
        Dtype::U16,
        Dtype::U32,
        Dtype::U64,
        Dtype::I16,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::F16,
        Dtype::BF16,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::U16,
        Dtype::U16,
        Dtype::U16,
        Dtype::U32,
        Dtype::U64,
        Dtype::I32,
        Dtype::I32,
        Dtype::I32,
        Dtype::I64,
        Dtype::F32,
        Dtype::F32,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::U32,
        Dtype::U32,
        Dtype::U32,
        Dtype::U32,
        Dtype::U64,
        Dtype::I64,
        Dtype::I64,
        Dtype::I64,
        Dtype::I64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
    ],
    [
        Dtype::U64,
        Dtype::U64,
        Dtype::U64,
        Dtype::U64,
        Dtype::U64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
    ],
    [
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::F64,
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::F16,
        Dtype::BF16,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::I16,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::F64,
        Dtype::I16,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::F32,
        Dtype::F32,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::I32,
        Dtype::I32,
        Dtype::I32,
        Dtype::I64,
        Dtype::F64,
        Dtype::I32,
        Dtype::I32,
        Dtype::I32,
        Dtype::I64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
    ],
    [
        Dtype::I64,
        Dtype::I64,
        Dtype::I64,
        Dtype::I64,
        Dtype::F64,
        Dtype::I64,
        Dtype::I64,
        Dtype::I64,
        Dtype::I64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
    ],
    [
        Dtype::F16,
        Dtype::F16,
        Dtype::F32,
        Dtype::F64,
        Dtype::F64,
        Dtype::F16,
        Dtype::F32,
        Dtype::F64,
        Dtype::F64,
        Dtype::F16,
        Dtype::F32,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::BF16,
        Dtype::BF16,
        Dtype::F32,
        Dtype::F64,
        Dtype::F64,
        Dtype::BF16,
        Dtype::F32,
        Dtype::F64,
        Dtype::F64,
        Dtype::F32,
        Dtype::BF16,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::F32,
        Dtype::F32,
        Dtype::F32,
        Dtype::F64,
        Dtype::F64,
        Dtype::F32,
        Dtype::F32,
        Dtype::F64,
        Dtype::F64,
        Dtype::F32,
        Dtype::F32,
        Dtype::F32,
        Dtype::F64,
    ],
    [
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
        Dtype::F64,
    ],
];

/// How a matrix unit reads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    F64,
    F32,
    Tf32,
    F16,
    Bf16,
    I8,
    I32,
}

impl Format {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::F64,
        Self::F32,
        Self::Tf32,
        Self::F16,
        Self::Bf16,
        Self::I8,
        Self::I32,
    ];
}

/// By `Format`.
pub const FORMATS: [FormatRow; 7] = [
    FormatRow {
        name: "f64",
        dtype: Dtype::F64,
        output: Format::F64,
        sums: Format::F64,
        product_error: Some(1e-15),
    },
    FormatRow {
        name: "f32",
        dtype: Dtype::F32,
        output: Format::F32,
        sums: Format::F32,
        product_error: Some(1e-06),
    },
    FormatRow {
        name: "tf32",
        dtype: Dtype::F32,
        output: Format::F32,
        sums: Format::F32,
        product_error: Some(0.002),
    },
    FormatRow {
        name: "f16",
        dtype: Dtype::F16,
        output: Format::F16,
        sums: Format::F32,
        product_error: Some(0.001),
    },
    FormatRow {
        name: "bf16",
        dtype: Dtype::BF16,
        output: Format::Bf16,
        sums: Format::F32,
        product_error: Some(0.008),
    },
    FormatRow {
        name: "i8",
        dtype: Dtype::I8,
        output: Format::I32,
        sums: Format::I32,
        product_error: Some(0.0),
    },
    FormatRow {
        name: "i32",
        dtype: Dtype::I32,
        output: Format::I32,
        sums: Format::I32,
        product_error: None,
    },
];

/// What a matrix multiplication computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Operands, sums and result are float64.
    Fp64,
    /// Operands, sums and result are float32.
    Fp32,
    /// As fp32, but matrix units may take 11 significant bits of each operand.
    Tf32,
    /// Operands are rounded to float16 and summed in float32. The result is float16 where both operands were, else float32.
    Fp16,
    /// Operands are rounded to bfloat16 and summed in float32. The result is bfloat16 where both operands were, else float32.
    Bf16,
    /// Both operands are int8, sums and result int32; exact, and sums beyond 32 bits wrap.
    Int8,
}

impl Precision {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 6] = [
        Self::Fp64,
        Self::Fp32,
        Self::Tf32,
        Self::Fp16,
        Self::Bf16,
        Self::Int8,
    ];
}

/// By `Precision`.
pub const PRECISIONS: [PrecisionRow; 6] = [
    PrecisionRow {
        name: "fp64",
        format: Format::F64,
    },
    PrecisionRow {
        name: "fp32",
        format: Format::F32,
    },
    PrecisionRow {
        name: "tf32",
        format: Format::Tf32,
    },
    PrecisionRow {
        name: "fp16",
        format: Format::F16,
    },
    PrecisionRow {
        name: "bf16",
        format: Format::Bf16,
    },
    PrecisionRow {
        name: "int8",
        format: Format::I8,
    },
];
