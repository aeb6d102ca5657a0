//! Kernels for the CPU: cut where work-items meet, at barriers and operations of waves, into regions, each a function that runs one
//! work-item from one such place to the next.
//!
//! A region returns the number of the region that follows, or [`HostKernel::returned`]. The entry of the kernel (`llvm::cpu`)
//! runs a region for every work-item of a block before it starts the next one. Values that live across a barrier are kept by
//! the entry: once for the block when they are the same for every work-item ([`uniformity`]), else in an array with an element
//! for every work-item. In kernels with operations of waves each wave goes its own way (`llvm::cpu_waves`), and has what else the
//! block has. What follows from indices and arguments alone is computed anew.
//!
//! Karrenberg, Hack: "Improving Performance of `OpenCL` on CPUs" (2012) and Jääskeläinen et al.: "pocl" (2015) describe the
//! approach.

mod atomic_reductions;
mod bounds;
mod exchange;
mod live_across;
mod region;
mod sync_points;
mod uniform_branches;
mod uniformity;

use crate::ir::{
    AddressSpace, BlockId, CastKind, Function, Module, Op, Parameter, SpecialKind, Type, Value,
};
pub use atomic_reductions::AtomicReduction;
pub use bounds::add_all as add_bounds;
pub use exchange::{Entry, Exchange};
pub use live_across::Home;
use live_across::LiveAcross;
use region::Builder;
use sync_points::Cut;
use uniformity::Uniformity;

/// Every part of a block's scratch memory starts at a multiple of this: a cache line, and every vector type.
pub const ALIGN_BYTES: u64 = 64;
/// Lanes of a wave on the CPU (`Target::wave_size`).
pub const WAVE_SIZE: u64 = 32;

/// What the entry of a kernel needs to know.
#[derive(Clone, PartialEq, Debug)]
pub struct HostKernel {
    pub name: String,
    /// The function of the first region, or of the whole kernel when it has no barriers.
    pub function: usize,
    /// Types of the kernel's own parameters.
    pub arguments: Vec<Type>,
    /// Takes the address of shared memory after its arguments.
    pub has_shared: bool,
    /// Takes the addresses of these after that.
    pub atomic_reductions: Vec<AtomicReduction>,
    /// Bytes of shared memory whose size is known, a multiple of [`ALIGN_BYTES`].
    pub shared_bytes: u64,
    /// Bytes of each array that has one element for every work-item.
    pub contexts: Vec<u64>,
    /// Values kept once for a block.
    pub uniforms: Vec<Type>,
    /// Empty without barriers.
    pub regions: Vec<Region>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    pub function: usize,
    pub given: Given,
    pub entry: Entry,
    pub exit: Exit,
    /// It only takes decisions that are the same for all work-items: it runs once, and they all have done so.
    pub is_decision: bool,
    /// It can run more than once for a block.
    pub is_repeated: bool,
    /// Where not all work-items of a row do anything.
    pub bound: Option<Bound>,
}

/// How many work-items of a row, from the first, do anything in a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The function that says it. It takes what the region's function takes, but for elements and places of results.
    pub function: usize,
    /// It follows from values kept between regions, so that it changes from one iteration to the next.
    pub is_given: bool,
    /// It is the first work-item alone.
    pub is_one: bool,
}

/// What the function of a region takes after the kernel's own arguments, in this order; numbers as in [`Home`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// Arrays of which it takes the address of the work-item's element.
    pub contexts: Vec<usize>,
    /// Uniform values that it reads.
    pub uniforms: Vec<usize>,
    /// Those that it writes, by their addresses.
    pub results: Vec<usize>,
}

/// Where the work-items of a block go at the end of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// All to this region.
    One(u32),
    /// All to the same.
    Uniform,
    Varying,
}

impl HostKernel {
    /// The number that stands for the end of the kernel.
    pub fn returned(&self) -> u32 {
        self.regions.len() as u32
    }

    /// Parameters that every function of the kernel has.
    pub fn own_parameters(&self) -> usize {
        self.arguments.len() + usize::from(self.has_shared) + self.atomic_reductions.len()
    }

    /// Scratch memory that a block needs for each of its work-items, whose number is rounded up to [`ALIGN_BYTES`].
    pub fn scratch_bytes_per_thread(&self) -> u64 {
        // Four more for the number of the region.
        let state = if self.regions.is_empty() { 0 } else { 4 };
        let wave = if self.has_waves() {
            self.wave_cell_bytes().div_ceil(WAVE_SIZE)
        } else {
            0
        };
        self.contexts.iter().sum::<u64>() + state + wave
    }

    /// Whether the work-items of a wave meet, so that each wave goes its own way.
    pub fn has_waves(&self) -> bool {
        let mut regions = self.regions.iter();
        regions.any(|region| matches!(region.entry, Entry::Wave(_)))
    }

    /// Whether work-items of a block may have different regions before them.
    pub fn parts(&self) -> bool {
        let mut regions = self.regions.iter();
        regions.any(|region| region.exit == Exit::Varying)
    }

    /// Bytes that are kept for each wave: the number of its region, and the uniform values.
    pub fn wave_cell_bytes(&self) -> u64 {
        8 + 8 * self.uniforms.len() as u64
    }

    /// As if one region used everything.
    pub fn all(&self) -> Given {
        let uniforms: Vec<usize> = (0..self.uniforms.len()).collect();
        Given {
            contexts: (0..self.contexts.len()).collect(),
            results: uniforms.clone(),
            uniforms,
        }
    }

    /// The first region behind a decision, or else the number that stands for the end.
    pub fn first_uniform_branch(&self) -> u32 {
        let mut regions = self.regions.iter();
        let found = regions.position(|region| region.entry == Entry::UniformBranch);
        found.map_or(self.returned(), |number| number as u32)
    }

    /// The first region behind a barrier, or else the number that stands for the end.
    pub fn first_behind_barrier(&self) -> u32 {
        let mut regions = self.regions.iter();
        let found = regions.position(|region| region.entry == Entry::Barrier);
        found.map_or(self.returned(), |number| number as u32)
    }
}

/// Offsets of a kernel's shared memory, and the bytes it takes; what has no size starts where the rest ends.
pub fn shared_layout(module: &Module, function: &Function) -> (Vec<Option<u64>>, u64) {
    let mut offsets = vec![None; module.shared.len()];
    let mut bytes = 0u64;
    let mut is_used = vec![false; module.shared.len()];
    for value in &function.values {
        if let Op::SharedAddress(index) = value.op {
            is_used[index as usize] = true;
        }
    }
    for (index, shared) in module.shared.iter().enumerate() {
        if shared.bytes > 0 && is_used[index] {
            bytes = bytes.next_multiple_of(shared.align.max(1));
            offsets[index] = Some(bytes);
            bytes += shared.bytes;
        }
    }
    (offsets, bytes)
}

/// The module as the CPU needs it. Kernels that have neither barriers nor shared memory stay as they are.
pub fn split(mut module: Module) -> (Module, Vec<HostKernel>) {
    let mut kernels = Vec::new();
    for index in 0..module.functions.len() {
        if !module.functions[index].is_kernel {
            continue;
        }
        let layout = shared_layout(&module, &module.functions[index]);
        let function = &mut module.functions[index];
        let mut kernel = HostKernel {
            name: function.name.clone(),
            function: index,
            arguments: function
                .parameters
                .iter()
                .map(|parameter| parameter.ty)
                .collect(),
            has_shared: false,
            atomic_reductions: Vec::new(),
            shared_bytes: 0,
            contexts: Vec::new(),
            uniforms: Vec::new(),
            regions: Vec::new(),
        };
        let has_sync_points = function.values.iter().any(
            |value| matches!(value.op, Op::Cooperative(operation, _) if operation.is_sync_point()),
        );
        lay_out_shared(layout, function, &mut kernel);
        atomic_reductions::keep(function, &mut kernel);
        if has_sync_points {
            let mut function = function.clone();
            sync_points::add_rejoins(&mut function);
            let next_function = module.functions.len();
            let mut refused = Vec::new();
            // Each round refuses another block.
            let functions = loop {
                match regions_of(&function, &mut kernel, next_function, &refused) {
                    Ok(functions) => break functions,
                    Err(blocks) => refused.extend(blocks),
                }
            };
            let mut functions = functions.into_iter();
            if let Some(first) = functions.next() {
                module.functions[index] = first;
            }
            module.functions.extend(functions);
        }
        kernels.push(kernel);
    }
    (module, kernels)
}

/// Addresses of shared memory become offsets from a parameter.
fn lay_out_shared(
    (offsets, bytes): (Vec<Option<u64>>, u64),
    function: &mut Function,
    kernel: &mut HostKernel,
) {
    kernel.shared_bytes = bytes.next_multiple_of(ALIGN_BYTES);
    let users: Vec<(usize, u32)> = function
        .values
        .iter()
        .enumerate()
        .filter_map(|(value, instruction)| match instruction.op {
            Op::SharedAddress(index) => Some((value, index)),
            _ => None,
        })
        .collect();
    if users.is_empty() {
        return;
    }
    kernel.has_shared = true;
    let pointer = Type::Pointer(AddressSpace::Shared);
    let base = add_parameter(function, "shared", pointer);
    for (position, (user, index)) in users.into_iter().enumerate() {
        let offset = offsets[index as usize].unwrap_or(kernel.shared_bytes);
        let offset = function.add_value(Op::Constant(offset), Type::I64, 0);
        function.values[user].op = Op::Offset {
            pointer: base,
            index: offset,
            scale: 1,
        };
        function.blocks[0]
            .instructions
            .insert(position, Value(user as u32));
    }
}

fn add_parameter(function: &mut Function, name: &str, ty: Type) -> Value {
    let index = function.parameters.len() as u32;
    function.parameters.push(Parameter {
        name: name.to_owned(),
        ty,
        is_restrict: false,
    });
    function.add_value(Op::Parameter(index), ty, 0)
}

/// The functions of a kernel's regions; `Err` names blocks that a decision should not be followed by a cut for.
fn regions_of(
    function: &Function,
    kernel: &mut HostKernel,
    next_function: usize,
    refused: &[BlockId],
) -> Result<Vec<Function>, Vec<BlockId>> {
    let mut function = function.clone();
    let mut ends = sync_points::cut(&mut function);
    private_becomes_global(&mut function);
    let uniform_branches = uniform_branches::add(&mut function, &mut ends, refused);
    let cut = Cut::new(&function, ends);
    let uniformity = Uniformity::new(&cut);
    let unfit = uniform_branches::unfit(&cut, &uniformity, &uniform_branches);
    if !unfit.is_empty() {
        return Err(unfit);
    }
    (kernel.contexts, kernel.uniforms, kernel.regions) = (Vec::new(), Vec::new(), Vec::new());
    let live_across = LiveAcross::new(&cut, &uniformity, kernel);
    let light = uniform_branches::light_blocks(&cut, &uniformity);
    let entries = exchange::entries(&cut, &live_across, kernel);
    let count = cut.starts.len();
    let mut functions = Vec::with_capacity(count);
    let repeated = cut.repeated();
    for (number, entry) in entries.iter().enumerate() {
        let blocks = cut.blocks_of(cut.starts[number]);
        let is_light = blocks.iter().all(|block| light[block.0 as usize]);
        let mut builder = Builder::new(&cut, &live_across, &entries, kernel, number);
        if is_light {
            builder.leave_in_place(&uniformity);
        }
        let (function, given) = builder.run();
        let exit = uniformity.exit_of(&cut, number, count as u32);
        let is_decision = is_light
            && !cut.has_waves()
            && exit != Exit::Varying
            && given.contexts.is_empty()
            && !follows_index(&function);
        functions.push(function);
        kernel.regions.push(Region {
            function: if number == 0 {
                kernel.function
            } else {
                next_function + number - 1
            },
            given,
            entry: entry.clone(),
            exit,
            is_decision,
            is_repeated: repeated[number],
            bound: None,
        });
    }
    let is_taken = |end: BlockId| {
        (kernel.regions.iter().zip(&cut.starts))
            .any(|(region, start)| region.is_decision && cut.blocks_of(*start).contains(&end))
    };
    let idle: Vec<BlockId> = uniform_branches
        .iter()
        .filter(|(end, _)| !is_taken(*end))
        .map(|(_, to)| *to)
        .collect();
    if idle.is_empty() {
        Ok(functions)
    } else {
        Err(idle)
    }
}

/// Whether a function reads the index of its work-item.
fn follows_index(function: &Function) -> bool {
    let values = function.blocks.iter().flat_map(|block| &block.instructions);
    let is_index =
        |op: &Op| matches!(op, Op::Special(special) if special.kind == SpecialKind::ThreadIndex);
    values
        .into_iter()
        .any(|value| is_index(function.op(*value)))
}

/// Private memory is an element of an array here; on the CPU all address spaces are one.
fn private_becomes_global(function: &mut Function) {
    for instruction in &mut function.values {
        if instruction.ty == Type::Pointer(AddressSpace::Private) {
            instruction.ty = Type::Pointer(AddressSpace::Global);
        }
        if let Op::Cast(CastKind::AddressSpace, _) = instruction.op {
            debug_assert!(instruction.ty.is_pointer());
        }
    }
}
