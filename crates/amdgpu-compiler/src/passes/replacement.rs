//! Values that others take the place of, collected by a pass and then carried out at once.

use crate::ir::{Function, Op, Value};

/// What stands for each value; nothing is stored until the first is replaced.
#[derive(Debug, Default)]
pub struct Replacement {
    of: Vec<Option<Value>>,
    count: u64,
}

impl Replacement {
    pub fn set(&mut self, function: &Function, value: Value, by: Value) {
        let index = value.0 as usize;
        if index >= self.of.len() {
            self.of.resize(function.values.len().max(index + 1), None);
        }
        self.of[index] = Some(by);
        self.count += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn has(&self, value: Value) -> bool {
        matches!(self.of.get(value.0 as usize), Some(Some(_)))
    }

    /// What a value is in the end.
    pub fn find(&self, mut value: Value) -> Value {
        while let Some(Some(next)) = self.of.get(value.0 as usize) {
            value = *next;
        }
        value
    }

    /// Brings the operands of an instruction up to date.
    pub fn rename(&self, op: &mut Op) {
        if !self.is_empty() {
            op.for_each_operand_mut(|operand| *operand = self.find(*operand));
        }
    }

    /// Rewrites every use, and deletes what was replaced.
    pub fn apply(&self, function: &mut Function) {
        if self.is_empty() {
            return;
        }
        function.replace_uses(&self.of);
        for block in &mut function.blocks {
            block.instructions.retain(|value| !self.has(*value));
        }
        for (instruction, replacement) in function.values.iter_mut().zip(&self.of) {
            if replacement.is_some() {
                instruction.op = Op::Nothing;
            }
        }
    }
}
