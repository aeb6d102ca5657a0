//! Kernels of many regions: the loop of each region becomes a function of its own, because LLVM's time for one function grows
//! faster than its size (160 regions in one: 7 s; as functions of their own: 2 s).

use std::fmt::Write;

use super::intrinsics::{all_specials, parameter_name};
use super::{Emitter, names};
use crate::ir::SpecialKind;
use crate::regions::HostKernel;

/// Regions of a kernel whose loops stand in its entry, where calling them costs nothing.
const MAX_REGIONS_IN_ENTRY: usize = 16;

impl Emitter<'_> {
    /// The text of a region's loop as it stands in the entry: itself, or a call of the function that it becomes. It starts behind
    /// the label `begin` and ends with the label `end`; `own` are typed values that it alone uses.
    pub(super) fn region_loop(
        &mut self,
        kernel: &HostKernel,
        number: usize,
        arguments: &[String],
        own: &[String],
        [begin, end]: [&str; 2],
        body: String,
    ) -> String {
        if kernel.regions.len() <= MAX_REGIONS_IN_ENTRY {
            return body;
        }
        let specials = all_specials().filter(|special| special.kind != SpecialKind::ThreadIndex);
        let mut values: Vec<String> = specials
            .map(|special| format!("i32 {}", parameter_name(special)))
            .chain(arguments.iter().chain(own).cloned())
            .chain(["i64 %size.x", "ptr %states", "ptr %next.u"].map(str::to_owned))
            .collect();
        for index in 0..kernel.contexts.len() {
            values.push(format!("ptr %c{index}"));
        }
        for index in 0..kernel.uniforms.len() {
            values.push(format!("ptr %u{index}"));
            values.push(format!("ptr %w.u{index}"));
        }
        values.retain(|value| uses(&body, value));
        let name = names::quoted(&format!("{}.loop{number}", kernel.name));
        let values = values.join(", ");
        let mut function = String::with_capacity(body.len() + values.len() + 64);
        let _ = write!(
            function,
            "define internal void @{name}({values}) noinline #0 {{\n{begin}:\n{body}  ret void\n}}\n"
        );
        self.line(&function);
        format!("  call void @{name}({values})\n  br label %{end}\n{end}:\n")
    }
}

/// Whether a text uses a typed value.
fn uses(body: &str, value: &str) -> bool {
    let name = value.rsplit(' ').next().unwrap_or(value);
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    let mut found = body.match_indices(name);
    found.any(|(at, _)| !body.as_bytes().get(at + name.len()).is_some_and(is_part))
}
