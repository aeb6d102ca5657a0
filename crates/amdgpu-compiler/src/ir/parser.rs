//! Reads the text form of the IR.

use super::{
    AddressSpace, BinaryOp, Block, BlockId, CastKind, Cooperation, Function, Global, GlobalKind,
    Instruction, Intrinsic, LaunchBounds, Module, Op, Parameter, Predicate, Shared, Special,
    SpecialKind, Terminator, Type, Unroll, Value,
};

/// Values a function may have in text: keeps a wrong number from asking for all memory.
const MAX_VALUES: u32 = 1 << 24;

/// Parses a module; the error names the line.
pub fn parse(text: &str) -> Result<Module, String> {
    let mut module = Module::default();
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    while let Some((index, line)) = lines.next() {
        let at = |message: String| format!("line {}: {message}", index + 1);
        let kind = line
            .split_once(" @")
            .map(|(kind, rest)| (GlobalKind::from_text(kind), rest));
        if let Some((Some(kind), rest)) = kind {
            module
                .globals
                .push(global(kind, rest).ok_or_else(|| at("malformed global".to_owned()))?);
            continue;
        }
        if let Some(rest) = line.strip_prefix("shared @") {
            module
                .shared
                .push(shared(rest).ok_or_else(|| at("malformed shared memory".to_owned()))?);
            continue;
        }
        let mut function =
            header(line).ok_or_else(|| at("malformed function header".to_owned()))?;
        loop {
            let Some((index, line)) = lines.next() else {
                return Err(at("the function does not end".to_owned()));
            };
            if line == "}" {
                break;
            }
            body_line(&mut function, line.trim())
                .ok_or_else(|| format!("line {}: cannot read '{}'", index + 1, line.trim()))?;
        }
        module.functions.push(function);
    }
    Ok(module)
}

fn global(kind: GlobalKind, text: &str) -> Option<Global> {
    let (head, digits) = text.split_once(" =")?;
    let digits = digits.trim_start();
    let (name, [align, size_bytes]) = sizes(head, ["align", "bytes"])?;
    let bare = name.strip_suffix(" exported");
    let bytes = (0..digits.len() / 2)
        .map(|index| {
            digits
                .get(index * 2..index * 2 + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect::<Option<Vec<u8>>>()?;
    Some(Global {
        name: bare.unwrap_or(name).to_owned(),
        kind,
        bytes,
        size_bytes,
        align,
        is_exported: bare.is_some(),
    })
}

fn shared(text: &str) -> Option<Shared> {
    let (name, [align, bytes]) = sizes(text, ["align", "bytes"])?;
    Some(Shared {
        name: name.to_owned(),
        bytes,
        align,
    })
}

fn header(line: &str) -> Option<Function> {
    let (kind, rest) = line.split_once(" @")?;
    let (name, rest) = rest.split_once('(')?;
    let (parameters, rest) = rest.split_once(") -> ")?;
    let mut words = rest.split(' ');
    let result = ty(words.next()?)?;
    let mut function = Function {
        name: name.to_owned(),
        is_kernel: match kind {
            "kernel" => true,
            "device" => false,
            _ => return None,
        },
        is_never_inlined: false,
        parameters: Vec::new(),
        result,
        values: Vec::new(),
        blocks: Vec::new(),
        launch_bounds: None,
        line: 0,
    };
    for parameter in parameters
        .split(", ")
        .filter(|parameter| !parameter.is_empty())
    {
        let (name, rest) = parameter.split_once(": ")?;
        let (ty_text, is_restrict) = rest
            .strip_suffix(" restrict")
            .map_or((rest, false), |ty| (ty, true));
        function.parameters.push(Parameter {
            name: name.to_owned(),
            ty: ty(ty_text)?,
            is_restrict,
        });
    }
    while let Some(word) = words.next() {
        match word {
            "noinline" => function.is_never_inlined = true,
            "bounds" => {
                function.launch_bounds = Some(LaunchBounds {
                    max_threads: words.next()?.parse().ok()?,
                    min_blocks: words.next()?.parse().ok()?,
                });
            }
            "line" => function.line = words.next()?.parse().ok()?,
            "{" => return Some(function),
            _ => return None,
        }
    }
    None
}

/// What stands behind a label.
fn unroll(text: &str) -> Option<Unroll> {
    Some(match text {
        "unroll" => Unroll::Full,
        "unroll never" => Unroll::Never,
        _ => {
            let said = text.strip_prefix("unroll ")?;
            let measured = said.strip_prefix("measured ");
            let times = measured.unwrap_or(said).parse().ok()?;
            (times > 1).then_some(())?;
            match measured {
                Some(_) => Unroll::Measured(times),
                None => Unroll::Times(times),
            }
        }
    })
}

fn body_line(function: &mut Function, line: &str) -> Option<()> {
    if let Some((label, rest)) = line.split_once(':')
        && let Some(id) = block(label)
    {
        (id.0 as usize == function.blocks.len()).then_some(())?;
        let said = unroll(rest.trim());
        (said.is_some() || rest.is_empty()).then_some(())?;
        function.blocks.push(Block {
            unroll: said,
            ..Block::new(0)
        });
        return Some(());
    }
    let (text, line_number) = line
        .rsplit_once(" !")
        .map_or((line, Some(0)), |(text, number)| {
            (text, number.parse().ok())
        });
    let line_number: u32 = line_number?;
    if let Some((name, rest)) = text.split_once(" = ") {
        let value = value(name)?;
        let (op_text, type_text) = rest.rsplit_once(" : ")?;
        let op = op(op_text)?;
        let ty = ty(type_text)?;
        (value.0 < MAX_VALUES).then_some(())?;
        let index = value.0 as usize;
        if index >= function.values.len() {
            function.values.resize(
                index + 1,
                Instruction {
                    op: Op::Nothing,
                    ty: Type::Void,
                    line: 0,
                },
            );
        }
        let is_floating = op.is_floating();
        function.values[index] = Instruction {
            op,
            ty,
            line: line_number,
        };
        if !is_floating {
            function.blocks.last_mut()?.instructions.push(value);
        }
        return Some(());
    }
    let last = function.blocks.last_mut()?;
    last.terminator = terminator(text)?;
    last.line = line_number;
    Some(())
}

fn ty(text: &str) -> Option<Type> {
    Some(match text {
        "void" => Type::Void,
        "i1" => Type::I1,
        "i8" => Type::I8,
        "i16" => Type::I16,
        "i32" => Type::I32,
        "i64" => Type::I64,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "ptr" => Type::Pointer(AddressSpace::Generic),
        "ptr.global" => Type::Pointer(AddressSpace::Global),
        "ptr.constant" => Type::Pointer(AddressSpace::Constant),
        "ptr.shared" => Type::Pointer(AddressSpace::Shared),
        "ptr.private" => Type::Pointer(AddressSpace::Private),
        _ => return None,
    })
}

fn value(text: &str) -> Option<Value> {
    text.strip_prefix('%')?.parse().ok().map(Value)
}

fn block(text: &str) -> Option<BlockId> {
    text.strip_prefix('b')?.parse().ok().map(BlockId)
}

fn bits(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn values(text: &str) -> Option<Vec<Value>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(", ").map(value).collect()
}

fn two(text: &str) -> Option<(Value, Value)> {
    let (a, b) = text.split_once(", ")?;
    Some((value(a)?, value(b)?))
}

/// The number after each word of `names`, in order.
fn sizes<'t, const N: usize>(text: &'t str, names: [&str; N]) -> Option<(&'t str, [u64; N])> {
    let mut numbers = [0; N];
    let mut rest = text;
    for (index, name) in names.iter().enumerate().rev() {
        let (before, number) = rest.rsplit_once(&format!(" {name} "))?;
        numbers[index] = number.parse().ok()?;
        rest = before;
    }
    Some((rest, numbers))
}

fn op(text: &str) -> Option<Op> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some(match word {
        "parameter" => Op::Parameter(rest.parse().ok()?),
        "constant" => Op::Constant(bits(rest)?),
        "global" => Op::GlobalAddress(rest.parse().ok()?),
        "shared" => Op::SharedAddress(rest.parse().ok()?),
        "compare" => {
            let (predicate, rest) = rest.split_once(' ')?;
            let (a, b) = two(rest)?;
            Op::Compare(Predicate::from_text(predicate)?, a, b)
        }
        "negate" => Op::Negate(value(rest)?),
        "cast" => {
            let (kind, rest) = rest.split_once(' ')?;
            Op::Cast(CastKind::from_text(kind)?, value(rest)?)
        }
        "select" => match values(rest)?.as_slice() {
            [a, b, c] => Op::Select(*a, *b, *c),
            _ => return None,
        },
        "intrinsic" => {
            let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
            Op::Intrinsic(Intrinsic::from_text(name)?, values(arguments)?)
        }
        "cooperative" => {
            let (name, operands) = rest.split_once(' ').unwrap_or((rest, ""));
            Op::Cooperative(Cooperation::from_text(name)?, values(operands)?)
        }
        "special" => {
            let (kind, axis) = rest.split_once('.')?;
            let axis = ["x", "y", "z"].iter().position(|name| *name == axis)? as u8;
            Op::Special(Special {
                kind: SpecialKind::from_text(kind)?,
                axis,
            })
        }
        "phi" => {
            let inputs = rest
                .split(", ")
                .filter(|input| !input.is_empty())
                .map(|input| {
                    let (from, input) = input.split_once(' ')?;
                    Some((block(from)?, value(input)?))
                });
            Op::Phi(inputs.collect::<Option<Vec<_>>>()?)
        }
        "slot" => {
            let (bytes, [align]) = sizes(rest, ["align"])?;
            Op::Slot {
                bytes: bytes.parse().ok()?,
                align,
            }
        }
        "offset" => {
            let (operands, [scale]) = sizes(rest, ["scale"])?;
            let (pointer, index) = two(operands)?;
            Op::Offset {
                pointer,
                index,
                scale,
            }
        }
        "load" => {
            if let Some(pointer) = rest.strip_prefix("volatile ") {
                Op::VolatileLoad(value(pointer)?)
            } else if let Some(pointer) = rest.strip_prefix("nontemporal ") {
                Op::NontemporalLoad(value(pointer)?)
            } else {
                Op::Load(value(rest)?)
            }
        }
        "store" => {
            if let Some(operands) = rest.strip_prefix("volatile ") {
                let (pointer, value) = two(operands)?;
                Op::VolatileStore { pointer, value }
            } else if let Some(operands) = rest.strip_prefix("nontemporal ") {
                let (pointer, value) = two(operands)?;
                Op::NontemporalStore { pointer, value }
            } else {
                let (pointer, value) = two(rest)?;
                Op::Store { pointer, value }
            }
        }
        "copy" => {
            let (operands, [bytes, align]) = sizes(rest, ["bytes", "align"])?;
            let (to, from) = two(operands)?;
            Op::Copy {
                to,
                from,
                bytes,
                align,
            }
        }
        "clear" => {
            let (operand, [bytes, align]) = sizes(rest, ["bytes", "align"])?;
            Op::Clear {
                to: value(operand)?,
                bytes,
                align,
            }
        }
        "call" => {
            let (function, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
            let arguments = if arguments.is_empty() {
                Vec::new()
            } else {
                values(arguments)?
            };
            Op::Call {
                function: function.parse().ok()?,
                arguments,
            }
        }
        _ => {
            let (a, b) = two(rest)?;
            Op::Binary(BinaryOp::from_text(word)?, a, b)
        }
    })
}

fn terminator(text: &str) -> Option<Terminator> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some(match word {
        "jump" => Terminator::Jump(block(rest)?),
        "branch" => {
            let mut parts = rest.split(", ");
            Terminator::Branch {
                condition: value(parts.next()?)?,
                yes: block(parts.next()?)?,
                no: block(parts.next()?)?,
            }
        }
        "switch" => {
            let mut parts = rest.split(", ");
            let value = value(parts.next()?)?;
            let default = block(parts.next()?)?;
            let cases = parts.map(|part| {
                part.split_once(' ')
                    .and_then(|(number, to)| Some((bits(number)?, block(to)?)))
            });
            Terminator::Switch {
                value,
                cases: cases.collect::<Option<Vec<_>>>()?,
                default,
            }
        }
        "return" if rest.is_empty() => Terminator::Return(None),
        "return" => Terminator::Return(Some(value(rest)?)),
        "unreachable" => Terminator::Unreachable,
        _ => return None,
    })
}
