//! Watching the first call of its kind: what it allocates and launches, and from which memory.

use std::cell::RefCell;
use std::sync::Arc;

use amdgpu_aura::{Argument, Kernel, OpenDevice, ParameterKind};
use amdgpu_hal::LaunchConfig;
use amdgpu_telemetry::Record;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::derivation::Inner;
use super::key::Call;
use super::{Derived, Outcome, Plan, Source, Step};
use crate::array::Array;

/// Numbers of this name are addresses of arrays that launches do not take as they are.
const ADDRESS_SUFFIX: &str = "_address";

thread_local! {
    static CURRENT: RefCell<Option<Trace>> = const { RefCell::new(None) };
}

/// Memory whose address means the same as long as the watch lasts.
struct Memory {
    address: u64,
    bytes: u64,
    #[allow(
        dead_code,
        reason = "held, not read: the address is not given to others meanwhile"
    )]
    owner: Arc<dyn Send + Sync>,
}

/// What this thread's call did so far.
struct Trace {
    device: Arc<OpenDevice>,
    given: Vec<u64>,
    made: Vec<Memory>,
    derived: Vec<(u64, Derived)>,
    steps: Vec<Step>,
    decision: Option<Record>,
    /// A plan could not repeat it.
    is_lost: bool,
    is_paused: bool,
}

impl Trace {
    fn source(&self, address: u64) -> Option<Source> {
        let place = |index: Option<usize>, of: fn(usize) -> Source| index.map(of);
        place(
            self.given.iter().position(|known| *known == address),
            Source::Given,
        )
        .or_else(|| {
            let found = self.made.iter().position(|one| one.address == address);
            place(found, Source::Made)
        })
        .or_else(|| {
            let found = self.derived.iter().position(|one| one.0 == address);
            place(found, Source::Derived)
        })
    }

    fn step(
        &self,
        kernel: &Arc<Kernel>,
        config: LaunchConfig,
        arguments: &[Argument],
        hidden: &[u64],
    ) -> Option<Step> {
        if !Arc::ptr_eq(&self.device, kernel.open_device()) || kernel.is_checked() {
            return None;
        }
        let (mut memory, mut addresses) = (Vec::new(), Vec::new());
        for (parameter, argument) in kernel.facts().parameters.iter().zip(arguments) {
            match (parameter.kind, argument) {
                (ParameterKind::Pointer { .. }, Argument::Pointer { address, .. }) => {
                    memory.push((parameter.offset_bytes, self.source(*address)?));
                    addresses.push(*address);
                }
                (ParameterKind::Scalar { .. }, Argument::Int(value))
                    if parameter.size_bytes == size_of::<u64>()
                        && parameter.name.ends_with(ADDRESS_SUFFIX) =>
                {
                    let address = u64::try_from(*value).ok()?;
                    memory.push((parameter.offset_bytes, self.source(address)?));
                    addresses.push(address);
                }
                _ => {}
            }
        }
        // Arrays that are given by their address have to be among the arguments that are known to be addresses.
        if !hidden.iter().all(|address| addresses.contains(address)) {
            return None;
        }
        Some(Step {
            kernel: Arc::clone(kernel),
            config,
            arguments: kernel.pack_arguments(arguments).ok()?,
            memory,
        })
    }

    fn outcome(&self, call: &Call<'_>, result: &Bound<'_, PyAny>) -> Option<Outcome> {
        if let Ok(several) = result.cast_exact::<PyTuple>() {
            let all = several.iter().map(|one| self.outcome(call, &one));
            return all.collect::<Option<Vec<_>>>().map(Outcome::Several);
        }
        let array = result.cast_exact::<Array>().ok()?;
        if let Some(number) = call.given.iter().position(|one| one.array.is(array)) {
            return Some(Outcome::Given(number));
        }
        let inner = array.get();
        let address = inner.data().expose_provenance() as u64;
        match self.source(address)? {
            Source::Made(number) if !inner.is_read_only => Some(Outcome::Made {
                number,
                shape: inner.shape.clone(),
                strides: inner.strides.clone(),
                dtype: inner.dtype,
            }),
            _ => None,
        }
    }
}

/// The watch over a call; dropping it ends it.
pub(super) struct Watch {
    device: Arc<OpenDevice>,
}

impl Watch {
    pub fn begin(call: &Call<'_>) -> Self {
        let trace = Trace {
            device: Arc::clone(call.device()),
            given: call.given.iter().map(|one| one.address).collect(),
            made: Vec::new(),
            derived: Vec::new(),
            steps: Vec::new(),
            decision: None,
            is_lost: false,
            is_paused: false,
        };
        CURRENT.set(Some(trace));
        Self {
            device: Arc::clone(call.device()),
        }
    }

    /// The plan of the call; None where there is none.
    pub fn end(&self, call: &Call<'_>, result: &Bound<'_, PyAny>) -> Option<Plan> {
        let trace = CURRENT.take()?;
        let is_own = Arc::ptr_eq(&trace.device, &self.device);
        if !is_own || trace.is_lost || trace.steps.is_empty() {
            return None;
        }
        let outcome = trace.outcome(call, result)?;
        let mut results = Vec::new();
        outcome.made(&mut results);
        results.sort_unstable();
        if results.windows(2).any(|pair| pair[0] == pair[1]) {
            // Two arrays over the same memory.
            return None;
        }
        Some(Plan {
            outcome,
            made: trace.made.iter().map(|one| one.bytes).collect(),
            derived: trace.derived.into_iter().map(|one| one.1).collect(),
            steps: trace.steps,
            decision: trace.decision,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Dropped outside of the cell: what was held may come back here.
        let left = CURRENT.take();
        drop(left);
    }
}

/// What happens until this is dropped is no part of the call.
pub(super) struct Pause {
    was_paused: bool,
}

impl Pause {
    pub fn begin() -> Self {
        Self {
            was_paused: set_paused(true),
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        set_paused(self.was_paused);
    }
}

fn set_paused(is_paused: bool) -> bool {
    CURRENT.with_borrow_mut(|current| {
        current
            .as_mut()
            .is_some_and(|trace| std::mem::replace(&mut trace.is_paused, is_paused))
    })
}

/// Whether this thread is within a call that is watched.
pub fn is_active() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

fn with(note: impl FnOnce(&mut Trace)) {
    CURRENT.with_borrow_mut(|current| {
        if let Some(trace) = current.as_mut().filter(|trace| !trace.is_paused) {
            note(trace);
        }
    });
}

/// Something happened that a plan cannot repeat.
pub fn give_up() {
    with(|trace| trace.is_lost = true);
}

/// Memory was taken.
pub fn note_made(device: &Arc<OpenDevice>, array: &Array) {
    with(|trace| {
        let bytes = array.bytes() as u64;
        trace.is_lost |= !Arc::ptr_eq(&trace.device, device) || bytes == 0;
        trace.made.push(Memory {
            address: array.data().expose_provenance() as u64,
            bytes,
            owner: array.keep(),
        });
    });
}

/// A derivation gave an array.
pub(super) fn note_derived(derivation: &Arc<Inner>, addresses: &[u64], made: &Array) {
    with(|trace| {
        let of: Option<Vec<Source>> = addresses.iter().map(|one| trace.source(*one)).collect();
        let is_simple =
            |sources: &Vec<Source>| !sources.iter().any(|one| matches!(one, Source::Derived(_)));
        let Some(of) = of.filter(is_simple) else {
            trace.is_lost = true;
            return;
        };
        let derivation = Arc::clone(derivation);
        let address = made.data().expose_provenance() as u64;
        trace.derived.push((address, Derived { derivation, of }));
    });
}

/// A kernel is launched behind what the default stream has; `hidden` are arrays whose addresses are among the arguments.
pub fn note_launch(
    kernel: &Arc<Kernel>,
    config: LaunchConfig,
    arguments: &[Argument],
    hidden: &[Bound<'_, Array>],
) {
    with(|trace| {
        let hidden = hidden
            .iter()
            .map(|one| one.get().data().expose_provenance() as u64);
        let hidden: Vec<u64> = hidden.collect();
        match trace.step(kernel, config, arguments, &hidden) {
            Some(step) => trace.steps.push(step),
            None => trace.is_lost = true,
        }
    });
}

/// The dispatcher decided.
pub fn note_decision(record: &Record) {
    with(|trace| trace.decision = Some(*record));
}
