//! Calls of operations on arrays of a device that repeat: what one call launched is kept, and the next of its kind launches it again.
//!
//! Contract
//! - A plan belongs to the device ([`OpenDevice`]) that all arrays of the call are of, and goes when one of its openings is closed or
//!   [`forget_plans`] is called.
//! - Its key ([`key`]) is all that a call's launches depend on: operation and options, and of each array dtype, shape, strides, where it
//!   begins within 16 bytes, whether it may be written, and which arrays are the same memory.
//! - The first call is watched ([`trace`]). Whatever a plan could not repeat (reading an array, a copy, a launch elsewhere, memory of
//!   unknown origin) ends the watch, and calls of that kind go the long way each time.
//! - Another call ([`replay`]) launches the same kernels in the same order of the device's default stream, with memory of its own.

mod derivation;
mod key;
mod replay;
pub mod trace;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::Dtype;
use amdgpu_aura::{Kernel, OpenDevice, PackedArguments};
use amdgpu_hal::LaunchConfig;
use amdgpu_telemetry::Record;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

pub use derivation::Derivation;
use key::Call;

use crate::array::{Array, Storage};
use crate::graph;

/// Calls that a device keeps the plans of; shapes of networks are few.
const MAX_PLANS: usize = 4096;

/// Counts what made all plans of the process outdated.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Where the memory of an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// An array that the caller gave.
    Given(usize),
    /// Memory that the plan takes: for results, and for what passes from kernel to kernel.
    Made(usize),
    /// What is derived from the addresses of others.
    Derived(usize),
}

/// A launch but for its memory.
struct Step {
    kernel: Arc<Kernel>,
    config: LaunchConfig,
    arguments: PackedArguments,
    /// Offsets in the block of arguments, and what stands there.
    memory: Vec<(usize, Source)>,
}

/// An array that a derivation gives.
struct Derived {
    derivation: Arc<derivation::Inner>,
    of: Vec<Source>,
}

/// What the caller gets.
enum Outcome {
    /// One of the arrays that were given.
    Given(usize),
    /// Memory of the plan as an array.
    Made {
        number: usize,
        shape: Vec<i64>,
        strides: Vec<i64>,
        dtype: Dtype,
    },
    Several(Vec<Outcome>),
}

impl Outcome {
    /// Numbers of the memory that the caller gets.
    fn made(&self, into: &mut Vec<usize>) {
        match self {
            Self::Given(_) => {}
            Self::Made { number, .. } => into.push(*number),
            Self::Several(all) => all.iter().for_each(|one| one.made(into)),
        }
    }
}

/// What a call of an operation does.
struct Plan {
    steps: Vec<Step>,
    /// Bytes of the memory that it takes.
    made: Vec<u64>,
    derived: Vec<Derived>,
    outcome: Outcome,
    /// What the dispatcher decided.
    decision: Option<Record>,
}

impl Plan {
    /// Whether nobody closed the opening meanwhile that its kernels are of.
    fn is_open(&self) -> bool {
        self.steps.iter().all(|step| step.kernel.is_open())
    }
}

/// The plans of a device.
#[derive(Default)]
struct Table(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    generation: u64,
    plans: HashMap<Box<[u64]>, Arc<Plan>>,
}

impl Table {
    fn of(device: &OpenDevice) -> Option<Arc<Self>> {
        device.find_cache()
    }

    fn find(&self, key: &[u64]) -> Option<Arc<Plan>> {
        let plan = self.lock().plans.get(key).cloned()?;
        plan.is_open().then_some(plan)
    }

    fn keep(&self, key: Box<[u64]>, plan: Plan) {
        let mut kept = self.lock();
        if kept.plans.len() >= MAX_PLANS {
            kept.plans.clear();
        }
        kept.plans.insert(key, Arc::new(plan));
    }

    /// Without what is outdated; whole whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = GENERATION.load(Ordering::Acquire);
        if kept.generation != generation {
            kept.plans.clear();
            kept.generation = generation;
        }
        kept
    }
}

/// The result of a call whose plan is known; None where it takes a closer look.
///
/// `options` and `arrays` say what is asked for: arrays of a device, numbers, text, tuples of them, None. `out` is among the arrays where
/// there is one.
#[pyfunction]
pub fn run_plan<'py>(
    py: Python<'py>,
    options: &Bound<'py, PyTuple>,
    arrays: &Bound<'py, PyTuple>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if graph::is_recording() || trace::is_active() {
        return Ok(None);
    }
    let Some(call) = Call::of(options, arrays) else {
        return Ok(None);
    };
    let Some(plan) = Table::of(call.device()).and_then(|table| table.find(&call.key)) else {
        return Ok(None);
    };
    replay::run(py, &plan, &call).map(Some)
}

/// The result of `compute()`, whose plan is kept where it has one: the next [`run_plan`] of the same options and arrays repeats what it
/// launched.
#[pyfunction]
pub fn keep_plan<'py>(
    options: &Bound<'py, PyTuple>,
    arrays: &Bound<'py, PyTuple>,
    compute: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let call = if graph::is_recording() || trace::is_active() {
        None
    } else {
        Call::of(options, arrays)
    };
    let Some(call) = call else {
        return compute.call0();
    };
    let generation = GENERATION.load(Ordering::Acquire);
    let watch = trace::Watch::begin(&call);
    let result = compute.call0()?;
    if let Some(plan) = watch.end(&call, &result)
        && generation == GENERATION.load(Ordering::Acquire)
    {
        let table = call.device().cache(Table::default);
        table.keep(call.key, plan);
    }
    Ok(result)
}

/// Make all plans outdated: another implementation was registered, or other kernels are faster.
#[pyfunction]
pub fn forget_plans() {
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// Leave the call that is under way without a plan.
#[pyfunction]
pub fn leave_plan() {
    trace::give_up();
}

/// An array of the caller as a plan sees it.
struct Given<'py> {
    array: Bound<'py, Array>,
    address: u64,
    /// Another thread may free the array while the call is under way.
    memory: Arc<Storage>,
}
