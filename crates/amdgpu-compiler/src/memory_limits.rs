//! What a target's memory holds: kernels that need more are refused before LLVM, which says less about it.

use crate::ir::{Function, Module, Op};
use crate::regions::shared_layout;
use crate::target::{Target, TargetKind};

const KIB: u64 = 1024;

/// A kernel that needs more memory of a kind than there is.
pub struct Excess {
    /// Name of the kernel in the module.
    pub kernel: String,
    pub message: String,
    pub hint: &'static str,
}

/// The first kernel that the target cannot run.
pub fn find_excess(module: &Module, target: &Target) -> Option<Excess> {
    let kernels = module
        .functions
        .iter()
        .filter(|function| function.is_kernel);
    for kernel in kernels {
        let shared = shared_layout(module, kernel).1;
        if let Some(limit) = shared_limit(target)
            && shared > limit
        {
            return Some(Excess {
                kernel: kernel.name.clone(),
                message: format!(
                    "the __shared__ variables of this kernel take {shared} bytes; {} has {limit} for a block",
                    target.name
                ),
                hint: match target.kind {
                    TargetKind::Nvidia => {
                        "declare one array extern __shared__ and give its size with the launch, which may be larger"
                    }
                    _ => "use smaller tiles, or keep a part in registers or global memory",
                },
            });
        }
        let private = private_bytes(kernel);
        if let Some(limit) = private_limit(target)
            && private > limit
        {
            return Some(Excess {
                kernel: kernel.name.clone(),
                message: format!(
                    "the arrays and structs of each work-item take {private} bytes in this kernel; {} has {limit}",
                    target.name
                ),
                hint: "pass a pointer to memory that the host allocates",
            });
        }
    }
    None
}

/// Bytes of static shared memory that one block may have.
fn shared_limit(target: &Target) -> Option<u64> {
    match (target.kind, target.cpu.as_str()) {
        // The scratch memory of a launch is allocated as asked for.
        (TargetKind::Host, _) => None,
        // AMD Instinct MI350 instruction set architecture, 3.1 "LDS".
        (TargetKind::Amd, "gfx950") => Some(160 * KIB),
        (TargetKind::Amd, _) => Some(64 * KIB),
        // CUDA C++ Programming Guide, "Compute Capabilities": more only as dynamic shared memory.
        (TargetKind::Nvidia, _) => Some(48 * KIB),
    }
}

/// Bytes of private memory that a work-item may have: the scratch of a wave, in the units of `COMPUTE_TMPRING_SIZE.WAVESIZE`, over its lanes.
/// LLVM, `GCNSubtarget::getMaxWaveScratchSize`.
fn private_limit(target: &Target) -> Option<u64> {
    if target.kind != TargetKind::Amd {
        return None;
    }
    let wave_bytes = match target.cpu.as_bytes() {
        [b'g', b'f', b'x', b'1', b'2', ..] if target.wave_size() == 32 => {
            64 * 4 * ((1u64 << 18) - 1)
        }
        [b'g', b'f', b'x', b'1', b'1', ..] if target.wave_size() == 32 => {
            64 * 4 * ((1u64 << 15) - 1)
        }
        _ => 256 * 4 * ((1u64 << 13) - 1),
    };
    Some(wave_bytes / u64::from(target.wave_size()))
}

fn private_bytes(kernel: &Function) -> u64 {
    let values = kernel.blocks.iter().flat_map(|block| &block.instructions);
    values.fold(0u64, |sum, value| match kernel.op(*value) {
        Op::Slot { bytes, .. } => sum.saturating_add(*bytes),
        _ => sum,
    })
}

#[cfg(test)]
mod tests {
    use crate::{CompileOptions, Compiler, Target};

    fn compile(source: &str, target: &str) -> Result<(), String> {
        let target = Target::parse(target).expect("a target");
        let compiled = Compiler::new().compile(source, &CompileOptions::default(), &target);
        compiled.map(|_| ()).map_err(|error| error.to_string())
    }

    fn shared(bytes: u64) -> String {
        format!(
            "__global__ void k(char* o, int n) {{ __shared__ char t[{bytes}]; t[n] = o[n]; __syncthreads(); o[n] = t[n ^ 1]; }}"
        )
    }

    fn private(bytes: u64) -> String {
        format!(
            "__global__ void k(char* o, int n) {{ char t[{bytes}]; for (int i = 0; i < n; ++i) t[i] = o[i]; o[n] = t[n ^ 1]; }}"
        )
    }

    #[test]
    fn shared_memory_beyond_a_block_is_refused_at_the_kernel() {
        for (target, limit) in [
            ("gfx90a", 65_536),
            ("gfx1100", 65_536),
            ("gfx950", 163_840),
            ("sm_90", 49_152),
        ] {
            assert_eq!(compile(&shared(limit), target), Ok(()), "{target}");
            let message = compile(&shared(limit + 1), target).expect_err("too much");
            assert!(
                message.contains(&format!(
                    "kernel.hip:1:17: error: the __shared__ variables of this kernel take {} bytes; {target} has {limit} for a block",
                    limit + 1
                )),
                "{message}"
            );
        }
        assert_eq!(compile(&shared(80_000), "x86_64"), Ok(()));
    }

    #[test]
    fn private_memory_beyond_a_work_item_is_refused_at_the_kernel() {
        for (target, limit) in [
            ("gfx90a", 131_056),
            ("gfx1030", 262_112),
            ("gfx1100", 262_136),
        ] {
            assert_eq!(compile(&private(limit), target), Ok(()), "{target}");
            let message = compile(&private(limit + 1), target).expect_err("too much");
            assert!(
                message.contains(&format!("{target} has {limit}")),
                "{message}"
            );
        }
        assert_eq!(compile(&private(262_144), "gfx1200"), Ok(()));
        assert_eq!(compile(&private(262_144), "sm_90"), Ok(()));
    }
}
