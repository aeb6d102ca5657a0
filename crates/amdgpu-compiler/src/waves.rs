//! What the CPU makes of the built-in values of a wave: lanes are counted along x, then y, then z, as on GPUs.

use crate::ir::{BinaryOp, Function, Instruction, Module, Op, Special, SpecialKind, Type, Value};

/// Replaces the number of the lane and the size of a wave.
pub fn resolve(module: &mut Module, wave_size: u32) {
    for function in &mut module.functions {
        resolve_function(function, u64::from(wave_size));
    }
}

fn resolve_function(function: &mut Function, wave_size: u64) {
    for block in 0..function.blocks.len() {
        let mut position = 0;
        while position < function.blocks[block].instructions.len() {
            let value = function.blocks[block].instructions[position];
            match function.op(value) {
                Op::Special(special) if special.kind == SpecialKind::Lane => {
                    let before = lane(function, value, wave_size);
                    let count = before.len();
                    let list = &mut function.blocks[block].instructions;
                    list.splice(position..position, before);
                    position += count + 1;
                }
                Op::Special(special) if special.kind == SpecialKind::WaveSize => {
                    function.values[value.0 as usize].op = Op::Constant(wave_size);
                    function.blocks[block].instructions.remove(position);
                }
                _ => position += 1,
            }
        }
    }
}

/// Makes `value` the number of the lane; what that needs, in order.
fn lane(function: &mut Function, value: Value, wave_size: u64) -> Vec<Value> {
    let line = function.values[value.0 as usize].line;
    let mut list = Vec::new();
    let mut emit = |op: Op| {
        let ty = Type::I32;
        function.values.push(Instruction { op, ty, line });
        let value = Value(function.values.len() as u32 - 1);
        list.push(value);
        value
    };
    let mut index = |kind, axis| emit(Op::Special(Special { kind, axis }));
    let (size_x, size_y) = (
        index(SpecialKind::BlockSize, 0),
        index(SpecialKind::BlockSize, 1),
    );
    let [x, y, z] = [0, 1, 2].map(|axis| index(SpecialKind::ThreadIndex, axis));
    let rows = emit(Op::Binary(BinaryOp::Multiply, z, size_y));
    let row = emit(Op::Binary(BinaryOp::Add, rows, y));
    let first = emit(Op::Binary(BinaryOp::Multiply, row, size_x));
    let item = emit(Op::Binary(BinaryOp::Add, first, x));
    let mask = function.add_value(Op::Constant(wave_size - 1), Type::I32, 0);
    function.values[value.0 as usize].op = Op::Binary(BinaryOp::And, item, mask);
    list
}
