//! Doing again what a call did before.

use std::sync::Arc;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_aura as aura;
use amdgpu_hal::{DeviceKind, MemoryKind};
use amdgpu_memory::Block;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::key::Call;
use super::{Outcome, Plan, Source};
use crate::array::{ARRAY, Array};
use crate::errors::{IntoPyResult, from_coded, raise};

/// The memory of one run.
struct Memory {
    given: Vec<u64>,
    made: Vec<Block>,
    derived: Vec<u64>,
}

impl Memory {
    fn address(&self, source: Source) -> u64 {
        match source {
            Source::Given(number) => self.given[number],
            Source::Made(number) => self.made[number].ptr().address(),
            Source::Derived(number) => self.derived[number],
        }
    }
}

/// Launch the steps of a plan on the arrays of a call.
pub fn run<'py>(py: Python<'py>, plan: &Plan, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
    let device = call.device();
    if let Some(decision) = &plan.decision
        && amdgpu_telemetry::is_enabled()
    {
        amdgpu_telemetry::emit(decision.at(amdgpu_telemetry::now_ns(), 0));
    }
    let allocator = device.allocator();
    // What streams have to do with the operands comes first; most never see one.
    for used in call.given.iter().filter(|one| one.memory.uses().is_used()) {
        let memory = &used.memory;
        py.detach(|| {
            memory
                .uses()
                .hold_back(device.device().default_stream(), device.device())
        })
        .into_py_result(py)?;
    }
    let mut memory = Memory {
        given: call.given.iter().map(|one| one.address).collect(),
        made: Vec::with_capacity(plan.made.len()),
        derived: Vec::new(),
    };
    // Where others know the memory they may look when the call is over; the host reads its own without asking.
    let is_awaited = call.is_shared || device.info().kind == DeviceKind::Cpu;
    let take = |memory: &mut Memory| {
        let _owner = ARRAY.enter();
        for bytes in &plan.made {
            memory
                .made
                .push(allocator.allocate_kind(MemoryKind::Device, *bytes, None)?);
        }
        Ok::<(), amdgpu_memory::Error>(())
    };
    if plan.derived.is_empty() {
        py.detach(|| -> Result<(), Failure> {
            take(&mut memory)?;
            Ok(launch(plan, &memory, is_awaited)?)
        })
        .map_err(|failure| failure.raise(py))?;
    } else {
        py.detach(|| take(&mut memory)).into_py_result(py)?;
        for one in &plan.derived {
            let addresses = one.of.iter().map(|source| memory.address(*source));
            let array = one.derivation.get(py, addresses.collect())?;
            memory
                .derived
                .push(array.get().data().expose_provenance() as u64);
        }
        py.detach(|| launch(plan, &memory, is_awaited))
            .map_err(|error| from_coded(py, &error))?;
    }
    let mut made: Vec<Option<Block>> = memory.made.into_iter().map(Some).collect();
    outcome(py, &plan.outcome, call, &mut made)
}

enum Failure {
    Memory(amdgpu_memory::Error),
    Launch(aura::Error),
}

impl From<amdgpu_memory::Error> for Failure {
    fn from(error: amdgpu_memory::Error) -> Self {
        Self::Memory(error)
    }
}

impl From<aura::Error> for Failure {
    fn from(error: aura::Error) -> Self {
        Self::Launch(error)
    }
}

impl Failure {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Memory(error) => from_coded(py, &error),
            Self::Launch(error) => from_coded(py, &error),
        }
    }
}

fn launch(plan: &Plan, memory: &Memory, is_awaited: bool) -> aura::Result<()> {
    for (index, step) in plan.steps.iter().enumerate() {
        let addresses = step.memory.iter();
        let addresses = addresses.map(|(offset, source)| (*offset, memory.address(*source)));
        let is_last = index + 1 == plan.steps.len();
        // SAFETY: the arguments were checked when the plan was made, and the key says that other memory of these sizes fits as well. It is of
        // this device's allocator, which hands it on in the order of the default stream; the arrays of the caller live until the call ends.
        unsafe {
            step.kernel.queue_packed(
                &step.config,
                &step.arguments,
                addresses,
                is_awaited && is_last,
            )?;
        }
    }
    Ok(())
}

fn outcome<'py>(
    py: Python<'py>,
    wanted: &Outcome,
    call: &Call<'py>,
    made: &mut [Option<Block>],
) -> PyResult<Bound<'py, PyAny>> {
    match wanted {
        Outcome::Given(number) => Ok(call.given[*number].array.clone().into_any()),
        Outcome::Made {
            number,
            shape,
            strides,
            dtype,
        } => {
            let block = made[*number].take();
            let block = block.ok_or_else(|| {
                let message = "a plan gives one memory to two results";
                raise(py, ErrorCode::Internal, Language::Rust, message)
            })?;
            let array = Array::of_block(
                Arc::clone(call.device()),
                block,
                (shape.clone(), strides.clone()),
                *dtype,
            );
            Ok(Bound::new(py, array)?.into_any())
        }
        Outcome::Several(all) => {
            let results = all.iter().map(|one| outcome(py, one, call, made));
            let results = results.collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, results)?.into_any())
        }
    }
}
