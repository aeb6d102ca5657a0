//! Where the lanes' copies of private memory lie.
//!
//! When all accesses to it have one size, the copies are interleaved: element by element, one for each lane, so that lanes that
//! access the same element access neighbours. Else each lane has its copy in one piece.

use crate::ir::{Function, Op, Value};

pub struct Slots {
    /// Of pointers into private memory, the value of the slot.
    root: Vec<Option<Value>>,
    /// Of slots, bytes of an element; 0 where copies are not interleaved.
    element: Vec<u64>,
    bytes: Vec<u64>,
}

impl Slots {
    pub fn new(function: &Function) -> Self {
        let count = function.values.len();
        let mut slots = Self {
            root: vec![None; count],
            element: vec![0; count],
            bytes: vec![0; count],
        };
        for (index, instruction) in function.values.iter().enumerate() {
            if let Op::Slot { bytes, align } = instruction.op {
                slots.root[index] = Some(Value(index as u32));
                // At least one, and every copy is aligned.
                slots.bytes[index] = bytes.max(1).next_multiple_of(align.max(1));
            }
        }
        // Operands come before their uses in blocks, but not in the list of values.
        let mut changed = true;
        while changed {
            changed = false;
            for (index, instruction) in function.values.iter().enumerate() {
                if let Op::Offset { pointer, .. } = instruction.op
                    && slots.root[index].is_none()
                    && slots.root[pointer.0 as usize].is_some()
                {
                    slots.root[index] = slots.root[pointer.0 as usize];
                    changed = true;
                }
            }
        }
        slots.find_elements(function);
        slots
    }

    fn find_elements(&mut self, function: &Function) {
        let mut is_refused = vec![false; self.root.len()];
        let mut access = |slots: &mut Self, pointer: Value, bytes: u64| {
            if let Some(root) = slots.root[pointer.0 as usize] {
                let element = &mut slots.element[root.0 as usize];
                is_refused[root.0 as usize] |= *element != 0 && *element != bytes;
                *element = bytes;
            }
        };
        let mut escapes: Vec<Value> = Vec::new();
        for instruction in &function.values {
            match &instruction.op {
                Op::Load(pointer) | Op::NontemporalLoad(pointer) => {
                    access(self, *pointer, instruction.ty.bytes());
                }
                Op::Store { pointer, value } | Op::NontemporalStore { pointer, value } => {
                    access(self, *pointer, function.ty(*value).bytes());
                    escapes.push(*value);
                }
                Op::Offset { index, .. } => escapes.push(*index),
                op => op.for_each_operand(|operand| escapes.push(operand)),
            }
        }
        for block in &function.blocks {
            escapes.extend(block.terminator.operand());
        }
        for value in escapes {
            if let Some(root) = self.root[value.0 as usize] {
                is_refused[root.0 as usize] = true;
            }
        }
        for (index, instruction) in function.values.iter().enumerate() {
            if let (
                Op::Offset {
                    index: by, scale, ..
                },
                Some(root),
            ) = (&instruction.op, self.root[index])
            {
                let element = self.element[root.0 as usize].max(1);
                let step = function
                    .constant(*by)
                    .map_or(*scale, |by| by.wrapping_mul(*scale));
                is_refused[root.0 as usize] |= !step.is_multiple_of(element);
            }
        }
        for (index, is_refused) in is_refused.into_iter().enumerate() {
            let element = self.element[index];
            if is_refused || element != 0 && !self.bytes[index].is_multiple_of(element) {
                self.element[index] = 0;
            }
        }
    }

    pub fn bytes(&self, slot: Value) -> u64 {
        self.bytes[slot.0 as usize]
    }

    /// Whether a value points into private memory whose copies are interleaved.
    pub fn is_interleaved(&self, value: Value) -> bool {
        self.root[value.0 as usize].is_some_and(|root| self.element[root.0 as usize] != 0)
    }

    /// Whether a value is known to point into private memory.
    pub fn is_private(&self, value: Value) -> bool {
        self.root[value.0 as usize].is_some()
    }

    /// Bytes from the copy of a lane to that of the next.
    pub fn stride(&self, slot: Value) -> i64 {
        match self.element[slot.0 as usize] {
            0 => self.bytes[slot.0 as usize] as i64,
            element => element as i64,
        }
    }
}
