//! Reductions over the last axes with the elementwise steps before, between and behind them, as one: what is reduced, and what is computed of it
//! again, does not go through memory.
//!
//! Stages are computed in order, each of the inputs and of the stages before it. A value is full, or has one number for each row, which
//! broadcasts. CPU devices compute some rows at a time, each stage by the function that computes it alone; other devices have one generated
//! kernel, which folds in the order of the reduction alone. So the result has the bits of the operations one by one.

mod kernel;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, element_count};
use amdgpu_matrix::{Reduce, ReduceOptions, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host, HostMemory, Results};
use crate::fused::{Region, broadcast_strides};
use crate::row_blocks::{BLOCK_BYTES, Block, Cut, Place, Tensor, Walked, compute_steps, slots};
use crate::{DeviceOps, Error, Operand, Result, complex, reduce};

const NAME: &str = "fused_rows";

/// What a stage reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowValue {
    /// An input, by position.
    Input(usize),
    /// The value of an earlier stage, by position.
    Stage(usize),
}

/// A reduction over the axes of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowReduction {
    pub operation: Reduce,
    pub correction: f64,
    /// Of the value: what the operation gives for that of its argument.
    pub dtype: Dtype,
}

/// One step of the whole.
#[derive(Clone, Debug, PartialEq)]
pub enum RowStage {
    Steps {
        region: Box<Region>,
        arguments: SmallVec<[RowValue; 6]>,
    },
    Reduce {
        reduction: RowReduction,
        argument: RowValue,
    },
}

impl RowStage {
    /// Of its value.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::Steps { region, .. } => region.dtype(),
            Self::Reduce { reduction, .. } => reduction.dtype,
        }
    }

    /// What it reads.
    #[must_use]
    pub fn arguments(&self) -> &[RowValue] {
        match self {
            Self::Steps { arguments, .. } => arguments,
            Self::Reduce { argument, .. } => std::slice::from_ref(argument),
        }
    }
}

/// Stages over rows, the last of which gives the result.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedRows {
    /// How many inputs there are, which broadcast.
    pub inputs: usize,
    pub stages: Vec<RowStage>,
    /// How many of the last axes make a row.
    pub row_rank: usize,
    /// Whether a result with one number for each row keeps the axes of the row, with extent 1.
    pub keeps_axes: bool,
}

impl FusedRows {
    /// The dtype of the result.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.stages.last().map_or(Dtype::F32, RowStage::dtype)
    }

    /// Names of the operations, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for stage in &self.stages {
            match stage {
                RowStage::Steps { region, .. } => {
                    names.extend(region.steps.iter().map(|step| step.operation.name()));
                }
                RowStage::Reduce { reduction, .. } => names.push(reduction.operation.name()),
            }
        }
        names
    }

    /// For each stage, whether it has one number for each row; `inputs` says it of the inputs.
    pub(crate) fn are_reduced(&self, inputs: &[bool]) -> SmallVec<[bool; 8]> {
        let mut made: SmallVec<[bool; 8]> = SmallVec::new();
        for stage in &self.stages {
            let is_reduced = |value: &RowValue| match value {
                RowValue::Input(index) => inputs[*index],
                RowValue::Stage(index) => made[*index],
            };
            let is_fold = matches!(stage, RowStage::Reduce { .. });
            let own = is_fold || stage.arguments().iter().all(is_reduced);
            made.push(own);
        }
        made
    }

    /// The result in `out`, or in a new array.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs, `shape-mismatch` for such that do not broadcast; those of the stages.
    pub fn run(&self, ops: &DeviceOps, inputs: &[Operand], out: Option<&Array>) -> Result<Array> {
        if inputs.len() != self.inputs {
            return Err(refused(format!(
                "{NAME} takes {} inputs, not {}",
                self.inputs,
                inputs.len()
            )));
        }
        let named: SmallVec<[(&str, &Operand); 6]> =
            inputs.iter().map(|one| ("input", one)).collect();
        let call = Call {
            ops,
            family: "fused",
            name: NAME,
            inputs: &named,
            out,
        };
        cpu::run_one(
            &call,
            || match self.run_kernel(ops, inputs, out)? {
                Some(made) => Ok(made),
                None => self.one_by_one(ops, inputs, out),
            },
            |views, host| self.on_host(views, host),
        )
    }

    /// The stages one after the other, by kernels of their own.
    fn one_by_one(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
    ) -> Result<Array> {
        let axes: Dims = (1..=self.row_rank as i64).rev().map(|axis| -axis).collect();
        let rank = inputs.iter().map(Operand::rank).max().unwrap_or(0);
        let mut values: Vec<Operand> = Vec::with_capacity(self.stages.len());
        let last = self.stages.len() - 1;
        for (place, stage) in self.stages.iter().enumerate() {
            let given = |value: &RowValue| match value {
                RowValue::Input(index) => inputs[*index].clone(),
                RowValue::Stage(index) => values[*index].clone(),
            };
            let own = out.filter(|_| place == last);
            let made = match stage {
                RowStage::Steps { region, arguments } => {
                    let given: SmallVec<[Operand; 6]> = arguments.iter().map(given).collect();
                    let has_shape = |out: &&Array| self.keeps_axes || out.shape.len() == rank;
                    region.run(ops, &given, own.filter(has_shape))?
                }
                RowStage::Reduce {
                    reduction,
                    argument,
                } => {
                    let options = ReduceOptions {
                        axes: Some(&axes),
                        keeps_axes: place != last || self.keeps_axes,
                        correction: reduction.correction,
                        result: None,
                        thread_limit: None,
                    };
                    complex::reduce(ops, reduction.operation, &given(argument), own, &options)?
                }
            };
            values.push(Operand::of_array(made));
        }
        let Some(result) = values.pop() else {
            return Err(refused(format!("{NAME} has no stages")));
        };
        let made = result.into_array()?;
        let lead = rank.saturating_sub(self.row_rank);
        let has_ones = made.shape.len() == rank && made.shape[lead..].iter().all(|one| *one == 1);
        if self.keeps_axes || !has_ones {
            return Ok(made);
        }
        let dropped = made.reshaped(&made.shape[..lead])?;
        cpu::only(cpu::delivered(Results::from_iter([dropped]), &[out])?)
    }

    fn on_host<H: Host<Error = Error>>(
        &self,
        views: &[TensorView<'_>],
        host: &mut H,
    ) -> Result<()> {
        let shapes = views.iter().map(TensorView::shape);
        let shape = amdgpu_array::broadcast_shapes(shapes)
            .filter(|shape| shape.len() >= self.row_rank && self.row_rank > 0)
            .ok_or_else(|| mismatch(views))?;
        let lead = shape.len() - self.row_rank;
        let is_reduced = |view: &TensorView<'_>| {
            let behind = view.shape().iter().rev().take(self.row_rank);
            behind.copied().all(|extent| extent == 1)
        };
        let inputs: SmallVec<[bool; 8]> = views.iter().map(is_reduced).collect();
        let stages = self.are_reduced(&inputs);
        let Some(is_last_reduced) = stages.last().copied() else {
            return Err(refused(format!("{NAME} has no stages")));
        };
        let mut own = shape.clone();
        if is_last_reduced {
            own[lead..].fill(1);
            if !self.keeps_axes {
                own.truncate(lead);
            }
        }
        let memory = host.result(&own, self.dtype(), false)?;
        let work = (element_count(&shape) as u64).saturating_mul(self.steps().len() as u64);
        host.run(work, move || {
            if shape.contains(&0) {
                return check_empty(&memory);
            }
            let rows = Rows::of(self, (&shape, lead), views, (&inputs, &stages), &memory);
            rows.cut.run(|place, scratch| rows.compute(place, scratch))
        })
    }
}

/// Of rows without elements only the reductions are known, which graphs do not join.
fn check_empty(memory: &HostMemory) -> Result<()> {
    if memory.shape().contains(&0) {
        return Ok(());
    }
    Err(refused(format!("{NAME}: the rows have no elements")))
}

fn refused(message: String) -> Error {
    Error::refused(ErrorCode::InvalidArgument, message)
}

fn mismatch(views: &[TensorView<'_>]) -> Error {
    let shapes: Vec<_> = views.iter().map(TensorView::shape).collect();
    Error::refused(
        ErrorCode::ShapeMismatch,
        format!("{NAME}: shapes {shapes:?} do not broadcast to rows"),
    )
}

/// How the stages are computed in memory of the host.
struct Rows<'a> {
    of: &'a FusedRows,
    cut: Cut,
    result: Walked,
    inputs: SmallVec<[Walked; 8]>,
    /// Whether inputs and stages have one number for each row.
    are_reduced: (&'a [bool], &'a [bool]),
    /// For each stage but the last, the slot of its value.
    slots: SmallVec<[usize; 8]>,
    slot_count: usize,
}

impl<'a> Rows<'a> {
    fn of(
        of: &'a FusedRows,
        (shape, lead): (&[i64], usize),
        views: &[TensorView<'_>],
        are_reduced: (&'a [bool], &'a [bool]),
        memory: &HostMemory,
    ) -> Self {
        let mut strides = memory.strides();
        let missing = shape.len() - strides.len();
        strides.extend(std::iter::repeat_n(0, missing));
        if are_reduced.1.last() == Some(&true) {
            strides[lead..].fill(0);
        }
        let of_views = views.iter().map(|view| {
            let strides = broadcast_strides(view, shape.len());
            (view.data().cast_mut(), view.dtype(), strides)
        });
        let own = std::iter::once((memory.data(), memory.dtype(), strides));
        let tensors: SmallVec<[Tensor; 8]> = own.chain(of_views).collect();
        let (slots, slot_count) = slots_of(of);
        // Two slots of a block stay in the second cache of a core.
        let pairs = slot_count.div_ceil(2).max(1) as i64;
        let (cut, walked) = Cut::of((shape, lead), tensors, BLOCK_BYTES / pairs);
        let mut walked = walked.into_iter();
        let Some(result) = walked.next() else {
            unreachable!("there is a result")
        };
        Self {
            of,
            cut,
            result,
            inputs: walked.collect(),
            are_reduced,
            slots,
            slot_count,
        }
    }

    fn compute(&self, place: &Place, scratch: &mut Vec<u64>) -> Result<()> {
        let reduced = place.reduced_shape(self.of.row_rank);
        let shape_of = |is_reduced: bool| {
            if is_reduced {
                reduced.as_slice()
            } else {
                place.shape.as_slice()
            }
        };
        let words = element_count(&place.shape) as usize;
        let base = slots(scratch, words, self.slot_count);
        let inputs: SmallVec<[Block; 8]> = self
            .inputs
            .iter()
            .zip(self.are_reduced.0)
            .map(|(walked, is_reduced)| self.cut.part(walked, place, shape_of(*is_reduced)))
            .collect();
        let mut made: SmallVec<[Block; 8]> = SmallVec::new();
        let last = self.of.stages.len() - 1;
        for (number, stage) in self.of.stages.iter().enumerate() {
            let shape = shape_of(self.are_reduced.1[number]);
            let target = if number == last {
                self.cut.part(&self.result, place, shape)
            } else {
                Block {
                    data: base.wrapping_add(self.slots[number] * words).cast(),
                    dtype: stage.dtype(),
                    strides: None,
                }
            };
            let given = |value: &RowValue| match value {
                RowValue::Input(index) => {
                    (inputs[*index].clone(), shape_of(self.are_reduced.0[*index]))
                }
                RowValue::Stage(index) => {
                    (made[*index].clone(), shape_of(self.are_reduced.1[*index]))
                }
            };
            match stage {
                RowStage::Steps { region, arguments } => {
                    let given: SmallVec<[(Block, &[i64]); 6]> =
                        arguments.iter().map(given).collect();
                    compute_steps(region, &given, shape, &target)?;
                }
                RowStage::Reduce {
                    reduction,
                    argument,
                } => {
                    let (block, given) = given(argument);
                    self.fold(reduction, &block.view(given)?, &target, shape)?;
                }
            }
            made.push(target);
        }
        Ok(())
    }

    fn fold(
        &self,
        reduction: &RowReduction,
        x: &TensorView<'_>,
        target: &Block,
        shape: &[i64],
    ) -> Result<()> {
        let lead = shape.len() - self.of.row_rank;
        let axes: Dims = (lead as i64..shape.len() as i64).collect();
        let options = ReduceOptions {
            axes: Some(&axes),
            keeps_axes: true,
            correction: reduction.correction,
            result: None,
            thread_limit: Some(1),
        };
        reduce::on_host(reduction.operation, x, &options, &mut target.memory(shape))
    }
}

/// Slots for the values of stages: used again when nobody reads what they hold.
fn slots_of(of: &FusedRows) -> (SmallVec<[usize; 8]>, usize) {
    let mut last_use = vec![0; of.stages.len()];
    for (number, stage) in of.stages.iter().enumerate() {
        for value in stage.arguments() {
            if let RowValue::Stage(read) = value {
                last_use[*read] = number;
            }
        }
    }
    let (mut slots, mut free, mut count) = (SmallVec::new(), Vec::new(), 0);
    for number in 0..of.stages.len() {
        let slot: usize = free.pop().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        slots.push(slot);
        let is_over = |read: &usize| last_use[*read] == number;
        let over = (0..number).filter(is_over);
        free.extend(over.map(|read: usize| slots[read]));
    }
    (slots, count)
}
