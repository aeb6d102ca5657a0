//! Adds the counting.

use super::prepare;
use crate::ir::cfg::Cfg;
use crate::ir::loops::Loops;
use crate::ir::{
    AddressSpace, BinaryOp, CastKind, Cooperation, Function, Global, GlobalKind, Module, Op,
    Predicate, Special, SpecialKind, Terminator, Type, Value,
};
use crate::profile::{
    AccessSite, BUFFER, BlockSite, BranchSite, Edge, KernelSites, LoopSite, SAMPLED_ITEMS, Sites,
};

/// Branches and accesses of one kernel that are sampled work-item by work-item: 8 and 16 KiB of the buffer for each.
const MAX_SAMPLED: usize = 256;
const WORD_BYTES: u64 = 8;

/// Adds counting to every kernel; what the words of the buffer stand for.
pub(crate) fn instrument(module: &mut Module) -> Sites {
    prepare(module);
    let buffer = module.globals.len() as u32;
    let mut sites = Sites::default();
    for function in &mut module.functions {
        if function.is_kernel {
            let counter = Counter {
                function,
                buffer,
                words: &mut sites.words,
                base: Value(0),
                item: Value(0),
                one: Value(0),
            };
            sites.kernels.push(counter.run());
        }
    }
    module.globals.push(Global {
        name: BUFFER.to_owned(),
        kind: GlobalKind::Variable,
        bytes: Vec::new(),
        size_bytes: sites.words * WORD_BYTES,
        align: WORD_BYTES,
        is_exported: true,
    });
    sites
}

struct Counter<'a> {
    function: &'a mut Function,
    buffer: u32,
    words: &'a mut u64,
    /// Address of the buffer.
    base: Value,
    /// Number of the work-item among those that are sampled; behind them all others.
    item: Value,
    one: Value,
}

impl Counter<'_> {
    fn run(mut self) -> KernelSites {
        let loops = self.loops();
        let space = Type::Pointer(GlobalKind::Variable.space());
        let base = Op::GlobalAddress(self.buffer);
        self.base = self.function.add_value(base, space, 0);
        self.one = self.constant(1);
        let prologue = self.prologue();
        let (mut blocks, mut accesses, mut branches) = (Vec::new(), Vec::new(), 0);
        for number in 0..self.function.blocks.len() {
            let line = self.function.blocks[number].line;
            let old = std::mem::take(&mut self.function.blocks[number].instructions);
            let is_head = |function: &Function, value: &Value| {
                matches!(
                    function.op(*value),
                    Op::Phi(_) | Op::Slot { .. } | Op::Cast(CastKind::AddressSpace, _)
                )
            };
            let head = old
                .iter()
                .take_while(|value| is_head(self.function, value))
                .count();
            let mut out: Vec<Value> = old[..head].to_vec();
            if number == 0 {
                out.extend(&prologue);
            }
            let runs = self.reserve(1);
            self.add(&mut out, runs, self.one);
            for &value in &old[head..] {
                if let Some((pointer, bytes, is_store)) = self.access(value)
                    && accesses.len() < MAX_SAMPLED
                {
                    let samples = self.reserve(SAMPLED_ITEMS + 1);
                    self.note_address(&mut out, samples, pointer);
                    accesses.push(AccessSite {
                        line: self.function.values[value.0 as usize].line,
                        is_store,
                        bytes,
                        samples,
                    });
                }
                out.push(value);
            }
            let branch = match self.function.blocks[number].terminator {
                Terminator::Branch { condition, .. } => {
                    let site = self.branch(&mut out, condition, line, branches < MAX_SAMPLED);
                    branches += 1;
                    Some(site)
                }
                _ => None,
            };
            self.function.blocks[number].instructions = out;
            blocks.push(BlockSite { line, runs, branch });
        }
        KernelSites {
            name: self.function.name.clone(),
            blocks,
            loops,
            accesses,
        }
    }

    fn loops(&self) -> Vec<LoopSite> {
        let function = &*self.function;
        let loops = Loops::new(function, &Cfg::new(function));
        let site = |item: &crate::ir::loops::Loop| LoopSite {
            line: function.blocks[item.header.0 as usize].line,
            header: item.header.0,
            back: item
                .latches
                .iter()
                .map(|latch| Edge {
                    block: latch.0,
                    when: match function.blocks[latch.0 as usize].terminator {
                        Terminator::Branch { yes, no, .. } if yes != no => Some(yes == item.header),
                        _ => None,
                    },
                })
                .collect(),
        };
        loops.list.iter().map(site).collect()
    }

    fn reserve(&mut self, words: u64) -> u32 {
        let first = *self.words;
        *self.words += words;
        first as u32
    }

    fn constant(&mut self, bits: u64) -> Value {
        self.function.add_value(Op::Constant(bits), Type::I64, 0)
    }

    fn emit(&mut self, out: &mut Vec<Value>, op: Op, ty: Type) -> Value {
        let value = self.function.add_value(op, ty, 0);
        out.push(value);
        value
    }

    /// Address of a word, with `stride` words for each sampled work-item.
    fn address(&mut self, out: &mut Vec<Value>, word: u32, stride: u64) -> Value {
        let index = self.constant(u64::from(word));
        let ty = self.function.ty(self.base);
        let op = Op::Offset {
            pointer: self.base,
            index,
            scale: WORD_BYTES,
        };
        let first = self.emit(out, op, ty);
        if stride == 0 {
            return first;
        }
        let op = Op::Offset {
            pointer: first,
            index: self.item,
            scale: stride * WORD_BYTES,
        };
        self.emit(out, op, ty)
    }

    /// Adds to a word that all work-items share.
    fn add(&mut self, out: &mut Vec<Value>, word: u32, value: Value) {
        let pointer = self.address(out, word, 0);
        let op = Op::Cooperative(Cooperation::AtomicAdd, vec![pointer, value]);
        self.emit(out, op, Type::I64);
    }

    fn branch(
        &mut self,
        out: &mut Vec<Value>,
        condition: Value,
        line: u32,
        is_sampled: bool,
    ) -> BranchSite {
        let own = self.function.values[condition.0 as usize].line;
        let widen = Op::Cast(CastKind::ExtendUnsigned, condition);
        let is_taken = self.emit(out, widen, Type::I64);
        let taken = self.reserve(1);
        self.add(out, taken, is_taken);
        let samples = is_sampled.then(|| self.reserve(2 * (SAMPLED_ITEMS + 1)));
        if let Some(first) = samples {
            for (place, value) in [(first, is_taken), (first + 1, self.one)] {
                let pointer = self.address(out, place, 2);
                let op = Op::Cooperative(Cooperation::AtomicAdd, vec![pointer, value]);
                self.emit(out, op, Type::I64);
            }
        }
        BranchSite {
            line: if own > 0 { own } else { line },
            taken,
            samples,
        }
    }

    /// Pointer, bytes and direction of an access to memory that work-items share with the host.
    fn access(&self, value: Value) -> Option<(Value, u32, bool)> {
        let (pointer, ty, is_store) = match *self.function.op(value) {
            Op::Load(pointer) | Op::VolatileLoad(pointer) | Op::NontemporalLoad(pointer) => {
                (pointer, self.function.ty(value), false)
            }
            Op::Store { pointer, value }
            | Op::VolatileStore { pointer, value }
            | Op::NontemporalStore { pointer, value } => (pointer, self.function.ty(value), true),
            _ => return None,
        };
        let is_shared = match self.function.ty(pointer) {
            Type::Pointer(AddressSpace::Global | AddressSpace::Constant) => true,
            Type::Pointer(AddressSpace::Generic) => self.is_of_parameter(pointer),
            _ => false,
        };
        is_shared.then_some((pointer, ty.bytes() as u32, is_store))
    }

    /// Whether a pointer leads back to a parameter by steps alone.
    fn is_of_parameter(&self, mut pointer: Value) -> bool {
        loop {
            pointer = match self.function.op(pointer) {
                Op::Parameter(_) => return true,
                Op::Offset { pointer, .. } => *pointer,
                Op::Cast(CastKind::AddressSpace, inner) => *inner,
                _ => return false,
            };
        }
    }

    fn note_address(&mut self, out: &mut Vec<Value>, samples: u32, pointer: Value) {
        let cast = Op::Cast(CastKind::PointerToInteger, pointer);
        let value = self.emit(out, cast, Type::I64);
        let pointer = self.address(out, samples, 1);
        let op = Op::Cooperative(Cooperation::AtomicExchange, vec![pointer, value]);
        self.emit(out, op, Type::I64);
    }

    /// The number of the work-item in the grid, of those beyond the sampled ones the first.
    fn prologue(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        let block = self.number(&mut out, SpecialKind::BlockIndex, SpecialKind::GridSize);
        let thread = self.number(&mut out, SpecialKind::ThreadIndex, SpecialKind::BlockSize);
        let mut threads = self.one;
        for axis in 0..3 {
            let size = self.special(&mut out, SpecialKind::BlockSize, axis);
            let op = Op::Binary(BinaryOp::Multiply, threads, size);
            threads = self.emit(&mut out, op, Type::I64);
        }
        let op = Op::Binary(BinaryOp::Multiply, block, threads);
        let before = self.emit(&mut out, op, Type::I64);
        let number = self.emit(
            &mut out,
            Op::Binary(BinaryOp::Add, before, thread),
            Type::I64,
        );
        let limit = self.constant(SAMPLED_ITEMS);
        let op = Op::Compare(Predicate::LessUnsigned, number, limit);
        let is_sampled = self.emit(&mut out, op, Type::I1);
        self.item = self.emit(&mut out, Op::Select(is_sampled, number, limit), Type::I64);
        out
    }

    fn special(&mut self, out: &mut Vec<Value>, kind: SpecialKind, axis: u8) -> Value {
        let value = self.emit(out, Op::Special(Special { kind, axis }), Type::I32);
        self.emit(out, Op::Cast(CastKind::ExtendUnsigned, value), Type::I64)
    }

    /// (z * height + y) * width + x.
    fn number(&mut self, out: &mut Vec<Value>, index: SpecialKind, size: SpecialKind) -> Value {
        let mut value = self.special(out, index, 2);
        for axis in [1, 0] {
            let extent = self.special(out, size, axis);
            let op = Op::Binary(BinaryOp::Multiply, value, extent);
            let scaled = self.emit(out, op, Type::I64);
            let own = self.special(out, index, axis);
            value = self.emit(out, Op::Binary(BinaryOp::Add, scaled, own), Type::I64);
        }
        value
    }
}
