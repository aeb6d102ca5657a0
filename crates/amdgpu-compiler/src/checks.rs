//! Checked execution on the CPU: before every access to memory, at barriers and in loops, kernels ask the hardware layer whether to
//! go on (`agpu_checked_*`, in `amdgpu-hal`). An answer that is not zero ends the work-item.
//!
//! Runs on code that no pass has touched, so that every access stands at its line, and in place of the passes.

mod origins;

use serde::{Deserialize, Serialize};

use crate::cooperative::{inline_call, reaching, retain, split_block};
use crate::ir::{
    AddressSpace, BinaryOp, Block, BlockId, CastKind, Cooperation, Function, Module, Op, Parameter,
    Predicate, Special, SpecialKind, Terminator, Type, Value, cfg::Cfg,
};
use crate::work::operations_of;
use origins::{Origin, origins};

/// Functions of the hardware layer begin so; they have no body of ours.
pub const HOOK_PREFIX: &str = "agpu_checked_";

/// Instructions of one kernel up to which functions are inlined, so that their accesses are known by the kernel's arguments.
const MAX_INLINED_INSTRUCTIONS: usize = 1 << 17;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// What the compiler knows of the memory behind an access.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Target {
    Unknown,
    /// A pointer parameter of the kernel.
    Argument(String),
    /// A variable of the work-item.
    Private {
        bytes: u64,
    },
    /// A variable of the block; without a size as much as the launch gives.
    Shared {
        name: String,
        bytes: u64,
    },
    /// A variable of the module.
    Global {
        name: String,
        bytes: u64,
    },
}

/// A place in the source where something is checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Site {
    pub line: u32,
    pub kind: AccessKind,
    pub align: u64,
    pub target: Target,
}

/// Adds the checks; the sites have the numbers that the hooks are called with.
pub fn instrument(module: &mut Module) -> Vec<Site> {
    inline_all(module, MAX_INLINED_INSTRUCTIONS);
    let first = module.functions.len() as u32;
    let mut sites = Vec::new();
    for index in 0..module.functions.len() {
        let origins = origins(&module.functions[index]);
        let function = std::mem::replace(&mut module.functions[index], empty(""));
        let instrumenter = Instrumenter {
            module,
            origins,
            function,
            hooks: first,
            sites: &mut sites,
            thread: Value(0),
            block: Value(0),
            zero: Value(0),
            exit: BlockId(0),
        };
        module.functions[index] = instrumenter.run();
    }
    module.functions.extend(hooks());
    sites
}

/// Kernels get the bodies of what they call, recursion excepted, until they have so many instructions.
pub(crate) fn inline_all(module: &mut Module, limit: usize) {
    let is_recursive: Vec<bool> = (0..module.functions.len())
        .map(|index| reaches_itself(module, index))
        .collect();
    for index in 0..module.functions.len() {
        if !module.functions[index].is_kernel {
            continue;
        }
        let mut kernel = module.functions[index].clone();
        let mut block = 0;
        while block < kernel.blocks.len() && kernel.values.len() < limit {
            let call = kernel.blocks[block].instructions.iter().position(|value| {
                matches!(kernel.op(*value), Op::Call { function, .. } if !is_recursive[*function as usize])
            });
            match call {
                Some(position) => inline_call(&mut kernel, block, position, &module.functions),
                None => block += 1,
            }
        }
        crate::lower::ssa::finish(&mut kernel);
        module.functions[index] = kernel;
    }
    let mut is_called = vec![false; module.functions.len()];
    let kernels = module.functions.iter().enumerate();
    let mut work: Vec<usize> = kernels
        .filter(|(_, function)| function.is_kernel)
        .map(|(index, _)| index)
        .collect();
    while let Some(index) = work.pop() {
        if std::mem::replace(&mut is_called[index], true) {
            continue;
        }
        for value in &module.functions[index].values {
            if let Op::Call { function, .. } = value.op {
                work.push(function as usize);
            }
        }
    }
    retain(module, |index, _| is_called[index]);
}

fn reaches_itself(module: &Module, index: usize) -> bool {
    let reaches = reaching(module, |function| {
        std::ptr::eq(function, &raw const module.functions[index])
    });
    module.functions[index]
        .values
        .iter()
        .any(|value| matches!(value.op, Op::Call { function, .. } if reaches[function as usize]))
}

fn empty(name: &str) -> Function {
    Function {
        name: name.to_owned(),
        is_kernel: false,
        is_never_inlined: true,
        parameters: Vec::new(),
        result: Type::I32,
        values: Vec::new(),
        blocks: Vec::new(),
        launch_bounds: None,
        line: 0,
    }
}

/// The hooks, as functions of the IR; the emitter declares them without their bodies.
fn hooks() -> Vec<Function> {
    const POINTER: Type = Type::Pointer(AddressSpace::Generic);
    let hook = |name: &str, types: &[Type]| {
        let mut function = empty(&format!("{HOOK_PREFIX}{name}"));
        function.parameters = types
            .iter()
            .map(|ty| Parameter {
                name: String::new(),
                ty: *ty,
                is_restrict: false,
            })
            .collect();
        let zero = function.add_value(Op::Constant(0), Type::I32, 0);
        function.blocks.push(Block {
            terminator: Terminator::Return(Some(zero)),
            ..Block::new(0)
        });
        function
    };
    vec![
        // Site, address, bytes, start of the variable, value that is written, work-item, block.
        hook(
            "access",
            &[
                Type::I32,
                POINTER,
                Type::I64,
                POINTER,
                Type::I64,
                Type::I32,
                Type::I64,
            ],
        ),
        // Line, kind, work-item, block.
        hook("meeting", &[Type::I32, Type::I32, Type::I32, Type::I64]),
        // Line, work-item, block.
        hook("turn", &[Type::I32, Type::I32, Type::I64]),
        // Floating-point operations that follow.
        hook("work", &[Type::I64]),
    ]
}

const ACCESS: u32 = 0;
const SYNC_POINT: u32 = 1;
const ITERATION: u32 = 2;
const WORK: u32 = 3;

/// What the hook of sync points is told.
const KIND_BARRIER: u64 = 0;
const KIND_WAVE: u64 = 1;
const KIND_FENCE: u64 = 2;

struct Instrumenter<'m> {
    module: &'m Module,
    origins: Vec<Origin>,
    function: Function,
    /// Number of the first hook.
    hooks: u32,
    sites: &'m mut Vec<Site>,
    /// Of this work-item: its number in the block, the number of the block.
    thread: Value,
    block: Value,
    zero: Value,
    exit: BlockId,
}

impl Instrumenter<'_> {
    fn run(mut self) -> Function {
        let back_edges = back_edges(&self.function);
        self.prologue();
        let blocks = self.function.blocks.len();
        for block in 0..blocks {
            if block != self.exit.0 as usize {
                self.work(block);
                self.accesses(block);
            }
        }
        for block in back_edges {
            self.iteration(block);
        }
        self.function
    }

    fn emit(&mut self, at: (usize, usize), op: Op, ty: Type, line: u32) -> Value {
        let value = self.function.add_value(op, ty, line);
        self.function.blocks[at.0].instructions.insert(at.1, value);
        value
    }

    fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.function.add_value(Op::Constant(bits), ty, 0)
    }

    /// The numbers of work-item and block, behind the slots of the entry; and the way out.
    fn prologue(&mut self) {
        let entry = &self.function.blocks[0].instructions;
        let slots = entry.iter().take_while(|value| {
            matches!(
                self.function.op(**value),
                Op::Slot { .. } | Op::Cast(CastKind::AddressSpace, _)
            )
        });
        let mut at = slots.count();
        let mut add = |this: &mut Self, op: Op, ty: Type| {
            let value = this.emit((0, at), op, ty, 0);
            at += 1;
            value
        };
        let mut number = |this: &mut Self, index, size, ty: Type| {
            let mut read = |this: &mut Self, kind, axis| {
                let value = add(this, Op::Special(Special { kind, axis }), Type::I32);
                if ty == Type::I64 {
                    return add(this, Op::Cast(CastKind::ExtendUnsigned, value), ty);
                }
                value
            };
            let [x, y, z] = [0, 1, 2].map(|axis| read(this, index, axis));
            let [width, height] = [0, 1].map(|axis| read(this, size, axis));
            let rows = add(this, Op::Binary(BinaryOp::Multiply, z, height), ty);
            let row = add(this, Op::Binary(BinaryOp::Add, rows, y), ty);
            let items = add(this, Op::Binary(BinaryOp::Multiply, row, width), ty);
            add(this, Op::Binary(BinaryOp::Add, items, x), ty)
        };
        self.thread = number(
            self,
            SpecialKind::ThreadIndex,
            SpecialKind::BlockSize,
            Type::I32,
        );
        self.block = number(
            self,
            SpecialKind::BlockIndex,
            SpecialKind::GridSize,
            Type::I64,
        );
        self.zero = self.constant(Type::I32, 0);
        let result = match self.function.result {
            Type::Void => None,
            ty => Some(self.constant(ty, 0)),
        };
        self.exit = BlockId(self.function.blocks.len() as u32);
        self.function.blocks.push(Block {
            terminator: Terminator::Return(result),
            ..Block::new(self.function.line)
        });
    }

    /// Tells how many floating-point operations the block has.
    fn work(&mut self, block: usize) {
        let instructions = &self.function.blocks[block].instructions;
        let operations: u64 = instructions
            .iter()
            .map(|value| operations_of(&self.function, *value))
            .sum();
        if operations == 0 {
            return;
        }
        let starts = instructions.iter().take_while(|value| {
            matches!(
                self.function.op(**value),
                Op::Phi(_) | Op::Slot { .. } | Op::Cast(CastKind::AddressSpace, _)
            )
        });
        let at = (block, starts.count());
        let operations = self.constant(Type::I64, operations);
        let call = Op::Call {
            function: self.hooks + WORK,
            arguments: vec![operations],
        };
        self.emit(at, call, Type::I32, 0);
    }

    fn accesses(&mut self, block: usize) {
        let mut block = block;
        let mut position = 0;
        while position < self.function.blocks[block].instructions.len() {
            let value = self.function.blocks[block].instructions[position];
            let line = self.function.values[value.0 as usize].line;
            let op = self.function.op(value).clone();
            let ty = self.function.ty(value);
            let checks: Vec<(AccessKind, Value, u64, u64, Option<Value>)> = match &op {
                Op::Load(pointer) | Op::VolatileLoad(pointer) | Op::NontemporalLoad(pointer) => {
                    vec![(AccessKind::Read, *pointer, ty.bytes(), ty.bytes(), None)]
                }
                Op::Store { pointer, value }
                | Op::VolatileStore { pointer, value }
                | Op::NontemporalStore { pointer, value } => {
                    let bytes = self.function.ty(*value).bytes();
                    vec![(AccessKind::Write, *pointer, bytes, bytes, Some(*value))]
                }
                Op::Copy {
                    to,
                    from,
                    bytes,
                    align,
                } => vec![
                    (AccessKind::Read, *from, *bytes, *align, None),
                    (AccessKind::Write, *to, *bytes, *align, None),
                ],
                Op::Clear { to, bytes, align } => {
                    vec![(AccessKind::Write, *to, *bytes, *align, None)]
                }
                Op::Cooperative(operation, operands) => {
                    let kind = match operation {
                        Cooperation::Barrier => Some(KIND_BARRIER),
                        Cooperation::FenceBlock => None,
                        Cooperation::FenceDevice | Cooperation::FenceSystem => Some(KIND_FENCE),
                        other if other.is_wave() => Some(KIND_WAVE),
                        _ => None,
                    };
                    if let Some(kind) = kind {
                        let line = self.constant(Type::I32, u64::from(line));
                        let kind = self.constant(Type::I32, kind);
                        let arguments = vec![line, kind, self.thread, self.block];
                        self.stop_or_go(&mut block, &mut position, SYNC_POINT, arguments);
                    }
                    match operands.first() {
                        Some(pointer) if !operation.is_sync_point() => {
                            vec![(AccessKind::Atomic, *pointer, ty.bytes(), ty.bytes(), None)]
                        }
                        _ => Vec::new(),
                    }
                }
                _ => Vec::new(),
            };
            for (kind, pointer, bytes, align, stored) in checks {
                self.access(
                    &mut block,
                    &mut position,
                    line,
                    kind,
                    pointer,
                    (bytes, align),
                    stored,
                );
            }
            position += 1;
        }
    }

    #[allow(clippy::too_many_arguments)] // The facts of one access.
    fn access(
        &mut self,
        block: &mut usize,
        position: &mut usize,
        line: u32,
        kind: AccessKind,
        pointer: Value,
        (bytes, align): (u64, u64),
        stored: Option<Value>,
    ) {
        let generic = Type::Pointer(AddressSpace::Generic);
        let (target, base) = self.target_of(pointer);
        let site = self.sites.len() as u64;
        self.sites.push(Site {
            line,
            kind,
            align,
            target,
        });
        let mut place = |this: &mut Self, op: Op, ty: Type| {
            let value = this.emit((*block, *position), op, ty, line);
            *position += 1;
            value
        };
        let address = place(self, Op::Cast(CastKind::AddressSpace, pointer), generic);
        let base = match base {
            Some(base) => place(self, Op::Cast(CastKind::AddressSpace, base), generic),
            None => self.constant(generic, 0),
        };
        let written = match stored {
            None => self.constant(Type::I64, 0),
            Some(value) => {
                let mut value = value;
                let mut ty = self.function.ty(value);
                if ty.is_pointer() {
                    (value, ty) = (
                        place(self, Op::Cast(CastKind::PointerToInteger, value), Type::I64),
                        Type::I64,
                    );
                }
                if ty.is_float() {
                    ty = if ty == Type::F32 {
                        Type::I32
                    } else {
                        Type::I64
                    };
                    value = place(self, Op::Cast(CastKind::Reinterpret, value), ty);
                }
                if ty != Type::I64 {
                    value = place(self, Op::Cast(CastKind::ExtendUnsigned, value), Type::I64);
                }
                value
            }
        };
        let site = self.constant(Type::I32, site);
        let bytes = self.constant(Type::I64, bytes);
        let arguments = vec![site, address, bytes, base, written, self.thread, self.block];
        self.stop_or_go(block, position, ACCESS, arguments);
    }

    /// Calls a hook at a place and leaves when it says so; the place is then that of the same instruction.
    fn stop_or_go(
        &mut self,
        block: &mut usize,
        position: &mut usize,
        hook: u32,
        arguments: Vec<Value>,
    ) {
        let call = Op::Call {
            function: self.hooks + hook,
            arguments,
        };
        let answer = self.emit((*block, *position), call, Type::I32, 0);
        let compare = Op::Compare(Predicate::NotEqual, answer, self.zero);
        let condition = self.emit((*block, *position + 1), compare, Type::I1, 0);
        let rest = split_block(&mut self.function, *block, *position + 2);
        self.function.blocks[*block].terminator = Terminator::Branch {
            condition,
            yes: self.exit,
            no: rest,
        };
        *block = rest.0 as usize;
        *position = 0;
    }

    fn target_of(&self, pointer: Value) -> (Target, Option<Value>) {
        match self.origins[pointer.0 as usize] {
            Origin::Parameter(index) if self.function.is_kernel => {
                let name = self.function.parameters[index as usize].name.clone();
                (Target::Argument(name), None)
            }
            Origin::Slot(slot) => match self.function.op(slot) {
                Op::Slot { bytes, .. } => (Target::Private { bytes: *bytes }, Some(slot)),
                _ => (Target::Unknown, None),
            },
            Origin::Shared(value, index) => {
                let shared = &self.module.shared[index as usize];
                let name = shared.name.split('$').next().unwrap_or_default();
                let target = Target::Shared {
                    name: name.to_owned(),
                    bytes: shared.bytes,
                };
                (target, Some(value))
            }
            Origin::Global(value, index) => {
                let global = &self.module.globals[index as usize];
                let name = global.name.split('.').next().unwrap_or_default();
                let target = Target::Global {
                    name: name.to_owned(),
                    bytes: global.size_bytes,
                };
                (target, Some(value))
            }
            _ => (Target::Unknown, None),
        }
    }

    /// Asks at the end of an iteration of a loop whether there may be another.
    fn iteration(&mut self, (block, line): (usize, u32)) {
        // Accesses cut the block into several; the last of them leads back.
        let mut block = block;
        while let Terminator::Branch { yes, no, .. } = self.function.blocks[block].terminator
            && yes == self.exit
        {
            block = no.0 as usize;
        }
        let mut position = self.function.blocks[block].instructions.len();
        let line = self.constant(Type::I32, u64::from(line));
        let arguments = vec![line, self.thread, self.block];
        self.stop_or_go(&mut block, &mut position, ITERATION, arguments);
    }
}

/// Blocks that lead back to the head of a loop, with the line of that head.
fn back_edges(function: &Function) -> Vec<(usize, u32)> {
    let cfg = Cfg::new(function);
    let mut edges = Vec::new();
    for &block in &cfg.order {
        let mut head = None;
        let ends = &function.blocks[block.0 as usize].terminator;
        ends.for_each_target(|target| {
            if cfg.dominates(target, block) {
                head = Some(function.blocks[target.0 as usize].line);
            }
        });
        edges.extend(head.map(|line| (block.0 as usize, line)));
    }
    edges
}
