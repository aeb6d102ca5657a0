//! The text of a kernel that reduces rows and computes elementwise steps before, between and behind the reductions.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;

use super::elementwise::{VALUES, helpers};
use super::fused::steps_named;
use super::{reduce, source as text_of};
use crate::fused_rows::{FusedRows, RowReduction, RowStage, RowValue};

/// An input: whether it is dense, so that the launch takes a pointer, and whether all of a row is one number.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    pub is_dense: bool,
    pub repeats: bool,
}

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    pub of: &'a FusedRows,
    /// Of inputs and values.
    pub dtype: Dtype,
    pub computed: Dtype,
    pub inputs: &'a [Given],
    /// For each stage, whether it has one number for each row.
    pub are_reduced: &'a [bool],
    /// Work-items that share a row.
    pub lanes: i64,
    /// Neighbours that a work-item folds one after the other.
    pub group: i64,
    /// It reads them at once.
    pub is_grouped: bool,
    /// Axes before the rows.
    pub rank: usize,
    /// The type of indices of rows.
    pub index: &'static str,
}

impl Signature<'_> {
    /// Tells stages apart from others.
    #[must_use]
    pub fn text_of_stages(&self) -> String {
        let mut text = String::new();
        for (stage, is_reduced) in self.of.stages.iter().zip(self.are_reduced) {
            let _ = match stage {
                RowStage::Steps { region, arguments } => {
                    write!(text, "{arguments:?}{:?}{:?}", region.inputs, region.steps)
                }
                RowStage::Reduce {
                    reduction,
                    argument,
                } => write!(text, "{argument:?}{:?}", reduction.operation),
            };
            let _ = write!(text, "{is_reduced};");
        }
        text
    }

    /// A value of the row that a work-item is at; `element` says how an input is read that has more than one.
    fn value(&self, value: RowValue, element: &dyn Fn(usize) -> String) -> String {
        match value {
            RowValue::Input(index) if self.inputs[index].repeats => {
                format!("(C)a{index}[o{index}]")
            }
            RowValue::Input(index) => format!("(C){}", element(index)),
            RowValue::Stage(index) => format!("v{index}"),
        }
    }

    /// The stages with a number for each element that a value follows from, itself the last.
    fn needed(&self, value: RowValue) -> Vec<usize> {
        let mut needed = vec![false; self.of.stages.len()];
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let RowValue::Stage(index) = value else {
                continue;
            };
            if self.are_reduced[index] || std::mem::replace(&mut needed[index], true) {
                continue;
            }
            open.extend_from_slice(self.of.stages[index].arguments());
        }
        (0..needed.len()).filter(|index| needed[*index]).collect()
    }

    /// Statements that compute a value of an element, and the value.
    fn element(&self, value: RowValue, element: &dyn Fn(usize) -> String) -> (String, String) {
        let mut text = String::new();
        for index in self.needed(value) {
            text += &self.step(index, element);
        }
        (text, self.value(value, element))
    }

    /// The statement that computes steps.
    fn step(&self, index: usize, element: &dyn Fn(usize) -> String) -> String {
        let arguments = self.of.stages[index].arguments().iter();
        let given: Vec<String> = arguments.map(|one| self.value(*one, element)).collect();
        format!("const C v{index} = region{index}({}); ", given.join(", "))
    }

    /// Inputs with more than one number for each row that a value follows from.
    fn loaded(&self, value: RowValue) -> Vec<usize> {
        let mut all = vec![value];
        for index in self.needed(value) {
            all.extend_from_slice(self.of.stages[index].arguments());
        }
        let mut loaded: Vec<usize> = all
            .into_iter()
            .filter_map(|value| match value {
                RowValue::Input(index) if !self.inputs[index].repeats => Some(index),
                _ => None,
            })
            .collect();
        loaded.sort_unstable();
        loaded.dedup();
        loaded
    }

    /// A loop over the elements of a row that a work-item has, in order; `used` makes a statement of the value and of the name of its place.
    fn each(
        &self,
        value: RowValue,
        used: &dyn Fn(&str, &str) -> String,
        [before, behind]: [&str; 2],
    ) -> String {
        let group = self.group;
        let single = |index: usize| format!("a{index}[o{index} + (long long)at]");
        let (steps, one) = self.element(value, &single);
        let one_by_one = format!(
            "for (unsigned long long at = i; at < i + {group} && at < length; ++at) {{ {steps}{} }}",
            used(&one, "at")
        );
        let body = if self.is_grouped {
            let mut loads = String::new();
            for index in self.loaded(value) {
                let _ = write!(
                    loads,
                    "const Group g{index} = *(const Group*)(a{index} + o{index} + (long long)i); "
                );
            }
            let packed = |index: usize| format!("g{index}.v[j]");
            let (steps, one) = self.element(value, &packed);
            // The length is a multiple of a group.
            format!(
                "{loads}{before}\n            #pragma unroll\n            for (int j = 0; j < {group}; ++j) {{ {steps}{} }}\n            {behind}",
                used(&one, "j")
            )
        } else {
            one_by_one
        };
        format!(
            "        for (unsigned long long i = LANE * {group}; i < length; i += LANES * {group}) {{\n            {body}\n        }}\n"
        )
    }

    /// Statements that reduce a row.
    fn folded(&self, index: usize, argument: RowValue) -> String {
        let used = |value: &str, _: &str| {
            format!("own{index} = joined{index}(own{index}, mapped{index}((M{index})({value})));")
        };
        format!(
            "    State{index} own{index} = nothing{index}();
    if (is_in) {{
{each}    }}
    states{index}[ROW * LANES + LANE] = own{index};
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {{
        if (LANE < half) states{index}[ROW * LANES + LANE] = joined{index}(states{index}[ROW * LANES + LANE], states{index}[ROW * LANES + LANE + half]);
        __syncthreads();
    }}
    const C v{index} = (C)finished{index}(states{index}[ROW * LANES], divisor{index});
",
            each = self.each(argument, &used, ["", ""]),
        )
    }

    /// Statements that write the result.
    fn written(&self, last: usize) -> String {
        if self.are_reduced[last] {
            return format!("    if (LANE == 0 && is_in) out[row] = (T)v{last};\n");
        }
        let used = |value: &str, place: &str| {
            if place == "j" {
                format!("made.v[j] = (T)({value});")
            } else {
                format!("out[row * length + at] = (T)({value});")
            }
        };
        let around = ["Group made;", "*(Group*)(out + row * length + i) = made;"];
        let each = self.each(RowValue::Stage(last), &used, around);
        format!("    if (is_in) {{\n{each}    }}\n")
    }

    /// Types and functions of the stages.
    fn head(&self) -> String {
        let mut text = text_of::types(&[("C", self.computed), ("T", self.dtype)]);
        text += text_of::functions(self.computed);
        text += &helpers(self.dtype);
        let mut own = Vec::new();
        for (index, stage) in self.of.stages.iter().enumerate() {
            match stage {
                RowStage::Steps { region, arguments } => {
                    let prefix = format!("region{index}_step");
                    let (functions, body) = steps_named(&prefix, region, self.dtype, &mut own);
                    let names = VALUES[..arguments.len()].iter();
                    let names: Vec<_> = names.map(|name| format!("C {name}")).collect();
                    let _ = writeln!(
                        text,
                        "{functions}__device__ inline C region{index}({}) {{ {body} }}",
                        names.join(", ")
                    );
                }
                RowStage::Reduce { reduction, .. } => {
                    text += &fold_of(index, reduction, self.dtype);
                }
            }
        }
        text
    }
}

/// The functions of a reduction.
fn fold_of(index: usize, reduction: &RowReduction, x: Dtype) -> String {
    let (computed, _) = reduction.operation.dtypes(x);
    let fold = reduce::fold(reduction.operation, x, computed);
    let typed = |text: &str| text.replace("(S)", &format!("(S{index})"));
    format!(
        "{types}struct State{index} {{ S{index} value; }};
__device__ inline State{index} nothing{index}() {{ State{index} a; {start} return a; }}
__device__ inline State{index} joined{index}(State{index} a, State{index} b) {{ {joined} }}
__device__ inline State{index} mapped{index}(M{index} x) {{ State{index} a; {mapped} return a; }}
__device__ inline T finished{index}(State{index} a, double divisor) {{ return (T)({finished}); }}
",
        types = text_of::types(&[
            (&format!("S{index}"), fold.state),
            (&format!("M{index}"), computed),
        ]),
        start = typed(&fold.start),
        joined = typed(&fold.joined),
        mapped = typed(&fold.mapped),
        finished = fold.finished,
    )
}

/// The kernel.
#[must_use]
pub fn source(signature: &Signature<'_>) -> String {
    let (mut parameters, mut setup) = (Vec::new(), String::new());
    let mut offsets: Vec<String> = Vec::new();
    for (index, given) in signature.inputs.iter().enumerate() {
        let name = format!("a{index}");
        let (parameter, statement) = text_of::pointer_parameter(given.is_dense, "T", &name, false);
        parameters.push(parameter);
        setup += &statement;
        let _ = writeln!(setup, "    long long o{index} = 0;");
        offsets.push(format!("o{index}"));
    }
    let (mut divisors, mut shared, mut stages) = (String::new(), String::new(), String::new());
    // Values of a row, for steps that take no elements.
    let of_row = |index: usize| format!("a{index}[o{index}]");
    let last = signature.of.stages.len() - 1;
    for (index, stage) in signature.of.stages.iter().enumerate() {
        match stage {
            RowStage::Reduce { argument, .. } => {
                let _ = write!(divisors, ", double divisor{index}");
                let block = text_of::BLOCK;
                let _ = writeln!(
                    shared,
                    "    __shared__ State{index} states{index}[{block}];"
                );
                stages += &signature.folded(index, *argument);
            }
            RowStage::Steps { .. } if signature.are_reduced[index] => {
                let _ = writeln!(stages, "    {}", signature.step(index, &of_row));
            }
            RowStage::Steps { .. } => {}
        }
    }
    format!(
        r#"{head}
#define LANES {lanes}
#define ROW threadIdx.y
#define LANE threadIdx.x
struct alignas(sizeof(T) * {group}) Group {{ T v[{group}]; }};
extern "C" __global__ void fused_rows({parameters}, T* out, unsigned long long outputs, unsigned long long length{divisors}{walked}) {{
{shared}{setup}    const unsigned long long number = (unsigned long long)blockIdx.x * {rows} + ROW;
    const bool is_in = number < outputs;
    // Work-items without a row read the first one: every value that they read is there.
    const unsigned long long row = is_in ? number : 0;
{walk}{stages}{written}}}
"#,
        head = signature.head(),
        lanes = signature.lanes,
        group = signature.group,
        rows = text_of::BLOCK / signature.lanes,
        parameters = parameters.join(", "),
        walked = text_of::walk_parameters("k", signature.rank, signature.inputs.len()),
        walk = text_of::walk("k", signature.rank, &offsets, "row", signature.index),
        written = signature.written(last),
    )
}
