//! The text of kernels that turn indices into offsets.

use std::fmt::Write as _;

use super::source;
use crate::Operand;

/// The array stands above the place, so that the smallest number is the first bad place of the first array that has one. Kernels note its
/// complement: zero means that there is none.
pub const PLACE_BITS: u32 = 56;

/// The kernel for arrays of indices, walked along so many axes: an offset for each work-item.
#[must_use]
pub fn offsets_source(indices: &[Operand], rank: usize, count: i64) -> String {
    let (mut types, mut parameters, mut setup, mut steps) =
        (String::new(), String::new(), String::new(), String::new());
    let names: Vec<String> = (0..indices.len()).map(|k| format!("from{k}")).collect();
    for (k, one) in indices.iter().enumerate() {
        let _ = writeln!(types, "typedef {} I{k};", source::c_type(one.dtype));
        let read = if one.is_number() {
            let _ = write!(parameters, ", {} x{k}", source::number_type(one.dtype));
            format!("(I{k})x{k}")
        } else {
            let (parameter, statement) =
                source::operand_parameter(one, &format!("I{k}"), &format!("x{k}"), false);
            let _ = write!(parameters, ", {parameter}");
            setup += &statement;
            format!("x{k}[from{k}]")
        };
        let _ = write!(parameters, ", long long extent{k}, long long step{k}");
        let _ = writeln!(
            steps,
            r"    {{
        const I{k} given = {read};
        const long long index = (long long)given;
        const long long place = index < 0 ? index + extent{k} : index;
        const bool is_good = place >= 0 && place < extent{k} && (index < 0) == (given < 0);
        if (!is_good) note_bad_index(notes, {k}ull << {PLACE_BITS} | i, index, extent{k});
        offset += is_good ? place * step{k} : 0;
        is_known = is_known && is_good;
    }}"
        );
    }
    format!(
        r#"{types}{note}
extern "C" __global__ void offsets(long long* out, unsigned long long* notes, unsigned long long count{parameters}{walk_parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
{setup}    long long offset = 0{declared};
{walk}    bool is_known = true;
{steps}    // Blocks at this place are passed over.
    out[i] = is_known ? offset : -(1ll << 62);
}}
"#,
        note = source::NOTE_BAD_INDEX,
        declared = names
            .iter()
            .fold(String::new(), |text, name| text + ", " + name + " = 0"),
        walk_parameters = source::walk_parameters("d", rank, indices.len()),
        walk = source::walk("d", rank, &names, "i", source::index_type(count)),
    )
}
