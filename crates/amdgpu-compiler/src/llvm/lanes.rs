//! A function whose lanes are neighbouring work-items, as planned by [`crate::lanes`].
//!
//! `define T @name(parameters, built-in variables, <W x i1> %active)`: `%thread_index.x` is that of the first lane, parameters
//! that go up evenly are those of the first lane, and `%active` are the lanes that exist, at least one. A result is the vector of
//! the lanes' results.
//!
//! What crosses blocks in a way that LLVM's values cannot lies in variables (`alloca`), which LLVM turns into values again:
//! masks, phis, and values whose block may not have run. No mask ever has a lane that is poison: conditions enter masks
//! through `select`.

mod control;
mod each;
mod entry;
mod memory;
mod operations;
mod runs;
mod values;

use std::borrow::Cow;
use std::fmt::Write;
use std::rc::Rc;

use super::cpu_rows::Rows;
use super::function::Names;
use super::text::Text;
use super::{Emitter, names};
use crate::ir::{BlockId, Function, Type, Value};
use crate::lanes::{Demand, Estimate, Fallback, Plan, Shape};
use crate::passes;
use crate::regions::HostKernel;
use crate::telemetry::{Finding, PassMetrics};
use rustc_hash::FxHashMap;

/// Fewer lanes gain nothing over work-items one by one.
const LEAST_LANES: u32 = 4;

/// A function that could be planned.
pub(crate) struct LaneFunction {
    plan: Plan,
    /// For half as many lanes, a quarter, and so on: for rows that end within a vector.
    narrower: Vec<Plan>,
    /// The last of such a row run one by one: the function is also needed as it is.
    pub runs_one_by_one: bool,
}

struct Body<'e, 'a> {
    emitter: &'e mut Emitter<'a>,
    function: &'a Function,
    plan: &'e Plan,
    demand: Demand,
    /// Texts of scalars, as the scalar emission of an instruction wants them.
    names: Names<'a>,
    /// The value that each is another name of.
    roots: Vec<Value>,
    block: BlockId,
    /// The LLVM block that is being written.
    label: String,
    /// Scalars and vectors that were made or read in this block.
    scalars: FxHashMap<Value, Text>,
    vectors: FxHashMap<Value, Text>,
    mask: Option<Text>,
    /// By block where it stands in the order of the plan.
    place_in_order: Vec<u32>,
    /// Blocks that lead to a block, and whether within the loop that it heads.
    edges: FxHashMap<(BlockId, bool), Rc<[BlockId]>>,
    /// Definitions of variables, for the entry.
    variables: String,
    next_name: u32,
}

impl Emitter<'_> {
    /// Plans the functions of a kernel, with their indices in the module.
    pub(super) fn lane_functions(
        &self,
        kernel: &HostKernel,
        lanes: u32,
    ) -> Result<Vec<(usize, LaneFunction)>, Fallback> {
        let mut indices: Vec<(usize, &[usize], bool)> = kernel
            .regions
            .iter()
            .filter(|region| !region.is_decision)
            .map(|region| (region, self.rows(kernel, region)))
            .filter(|(_, rows)| *rows != Rows::OneByOne)
            .map(|(region, rows)| {
                let contexts = region.given.contexts.as_slice();
                (region.function, contexts, rows == Rows::WholeAndNarrower)
            })
            .collect();
        if kernel.regions.is_empty() {
            indices.push((kernel.function, &[], false));
        }
        let mut planned = Vec::with_capacity(indices.len());
        for (index, contexts, narrows) in indices {
            let function = &self.module.functions[index];
            let mut shapes = vec![Shape::Uniform; function.parameters.len()];
            // The elements of a work-item in arrays that have one for every work-item.
            let first = kernel.own_parameters();
            for (shape, context) in shapes[first..].iter_mut().zip(contexts) {
                *shape = Shape::Affine {
                    stride: kernel.contexts[*context] as i64,
                    is_exact: true,
                };
            }
            let plan = Plan::new(function, &shapes, lanes)?;
            let mut narrower = Vec::new();
            if narrows {
                for lanes in narrower_lanes(lanes) {
                    narrower.push(Plan::new(function, &shapes, lanes)?);
                }
            }
            let function = LaneFunction {
                plan,
                narrower,
                runs_one_by_one: narrows,
            };
            planned.push((index, function));
        }
        Ok(planned)
    }

    /// Adds to the pass's metrics what became of a kernel.
    pub(super) fn report_lanes(
        &self,
        kernel: &HostKernel,
        planned: Result<&[(usize, LaneFunction)], &Fallback>,
        metrics: &mut PassMetrics,
    ) {
        let text = match planned {
            Err(reason) => format!("work-items run one at a time: {}", reason.text()),
            Ok(functions) => {
                let mut estimate = Estimate::default();
                let mut lanes = 1;
                for (index, planned) in functions {
                    let function = &self.module.functions[*index];
                    estimate.add(Estimate::new(function, &planned.plan));
                    lanes = planned.plan.lanes;
                }
                metrics.transformations += functions.len() as u64;
                metrics.estimated_gain = metrics
                    .estimated_gain
                    .saturating_add_unsigned(estimate.gain);
                format!(
                    "{lanes} work-items run at once: {} instructions in {} functions, {} of them for one work-item after the other",
                    estimate.at_once + estimate.one_by_one,
                    functions.len(),
                    estimate.one_by_one
                )
            }
        };
        if metrics.findings.len() < passes::MAX_FINDINGS {
            metrics.findings.push(Finding {
                function: kernel.name.clone(),
                line: self.module.functions[kernel.function].line,
                text,
            });
        }
    }

    /// Writes a planned function under a name of its own.
    pub(super) fn lane_function(&mut self, index: usize, planned: &LaneFunction) {
        let function = &self.module.functions[index];
        self.planned_function(index, &planned.plan, &lane_name(function));
        for plan in &planned.narrower {
            let name = narrower_name(function, plan.lanes);
            self.planned_function(index, plan, &name);
        }
    }

    fn planned_function(&mut self, index: usize, plan: &Plan, name: &str) {
        let function = &self.module.functions[index];
        let names = self.names(function);
        let roots = self.roots(function);
        let demand = Demand::new(function, plan, |value| roots[value.0 as usize]);
        let mut parameters: Vec<String> = Vec::new();
        for (number, parameter) in function.parameters.iter().enumerate() {
            let noalias = if parameter.is_restrict && parameter.ty.is_pointer() {
                " noalias"
            } else {
                ""
            };
            parameters.push(format!(
                "{}{noalias} %p{number}",
                self.type_text(parameter.ty)
            ));
        }
        parameters.extend(self.special_parameters(index));
        parameters.push(format!("<{} x i1> %active", plan.lanes));
        let result = match function.result {
            Type::Void => "void".to_owned(),
            ty => format!("<{} x {}>", plan.lanes, self.type_text(ty)),
        };
        let header = format!(
            "define internal {result} @{name}({}) alwaysinline #0 {{\nentry:",
            parameters.join(", ")
        );
        self.line(&header);
        let start = self.out.len();
        let mut place_in_order = vec![0; function.blocks.len()];
        for (place, block) in (0..).zip(&plan.order) {
            place_in_order[block.0 as usize] = place;
        }
        let mut body = Body {
            emitter: self,
            function,
            plan,
            demand,
            names,
            roots,
            block: BlockId(0),
            label: "entry".to_owned(),
            scalars: FxHashMap::default(),
            vectors: FxHashMap::default(),
            mask: None,
            place_in_order,
            edges: FxHashMap::default(),
            variables: String::new(),
            next_name: 0,
        };
        body.run();
        let variables = body.variables;
        self.out.insert_str(start, &variables);
        self.line("}");
        self.line("");
    }
}

/// The name of a function's version for lanes.
pub(super) fn lane_name(function: &Function) -> String {
    names::quoted(&format!("{}.lanes", function.name))
}

/// The numbers of lanes below that of whole vectors.
pub(super) fn narrower_lanes(lanes: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(lanes / 2), |lanes| Some(lanes / 2))
        .take_while(|lanes| *lanes >= LEAST_LANES)
}

/// The name of a function's version for fewer lanes.
pub(super) fn narrower_name(function: &Function, lanes: u32) -> String {
    names::quoted(&format!("{}.lanes{lanes}", function.name))
}

impl Body<'_, '_> {
    fn line(&mut self, text: &str) {
        self.emitter.line(text);
    }

    fn print(&mut self, text: std::fmt::Arguments<'_>) {
        self.emitter.print(text);
    }

    fn fresh(&mut self) -> Text {
        self.next_name += 1;
        Text::numbered("%t", self.next_name)
    }

    /// Writes an instruction with a result and returns its name.
    fn emit(&mut self, text: std::fmt::Arguments<'_>) -> Text {
        let name = self.fresh();
        self.define(&name, text);
        name
    }

    /// Writes an instruction with a result of that name.
    fn define(&mut self, name: &str, text: std::fmt::Arguments<'_>) {
        let out = &mut self.emitter.out;
        out.push_str("  ");
        out.push_str(name);
        out.push_str(" = ");
        self.print(text);
    }

    fn lanes(&self) -> u32 {
        self.plan.lanes
    }

    fn scalar_type(&self, ty: Type) -> &'static str {
        self.emitter.type_text(ty)
    }

    fn vector_type(&self, ty: Type) -> Cow<'static, str> {
        vector_of(self.lanes(), self.scalar_type(ty))
    }

    fn mask_type(&self) -> Cow<'static, str> {
        vector_of(self.lanes(), "i1")
    }

    /// `<T 0, T step, T 2 step, ...>`.
    fn steps(&self, ty: &str, step: i64) -> String {
        let mut text = String::from("<");
        for lane in 0..i64::from(self.lanes()) {
            let comma = if lane == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(text, "{comma}{ty} {}", lane.wrapping_mul(step));
        }
        text.push('>');
        text
    }

    /// Declares a variable of the function, with nothing in it or with zero.
    fn variable(&mut self, name: &str, ty: &str, is_zero: bool) {
        let _ = writeln!(self.variables, "  {name} = alloca {ty}, align 64");
        if is_zero {
            let _ = writeln!(
                self.variables,
                "  store {ty} zeroinitializer, ptr {name}, align 64"
            );
        }
    }

    fn read(&mut self, ty: &str, variable: &str) -> Text {
        self.emit(format_args!("load {ty}, ptr {variable}, align 64"))
    }

    fn write(&mut self, ty: &str, value: &str, variable: &str) {
        self.print(format_args!(
            "  store {ty} {value}, ptr {variable}, align 64"
        ));
    }
}

fn vector_of(lanes: u32, ty: &str) -> Cow<'static, str> {
    /// The types of vectors that nearly every instruction has.
    macro_rules! table {
        ($($lanes:literal: $($ty:literal)*;)*) => {
            match (lanes, ty) {
                $($(($lanes, $ty) => Cow::Borrowed(concat!("<", $lanes, " x ", $ty, ">")),)*)*
                _ => Cow::Owned(format!("<{lanes} x {ty}>")),
            }
        };
    }
    table! {
        4: "i1" "i8" "i32" "i64" "float" "double" "ptr";
        8: "i1" "i8" "i32" "i64" "float" "double" "ptr";
        16: "i1" "i8" "i32" "i64" "float" "double" "ptr";
    }
}
