//! One kernel for all stages, where rows are folded by one block and lie side by side.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::{compute_type, is_float};
use amdgpu_array::{Array, Dims, coalesce_all, element_count, is_row_major, row_major};
use amdgpu_matrix::Reduce;
use smallvec::SmallVec;

use super::{FusedRows, NAME, RowStage, RowValue};
use crate::div_ceil::DivCeil;
use crate::fold::{neighbours, row_lanes};
use crate::generated::fused_rows::{Given, Signature, source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target};
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Axes before the rows that a kernel walks at most.
const RANK_LIMIT: usize = 4;
/// Inputs that a kernel takes at most.
const MOST_INPUTS: usize = 6;

/// Shape, strides and dtype of an input, as far as a kernel's form follows from them.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    shape: Dims,
    strides: Dims,
    dtype: Dtype,
}

impl Layout {
    fn of(operand: &Operand) -> Self {
        Self {
            shape: operand.shape.clone(),
            strides: operand.strides.clone(),
            dtype: operand.dtype,
        }
    }

    fn broadcast(&self, rank: usize) -> Dims {
        let mut strides = Dims::from_elem(0, rank - self.shape.len());
        let own = self.shape.iter().zip(&self.strides);
        strides.extend(own.map(|(extent, stride)| if *extent == 1 { 0 } else { *stride }));
        strides
    }
}

/// How a kernel computes the stages.
#[derive(Debug)]
pub(super) struct Form {
    shape: Dims,
    dtype: Dtype,
    lanes: i64,
    group: i64,
    outputs: i64,
    length: i64,
    /// Extents of the axes before the rows, and the strides of each input.
    extents: Dims,
    strides: Vec<Dims>,
    /// For each input, whether all of a row is one number.
    repeats: SmallVec<[bool; 8]>,
    are_reduced: SmallVec<[bool; 8]>,
}

impl Form {
    /// `None` where no kernel computes the stages in the order of the reductions alone.
    pub fn of(of: &FusedRows, inputs: &[Layout]) -> Option<Self> {
        let shapes = inputs.iter().map(|one| one.shape.as_slice());
        let shape = amdgpu_array::broadcast_shapes(shapes)?;
        let lead = shape.len().checked_sub(of.row_rank)?;
        let dtype = common_dtype(of, inputs)?;
        let wide: Vec<Dims> = inputs
            .iter()
            .map(|one| one.broadcast(shape.len()))
            .collect();
        let part = |from: usize, to: usize| -> Vec<&[i64]> {
            wide.iter().map(|strides| &strides[from..to]).collect()
        };
        let (row, row_strides) = coalesce_all(&shape[lead..], &part(lead, shape.len()));
        let (mut extents, mut strides) = coalesce_all(&shape[..lead], &part(0, lead));
        if extents.is_empty() {
            extents.push(1);
            for own in &mut strides {
                own.push(0);
            }
        }
        let are_side_by_side =
            row.len() == 1 && row_strides.iter().all(|own| matches!(own[0], 0 | 1));
        let (outputs, length) = (element_count(&extents), element_count(&shape[lead..]));
        if !are_side_by_side
            || inputs.is_empty()
            || inputs.len() > MOST_INPUTS
            || extents.len() > RANK_LIMIT
            || outputs == 0
            || length < 2
            || !are_folded_so(of, inputs, &shape)
        {
            return None;
        }
        let group = neighbours(dtype);
        let (lanes, serial) = row_lanes(outputs, length, group);
        let repeats: SmallVec<[bool; 8]> = row_strides.iter().map(|own| own[0] == 0).collect();
        // More values than a block folds at once are folded again, by another kernel.
        (lanes * serial >= length).then(|| Self {
            are_reduced: of.are_reduced(&repeats),
            shape,
            dtype,
            lanes,
            group,
            outputs,
            length,
            extents,
            strides,
            repeats,
        })
    }

    /// Whether rows are read in groups of 16 bytes.
    fn is_grouped(&self, addresses: impl Iterator<Item = u64>) -> bool {
        let bytes = self.group as u64 * self.dtype.size_bytes() as u64;
        let are_aligned = {
            let mut addresses = addresses.zip(&self.repeats);
            addresses.all(|(address, repeats)| *repeats || address.is_multiple_of(bytes))
        };
        let mut strides = self.strides.iter().zip(&self.repeats);
        are_aligned
            && self.length % self.group == 0
            && strides
                .all(|(own, repeats)| *repeats || own.iter().all(|stride| stride % self.group == 0))
    }
}

/// The dtype that inputs and values have, a float.
fn common_dtype(of: &FusedRows, inputs: &[Layout]) -> Option<Dtype> {
    let dtype = of.dtype();
    let is_common = |one: Dtype| one == dtype;
    let are_stages = of.stages.iter().all(|stage| match stage {
        RowStage::Steps { region, .. } => {
            is_common(region.dtype()) && region.is_computable() && region.common() == Some(dtype)
        }
        RowStage::Reduce { reduction, .. } => is_common(reduction.dtype),
    });
    let is_all = are_stages && inputs.iter().all(|one| is_common(one.dtype));
    (is_all && is_float(dtype)).then_some(dtype)
}

/// Whether the reductions are such that a kernel has, of what their own kernels fold in the same order.
fn are_folded_so(of: &FusedRows, inputs: &[Layout], shape: &[i64]) -> bool {
    of.stages.iter().all(|stage| match stage {
        RowStage::Steps { .. } => true,
        RowStage::Reduce {
            reduction,
            argument,
        } => {
            let is_known = matches!(
                reduction.operation,
                Reduce::Sum | Reduce::Mean | Reduce::Product | Reduce::Maximum | Reduce::Minimum
            );
            let is_dense = match argument {
                RowValue::Stage(_) => true,
                RowValue::Input(index) => {
                    let own = &inputs[*index];
                    own.shape.as_slice() == shape && is_row_major(shape, &own.strides)
                }
            };
            is_known && is_dense
        }
    })
}

impl FusedRows {
    /// Whether one kernel computes the stages of dense inputs of these shapes and dtypes.
    #[must_use]
    pub fn is_one_kernel(&self, inputs: &[(&[i64], Dtype)]) -> bool {
        let layouts: Vec<Layout> = inputs
            .iter()
            .map(|(shape, dtype)| Layout {
                shape: Dims::from_slice(shape),
                strides: row_major(shape),
                dtype: *dtype,
            })
            .collect();
        Form::of(self, &layouts).is_some()
    }

    /// The result by one kernel; `None` where none computes it.
    pub(super) fn run_kernel(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
    ) -> Result<Option<Array>> {
        if inputs.iter().any(Operand::is_number) {
            return Ok(None);
        }
        let layouts: Vec<Layout> = inputs.iter().map(Layout::of).collect();
        let Some(form) = Form::of(self, &layouts) else {
            return Ok(None);
        };
        let lead = form.shape.len() - self.row_rank;
        let mut shape = form.shape.clone();
        if form.are_reduced.last() == Some(&true) {
            shape[lead..].fill(1);
            if !self.keeps_axes {
                shape.truncate(lead);
            }
        }
        let reads: SmallVec<[&Operand; 6]> = inputs.iter().collect();
        let target = Target {
            operation: NAME,
            device: ops.device(),
            out,
            inputs: &reads,
            may_alias: false,
            is_dense: true,
        };
        let made = target.resolve(&shape, self.dtype())?.into_array()?;
        self.launch(ops, &form, inputs, &made)?;
        Ok(Some(made))
    }

    fn launch(&self, ops: &DeviceOps, form: &Form, inputs: &[Operand], made: &Array) -> Result<()> {
        let addresses = inputs.iter().map(Operand::address);
        let is_grouped = form.is_grouped(addresses.chain([made.address().address()]));
        let given: Vec<Given> = inputs
            .iter()
            .zip(&form.repeats)
            .map(|(one, repeats)| Given {
                is_dense: one.is_dense(),
                repeats: *repeats,
            })
            .collect();
        let signature = Signature {
            of: self,
            dtype: form.dtype,
            computed: compute_type(form.dtype),
            inputs: &given,
            are_reduced: &form.are_reduced,
            lanes: form.lanes,
            group: form.group,
            is_grouped,
            rank: form.extents.len(),
            index: source::index_type(form.outputs),
        };
        let mut key = KernelKey::new(NAME)
            .dtype(form.dtype)
            .text(&signature.text_of_stages())
            .with(form.lanes as u64)
            .flag(is_grouped)
            .with(form.extents.len() as u64)
            .flag(source::is_narrow(form.outputs));
        for one in &given {
            key = key.flag(one.is_dense).flag(one.repeats);
        }
        let kernel = ops.kernel(key, NAME, || source(&signature))?;
        let mut args: SmallVec<[Arg<'_>; 24]> = inputs.iter().map(Arg::pointer).collect();
        args.push(Arg::Array(made));
        args.extend([form.outputs, form.length].map(Arg::from));
        for stage in &self.stages {
            if let RowStage::Reduce { reduction, .. } = stage {
                let divisor = reduction
                    .operation
                    .divisor(form.length, reduction.correction);
                args.push(Arg::Float(divisor));
            }
        }
        args.extend_from_slice(&source::walk_arguments(&form.extents, &form.strides));
        let rows = source::BLOCK / form.lanes;
        let blocks = Shape {
            grid: [form.outputs.div_ceil_positive(rows), 1, 1],
            block: [form.lanes, rows, 1],
            shared_bytes: 0,
        };
        launch(&kernel, blocks, &args)
    }
}
