//! Operations that are calls of LLVM intrinsics, and those that need more than one instruction to be total.

use std::fmt::Write;

use super::Emitter;
use crate::ir::{BinaryOp, Intrinsic, Special, SpecialKind, Type};
use crate::target::TargetKind;

impl Emitter<'_> {
    /// Declares an intrinsic and returns the text of a call of it.
    pub(super) fn call_text(
        &mut self,
        result: &str,
        name: &str,
        arguments: &[(&str, &str)],
    ) -> String {
        let size: usize = arguments
            .iter()
            .map(|(ty, value)| ty.len() + value.len())
            .sum();
        let mut text = String::with_capacity(size + result.len() + name.len() + 32);
        for part in ["declare ", result, " @", name, "("] {
            text.push_str(part);
        }
        for (index, (ty, _)) in arguments.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            text.push_str(ty);
        }
        text.push_str(") #1");
        self.declare(&text);
        text.clear();
        let flags = if self.fast_math && matches!(result, "float" | "double") {
            "fast "
        } else {
            ""
        };
        for part in ["call ", flags, result, " @", name, "("] {
            text.push_str(part);
        }
        for (index, (ty, value)) in arguments.iter().enumerate() {
            for part in [if index == 0 { "" } else { ", " }, ty, " ", value] {
                text.push_str(part);
            }
        }
        text.push(')');
        text
    }

    /// Adds a declaration to those at the end of the module.
    pub(super) fn declare(&mut self, text: &str) {
        if !self.declarations.contains(text) {
            self.declarations.insert(text.to_owned());
        }
    }

    pub(super) fn intrinsic(
        &mut self,
        name: &str,
        intrinsic: Intrinsic,
        ty: Type,
        arguments: &[&str],
    ) {
        let text = self.type_text(ty);
        let suffix = if ty.is_float() {
            format!("f{}", ty.bits())
        } else {
            format!("i{}", ty.bits())
        };
        let Some(llvm) = plain_intrinsic(intrinsic) else {
            return match intrinsic {
                Intrinsic::MultiplyHigh => self.multiply_high(name, ty, arguments, "sext"),
                Intrinsic::MultiplyHighUnsigned => self.multiply_high(name, ty, arguments, "zext"),
                Intrinsic::FusedMultiplyAddHalf => self.fused_half(name, arguments),
                Intrinsic::WidenHalf | Intrinsic::NarrowHalf | Intrinsic::NarrowBfloat => {
                    self.narrow_float(name, intrinsic, arguments[0]);
                }
                // The others were answered before the passes.
                _ => (),
            };
        };
        let mut list: Vec<(&str, &str)> = Vec::with_capacity(3);
        list.extend(arguments.iter().map(|argument| (text, *argument)));
        if matches!(
            intrinsic,
            Intrinsic::LeadingZeros | Intrinsic::TrailingZeros
        ) {
            list.push(("i1", "false"));
        }
        let call = self.call_text(text, &format!("llvm.{llvm}.{suffix}"), &list);
        self.print(format_args!("  {name} = {call}"));
    }

    fn fused_half(&mut self, name: &str, arguments: &[&str]) {
        let mut halves = Vec::with_capacity(3);
        for (index, argument) in arguments.iter().enumerate() {
            self.print(format_args!(
                "  {name}.{index} = bitcast i16 {argument} to half"
            ));
            halves.push(format!("{name}.{index}"));
        }
        let list: Vec<(&str, &str)> = halves.iter().map(|half| ("half", half.as_str())).collect();
        let call = self.call_text("half", "llvm.fma.f16", &list);
        self.print(format_args!("  {name}.h = {call}"));
        self.print(format_args!("  {name} = bitcast half {name}.h to i16"));
    }

    /// Half and bfloat16 are 16-bit integers until LLVM sees what is done with them.
    fn narrow_float(&mut self, name: &str, intrinsic: Intrinsic, value: &str) {
        match intrinsic {
            Intrinsic::WidenHalf => {
                self.print(format_args!("  {name}.h = bitcast i16 {value} to half"));
                self.print(format_args!("  {name} = fpext half {name}.h to float"));
            }
            Intrinsic::NarrowHalf => {
                self.print(format_args!("  {name}.h = fptrunc float {value} to half"));
                self.print(format_args!("  {name} = bitcast half {name}.h to i16"));
            }
            _ if self.target.has_bfloat() => {
                self.print(format_args!("  {name}.h = fptrunc float {value} to bfloat"));
                self.print(format_args!("  {name} = bitcast bfloat {name}.h to i16"));
            }
            _ => {
                self.print(format_args!("  {name}.b = bitcast float {value} to i32"));
                self.print(format_args!("  {name}.s = lshr i32 {name}.b, 16"));
                self.print(format_args!("  {name}.l = and i32 {name}.s, 1"));
                self.print(format_args!("  {name}.r = add i32 {name}.l, 32767"));
                self.print(format_args!("  {name}.t = add i32 {name}.b, {name}.r"));
                self.print(format_args!("  {name}.u = lshr i32 {name}.t, 16"));
                self.print(format_args!("  {name}.n = fcmp uno float {value}, {value}"));
                self.print(format_args!(
                    "  {name}.c = select i1 {name}.n, i32 32704, i32 {name}.u"
                ));
                self.print(format_args!("  {name} = trunc i32 {name}.c to i16"));
            }
        }
    }

    /// The high half of the product, through the double width.
    fn multiply_high(&mut self, name: &str, ty: Type, arguments: &[&str], extend: &str) {
        let (bits, wide) = (ty.bits(), ty.bits() * 2);
        for (index, argument) in arguments.iter().enumerate() {
            self.print(format_args!(
                "  {name}.{index} = {extend} i{bits} {argument} to i{wide}"
            ));
        }
        self.print(format_args!("  {name}.p = mul i{wide} {name}.0, {name}.1"));
        self.print(format_args!("  {name}.h = lshr i{wide} {name}.p, {bits}"));
        self.print(format_args!("  {name} = trunc i{wide} {name}.h to i{bits}"));
    }

    /// Division as the IR defines it: nothing traps. `divisor` is the constant divisor, if it is one.
    pub(super) fn division(
        &mut self,
        name: &str,
        operation: BinaryOp,
        ty: &str,
        a: &str,
        b: &str,
        divisor: Option<i64>,
    ) {
        let (llvm, is_signed, is_remainder) = match operation {
            BinaryOp::DivideSigned => ("sdiv", true, false),
            BinaryOp::RemainderSigned => ("srem", true, true),
            BinaryOp::RemainderUnsigned => ("urem", false, true),
            _ => ("udiv", false, false),
        };
        if divisor.is_some_and(|divisor| divisor != 0 && !(is_signed && divisor == -1)) {
            self.print(format_args!("  {name} = {llvm} {ty} {a}, {b}"));
            return;
        }
        let mut text = format!("  {name}.z = icmp eq {ty} {b}, 0\n");
        if is_signed {
            let _ = write!(
                text,
                "  {name}.m = icmp eq {ty} {b}, -1\n  {name}.s = or i1 {name}.z, {name}.m\n  {name}.d = select i1 {name}.s, {ty} 1, {ty} {b}\n"
            );
        } else {
            let _ = writeln!(text, "  {name}.d = select i1 {name}.z, {ty} 1, {ty} {b}");
        }
        let _ = writeln!(text, "  {name}.q = {llvm} {ty} {a}, {name}.d");
        if is_remainder {
            let _ = write!(
                text,
                "  {name} = select i1 {name}.z, {ty} {a}, {ty} {name}.q"
            );
        } else if is_signed {
            let _ = write!(
                text,
                "  {name}.n = sub {ty} 0, {a}\n  {name}.r = select i1 {name}.m, {ty} {name}.n, {ty} {name}.q\n  {name} = select i1 {name}.z, {ty} 0, {ty} {name}.r"
            );
        } else {
            let _ = write!(text, "  {name} = select i1 {name}.z, {ty} 0, {ty} {name}.q");
        }
        self.line(&text);
    }

    /// A built-in variable of a kernel.
    pub(super) fn special(&mut self, name: &str, special: Special) {
        let axis = ["x", "y", "z"][usize::from(special.axis % 3)];
        if matches!(special.kind, SpecialKind::Lane | SpecialKind::WaveSize) {
            return self.wave_special(name, special);
        }
        match self.kind {
            TargetKind::Host => {
                // `add 0` gives the parameter the name of the value; LLVM removes it at once.
                self.print(format_args!(
                    "  {name} = add i32 {}, 0",
                    parameter_name(special)
                ));
            }
            TargetKind::Nvidia => {
                let register = match special.kind {
                    SpecialKind::ThreadIndex => "tid",
                    SpecialKind::BlockIndex => "ctaid",
                    SpecialKind::BlockSize => "ntid",
                    SpecialKind::GridSize => "nctaid",
                    SpecialKind::Lane | SpecialKind::WaveSize => return,
                };
                let call = self.call_text(
                    "i32",
                    &format!("llvm.nvvm.read.ptx.sreg.{register}.{axis}"),
                    &[],
                );
                self.print(format_args!("  {name} = {call}"));
            }
            TargetKind::Amd => self.amd_special(name, special, axis),
        }
    }

    /// Indices come in registers; sizes lie in the implicit arguments (code object version 5 and later: block counts as three
    /// u32 at 0, block sizes as three u16 at 12).
    fn amd_special(&mut self, name: &str, special: Special, axis: &str) {
        match special.kind {
            SpecialKind::ThreadIndex | SpecialKind::BlockIndex => {
                let register = if special.kind == SpecialKind::ThreadIndex {
                    "workitem"
                } else {
                    "workgroup"
                };
                let call = self.call_text("i32", &format!("llvm.amdgcn.{register}.id.{axis}"), &[]);
                self.print(format_args!("  {name} = {call}"));
            }
            SpecialKind::BlockSize | SpecialKind::GridSize => {
                let call = self.call_text("ptr addrspace(4)", "llvm.amdgcn.implicitarg.ptr", &[]);
                self.print(format_args!("  {name}.a = {call}"));
                let is_block = special.kind == SpecialKind::BlockSize;
                let offset = if is_block {
                    12 + 2 * u32::from(special.axis)
                } else {
                    4 * u32::from(special.axis)
                };
                self.print(format_args!("  {name}.p = getelementptr inbounds i8, ptr addrspace(4) {name}.a, i64 {offset}"));
                if is_block {
                    self.print(format_args!(
                        "  {name}.w = load i16, ptr addrspace(4) {name}.p, align 2"
                    ));
                    self.print(format_args!("  {name} = zext i16 {name}.w to i32"));
                } else {
                    self.print(format_args!(
                        "  {name} = load i32, ptr addrspace(4) {name}.p, align 4"
                    ));
                }
            }
            SpecialKind::Lane | SpecialKind::WaveSize => {}
        }
    }
}

/// The LLVM intrinsic of an operation that is nothing else, without its suffix.
pub(super) fn plain_intrinsic(intrinsic: Intrinsic) -> Option<&'static str> {
    Some(match intrinsic {
        Intrinsic::Sqrt => "sqrt",
        Intrinsic::Floor => "floor",
        Intrinsic::Ceil => "ceil",
        Intrinsic::Truncate => "trunc",
        Intrinsic::RoundEven => "roundeven",
        Intrinsic::FusedMultiplyAdd => "fma",
        Intrinsic::Absolute => "fabs",
        Intrinsic::CopySign => "copysign",
        Intrinsic::Minimum => "minimumnum",
        Intrinsic::Maximum => "maximumnum",
        Intrinsic::PopulationCount => "ctpop",
        Intrinsic::LeadingZeros => "ctlz",
        Intrinsic::TrailingZeros => "cttz",
        Intrinsic::ReverseBits => "bitreverse",
        _ => return None,
    })
}

impl Emitter<'_> {
    /// Typed texts of the built-in variables that a function takes on the CPU.
    pub(super) fn special_parameters(&self, index: usize) -> impl Iterator<Item = String> {
        let specials = self.specials[index].iter();
        specials.map(|special| ["i32 ", parameter_name(*special)].concat())
    }
}

/// The parameter that carries a built-in variable on the CPU.
pub(super) fn parameter_name(special: Special) -> &'static str {
    let [x, y, z] = match special.kind {
        SpecialKind::ThreadIndex => ["%thread_index.x", "%thread_index.y", "%thread_index.z"],
        SpecialKind::BlockIndex => ["%block_index.x", "%block_index.y", "%block_index.z"],
        SpecialKind::BlockSize => ["%block_size.x", "%block_size.y", "%block_size.z"],
        SpecialKind::GridSize => ["%grid_size.x", "%grid_size.y", "%grid_size.z"],
        SpecialKind::Lane => ["%lane.x", "%lane.y", "%lane.z"],
        SpecialKind::WaveSize => ["%wave_size.x", "%wave_size.y", "%wave_size.z"],
    };
    match special.axis % 3 {
        0 => x,
        1 => y,
        _ => z,
    }
}

/// All built-in variables, in the order they are passed on the CPU.
pub(super) fn all_specials() -> impl Iterator<Item = Special> {
    use SpecialKind as S;
    [S::ThreadIndex, S::BlockIndex, S::BlockSize, S::GridSize]
        .into_iter()
        .flat_map(|kind| (0..3).map(move |axis| Special { kind, axis }))
}
