//! The function that a thread traces: each operation that it asks for is computed, and told to a [`Tracer`].

use std::cell::RefCell;

use amdgpu_abi::ErrorCode;
use amdgpu_array::{Array, tracing};

use crate::cpu::{Results, only};
use crate::{Error, Operand, Operation, Result};

pub use tracing::is_tracing;

thread_local! {
    static CURRENT: RefCell<Option<Box<dyn Tracer>>> = const { RefCell::new(None) };
}

/// Who notes the operations of a function.
pub trait Tracer {
    /// An operation gave its results, which may be memory that was there before.
    ///
    /// # Errors
    ///
    /// A result cannot be noted.
    fn note(&mut self, operation: Operation, inputs: &[&Operand], results: &[Array]) -> Result<()>;

    /// The elements of an array were set to those of another one of its shape and dtype.
    ///
    /// # Errors
    ///
    /// The change cannot be noted.
    fn note_assignment(&mut self, target: &Array, values: &Array) -> Result<()>;

    /// The elements of an array were set to one.
    ///
    /// # Errors
    ///
    /// The change cannot be noted.
    fn note_fill(&mut self, target: &Array, element: &[u8]) -> Result<()>;

    /// Whether an array is of those that the function was given or computed, so that its values are not known.
    fn depends(&self, array: &Array) -> bool;

    /// Gives back what was noted.
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any>;
}

/// Runs a function whose operations a tracer notes, and gives the tracer back.
///
/// # Errors
///
/// `not-capturable` where this thread traces already.
pub fn trace<T>(
    tracer: Box<dyn Tracer>,
    function: impl FnOnce() -> T,
) -> Result<(T, Box<dyn Tracer>)> {
    let level = tracing::begin()?;
    CURRENT.set(Some(tracer));
    let made = function();
    drop(level);
    match CURRENT.take() {
        Some(tracer) => Ok((made, tracer)),
        None => Err(Error::refused(
            ErrorCode::Internal,
            "the tracer was taken away",
        )),
    }
}

/// Computes an operation that has one result, and notes it. Called while this thread traces.
pub(crate) fn noted(
    operation: Operation,
    inputs: &[&Operand],
    compute: impl FnOnce() -> Result<Array>,
) -> Result<Array> {
    let made = noted_all(operation, inputs, || Ok(Results::from_iter([compute()?])))?;
    only(made)
}

/// As [`noted`], for an operation with any number of results.
pub(crate) fn noted_all(
    operation: Operation,
    inputs: &[&Operand],
    compute: impl FnOnce() -> Result<Results>,
) -> Result<Results> {
    let level = tracing::inside();
    let made = compute()?;
    drop(level);
    with(|tracer| tracer.note(operation, inputs, &made))?;
    Ok(made)
}

/// Whether values of an array are not known while this thread traces a function, since they follow from what it is given.
pub(crate) fn depends(array: &Array) -> Result<bool> {
    let mut depends = false;
    with(|tracer| {
        depends = tracer.depends(array);
        Ok(())
    })?;
    Ok(depends)
}

/// Copies elements to an array, and notes it while this thread traces.
pub(crate) fn noted_assignment(
    target: &Array,
    values: &Array,
    compute: impl FnOnce() -> Result<()>,
) -> Result<()> {
    noted_change(compute, |tracer| tracer.note_assignment(target, values))
}

/// Sets elements of an array, and notes it while this thread traces.
pub(crate) fn noted_fill(
    target: &Array,
    element: &[u8],
    compute: impl FnOnce() -> Result<()>,
) -> Result<()> {
    noted_change(compute, |tracer| tracer.note_fill(target, element))
}

fn noted_change(
    compute: impl FnOnce() -> Result<()>,
    note: impl FnOnce(&mut dyn Tracer) -> Result<()>,
) -> Result<()> {
    if !is_tracing() {
        return compute();
    }
    let level = tracing::inside();
    compute()?;
    drop(level);
    with(note)
}

/// Refuses an operation that graphs do not hold, where its operands depend on what the traced function was given.
pub(crate) fn check_untraced(name: &str, inputs: &[(&str, &Operand)]) -> Result<()> {
    for array in inputs.iter().filter_map(|(_, one)| one.array.as_ref()) {
        if depends(array)? {
            return Err(outside(name));
        }
    }
    Ok(())
}

/// Refuses what gives something else in every call: the graph would repeat what it gave once.
///
/// # Errors
///
/// `not-capturable` while this thread traces a function.
pub fn check_repeatable(name: &str) -> Result<()> {
    if is_tracing() {
        return Err(outside(name));
    }
    Ok(())
}

fn outside(name: &str) -> Error {
    Error::refused(
        ErrorCode::NotCapturable,
        format!("{name} cannot be part of a graph: call it outside the function that is traced"),
    )
}

/// What a tracer does is no part of what it traces.
fn with(note: impl FnOnce(&mut dyn Tracer) -> Result<()>) -> Result<()> {
    let _level = tracing::inside();
    CURRENT.with_borrow_mut(|current| match current {
        Some(tracer) => note(tracer.as_mut()),
        None => Ok(()),
    })
}
