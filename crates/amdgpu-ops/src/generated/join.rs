//! The text of joining two values: what scans and segmented reductions share.

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::DTYPE_BOOL;
use amdgpu_abi::promotion::{is_float, is_unsigned};

/// How two values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    Sum,
    Product,
    Maximum,
    Minimum,
}

/// `START`, which joins to every element of a dtype without a change, and `JOIN(a, b)` of two values of type S. NaN wins over any number.
#[must_use]
pub fn definitions(joining: Joining, element: Dtype) -> String {
    let best = |sign: &str| format!("((a) {sign} (b) || (a) != (a) ? (a) : (b))");
    let joined = match joining {
        Joining::Sum => "((a) + (b))".to_owned(),
        Joining::Product => "((a) * (b))".to_owned(),
        Joining::Maximum => best(">"),
        Joining::Minimum => best("<"),
    };
    format!(
        "#define JOIN(a, b) {joined}\n#define START ((S)({start}))\n",
        start = identity(joining, element)
    )
}

fn identity(joining: Joining, element: Dtype) -> String {
    let is_bool = element.code == DTYPE_BOOL;
    let last = u64::MAX >> (64 - u32::from(element.bits));
    match joining {
        Joining::Sum => "0".to_owned(),
        Joining::Product => "1".to_owned(),
        Joining::Maximum if is_float(element) => "-INFINITY".to_owned(),
        Joining::Minimum if is_float(element) => "INFINITY".to_owned(),
        Joining::Maximum if is_bool || is_unsigned(element) => "0".to_owned(),
        Joining::Minimum if is_bool => "1".to_owned(),
        Joining::Minimum if is_unsigned(element) => format!("{last}ULL"),
        // The lowest number has no literal of its own.
        Joining::Maximum => format!("-{}LL - 1", last >> 1),
        Joining::Minimum => format!("{}LL", last >> 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_the_ends_of_their_dtype() {
        assert_eq!(identity(Joining::Maximum, Dtype::I8), "-127LL - 1");
        assert_eq!(
            identity(Joining::Minimum, Dtype::U64),
            "18446744073709551615ULL"
        );
        assert_eq!(
            identity(Joining::Minimum, Dtype::I64),
            "9223372036854775807LL"
        );
        assert_eq!(identity(Joining::Minimum, Dtype::BOOL), "1");
        assert_eq!(identity(Joining::Maximum, Dtype::BF16), "-INFINITY");
    }
}
