//! Profiles: what is counted where, what it says about the source, and what a compilation makes of it.

#![allow(clippy::unwrap_used)]

use amdgpu_compiler::profile::{BUFFER, Constant, Profile, SAMPLED_ITEMS, Sites};
use amdgpu_compiler::{CompileOptions, CompiledUnit, Compiler, Error, Target};

const SUMS: &str =
    "__device__ float term(float x, int kind) { if (kind == 3) return x; return x * x; }
__global__ void sums(const float* x, float* out, int n, int kind) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += term(x[i * n + j], kind);
    out[i] = sum;
}
";

fn options() -> CompileOptions {
    CompileOptions::default()
}

fn compile(options: &CompileOptions, target: &str) -> Result<CompiledUnit, Error> {
    Compiler::new().compile(SUMS, options, &Target::parse(target).unwrap())
}

fn sites() -> Sites {
    let options = CompileOptions {
        instrumented: true,
        ..options()
    };
    compile(&options, "x86_64").unwrap().profile_sites
}

/// A profile in which every block ran `runs` times and every branch was taken `taken` times.
fn profile(runs: u64, taken: u64) -> Profile {
    let sites = sites();
    let mut words = vec![0; sites.words as usize];
    for block in &sites.kernels[0].blocks {
        words[block.runs as usize] = runs;
        if let Some(branch) = block.branch {
            words[branch.taken as usize] = taken;
        }
    }
    of_words(&sites, &words)
}

fn of_words(sites: &Sites, words: &[u64]) -> Profile {
    let constants = vec![
        Constant {
            name: "n".to_owned(),
            bits: 64,
        },
        Constant {
            name: "kind".to_owned(),
            bits: 3,
        },
    ];
    let source = (SUMS, options().profile_identity(SUMS));
    Profile::of_run(sites, words, "sums", constants, source, "cpu:0").unwrap()
}

#[test]
fn instrumented_code_counts_on_every_target() {
    for target in ["x86_64", "gfx1100", "sm_90"] {
        let options = CompileOptions {
            instrumented: true,
            ..options()
        };
        let unit = compile(&options, target).unwrap();
        assert!(unit.llvm_ir.contains(BUFFER), "{target}");
        let buffer = unit.globals.last().unwrap();
        assert_eq!(buffer.name, BUFFER);
        assert_eq!(buffer.size_bytes, unit.profile_sites.words * 8);
        assert_eq!(unit.profile_sites, sites(), "{target}");
        let plain = compile(&self::options(), target).unwrap();
        assert!(!plain.llvm_ir.contains(BUFFER));
        assert_eq!(plain.profile_sites, Sites::default());
    }
}

#[test]
fn device_functions_are_counted_where_they_are_called() {
    let sites = sites();
    let [kernel] = sites.kernels.as_slice() else {
        panic!("one kernel")
    };
    let lines: Vec<u32> = kernel
        .blocks
        .iter()
        .filter_map(|block| block.branch.map(|branch| branch.line))
        .collect();
    assert!(lines.contains(&1), "{lines:?}");
    assert!(lines.contains(&5), "{lines:?}");
    assert_eq!(kernel.loops.len(), 1);
    let accesses: Vec<(u32, bool)> = kernel
        .accesses
        .iter()
        .map(|access| (access.line, access.is_store))
        .collect();
    assert_eq!(accesses, [(6, false), (7, true)]);
}

#[test]
fn counts_become_trip_counts_uniformity_and_strides() {
    let sites = sites();
    let kernel = &sites.kernels[0];
    let mut words = vec![0; sites.words as usize];
    let site = &kernel.loops[0];
    // Ten work-items that go round 64 times each.
    for block in &kernel.blocks {
        words[block.runs as usize] = 640;
    }
    words[kernel.blocks[site.header as usize].runs as usize] = 650;
    for edge in &site.back {
        if let (Some(when), Some(branch)) = (edge.when, kernel.blocks[edge.block as usize].branch) {
            words[branch.taken as usize] = if when { 640 } else { 0 };
        }
    }
    // Of two waves one agrees. One is met by half its lanes.
    let branch = kernel.blocks.iter().find_map(|block| block.branch).unwrap();
    let first = branch.samples.unwrap() as usize;
    for item in (0..32).chain(48..64) {
        words[first + 2 * item] = if item == 50 { 3 } else { 7 };
        words[first + 2 * item + 1] = 7;
    }
    let load = &kernel.accesses[0];
    for item in 0..SAMPLED_ITEMS as usize {
        words[load.samples as usize + item] = 4096 + 256 * item as u64;
    }
    let found = of_words(&sites, &words).kernel;
    assert_eq!(found.loops[0].entries, 10);
    assert_eq!(found.loops[0].iterations, 640);
    assert_eq!(
        (found.branches[0].waves, found.branches[0].uniform_waves),
        (2, 1)
    );
    assert_eq!(found.accesses[0].stride_bytes, Some(256));
    assert_eq!(found.accesses[0].percent, 100);
    assert_eq!(found.accesses[1].stride_bytes, None);
}

#[test]
fn a_kernel_gets_a_copy_for_its_constants_and_weights_for_its_branches() {
    let options = CompileOptions {
        profile: Some(Box::new(profile(100, 25))),
        ..options()
    };
    let text = compile(&options, "gfx1100").unwrap().llvm_ir;
    assert!(text.contains("icmp eq i32 %p2, 64"), "{text}");
    assert!(text.contains("icmp eq i32 %p3, 3"), "{text}");
    assert!(
        text.contains("!\"branch_weights\", i32 25, i32 75"),
        "{text}"
    );
    // In the copy the loop runs 64 times and needs no comparison with n; without the profile there is one loop.
    let plain = compile(&self::options(), "gfx1100").unwrap().llvm_ir;
    assert!(!plain.contains("branch_weights"));
    assert!(text.matches("fadd").count() > plain.matches("fadd").count());
}

#[test]
fn a_profile_of_which_nothing_is_used_changes_no_text() {
    let plain = compile(&options(), "x86_64").unwrap().llvm_ir;
    let text = |constants, counts| {
        let mut used = profile(640, 630);
        (used.uses_constants, used.uses_counts) = (constants, counts);
        let options = CompileOptions {
            profile: Some(Box::new(used)),
            ..options()
        };
        compile(&options, "x86_64").unwrap().llvm_ir
    };
    assert_eq!(text(false, false), plain);
    assert!(text(true, false).contains("icmp eq i32 %p2, 64"));
    assert!(!text(false, true).contains("icmp eq i32 %p2, 64"));
}

#[test]
fn the_text_of_the_ir_says_which_loops_were_measured() {
    let text = "kernel @k(p: ptr.global) -> void line 1 {\nb0: unroll measured 8\n  return !1\n}\n";
    let module = amdgpu_compiler::ir::parse(text).unwrap();
    assert!(module.to_string().contains("b0: unroll measured 8\n"));
}

#[test]
fn loops_that_never_ran_stay_as_they_are() {
    let mut unused = profile(0, 0);
    unused.kernel.constants.clear();
    let options = CompileOptions {
        profile: Some(Box::new(unused)),
        ..options()
    };
    let text = compile(&options, "x86_64").unwrap().llvm_ir;
    assert_eq!(
        text.matches("fadd").count(),
        compile(&self::options(), "x86_64")
            .unwrap()
            .llvm_ir
            .matches("fadd")
            .count()
    );
}

#[test]
fn a_profile_of_another_source_or_other_macros_is_refused() {
    let options = CompileOptions {
        defines: vec![("A".to_owned(), "1".to_owned())],
        profile: Some(Box::new(profile(1, 1))),
        ..options()
    };
    let error = compile(&options, "x86_64").unwrap_err().to_string();
    assert!(
        error.contains("is of another source, or of this one with other macros"),
        "{error}"
    );
}

#[test]
fn the_text_form_is_read_again_and_others_are_refused() {
    let made = profile(7, 2);
    assert_eq!(Profile::of_text(&made.to_text()).unwrap(), made);
    let other = made.to_text().replace("profile/1", "profile/2");
    let error = Profile::of_text(&other).unwrap_err();
    assert_eq!(
        error,
        "the schema is 'amdgpu.profile/2'; this version reads 'amdgpu.profile/1'"
    );
    assert!(
        Profile::of_text("{")
            .unwrap_err()
            .starts_with("it is no profile: ")
    );
}

#[test]
fn counts_of_two_runs_add_up_and_parameters_that_differ_are_no_constants() {
    let mut sum = profile(100, 25);
    let mut second = profile(10, 5);
    second.kernel.constants[0].bits = 65;
    sum.add(&second).unwrap();
    assert_eq!(sum.kernel.blocks[0].1, 110);
    assert_eq!(sum.kernel.branches[0].taken, 30);
    let names: Vec<&str> = sum
        .kernel
        .constants
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["kind"]);
    second.kernel.name = "other".to_owned();
    assert!(sum.add(&second).unwrap_err().contains("of two kernels"));
}

#[test]
fn the_listing_has_counts_beside_the_lines() {
    let text = profile(100, 25).listing();
    assert!(text.starts_with("profile of sums on cpu:0: 100 work-items\n  parameter n was always"));
    assert!(
        text.contains("         100     5      for (int j = 0; j < n; j++)\n"),
        "{text}"
    );
    assert!(text.contains("branch: taken 25.0 % of 100 times"), "{text}");
}
