//! The text form of the IR; [`super::parse`] reads it back.

use std::fmt::{self, Display, Formatter, Write};

use super::{
    AddressSpace, BlockId, Function, Module, Op, Special, Terminator, Type, Unroll, Value,
};

impl Display for Type {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Void => "void",
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Pointer(AddressSpace::Generic) => "ptr",
            Self::Pointer(AddressSpace::Global) => "ptr.global",
            Self::Pointer(AddressSpace::Constant) => "ptr.constant",
            Self::Pointer(AddressSpace::Shared) => "ptr.shared",
            Self::Pointer(AddressSpace::Private) => "ptr.private",
        })
    }
}

impl Display for Value {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "%{}", self.0)
    }
}

impl Display for BlockId {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "b{}", self.0)
    }
}

impl Display for Special {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}.{}",
            self.kind.text(),
            ["x", "y", "z"][usize::from(self.axis % 3)]
        )
    }
}

fn unroll(unroll: Option<Unroll>) -> String {
    match unroll {
        None => String::new(),
        Some(Unroll::Full) => " unroll".to_owned(),
        Some(Unroll::Times(times)) => format!(" unroll {times}"),
        Some(Unroll::Measured(times)) => format!(" unroll measured {times}"),
        Some(Unroll::Never) => " unroll never".to_owned(),
    }
}

fn list(values: &[Value]) -> String {
    values
        .iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Display for Op {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => out.write_str("nothing"),
            Self::Parameter(index) => write!(out, "parameter {index}"),
            Self::Constant(bits) => write!(out, "constant {bits:#x}"),
            Self::GlobalAddress(index) => write!(out, "global {index}"),
            Self::SharedAddress(index) => write!(out, "shared {index}"),
            Self::Binary(operation, a, b) => write!(out, "{} {a}, {b}", operation.text()),
            Self::Compare(predicate, a, b) => write!(out, "compare {} {a}, {b}", predicate.text()),
            Self::Negate(a) => write!(out, "negate {a}"),
            Self::Cast(kind, a) => write!(out, "cast {} {a}", kind.text()),
            Self::Select(a, b, c) => write!(out, "select {a}, {b}, {c}"),
            Self::Intrinsic(intrinsic, arguments) if arguments.is_empty() => {
                write!(out, "intrinsic {}", intrinsic.text())
            }
            Self::Intrinsic(intrinsic, arguments) => {
                write!(out, "intrinsic {} {}", intrinsic.text(), list(arguments))
            }
            Self::Cooperative(operation, operands) if operands.is_empty() => {
                write!(out, "cooperative {}", operation.text())
            }
            Self::Cooperative(operation, operands) => {
                write!(out, "cooperative {} {}", operation.text(), list(operands))
            }
            Self::Special(special) => write!(out, "special {special}"),
            Self::Phi(inputs) => {
                out.write_str("phi")?;
                for (index, (block, value)) in inputs.iter().enumerate() {
                    write!(out, "{} {block} {value}", if index > 0 { "," } else { "" })?;
                }
                Ok(())
            }
            Self::Slot { bytes, align } => write!(out, "slot {bytes} align {align}"),
            Self::Offset {
                pointer,
                index,
                scale,
            } => write!(out, "offset {pointer}, {index} scale {scale}"),
            Self::Load(pointer) => write!(out, "load {pointer}"),
            Self::Store { pointer, value } => write!(out, "store {pointer}, {value}"),
            Self::VolatileLoad(pointer) => write!(out, "load volatile {pointer}"),
            Self::VolatileStore { pointer, value } => {
                write!(out, "store volatile {pointer}, {value}")
            }
            Self::NontemporalLoad(pointer) => write!(out, "load nontemporal {pointer}"),
            Self::NontemporalStore { pointer, value } => {
                write!(out, "store nontemporal {pointer}, {value}")
            }
            Self::Copy {
                to,
                from,
                bytes,
                align,
            } => write!(out, "copy {to}, {from} bytes {bytes} align {align}"),
            Self::Clear { to, bytes, align } => {
                write!(out, "clear {to} bytes {bytes} align {align}")
            }
            Self::Call {
                function,
                arguments,
            } => {
                write!(out, "call {function}")?;
                if arguments.is_empty() {
                    Ok(())
                } else {
                    write!(out, " {}", list(arguments))
                }
            }
        }
    }
}

impl Display for Terminator {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jump(to) => write!(out, "jump {to}"),
            Self::Branch { condition, yes, no } => write!(out, "branch {condition}, {yes}, {no}"),
            Self::Switch {
                value,
                cases,
                default,
            } => {
                write!(out, "switch {value}, {default}")?;
                for (bits, to) in cases {
                    write!(out, ", {bits:#x} {to}")?;
                }
                Ok(())
            }
            Self::Return(None) => out.write_str("return"),
            Self::Return(Some(value)) => write!(out, "return {value}"),
            Self::Unreachable => out.write_str("unreachable"),
        }
    }
}

impl Display for Function {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| {
                format!(
                    "{}: {}{}",
                    parameter.name,
                    parameter.ty,
                    if parameter.is_restrict {
                        " restrict"
                    } else {
                        ""
                    }
                )
            })
            .collect();
        write!(
            out,
            "{} @{}({}) -> {}",
            if self.is_kernel { "kernel" } else { "device" },
            self.name,
            parameters.join(", "),
            self.result
        )?;
        if self.is_never_inlined {
            out.write_str(" noinline")?;
        }
        if let Some(bounds) = self.launch_bounds {
            write!(out, " bounds {} {}", bounds.max_threads, bounds.min_blocks)?;
        }
        writeln!(out, " line {} {{", self.line)?;
        for (index, instruction) in self.values.iter().enumerate() {
            if instruction.op.is_floating() {
                writeln!(out, "  %{index} = {} : {}", instruction.op, instruction.ty)?;
            }
        }
        for (index, block) in self.blocks.iter().enumerate() {
            writeln!(out, "b{index}:{}", unroll(block.unroll))?;
            for &value in &block.instructions {
                let instruction = &self.values[value.0 as usize];
                write!(out, "  {value} = {} : {}", instruction.op, instruction.ty)?;
                writeln!(out, " !{}", instruction.line)?;
            }
            writeln!(out, "  {} !{}", block.terminator, block.line)?;
        }
        out.write_str("}\n")
    }
}

impl Display for Module {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for global in &self.globals {
            let bytes = global.bytes.iter().fold(String::new(), |mut text, byte| {
                // Writing to a String cannot fail.
                let _ = write!(text, "{byte:02x}");
                text
            });
            writeln!(
                out,
                "{} @{}{} align {} bytes {} = {bytes}",
                global.kind.text(),
                global.name,
                if global.is_exported { " exported" } else { "" },
                global.align,
                global.size_bytes
            )?;
        }
        for shared in &self.shared {
            writeln!(
                out,
                "shared @{} align {} bytes {}",
                shared.name, shared.align, shared.bytes
            )?;
        }
        for (index, function) in self.functions.iter().enumerate() {
            if index > 0 || !self.globals.is_empty() || !self.shared.is_empty() {
                out.write_char('\n')?;
            }
            write!(out, "{function}")?;
        }
        Ok(())
    }
}
