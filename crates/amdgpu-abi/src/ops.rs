//! Elementwise operations, reductions and activations, as `ops.toml` lists them.
//!
//! The enums stand in the crates that compute them, made by [`elementwise_operations`](crate::elementwise_operations),
//! [`reductions`](crate::reductions) and [`matmul_activations`](crate::matmul_activations): a variant is the place of its row.

// One module holds the table so that the generated file can name its row types by path.
mod generated {
    include!("generated/ops.rs");
}

pub use generated::{
    ACTIVATIONS, COMPLEX, ELEMENTWISE, REDUCTIONS, complex_position, elementwise_position,
};

/// Which dtypes an operation takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Floats; integers are computed as `promotion::as_float` says.
    Float,
    /// Anything, and the same comes back.
    Number,
    /// As `Number`, but truth values count as int8.
    Numeric,
    /// As `Number`, but truth values are refused.
    Signed,
    /// Integers and truth values, and the same comes back.
    Bits,
    /// Integers, and the same comes back; truth values count as int8.
    Integer,
    /// Rounding: integers are whole already.
    Rounding,
    /// Truth values come back.
    Predicate,
    /// Truth values about floats come back.
    FloatPredicate,
}

/// A row of `[[elementwise]]`; its place is its number in agpu.h.
#[derive(Clone, Copy, Debug)]
pub struct ElementwiseRow {
    pub name: &'static str,
    /// Names of the inputs, in order.
    pub inputs: &'static [&'static str],
    pub class: Class,
    /// Work of one element in operations of the processor.
    pub cost: u64,
    /// Whether the result is the exact one, rounded correctly: every implementation gives the same bits.
    pub is_exact: bool,
    /// HIP-C for values of every type.
    pub hip: Option<&'static str>,
    /// HIP-C for floats, where there is none for every type.
    pub hip_float: Option<&'static str>,
    /// HIP-C for integers and truth values, where there is none for every type.
    pub hip_integer: Option<&'static str>,
    /// Default of the parameter alpha; 0 where there is none.
    pub alpha: f64,
}

/// What an operation of complex numbers gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexResult {
    Complex,
    /// The dtype of a part.
    Real,
    Bool,
}

/// A row of `[[complex]]`; its place is its number in agpu.h.
#[derive(Clone, Copy, Debug)]
pub struct ComplexRow {
    pub name: &'static str,
    /// Names of the inputs, in order.
    pub inputs: &'static [&'static str],
    pub result: ComplexResult,
    /// Whether complex64 is computed in float64.
    pub is_wide: bool,
    /// The elementwise operation that does the same to real and imaginary parts.
    pub pairwise: Option<&'static str>,
    /// HIP-C of x, y and z.
    pub hip: &'static str,
    /// Work of one element in operations of the processor.
    pub cost: u64,
}

/// What a reduction gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionResult {
    /// What values are summed in.
    Summed,
    /// A float.
    Float,
    /// The dtype of the values.
    Same,
    Bool,
    Int64,
}

/// A row of `[[reduction]]`.
#[derive(Clone, Copy, Debug)]
pub struct ReductionRow {
    /// Name in `amdgpu.ops`.
    pub name: &'static str,
    /// Number in agpu.h; of a mean that of the sum.
    pub number: u32,
    pub result: ReductionResult,
}

/// A row of `[[activation]]`.
#[derive(Clone, Copy, Debug)]
pub struct ActivationRow {
    /// Name in the network language.
    pub name: &'static str,
    /// Number in agpu.h; `None` for layers with a state.
    pub number: Option<u32>,
    /// The elementwise operation that it is.
    pub operation: Option<&'static str>,
    /// Names with their defaults.
    pub parameters: &'static [(&'static str, f64)],
    /// Whether a matrix multiplication may end with it.
    pub follows_matmul: bool,
    /// Whether archives of GPU kernels have it behind a matrix multiplication.
    pub is_archived: bool,
}

impl Class {
    /// Whether truth values come back.
    #[must_use]
    pub const fn is_predicate(self) -> bool {
        matches!(self, Self::Predicate | Self::FloatPredicate)
    }
}

impl ActivationRow {
    /// The row of a name in the network language.
    #[must_use]
    pub fn of_name(name: &str) -> Option<&'static Self> {
        ACTIVATIONS.iter().find(|row| row.name == name)
    }

    /// The default of the parameter at a place, 0 where there is none.
    #[must_use]
    pub fn default_of(&self, place: usize) -> f64 {
        self.parameters.get(place).map_or(0.0, |(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;

    #[test]
    fn places_are_numbers() {
        for (place, row) in ELEMENTWISE.iter().enumerate() {
            assert_eq!(elementwise_position(row.name), Some(place));
        }
        assert_eq!(elementwise_position("sinus"), None);
        let number = |name| elementwise_position(name).and_then(|place| u32::try_from(place).ok());
        assert_eq!(number("identity"), Some(layout::ELEMENTWISE_IDENTITY));
        assert_eq!(
            number("tanh_gradient"),
            Some(layout::ELEMENTWISE_TANH_GRADIENT)
        );
    }

    #[test]
    fn activations_are_operations_of_one_input() {
        for row in ACTIVATIONS {
            let Some(operation) = row.operation else {
                assert!(!row.follows_matmul, "{}", row.name);
                continue;
            };
            let found = ELEMENTWISE[elementwise_position(operation).unwrap()];
            assert_eq!(found.inputs, ["x"]);
            assert!(found.hip_float.is_some());
        }
        assert_eq!(
            ActivationRow::of_name("neuromorphic").map(|row| row.default_of(1)),
            Some(0.3)
        );
    }
}
