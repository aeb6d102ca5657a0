//! The operators: one table for each family, from a name and overload to the kernel.

mod arithmetic;
mod attention;
mod convolution;
mod counting;
mod creation;
mod elementwise;
mod encoder;
mod foreach;
mod indexing;
mod layer_norm;
mod loss;
mod matmul;
mod normalization;
mod optimizer;
mod padding;
mod patches;
mod pooling;
mod random;
mod rare;
mod recurrent;
mod reduction;
mod sorting;
mod upsample;
mod weight_norm;

use std::ffi::CStr;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;

use crate::call::{Call, Results};
use crate::failure::Outcome;

pub type Kernel = fn(&Call) -> Outcome<Results>;

/// A row of a table: an operator such as `aten::add.out`, and its kernel.
pub type Row = (&'static CStr, Kernel);

/// An operator with its kernel.
pub struct Operator {
    pub name: &'static CStr,
    pub kernel: Kernel,
    /// Calls that the kernel computed.
    pub calls: AtomicU64,
}

impl Operator {
    pub fn text(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }
}

/// A table of operators: `table! { c"aten::add.out" => add, ... }`.
macro_rules! table {
    ($($name:literal => $kernel:expr,)*) => {
        pub static TABLE: &[$crate::operators::Row] = &[$(($name, $kernel)),*];
    };
}

use table;

/// The tables of the families.
static TABLES: &[&[Row]] = &[
    arithmetic::TABLE,
    elementwise::TABLE,
    reduction::TABLE,
    matmul::TABLE,
    convolution::TABLE,
    pooling::TABLE,
    normalization::TABLE,
    layer_norm::TABLE,
    loss::TABLE,
    indexing::TABLE,
    sorting::TABLE,
    creation::TABLE,
    random::TABLE,
    attention::TABLE,
    encoder::TABLE,
    optimizer::TABLE,
    foreach::TABLE,
    recurrent::TABLE,
    upsample::TABLE,
    padding::TABLE,
    patches::TABLE,
    weight_norm::TABLE,
    counting::TABLE,
    rare::TABLE,
];

/// All operators in their order.
static OPERATORS: LazyLock<Vec<Operator>> = LazyLock::new(|| {
    let rows = TABLES.iter().flat_map(|table| table.iter());
    rows.map(|(name, kernel)| Operator {
        name,
        kernel: *kernel,
        calls: AtomicU64::new(0),
    })
    .collect()
});

/// The operator at a place.
pub fn at(place: u64) -> Option<&'static Operator> {
    OPERATORS.get(usize::try_from(place).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_occurs_once_and_names_the_library_of_torch() {
        let mut names: Vec<&str> = OPERATORS.iter().map(Operator::text).collect();
        assert!(names.iter().all(|name| name.starts_with("aten::")));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(at(count as u64 - 1).is_some());
        assert!(at(count as u64).is_none());
    }
}
