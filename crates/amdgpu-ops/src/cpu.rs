//! Operations that the CPU computes in memory of the host: with the Zig library, where the values lie, without copies and without a compiler.
//!
//! Contract
//! - Each family has a function `on_host`, which takes views of memory and a [`Host`]: who made the call says where the result goes and how the
//!   work runs. Shapes, dtypes and overlap are checked there and nowhere else.
//! - [`run`] lets the functions for arrays choose: the CPU in place for arrays of a CPU device, kernels for those of others, and the CPU with
//!   copies ([`fallback`]) for what a device has no kernel for.

pub(crate) mod convert;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, recording};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Described, TensorView, TensorViewMut};
use smallvec::{SmallVec, smallvec};

use crate::fallback::{self, HostTensor};
pub use crate::host_memory::{HOST, HostMemory};
use crate::operand::{Operand, check_device};
use crate::{DeviceOps, Error, Operation, Result, strided, trace};

/// Who asks the CPU for a result: gives the memory for it, and runs the work.
pub trait Host {
    type Error: From<Error>;

    /// Whether the caller gave memory for the result.
    fn has_out(&self) -> bool;

    /// The memory for a result: what the caller gave, checked for writing only, or new memory without gaps. Values that it holds are there to
    /// be read where `is_read` says so.
    ///
    /// # Errors
    ///
    /// `read-only`, `wrong-device`, `invalid-type`; `out-of-memory`.
    fn result(
        &mut self,
        shape: &[i64],
        dtype: Dtype,
        is_read: bool,
    ) -> std::result::Result<HostMemory, Self::Error>;

    /// Runs the work, which takes as long as so many additions.
    ///
    /// # Errors
    ///
    /// Those of the work.
    fn run<T: Send>(
        &mut self,
        additions: u64,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T>;

    /// Writes a result that is described, with work that takes as long as so many additions.
    ///
    /// # Errors
    ///
    /// As [`Self::result`], and those of the work.
    fn write(
        &mut self,
        described: &Described,
        additions: u64,
        work: impl FnOnce(&mut TensorViewMut<'_>) -> Result<()> + Send,
    ) -> std::result::Result<(), Self::Error> {
        let mut memory = self.result(&described.shape, described.dtype, false)?;
        Ok(self.run(additions, || work(&mut memory.view_mut()?))?)
    }
}

/// Number of elements, for [`Host::write`].
#[must_use]
pub fn len(view: &TensorView<'_>) -> u64 {
    let product = |len: u64, extent: &i64| len.saturating_mul(*extent as u64);
    view.shape().iter().fold(1, product)
}

/// A call on arrays.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub ops: &'a DeviceOps,
    /// What telemetry calls the family.
    pub family: &'static str,
    /// What messages call the operation.
    pub name: &'a str,
    pub inputs: &'a [(&'a str, &'a Operand)],
    pub out: Option<&'a Array>,
}

/// Results of one call.
pub(crate) type Results = SmallVec<[Array; 1]>;

/// Computes a call that has one result.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn run_one(
    call: &Call<'_>,
    on_device: impl FnOnce() -> Result<Array>,
    on_host: impl FnOnce(&[TensorView<'_>], &mut ArrayHost<'_>) -> Result<()>,
) -> Result<Array> {
    only(run(call, || Ok(smallvec![on_device()?]), on_host)?)
}

/// The result of a call that has one.
///
/// # Errors
///
/// `internal` where there is none.
pub(crate) fn only(made: Results) -> Result<Array> {
    made.into_iter()
        .next()
        .ok_or_else(|| Error::refused(ErrorCode::Internal, "a call gave no result"))
}

/// The results of a call that has two.
///
/// # Errors
///
/// `internal` where there are fewer.
pub(crate) fn pair(made: Results) -> Result<(Array, Array)> {
    let mut made = made.into_iter();
    match (made.next(), made.next()) {
        (Some(first), Some(second)) => Ok((first, second)),
        _ => Err(Error::refused(
            ErrorCode::Internal,
            "a call gave fewer than two results",
        )),
    }
}

/// As [`run_one`], for a call that graphs hold as the operation that `describe` gives, if any.
///
/// # Errors
///
/// As [`run`].
#[inline]
pub(crate) fn run_noted(
    call: &Call<'_>,
    describe: impl FnOnce() -> Option<Operation>,
    on_device: impl FnOnce() -> Result<Array>,
    on_host: impl FnOnce(&[TensorView<'_>], &mut ArrayHost<'_>) -> Result<()>,
) -> Result<Array> {
    let described = if trace::is_tracing() {
        describe()
    } else {
        None
    };
    let Some(operation) = described else {
        return run_one(call, on_device, on_host);
    };
    let inputs: SmallVec<[&Operand; 4]> = call.inputs.iter().map(|(_, one)| *one).collect();
    trace::noted(operation, &inputs, || run_one(call, on_device, on_host))
}

/// Computes a call where its arrays lie.
///
/// # Errors
///
/// `wrong-device` for an input that the CPU cannot reach, and what the chosen function fails with.
pub(crate) fn run(
    call: &Call<'_>,
    on_device: impl FnOnce() -> Result<Results>,
    on_host: impl FnOnce(&[TensorView<'_>], &mut ArrayHost<'_>) -> Result<()>,
) -> Result<Results> {
    run_outs(call, &[call.out], on_device, on_host)
}

/// As [`run`], with a place for each result.
pub(crate) fn run_outs(
    call: &Call<'_>,
    outs: &Outs<'_>,
    on_device: impl FnOnce() -> Result<Results>,
    on_host: impl FnOnce(&[TensorView<'_>], &mut ArrayHost<'_>) -> Result<()>,
) -> Result<Results> {
    if trace::is_tracing() {
        trace::check_untraced(call.name, call.inputs)?;
    }
    compute(call, outs, on_device, on_host)
}

/// Where the results of a call go, one after the other: `None`, and what the list is too short for, is a new array.
pub(crate) type Outs<'a> = [Option<&'a Array>];

/// As [`run`], for a call that graphs hold as the operation that `describe` gives, and that any number of results may have. What kernels of a
/// device made is copied to `outs`.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn run_into(
    call: &Call<'_>,
    outs: &Outs<'_>,
    describe: impl FnOnce() -> Operation,
    on_device: impl FnOnce() -> Result<Results>,
    on_host: impl FnOnce(&[TensorView<'_>], &mut ArrayHost<'_>) -> Result<()>,
) -> Result<Results> {
    let delivered = || delivered(on_device()?, outs);
    if !trace::is_tracing() {
        return compute(call, outs, delivered, on_host);
    }
    let inputs: SmallVec<[&Operand; 4]> = call.inputs.iter().map(|(_, one)| *one).collect();
    trace::noted_all(describe(), &inputs, || {
        compute(call, outs, delivered, on_host)
    })
}

/// Results where they are wanted, of functions that make new arrays.
pub(crate) fn delivered(made: Results, outs: &Outs<'_>) -> Result<Results> {
    let mut results = Results::new();
    for (place, array) in made.into_iter().enumerate() {
        results.push(match outs.get(place).copied().flatten() {
            Some(out) if array.address() != out.address() => {
                strided::copy(out, &array)?;
                out.clone()
            }
            _ => array,
        });
    }
    Ok(results)
}

fn compute(
    call: &Call<'_>,
    outs: &Outs<'_>,
    on_device: impl FnOnce() -> Result<Results>,
    on_host: impl FnOnce(&[TensorView<'_>], &mut ArrayHost<'_>) -> Result<()>,
) -> Result<Results> {
    if call.ops.computes_on_host() {
        return in_place(call, outs, on_host);
    }
    match on_device() {
        Err(error) if error.permits_fallback() => {
            recording::check_not_recording("computing on the host")?;
            fallback::record(call.family, call.ops, &error);
            let operands = call.inputs.iter().map(|(_, operand)| *operand);
            let copies = HostTensor::of_operands(operands)?;
            let mut host = ArrayHost::new(call, outs, true);
            on_host(&HostTensor::views(&copies)?, &mut host)?;
            host.deliver()
        }
        done => done,
    }
}

/// Refuses inputs that were freed, lie on another device, or have no values because a function is being traced.
///
/// # Errors
///
/// `use-after-free`, `wrong-device`, `not-capturable`.
pub(crate) fn check_inputs(call: &Call<'_>) -> Result<()> {
    if trace::is_tracing() {
        trace::check_untraced(call.name, call.inputs)?;
    }
    for (name, operand) in call.inputs {
        if let Some(array) = &operand.array {
            check_input(call, name, array)?;
        }
    }
    Ok(())
}

fn check_input(call: &Call<'_>, name: &str, array: &Array) -> Result<()> {
    array.check_alive()?;
    check_device(call.name, name, array, call.ops.device())
}

fn in_place(
    call: &Call<'_>,
    outs: &Outs<'_>,
    on_host: impl FnOnce(&[TensorView<'_>], &mut ArrayHost<'_>) -> Result<()>,
) -> Result<Results> {
    let mut numbers: SmallVec<[[u64; 2]; 4]> = SmallVec::new();
    for (name, operand) in call.inputs {
        if let Some(array) = &operand.array {
            check_input(call, name, array)?;
            array.finish_uses()?;
        }
        numbers.push(operand.element());
    }
    let operands = call.inputs.iter().zip(&numbers);
    let views = operands
        .map(|((_, operand), number)| operand.host_view(number))
        .collect::<Result<SmallVec<[_; 4]>>>()?;
    let mut host = ArrayHost::new(call, outs, false);
    on_host(&views, &mut host)?;
    host.deliver()
}

/// Results in arrays: of the CPU device itself, or copied to the device whose place the CPU takes.
pub(crate) struct ArrayHost<'a> {
    call: Call<'a>,
    outs: &'a Outs<'a>,
    is_copied: bool,
    made: Results,
    copies: SmallVec<[HostTensor; 1]>,
}

impl<'a> ArrayHost<'a> {
    fn new(call: &Call<'a>, outs: &'a Outs<'a>, is_copied: bool) -> Self {
        Self {
            call: *call,
            outs,
            is_copied,
            made: Results::new(),
            copies: SmallVec::new(),
        }
    }

    fn deliver(mut self) -> Result<Results> {
        let Call { ops, name, .. } = self.call;
        for (place, copy) in self.copies.iter().enumerate() {
            self.made.push(copy.deliver(ops, name, self.out(place))?);
        }
        Ok(self.made)
    }

    /// Where the caller wants the result of that position.
    fn out(&self, place: usize) -> Option<&'a Array> {
        self.outs.get(place).copied().flatten()
    }

    fn copied(&mut self, shape: &[i64], dtype: Dtype, is_read: bool) -> Result<HostMemory> {
        let made = match self.out(self.copies.len()).filter(|_| is_read) {
            Some(out) => HostTensor::of_operand(&Operand::of_array(out.clone()))?,
            None => HostTensor::new(shape, dtype)?,
        };
        self.copies.push(made);
        let last = self.copies.len() - 1;
        Ok(self.copies[last].memory_mut())
    }
}

impl Host for ArrayHost<'_> {
    type Error = Error;

    fn has_out(&self) -> bool {
        self.out(0).is_some()
    }

    fn result(&mut self, shape: &[i64], dtype: Dtype, is_read: bool) -> Result<HostMemory> {
        let Call { ops, name, .. } = self.call;
        if self.is_copied {
            return self.copied(shape, dtype, is_read);
        }
        let array = if let Some(out) = self.out(self.made.len()) {
            out.check_alive()?;
            if out.is_read_only {
                return Err(Error::refused(
                    ErrorCode::ReadOnly,
                    format!("{name}: out is read-only"),
                ));
            }
            check_device(name, "out", out, ops.device())?;
            out.finish_uses()?;
            out.clone()
        } else {
            let shape = Dims::from_slice(shape);
            Array::empty(ops.device(), shape, dtype, MemoryKind::Device)?
        };
        let memory = HostMemory::of_array(&array);
        self.made.push(array);
        Ok(memory)
    }

    fn run<T: Send>(&mut self, _: u64, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        work()
    }
}
