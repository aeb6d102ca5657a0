//! Runs a kernel by the definition of each operation, slowly and plainly: what passes make is compared with it.
//!
//! Memory is a list of regions, and a pointer is the number of one with an offset. What nobody has written is garbage.

use amdgpu_compiler::ir::{
    BinaryOp, BlockId, CastKind, Function, Intrinsic, Module, Op, Predicate, Terminator, Type,
    Value,
};

/// Far above what a program of the tests runs.
const MAX_BLOCKS: usize = 100_000;
const REGION_BITS: u32 = 32;
/// The region of the first parameter; 0 holds no memory, so that a null pointer points nowhere.
const MEMORY: usize = 1;
const GARBAGE: u8 = 0xcd;

/// The memory behind the first parameter after the kernel has run on `memory`; the other parameters are `arguments`.
pub fn run(module: &Module, memory: &[u8], arguments: &[u64]) -> Vec<u8> {
    let kernel = module.functions.iter().find(|function| function.is_kernel);
    let mut machine = Machine {
        module,
        regions: vec![Vec::new(), memory.to_vec()],
    };
    let mut all = vec![(MEMORY as u64) << REGION_BITS];
    all.extend(arguments);
    machine.call(kernel.expect("a kernel"), &all);
    machine.regions.swap_remove(MEMORY)
}

struct Machine<'m> {
    module: &'m Module,
    regions: Vec<Vec<u8>>,
}

/// A function that is being called.
struct Frame<'m> {
    function: &'m Function,
    values: Vec<u64>,
}

impl Frame<'_> {
    fn get(&self, value: Value) -> u64 {
        self.values[value.0 as usize]
    }

    fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }
}

fn low(number: u64, ty: Type) -> u64 {
    match ty.bits() {
        0 => 0,
        bits => number & (u64::MAX >> (64 - bits)),
    }
}

fn signed(number: u64, ty: Type) -> i64 {
    let unused = 64 - ty.bits();
    (number << unused).cast_signed() >> unused
}

/// Every float of 32 bits is one of 64.
fn float(bits: u64, ty: Type) -> f64 {
    match ty {
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// Rounds to the type. Sums, products and quotients of 32 bits rounded twice are those rounded once (Figueroa 1995).
fn bits(number: f64, ty: Type) -> u64 {
    match ty {
        Type::F32 => u64::from((number as f32).to_bits()),
        _ => number.to_bits(),
    }
}

impl<'m> Machine<'m> {
    fn bytes(&mut self, pointer: u64, size: u64) -> &mut [u8] {
        let offset = (pointer & ((1 << REGION_BITS) - 1)) as usize;
        &mut self.regions[(pointer >> REGION_BITS) as usize][offset..offset + size as usize]
    }

    fn call(&mut self, function: &'m Function, arguments: &[u64]) -> u64 {
        let mut frame = Frame {
            function,
            values: vec![0; function.values.len()],
        };
        for (index, instruction) in function.values.iter().enumerate() {
            frame.values[index] = match instruction.op {
                Op::Constant(bits) => low(bits, instruction.ty),
                Op::Parameter(number) => low(arguments[number as usize], instruction.ty),
                Op::Slot { bytes, .. } => {
                    self.regions.push(vec![GARBAGE; bytes as usize]);
                    (self.regions.len() as u64 - 1) << REGION_BITS
                }
                _ => 0,
            };
        }
        let (mut from, mut block) = (BlockId(0), BlockId(0));
        for _ in 0..MAX_BLOCKS {
            let data = &function.blocks[block.0 as usize];
            // Phis change all at once.
            let phis: Vec<(Value, u64)> = data
                .instructions
                .iter()
                .map_while(|value| match function.op(*value) {
                    Op::Phi(inputs) => {
                        let input = inputs.iter().find(|(before, _)| *before == from);
                        let (_, input) = input.expect("an input for each predecessor");
                        Some((*value, frame.get(*input)))
                    }
                    _ => None,
                })
                .collect();
            for (phi, bits) in &phis {
                frame.values[phi.0 as usize] = *bits;
            }
            for value in &data.instructions[phis.len()..] {
                if !matches!(function.op(*value), Op::Slot { .. }) {
                    frame.values[value.0 as usize] = self.perform(&frame, *value);
                }
            }
            from = block;
            block = match &data.terminator {
                Terminator::Return(value) => return value.map_or(0, |value| frame.get(value)),
                Terminator::Jump(to) => *to,
                Terminator::Branch { condition, yes, no } => {
                    if frame.get(*condition) == 0 {
                        *no
                    } else {
                        *yes
                    }
                }
                Terminator::Switch {
                    value,
                    cases,
                    default,
                } => {
                    let (bits, ty) = (frame.get(*value), frame.ty(*value));
                    let case = cases.iter().find(|(case, _)| low(*case, ty) == bits);
                    case.map_or(*default, |(_, to)| *to)
                }
                Terminator::Unreachable => panic!("unreachable was reached"),
            };
        }
        panic!("a program without an end");
    }

    fn perform(&mut self, frame: &Frame<'m>, value: Value) -> u64 {
        let ty = frame.ty(value);
        let get = |operand: Value| frame.get(operand);
        match frame.function.op(value) {
            Op::Binary(operation, a, b) if ty.is_float() => bits(
                float_binary(*operation, float(get(*a), ty), float(get(*b), ty)),
                ty,
            ),
            Op::Binary(operation, a, b) => low(binary(*operation, ty, get(*a), get(*b)), ty),
            Op::Compare(predicate, a, b) => {
                u64::from(compare(*predicate, frame.ty(*a), get(*a), get(*b)))
            }
            Op::Select(condition, a, b) => get(if get(*condition) == 0 { *b } else { *a }),
            Op::Negate(a) if ty.is_float() => bits(-float(get(*a), ty), ty),
            Op::Negate(a) => low(get(*a).wrapping_neg(), ty),
            Op::Cast(kind, a) => cast(*kind, frame.ty(*a), ty, get(*a)),
            Op::Intrinsic(Intrinsic::MultiplyHighUnsigned, arguments) => {
                let product = u128::from(get(arguments[0])) * u128::from(get(arguments[1]));
                (product >> ty.bits()) as u64
            }
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                let index = signed(get(*index), frame.ty(*index)).cast_unsigned();
                get(*pointer).wrapping_add(index.wrapping_mul(*scale))
            }
            Op::Load(pointer) | Op::NontemporalLoad(pointer) => {
                let bytes = self.bytes(get(*pointer), ty.bytes()).iter().rev();
                bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            }
            Op::Store {
                pointer,
                value: stored,
            }
            | Op::NontemporalStore {
                pointer,
                value: stored,
            } => {
                let size = frame.ty(*stored).bytes();
                let bytes = get(*stored).to_le_bytes();
                self.bytes(get(*pointer), size)
                    .copy_from_slice(&bytes[..size as usize]);
                0
            }
            Op::Clear { to, bytes, .. } => {
                self.bytes(get(*to), *bytes).fill(0);
                0
            }
            Op::Copy {
                to, from, bytes, ..
            } => {
                let copied = self.bytes(get(*from), *bytes).to_vec();
                self.bytes(get(*to), *bytes).copy_from_slice(&copied);
                0
            }
            Op::Call {
                function,
                arguments,
            } => {
                let arguments: Vec<u64> = arguments.iter().map(|argument| get(*argument)).collect();
                let module = self.module;
                self.call(&module.functions[*function as usize], &arguments)
            }
            other => panic!("{other:?} is not among the operations that this interpreter knows"),
        }
    }
}

fn binary(operation: BinaryOp, ty: Type, a: u64, b: u64) -> u64 {
    use BinaryOp as B;
    let (x, y) = (signed(a, ty), signed(b, ty));
    let count = (b % u64::from(ty.bits())) as u32;
    match operation {
        B::Add => a.wrapping_add(b),
        B::Subtract => a.wrapping_sub(b),
        B::Multiply => a.wrapping_mul(b),
        B::DivideSigned if y == 0 => 0,
        B::DivideSigned => x.wrapping_div(y).cast_unsigned(),
        B::DivideUnsigned => a.checked_div(b).unwrap_or(0),
        B::RemainderSigned if y == 0 => a,
        B::RemainderSigned => x.wrapping_rem(y).cast_unsigned(),
        B::RemainderUnsigned => a.checked_rem(b).unwrap_or(a),
        B::ShiftLeft => a << count,
        B::ShiftRightSigned => (x >> count).cast_unsigned(),
        B::ShiftRightUnsigned => a >> count,
        B::And => a & b,
        B::Or => a | b,
        B::Xor => a ^ b,
        _ => panic!("{operation:?} of integers"),
    }
}

fn float_binary(operation: BinaryOp, a: f64, b: f64) -> f64 {
    match operation {
        BinaryOp::AddFloat => a + b,
        BinaryOp::SubtractFloat => a - b,
        BinaryOp::MultiplyFloat => a * b,
        BinaryOp::DivideFloat => a / b,
        _ => panic!("{operation:?} of floats"),
    }
}

fn compare(predicate: Predicate, ty: Type, a: u64, b: u64) -> bool {
    use Predicate as P;
    let (x, y) = (signed(a, ty), signed(b, ty));
    match predicate {
        P::Equal => a == b,
        P::NotEqual => a != b,
        P::LessSigned => x < y,
        P::LessEqualSigned => x <= y,
        P::GreaterSigned => x > y,
        P::GreaterEqualSigned => x >= y,
        P::LessUnsigned => a < b,
        P::LessEqualUnsigned => a <= b,
        P::GreaterUnsigned => a > b,
        P::GreaterEqualUnsigned => a >= b,
        _ => panic!("{predicate:?} is not among the operations that this interpreter knows"),
    }
}

fn cast(kind: CastKind, from: Type, to: Type, value: u64) -> u64 {
    match kind {
        CastKind::Truncate => low(value, to),
        CastKind::ExtendSigned => low(signed(value, from).cast_unsigned(), to),
        CastKind::ExtendUnsigned | CastKind::Reinterpret | CastKind::AddressSpace => value,
        // Rounded once, from the integer.
        CastKind::SignedToFloat if to == Type::F32 => {
            u64::from((signed(value, from) as f32).to_bits())
        }
        CastKind::SignedToFloat => (signed(value, from) as f64).to_bits(),
        CastKind::UnsignedToFloat if to == Type::F32 => u64::from((value as f32).to_bits()),
        CastKind::UnsignedToFloat => (value as f64).to_bits(),
        CastKind::FloatToSigned => low(saturated(float(value, from), to).cast_unsigned(), to),
        _ => {
            panic!("{kind:?} from {from:?} is not among the operations that this interpreter knows")
        }
    }
}

/// The nearest number of the type; of no number 0.
fn saturated(number: f64, ty: Type) -> i64 {
    let unused = 64 - ty.bits();
    (number as i64).clamp(i64::MIN >> unused, i64::MAX >> unused)
}
