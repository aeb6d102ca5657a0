//! Element types, number formats of matrix units, and precisions of matrix multiplication, as `dtypes.toml` lists them.

// One module holds the table so that the generated file can name its row types by path.
mod generated {
    include!("generated/dtypes.rs");
}

use crate::layout::Dtype;

pub use generated::{
    DTYPES, FORMATS, Format, PRECISIONS, PROMOTED, Precision, TENSOR_DTYPES, position,
};

/// A row of `[[dtype]]`. Of dtypes that operations do not compute, the facts about computing name the dtype itself.
#[derive(Clone, Copy, Debug)]
pub struct DtypeRow {
    pub dtype: Dtype,
    /// NumPy's name.
    pub name: &'static str,
    /// Type in the text of kernels; empty for dtypes that operations do not compute.
    pub hip_c: &'static str,
    pub computed_in: Dtype,
    pub summed_in: Dtype,
    pub as_float: Dtype,
}

/// A row of `[[format]]`.
#[derive(Clone, Copy, Debug)]
pub struct FormatRow {
    pub name: &'static str,
    /// How operands lie in memory.
    pub dtype: Dtype,
    /// Of results that are rounded to the format of the operands.
    pub output: Format,
    pub sums: Format,
    /// Of a result, relative to the sum of absolute products; `None` where no operand has the format.
    pub product_error: Option<f64>,
}

/// A row of `[[precision]]`.
#[derive(Clone, Copy, Debug)]
pub struct PrecisionRow {
    pub name: &'static str,
    /// Operands are converted to it.
    pub format: Format,
}

impl Dtype {
    /// The facts about a dtype; `None` for what arrays cannot hold.
    #[must_use]
    pub const fn row(self) -> Option<&'static DtypeRow> {
        match position(self) {
            Some(place) => Some(&DTYPES[place]),
            None => None,
        }
    }

    /// Type in the text of kernels; `None` for what operations do not compute.
    #[must_use]
    pub fn hip_c(self) -> Option<&'static str> {
        self.row()
            .map(|row| row.hip_c)
            .filter(|name| !name.is_empty())
    }
}

impl Format {
    const fn row(self) -> &'static FormatRow {
        &FORMATS[self as usize]
    }

    /// As in the names of archived kernels, tuning databases and telemetry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The first format of a dtype: float32 is f32, not tf32.
    #[must_use]
    pub fn of_dtype(dtype: Dtype) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.dtype() == dtype)
    }

    /// How operands lie in memory.
    #[must_use]
    pub const fn dtype(self) -> Dtype {
        self.row().dtype
    }

    /// Bytes of a number in memory.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.dtype().size_bytes() as u64
    }

    /// The format of results that are rounded to that of the operands.
    #[must_use]
    pub const fn output(self) -> Self {
        self.row().output
    }

    /// The format that products are summed in.
    #[must_use]
    pub const fn sums(self) -> Self {
        self.row().sums
    }

    /// Error of a result, relative to the sum of absolute products; `None` where no operand has the format.
    #[must_use]
    pub const fn product_error(self) -> Option<f64> {
        self.row().product_error
    }

    /// Whether operands may have the format; the others are of results alone.
    #[must_use]
    pub const fn is_operand(self) -> bool {
        self.product_error().is_some()
    }

    /// Formats that operands may have, in the order of the table.
    pub fn operands() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|one| one.is_operand())
    }
}

impl Precision {
    #[must_use]
    pub const fn name(self) -> &'static str {
        PRECISIONS[self as usize].name
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// What is computed in where the caller does not say it: float64 for values with digits that float32 has not.
    #[must_use]
    pub fn of_dtypes(a: Dtype, b: Dtype) -> Self {
        let is_wide = |dtype: Dtype| {
            // Float32 first: it is the usual one, and rows are searched for.
            let may_be = dtype != Dtype::F32 && dtype.bits >= 32;
            may_be && dtype.row().is_some_and(|row| row.as_float == Dtype::F64)
        };
        if is_wide(a) || is_wide(b) {
            Self::Fp64
        } else {
            Self::Fp32
        }
    }

    /// The format that operands are converted to.
    #[must_use]
    pub const fn format(self) -> Format {
        PRECISIONS[self as usize].format
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_places() {
        for (place, row) in DTYPES.iter().enumerate() {
            assert_eq!(position(row.dtype), Some(place));
            assert_eq!(row.dtype.hip_c().is_some(), place < TENSOR_DTYPES.len());
        }
        for (row, dtype) in DTYPES.iter().zip(TENSOR_DTYPES) {
            assert_eq!(row.dtype, dtype);
        }
        assert_eq!(
            position(Dtype {
                lanes: 2,
                ..Dtype::F32
            }),
            None
        );
    }

    #[test]
    fn names_of_formats_and_precisions_round_trip() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
        for precision in Precision::ALL {
            assert_eq!(Precision::from_name(precision.name()), Some(precision));
        }
        assert_eq!(Format::of_dtype(Dtype::F32), Some(Format::F32));
        assert_eq!(Format::operands().count() + 1, Format::ALL.len());
        assert_eq!(Precision::Int8.format().sums(), Format::I32);
        assert_eq!(Format::Bf16.bytes(), 2);
    }
}
