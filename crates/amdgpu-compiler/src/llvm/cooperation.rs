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
        let is_system = operation.of_device() != operation;
        let llvm = match operation.of_device() {
            C::ClockCycles | C::ClockSteady => return self.clock(name, operation),
            C::Barrier => return self.barrier(),
            C::FenceBlock | C::FenceDevice | C::FenceSystem => {
                let scope = self.scope(operation);
                return self.print(format_args!("  fence {scope}seq_cst"));
            }
            C::AtomicCompareExchange
                if self.kind == TargetKind::Host && space == Some(AddressSpace::Shared) =>
            {
                return self.exclusive(name, C::AtomicCompareExchange, ty, operands);
            }
            C::AtomicCompareExchange => {
                let scope = self.atomic_scope(space, is_system);
                self.print(format_args!(
                    "  {name}.c = cmpxchg {}, {}, {} {scope}monotonic monotonic",
                    operands[0], operands[1], operands[2]
                ));
                let ty = self.type_text(ty);
                return self.print(format_args!(
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
            // Waves have code of their own, and the forms of the system became those of the device.
            _ => return,
        };
        let is_shared = space == Some(AddressSpace::Shared);
        if self.kind == TargetKind::Host && is_shared {
            return self.exclusive(name, operation.of_device(), ty, operands);
        }
        if self.kind == TargetKind::Nvidia
            && is_system
            && !is_shared
            && let Some(text) = system_assembly(operation.of_device(), ty)
        {
            return self.system_atomic(name, &text, operation.of_device(), ty, operands);
        }
        let scope = self.atomic_scope(space, is_system);
        self.print(format_args!(
            "  {name} = atomicrmw {llvm} {}, {} {scope}monotonic",
            operands[0], operands[1]
        ));
    }

    /// An atomic operation on shared memory of the CPU: one thread runs all work-items of a block, one after another or as lanes, so a
    /// load and a store will do.
    fn exclusive(&mut self, name: &str, operation: Cooperation, ty: Type, operands: &[String]) {
        use Cooperation as C;
        let llvm = self.type_text(ty);
        let align = ty.bytes();
        let untyped = |operand: &str| {
            let value = operand.split_once(' ').map_or(operand, |(_, value)| value);
            value.to_owned()
        };
        let (pointer, value) = (&operands[0], untyped(&operands[1]));
        self.print(format_args!(
            "  {name} = load {llvm}, {pointer}, align {align}"
        ));
        let compare = |emitter: &mut Self, predicate: &str, ty: &str| {
            emitter.print(format_args!(
                "  {name}.t = icmp {predicate} {ty} {name}, {value}"
            ));
        };
        let keep_or_take = |emitter: &mut Self, predicate: &str| {
            compare(emitter, predicate, llvm);
            emitter.print(format_args!(
                "  {name}.s = select i1 {name}.t, {llvm} {name}, {llvm} {value}"
            ));
        };
        let simple = match operation {
            C::AtomicAdd => "add",
            C::AtomicAddFloat => "fadd",
            C::AtomicSubtract => "sub",
            C::AtomicAnd => "and",
            C::AtomicOr => "or",
            C::AtomicXor => "xor",
            _ => "",
        };
        match operation {
            C::AtomicMinimum => keep_or_take(self, "slt"),
            C::AtomicMinimumUnsigned => keep_or_take(self, "ult"),
            C::AtomicMaximum => keep_or_take(self, "sgt"),
            C::AtomicMaximumUnsigned => keep_or_take(self, "ugt"),
            C::AtomicIncrement => {
                compare(self, "uge", llvm);
                self.print(format_args!("  {name}.u = add {llvm} {name}, 1"));
                self.print(format_args!(
                    "  {name}.s = select i1 {name}.t, {llvm} 0, {llvm} {name}.u"
                ));
            }
            C::AtomicDecrement => {
                compare(self, "ugt", llvm);
                self.print(format_args!("  {name}.z = icmp eq {llvm} {name}, 0"));
                self.print(format_args!("  {name}.w = or i1 {name}.t, {name}.z"));
                self.print(format_args!("  {name}.u = sub {llvm} {name}, 1"));
                self.print(format_args!(
                    "  {name}.s = select i1 {name}.w, {llvm} {value}, {llvm} {name}.u"
                ));
            }
            C::AtomicCompareExchange => {
                compare(self, "eq", llvm);
                let wanted = untyped(&operands[2]);
                self.print(format_args!(
                    "  {name}.s = select i1 {name}.t, {llvm} {wanted}, {llvm} {name}"
                ));
            }
            C::AtomicExchange => {
                return self.print(format_args!(
                    "  store {llvm} {value}, {pointer}, align {align}"
                ));
            }
            _ => self.print(format_args!("  {name}.s = {simple} {llvm} {name}, {value}")),
        }
        self.print(format_args!(
            "  store {llvm} {name}.s, {pointer}, align {align}"
        ));
    }

    /// LLVM's instructions for NVIDIA GPUs lose the scope of what is not a compare and exchange.
    fn system_atomic(
        &mut self,
        name: &str,
        text: &str,
        operation: Cooperation,
        ty: Type,
        operands: &[String],
    ) {
        let llvm = self.type_text(ty);
        let mut value = operands[1].clone();
        if operation == Cooperation::AtomicSubtract {
            let plain = value.trim_start_matches(llvm).trim_start();
            let line = format!("  {name}.n = sub {llvm} 0, {plain}");
            value = format!("{llvm} {name}.n");
            self.line(&line);
        }
        let llvm = self.type_text(ty);
        let register = match ty {
            Type::F32 => "f",
            Type::F64 => "d",
            _ if ty.bits() == 64 => "l",
            _ => "r",
        };
        self.print(format_args!(
            "  {name} = call {llvm} asm sideeffect \"{text} $0, [$1], $2;\", \"={register},l,{register},~{{memory}}\"({}, {value}) #2",
            operands[0]
        ));
    }

    /// Processors have one counter, which runs at the same rate always.
    fn clock(&mut self, name: &str, operation: Cooperation) {
        let counter = if operation == Cooperation::ClockSteady && self.kind != TargetKind::Host {
            "llvm.readsteadycounter"
        } else {
            "llvm.readcyclecounter"
        };
        self.declarations
            .insert(format!("declare i64 @{counter}() #2"));
        self.print(format_args!("  {name} = call i64 @{counter}()"));
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
    fn atomic_scope(&self, space: Option<AddressSpace>, is_system: bool) -> &'static str {
        self.scope(if space == Some(AddressSpace::Shared) {
            Cooperation::FenceBlock
        } else if is_system {
            Cooperation::FenceSystem
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

/// The instruction of PTX for an atomic of the system, where there is one.
fn system_assembly(operation: Cooperation, ty: Type) -> Option<String> {
    use Cooperation as C;
    let (name, kind) = match operation {
        C::AtomicAdd | C::AtomicSubtract => ("add", 'u'),
        C::AtomicAddFloat => ("add", 'f'),
        C::AtomicMinimum => ("min", 's'),
        C::AtomicMinimumUnsigned => ("min", 'u'),
        C::AtomicMaximum => ("max", 's'),
        C::AtomicMaximumUnsigned => ("max", 'u'),
        C::AtomicAnd => ("and", 'b'),
        C::AtomicOr => ("or", 'b'),
        C::AtomicXor => ("xor", 'b'),
        C::AtomicExchange => ("exch", 'b'),
        C::AtomicIncrement if ty == Type::I32 => ("inc", 'u'),
        C::AtomicDecrement if ty == Type::I32 => ("dec", 'u'),
        _ => return None,
    };
    Some(format!("atom.sys.{name}.{kind}{}", ty.bits()))
}
