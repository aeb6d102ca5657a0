//! What each reduction folds, in HIP-C.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::{is_float, is_unsigned};
use amdgpu_matrix::Reduce;

use super::fold::{Closed, Fold};

/// The fold of a reduction of values of dtype `x`, computed in another.
#[must_use]
pub fn fold(operation: Reduce, x: Dtype, computed: Dtype) -> Fold {
    let plain = Fold {
        name: operation.name(),
        state: if is_float(computed) {
            Dtype::F64
        } else {
            Dtype::I64
        },
        start: "a.value = 0;".into(),
        mapped: "a.value = (S)x;".into(),
        joined: "a.value += b.value; return a;".into(),
        finished: "a.value",
        has_indices: false,
        has_shift: false,
        more: &[],
        absorbed: None,
        closed: None,
    };
    match operation {
        Reduce::Sum => plain,
        Reduce::Mean => Fold {
            finished: "a.value / divisor",
            ..plain
        },
        Reduce::Product => Fold {
            start: "a.value = 1;".into(),
            joined: "a.value *= b.value; return a;".into(),
            ..plain
        },
        Reduce::Variance | Reduce::Deviation => deviations(operation, x, computed, plain),
        Reduce::Any | Reduce::All => {
            let (start, sign) = if operation == Reduce::Any {
                ("a.value = 0;", "|")
            } else {
                ("a.value = 1;", "&")
            };
            Fold {
                state: Dtype::I32,
                start: start.into(),
                mapped: "a.value = x != 0;".into(),
                joined: format!("a.value = a.value {sign} b.value; return a;").into(),
                finished: "a.value != 0",
                ..plain
            }
        }
        Reduce::Maximum | Reduce::Minimum | Reduce::Argmax | Reduce::Argmin => {
            choice(operation, computed, plain)
        }
    }
}

/// The largest or smallest value, or its index.
fn choice(operation: Reduce, computed: Dtype, plain: Fold) -> Fold {
    let is_largest = matches!(operation, Reduce::Maximum | Reduce::Argmax);
    let compare = if is_largest { ">" } else { "<" };
    let limit = limit(computed, is_largest);
    if matches!(operation, Reduce::Maximum | Reduce::Minimum) {
        return Fold {
            state: computed,
            start: format!("a.value = {limit};").into(),
            // What is not a number stays: a comparison with it is false.
            joined: format!("return a.value {compare}= b.value || a.value != a.value ? a : b;")
                .into(),
            ..plain
        };
    }
    Fold {
        state: computed,
        start: format!("a.value = {limit}; a.place = -1;").into(),
        mapped: "a.value = (S)x; a.place = place;".into(),
        joined: format!(
            "
    const bool is_first = a.place < b.place;
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (b.place < 0) return a;
    if (a.place < 0) return b;
    if (a_is_nan || b_is_nan) return a_is_nan && b_is_nan ? (is_first ? a : b) : a_is_nan ? a : b;
    if (a.value == b.value) return is_first ? a : b;
    return a.value {compare} b.value ? a : b;
"
        )
        .into(),
        finished: "a.place",
        has_indices: true,
        // Indices come in order, so that of equal values the first stays.
        absorbed: Some(
            format!(
                "
    if (a.place < 0 || x {compare} a.value || (x != x && a.value == a.value)) {{ a.value = (S)x; a.place = place; }}
    return a;
"
            )
            .into(),
        ),
        ..plain
    }
}

/// What every value is at least as large, or as small, as.
fn limit(computed: Dtype, is_largest: bool) -> &'static str {
    if is_float(computed) {
        return if is_largest { "-INFINITY" } else { "INFINITY" };
    }
    match (is_unsigned(computed), computed.bits, is_largest) {
        (true, _, true) => "0ULL",
        (true, _, false) => "18446744073709551615ULL",
        (false, 32, true) => "-2147483647 - 1",
        (false, 32, false) => "2147483647",
        (false, _, true) => "-9223372036854775807LL - 1",
        (false, _, false) => "9223372036854775807LL",
    }
}

/// In one pass where the sums have more digits than the values, else with a mean that is known.
fn deviations(operation: Reduce, x: Dtype, computed: Dtype, plain: Fold) -> Fold {
    let finished = if operation == Reduce::Variance {
        "a.value / divisor"
    } else {
        "sqrt(a.value / divisor)"
    };
    if computed == Dtype::F64 {
        return Fold {
            mapped: "const S d = (S)x - shift; a.value = d * d;".into(),
            finished,
            has_shift: true,
            ..plain
        };
    }
    let fused = if x == Dtype::F16 { "fmaf" } else { "fma" };
    Fold {
        start: "a.value = 0; a.mean = 0; a.count = 0;".into(),
        joined: JOINED_DEVIATIONS.into(),
        finished,
        more: &["mean", "count"],
        // Differences of float32 have the digits that its squares keep.
        absorbed: Some(
            format!("const L d = (L)(x - shift); a.mean += d; a.value = {fused}(d, d, a.value); return a;")
                .into(),
        ),
        closed: Some(Closed {
            // Squares of float16, and their sum over the values of a lane, are far from the limits of float32.
            part: if x == Dtype::F16 {
                Dtype::F32
            } else {
                Dtype::F64
            },
            text: CLOSED_DEVIATIONS,
        }),
        ..plain
    }
}

/// The value is the sum of squared deviations from the mean, of so many values. Joined as T. Chan, G. Golub, R. LeVeque: "Updating formulae
/// and a pairwise algorithm for computing sample variances", 1979, equation 1.5.
const JOINED_DEVIATIONS: &str = "
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    const S count = a.count + b.count, share = b.count / count, apart = b.mean - a.mean;
    a.value += b.value + apart * apart * a.count * share;
    a.mean += apart * share;
    a.count = count;
    return a;
";

/// So far the mean is the sum of the differences from `shift`, and the value that of their squares.
const CLOSED_DEVIATIONS: &str = "
    b.value = b.mean = b.count = 0;
    if (count == 0) return b;
    const S moved = (S)a.mean / count, rest = (S)a.value - (S)a.mean * moved;
    b.value = rest < 0 ? 0 : rest;
    b.mean = (S)shift + moved;
    b.count = count;
";
