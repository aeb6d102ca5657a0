//! Checks that a module is well formed: types, dominance, phis, block structure. Runs after every pass in debug builds.

use super::cfg::Cfg;
use super::{
    AddressSpace, BlockId, CastKind, Cooperation, Function, Intrinsic, Module, Op, Predicate,
    Terminator, Type, Value,
};

/// The first thing that is wrong with a module.
pub fn verify(module: &Module) -> Result<(), String> {
    let mut functions = module.functions.iter();
    functions.try_for_each(|function| verify_function(module, function))
}

/// The first thing that is wrong with a function; of the others in the module only the declarations count.
pub fn verify_function(module: &Module, function: &Function) -> Result<(), String> {
    Verifier { module, function }
        .run()
        .map_err(|message| format!("@{}: {message}", function.name))
}

struct Verifier<'m> {
    module: &'m Module,
    function: &'m Function,
}

fn ensure(condition: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(message()) }
}

impl Verifier<'_> {
    fn run(&self) -> Result<(), String> {
        let function = self.function;
        ensure(!function.blocks.is_empty(), || "has no blocks".to_owned())?;
        ensure(!function.is_kernel || function.result == Type::Void, || {
            "a kernel returns a value".to_owned()
        })?;
        for block in &function.blocks {
            let mut outside = false;
            block
                .terminator
                .for_each_target(|target| outside |= target.0 as usize >= function.blocks.len());
            ensure(!outside, || {
                "a terminator names a block that does not exist".to_owned()
            })?;
        }
        let cfg = Cfg::new(function);
        let placed = self.placement()?;
        for &block in &cfg.order {
            let mut phis_are_over = false;
            for (index, &value) in function.blocks[block.0 as usize]
                .instructions
                .iter()
                .enumerate()
            {
                let op = function.op(value);
                let is_phi = matches!(op, Op::Phi(_));
                ensure(!(is_phi && phis_are_over), || {
                    format!("{value}: a phi after other instructions")
                })?;
                phis_are_over |= !is_phi;
                self.instruction(value)
                    .map_err(|message| format!("{value}: {message}"))?;
                if let Op::Phi(inputs) = op {
                    self.phi(&cfg, block, value, inputs, &placed)?;
                } else {
                    let mut fault = None;
                    op.for_each_operand(|operand| {
                        if fault.is_none()
                            && !self.is_available(&cfg, operand, block, index, &placed)
                        {
                            fault = Some(operand);
                        }
                    });
                    ensure(fault.is_none(), || {
                        format!("{value}: uses {fault:?} where it is not available")
                    })?;
                }
            }
            self.terminator(&cfg, block, &placed)?;
        }
        Ok(())
    }

    /// The block and position of every value.
    fn placement(&self) -> Result<Vec<Option<(BlockId, usize)>>, String> {
        let mut placed = vec![None; self.function.values.len()];
        for (block, data) in self.function.blocks.iter().enumerate() {
            for (index, value) in data.instructions.iter().enumerate() {
                let entry = placed
                    .get_mut(value.0 as usize)
                    .ok_or_else(|| format!("{value} does not exist"))?;
                ensure(entry.is_none(), || format!("{value} stands in two places"))?;
                ensure(!self.function.op(*value).is_floating(), || {
                    format!("{value} does not belong into a block")
                })?;
                ensure(*self.function.op(*value) != Op::Nothing, || {
                    format!("{value} was deleted")
                })?;
                *entry = Some((BlockId(block as u32), index));
            }
        }
        Ok(placed)
    }

    fn is_available(
        &self,
        cfg: &Cfg,
        value: Value,
        block: BlockId,
        index: usize,
        placed: &[Option<(BlockId, usize)>],
    ) -> bool {
        let Some(instruction) = self.function.values.get(value.0 as usize) else {
            return false;
        };
        if instruction.op.is_floating() {
            return true;
        }
        match placed[value.0 as usize] {
            Some((home, position)) if home == block => position < index,
            Some((home, _)) => cfg.is_reachable(home) && cfg.dominates(home, block),
            None => false,
        }
    }

    fn phi(
        &self,
        cfg: &Cfg,
        block: BlockId,
        value: Value,
        inputs: &[(BlockId, Value)],
        placed: &[Option<(BlockId, usize)>],
    ) -> Result<(), String> {
        let predecessors = &cfg.predecessors[block.0 as usize];
        ensure(inputs.len() == predecessors.len(), || {
            format!(
                "{value}: a phi with {} inputs in a block with {} predecessors",
                inputs.len(),
                predecessors.len()
            )
        })?;
        for (from, input) in inputs {
            ensure(predecessors.contains(from), || {
                format!("{value}: {from} is not a predecessor")
            })?;
            let end = self.function.blocks[from.0 as usize].instructions.len();
            ensure(self.is_available(cfg, *input, *from, end, placed), || {
                format!("{value}: {input} is not available at the end of {from}")
            })?;
            ensure(self.function.ty(*input) == self.function.ty(value), || {
                format!("{value}: a phi input of another type")
            })?;
        }
        Ok(())
    }

    fn terminator(
        &self,
        cfg: &Cfg,
        block: BlockId,
        placed: &[Option<(BlockId, usize)>],
    ) -> Result<(), String> {
        let data = &self.function.blocks[block.0 as usize];
        if let Some(operand) = data.terminator.operand() {
            ensure(
                self.is_available(cfg, operand, block, data.instructions.len(), placed),
                || format!("{block}: the terminator uses {operand} where it is not available"),
            )?;
        }
        match &data.terminator {
            Terminator::Branch { condition, .. } => {
                ensure(self.function.ty(*condition) == Type::I1, || {
                    format!("{block}: the condition is not i1")
                })
            }
            Terminator::Switch { value, .. } => {
                ensure(self.function.ty(*value).is_integer(), || {
                    format!("{block}: a switch over something else than an integer")
                })
            }
            Terminator::Return(value) => {
                let ty = value.map_or(Type::Void, |value| self.function.ty(value));
                ensure(ty == self.function.result, || {
                    format!("{block}: returns {ty}")
                })
            }
            Terminator::Jump(_) | Terminator::Unreachable => Ok(()),
        }
    }

    fn instruction(&self, value: Value) -> Result<(), String> {
        let function = self.function;
        let ty = function.ty(value);
        let of = |value: Value| {
            function
                .values
                .get(value.0 as usize)
                .map_or(Type::Void, |instruction| instruction.ty)
        };
        let good = match function.op(value) {
            Op::Binary(operation, a, b) => {
                let is_float = operation.text().ends_with("_float");
                of(*a) == ty
                    && of(*b) == ty
                    && if is_float {
                        ty.is_float()
                    } else {
                        ty.is_integer()
                    }
            }
            Op::Compare(predicate, a, b) => {
                let is_float = predicate.text().ends_with("_float");
                let is_equality = matches!(predicate, Predicate::Equal | Predicate::NotEqual)
                    || predicate.text().ends_with("unsigned");
                ty == Type::I1
                    && of(*a) == of(*b)
                    && if is_float {
                        of(*a).is_float()
                    } else {
                        of(*a).is_integer() || is_equality && of(*a).is_pointer()
                    }
            }
            Op::Negate(a) => of(*a) == ty && ty.is_float(),
            Op::Cast(kind, a) => cast_is_good(*kind, of(*a), ty),
            Op::Select(condition, a, b) => {
                of(*condition) == Type::I1 && of(*a) == ty && of(*b) == ty
            }
            Op::Intrinsic(intrinsic, arguments) => {
                let wanted = match intrinsic {
                    Intrinsic::FusedMultiplyAdd | Intrinsic::FusedMultiplyAddHalf => 3,
                    Intrinsic::IsProcessor => 0,
                    Intrinsic::CopySign
                    | Intrinsic::Minimum
                    | Intrinsic::Maximum
                    | Intrinsic::MultiplyHigh
                    | Intrinsic::MultiplyHighUnsigned => 2,
                    _ => 1,
                };
                arguments.len() == wanted
                    && arguments
                        .iter()
                        .all(|argument| of(*argument).bits() == of(arguments[0]).bits())
            }
            Op::Special(_) => ty == Type::I32,
            Op::Phi(_) => ty != Type::Void,
            Op::Slot { bytes, align } => {
                ty == Type::Pointer(AddressSpace::Private) && *bytes > 0 && align.is_power_of_two()
            }
            Op::Offset { pointer, index, .. } => {
                of(*pointer) == ty && ty.is_pointer() && of(*index) == Type::I64
            }
            Op::Load(pointer) | Op::VolatileLoad(pointer) | Op::NontemporalLoad(pointer) => {
                of(*pointer).is_pointer() && ty != Type::Void
            }
            Op::Store { pointer, value }
            | Op::VolatileStore { pointer, value }
            | Op::NontemporalStore { pointer, value } => {
                of(*pointer).is_pointer() && of(*value) != Type::Void && ty == Type::Void
            }
            Op::Copy { to, from, .. } => {
                of(*to).is_pointer() && of(*from).is_pointer() && ty == Type::Void
            }
            Op::Clear { to, .. } => of(*to).is_pointer() && ty == Type::Void,
            Op::Call {
                function: callee,
                arguments,
            } => {
                let Some(callee) = self.module.functions.get(*callee as usize) else {
                    return Err("calls a function that does not exist".to_owned());
                };
                callee.result == ty
                    && callee.parameters.len() == arguments.len()
                    && callee
                        .parameters
                        .iter()
                        .zip(arguments)
                        .all(|(parameter, argument)| parameter.ty == of(*argument))
            }
            Op::Cooperative(operation, operands) => {
                operands.len() == operation.arity()
                    && match operands.split_first() {
                        _ if operation.is_wave() => wave_is_good(*operation, ty, operands, of),
                        None if operation.is_clock() => ty == Type::I64,
                        None => ty == Type::Void,
                        Some((pointer, values)) => {
                            of(*pointer).is_pointer()
                                && (ty.is_integer() || ty.is_float())
                                && (ty.is_float()
                                    == (operation.of_device() == Cooperation::AtomicAddFloat)
                                    || operation.of_device() == Cooperation::AtomicExchange)
                                && values.iter().all(|value| of(*value) == ty)
                        }
                    }
            }
            Op::SharedAddress(index) => {
                ty == Type::Pointer(AddressSpace::Shared)
                    && self.module.shared.len() > *index as usize
            }
            Op::Nothing | Op::Parameter(_) | Op::Constant(_) | Op::GlobalAddress(_) => true,
        };
        ensure(good, || {
            format!("wrong types in '{}' : {ty}", function.op(value))
        })
    }
}

fn wave_is_good(
    operation: Cooperation,
    ty: Type,
    operands: &[Value],
    of: impl Fn(Value) -> Type,
) -> bool {
    let is_word = |ty: Type| matches!(ty, Type::I32 | Type::I64);
    let has_mask = operands.first().is_none_or(|mask| of(*mask) == Type::I64);
    has_mask
        && match (operation, operands) {
            (Cooperation::WaveShuffle, [_, value, lane]) => {
                is_word(ty) && of(*value) == ty && of(*lane) == Type::I32
            }
            (Cooperation::WaveBallot, [_, condition]) => {
                ty == Type::I64 && of(*condition) == Type::I1
            }
            (Cooperation::WaveMatch, [_, value]) => ty == Type::I64 && is_word(of(*value)),
            _ => ty == Type::Void,
        }
}

fn cast_is_good(kind: CastKind, from: Type, to: Type) -> bool {
    match kind {
        CastKind::Truncate => from.is_integer() && to.is_integer() && from.bits() > to.bits(),
        CastKind::ExtendSigned | CastKind::ExtendUnsigned => {
            from.is_integer() && to.is_integer() && from.bits() < to.bits()
        }
        CastKind::SignedToFloat | CastKind::UnsignedToFloat => from.is_integer() && to.is_float(),
        CastKind::FloatToSigned | CastKind::FloatToUnsigned => from.is_float() && to.is_integer(),
        CastKind::NarrowFloat => from == Type::F64 && to == Type::F32,
        CastKind::WidenFloat => from == Type::F32 && to == Type::F64,
        CastKind::Reinterpret => from.bits() == to.bits() && !from.is_pointer() && !to.is_pointer(),
        CastKind::PointerToInteger => from.is_pointer() && to == Type::I64,
        CastKind::IntegerToPointer => from == Type::I64 && to.is_pointer(),
        CastKind::AddressSpace => from.is_pointer() && to.is_pointer(),
    }
}
