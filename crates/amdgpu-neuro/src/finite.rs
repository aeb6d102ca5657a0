//! Checks for NaN and infinity, made where values enter a network.

use crate::error::{Error, Result};

/// Position of the first value that is NaN or infinite.
pub(crate) fn first_not_finite(values: &[f32]) -> Option<usize> {
    /// Long enough for SIMD, short enough to stop early.
    const CHUNK: usize = 4096;
    const EXPONENT: u32 = 0x7F80_0000;
    for (number, chunk) in values.chunks(CHUNK).enumerate() {
        // Integer and without a branch, so that it becomes SIMD: an exponent of all ones is NaN or infinity.
        let wrong = chunk.iter().fold(false, |wrong, value| {
            wrong | (value.to_bits() & EXPONENT == EXPONENT)
        });
        if wrong {
            return chunk
                .iter()
                .position(|value| !value.is_finite())
                .map(|place| number * CHUNK + place);
        }
    }
    None
}

/// Refuses a matrix `[_, columns]` with a wrong value; `what` names it.
pub(crate) fn check_matrix(what: &str, values: &[f32], columns: usize) -> Result<()> {
    match first_not_finite(values) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite {
            what: what.to_owned(),
            value: values[index],
            place: format!("[{}, {}]", index / columns.max(1), index % columns.max(1)),
        }),
    }
}

/// Refuses a vector with a wrong value; `what` names it.
pub(crate) fn check_vector(what: &str, values: &[f32]) -> Result<()> {
    match first_not_finite(values) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite {
            what: what.to_owned(),
            value: values[index],
            place: format!("[{index}]"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_value_is_found_wherever_it_stands() {
        assert_eq!(first_not_finite(&[]), None);
        assert_eq!(first_not_finite(&[0.0, f32::MAX, -f32::MAX, 1e-45]), None);
        for len in [1, 7, 4096, 4097, 10_000] {
            for place in [0, len / 2, len - 1] {
                for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut values = vec![1.0; len];
                    values[place] = wrong;
                    values[len - 1] = if place == len - 1 { wrong } else { f32::NAN };
                    assert_eq!(first_not_finite(&values), Some(place));
                }
            }
        }
    }

    #[test]
    fn the_message_names_row_and_column() {
        let error = check_matrix("connection a -> b", &[0.0, 1.0, 2.0, f32::NAN], 2).unwrap_err();
        assert_eq!(error.to_string(), "connection a -> b holds NaN at [1, 1]");
    }

    #[test]
    fn the_message_of_a_vector_names_the_place() {
        assert!(check_vector("bias", &[0.0, 1.0]).is_ok());
        let error = check_vector("bias", &[0.0, f32::NEG_INFINITY]).unwrap_err();
        assert_eq!(error.to_string(), "bias holds -inf at [1]");
        assert!(check_matrix("weight", &[], 0).is_ok());
        let error = check_matrix("weight", &[f32::INFINITY], 0).unwrap_err();
        assert_eq!(error.to_string(), "weight holds inf at [0, 0]");
    }
}
