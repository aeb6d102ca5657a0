//! Matrix multiplication of matrices without gaps by archived kernels or the vendor's library: choice and launch.

use amdgpu_array::{Array, recording};
use smallvec::SmallVec;

use super::Archived;
use super::archive::{ArchivedKernel, Unit};
use super::choice::{Choice, Demand, Situation, is_for_vendor};
use super::load::Steps;
use super::operations::push_transpose;
use super::pad::{pad, padded};
use super::problem::{Problem, VECTOR_BYTES};
use super::split_k::{add_parts, cut, gemv, int, part_strides};
use crate::launch::Shape;
use crate::tuning;
use crate::{Arg, DeviceOps, Error, Result};

/// `out = epilogue(alpha * (a @ b) + beta * out)`. All arrays lie on the device without gaps and hold what the problem says.
#[derive(Clone, Copy, Debug)]
pub struct Gemm<'a> {
    pub problem: Problem,
    pub a: &'a Array,
    pub b: &'a Array,
    pub out: &'a Array,
    /// One value for each column, where the epilogue has one.
    pub bias: Option<&'a Array>,
    pub alpha: f64,
    /// 0 does not read `out`.
    pub beta: f64,
}

impl<'a> Gemm<'a> {
    /// The bias; memory that is not read where there is none.
    pub(super) fn bias_or_any(&self) -> &'a Array {
        self.bias.unwrap_or(self.out)
    }

    /// A product whose sums are left as they are.
    fn of_sums(problem: Problem, [a, b]: [&'a Array; 2], sums: &'a Array) -> Self {
        Gemm {
            problem,
            a,
            b,
            out: sums,
            bias: None,
            alpha: 1.0,
            beta: 0.0,
        }
    }
}

/// Compute by what is chosen for the problem.
///
/// # Errors
///
/// [`Error::NoKernel`] where the archive of the device has no kernel for it, or there is none; `library-missing` for an archive that is
/// damaged; `invalid-argument` where `AMDGPU_MATMUL` or `AMDGPU_TUNE` cannot be understood; what the device reports.
pub fn multiply(ops: &DeviceOps, call: &Gemm<'_>) -> Result<()> {
    let call = &aligned(call);
    if call.out.is_empty() {
        return Ok(());
    }
    // Nothing can be tried out while a graph is recorded, and no library goes into one.
    let is_ours = recording::is_recording();
    let choice = choose(ops, &call.problem, is_ours)?;
    if let Some(Choice::Vendor(library)) = choice {
        if Archived::of(ops).libraries.multiply(ops, library, call)? {
            return Ok(());
        }
        let own = choose(ops, &call.problem, true)?;
        return run(ops, call, own);
    }
    run(ops, call, choice)
}

/// Compute by a way that was chosen otherwise.
///
/// # Errors
///
/// As [`multiply`]; [`Error::NoKernel`] where a library refuses.
pub fn multiply_with(ops: &DeviceOps, call: &Gemm<'_>, choice: Choice) -> Result<()> {
    let call = &aligned(call);
    if let Choice::Vendor(library) = choice {
        if Archived::of(ops).libraries.multiply(ops, library, call)? {
            return Ok(());
        }
        let problem = &call.problem;
        return Err(Error::no_kernel(format!(
            "{} does not compute {} {} of these extents",
            library.name(),
            problem.operand.name(),
            problem.layout.name()
        )));
    }
    run(ops, call, Some(choice))
}

/// The problem says whether rows are aligned as the operands have it; the result's address counts, too.
fn aligned<'a>(call: &Gemm<'a>) -> Gemm<'a> {
    let mut made = *call;
    made.problem.is_aligned &= call.out.address().address().is_multiple_of(VECTOR_BYTES);
    made
}

/// How a problem is computed on a device, remembered until measurements change; `is_ours` for kernels of ours alone.
///
/// # Errors
///
/// As [`multiply`].
pub fn choose(ops: &DeviceOps, problem: &Problem, is_ours: bool) -> Result<Option<Choice>> {
    let archived = Archived::of(ops);
    archived
        .choices
        .get(&(*problem, is_ours), tuning::changes, || {
            let demand = if is_ours {
                Demand::Ours
            } else {
                tuning::settings::demand()?
            };
            // Told also where nothing has to be measured.
            let budget_seconds = tuning::settings::budget_seconds()?;
            situation(ops, problem, |situation| {
                if demand == Demand::Vendor {
                    if let Some(library) = situation.first_verified() {
                        return Some(Choice::Vendor(library));
                    }
                    archived.libraries.tell_absence(ops, problem);
                }
                let with_vendor = demand == Demand::Auto;
                let entry = (problem.k > 0).then(|| {
                    let names = || {
                        let ways = situation.ways(problem, with_vendor).into_iter();
                        ways.map(|way| way.name(situation.archive)).collect()
                    };
                    let budget_seconds = if is_ours { 0.0 } else { budget_seconds };
                    tuning::measured(ops, problem, names, budget_seconds)
                });
                situation.decide(problem, demand, entry.flatten().as_ref())
            })
        })
}

/// Every way to compute a problem on a device, with the names that the tuning database knows them by.
///
/// # Errors
///
/// `library-missing` for an archive that is damaged.
pub fn ways(ops: &DeviceOps, problem: &Problem) -> Result<Vec<(String, Choice)>> {
    situation(ops, problem, |situation| {
        let ways = situation.ways(problem, true).into_iter();
        ways.map(|way| (way.name(situation.archive), way)).collect()
    })
}

fn situation<T>(
    ops: &DeviceOps,
    problem: &Problem,
    ask: impl FnOnce(&Situation<'_>) -> T,
) -> Result<T> {
    let archived = Archived::of(ops);
    let libraries = if is_for_vendor(problem) {
        archived.libraries.all(ops)
    } else {
        Vec::new()
    };
    let is_verified = |library| archived.libraries.is_verified(ops, library, problem);
    Ok(ask(&Situation {
        facts: archived.facts(),
        archive: archived.archive()?,
        libraries: &libraries,
        is_verified: &is_verified,
    }))
}

/// Launches the kernels of a choice.
fn run(ops: &DeviceOps, call: &Gemm<'_>, choice: Option<Choice>) -> Result<()> {
    let problem = &call.problem;
    let none = || {
        let architecture = &Archived::of(ops).facts().architecture;
        Error::no_kernel(format!(
            "the archived kernels for {architecture} do not compute {problem:?}"
        ))
    };
    let choice = choice.ok_or_else(none)?;
    let steps = Steps::of(ops)?;
    let kernel = |index: usize| steps.archive().kernels().get(index).ok_or_else(none);
    match choice {
        Choice::Vendor(_) => Err(none()),
        Choice::Vector => gemv(&steps, call),
        Choice::Tiles { kernel: index } => {
            let strides = (problem.leads(), problem.strides());
            tiles(&steps, kernel(index)?, call, strides)
        }
        Choice::SplitK {
            kernel: index,
            parts,
        } => {
            let part = cut(problem, parts);
            let sums = steps.scratch(part.output, &[parts * part.m * part.n])?;
            let of_parts = Gemm::of_sums(part, [call.a, call.b], &sums);
            let strides = (problem.leads(), part_strides(&part));
            tiles(&steps, kernel(index)?, &of_parts, strides)?;
            add_parts(&steps, call, &sums, parts, (part.m, part.n))
        }
        Choice::Padded { kernel: index } => {
            let kernel = kernel(index)?;
            let [a, b] = pad(&steps, call)?;
            let larger = padded(problem);
            let sums = steps.scratch(larger.output, &[larger.batch * larger.m * larger.n])?;
            let whole = Gemm::of_sums(larger, [a.as_ref(), b.as_ref()], &sums);
            tiles(&steps, kernel, &whole, (larger.leads(), larger.strides()))?;
            add_parts(&steps, call, &sums, 1, (larger.m, larger.n))
        }
        Choice::Transposed { kernel: index } => {
            let kernel = kernel(index)?;
            let [is_a, is_b] = problem.layout.is_transposed();
            let a = is_a.then(|| push_transpose(&steps, call.a)).transpose()?;
            let b = (!is_b)
                .then(|| push_transpose(&steps, call.b))
                .transpose()?;
            let problem = problem.in_rows_of_k();
            let call = Gemm {
                problem,
                a: a.as_ref().unwrap_or(call.a),
                b: b.as_ref().unwrap_or(call.b),
                ..*call
            };
            tiles(&steps, kernel, &call, (problem.leads(), problem.strides()))
        }
    }
}

/// The launch of a kernel whose blocks compute tiles; leads and strides of both operands and the result.
fn tiles(
    steps: &Steps<'_>,
    kernel: &ArchivedKernel,
    call: &Gemm<'_>,
    (leads, strides): ([u64; 3], [u64; 3]),
) -> Result<()> {
    let problem = &call.problem;
    let maps;
    let mut args: SmallVec<[Arg<'_>; 20]> = SmallVec::new();
    args.extend([call.a, call.b, call.out, call.bias_or_any()].map(Arg::Array));
    args.extend([problem.m, problem.n, problem.k].map(int));
    args.extend(leads.map(int));
    args.extend([call.alpha, call.beta].map(Arg::Float));
    args.extend(strides.map(int));
    let (tile, cluster) = (kernel.tile, kernel.cluster);
    let across = problem.n.div_ceil(tile.n);
    let tiles = problem.m.div_ceil(tile.m * cluster) * across;
    let mut grid = [tiles, problem.batch, 1];
    if kernel.unit == Some(Unit::Wgmma) {
        // Blocks stay and compute tile after tile: as many as there are units.
        let clusters = (tiles * problem.batch).min((steps.units() / cluster).max(1));
        grid = [clusters * cluster, 1, 1];
        let archived = Archived::of(steps.ops());
        maps = archived
            .maps
            .of_product(steps.ops(), kernel, call, (leads, strides))?;
        args.push(int(problem.batch));
        args.push(Arg::Array(&maps));
    }
    let shape = Shape {
        grid: grid.map(|extent| extent as i64),
        block: [i64::from(kernel.threads), 1, 1],
        shared_bytes: 0,
    };
    steps.launch(kernel, shape, &args)
}
