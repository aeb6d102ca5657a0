//! Shared memory, barriers, fences and atomics.

use super::{Emitter, names};
use crate::ir::{AddressSpace, Cooperation, Shared, Type};
use crate::target::TargetKind;

impl Emitter<'_> {
    /// Shared memory on a GPU; on the CPU it lies in the scratch memory of the launch.
    pub(super) fn shared(&mut self, shared: &Shared) {
        let (linkage, value) = if shared.bytes == 0 {
            ("external", "")
        } else {
            ("internal", " poison")
        };
        let text = format!(
            "@{} = {linkage} addrspace(3) global [{} x i8]{value}, align {}",
            names::quoted(&shared.name),
            shared.bytes,
            shared.align
        );
        self.line(&text);
    }

    /// `operands` are typed texts of the values, `space` that of the pointer.
    pub(super) fn cooperation(
        &mut self,
        name: &str,
        operation: Cooperation,
        ty: Type,
        space: Option<AddressSpace>,
        operands: &[String],
    ) {
        use Cooperation as C;
        let llvm = match operation {
            C::Barrier => return self.barrier(),
            C::FenceBlock | C::FenceDevice | C::FenceSystem => {
                let scope = self.scope(operation);
                return self.line(&format!("  fence {scope}seq_cst"));
            }
            C::AtomicCompareExchange => {
                let scope = self.atomic_scope(space);
                self.line(&format!(
                    "  {name}.c = cmpxchg {}, {}, {} {scope}monotonic monotonic",
                    operands[0], operands[1], operands[2]
                ));
                let ty = self.type_text(ty);
                return self.line(&format!(
                    "  {name} = extractvalue {{ {ty}, i1 }} {name}.c, 0"
                ));
            }
            C::AtomicAdd => "add",
            C::AtomicAddFloat => "fadd",
            C::AtomicSubtract => "sub",
            C::AtomicMinimum => "min",
            C::AtomicMinimumUnsigned => "umin",
            C::AtomicMaximum => "max",
            C::AtomicMaximumUnsigned => "umax",
            C::AtomicAnd => "and",
            C::AtomicOr => "or",
            C::AtomicXor => "xor",
            C::AtomicExchange => "xchg",
            C::AtomicIncrement => "uinc_wrap",
            C::AtomicDecrement => "udec_wrap",
            C::WaveShuffle | C::WaveBallot | C::WaveMatch | C::WaveBarrier | C::WaveRejoin => {
                return;
            }
        };
        let scope = self.atomic_scope(space);
        self.line(&format!(
            "  {name} = atomicrmw {llvm} {}, {} {scope}monotonic",
            operands[0], operands[1]
        ));
    }

    fn barrier(&mut self) {
        match self.kind {
            TargetKind::Amd => {
                self.declarations
                    .insert("declare void @llvm.amdgcn.s.barrier() #2".to_owned());
                self.line("  fence syncscope(\"workgroup\") release");
                self.line("  call void @llvm.amdgcn.s.barrier()");
                self.line("  fence syncscope(\"workgroup\") acquire");
            }
            TargetKind::Nvidia => {
                self.declarations.insert(
                    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2".to_owned(),
                );
                self.line("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)");
            }
            // Kernels with barriers were cut at them.
            TargetKind::Host => {}
        }
    }

    /// Atomics are those of the device, on shared memory those of the block.
    fn atomic_scope(&self, space: Option<AddressSpace>) -> &'static str {
        self.scope(if space == Some(AddressSpace::Shared) {
            Cooperation::FenceBlock
        } else {
            Cooperation::FenceDevice
        })
    }

    fn scope(&self, fence: Cooperation) -> &'static str {
        match (self.kind, fence) {
            (TargetKind::Amd, Cooperation::FenceBlock) => "syncscope(\"workgroup\") ",
            (TargetKind::Amd, Cooperation::FenceDevice) => "syncscope(\"agent\") ",
            (TargetKind::Nvidia, Cooperation::FenceBlock) => "syncscope(\"block\") ",
            (TargetKind::Nvidia, Cooperation::FenceDevice) => "syncscope(\"device\") ",
            _ => "",
        }
    }
}
