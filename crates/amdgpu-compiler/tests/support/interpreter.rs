//! Runs a function of one block by the definition of each operation, slowly and plainly: what passes make is compared with it.

use std::collections::BTreeMap;

use amdgpu_compiler::ir::{BinaryOp, CastKind, Function, Intrinsic, Op, Predicate, Type, Value};

/// Where the memory of the first parameter begins.
const MEMORY: u64 = 0x1000;
/// Private variables lie far apart.
const SLOTS: u64 = 0x10_0000;
const SLOT_STEP: u64 = 0x1_0000;

/// The memory behind the first parameter after the function has run on `memory`.
pub fn run(function: &Function, memory: &[u8]) -> Vec<u8> {
    assert_eq!(function.blocks.len(), 1, "one block\n{function:?}");
    let mut machine = Machine {
        function,
        values: vec![None; function.values.len()],
        memory: memory.to_vec(),
        private: BTreeMap::new(),
    };
    for &value in &function.blocks[0].instructions {
        let result = machine.perform(value);
        machine.values[value.0 as usize] = Some(result);
    }
    machine.memory
}

struct Machine<'f> {
    function: &'f Function,
    values: Vec<Option<u64>>,
    memory: Vec<u8>,
    private: BTreeMap<u64, u8>,
}

/// The low `bits` of a number.
fn low(number: i128, bits: u32) -> u64 {
    (number & ((1_i128 << bits) - 1)) as u64
}

/// The low `bits` as a signed number.
fn signed(number: u64, bits: u32) -> i128 {
    let number = i128::from(number);
    if number >> (bits - 1) & 1 == 1 {
        number - (1_i128 << bits)
    } else {
        number
    }
}

impl Machine<'_> {
    fn get(&self, value: Value) -> u64 {
        match self.function.op(value) {
            Op::Constant(bits) => *bits,
            Op::Parameter(0) => MEMORY,
            _ => self.values[value.0 as usize].expect("computed before it is used"),
        }
    }

    fn byte(&mut self, address: u64) -> &mut u8 {
        if address < SLOTS {
            &mut self.memory[(address - MEMORY) as usize]
        } else {
            self.private.entry(address).or_default()
        }
    }

    fn perform(&mut self, value: Value) -> u64 {
        let ty = self.function.ty(value);
        match self.function.op(value).clone() {
            Op::Binary(operation, a, b) => binary(operation, ty.bits(), self.get(a), self.get(b)),
            Op::Compare(predicate, a, b) => {
                let bits = self.function.ty(a).bits();
                u64::from(compare(predicate, bits, self.get(a), self.get(b)))
            }
            Op::Select(condition, a, b) => self.get(if self.get(condition) == 1 { a } else { b }),
            Op::Negate(a) => low(-i128::from(self.get(a)), ty.bits()),
            Op::Cast(kind, a) => cast(kind, self.function.ty(a), ty, self.get(a)),
            Op::Intrinsic(Intrinsic::MultiplyHighUnsigned, arguments) => {
                let product =
                    u128::from(self.get(arguments[0])) * u128::from(self.get(arguments[1]));
                (product >> ty.bits()) as u64
            }
            Op::Slot { .. } => SLOTS + SLOT_STEP * u64::from(value.0),
            Op::Offset {
                pointer,
                index,
                scale,
            } => {
                let index = signed(self.get(index), self.function.ty(index).bits());
                (i128::from(self.get(pointer)) + index * i128::from(scale)) as u64
            }
            Op::Load(pointer) => {
                let address = self.get(pointer);
                (0..ty.bytes()).fold(0, |word, byte| {
                    word | u64::from(*self.byte(address + byte)) << (8 * byte)
                })
            }
            Op::Store { pointer, value } => {
                let (address, word) = (self.get(pointer), self.get(value));
                for byte in 0..self.function.ty(value).bytes() {
                    *self.byte(address + byte) = (word >> (8 * byte)) as u8;
                }
                0
            }
            other => panic!("{other:?} is not among the operations that this interpreter knows"),
        }
    }
}

fn binary(operation: BinaryOp, bits: u32, a: u64, b: u64) -> u64 {
    use BinaryOp as B;
    let (x, y) = (i128::from(a), i128::from(b));
    let (p, q) = (signed(a, bits), signed(b, bits));
    let count = b % u64::from(bits);
    let result = match operation {
        B::Add => x + y,
        B::Subtract => x - y,
        B::Multiply => p * q,
        B::DivideSigned => p.checked_div(q).unwrap_or(0),
        B::DivideUnsigned => x.checked_div(y).unwrap_or(0),
        B::RemainderSigned => p.checked_rem(q).unwrap_or(p),
        B::RemainderUnsigned => x.checked_rem(y).unwrap_or(x),
        B::ShiftLeft => x << count,
        B::ShiftRightSigned => p >> count,
        B::ShiftRightUnsigned => x >> count,
        B::And => x & y,
        B::Or => x | y,
        B::Xor => x ^ y,
        _ => panic!("{operation:?} is not among the operations that this interpreter knows"),
    };
    low(result, bits)
}

fn compare(predicate: Predicate, bits: u32, a: u64, b: u64) -> bool {
    use Predicate as P;
    let (p, q) = (signed(a, bits), signed(b, bits));
    match predicate {
        P::Equal => a == b,
        P::NotEqual => a != b,
        P::LessSigned => p < q,
        P::LessEqualSigned => p <= q,
        P::GreaterSigned => p > q,
        P::GreaterEqualSigned => p >= q,
        P::LessUnsigned => a < b,
        P::LessEqualUnsigned => a <= b,
        P::GreaterUnsigned => a > b,
        P::GreaterEqualUnsigned => a >= b,
        _ => panic!("{predicate:?} is not among the operations that this interpreter knows"),
    }
}

fn cast(kind: CastKind, from: Type, to: Type, value: u64) -> u64 {
    match kind {
        CastKind::Truncate => low(i128::from(value), to.bits()),
        CastKind::ExtendSigned => low(signed(value, from.bits()), to.bits()),
        CastKind::ExtendUnsigned | CastKind::Reinterpret | CastKind::AddressSpace => value,
        _ => panic!("{kind:?} is not among the operations that this interpreter knows"),
    }
}
