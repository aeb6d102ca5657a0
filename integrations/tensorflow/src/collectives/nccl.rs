//! NCCL, and RCCL, which has the same functions. Sources: `nccl.h` of version 2.10 and newer; NCCL user guide, "Managing multiple GPUs from one thread".

#![allow(
    non_snake_case,
    reason = "functions have the names that NCCL gives them"
)]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock};

use super::{Shared, locked};
use crate::amdgpu::{Handle, agpu};
use crate::dtype::Dtype;
use crate::dynamic::{Library, functions};
use crate::failure::{Failure, Outcome, caught};
use crate::tensorflow::Opaque;

/// `ncclSum` and `ncclAvg`.
const SUM: c_int = 0;
const AVERAGE: c_int = 4;

functions!(Functions {
    ncclGetErrorString: fn(c_int) -> *const c_char;
    ncclCommInitAll: fn(*mut Opaque, c_int, *const c_int) -> c_int;
    ncclGroupStart: fn() -> c_int;
    ncclGroupEnd: fn() -> c_int;
    ncclAllReduce: fn(*const c_void, *mut c_void, usize, c_int, c_int, Opaque, *mut c_void) -> c_int;
});

/// Communicators of the ranks of a group of GPUs.
struct Communicators(Vec<Opaque>);

// SAFETY: one thread at a time uses them, under the lock of `Nccl`.
unsafe impl Send for Communicators {}

/// The open library.
pub struct Nccl {
    name: &'static str,
    functions: Functions,
    /// By the numbers of the GPUs. Whoever has the lock gives all ranks their work, so that every GPU gets collectives in one order.
    groups: Mutex<HashMap<Vec<c_int>, Communicators>>,
}

/// Opens the library of NVIDIA or AMD, once.
pub fn open(is_amd: bool, folders: &str) -> Outcome<&'static Nccl> {
    static OF_NVIDIA: OnceLock<Outcome<Nccl>> = OnceLock::new();
    static OF_AMD: OnceLock<Outcome<Nccl>> = OnceLock::new();
    let (place, name, files): (_, _, &[&str]) = if is_amd {
        (&OF_AMD, "RCCL", &["librccl.so.1", "librccl.so"])
    } else {
        (&OF_NVIDIA, "NCCL", &["libnccl.so.2"])
    };
    let opened = place.get_or_init(|| {
        let in_folder = |folder| files.iter().map(move |file| format!("{folder}/{file}"));
        let placed: Vec<String> = folders.lines().flat_map(in_folder).collect();
        let paths = files.iter().copied();
        let library = Library::open(paths.chain(placed.iter().map(String::as_str)), name)?;
        Ok(Nccl {
            name,
            functions: Functions::find(library)?,
            groups: Mutex::default(),
        })
    });
    opened.as_ref().map_err(Clone::clone)
}

/// The number of a dtype: `ncclDataType_t`.
fn number_of(dtype: Dtype) -> Outcome<c_int> {
    Ok(match dtype {
        Dtype::I32 => 2,
        Dtype::I64 => 4,
        Dtype::F16 => 6,
        Dtype::F32 => 7,
        Dtype::F64 => 8,
        Dtype::BF16 => 9,
        other => {
            return Err(Failure::no_kernel(format!(
                "NCCL does not reduce {}",
                other.name()?.to_string_lossy()
            )));
        }
    })
}

impl Nccl {
    fn check(&self, what: &str, status: c_int) -> Outcome {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: gives a text that lives as long as the library.
        let reason = unsafe { CStr::from_ptr((self.functions.ncclGetErrorString)(status)) };
        Err(Failure::refused(format!(
            "{} failed at {what}: {} ({status}); NCCL_DEBUG=INFO lets it say more, and AMDGPU_TENSORFLOW_COLLECTIVES=copies does without it",
            self.name,
            reason.to_string_lossy()
        )))
    }

    /// Gives every rank its part of a collective, each in its own stream.
    pub fn all_reduce(&self, gpus: &[c_int], all: &[Arc<Shared>], is_mean: bool) -> Outcome {
        let mut groups = locked(&self.groups);
        if !groups.contains_key(gpus) {
            let made = self.communicators(gpus)?;
            groups.insert(gpus.to_vec(), made);
        }
        let communicators = &groups[gpus].0;
        let streams: Vec<Handle> = all.iter().map(|one| one.queue.handle).collect();
        let reduction = if is_mean { AVERAGE } else { SUM };
        with_streams(&streams, &mut |streams| {
            // SAFETY: a function without arguments.
            let status = unsafe { (self.functions.ncclGroupStart)() };
            self.check("the start of a group", status)?;
            let mut ranks = all.iter().zip(communicators).zip(streams);
            let done = ranks.try_for_each(|((shared, communicator), stream)| {
                self.reduce_rank(shared, reduction, *communicator, *stream)
            });
            // SAFETY: as above.
            let status = unsafe { (self.functions.ncclGroupEnd)() };
            done.and(self.check("a collective", status))
        })
    }

    fn communicators(&self, gpus: &[c_int]) -> Outcome<Communicators> {
        let mut made = vec![std::ptr::null_mut(); gpus.len()];
        let count = gpus.len() as c_int;
        // SAFETY: as many places as there are GPUs.
        let status =
            unsafe { (self.functions.ncclCommInitAll)(made.as_mut_ptr(), count, gpus.as_ptr()) };
        self.check("making communicators", status)?;
        Ok(Communicators(made))
    }

    fn reduce_rank(
        &self,
        shared: &Shared,
        reduction: c_int,
        communicator: Opaque,
        stream: *mut c_void,
    ) -> Outcome {
        for (tensor, result) in shared.tensors.iter().zip(&shared.results) {
            if tensor.is_empty() {
                continue;
            }
            // SAFETY: memory of the GPU of this rank, whose owner gives it back in the order of the stream.
            let status = unsafe {
                (self.functions.ncclAllReduce)(
                    tensor.address.cast_const(),
                    result.address,
                    tensor.len() as usize,
                    number_of(tensor.dtype)?,
                    reduction,
                    communicator,
                    stream,
                )
            };
            self.check("a part of a collective", status)?;
        }
        Ok(())
    }
}

/// Streams that are still to be lent, and those of the driver that are.
struct Loan<'a> {
    left: &'a [Handle],
    lent: Vec<*mut c_void>,
    work: &'a mut dyn FnMut(&[*mut c_void]) -> Outcome,
    outcome: Outcome,
}

/// Runs work while all streams are lent, with the driver's own handles of them.
fn with_streams(streams: &[Handle], work: &mut dyn FnMut(&[*mut c_void]) -> Outcome) -> Outcome {
    let mut loan = Loan {
        left: streams,
        lent: Vec::new(),
        work,
        outcome: Ok(()),
    };
    lend_next(&mut loan)
}

fn lend_next(loan: &mut Loan) -> Outcome {
    let Some((next, left)) = loan.left.split_first() else {
        return (loan.work)(&loan.lent);
    };
    loan.left = left;
    let (mut was_lent, data) = (false, std::ptr::from_mut(loan).cast());
    let status = (|| agpu!(agpu_stream_lend(*next, lent, data, &raw mut was_lent)))();
    // What went wrong inside says more.
    loan.outcome.clone()?;
    status?;
    if was_lent {
        return Ok(());
    }
    Err(Failure::refused(
        "a stream of a GPU has no stream of the driver beneath",
    ))
}

/// One more stream is lent.
unsafe extern "C" fn lent(stream: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: the loan of `lend_next`, which waits for this function.
    let loan = unsafe { &mut *data.cast::<Loan>() };
    loan.lent.push(stream);
    loan.outcome = caught(|| lend_next(loan));
    c_int::from(loan.outcome.is_err())
}
