//! What a pass is given beside the function it transforms, and what was found out about that function and still holds.

use std::rc::Rc;

use crate::ir::loops::Loops;
use crate::ir::{Function, Global, Shared, cfg::Cfg};
use crate::options::OptimizationLevel;
use crate::target::TargetKind;
use crate::telemetry::Finding;

/// What a function refers to outside of itself.
#[derive(Clone, Copy)]
pub struct Memory<'m> {
    pub globals: &'m [Global],
    pub shared: &'m [Shared],
}

/// How much code passes may make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Instructions of one loop after unrolling.
    pub unrolled_instructions: usize,
    pub unrolled_turns: u64,
    /// Iterations that a loop does at a time where nothing is said about it; 1 leaves it as it is.
    pub turns_at_once: u32,
    /// Instructions of one function after inlining.
    pub inlined_instructions: usize,
}

/// Iterations at a time on NVIDIA GPUs: what nvcc takes, so that as many loads are on their way at once.
const NVIDIA_TURNS: u32 = 4;

impl Budget {
    /// Sizes that the benchmark `./x bench passes` chose: more unrolling made compiles slower and no kernel faster.
    pub fn of(level: OptimizationLevel) -> Self {
        Self {
            unrolled_instructions: if level == OptimizationLevel::Max {
                1024
            } else {
                320
            },
            unrolled_turns: if level == OptimizationLevel::Max {
                128
            } else {
                32
            },
            turns_at_once: 1,
            inlined_instructions: 20_000,
        }
    }

    /// The same for a kind of target.
    pub fn on(self, kind: TargetKind) -> Self {
        Self {
            turns_at_once: if kind == TargetKind::Nvidia {
                NVIDIA_TURNS
            } else {
                1
            },
            ..self
        }
    }
}

/// Largest number of findings of one pass that are kept: they are for people to read.
pub const MAX_FINDINGS: usize = 100;

/// What passes noticed, for the user to read.
#[derive(Debug, Default)]
pub struct Findings {
    pub list: Vec<Finding>,
}

impl Findings {
    /// Notes something about a line of a function.
    pub fn add(&mut self, function: &Function, line: u32, text: impl FnOnce() -> String) {
        if self.list.len() < MAX_FINDINGS {
            self.list.push(Finding {
                function: function.name.clone(),
                line,
                text: text(),
            });
        }
    }
}

/// The graph of a function and its loops, as long as its blocks do not change.
#[derive(Debug, Default)]
pub struct Analyses {
    graph: Option<Rc<Cfg>>,
    loops: Option<Rc<Loops>>,
}

impl Analyses {
    pub fn cfg(&mut self, function: &Function) -> Rc<Cfg> {
        Rc::clone(
            self.graph
                .get_or_insert_with(|| Rc::new(Cfg::new(function))),
        )
    }

    pub fn loops(&mut self, function: &Function) -> Rc<Loops> {
        if self.loops.is_none() {
            let cfg = self.cfg(function);
            self.loops = Some(Rc::new(Loops::new(function, &cfg)));
        }
        match &self.loops {
            Some(loops) => Rc::clone(loops),
            None => unreachable!("made above"),
        }
    }

    /// Forgets what followed from the blocks.
    pub fn blocks_changed(&mut self) {
        *self = Self::default();
    }

    /// Whether what is kept is what would be found now.
    pub fn still_hold(&self, function: &Function) -> bool {
        self.graph
            .as_ref()
            .is_none_or(|graph| graph.is_same(&Cfg::new(function)))
    }
}

/// What a pass works with.
pub struct Context<'c> {
    pub memory: Memory<'c>,
    pub budget: Budget,
    pub findings: &'c mut Findings,
    pub analyses: &'c mut Analyses,
    /// The function changed in ways that do not count as transformations.
    pub is_touched: bool,
}

impl Context<'_> {
    pub fn cfg(&mut self, function: &Function) -> Rc<Cfg> {
        self.analyses.cfg(function)
    }

    pub fn loops(&mut self, function: &Function) -> Rc<Loops> {
        self.analyses.loops(function)
    }

    /// To be called by whoever changes where blocks lead.
    pub fn blocks_changed(&mut self) {
        self.analyses.blocks_changed();
    }
}
