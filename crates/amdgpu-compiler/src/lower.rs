//! Typed tree to SSA: variables without an address become values, control flow becomes blocks, and `a * b + c` within one
//! expression becomes one fused operation (C's contraction rule), so that every target rounds alike.

mod bits;
mod expressions;
mod kernel_structs;
mod narrow_floats;
mod places;
pub(crate) mod ssa;
mod statements;

use crate::hir::{self, FunctionId, LocalId};
use crate::ir::{
    AddressSpace, BlockId, Function, Global, LaunchBounds, Module, Op, Parameter, Shared,
    Terminator, Type, Value,
};
use crate::source::{SourceMap, Span};
use crate::types::{self, ScalarType, TypeId, TypeTable};
use rustc_hash::FxHashMap;
use ssa::Variables;

/// Generic pointer: what every pointer value of the language is until a pass knows better.
const POINTER: Type = Type::Pointer(AddressSpace::Generic);

/// Lowers a checked program without errors.
pub fn lower(program: &hir::Program, types: &TypeTable, sources: &SourceMap) -> Module {
    let indices: FxHashMap<FunctionId, u32> = program
        .functions
        .iter()
        .enumerate()
        .map(|(index, function)| (function.id, index as u32))
        .collect();
    let mut functions: Vec<Function> = program
        .functions
        .iter()
        .map(|function| Lowering::new(program, types, sources, &indices, function).run(function))
        .collect();
    let globals = used_globals(&program.globals, types, &mut functions);
    let shared = used_shared(&program.shared, types, &mut functions);
    Module {
        globals,
        shared,
        functions,
    }
}

/// The globals that some function uses or the host may ask for, numbered anew.
fn used_globals(all: &[hir::Global], types: &TypeTable, functions: &mut [Function]) -> Vec<Global> {
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut globals = Vec::new();
    let make = |index: u32, number: usize| {
        let global = &all[index as usize];
        Global {
            name: if global.is_exported {
                global.name.clone()
            } else {
                format!("{}.{number}", global.name)
            },
            kind: global.kind,
            bytes: global.bytes.clone(),
            size_bytes: types.bytes(global.ty),
            align: global.align,
            is_exported: global.is_exported,
        }
    };
    let is_wanted = |global: &hir::Global| global.is_exported && !global.is_library;
    for (index, _) in all
        .iter()
        .enumerate()
        .filter(|(_, global)| is_wanted(global))
    {
        numbers.insert(index as u32, globals.len() as u32);
        globals.push(make(index as u32, globals.len()));
    }
    for instruction in functions
        .iter_mut()
        .flat_map(|function| &mut function.values)
    {
        if let Op::GlobalAddress(index) = &mut instruction.op {
            let old = *index;
            *index = *numbers.entry(old).or_insert_with(|| {
                globals.push(make(old, globals.len()));
                globals.len() as u32 - 1
            });
        }
    }
    globals
}

/// The shared memory that some function uses, numbered anew.
fn used_shared(all: &[hir::Shared], types: &TypeTable, functions: &mut [Function]) -> Vec<Shared> {
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut used = Vec::new();
    for instruction in functions
        .iter_mut()
        .flat_map(|function| &mut function.values)
    {
        if let Op::SharedAddress(index) = &mut instruction.op {
            let shared = &all[*index as usize];
            *index = *numbers.entry(*index).or_insert_with(|| {
                let bytes = types.bytes(shared.ty);
                // What has no size yet may hold any type of the language.
                let align = shared.align.max(if bytes == 0 { 16 } else { 1 });
                used.push(Shared {
                    name: format!("{}$shared${}", shared.name, used.len()),
                    bytes,
                    align,
                });
                used.len() as u32 - 1
            });
        }
    }
    used
}

/// Where a local lives.
#[derive(Clone, Copy, Debug)]
enum Home {
    Variable(usize, Type),
    Memory(Value),
}

/// Where something is in memory, and how it is accessed.
#[derive(Clone, Copy, Debug)]
struct Address {
    pointer: Value,
    access: Access,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Plain,
    Volatile,
    Nontemporal,
}

impl Address {
    fn plain(pointer: Value) -> Self {
        Self {
            pointer,
            access: Access::Plain,
        }
    }
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy, Debug)]
struct Exits {
    on_break: BlockId,
    on_continue: Option<BlockId>,
}

struct Lowering<'a> {
    globals: &'a [hir::Global],
    shared: &'a [hir::Shared],
    locals: &'a [hir::Local],
    types: &'a TypeTable,
    sources: &'a SourceMap,
    indices: &'a FxHashMap<FunctionId, u32>,
    function: Function,
    variables: Variables,
    homes: Vec<Option<Home>>,
    local_types: Vec<TypeId>,
    exits: Vec<Exits>,
    /// What is said about the loop that comes next.
    unroll: Option<crate::ir::Unroll>,
    constants: FxHashMap<(Type, u64), Value>,
    current: BlockId,
    line: u32,
    return_pointer: Option<Value>,
    /// Slots, which stand at the start of the entry block.
    slots: Vec<Value>,
}

impl<'a> Lowering<'a> {
    fn new(
        program: &'a hir::Program,
        types: &'a TypeTable,
        sources: &'a SourceMap,
        indices: &'a FxHashMap<FunctionId, u32>,
        function: &'a hir::Function,
    ) -> Self {
        let line = sources.line(function.span.start);
        let name = if function.is_kernel {
            function.name.clone()
        } else {
            format!("{}.{}", function.name, indices[&function.id])
        };
        let empty = Function {
            name,
            is_kernel: function.is_kernel,
            is_never_inlined: function.is_never_inlined,
            parameters: Vec::new(),
            result: Type::Void,
            values: Vec::new(),
            blocks: Vec::new(),
            launch_bounds: function.launch_bounds.map(|bounds| LaunchBounds {
                max_threads: bounds.max_threads,
                min_blocks: bounds.min_blocks,
            }),
            line,
        };
        Self {
            globals: &program.globals,
            shared: &program.shared,
            locals: &function.locals,
            types,
            sources,
            indices,
            function: empty,
            variables: Variables::default(),
            homes: vec![None; function.locals.len()],
            local_types: function.locals.iter().map(|local| local.ty).collect(),
            exits: Vec::new(),
            unroll: None,
            constants: FxHashMap::default(),
            current: BlockId(0),
            line,
            return_pointer: None,
            slots: Vec::new(),
        }
    }

    fn run(mut self, function: &hir::Function) -> Function {
        self.current = self.new_block();
        self.seal(self.current);
        if self.is_struct(function.return_type) {
            self.return_pointer = Some(self.add_parameter("result", POINTER, false));
        } else {
            self.function.result = self.ir_type(function.return_type);
        }
        for (index, parameter) in function.parameters.iter().enumerate() {
            self.parameter(function, parameter, index);
        }
        for (index, local) in function.locals.iter().enumerate() {
            if self.homes[index].is_none() {
                let home = self.home_of(local);
                self.homes[index] = Some(home);
            }
        }
        self.statements(&function.body);
        // Falling off the end returns zero.
        let end = if self.function.result == Type::Void {
            None
        } else {
            Some(self.constant(self.function.result, 0))
        };
        self.terminate(Terminator::Return(end));
        let entry = &mut self.function.blocks[0].instructions;
        entry.splice(0..0, self.slots.drain(..));
        ssa::finish(&mut self.function);
        self.function
    }

    fn parameter(&mut self, function: &hir::Function, parameter: &hir::Parameter, index: usize) {
        let local = &function.locals[parameter.local.0 as usize];
        if function.is_kernel && self.is_struct(local.ty) {
            let address = self.kernel_struct(local);
            self.homes[parameter.local.0 as usize] = Some(Home::Memory(address));
            return;
        }
        let name = if local.name.is_empty() {
            format!("unnamed{index}")
        } else {
            local.name.clone()
        };
        let is_indirect = local.is_reference || self.is_struct(local.ty);
        let value_type = if is_indirect {
            POINTER
        } else {
            self.ir_type(local.ty)
        };
        let ty = match value_type {
            Type::Pointer(_) if function.is_kernel => Type::Pointer(AddressSpace::Global),
            // In the argument buffer a bool is a byte.
            Type::I1 if function.is_kernel => Type::I8,
            other => other,
        };
        let mut value = self.add_parameter(&name, ty, parameter.is_restrict);
        if ty != value_type {
            value = match value_type {
                Type::I1 => self.is_not_zero(value),
                _ => self.cast(crate::ir::CastKind::AddressSpace, value, value_type),
            };
        }
        let home = if self.is_struct(local.ty) && !local.is_reference {
            Home::Memory(value)
        } else {
            self.home_of(local)
        };
        self.homes[parameter.local.0 as usize] = Some(home);
        match home {
            Home::Variable(variable, _) => self.write_variable(variable, value),
            Home::Memory(_) if self.is_struct(local.ty) => {}
            Home::Memory(address) => self.store(address, value),
        }
    }

    fn add_parameter(&mut self, name: &str, ty: Type, is_restrict: bool) -> Value {
        let index = self.function.parameters.len() as u32;
        self.function.parameters.push(Parameter {
            name: name.to_owned(),
            ty,
            is_restrict,
        });
        self.function.add_value(Op::Parameter(index), ty, 0)
    }

    fn home_of(&mut self, local: &hir::Local) -> Home {
        if local.is_reference {
            return Home::Variable(self.variables.add(POINTER), POINTER);
        }
        if local.is_in_memory {
            let address = self.slot(
                self.types.bytes(local.ty),
                self.types.align(local.ty).max(local.align),
            );
            return Home::Memory(address);
        }
        let ty = self.ir_type(local.ty);
        Home::Variable(self.variables.add(ty), ty)
    }

    /// Private memory, as a generic pointer.
    fn slot(&mut self, bytes: u64, align: u64) -> Value {
        let slot = self.function.add_value(
            Op::Slot {
                bytes: bytes.max(1),
                align,
            },
            Type::Pointer(AddressSpace::Private),
            self.line,
        );
        self.slots.push(slot);
        let cast = self.function.add_value(
            Op::Cast(crate::ir::CastKind::AddressSpace, slot),
            POINTER,
            self.line,
        );
        self.slots.push(cast);
        cast
    }

    fn home(&self, local: LocalId) -> Option<Home> {
        self.homes[local.0 as usize]
    }

    fn is_struct(&self, ty: TypeId) -> bool {
        matches!(self.types.get(ty), types::Type::Struct(_))
    }

    /// The type a value of the language has in registers.
    fn ir_type(&self, ty: TypeId) -> Type {
        match self.types.get(ty) {
            types::Type::Void => Type::Void,
            types::Type::Pointer { .. }
            | types::Type::Null
            | types::Type::Array { .. }
            | types::Type::Struct(_) => POINTER,
            types::Type::Error => Type::I32,
            _ => self.types.representation(ty).map_or(Type::I32, scalar_type),
        }
    }

    fn at(&mut self, span: Span) {
        self.line = self.sources.line(span.start);
    }

    fn new_block(&mut self) -> BlockId {
        self.function.blocks.push(crate::ir::Block::new(self.line));
        self.variables.add_block();
        BlockId(self.function.blocks.len() as u32 - 1)
    }

    /// Ends the current block, which must go on in another one afterwards.
    fn terminate(&mut self, terminator: Terminator) {
        let from = self.current;
        terminator.for_each_target(|target| self.variables.add_predecessor(target, from));
        let block = &mut self.function.blocks[from.0 as usize];
        block.terminator = terminator;
        block.line = self.line;
    }

    fn jump(&mut self, target: BlockId) {
        self.terminate(Terminator::Jump(target));
    }

    /// Goes on in a block whose predecessors are all known.
    fn continue_in(&mut self, block: BlockId) {
        self.seal(block);
        self.current = block;
    }

    /// Goes on in a block nothing leads to, after `return` or `break`.
    fn continue_unreachable(&mut self) {
        let block = self.new_block();
        self.continue_in(block);
    }

    fn seal(&mut self, block: BlockId) {
        self.variables.seal(block, &mut self.function);
    }

    fn emit(&mut self, op: Op, ty: Type) -> Value {
        let value = self.function.add_value(op, ty, self.line);
        self.function.blocks[self.current.0 as usize]
            .instructions
            .push(value);
        value
    }

    fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let function = &mut self.function;
        *self
            .constants
            .entry((ty, bits))
            .or_insert_with(|| function.add_value(Op::Constant(bits), ty, 0))
    }

    fn integer(&mut self, ty: Type, value: i64) -> Value {
        let mask = if ty.bits() >= 64 {
            u64::MAX
        } else {
            (1 << ty.bits()) - 1
        };
        self.constant(ty, value as u64 & mask)
    }

    fn float(&mut self, ty: Type, value: f64) -> Value {
        let bits = if ty == Type::F32 {
            u64::from((value as f32).to_bits())
        } else {
            value.to_bits()
        };
        self.constant(ty, bits)
    }

    fn cast(&mut self, kind: crate::ir::CastKind, value: Value, ty: Type) -> Value {
        self.emit(Op::Cast(kind, value), ty)
    }

    fn is_not_zero(&mut self, value: Value) -> Value {
        let ty = self.function.ty(value);
        let zero = self.constant(ty, 0);
        let predicate = if ty.is_float() {
            crate::ir::Predicate::NotEqualFloat
        } else {
            crate::ir::Predicate::NotEqual
        };
        self.emit(Op::Compare(predicate, value, zero), Type::I1)
    }

    fn read_variable(&mut self, variable: usize) -> Value {
        self.variables
            .read(variable, self.current, &mut self.function)
    }

    fn write_variable(&mut self, variable: usize, value: Value) {
        self.variables.write(variable, self.current, value);
    }

    /// Loads a scalar or pointer; a bool in memory is a byte.
    fn load(&mut self, address: Address, ty: Type) -> Value {
        let op = match address.access {
            Access::Plain => Op::Load(address.pointer),
            Access::Volatile => Op::VolatileLoad(address.pointer),
            Access::Nontemporal => Op::NontemporalLoad(address.pointer),
        };
        if ty == Type::I1 {
            let byte = self.emit(op, Type::I8);
            return self.is_not_zero(byte);
        }
        self.emit(op, ty)
    }

    fn store(&mut self, address: Value, value: Value) {
        self.store_to(Address::plain(address), value);
    }

    fn store_to(&mut self, address: Address, value: Value) {
        let value = if self.function.ty(value) == Type::I1 {
            self.cast(crate::ir::CastKind::ExtendUnsigned, value, Type::I8)
        } else {
            value
        };
        let pointer = address.pointer;
        let op = match address.access {
            Access::Plain => Op::Store { pointer, value },
            Access::Volatile => Op::VolatileStore { pointer, value },
            Access::Nontemporal => Op::NontemporalStore { pointer, value },
        };
        self.emit(op, Type::Void);
    }

    fn address_plus(&mut self, address: Value, bytes: u64) -> Value {
        if bytes == 0 {
            return address;
        }
        let index = self.constant(Type::I64, bytes);
        let ty = self.function.ty(address);
        self.emit(
            Op::Offset {
                pointer: address,
                index,
                scale: 1,
            },
            ty,
        )
    }
}

fn scalar_type(scalar: ScalarType) -> Type {
    match scalar {
        ScalarType::Bool => Type::I1,
        ScalarType::Half | ScalarType::BFloat16 => Type::I16,
        ScalarType::Float => Type::F32,
        ScalarType::Double => Type::F64,
        other => match other.bytes() {
            1 => Type::I8,
            2 => Type::I16,
            4 => Type::I32,
            _ => Type::I64,
        },
    }
}
