//! What sources mean, told by what is compiled from them: forms that no golden kernel has.

use amdgpu_compiler::{CompileOptions, CompiledUnit, Compiler, OptimizationLevel, Target, ir};

fn compile(source: &str, target: &str) -> CompiledUnit {
    let options = CompileOptions {
        dump_ir: true,
        ..CompileOptions::default()
    };
    let target = Target::parse(target).unwrap_or_else(|| panic!("{target} is no target"));
    Compiler::new()
        .compile(source, &options, &target)
        .unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// The IR behind all passes that are the same for every target.
fn optimized(source: &str) -> String {
    let unit = compile(source, "x86_64");
    let (_, text) = unit
        .portable_dumps()
        .last()
        .unwrap_or_else(|| panic!("no dumps"));
    text.clone()
}

#[test]
fn a_string_in_braces_starts_an_array_like_one_without() {
    let kernel = |start: &str| {
        format!(
            "__constant__ char word[] = {start};
__global__ void k(char* p, int i) {{ p[0] = word[i]; p[1] = sizeof(word); }}"
        )
    };
    let plain = optimized(&kernel("\"ab\""));
    assert!(plain.contains("= 6162\n"), "{plain}");
    assert_eq!(optimized(&kernel("{\"ab\"}")), plain);
}

#[test]
fn elements_of_constant_tables_are_constants_of_the_source() {
    let source = "constexpr int sizes[2][3] = {{1, 2, 3}, {4, 5, 6}};
static_assert(sizes[1][2] == 6, \"the last\");
static_assert(*(sizes[0] + 1) == 2, \"by its address\");
__global__ void k(int* p) { __shared__ int room[sizes[1][0]]; room[0] = p[0]; p[1] = room[0] + sizeof(room); }";
    let text = optimized(source);
    assert!(text.contains("bytes 16"), "{text}");
}

#[test]
fn every_optimization_level_has_a_name_of_its_own() {
    for (name, level) in [
        ("none", OptimizationLevel::None),
        ("low", OptimizationLevel::Low),
        ("high", OptimizationLevel::High),
        ("max", OptimizationLevel::Max),
    ] {
        assert_eq!(OptimizationLevel::parse(name), Some(level));
        assert_eq!(level.name(), name);
    }
    assert_eq!(OptimizationLevel::parse("highest"), None);
}

#[test]
fn functions_with_barriers_keep_all_ways_out_of_a_switch_where_they_are_inlined() {
    let source = "__device__ __noinline__ int turn(int* s, int n) {
    __syncthreads();
    int way = 0;
    switch (n) {
        case 1: way = s[1] * 11; break;
        case 2: way = s[2] + 22; __syncthreads(); break;
        default: way = s[3] - 33; break;
    }
    s[threadIdx.x] = way;
    __syncthreads();
    return way;
}
__global__ void k(int* p, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = p[threadIdx.x];
    if (n > 5) p[0] = 7; else p[1] = 8;
    p[threadIdx.x] = turn(s, n) + turn(s, n + 1);
}";
    let unit = compile(source, "x86_64");
    for (stage, text) in &unit.dumps {
        let module = ir::parse(text).unwrap_or_else(|message| panic!("{stage}: {message}"));
        ir::verify(&module).unwrap_or_else(|message| panic!("{stage}: {message}\n{text}"));
        for function in &module.functions {
            for (number, block) in function.blocks.iter().enumerate() {
                // Nothing in these sources goes back to the start of a function.
                block.terminator.for_each_target(|to| {
                    assert_ne!(
                        to.0, 0,
                        "{stage}: block {number} goes back to the first\n{text}"
                    );
                });
            }
        }
    }
}

/// Nothing leads to what stands behind such a call, and the loop around it has one way in.
#[test]
fn a_function_that_never_returns_may_be_called_in_a_loop() {
    let source = "
__device__ float endless(float x) { for (int i = 4; i >= 0; -i) x = x * 0.5f; return x; }
__global__ void k(float* p, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = endless(p[i]); }
";
    for optimization_level in [
        OptimizationLevel::None,
        OptimizationLevel::Low,
        OptimizationLevel::High,
        OptimizationLevel::Max,
    ] {
        for (target, checked) in [("x86_64", false), ("x86_64", true), ("gfx1100", false)] {
            let options = CompileOptions {
                optimization_level,
                checked,
                ..CompileOptions::default()
            };
            let target = Target::parse(target).unwrap_or_else(|| panic!("{target} is no target"));
            let result = Compiler::new().compile(source, &options, &target);
            assert!(
                result.is_ok(),
                "{optimization_level:?}, {checked}: {result:?}"
            );
        }
    }
}
