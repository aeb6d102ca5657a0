//! Finds code that relies on the work-items of a wave running in lockstep: `volatile` shared memory that one work-item writes and others
//! read without a barrier between, as reductions were written before `__syncwarp()` existed.
//!
//! AMD GPUs run waves in lockstep. CPUs do not, and NVIDIA's GPUs have not since compute capability 7.0, so the code is told of there.

use std::collections::BTreeSet;

use crate::ir::{AddressSpace, Function, Module, Op, Type, Value, cfg::Cfg};
use crate::{effort, passes};

/// A load that may see what another work-item of the wave stored.
pub struct Finding {
    pub line: u32,
    /// Line of the store.
    pub stored_line: u32,
}

/// Such loads in a module as it was lowered, one for each line.
pub fn find(module: &Module) -> Vec<Finding> {
    let has = |test: fn(&Op) -> bool| {
        let mut values = module
            .functions
            .iter()
            .flat_map(|function| &function.values);
        values.any(|value| test(&value.op))
    };
    if module.shared.is_empty()
        || !has(|op| matches!(op, Op::VolatileStore { .. }))
        || !has(|op| matches!(op, Op::VolatileLoad(_)))
    {
        return Vec::new();
    }
    // What pointers point to shows when functions stand where they are called.
    let mut module = module.clone();
    passes::show_addresses(&mut module);
    let mut found: Vec<Finding> = Vec::new();
    for kernel in module
        .functions
        .iter()
        .filter(|function| function.is_kernel)
    {
        for finding in in_kernel(kernel) {
            if found.iter().all(|known| known.line != finding.line) {
                found.push(finding);
            }
        }
    }
    found.sort_by_key(|finding| finding.line);
    found
}

fn in_kernel(function: &Function) -> Vec<Finding> {
    let cfg = Cfg::new(function);
    // Stores since the last barrier, at the end of each block.
    let mut at_end: Vec<BTreeSet<Value>> = vec![BTreeSet::new(); function.blocks.len()];
    let mut found = Vec::new();
    loop {
        let mut is_changed = false;
        found.clear();
        for &block in &cfg.order {
            let mut open: BTreeSet<Value> = BTreeSet::new();
            for before in &cfg.predecessors[block.0 as usize] {
                effort::spend(1 + at_end[before.0 as usize].len());
                open.extend(&at_end[before.0 as usize]);
            }
            for &value in &function.blocks[block.0 as usize].instructions {
                match *function.op(value) {
                    Op::Cooperative(operation, _) if operation.is_sync_point() => open.clear(),
                    Op::VolatileStore { pointer, .. } if is_shared(function, pointer) => {
                        open.insert(value);
                    }
                    Op::VolatileLoad(pointer) if is_shared(function, pointer) => {
                        effort::spend(open.len());
                        let other = open.iter().find(|store| {
                            matches!(function.op(**store), Op::VolatileStore { pointer: stored, .. }
                                if is_of_others(function, *stored, pointer))
                        });
                        found.extend(other.map(|store| Finding {
                            line: function.values[value.0 as usize].line,
                            stored_line: function.values[store.0 as usize].line,
                        }));
                    }
                    _ => {}
                }
            }
            if at_end[block.0 as usize] != open {
                at_end[block.0 as usize] = open;
                is_changed = true;
            }
        }
        if !is_changed {
            return found;
        }
    }
}

fn is_shared(function: &Function, pointer: Value) -> bool {
    function.ty(pointer) == Type::Pointer(AddressSpace::Shared)
}

/// Whether two pointers lead into one array by different indices, of which one at least is not a constant.
fn is_of_others(function: &Function, stored: Value, loaded: Value) -> bool {
    let (one, other) = (path(function, stored), path(function, loaded));
    one.base == other.base && one.indices != other.indices && (one.varies || other.varies)
}

/// How an address is made: what it lies in, and the indices on the way.
struct Path<'f> {
    base: &'f Op,
    indices: Vec<(Value, u64)>,
    varies: bool,
}

fn path(function: &Function, mut pointer: Value) -> Path<'_> {
    let mut path = Path {
        base: function.op(pointer),
        indices: Vec::new(),
        varies: false,
    };
    while let Op::Offset {
        pointer: inner,
        index,
        scale,
    } = *function.op(pointer)
    {
        path.varies |= function.constant(index).is_none();
        path.indices.push((index, scale));
        pointer = inner;
    }
    path.base = function.op(pointer);
    path
}

#[cfg(test)]
mod tests {
    use crate::{CompileOptions, Compiler, Target};

    fn warnings(body: &str, target: &str) -> Vec<String> {
        let source = format!(
            "__device__ void reduce(volatile int* s, int t) {{\ns[t] += s[t + 16];\ns[t] += s[t + 8];\n}}\n\
             __global__ void k(int* o) {{ int t = threadIdx.x; __shared__ int s[64]; volatile int* v = s; s[t] = o[t]; __syncthreads();\n{body}\n\
             __syncthreads(); o[t] = s[0]; }}"
        );
        let target = Target::parse(target).expect("a target");
        let unit = Compiler::new()
            .compile(&source, &CompileOptions::default(), &target)
            .expect("a kernel");
        unit.notes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_reduction_that_relies_on_lockstep_is_told_with_its_line() {
        for target in ["x86_64", "sm_90"] {
            let told = warnings("if (t < 32) reduce(s, t);", target);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].starts_with("kernel.hip:3:1: warning:"), "{told:?}");
            assert!(told[0].contains("__syncwarp()"), "{told:?}");
        }
        assert_eq!(warnings("if (t < 32) reduce(s, t);", "gfx1100"), [""; 0]);
        let told = warnings(
            "for (int d = 16; d > 0; d >>= 1) v[t] += v[t + d];",
            "x86_64",
        );
        assert_eq!(told.len(), 1, "{told:?}");
    }

    #[test]
    fn volatile_memory_with_barriers_or_of_one_work_item_is_fine() {
        for body in [
            "for (int d = 16; d > 0; d >>= 1) { v[t] += v[t + d]; __syncwarp(); }",
            "v[t] = v[t] + 1; v[t] = v[t] * 2;",
            "if (t == 0) { v[0] = 1; v[1] = v[0]; }",
            "s[t] += s[t + 16]; s[t] += s[t + 8];",
        ] {
            assert_eq!(warnings(body, "x86_64"), [""; 0], "{body}");
        }
    }
}
