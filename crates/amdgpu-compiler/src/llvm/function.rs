//! Functions: blocks and instructions.

use std::borrow::Cow;
use std::fmt::Write;

use super::text::{Digits, Text, Typed};
use super::{Emitter, names, waves};
use crate::checks::HOOK_PREFIX;
use crate::effort;
use crate::ir::{
    AddressSpace, BinaryOp, BlockId, CastKind, Function, Op, Predicate, Terminator, Type, Value,
};
use crate::target::TargetKind;

/// What marks an access whose memory the caches need not keep.
pub(super) const NONTEMPORAL: &str = ", !nontemporal !{i32 1}";

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

/// How many edges lead from the end of a block to another.
fn edges(terminator: &Terminator, to: BlockId) -> usize {
    effort::spend(terminator.target_count() / 16);
    let mut count = 0;
    terminator.for_each_target(|target| count += usize::from(target == to));
    count
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
        let advice = self.loop_advice(function);
        for (number, block) in function.blocks.iter().enumerate() {
            if number > 0
                && block.instructions.is_empty()
                && block.terminator == Terminator::Unreachable
            {
                continue;
            }
            self.print(format_args!("b{number}:"));
            effort::spend(4 * block.instructions.len());
            for &value in &block.instructions {
                match function.op(value) {
                    Op::Phi(inputs) => {
                        self.phi(function, &names, value, inputs, BlockId(number as u32));
                    }
                    _ => self.instruction(function, &names, value),
                }
            }
            self.terminator(function, &names, &block.terminator);
            self.branch_weights(block);
            if let Some(advice) = advice.get(number) {
                let line_end = self.out.len() - 1;
                self.out.insert_str(line_end, advice);
            }
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
            () if crate::libcalls::is_large(&function.name) => " noinline",
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
            effort::spend(self.module.functions[current].values.len() / 8);
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
                    text.push_str("%p");
                    text.push_str(Digits::new(u64::from(*number)).text());
                }
                Op::Constant(bits) => text.push_str(&constant(instruction.ty, *bits)),
                Op::GlobalAddress(number) => {
                    text.push_str(&global(&self.module.globals[*number as usize].name));
                }
                Op::SharedAddress(number) => {
                    text.push_str(&global(&self.module.shared[*number as usize].name));
                }
                _ => {
                    text.push_str("%v");
                    text.push_str(Digits::new(index as u64).text());
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

    fn typed<'n>(&self, names: &'n Names<'_>, value: Value) -> Typed<&'static str, &'n str> {
        Typed {
            ty: self.type_text(names.function.ty(value)),
            text: names.get(value),
        }
    }

    /// Writes an instruction with a result of that name.
    fn define(&mut self, name: &str, text: std::fmt::Arguments<'_>) {
        for part in ["  ", name, " = "] {
            self.out.push_str(part);
        }
        self.print(text);
    }

    /// A phi of ours has an input for each block that leads here, one of LLVM's for each edge: a switch may lead here by several cases.
    fn phi(
        &mut self,
        function: &Function,
        names: &Names<'_>,
        value: Value,
        inputs: &[(BlockId, Value)],
        block: BlockId,
    ) {
        let name = Text::numbered(names.prefix, value.0);
        let ty = self.type_text(function.ty(value));
        for part in ["  ", &name, " = phi ", ty] {
            self.out.push_str(part);
        }
        let mut start = " [ ";
        for (from, input) in inputs {
            let number = Digits::new(u64::from(from.0));
            for _ in 0..edges(&function.blocks[from.0 as usize].terminator, block) {
                for part in [start, names.get(*input), ", %b", number.text(), " ]"] {
                    self.out.push_str(part);
                }
                start = ", [ ";
            }
        }
        self.out.push('\n');
    }

    pub(super) fn instruction(&mut self, function: &Function, names: &Names<'_>, value: Value) {
        let name = Text::numbered(names.prefix, value.0);
        let ty = function.ty(value);
        let ty_text = self.type_text(ty);
        let fast = if self.fast_math { "fast " } else { "" };
        match function.op(value) {
            Op::Binary(operation, a, b) => {
                if let Some(argument) = self.square_root_inverted(function, value) {
                    let text = self.reciprocal_square_root(&name, names.get(argument));
                    return self.print(format_args!("  {text}"));
                }
                let (a_text, b_text) = (names.get(*a), names.get(*b));
                let constant = function.constant(*b);
                self.binary(&name, *operation, ty, a_text, b_text, constant);
            }
            Op::Compare(predicate, a, b) => {
                let operation = comparison(*predicate, self.fast_math);
                let (a, b) = (self.typed(names, *a), names.get(*b));
                self.define(&name, format_args!("{operation} {a}, {b}"));
            }
            Op::Negate(a) => {
                self.define(
                    &name,
                    format_args!("fneg {fast}{ty_text} {}", names.get(*a)),
                );
            }
            Op::Cast(kind, a) => self.cast(&name, *kind, *a, ty, names),
            Op::Select(condition, a, b) => {
                let (a, b) = (self.typed(names, *a), self.typed(names, *b));
                let condition = names.get(*condition);
                self.define(&name, format_args!("select i1 {condition}, {a}, {b}"));
            }
            Op::Intrinsic(intrinsic, arguments) => {
                let arguments: Vec<&str> = arguments
                    .iter()
                    .map(|argument| names.get(*argument))
                    .collect();
                self.intrinsic(&name, *intrinsic, ty, &arguments);
            }
            Op::Cooperative(kind, operands) if kind.is_wave() => {
                let texts: Vec<String> = operands
                    .iter()
                    .map(|operand| names.get(*operand).to_owned())
                    .collect();
                let mask = operands.first();
                self.wave_operation(&waves::Operation {
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
                    .map(|operand| self.typed(names, *operand).to_string())
                    .collect();
                self.cooperation(&name, *operation, ty, space, &operands);
            }
            Op::Special(special) => self.special(&name, *special),
            Op::Slot { bytes, align } => {
                let space = self.space(AddressSpace::Private);
                let space = if space == 0 {
                    String::new()
                } else {
                    format!(", addrspace({space})")
                };
                self.define(
                    &name,
                    format_args!("alloca [{bytes} x i8], align {align}{space}"),
                );
            }
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                let element = element_type(*scale);
                let (pointer, index) = (self.typed(names, *pointer), names.get(*index));
                self.define(
                    &name,
                    format_args!("getelementptr inbounds {element}, {pointer}, i64 {index}"),
                );
            }
            // Without an access group: nothing is promised about iterations of a loop.
            Op::VolatileLoad(pointer) => {
                let (pointer, align) = (self.typed(names, *pointer), ty.bytes());
                self.define(
                    &name,
                    format_args!("load volatile {ty_text}, {pointer}, align {align}"),
                );
            }
            Op::VolatileStore {
                pointer,
                value: stored,
            } => {
                let align = function.ty(*stored).bytes();
                let (stored, pointer) = (self.typed(names, *stored), self.typed(names, *pointer));
                self.print(format_args!(
                    "  store volatile {stored}, {pointer}, align {align}"
                ));
            }
            Op::Load(pointer) => {
                let group = self.access_group(function, *pointer);
                let (pointer, align) = (self.typed(names, *pointer), ty.bytes());
                self.define(
                    &name,
                    format_args!("load {ty_text}, {pointer}, align {align}{group}"),
                );
            }
            Op::Store {
                pointer,
                value: stored,
            } => {
                let group = self.access_group(function, *pointer);
                let align = function.ty(*stored).bytes();
                let (stored, pointer) = (self.typed(names, *stored), self.typed(names, *pointer));
                self.print(format_args!(
                    "  store {stored}, {pointer}, align {align}{group}"
                ));
            }
            Op::NontemporalLoad(pointer) => {
                let group = self.access_group(function, *pointer);
                let (pointer, align) = (self.typed(names, *pointer), ty.bytes());
                self.define(
                    &name,
                    format_args!("load {ty_text}, {pointer}, align {align}{group}{NONTEMPORAL}"),
                );
            }
            Op::NontemporalStore {
                pointer,
                value: stored,
            } => {
                let group = self.access_group(function, *pointer);
                let align = function.ty(*stored).bytes();
                let (stored, pointer) = (self.typed(names, *stored), self.typed(names, *pointer));
                self.print(format_args!(
                    "  store {stored}, {pointer}, align {align}{group}{NONTEMPORAL}"
                ));
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
                self.print(format_args!(
                    "  call void @llvm.memcpy.{suffix}.i64({to_type} align {align} {}, {from_type} align {align} {}, i64 {bytes}, i1 false)",
                    names.get(*to),
                    names.get(*from)
                ));
            }
            Op::Clear { to, bytes, align } => {
                let to_type = self.type_text(function.ty(*to));
                let suffix = pointer_suffix(to_type);
                self.declarations.insert(format!(
                    "declare void @llvm.memset.{suffix}.i64({to_type}, i8, i64, i1)"
                ));
                self.print(format_args!(
                    "  call void @llvm.memset.{suffix}.i64({to_type} align {align} {}, i8 0, i64 {bytes}, i1 false)",
                    names.get(*to)
                ));
            }
            Op::Call {
                function: callee,
                arguments,
            } => {
                let index = *callee as usize;
                let callee = &self.module.functions[index];
                let mut list: Vec<String> = arguments
                    .iter()
                    .map(|argument| self.typed(names, *argument).to_string())
                    .collect();
                list.extend(self.special_parameters(index));
                let target = self.function_name(callee);
                let assign = if ty == Type::Void {
                    String::new()
                } else {
                    format!("{name} = ")
                };
                let list = list.join(", ");
                self.print(format_args!("  {assign}call {ty_text} @{target}({list})"));
            }
            // Phis are written with their block, which says how many edges come in.
            Op::Phi(_)
            | Op::Nothing
            | Op::Parameter(_)
            | Op::Constant(_)
            | Op::GlobalAddress(_)
            | Op::SharedAddress(_) => {}
        }
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

    fn cast(&mut self, name: &str, kind: CastKind, from: Value, ty: Type, names: &Names<'_>) {
        let source = names.function.ty(from);
        let (from_text, to) = (self.typed(names, from), self.type_text(ty));
        let llvm = match plain_cast(kind) {
            Some("addrspacecast") if self.type_text(source) == to => return,
            Some(llvm) => llvm,
            None => {
                let sign = if kind == CastKind::FloatToSigned {
                    "s"
                } else {
                    "u"
                };
                let intrinsic = format!("llvm.fpto{sign}i.sat.i{}.f{}", ty.bits(), source.bits());
                let argument = (self.type_text(source), names.get(from));
                let call = self.call_text(to, &intrinsic, &[argument]);
                return self.define(name, format_args!("{call}"));
            }
        };
        self.define(name, format_args!("{llvm} {from_text} to {to}"));
    }

    fn terminator(&mut self, function: &Function, names: &Names<'_>, terminator: &Terminator) {
        match terminator {
            Terminator::Jump(to) => self.print(format_args!("  br label %b{}", to.0)),
            Terminator::Branch { condition, yes, no } => self.print(format_args!(
                "  br i1 {}, label %b{}, label %b{}",
                names.get(*condition),
                yes.0,
                no.0
            )),
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let ty = self.type_text(function.ty(*value));
                let value_text = self.typed(names, *value);
                // Writing to a String cannot fail.
                let _ = write!(self.out, "  switch {value_text}, label %b{} [", default.0);
                for (bits, to) in cases {
                    let bits = constant(function.ty(*value), *bits);
                    let _ = write!(self.out, " {ty} {bits}, label %b{}", to.0);
                }
                self.line(" ]");
            }
            Terminator::Return(None) => self.line("  ret void"),
            Terminator::Return(Some(value)) => {
                let value = self.typed(names, *value);
                self.print(format_args!("  ret {value}"));
            }
            Terminator::Unreachable => self.line("  unreachable"),
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

/// The instruction of a comparison up to its operands.
pub(super) fn comparison(predicate: Predicate, is_fast: bool) -> &'static str {
    use Predicate as P;
    let (exact, fast) = match predicate {
        P::Equal => return "icmp eq",
        P::NotEqual => return "icmp ne",
        P::LessSigned => return "icmp slt",
        P::LessEqualSigned => return "icmp sle",
        P::GreaterSigned => return "icmp sgt",
        P::GreaterEqualSigned => return "icmp sge",
        P::LessUnsigned => return "icmp ult",
        P::LessEqualUnsigned => return "icmp ule",
        P::GreaterUnsigned => return "icmp ugt",
        P::GreaterEqualUnsigned => return "icmp uge",
        P::EqualFloat => ("fcmp oeq", "fcmp fast oeq"),
        P::NotEqualFloat => ("fcmp une", "fcmp fast une"),
        P::LessFloat => ("fcmp olt", "fcmp fast olt"),
        P::LessEqualFloat => ("fcmp ole", "fcmp fast ole"),
        P::GreaterFloat => ("fcmp ogt", "fcmp fast ogt"),
        P::GreaterEqualFloat => ("fcmp oge", "fcmp fast oge"),
    };
    if is_fast { fast } else { exact }
}

/// A constant as LLVM writes it; floats as the bits of the double of the same value.
pub(super) fn constant(ty: Type, bits: u64) -> Text {
    match ty {
        Type::F32 => {
            let value = f32::from_bits(bits as u32);
            // The conversion to double would quieten a NaN and keep the rest of it, which is all that can be told apart here.
            hexadecimal(f64::from(value).to_bits())
        }
        Type::F64 => hexadecimal(bits),
        Type::I1 => if bits & 1 == 1 { "true" } else { "false" }.into(),
        Type::Pointer(_) => "null".into(),
        _ => {
            let unused = 64 - ty.bits().max(1);
            let number = (bits << unused) as i64 >> unused;
            let mut text = Text::from(if number < 0 { "-" } else { "" });
            text.push(Digits::new(number.unsigned_abs()).text());
            text
        }
    }
}

fn hexadecimal(bits: u64) -> Text {
    let mut text = Text::from("0x");
    for byte in bits.to_be_bytes() {
        for digit in [byte >> 4, byte & 15] {
            text.push(&"0123456789ABCDEF"[usize::from(digit)..=usize::from(digit)]);
        }
    }
    text
}

/// What addresses are counted in.
pub(super) fn element_type(bytes: u64) -> Cow<'static, str> {
    match bytes {
        1 => "i8".into(),
        2 => "i16".into(),
        4 => "i32".into(),
        8 => "i64".into(),
        other => format!("[{other} x i8]").into(),
    }
}
