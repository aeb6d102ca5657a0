//! Checked launches: what the compiler knows of each access, and the arrays of the launch, put together for the hardware layer.

use std::sync::Arc;

use amdgpu_compiler::KernelSignature;
use amdgpu_compiler::checks::{AccessKind, Site, Target};
use amdgpu_hal::cpu::checked::{self, Array, CountedWork, Counts, Expectations, OtherMemory};
use amdgpu_memory::{Allocator, BlockState};

use crate::arguments::Argument;
use crate::facts::KernelFacts;

/// The checks of one kernel.
pub(crate) struct Checks {
    sites: Arc<[checked::Site]>,
    file: String,
    /// Some pointers come from memory: structs, arrays of pointers.
    has_unknown: bool,
    counts: Arc<Counts>,
}

impl Checks {
    pub fn new(sites: &[Site], signature: &KernelSignature, file: &str) -> Self {
        let number_of = |name: &str| {
            let is_pointer = |kind: &amdgpu_compiler::ParameterKind| {
                matches!(kind, amdgpu_compiler::ParameterKind::Pointer { .. })
            };
            let mut pointers = signature
                .parameters
                .iter()
                .filter(|one| is_pointer(&one.kind));
            pointers.position(|parameter| parameter.name == name)
        };
        let convert = |site: &Site| checked::Site {
            line: site.line,
            kind: match site.kind {
                AccessKind::Read => checked::AccessKind::Read,
                AccessKind::Write => checked::AccessKind::Write,
                AccessKind::Atomic => checked::AccessKind::Atomic,
            },
            align: site.align,
            target: match &site.target {
                Target::Unknown => checked::Target::Unknown,
                Target::Argument(name) => {
                    number_of(name).map_or(checked::Target::Unknown, checked::Target::Argument)
                }
                Target::Private { bytes } => checked::Target::Private { bytes: *bytes },
                Target::Shared { name, bytes } => checked::Target::Shared {
                    name: name.clone(),
                    bytes: *bytes,
                },
                Target::Global { name, bytes } => checked::Target::Global {
                    name: name.clone(),
                    bytes: *bytes,
                },
            },
        };
        let sites: Arc<[checked::Site]> = sites.iter().map(convert).collect();
        Self {
            has_unknown: sites
                .iter()
                .any(|site| site.target == checked::Target::Unknown),
            sites,
            file: file.to_owned(),
            counts: Arc::default(),
        }
    }

    /// What the newest launch computed and moved.
    pub fn counted(&self) -> Option<CountedWork> {
        self.counts.newest()
    }

    pub fn expectations(
        &self,
        facts: &KernelFacts,
        allocator: &Allocator,
        dynamic_shared_bytes: u64,
        arguments: &[Argument],
    ) -> Expectations {
        let arrays = arguments.iter().zip(&facts.parameters);
        let arrays = arrays.filter_map(|(argument, parameter)| match argument {
            Argument::Pointer { address, bytes, .. } => Some(Array {
                name: parameter.name.clone(),
                address: *address,
                bytes: *bytes,
            }),
            _ => None,
        });
        Expectations {
            kernel: facts.name.clone(),
            file: self.file.clone(),
            sites: Arc::clone(&self.sites),
            arrays: arrays.collect(),
            others: if self.has_unknown {
                device_memory(allocator)
            } else {
                Vec::new()
            },
            dynamic_shared_bytes,
            counts: Arc::clone(&self.counts),
        }
    }
}

/// Arrays of the device that live, and memory that arrays were in before.
fn device_memory(allocator: &Allocator) -> Vec<OtherMemory> {
    let segments = allocator.snapshot();
    let blocks = segments.iter().flat_map(|segment| &segment.blocks);
    let memory = blocks.map(|block| {
        let is_freed = block.state != BlockState::ActiveAllocated;
        OtherMemory {
            address: block.address,
            bytes: if is_freed {
                block.size_bytes
            } else {
                block.requested_bytes
            },
            is_freed,
        }
    });
    memory.collect()
}
