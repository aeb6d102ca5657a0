//! Functions: blocks and instructions.

use std::fmt::Write;

use super::{Emitter, names, waves};
use crate::checks::HOOK_PREFIX;
use crate::ir::{
    AddressSpace, BinaryOp, BlockId, CastKind, Function, Op, Predicate, Terminator, Type, Value,
};
use crate::target::TargetKind;

/// Texts by which the values of one function are used.
pub(super) struct Names<'f> {
    pub function: &'f Function,
    /// All texts, one after the other.
    text: String,
    /// Where that of each value starts and ends.
    ranges: Vec<(u32, u32)>,
    /// What stands before the number of a value in the name of its result.
    pub prefix: &'static str,
}

impl Names<'_> {
    pub fn get(&self, value: Value) -> &str {
        let (start, end) = self.ranges[value.0 as usize];
        &self.text[start as usize..end as usize]
    }

    /// Changes the text of a value; empty for none.
    pub fn set(&mut self, value: Value, text: &str) {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.ranges[value.0 as usize] = (start, self.text.len() as u32);
    }
}

impl Emitter<'_> {
    pub(super) fn function(&mut self, index: usize) {
        let function = &self.module.functions[index];
        if function.name.starts_with(HOOK_PREFIX) {
            let parameters = function.parameters.iter();
            let types: Vec<&str> = parameters.map(|one| self.type_text(one.ty)).collect();
            let result = self.type_text(function.result);
            let text = format!(
                "declare {result} @{}({}) #0\n",
                function.name,
                types.join(", ")
            );
            return self.line(&text);
        }
        self.header(index);
        let names = self.names(function);
        for (number, block) in function.blocks.iter().enumerate() {
            if number > 0
                && block.instructions.is_empty()
                && block.terminator == Terminator::Unreachable
            {
                continue;
            }
            self.print(format_args!("b{number}:"));
            for &value in &block.instructions {
                self.instruction(function, &names, value);
            }
            let text = self.terminator(function, &names, &block.terminator);
            self.print(format_args!("  {text}"));
        }
        self.line("}");
        self.line("");
    }

    /// The name of a function in LLVM; on the CPU the kernel's own name belongs to the entry that runs blocks.
    pub(super) fn function_name(&self, function: &Function) -> String {
        if function.is_kernel && self.kind == TargetKind::Host {
            names::quoted(&format!("{}.item", function.name))
        } else {
            names::quoted(&function.name)
        }
    }

    fn header(&mut self, index: usize) {
        let function = &self.module.functions[index];
        let mut parameters: Vec<String> = Vec::new();
        for (number, parameter) in function.parameters.iter().enumerate() {
            let ty = self.type_text(parameter.ty);
            let noalias = if parameter.is_restrict && parameter.ty.is_pointer() {
                " noalias"
            } else {
                ""
            };
            parameters.push(format!("{ty}{noalias} %p{number}"));
        }
        parameters.extend(self.special_parameters(index));
        let convention = match (self.kind, function.is_kernel) {
            (TargetKind::Amd, true) => "amdgpu_kernel ",
            (TargetKind::Nvidia, true) => "ptx_kernel ",
            _ => "",
        };
        let is_exported = function.is_kernel && self.kind != TargetKind::Host;
        let linkage = if is_exported { "" } else { "internal " };
        // Work-items become lanes only when everything they call is inlined; recursion cannot be.
        let inlining = match () {
            () if is_exported => "",
            () if function.is_never_inlined && self.kind != TargetKind::Host => " noinline",
            // Hundreds of instructions for each product of a polynomial would take minutes to compile.
            () if crate::software::is_large(&function.name) => " noinline",
            () if self.is_recursive(index) => "",
            () => " alwaysinline",
        };
        let bounds = self.bounds_attribute(function);
        let result = self.type_text(function.result);
        let text = format!(
            "define {linkage}{convention}{result} @{}({}){inlining} #0{bounds} {{",
            self.function_name(function),
            parameters.join(", ")
        );
        self.line(&text);
    }

    fn bounds_attribute(&self, function: &Function) -> String {
        let max_threads = function
            .launch_bounds
            .map_or(1024, |bounds| bounds.max_threads);
        match (self.kind, function.is_kernel) {
            (TargetKind::Amd, true) => {
                format!(" \"amdgpu-flat-work-group-size\"=\"1,{max_threads}\"")
            }
            (TargetKind::Nvidia, true) => match function.launch_bounds {
                Some(bounds) => format!(
                    " \"nvvm.maxntid\"=\"{max_threads}\" \"nvvm.minctasm\"=\"{}\"",
                    bounds.min_blocks
                ),
                None => String::new(),
            },
            _ => String::new(),
        }
    }

    /// Whether a function can reach itself through calls.
    fn is_recursive(&self, index: usize) -> bool {
        let mut values = self.module.functions[index].values.iter();
        if !values.any(|value| matches!(value.op, Op::Call { .. })) {
            return false;
        }
        let mut seen = vec![false; self.module.functions.len()];
        let mut work = vec![index];
        while let Some(current) = work.pop() {
            for instruction in &self.module.functions[current].values {
                if let Op::Call { function, .. } = instruction.op {
                    let callee = function as usize;
                    if callee == index {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[callee], true) {
                        work.push(callee);
                    }
                }
            }
        }
        false
    }

    pub(super) fn names<'f>(&self, function: &'f Function) -> Names<'f> {
        let mut text = String::with_capacity(function.values.len() * 6);
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(function.values.len());
        for (index, instruction) in function.values.iter().enumerate() {
            let start = text.len() as u32;
            let global = |name: &str| format!("@{}", names::quoted(name));
            match &instruction.op {
                Op::Nothing => {}
                Op::Parameter(number) => {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "%p{number}");
                }
                Op::Constant(bits) => text.push_str(&constant(instruction.ty, *bits)),
                Op::GlobalAddress(number) => {
                    text.push_str(&global(&self.module.globals[*number as usize].name));
                }
                Op::SharedAddress(number) => {
                    text.push_str(&global(&self.module.shared[*number as usize].name));
                }
                _ => {
                    let _ = write!(text, "%v{index}");
                }
            }
            ranges.push((start, text.len() as u32));
        }
        // Casts that are nothing on this target are other names of their operand. Operands come before their uses in the
        // list of values except around loops, so chains are followed.
        let alias = |value: Value| match function.op(value) {
            Op::Cast(CastKind::AddressSpace, inner)
                if self.type_text(function.ty(*inner)) == self.type_text(function.ty(value)) =>
            {
                Some(*inner)
            }
            _ => None,
        };
        for index in 0..function.values.len() {
            let mut value = Value(index as u32);
            while let Some(inner) = alias(value) {
                value = inner;
            }
            if value.0 as usize != index {
                ranges[index] = ranges[value.0 as usize];
            }
        }
        Names {
            function,
            text,
            ranges,
            prefix: "%v",
        }
    }

    fn typed(&self, names: &Names<'_>, value: Value) -> String {
        format!(
            "{} {}",
            self.type_text(names.function.ty(value)),
            names.get(value)
        )
    }

    pub(super) fn instruction(&mut self, function: &Function, names: &Names<'_>, value: Value) {
        let name = format!("{}{}", names.prefix, value.0);
        let ty = function.ty(value);
        let ty_text = self.type_text(ty);
        let fast = if self.fast_math { "fast " } else { "" };
        let text = match function.op(value) {
            Op::Binary(operation, a, b) => {
                if let Some(argument) = self.square_root_inverted(function, value) {
                    let text = self.reciprocal_square_root(&name, names.get(argument));
                    return self.print(format_args!("  {text}"));
                }
                let (a_text, b_text) = (names.get(*a).to_owned(), names.get(*b).to_owned());
                return self.binary(
                    &name,
                    *operation,
                    ty,
                    &a_text,
                    &b_text,
                    function.constant(*b),
                );
            }
            Op::Compare(predicate, a, b) => format!(
                "{name} = {} {}, {}",
                comparison(*predicate, fast),
                self.typed(names, *a),
                names.get(*b)
            ),
            Op::Negate(a) => format!("{name} = fneg {fast}{ty_text} {}", names.get(*a)),
            Op::Cast(kind, a) => match self.cast(&name, *kind, *a, ty, names) {
                Some(text) => text,
                None => return,
            },
            Op::Select(condition, a, b) => format!(
                "{name} = select i1 {}, {}, {}",
                names.get(*condition),
                self.typed(names, *a),
                self.typed(names, *b)
            ),
            Op::Intrinsic(intrinsic, arguments) => {
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|argument| names.get(*argument).to_owned())
                    .collect();
                return self.intrinsic(&name, *intrinsic, ty, &arguments);
            }
            Op::Cooperative(kind, operands) if kind.is_wave() => {
                let texts: Vec<String> = operands
                    .iter()
                    .map(|operand| names.get(*operand).to_owned())
                    .collect();
                let mask = operands.first();
                return self.wave_operation(&waves::Operation {
                    name: &name,
                    kind: *kind,
                    operands: &texts,
                    has_no_mask: mask.is_some_and(|mask| function.constant(*mask) == Some(0)),
                    word: operands
                        .get(1)
                        .map_or(Type::Void, |word| function.ty(*word)),
                });
            }
            Op::Cooperative(operation, operands) => {
                let space = operands
                    .first()
                    .and_then(|pointer| match function.ty(*pointer) {
                        Type::Pointer(space) => Some(space),
                        _ => None,
                    });
                let operands: Vec<String> = operands
                    .iter()
                    .map(|operand| self.typed(names, *operand))
                    .collect();
                return self.cooperation(&name, *operation, ty, space, &operands);
            }
            Op::Special(special) => return self.special(&name, *special),
            Op::Phi(inputs) => {
                let inputs: Vec<String> = inputs
                    .iter()
                    .map(|(from, input)| format!("[ {}, %b{} ]", names.get(*input), from.0))
                    .collect();
                format!("{name} = phi {ty_text} {}", inputs.join(", "))
            }
            Op::Slot { bytes, align } => {
                let space = self.space(AddressSpace::Private);
                let space = if space == 0 {
                    String::new()
                } else {
                    format!(", addrspace({space})")
                };
                format!("{name} = alloca [{bytes} x i8], align {align}{space}")
            }
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                let element = match scale {
                    1 => "i8".to_owned(),
                    2 => "i16".to_owned(),
                    4 => "i32".to_owned(),
                    8 => "i64".to_owned(),
                    other => format!("[{other} x i8]"),
                };
                format!(
                    "{name} = getelementptr inbounds {element}, {}, i64 {}",
                    self.typed(names, *pointer),
                    names.get(*index)
                )
            }
            // Without an access group: nothing is promised about turns of a loop.
            Op::VolatileLoad(pointer) => format!(
                "{name} = load volatile {ty_text}, {}, align {}",
                self.typed(names, *pointer),
                ty.bytes()
            ),
            Op::VolatileStore {
                pointer,
                value: stored,
            } => format!(
                "store volatile {}, {}, align {}",
                self.typed(names, *stored),
                self.typed(names, *pointer),
                function.ty(*stored).bytes()
            ),
            Op::Load(pointer) => {
                let group = self.access_group(function, *pointer);
                format!(
                    "{name} = load {ty_text}, {}, align {}{group}",
                    self.typed(names, *pointer),
                    ty.bytes()
                )
            }
            Op::Store {
                pointer,
                value: stored,
            } => {
                let group = self.access_group(function, *pointer);
                format!(
                    "store {}, {}, align {}{group}",
                    self.typed(names, *stored),
                    self.typed(names, *pointer),
                    function.ty(*stored).bytes()
                )
            }
            Op::Copy {
                to,
                from,
                bytes,
                align,
            } => {
                let (to_type, from_type) = (
                    self.type_text(function.ty(*to)),
                    self.type_text(function.ty(*from)),
                );
                let suffix = format!("{}.{}", pointer_suffix(to_type), pointer_suffix(from_type));
                self.declarations.insert(format!(
                    "declare void @llvm.memcpy.{suffix}.i64({to_type}, {from_type}, i64, i1)"
                ));
                format!(
                    "call void @llvm.memcpy.{suffix}.i64({to_type} align {align} {}, {from_type} align {align} {}, i64 {bytes}, i1 false)",
                    names.get(*to),
                    names.get(*from)
                )
            }
            Op::Clear { to, bytes, align } => {
                let to_type = self.type_text(function.ty(*to));
                let suffix = pointer_suffix(to_type);
                self.declarations.insert(format!(
                    "declare void @llvm.memset.{suffix}.i64({to_type}, i8, i64, i1)"
                ));
                format!(
                    "call void @llvm.memset.{suffix}.i64({to_type} align {align} {}, i8 0, i64 {bytes}, i1 false)",
                    names.get(*to)
                )
            }
            Op::Call {
                function: callee,
                arguments,
            } => {
                let index = *callee as usize;
                let callee = &self.module.functions[index];
                let mut list: Vec<String> = arguments
                    .iter()
                    .map(|argument| self.typed(names, *argument))
                    .collect();
                list.extend(self.special_parameters(index));
                let target = self.function_name(callee);
                let assign = if ty == Type::Void {
                    String::new()
                } else {
                    format!("{name} = ")
                };
                format!("{assign}call {ty_text} @{target}({})", list.join(", "))
            }
            Op::Nothing
            | Op::Parameter(_)
            | Op::Constant(_)
            | Op::GlobalAddress(_)
            | Op::SharedAddress(_) => return,
        };
        self.out.push_str("  ");
        self.out.push_str(&text);
        self.out.push('\n');
    }

    /// Marks an access that work-items of a block make independently of each other.
    fn access_group(&self, function: &Function, pointer: Value) -> &'static str {
        let is_private = function.ty(pointer) == Type::Pointer(AddressSpace::Private);
        if self.kind == TargetKind::Host && !is_private {
            ", !llvm.access.group !0"
        } else {
            ""
        }
    }

    fn binary(
        &mut self,
        name: &str,
        operation: BinaryOp,
        ty: Type,
        a: &str,
        b: &str,
        constant: Option<u64>,
    ) {
        use BinaryOp as B;
        let ty_text = self.type_text(ty);
        let fast = if self.fast_math { "fast " } else { "" };
        let bits = ty.bits();
        if let Some(llvm) = plain_binary(operation) {
            let fast = if ty.is_float() { fast } else { "" };
            return self.print(format_args!("  {name} = {llvm} {fast}{ty_text} {a}, {b}"));
        }
        match operation {
            B::DivideSigned | B::DivideUnsigned | B::RemainderSigned | B::RemainderUnsigned => {
                let unused = 64 - bits;
                let divisor = constant.map(|constant| (constant << unused) as i64 >> unused);
                self.division(name, operation, ty_text, a, b, divisor);
            }
            _ => {
                let llvm = match operation {
                    B::ShiftLeft => "shl",
                    B::ShiftRightSigned => "ashr",
                    _ => "lshr",
                };
                if let Some(count) = constant {
                    let count = count % u64::from(bits);
                    self.print(format_args!("  {name} = {llvm} {ty_text} {a}, {count}"));
                } else {
                    self.print(format_args!("  {name}.c = and {ty_text} {b}, {}", bits - 1));
                    self.print(format_args!("  {name} = {llvm} {ty_text} {a}, {name}.c"));
                }
            }
        }
    }

    fn cast(
        &mut self,
        name: &str,
        kind: CastKind,
        from: Value,
        ty: Type,
        names: &Names<'_>,
    ) -> Option<String> {
        let source = names.function.ty(from);
        let (from_text, to) = (self.typed(names, from), self.type_text(ty));
        let llvm = match plain_cast(kind) {
            Some("addrspacecast") if self.type_text(source) == to => return None,
            Some(llvm) => llvm,
            None => {
                let sign = if kind == CastKind::FloatToSigned {
                    "s"
                } else {
                    "u"
                };
                let intrinsic = format!("llvm.fpto{sign}i.sat.i{}.f{}", ty.bits(), source.bits());
                let argument = (
                    self.type_text(source).to_owned(),
                    names.get(from).to_owned(),
                );
                let call = self.call_text(to, &intrinsic, &[argument]);
                return Some(format!("{name} = {call}"));
            }
        };
        Some(format!("{name} = {llvm} {from_text} to {to}"))
    }

    fn terminator(
        &self,
        function: &Function,
        names: &Names<'_>,
        terminator: &Terminator,
    ) -> String {
        let label = |block: BlockId| format!("label %b{}", block.0);
        match terminator {
            Terminator::Jump(to) => format!("br {}", label(*to)),
            Terminator::Branch { condition, yes, no } => format!(
                "br i1 {}, {}, {}",
                names.get(*condition),
                label(*yes),
                label(*no)
            ),
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let ty = self.type_text(function.ty(*value));
                let mut text = format!(
                    "switch {}, {} [",
                    self.typed(names, *value),
                    label(*default)
                );
                for (bits, to) in cases {
                    let _ = write!(
                        text,
                        " {ty} {}, {}",
                        constant(function.ty(*value), *bits),
                        label(*to)
                    );
                }
                text.push_str(" ]");
                text
            }
            Terminator::Return(None) => "ret void".to_owned(),
            Terminator::Return(Some(value)) => format!("ret {}", self.typed(names, *value)),
            Terminator::Unreachable => "unreachable".to_owned(),
        }
    }
}

/// The instruction of an operation that has one of its own.
pub(super) fn plain_binary(operation: BinaryOp) -> Option<&'static str> {
    use BinaryOp as B;
    Some(match operation {
        B::Add => "add",
        B::Subtract => "sub",
        B::Multiply => "mul",
        B::And => "and",
        B::Or => "or",
        B::Xor => "xor",
        B::AddFloat => "fadd",
        B::SubtractFloat => "fsub",
        B::MultiplyFloat => "fmul",
        B::DivideFloat => "fdiv",
        B::DivideSigned
        | B::DivideUnsigned
        | B::RemainderSigned
        | B::RemainderUnsigned
        | B::ShiftLeft
        | B::ShiftRightSigned
        | B::ShiftRightUnsigned => return None,
    })
}

/// The instruction of a conversion that has one of its own.
pub(super) fn plain_cast(kind: CastKind) -> Option<&'static str> {
    Some(match kind {
        CastKind::Truncate => "trunc",
        CastKind::ExtendSigned => "sext",
        CastKind::ExtendUnsigned => "zext",
        CastKind::SignedToFloat => "sitofp",
        CastKind::UnsignedToFloat => "uitofp",
        CastKind::NarrowFloat => "fptrunc",
        CastKind::WidenFloat => "fpext",
        CastKind::Reinterpret => "bitcast",
        CastKind::PointerToInteger => "ptrtoint",
        CastKind::IntegerToPointer => "inttoptr",
        CastKind::AddressSpace => "addrspacecast",
        CastKind::FloatToSigned | CastKind::FloatToUnsigned => return None,
    })
}

fn pointer_suffix(ty: &str) -> &'static str {
    match ty {
        "ptr addrspace(1)" => "p1",
        "ptr addrspace(3)" => "p3",
        "ptr addrspace(4)" => "p4",
        "ptr addrspace(5)" => "p5",
        _ => "p0",
    }
}

pub(super) fn comparison(predicate: Predicate, fast: &str) -> String {
    use Predicate as P;
    let (kind, name) = match predicate {
        P::Equal => ("icmp", "eq"),
        P::NotEqual => ("icmp", "ne"),
        P::LessSigned => ("icmp", "slt"),
        P::LessEqualSigned => ("icmp", "sle"),
        P::GreaterSigned => ("icmp", "sgt"),
        P::GreaterEqualSigned => ("icmp", "sge"),
        P::LessUnsigned => ("icmp", "ult"),
        P::LessEqualUnsigned => ("icmp", "ule"),
        P::GreaterUnsigned => ("icmp", "ugt"),
        P::GreaterEqualUnsigned => ("icmp", "uge"),
        P::EqualFloat => ("fcmp", "oeq"),
        P::NotEqualFloat => ("fcmp", "une"),
        P::LessFloat => ("fcmp", "olt"),
        P::LessEqualFloat => ("fcmp", "ole"),
        P::GreaterFloat => ("fcmp", "ogt"),
        P::GreaterEqualFloat => ("fcmp", "oge"),
    };
    if kind == "fcmp" {
        format!("fcmp {fast}{name}")
    } else {
        format!("icmp {name}")
    }
}

/// A constant as LLVM writes it; floats as the bits of the double of the same value.
pub(super) fn constant(ty: Type, bits: u64) -> String {
    match ty {
        Type::F32 => {
            let value = f32::from_bits(bits as u32);
            // The conversion to double would quieten a NaN and keep the rest of it, which is all that can be told apart here.
            format!("0x{:016X}", f64::from(value).to_bits())
        }
        Type::F64 => format!("0x{bits:016X}"),
        Type::I1 => (bits & 1 == 1).to_string(),
        Type::Pointer(_) => "null".to_owned(),
        _ => {
            let unused = 64 - ty.bits().max(1);
            ((bits << unused) as i64 >> unused).to_string()
        }
    }
}
