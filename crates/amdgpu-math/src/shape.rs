//! Length checks shared by the operations; messages name the arguments as the caller knows them.

use crate::Error;

/// `rows * cols` as a length of `name`.
pub(crate) fn elements(name: &str, rows: usize, cols: usize) -> Result<usize, Error> {
    rows.checked_mul(cols).ok_or_else(|| {
        Error::InvalidArgument(format!(
            "{name} of {rows} x {cols} elements is larger than memory"
        ))
    })
}

pub(crate) fn check_matrix(name: &str, len: usize, rows: usize, cols: usize) -> Result<(), Error> {
    let expected = elements(name, rows, cols)?;
    if len == expected {
        return Ok(());
    }
    Err(Error::ShapeMismatch(format!(
        "{name} has {len} elements, but {rows} x {cols} = {expected} are needed"
    )))
}

pub(crate) fn check_vector(name: &str, len: usize, expected: usize) -> Result<(), Error> {
    if len == expected {
        return Ok(());
    }
    Err(Error::ShapeMismatch(format!(
        "{name} has {len} elements, but {expected} are needed"
    )))
}

/// All `(name, length)` pairs must agree with the first.
pub(crate) fn check_same_length(lengths: &[(&str, usize)]) -> Result<(), Error> {
    let Some(((first, expected), rest)) = lengths.split_first() else {
        return Ok(());
    };
    for (name, len) in rest {
        if len != expected {
            return Err(Error::ShapeMismatch(format!(
                "{first} has {expected} elements, {name} has {len}; they must have the same length"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_argument_and_both_lengths() {
        let message = check_matrix("weight", 5, 2, 3).unwrap_err().to_string();
        assert!(
            message.contains("weight") && message.contains('5') && message.contains("2 x 3 = 6")
        );
        let message = check_same_length(&[("x", 4), ("y", 3)])
            .unwrap_err()
            .to_string();
        assert!(message.contains("x has 4") && message.contains("y has 3"));
        assert!(check_same_length(&[("x", 4), ("y", 4)]).is_ok());
        assert!(matches!(
            check_matrix("x", 0, usize::MAX, 2),
            Err(Error::InvalidArgument(_))
        ));
    }
}
