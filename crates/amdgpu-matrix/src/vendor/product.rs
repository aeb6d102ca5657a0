//! Products of matrices that a vendor's library is asked for.

/// Number format of the operands; the result has that of its `output`. No library multiplies `I32`.
pub use amdgpu_abi::dtypes::Format as Number;

/// What follows the sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VendorEpilogue {
    #[default]
    None,
    /// One value for each column is added.
    Bias,
    /// The same, then what is negative becomes zero.
    BiasRelu,
}

/// `out = epilogue(alpha * (a @ b) + beta * out)` for dense row-major matrices in device memory, `batch` of them behind each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Of the result.
    pub rows: u64,
    /// Of the result.
    pub columns: u64,
    pub depth: u64,
    pub batch: u64,
    pub number: Number,
    /// Whether `a` and `b` are stored transposed.
    pub is_transposed: [bool; 2],
    pub epilogue: VendorEpilogue,
    pub alpha: f64,
    pub beta: f64,
    pub a: u64,
    pub b: u64,
    pub out: u64,
    /// Only with an epilogue.
    pub bias: u64,
}

/// Alignment past which libraries make no difference.
const MAX_ALIGNMENT_BYTES: u64 = 256;

/// What a library's choice of an algorithm depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    extents: [u64; 4],
    number: Number,
    is_transposed: [bool; 2],
    epilogue: VendorEpilogue,
    alignment_bytes: u64,
}

/// Factors in the format that sums have.
#[derive(Clone, Copy)]
pub(super) enum Factors {
    F64([f64; 2]),
    F32([f32; 2]),
    I32([i32; 2]),
}

impl Factors {
    /// Addresses of alpha and beta.
    pub fn addresses(&self) -> [*const std::ffi::c_void; 2] {
        match self {
            Self::F64([alpha, beta]) => [
                std::ptr::from_ref(alpha).cast(),
                std::ptr::from_ref(beta).cast(),
            ],
            Self::F32([alpha, beta]) => [
                std::ptr::from_ref(alpha).cast(),
                std::ptr::from_ref(beta).cast(),
            ],
            Self::I32([alpha, beta]) => [
                std::ptr::from_ref(alpha).cast(),
                std::ptr::from_ref(beta).cast(),
            ],
        }
    }
}

impl Product {
    pub(super) fn factors(&self) -> Factors {
        match self.number {
            Number::F64 => Factors::F64([self.alpha, self.beta]),
            // Checked by `is_representable`, so nothing is cut off.
            Number::I8 => Factors::I32([self.alpha as i32, self.beta as i32]),
            _ => Factors::F32([self.alpha as f32, self.beta as f32]),
        }
    }

    pub(super) fn alignment_bytes(&self) -> u64 {
        let addresses = self.a | self.b | self.out | self.bias | MAX_ALIGNMENT_BYTES;
        1 << addresses.trailing_zeros()
    }

    pub(super) fn key(&self) -> Key {
        Key {
            extents: [self.rows, self.columns, self.depth, self.batch],
            number: self.number,
            is_transposed: self.is_transposed,
            epilogue: self.epilogue,
            alignment_bytes: self.alignment_bytes(),
        }
    }
}

/// A matrix as libraries see it that count columns first: the transpose of what is stored by rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub rows: u64,
    pub columns: u64,
    pub is_transposed: bool,
}

impl Stored {
    /// Elements from matrix to matrix.
    pub fn stride(self) -> i64 {
        (self.rows * self.columns) as i64
    }
}

impl Product {
    /// The transposed result is `b` transposed times `a` transposed: first factor, second factor, result.
    pub(super) fn stored(&self) -> [Stored; 3] {
        let by_columns = |rows: u64, columns: u64, is_transposed: bool| Stored {
            rows: if is_transposed { rows } else { columns },
            columns: if is_transposed { columns } else { rows },
            is_transposed,
        };
        [
            by_columns(self.depth, self.columns, self.is_transposed[1]),
            by_columns(self.rows, self.depth, self.is_transposed[0]),
            by_columns(self.rows, self.columns, false),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Work;

    fn product() -> Product {
        Product {
            rows: 2,
            columns: 3,
            depth: 5,
            batch: 1,
            number: Number::F32,
            is_transposed: [false, false],
            epilogue: VendorEpilogue::None,
            alpha: 1.0,
            beta: 0.0,
            a: 0x1000,
            b: 0x2000,
            out: 0x3000,
            bias: 0,
        }
    }

    #[test]
    fn operands_change_places_and_rows_become_columns() {
        let [first, second, result] = product().stored();
        assert_eq!((first.rows, first.columns), (3, 5));
        assert_eq!((second.rows, second.columns), (5, 2));
        assert_eq!((result.rows, result.columns), (3, 2));
        let turned = Product {
            is_transposed: [true, true],
            ..product()
        };
        let [first, second, _] = turned.stored();
        assert_eq!(
            (first.rows, first.columns, first.is_transposed),
            (5, 3, true)
        );
        assert_eq!((second.rows, second.columns), (2, 5));
    }

    #[test]
    fn integer_sums_take_integer_factors_only() {
        let integers = Product {
            number: Number::I8,
            ..product()
        };
        assert!(integers.is_representable());
        assert!(
            !Product {
                alpha: 0.5,
                ..integers
            }
            .is_representable()
        );
        assert!(
            !Product {
                beta: 1e10,
                ..integers
            }
            .is_representable()
        );
        assert!(
            !Product {
                depth: 0,
                ..product()
            }
            .is_representable()
        );
        assert!(
            !Product {
                rows: 1 << 31,
                ..product()
            }
            .is_representable()
        );
    }

    #[test]
    fn the_weakest_address_gives_the_alignment() {
        assert_eq!(product().alignment_bytes(), 256);
        assert_eq!(
            Product {
                a: 0x1010,
                ..product()
            }
            .alignment_bytes(),
            16
        );
        assert_eq!(
            Product {
                bias: 0x4004,
                ..product()
            }
            .alignment_bytes(),
            4
        );
        assert_ne!(
            product().key(),
            Product {
                a: 0x1010,
                ..product()
            }
            .key()
        );
        assert_eq!(
            product().key(),
            Product {
                alpha: 2.0,
                ..product()
            }
            .key()
        );
    }
}
