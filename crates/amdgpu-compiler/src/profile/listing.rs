//! A profile as text: the source, with what was counted beside its lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Constant, KernelProfile, Profile};

impl Profile {
    /// The source with counts: how often a line ran, and below it its branches, loops and accesses.
    pub fn listing(&self) -> String {
        let kernel = &self.kernel;
        let items = kernel.blocks.first().map_or(0, |(_, runs)| *runs);
        let mut text = format!(
            "profile of {} on {}: {items} work-items\n",
            kernel.name, self.device
        );
        for constant in &kernel.constants {
            let _ = writeln!(text, "  {}", constant_text(constant));
        }
        let notes = notes(kernel);
        let mut runs: BTreeMap<u32, u64> = BTreeMap::new();
        for (line, count) in &kernel.blocks {
            let most = runs.entry(*line).or_default();
            *most = (*most).max(*count);
        }
        for (number, line) in (1..).zip(self.source.lines()) {
            let count = runs.get(&number).map_or_else(String::new, u64::to_string);
            let _ = writeln!(text, "{count:>12} {number:>5}  {line}");
            for note in notes.get(&number).into_iter().flatten() {
                let _ = writeln!(text, "{:>12} {:>5}      ^ {note}", "", "");
            }
        }
        text
    }
}

fn constant_text(constant: &Constant) -> String {
    format!(
        "parameter {} was always the same (bits {:#x})",
        constant.name, constant.bits
    )
}

fn notes(kernel: &KernelProfile) -> BTreeMap<u32, Vec<String>> {
    let mut notes: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for item in kernel.loops.iter().filter(|item| item.entries > 0) {
        let average = item.iterations as f64 / item.entries as f64;
        let text = format!(
            "loop: entered {} times, {average:.1} iterations each",
            item.entries
        );
        notes.entry(item.line).or_default().push(text);
    }
    for branch in kernel.branches.iter().filter(|branch| branch.runs > 0) {
        let share = 100.0 * branch.taken as f64 / branch.runs as f64;
        let mut text = format!("branch: taken {share:.1} % of {} times", branch.runs);
        if let Some(uniform) = (100 * branch.uniform_waves).checked_div(branch.waves) {
            let _ = write!(text, ", lanes agree in {uniform} % of the sampled waves");
        }
        notes.entry(branch.line).or_default().push(text);
    }
    for access in &kernel.accesses {
        let Some(stride) = access.stride_bytes else {
            continue;
        };
        let what = if access.is_store { "store" } else { "load" };
        let kind = match stride {
            0 => " (the same for all lanes)",
            _ if stride == i64::from(access.bytes) => " (consecutive)",
            _ => "",
        };
        let text = format!(
            "{what} of {} bytes: {stride} bytes from lane to lane{kind} in {} % of the pairs",
            access.bytes, access.percent
        );
        notes.entry(access.line).or_default().push(text);
    }
    notes
}
