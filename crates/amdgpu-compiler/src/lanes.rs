//! Work-items as SIMD lanes: what `llvm::lanes` needs to know to emit a function that runs neighbouring work-items, consecutive
//! in x, as the lanes of vectors ("whole-function vectorisation", Karrenberg and Hack, 2011).
//!
//! Every value has a [`Shape`]: uniform values and those that go up evenly from lane to lane stay scalars, so that uniform loads
//! are scalar loads and neighbouring accesses are vector loads and stores. Where lanes part ways, both ways run, each with a mask
//! of its lanes ([`Linear`]); a loop runs until no lane stays in it.
//!
//! Because all operations of the IR are total, only memory, atomics and calls need masks. Lanes compute what work-items compute
//! one by one, operation for operation, so that results are the same bits.
//!
//! What is left to the scalar path, each with its reason ([`Fallback`]): control flow that is not reducible, operations without a
//! meaning for lanes, locks that one lane could hold while another waits for it, and functions of extreme size.

mod copies;
mod demand;
mod divergence;
mod gain;
mod linearise;
mod loops;
mod masks;
mod shape;
mod slots;

pub use copies::expand as expand_copies;
pub use demand::Demand;
pub use divergence::Divergence;
pub use gain::Estimate;
pub use linearise::{Flow, Linear, Node};
pub use loops::{Loops, targets};
pub use masks::{Mask, Masks};
pub use shape::Shape;
pub use slots::Slots;

use crate::ir::{BlockId, Cooperation, Function, Op, Terminator, Value, cfg::Cfg};
use crate::target::Target;
use divergence::Context;

/// Instructions of a function: analyses are quadratic in the worst case.
pub const MAX_INSTRUCTIONS: usize = 20_000;

/// Why a function runs one work-item at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    Irreducible,
    Operation(&'static str),
    Lock,
    Size,
}

impl Fallback {
    pub fn text(self) -> String {
        match self {
            Self::Irreducible => "a loop with two entries".to_owned(),
            Self::Operation(name) => format!("the operation {name}"),
            Self::Lock => "a lock that work-items of a block may wait for".to_owned(),
            Self::Size => "its size".to_owned(),
        }
    }
}

/// How many work-items one vector takes: what fills the widest registers with 32-bit values.
pub fn width(target: &Target) -> u32 {
    let has = |feature: &str| target.features.split(',').any(|item| item == feature);
    if target.triple.starts_with("x86_64") {
        if has("+avx512f") || target.cpu == "x86-64-v4" {
            return 16;
        }
        if has("+avx2") || target.cpu == "x86-64-v3" {
            return 8;
        }
    }
    4
}

/// A function as lanes run it.
pub struct Plan {
    pub lanes: u32,
    pub cfg: Cfg,
    pub loops: Loops,
    pub order: Vec<BlockId>,
    pub slots: Slots,
    pub divergence: Divergence,
    pub linear: Linear,
    pub masks: Masks,
}

impl Plan {
    /// `parameters` are the shapes of the function's parameters.
    pub fn new(function: &Function, parameters: &[Shape], lanes: u32) -> Result<Self, Fallback> {
        if function.instruction_count() > MAX_INSTRUCTIONS {
            return Err(Fallback::Size);
        }
        if let Some(name) = function.values.iter().find_map(|value| refused(&value.op)) {
            return Err(Fallback::Operation(name));
        }
        let cfg = Cfg::new(function);
        let loops = Loops::new(function, &cfg).ok_or(Fallback::Irreducible)?;
        if loops.headed_by(BlockId(0)).is_some() {
            return Err(Fallback::Irreducible);
        }
        if waits_for_lock(function, &cfg, &loops) {
            return Err(Fallback::Lock);
        }
        let order = loops.order(function, &cfg);
        let slots = Slots::new(function);
        let mut forced = Vec::new();
        loop {
            let ctx = Context {
                function,
                cfg: &cfg,
                loops: &loops,
                order: &order,
                slots: &slots,
                parameters,
                lanes,
            };
            let divergence = Divergence::new(&ctx, &forced);
            match Linear::new(function, &cfg, &loops, &order, &divergence) {
                Ok(linear) => {
                    let masks = Masks::new(function, &cfg, &loops, &order, &divergence, &linear);
                    return Ok(Self {
                        lanes,
                        cfg,
                        loops,
                        order,
                        slots,
                        divergence,
                        linear,
                        masks,
                    });
                }
                // Each round adds a loop.
                Err(item) if !forced.contains(&item) => forced.push(item),
                Err(_) => return Err(Fallback::Irreducible),
            }
        }
    }
}

/// Operations by which work-items see each other's values, barriers among them.
fn refused(op: &Op) -> Option<&'static str> {
    use Cooperation as C;
    match op {
        // A work-item that polls waits for others, which lanes in step would hold up; and each access happens on its own.
        Op::VolatileLoad(_) | Op::VolatileStore { .. } => Some("volatile access"),
        Op::Cooperative(operation, _) => match operation.of_device() {
            C::ClockCycles
            | C::ClockSteady
            | C::FenceBlock
            | C::FenceDevice
            | C::FenceSystem
            | C::AtomicAdd
            | C::AtomicAddFloat
            | C::AtomicSubtract
            | C::AtomicMinimum
            | C::AtomicMinimumUnsigned
            | C::AtomicMaximum
            | C::AtomicMaximumUnsigned
            | C::AtomicAnd
            | C::AtomicOr
            | C::AtomicXor
            | C::AtomicExchange
            | C::AtomicIncrement
            | C::AtomicDecrement
            | C::AtomicCompareExchange => None,
            other => Some(other.text()),
        },
        _ => None,
    }
}

/// Whether a loop tries again and again to exchange a value that does not change from iteration to iteration: a lock. Lanes run in step, so
/// that one that holds it would never come to give it back.
fn waits_for_lock(function: &Function, cfg: &Cfg, loops: &Loops) -> bool {
    if loops.list.is_empty() {
        return false;
    }
    let mut home: Vec<Option<BlockId>> = vec![None; function.values.len()];
    for &block in &cfg.order {
        for &value in &function.blocks[block.0 as usize].instructions {
            home[value.0 as usize] = Some(block);
        }
    }
    cfg.order.iter().any(|&block| {
        let Some(item) = loops.of[block.0 as usize] else {
            return false;
        };
        let is_fixed =
            |value: Value| home[value.0 as usize].is_none_or(|block| !loops.contains(item, block));
        function.blocks[block.0 as usize]
            .instructions
            .iter()
            .any(|&value| match function.op(value) {
                Op::Cooperative(operation, operands)
                    if matches!(
                        operation.of_device(),
                        Cooperation::AtomicExchange | Cooperation::AtomicCompareExchange
                    ) =>
                {
                    operands[1..].iter().all(|operand| is_fixed(*operand))
                        && decides(function, cfg, loops, item, value)
                }
                _ => false,
            })
    })
}

/// Whether a branch in a loop follows from a value.
fn decides(function: &Function, cfg: &Cfg, loops: &Loops, item: usize, value: Value) -> bool {
    let mut follows = vec![false; function.values.len()];
    follows[value.0 as usize] = true;
    let mut changed = true;
    while changed {
        changed = false;
        for (index, instruction) in function.values.iter().enumerate() {
            if !follows[index] {
                let mut found = false;
                instruction
                    .op
                    .for_each_operand(|operand| found |= follows[operand.0 as usize]);
                follows[index] = found;
                changed |= found;
            }
        }
    }
    cfg.order.iter().any(|block| {
        let terminator = &function.blocks[block.0 as usize].terminator;
        loops.contains(item, *block)
            && !matches!(terminator, Terminator::Return(_))
            && terminator
                .operand()
                .is_some_and(|operand| follows[operand.0 as usize])
    })
}
