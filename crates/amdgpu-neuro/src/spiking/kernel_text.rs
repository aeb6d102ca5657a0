//! The text of a generated kernel with other parameters: what changes from step to step, or from network to network, is read from the
//! device's memory, so that launches of all steps are the same, and those of several networks are one.

use std::fmt::Write as _;
use std::ops::Range;

use crate::error::{Error, Result};

/// Of the pointer that takes the place of the number of the step.
const STEP_AT: &str = "agpu_step_at";

/// A pointer among the parameters that moves with the step, through rings of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingParameter {
    pub index: usize,
    /// Rows behind that of the step.
    pub late: u32,
}

/// Where the parts of a kernel stand.
struct Signature {
    /// The beginning of its declaration.
    declaration: usize,
    list: Range<usize>,
    parameters: Vec<Range<usize>>,
    /// Behind the opening brace.
    body: usize,
}

fn signature(source: &str, name: &str) -> Result<Signature> {
    find(source, name).ok_or_else(|| {
        Error::InvalidDescription(format!(
            "the kernel {name:?} does not stand in the source of the network plan as extern \"C\" __global__ void {name}(parameters) {{"
        ))
    })
}

fn find(source: &str, name: &str) -> Option<Signature> {
    const QUALIFIER: &str = "__global__";
    let mut from = 0;
    loop {
        let qualifier = from + source[from..].find(QUALIFIER)?;
        from = qualifier + QUALIFIER.len();
        let line = source[..qualifier].rfind('\n').map_or(0, |place| place + 1);
        if source[line..qualifier].contains("//") {
            continue;
        }
        let rest = source[from..].trim_start();
        let Some(rest) = rest.strip_prefix("void") else {
            continue;
        };
        let Some(rest) = rest.trim_start().strip_prefix(name) else {
            continue;
        };
        let Some(rest) = rest.trim_start().strip_prefix('(') else {
            continue;
        };
        let begin = source.len() - rest.len();
        let end = begin + rest.find(')')?;
        let body = end + 1 + source[end + 1..].find('{')? + 1;
        let mut parameters = Vec::new();
        let mut at = begin;
        for parameter in source[begin..end].split(',') {
            parameters.push(at..at + parameter.len());
            at += parameter.len() + 1;
        }
        let before = source[..qualifier].trim_end();
        let before = before.strip_suffix("\"C\"").unwrap_or(before).trim_end();
        let before = before.strip_suffix("extern").unwrap_or(before);
        return Some(Signature {
            declaration: before.len(),
            list: begin..end,
            parameters,
            body,
        });
    }
}

/// A parameter's type and name.
fn parts_of(parameter: &str) -> (&str, &str) {
    let parameter = parameter.trim();
    let name = parameter
        .rfind(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .map_or(0, |place| place + 1);
    (parameter[..name].trim_end(), &parameter[name..])
}

/// The source with a kernel whose parameter `index`, a number, has become a pointer to a 64-bit one.
pub(crate) fn with_step_in_memory(source: &str, name: &str, index: usize) -> Result<String> {
    let Signature {
        parameters, body, ..
    } = signature(source, name)?;
    let Some(place) = parameters.get(index) else {
        return Err(Error::InvalidDescription(format!(
            "the kernel {name:?} of the network plan has fewer parameters than arguments"
        )));
    };
    let (kind, step) = parts_of(&source[place.clone()]);
    Ok(format!(
        "{}const unsigned long long* {STEP_AT}{}\n  const {kind} {step} = ({kind})*{STEP_AT};{}",
        &source[..place.start],
        &source[place.end..body],
        &source[body..],
    ))
}

/// The source with a kernel that finds its arguments in row `blockIdx.y` of a table: laid out as the parameters are, then the address of a
/// 64-bit step at a multiple of 8 bytes, then for each of `rings` two 32-bit numbers: its rows and the elements of each. The pointer of a
/// ring is that of its first row.
pub(crate) fn with_table(source: &str, name: &str, rings: &[RingParameter]) -> Result<String> {
    let signature = signature(source, name)?;
    let (mut fields, mut locals) = (String::new(), String::new());
    for (index, place) in signature.parameters.iter().enumerate() {
        let (kind, parameter) = parts_of(&source[place.clone()]);
        // A field is no parameter: it does not say what else points there.
        let plain = kind.replace("__restrict__", "");
        write!(fields, " {} {parameter};", plain.trim()).map_err(no_text)?;
        write!(locals, "\n  {kind} {parameter} = agpu_one.{parameter}").map_err(no_text)?;
        if let Some(number) = rings.iter().position(|ring| ring.index == index) {
            let late = rings[number].late;
            write!(
                locals,
                " + (*agpu_one.agpu_now + {late}) % agpu_one.agpu_rows_{number} * agpu_one.agpu_stride_{number}"
            )
            .map_err(no_text)?;
        }
        locals.push(';');
    }
    fields.push_str(" const unsigned long long* agpu_now;");
    for number in 0..rings.len() {
        write!(
            fields,
            " unsigned int agpu_rows_{number}, agpu_stride_{number};"
        )
        .map_err(no_text)?;
    }
    Ok(format!(
        "{}\nstruct agpu_{name}_arguments {{{fields} }};\n{}const agpu_{name}_arguments* agpu_table{}\n  const agpu_{name}_arguments agpu_one = agpu_table[blockIdx.y];{locals}{}",
        &source[..signature.declaration],
        &source[signature.declaration..signature.list.start],
        &source[signature.list.end..signature.body],
        &source[signature.body..],
    ))
}

fn no_text(_: std::fmt::Error) -> Error {
    Error::InvalidDescription("the text of a kernel could not be written".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
// Of `decay` below: __global__ void decay(.
extern \"C\" __global__ void decay_all(int n) {}
extern \"C\" __global__ void decay(unsigned int count, float* __restrict__ v,
    unsigned long long step, const int* row) {
  v[0] = step;
}
__global__ void last(unsigned int step)
{
}
";

    #[test]
    fn a_step_is_read_from_memory() {
        let text = with_step_in_memory(SOURCE, "decay", 2).unwrap();
        assert!(text.contains("void decay(unsigned int count, float* __restrict__ v,const unsigned long long* agpu_step_at, const int* row) {\n  const unsigned long long step = (unsigned long long)*agpu_step_at;\n  v[0] = step;"), "{text}");
        let text = with_step_in_memory(SOURCE, "last", 0).unwrap();
        assert!(text.contains("void last(const unsigned long long* agpu_step_at)\n{\n  const unsigned int step = (unsigned int)*agpu_step_at;"), "{text}");
    }

    #[test]
    fn arguments_are_read_from_a_table() {
        let ring = RingParameter { index: 3, late: 1 };
        let text = with_table(SOURCE, "decay", &[ring]).unwrap();
        for wanted in [
            "{}\n\nstruct agpu_decay_arguments { unsigned int count; float* v; unsigned long long step; const int* row; const unsigned long long* agpu_now; unsigned int agpu_rows_0, agpu_stride_0; };\nextern \"C\" __global__ void decay(const agpu_decay_arguments* agpu_table) {\n  const agpu_decay_arguments agpu_one = agpu_table[blockIdx.y];",
            "\n  float* __restrict__ v = agpu_one.v;",
            "\n  const int* row = agpu_one.row + (*agpu_one.agpu_now + 1) % agpu_one.agpu_rows_0 * agpu_one.agpu_stride_0;",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
    }

    #[test]
    fn a_kernel_that_is_not_there_is_an_error() {
        for name in ["deca", "n", "other"] {
            let error = with_table(SOURCE, name, &[]).unwrap_err();
            assert!(error.to_string().contains(name));
        }
        assert!(with_step_in_memory(SOURCE, "last", 1).is_err());
    }
}
