//! Kernels of the device `rdna` of PyTorch: `libamdgpu_torch.so`.
//!
//! Contract
//! - Operators take tensors as views of memory and call operations of `libamdgpu.so`; nothing is computed here. Both libraries, torch's and
//!   ours, are found among those that the process has loaded, so that there is one copy of the core (ADR 10) and no header of torch is needed.
//! - Of torch only the stable C interface is used: one binary serves torch 2.10 to 2.15.
//! - The shim calls [`agpu_torch_call`] for each operator of [`operators::all`]. An operator writes to its arguments or leaves results, which
//!   the shim takes. What no kernel takes is told apart from what is wrong: the shim runs it on the CPU.
//! - Nothing unwinds into the caller: a panic is a failure with a message.

#![allow(
    clippy::float_cmp,
    reason = "arguments of operators are compared with the very numbers that they mean"
)]
#![allow(
    clippy::many_single_char_names,
    reason = "c is the call, s the steps of a kernel; the others are tensors by the names of their formulas"
)]
#![allow(
    clippy::similar_names,
    reason = "indices and what is picked by them stand side by side"
)]

mod call;
mod compute;
mod dtype;
mod host;
mod images;
mod lists;
mod operators;
mod tensor;
mod torch;

use amdgpu_client::{amdgpu, dynamic, failure};

use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use crate::amdgpu::agpu;

use crate::call::{CScalar, Call, Results, Returned};
use crate::failure::{Failure, Outcome, caught, status};
use crate::operators::Operator;
use crate::tensor::{CTensor, Place, Tensor};

/// `AGPU_TORCH_INTERFACE_VERSION` of integrations/torch/shim/kernels.h.
const INTERFACE_VERSION: u32 = 2;

/// `agpu_torch_result`.
#[repr(C)]
pub struct CResult {
    kind: u32,
    reserved: u32,
    integer: i64,
    tensor: *mut c_void,
}

const RESULT_TENSOR: u32 = 1;
const RESULT_INT: u32 = 2;
const RESULT_BOOL: u32 = 3;

thread_local! {
    /// Results of the last call of this thread that were not taken yet, the last one first.
    static RESULTS: RefCell<Vec<Returned>> = const { RefCell::new(Vec::new()) };
}

/// The version of the interface between the shim and this library.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_torch_interface_version() -> u32 {
    INTERFACE_VERSION
}

/// Finds torch and libamdgpu, and keeps what the shim gives.
///
/// # Safety
///
/// `host` is null or lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_torch_attach(host: *const host::Host) -> i32 {
    status(caught(|| {
        // SAFETY: as the caller promises.
        let given = unsafe { host.as_ref() };
        let given = given.ok_or_else(|| Failure::refused("host is NULL"))?;
        if given.size_bytes < size_of::<host::Host>() as u64 {
            return Err(Failure::refused(
                "the shim is of another version than the kernel library: run `python -m amdgpu.torch.build`",
            ));
        }
        let torch = dynamic::Library::of_handle(given.torch_library, "libtorch_cpu.so");
        torch::find(torch)?;
        amdgpu::find()?;
        host::set(host);
        Ok(())
    }))
}

/// Names of the operators by place; null behind the last one.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_torch_boxed_operator(place: u64) -> *const c_char {
    operators::at(place).map_or(std::ptr::null(), |operator| operator.name.as_ptr())
}

/// Runs an operator: 0 done, 1 refused, 2 no kernel.
///
/// # Safety
///
/// As kernels.h says: `tensor_count` tensors, `scalar_count` scalars, all valid during the call, and a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_torch_call(
    place: u64,
    tensors: *const CTensor,
    tensor_count: u64,
    scalars: *const CScalar,
    scalar_count: u64,
    result_count: *mut u64,
) -> i32 {
    status(caught(|| {
        let operator = operators::at(place)
            .ok_or_else(|| Failure::refused(format!("there is no operator {place}")))?;
        // SAFETY: as the caller promises.
        let results = unsafe {
            let tensors = items(tensors, tensor_count as usize);
            watched(operator, || {
                run(operator, tensors, items(scalars, scalar_count as usize))
            })?
        };
        operator.calls.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { result_count.write(results.len() as u64) };
        if !results.is_empty() {
            RESULTS.with_borrow_mut(|kept| {
                kept.clear();
                kept.extend(results.into_iter().rev());
            });
        }
        Ok(())
    }))
}

/// Sets bytes of a tensor to zero in place of the operator of a place: 0 done, 1 refused, 2 where telemetry wants to hear of the operator.
///
/// # Safety
///
/// The bytes belong to a tensor of rdna:`index`, which the call may write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_torch_zero(
    place: u64,
    index: i32,
    address: *mut c_void,
    bytes: u64,
) -> i32 {
    status(caught(|| {
        let library = amdgpu::get()?;
        // SAFETY: a function without arguments.
        let is_watched = unsafe { (library.agpu_telemetry_is_watched)() };
        let Some(operator) = operators::at(place).filter(|_| !is_watched) else {
            return Err(Failure::no_kernel("telemetry is to hear of it"));
        };
        let host = host::get()?;
        let real = (address as u64 & !host.poison_bits) as *mut c_void;
        host.in_current_stream(index, || {
            agpu!(agpu_raw_fill(host.device(index)?, real, bytes, 0, 0))
        })?;
        operator.calls.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }))
}

/// Runs a call, which telemetry hears of where somebody takes all records.
fn watched<T>(operator: &Operator, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let library = amdgpu::get()?;
    // SAFETY: a function without arguments.
    if !unsafe { (library.agpu_telemetry_is_watched)() } {
        return work();
    }
    let start_ns = monotonic_ns();
    let result = work()?;
    let duration_ns = monotonic_ns() - start_ns;
    agpu!(agpu_telemetry_mark(
        operator.name.as_ptr(),
        start_ns,
        duration_ns
    ))?;
    Ok(result)
}

/// The clock of telemetry.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

unsafe fn items<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 || first.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// # Safety
///
/// Tensors and scalars are what they say.
unsafe fn run(operator: &Operator, tensors: &[CTensor], scalars: &[CScalar]) -> Outcome<Results> {
    // Filled where it stays: what it holds is too large to be handed on.
    let mut call = Call {
        name: operator.text(),
        tensors: SmallVec::new(),
        scalars: SmallVec::new(),
    };
    for given in tensors {
        // SAFETY: as the caller promises.
        call.tensors.push(unsafe { Tensor::borrowed(given) }?);
    }
    for given in scalars {
        // SAFETY: as the caller promises.
        call.scalars.push(unsafe { given.read() }?);
    }
    let place = { call.tensors.iter().flatten() }.find_map(|tensor| match tensor.place {
        Place::Rdna(index) => Some(index),
        Place::Cpu => None,
    });
    match place {
        Some(index) => without_index_waits(|| {
            host::get()?.in_current_stream(index, || (operator.kernel)(&call))
        }),
        None => (operator.kernel)(&call),
    }
}

/// Runs a kernel that does not wait for what it learns of indices: the shim asks for that where it waits for the device anyway.
fn without_index_waits<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let mut before = false;
    agpu!(agpu_ops_defer_index_checks(true, &raw mut before))?;
    let result = work();
    agpu!(agpu_ops_defer_index_checks(before, std::ptr::null_mut()))?;
    result
}

/// Takes the next result of the last call of this thread; 1 where there is none left. A tensor is the caller's to delete.
///
/// # Safety
///
/// `result` is a place for a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_torch_take_result(result: *mut CResult) -> i32 {
    let Some(next) = RESULTS.with_borrow_mut(Vec::pop) else {
        return 1;
    };
    let (kind, integer, tensor) = match next {
        Returned::Tensor(tensor) => (RESULT_TENSOR, 0, tensor.into_handle()),
        Returned::None => (RESULT_TENSOR, 0, std::ptr::null_mut()),
        Returned::Int(value) => (RESULT_INT, value, std::ptr::null_mut()),
        Returned::Bool(value) => (RESULT_BOOL, i64::from(value), std::ptr::null_mut()),
    };
    // SAFETY: as the caller promises.
    unsafe {
        result.write(CResult {
            kind,
            reserved: 0,
            integer,
            tensor,
        });
    }
    0
}

/// Why the last call of this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_torch_last_error() -> *const c_char {
    failure::last_error()
}

/// How often each operator ran here; 1 behind the last one.
///
/// # Safety
///
/// `name` and `calls` are places for the answers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_torch_native_calls(
    place: u64,
    name: *mut *const c_char,
    calls: *mut u64,
) -> i32 {
    let Some(operator) = operators::at(place) else {
        return 1;
    };
    // SAFETY: as the caller promises.
    unsafe {
        name.write(operator.name.as_ptr());
        calls.write(operator.calls.load(Ordering::Relaxed));
    }
    0
}
