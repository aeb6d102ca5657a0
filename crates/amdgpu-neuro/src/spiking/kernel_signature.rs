//! How a generated kernel takes its arguments: as parameters, or from the device's memory.
//!
//! The compiler of network text writes every kernel with one signature, `name(AGPU_PARAMETERS(name, …))`, and `AGPU_PROLOGUE(name)` as its first
//! line; the plan has the type and identifier of every parameter. By default the macros give plain parameters. Where launches of all
//! steps must be the same, or those of several networks be one launch, this module puts definitions of the two macros in front of the text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::plan::spiking::{ArgumentPlan, KernelPlan, Role, SpikingPlan};

/// The pointer that stands in the place of the parameter `step`.
const STEP_POINTER: &str = "agpu_step_at";

/// A pointer among the parameters that moves with the step, through a ring of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingParameter {
    /// Position among the parameters.
    pub index: usize,
    /// Rows between that of the step and the one that the kernel gets.
    pub rows_ahead: u32,
}

/// A declaration, such as `float* __restrict__ all_v`.
struct Declaration<'a> {
    ctype: &'a str,
    identifier: &'a str,
}

impl Declaration<'_> {
    fn as_parameter(&self) -> String {
        let restrict = if self.ctype.ends_with('*') {
            " __restrict__"
        } else {
            ""
        };
        format!("{}{restrict} {}", self.ctype, self.identifier)
    }
}

/// The text of a plan in which the kernel reads the step from a 64-bit number in memory, whose address takes the place of its parameter `step`.
/// `None` for a kernel that does not take the step: it is compiled from the plan's text as it is.
pub(crate) fn with_step_in_memory(
    plan: &SpikingPlan,
    kernel: &KernelPlan,
) -> Result<Option<String>> {
    let Some((parameters, prologue)) = step_from_memory(kernel)? else {
        return Ok(None);
    };
    let parameters: Vec<_> = parameters.iter().map(Declaration::as_parameter).collect();
    Ok(Some(text(
        plan,
        kernel,
        "",
        &parameters.join(", "),
        &prologue,
    )))
}

/// The text of a plan in which the kernel finds its arguments in row `blockIdx.y` of a table. A row has the arguments, the step as an address,
/// laid out as a C struct; then the address of a 64-bit step at a multiple of 8 bytes; then for each of `rings` two 32-bit numbers: its rows
/// and the elements of each. The pointer of a ring is that of its first row.
pub(crate) fn with_table(
    plan: &SpikingPlan,
    kernel: &KernelPlan,
    rings: &[RingParameter],
) -> Result<String> {
    let (parameters, step) = match step_from_memory(kernel)? {
        Some(found) => found,
        None => (declarations(kernel)?, String::new()),
    };
    let name = &kernel.name;
    let mut fields = String::new();
    let mut prologue = format!("const agpu_{name}_arguments agpu_row = agpu_table[blockIdx.y];");
    for (index, parameter) in parameters.iter().enumerate() {
        let Declaration { ctype, identifier } = parameter;
        // A field is no parameter: it does not say what else points there.
        push(&mut fields, format_args!(" {ctype} {identifier};"));
        let local = parameter.as_parameter();
        push(
            &mut prologue,
            format_args!(" {local} = agpu_row.{identifier}"),
        );
        if let Some(number) = rings.iter().position(|ring| ring.index == index) {
            let ahead = rings[number].rows_ahead;
            push(
                &mut prologue,
                format_args!(
                    " + (*agpu_row.agpu_now + {ahead}) % agpu_row.agpu_rows_{number} * agpu_row.agpu_stride_{number}"
                ),
            );
        }
        prologue.push(';');
    }
    prologue.push_str(&step);
    fields.push_str(" const unsigned long long* agpu_now;");
    for number in 0..rings.len() {
        push(
            &mut fields,
            format_args!(" unsigned int agpu_rows_{number}, agpu_stride_{number};"),
        );
    }
    let structure = format!("struct agpu_{name}_arguments {{{fields} }};\n");
    let parameters = format!("const agpu_{name}_arguments* agpu_table");
    Ok(text(plan, kernel, &structure, &parameters, &prologue))
}

/// What a kernel declares.
fn declarations(kernel: &KernelPlan) -> Result<Vec<Declaration<'_>>> {
    let declaration =
        |argument: &'_ ArgumentPlan| argument.ctype.is_empty() || argument.identifier.is_empty();
    if let Some(argument) = kernel.arguments.iter().find(|one| declaration(one)) {
        return Err(Error::InvalidDescription(format!(
            "the network plan gives the argument {:?} {:?} of the kernel {:?} no type or identifier, which a device that steps by launches needs",
            argument.role, argument.name, kernel.name
        )));
    }
    let declarations = kernel.arguments.iter().map(|argument| Declaration {
        ctype: &argument.ctype,
        identifier: &argument.identifier,
    });
    Ok(declarations.collect())
}

/// What a kernel declares, with a pointer in the place of the step, and the line that reads the step; `None` where it takes no step.
fn step_from_memory(kernel: &KernelPlan) -> Result<Option<(Vec<Declaration<'_>>, String)>> {
    let mut arguments = kernel.arguments.iter();
    let Some(index) = arguments.position(|argument| argument.role == Role::Step) else {
        return Ok(None);
    };
    let mut parameters = declarations(kernel)?;
    let Declaration { ctype, identifier } = parameters[index];
    let line = format!(" const {ctype} {identifier} = ({ctype})*{STEP_POINTER};");
    parameters[index] = Declaration {
        ctype: "const unsigned long long*",
        identifier: STEP_POINTER,
    };
    Ok(Some((parameters, line)))
}

/// The plan's text behind definitions of the macros: for `kernel` as given, for all others plain parameters.
fn text(
    plan: &SpikingPlan,
    kernel: &KernelPlan,
    structure: &str,
    parameters: &str,
    prologue: &str,
) -> String {
    let mut head = String::from(structure);
    head.push_str("#define AGPU_PARAMETERS(kernel, ...) AGPU_PARAMETERS_##kernel(__VA_ARGS__)\n");
    head.push_str("#define AGPU_PROLOGUE(kernel) AGPU_PROLOGUE_##kernel\n");
    // Projections share kernels: names stand in the plan more than once.
    let names: BTreeSet<_> = plan.kernels.iter().map(|one| one.name.as_str()).collect();
    for name in names {
        let (list, lines) = if name == kernel.name {
            (parameters, prologue)
        } else {
            ("__VA_ARGS__", "")
        };
        push(
            &mut head,
            format_args!(
                "#define AGPU_PARAMETERS_{name}(...) {list}\n#define AGPU_PROLOGUE_{name} {lines}\n"
            ),
        );
    }
    head + &plan.source
}

fn push(text: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(piece);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::spiking::Phase;

    fn kernel(name: &str, arguments: &[(Role, &str, &str)]) -> KernelPlan {
        let arguments = arguments
            .iter()
            .map(|(role, ctype, identifier)| ArgumentPlan {
                role: *role,
                name: String::new(),
                ctype: (*ctype).to_owned(),
                identifier: (*identifier).to_owned(),
            });
        KernelPlan {
            name: name.to_owned(),
            phase: Phase::Update,
            group: Some(0),
            projection: None,
            arguments: arguments.collect(),
        }
    }

    fn plan() -> SpikingPlan {
        let decay = [
            (Role::Count, "unsigned int", "count"),
            (Role::State, "float*", "v"),
            (Role::Step, "unsigned long long", "step"),
            (Role::Input, "const int*", "row"),
        ];
        let kernels = vec![
            kernel("decay", &decay),
            kernel("last", &[(Role::Count, "unsigned int", "")]),
        ];
        SpikingPlan {
            source: "KERNELS".to_owned(),
            groups: Vec::new(),
            populations: Vec::new(),
            sources: Vec::new(),
            drives: Vec::new(),
            rewards: Vec::new(),
            projections: Vec::new(),
            kernels,
            records: Vec::new(),
        }
    }

    #[test]
    fn a_step_is_read_from_memory() {
        let plan = plan();
        let text = with_step_in_memory(&plan, &plan.kernels[0])
            .unwrap()
            .unwrap();
        for wanted in [
            "#define AGPU_PARAMETERS_decay(...) unsigned int count, float* __restrict__ v, const unsigned long long* __restrict__ agpu_step_at, const int* __restrict__ row\n",
            "#define AGPU_PROLOGUE_decay  const unsigned long long step = (unsigned long long)*agpu_step_at;\n",
            "#define AGPU_PARAMETERS_last(...) __VA_ARGS__\n#define AGPU_PROLOGUE_last \nKERNELS",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
        assert_eq!(with_step_in_memory(&plan, &plan.kernels[1]).unwrap(), None);
    }

    #[test]
    fn arguments_are_read_from_a_table() {
        let plan = plan();
        let ring = RingParameter {
            index: 3,
            rows_ahead: 1,
        };
        let text = with_table(&plan, &plan.kernels[0], &[ring]).unwrap();
        for wanted in [
            "struct agpu_decay_arguments { unsigned int count; float* v; const unsigned long long* agpu_step_at; const int* row; const unsigned long long* agpu_now; unsigned int agpu_rows_0, agpu_stride_0; };\n",
            "#define AGPU_PARAMETERS_decay(...) const agpu_decay_arguments* agpu_table\n",
            " float* __restrict__ v = agpu_row.v;",
            " const int* __restrict__ row = agpu_row.row + (*agpu_row.agpu_now + 1) % agpu_row.agpu_rows_0 * agpu_row.agpu_stride_0;",
            " const unsigned long long step = (unsigned long long)*agpu_step_at;\n",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
    }

    #[test]
    fn a_kernel_without_identifiers_is_an_error() {
        let plan = plan();
        let error = with_table(&plan, &plan.kernels[1], &[]).unwrap_err();
        assert!(error.to_string().contains("\"last\""), "{error}");
    }
}
