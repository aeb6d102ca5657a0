//! Elementwise steps, alone and around a normalisation.

use amdgpu_abi::Dtype;
use amdgpu_ops::fused::{Region, Source, Step};
use amdgpu_ops::normalize::Normalize;
use amdgpu_ops::reduce::Reduce;
use amdgpu_ops::{Elementwise, FusedRows, Operation, RowChain, RowReduction, RowStage, RowValue};
use smallvec::SmallVec;

use super::{Reader, refused};
use crate::attributes::{Value, operation_of};
use crate::{Graph, Input, Kind, Node, Result};

impl Reader<'_> {
    pub(super) fn fused(&mut self, graph: &mut Graph, inputs: SmallVec<[Input; 4]>) -> Result<()> {
        let dtypes = dtypes_of(graph, &inputs)?;
        self.expect("{")?;
        let steps = self.steps(inputs.len())?;
        let region = Region::new(dtypes.into_iter().collect(), steps);
        self.joined(graph, Kind::Fused(region), inputs)
    }

    /// A normalisation between steps.
    pub(super) fn rows(&mut self, graph: &mut Graph, inputs: SmallVec<[Input; 4]>) -> Result<()> {
        let dtypes = dtypes_of(graph, &inputs)?;
        let too_few = || refused("rows takes more inputs: those of all its parts".to_owned());
        self.expect("{")?;
        let (mut before, mut leading) = (None, 1);
        if self.takes("before") {
            leading = self.count()?;
            let Some(own) = dtypes.get(..leading) else {
                return too_few();
            };
            self.expect("{")?;
            let steps = self.steps(leading)?;
            before = Some(Region::new(own.iter().copied().collect(), steps));
        }
        let name = self.word()?;
        let parameters = self.count()?;
        let attributes = self.attributes()?;
        if Normalize::from_name(name).is_none() {
            return refused(format!("{name} is no normalisation"));
        }
        let Operation::Normalize(norm) = operation_of(name, &attributes)? else {
            return refused(format!("{name} is no normalisation"));
        };
        let Some(following) = dtypes.get(leading + parameters..) else {
            return too_few();
        };
        let mut after = None;
        if self.takes("after") {
            let mut own: SmallVec<[Dtype; 6]> = SmallVec::new();
            own.push(before.as_ref().map_or(dtypes[0], Region::dtype));
            own.extend_from_slice(following);
            self.expect("{")?;
            let steps = self.steps(own.len())?;
            after = Some(Region::new(own, steps));
        }
        let chain = RowChain {
            before,
            norm,
            parameters,
            after,
            keeps_before: self.takes("kept"),
        };
        self.expect("}")?;
        if chain.arity() != inputs.len() {
            return refused(format!(
                "rows takes {} inputs, not {}",
                chain.arity(),
                inputs.len()
            ));
        }
        self.joined(graph, Kind::Rows(Box::new(chain)), inputs)
    }

    /// Reductions of rows with the steps around them.
    pub(super) fn fused_rows(
        &mut self,
        graph: &mut Graph,
        inputs: SmallVec<[Input; 4]>,
    ) -> Result<()> {
        let dtypes = dtypes_of(graph, &inputs)?;
        self.expect("{")?;
        if self.word()? != "rows" {
            return refused(
                "fused_rows begins with `rows(N)`, the number of axes of a row".to_owned(),
            );
        }
        let row_rank = self.count()?;
        let mut stages: Vec<RowStage> = Vec::new();
        let mut keeps_axes = false;
        while !self.takes("}") {
            if self.takes("kept") {
                keeps_axes = true;
                continue;
            }
            let stage = self.stage(&dtypes, &stages)?;
            stages.push(stage);
        }
        if stages.is_empty() || row_rank == 0 {
            return refused("fused_rows has stages, and rows of one axis at least".to_owned());
        }
        let rows = FusedRows {
            inputs: inputs.len(),
            stages,
            row_rank,
            keeps_axes,
        };
        self.joined(graph, Kind::FusedRows(Box::new(rows)), inputs)
    }

    fn stage(&mut self, inputs: &[Dtype], stages: &[RowStage]) -> Result<RowStage> {
        let name = self.word()?;
        let arguments = self.row_values(inputs.len(), stages.len())?;
        let dtype_of = |value: &RowValue| match value {
            RowValue::Input(index) => inputs[*index],
            RowValue::Stage(index) => stages[*index].dtype(),
        };
        if name == "steps" {
            let dtypes: SmallVec<[Dtype; 6]> = arguments.iter().map(dtype_of).collect();
            self.expect("{")?;
            let steps = self.steps(arguments.len())?;
            let region = Box::new(Region::new(dtypes, steps));
            return Ok(RowStage::Steps { region, arguments });
        }
        let (Some(operation), [argument]) = (Reduce::from_name(name), arguments.as_slice()) else {
            return refused(format!("{name} is no reduction of one value"));
        };
        let argument = *argument;
        let correction = match self.number()? {
            Value::Float(value) => value,
            Value::Int(value) => value as f64,
            other => return refused(format!("{other:?} is no correction")),
        };
        let dtype = self.dtype()?;
        let (_, given) = operation.dtypes(dtype_of(&argument));
        if dtype != given {
            return refused(format!(
                "{name} of rows gives {}, not {}",
                given.name().unwrap_or("?"),
                dtype.name().unwrap_or("?")
            ));
        }
        let reduction = RowReduction {
            operation,
            correction,
            dtype,
        };
        Ok(RowStage::Reduce {
            reduction,
            argument,
        })
    }

    /// Values in parentheses, of the inputs and of the stages so far.
    fn row_values(&mut self, inputs: usize, stages: usize) -> Result<SmallVec<[RowValue; 6]>> {
        self.expect("(")?;
        let mut values = SmallVec::new();
        loop {
            let word = self.word()?;
            let (kind, index) = word.split_at(1);
            let index: usize = index.parse().unwrap_or(usize::MAX);
            values.push(match kind {
                "i" if index < inputs => RowValue::Input(index),
                "v" if index < stages => RowValue::Stage(index),
                _ => return refused(format!("{word} is neither an input nor an earlier stage")),
            });
            if !self.takes(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(values)
    }

    /// Adds a node whose shape and dtype follow in the text.
    fn joined(
        &mut self,
        graph: &mut Graph,
        kind: Kind,
        inputs: SmallVec<[Input; 4]>,
    ) -> Result<()> {
        self.expect(":")?;
        let (dtype, shape) = self.typed()?;
        graph.push(Node {
            kind,
            inputs,
            shape,
            dtype,
            name: String::new(),
        });
        Ok(())
    }

    /// A number in parentheses.
    fn count(&mut self) -> Result<usize> {
        self.expect("(")?;
        let count = match self.number()? {
            Value::Int(count @ 0..=64) => count as usize,
            other => return refused(format!("{other:?} is no number of inputs")),
        };
        self.expect(")")?;
        Ok(count)
    }

    /// Steps up to the brace that closes them.
    pub(super) fn steps(&mut self, inputs: usize) -> Result<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        loop {
            let step = self.step(inputs, steps.len())?;
            steps.push(step);
            if !self.takes(";") {
                break;
            }
        }
        self.expect("}")?;
        Ok(steps)
    }

    fn step(&mut self, inputs: usize, steps: usize) -> Result<Step> {
        let name = self.word()?;
        let Some(operation) = Elementwise::from_name(name) else {
            return refused(format!("no elementwise operation is called {name:?}"));
        };
        self.expect("(")?;
        let mut arguments = SmallVec::new();
        loop {
            arguments.push(self.source(inputs, steps)?);
            if !self.takes(",") {
                break;
            }
        }
        self.expect(")")?;
        if arguments.len() != operation.inputs().len() {
            return refused(format!("{name} takes {} inputs", operation.inputs().len()));
        }
        let alpha = if self.takes("alpha") {
            match self.number()? {
                Value::Float(value) => value,
                Value::Int(value) => value as f64,
                _ => 0.0,
            }
        } else {
            0.0
        };
        let dtype = self.dtype()?;
        Ok(Step {
            operation,
            alpha,
            arguments,
            dtype,
        })
    }

    fn source(&mut self, inputs: usize, steps: usize) -> Result<Source> {
        self.skip_space();
        let (of_inputs, rest) = match self.rest().split_at_checked(1) {
            Some(("i", rest)) if rest.starts_with(|character: char| character.is_ascii_digit()) => {
                (true, rest)
            }
            Some(("s", rest)) if rest.starts_with(|character: char| character.is_ascii_digit()) => {
                (false, rest)
            }
            _ => {
                let (number, dtype) = self.typed_number()?;
                return Ok(Source::Number(number, dtype));
            }
        };
        let end = rest
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(rest.len());
        let index: usize = rest[..end].parse().unwrap_or(usize::MAX);
        self.at += 1 + end;
        let (count, what) = if of_inputs {
            (inputs, "input")
        } else {
            (steps, "earlier step")
        };
        if index >= count {
            return refused(format!("there is no {what} {index}"));
        }
        Ok(if of_inputs {
            Source::Input(index)
        } else {
            Source::Step(index)
        })
    }
}

fn dtypes_of(graph: &Graph, inputs: &[Input]) -> Result<SmallVec<[Dtype; 6]>> {
    let mut dtypes = SmallVec::new();
    for input in inputs {
        match input.node() {
            Some(id) => dtypes.push(graph.node(id).dtype),
            None => {
                return refused(
                    "what joins operations reads nodes; write numbers into its steps".to_owned(),
                );
            }
        }
    }
    Ok(dtypes)
}
