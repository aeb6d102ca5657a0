//! A matrix multiplication as archived kernels see it.

pub use amdgpu_abi::dtypes::Format as Number;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Rows that begin at multiples of it are read 16 bytes at a time.
pub const VECTOR_BYTES: u64 = 16;

/// Whether operands are stored transposed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    #[default]
    Nn,
    /// `b` is.
    Nt,
    /// `a` is.
    Tn,
    Tt,
}

impl Layout {
    pub const ALL: [Self; 4] = [Self::Nn, Self::Nt, Self::Tn, Self::Tt];

    #[must_use]
    pub const fn of(is_transposed: [bool; 2]) -> Self {
        match is_transposed {
            [false, false] => Self::Nn,
            [false, true] => Self::Nt,
            [true, false] => Self::Tn,
            [true, true] => Self::Tt,
        }
    }

    /// Whether `a` and whether `b` is stored transposed.
    #[must_use]
    pub const fn is_transposed(self) -> [bool; 2] {
        match self {
            Self::Nn => [false, false],
            Self::Nt => [false, true],
            Self::Tn => [true, false],
            Self::Tt => [true, true],
        }
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nn => "nn",
            Self::Nt => "nt",
            Self::Tn => "tn",
            Self::Tt => "tt",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }
}

/// What archived kernels do with the sums; the last three add a bias, too.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Epilogue {
    #[default]
    #[serde(rename = "")]
    None,
    Bias,
    Gelu,
    Relu,
    Silu,
}

impl Epilogue {
    pub const ALL: [Self; 5] = [Self::None, Self::Bias, Self::Relu, Self::Gelu, Self::Silu];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Bias => "bias",
            Self::Relu => "relu",
            Self::Gelu => "gelu",
            Self::Silu => "silu",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// As kernels that take it for an argument count it: bit 0 for a bias, then the activation (`zig/src/kernels/parts.zig`).
    #[must_use]
    pub const fn code(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Bias => 1,
            Self::Relu => 3,
            Self::Gelu => 5,
            Self::Silu => 7,
        }
    }
}

/// The number format of operands of these dtypes.
fn operand_of(a: Dtype, b: Dtype, is_tf32: bool) -> Result<Number> {
    let name = |dtype: Dtype| dtype.name().unwrap_or("?");
    let number = Number::of_dtype(a).filter(|number| *number != Number::I32 && a == b);
    let number = number.ok_or_else(|| {
        let known = Number::operands().filter(|one| *one != Number::Tf32);
        let known: Vec<_> = known.map(|one| name(one.dtype())).collect();
        let (a, b, known) = (name(a), name(b), known.join(", "));
        let message = format!("operands are {a} and {b}; kernels take two of {known}");
        Error::refused(ErrorCode::UnsupportedDtype, message)
    })?;
    match (number, is_tf32) {
        (Number::F32, true) => Ok(Number::Tf32),
        (_, true) => Err(Error::refused(
            ErrorCode::InvalidArgument,
            "precision is 'tf32', which is for float32 operands",
        )),
        (number, false) => Ok(number),
    }
}

/// A product of matrices without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Problem {
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Inner dimension.
    pub k: u64,
    /// How many products.
    pub batch: u64,
    pub operand: Number,
    /// Number format of the result; 16-bit operands have kernels that give float32, their sums, as well.
    pub output: Number,
    pub layout: Layout,
    pub epilogue: Epilogue,
    /// Rows of all three begin at multiples of 16 bytes.
    pub is_aligned: bool,
}

/// How arrays are multiplied.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrayProduct {
    /// Which operands are stored transposed.
    pub are_transposed: [bool; 2],
    pub epilogue: Epilogue,
    /// float32 operands may lose digits to the matrix units of NVIDIA.
    pub is_tf32: bool,
    /// The result is float32 though operands have 16 bits.
    pub is_wide: bool,
}

impl Problem {
    /// The product of two arrays without gaps, both matrices or both batches of them.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`; `unsupported-dtype` for formats that no kernel takes; `invalid-argument` for tf32 of another format than float32.
    #[allow(
        clippy::many_single_char_names,
        reason = "the names of matrix multiplication"
    )]
    pub fn of_arrays(a: &Array, b: &Array, product: ArrayProduct) -> Result<Self> {
        let operand = operand_of(a.dtype, b.dtype, product.is_tf32)?;
        let is_narrow = matches!(operand, Number::F16 | Number::Bf16);
        let output = if product.is_wide && is_narrow {
            Number::F32
        } else {
            operand.output()
        };
        let shapes = [a.shape.as_slice(), b.shape.as_slice()];
        let mismatch = |what: String| {
            let [a, b] = shapes;
            let message = format!("operands have the shapes {a:?} and {b:?}{what}");
            Error::refused(ErrorCode::ShapeMismatch, message)
        };
        let rank = shapes[0].len();
        if rank != shapes[1].len() || !(2..=3).contains(&rank) {
            let what = "; two matrices or two batches of them are multiplied";
            return Err(mismatch(what.to_owned()));
        }
        let stored = shapes.map(|shape| [shape[rank - 2] as u64, shape[rank - 1] as u64]);
        let [[m, k], [inner, n]] = [0, 1].map(|side| {
            let [rows, columns] = stored[side];
            if product.are_transposed[side] {
                [columns, rows]
            } else {
                [rows, columns]
            }
        });
        let batches = shapes.map(|shape| if rank == 3 { shape[0] as u64 } else { 1 });
        if k != inner || batches[0] != batches[1] {
            return Err(mismatch(format!(
                ", transposed: {:?}",
                product.are_transposed
            )));
        }
        let leads = [
            stored[0][1] * operand.bytes(),
            stored[1][1] * operand.bytes(),
            n * output.bytes(),
        ];
        let addresses = [a, b].map(|array| array.address().address());
        let mut sizes = leads.into_iter().chain(addresses);
        let letter = |is_transposed| if is_transposed { 't' } else { 'n' };
        let letters: String = product.are_transposed.iter().copied().map(letter).collect();
        Ok(Self {
            m,
            n,
            k,
            batch: batches[0],
            operand,
            output,
            layout: Layout::from_name(&letters).unwrap_or_default(),
            epilogue: product.epilogue,
            is_aligned: sizes.all(|size| size.is_multiple_of(VECTOR_BYTES)),
        })
    }

    /// Multiplications of one product of the batch.
    #[must_use]
    pub fn work(&self) -> u128 {
        u128::from(self.m) * u128::from(self.n) * u128::from(self.k)
    }

    /// Elements from row to row of both operands and the result.
    #[must_use]
    pub fn leads(&self) -> [u64; 3] {
        let [a, b] = self.layout.is_transposed();
        [
            if a { self.m } else { self.k },
            if b { self.k } else { self.n },
            self.n,
        ]
    }

    /// Elements from matrix to matrix of both operands and the result.
    #[must_use]
    pub fn strides(&self) -> [u64; 3] {
        [self.m * self.k, self.k * self.n, self.m * self.n]
    }

    /// Rows and columns of an operand as it is stored.
    #[must_use]
    pub fn stored(&self, side: usize) -> [u64; 2] {
        let outer = [self.m, self.n][side];
        if self.layout.is_transposed()[side] == (side == 1) {
            [outer, self.k]
        } else {
            [self.k, outer]
        }
    }

    /// The same product whose results are its sums.
    #[must_use]
    pub fn summed(&self) -> Self {
        Self {
            output: self.operand.sums(),
            epilogue: Epilogue::None,
            ..*self
        }
    }

    /// The same product of operands that were written out with rows of k first.
    #[must_use]
    pub fn in_rows_of_k(&self) -> Self {
        Self {
            layout: Layout::Nt,
            is_aligned: true,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_abi::ops::ACTIVATIONS;

    use super::*;

    #[test]
    fn epilogues_are_the_activations_that_archives_have() {
        for row in ACTIVATIONS {
            assert_eq!(
                Epilogue::from_name(row.name).is_some(),
                row.is_archived,
                "{}",
                row.name
            );
        }
    }
}
