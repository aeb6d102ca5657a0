//! The atomic reductions that an entry keeps for all blocks that it runs ([`crate::regions::AtomicReduction`]).

use std::fmt::Write;

use super::Emitter;
use crate::ir::{AddressSpace, Type};
use crate::regions::HostKernel;

impl Emitter<'_> {
    /// Sums that start with what changes nothing when it is added; their addresses become arguments.
    pub(super) fn keep_sums(
        &self,
        kernel: &HostKernel,
        arguments: &mut Vec<String>,
        text: &mut String,
    ) {
        let pointer = self.type_text(Type::Pointer(AddressSpace::Shared));
        for (number, sum) in kernel.atomic_reductions.iter().enumerate() {
            let (ty, nothing) = (self.type_text(sum.ty), nothing(sum.ty));
            let _ = writeln!(
                text,
                "  %sum{number} = alloca {ty}, align 8\n  store {ty} {nothing}, ptr %sum{number}, align 8"
            );
            arguments.push(format!("{pointer} %sum{number}"));
        }
    }

    /// The end of an entry: adds the reductions to where they belong, unless nothing was added, when that place may not exist.
    pub(super) fn done(&self, kernel: &HostKernel, text: &mut String) {
        text.push_str("done:\n");
        for (number, sum) in kernel.atomic_reductions.iter().enumerate() {
            let (ty, bits) = (self.type_text(sum.ty), sum.ty.bits());
            let (operation, empty) = if sum.ty.is_float() {
                ("fadd", 1i64 << (bits - 1))
            } else {
                ("add", 0)
            };
            let (s, argument) = (format!("%sum{number}"), sum.argument);
            let pointer = self.type_text(kernel.arguments[argument]);
            let _ = writeln!(
                text,
                "  {s}.bits = load i{bits}, ptr {s}, align 8
  {s}.is = icmp ne i{bits} {s}.bits, {empty}
  br i1 {s}.is, label {s}.add, label {s}.end
sum{number}.add:
  {s}.all = load {ty}, ptr {s}, align 8
  {s}.old = atomicrmw {operation} {pointer} %a{argument}, {ty} {s}.all monotonic
  br label {s}.end
sum{number}.end:"
            );
        }
        // What bypassed the caches is ordered by nothing weaker, not even by the atomic that tells another thread that the blocks are done.
        if self.has_nontemporal_stores {
            text.push_str("  fence seq_cst\n");
        }
        text.push_str("  ret void\n}\n");
    }
}

fn nothing(ty: Type) -> &'static str {
    if ty.is_float() { "-0.0" } else { "0" }
}
