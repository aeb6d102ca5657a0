//! The loader against real objects from the C compiler, a hand-made fixture, and thousands of damaged ones.

use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;

use super::*;

/// A C source with what kernels have: constants, writable data, zero data, calls inside and outside, tables of addresses.
const SOURCE: &str = r"
typedef unsigned long long u64;
void *memset(void *, int, unsigned long);
void *memcpy(void *, const void *, unsigned long);
int memcmp(const void *, const void *, unsigned long);
struct launch { unsigned grid[3], block[3]; void *shared; u64 shared_bytes; };
static const float weights[4] = {1.0f, 2.0f, 4.0f, 8.0f};
static int counter = 40;
static int zeros[1000];
int exported = 7;
static int one(int x) { return x + 1; }
static int two(int x) { return x + 2; }
static int (*const table[2])(int) = {one, two};
__attribute__((noinline)) float weigh(int i) { return weights[i & 3]; }
void scale(const unsigned char *arguments, const struct launch *launch, u64 begin, u64 end) {
    float *out = *(float **)arguments;
    float factor = *(const float *)(arguments + 8);
    for (u64 block = begin; block < end; block++)
        for (unsigned i = 0; i < launch->block[0]; i++)
            out[block * launch->block[0] + i] = factor * weigh(i);
}
void report(const unsigned char *arguments, const struct launch *launch, u64 begin, u64 end) {
    int *out = *(int **)arguments;
    volatile int pick = (int)end & 1;
    char buffer[256], copy[256];
    memset(buffer, 3 + (int)begin, sizeof buffer);
    memcpy(copy, buffer, sizeof copy);
    counter += 2;
    out[0] = counter;
    out[1] = zeros[999 - (int)begin];
    out[2] = exported;
    out[3] = table[pick](10);
    out[4] = copy[255] + memcmp(copy, buffer, sizeof copy);
    (void)launch;
}
";

/// Compiles C; `None`, with the reason printed, where there is no compiler.
fn compile(name: &str, source: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("agpu-link-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input: PathBuf = folder.join("kernel.c");
    let output = folder.join("kernel.o");
    std::fs::write(&input, source).unwrap();
    let status = Command::new("cc")
        .args([
            "-c",
            "-ffreestanding",
            "-fno-stack-protector",
            "-fno-common",
        ])
        .args(flags)
        .arg(&input)
        .arg("-o")
        .arg(&output)
        .status();
    let bytes = match status {
        Ok(status) => {
            assert!(status.success(), "cc {flags:?} failed");
            Some(std::fs::read(&output).unwrap())
        }
        Err(error) => {
            println!("skipped: cc cannot be run ({error})");
            None
        }
    };
    std::fs::remove_dir_all(folder).unwrap();
    bytes
}

fn call(image: &Image, name: &str, arguments: &[u64], blocks: Range<u64>) {
    let address = image.function(name).unwrap();
    // SAFETY: the functions of `SOURCE` have the kernel signature.
    let entry = unsafe { std::mem::transmute::<*const u8, crate::cpu::KernelEntry>(address) };
    let launch = crate::cpu::CpuLaunch {
        grid: [4, 1, 1],
        block: [8, 1, 1],
        shared: std::ptr::null_mut(),
        shared_bytes: 0,
    };
    // SAFETY: the arguments are those the function reads, and the memory they name is alive.
    unsafe {
        entry(
            arguments.as_ptr().cast(),
            &raw const launch,
            blocks.start,
            blocks.end,
        );
    }
}

#[test]
fn compiled_objects_run_at_every_optimisation_level() {
    let variants: [&[&str]; 6] = [
        &["-O0", "-fPIC"],
        &["-O1", "-fPIC"],
        &["-O3", "-fPIC"],
        &["-O2", "-fPIE"],
        &["-O2", "-fPIC", "-ffunction-sections", "-fdata-sections"],
        &["-O2", "-fPIC", "-fno-plt"],
    ];
    for (number, flags) in variants.into_iter().enumerate() {
        let Some(bytes) = compile(&format!("run{number}"), SOURCE, flags) else {
            return;
        };
        let image = Image::load(&bytes).unwrap();
        let names: Vec<&str> = image.function_names().collect();
        assert_eq!(names, ["report", "scale", "weigh"], "{flags:?}");

        let mut out = [0.0_f32; 32];
        let factor = u64::from(0.5_f32.to_bits());
        call(&image, "scale", &[out.as_mut_ptr() as u64, factor], 1..4);
        let expected: Vec<f32> = (0..32)
            .map(|index| {
                if index < 8 {
                    0.0
                } else {
                    0.5 * [1.0, 2.0, 4.0, 8.0][index % 4]
                }
            })
            .collect();
        assert_eq!(out.as_slice(), expected, "{flags:?}");

        let mut results = [0_i32; 5];
        call(&image, "report", &[results.as_mut_ptr() as u64], 0..1);
        assert_eq!(results, [42, 0, 7, 12, 3], "{flags:?}");
        call(&image, "report", &[results.as_mut_ptr() as u64], 1..2);
        assert_eq!(results, [44, 0, 7, 11, 4], "{flags:?}");
    }
}

#[test]
fn images_have_writable_data_of_their_own() {
    let Some(bytes) = compile("own", SOURCE, &["-O2", "-fPIC"]) else {
        return;
    };
    let (first, second) = (Image::load(&bytes).unwrap(), Image::load(&bytes).unwrap());
    let mut results = [0_i32; 5];
    for expected in [42, 44] {
        call(&first, "report", &[results.as_mut_ptr() as u64], 0..1);
        assert_eq!(results[0], expected);
    }
    call(&second, "report", &[results.as_mut_ptr() as u64], 0..1);
    assert_eq!(results[0], 42);
}

/// A distance in 64 bits, which jump tables of large code have.
#[cfg(target_arch = "x86_64")]
#[test]
fn distances_in_eight_bytes_lead_where_they_say() {
    const SOURCE: &str = r#"
typedef unsigned long long u64;
static int one(int x) { return x + 1; }
int far_one(int x) { return one(x); }
__asm__(".pushsection .rodata\n.balign 8\nwhere: .quad far_one - .\n.popsection");
void report(const unsigned char *arguments, const void *launch, u64 begin, u64 end) {
    const long long *place;
    __asm__("lea where(%%rip), %0" : "=r"(place));
    int (*function)(int) = (int (*)(int))((const char *)place + *place);
    **(int **)arguments = function(41);
    (void)launch, (void)begin, (void)end;
}
"#;
    let Some(bytes) = compile("distance", SOURCE, &["-O1", "-fPIC"]) else {
        return;
    };
    let image = Image::load(&bytes).unwrap();
    let mut result = 0_i32;
    let out = &raw mut result;
    call(&image, "report", &[out as u64], 0..1);
    assert_eq!(result, 42);
}

fn refusal(name: &str, source: &str, flags: &[&str]) -> Option<String> {
    let bytes = compile(name, source, flags)?;
    match Image::load(&bytes) {
        Err(Error::InvalidModule { reason }) => Some(reason),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn what_cannot_be_loaded_is_refused_with_a_sentence() {
    let cases: [(&str, &str, &[&str], &str); 5] = [
        (
            "absolute",
            "static int t[9]; int f(int i) { return t[i]++; }",
            &["-O1", "-fno-pic", "-no-pie"],
            "compile with -fPIC",
        ),
        (
            "undefined",
            "int missing(int); int f(int i) { return missing(i); }",
            &["-O1", "-fPIC"],
            "it needs `missing`",
        ),
        (
            "thread",
            "__thread int t; int f(void) { return t; }",
            &["-O1", "-fPIC"],
            "thread-local",
        ),
        (
            "constructor",
            "static int x; __attribute__((constructor)) static void c(void) { x = 1; } int f(void) { return x; }",
            &["-O0", "-fPIC"],
            "is not supported",
        ),
        (
            "common",
            "int shared_number; int f(void) { return shared_number; }",
            &["-O1", "-fPIC", "-fcommon"],
            "-fno-common",
        ),
    ];
    for (name, source, flags, expected) in cases {
        let Some(reason) = refusal(name, source, flags) else {
            return;
        };
        assert!(reason.contains(expected), "{name}: {reason}");
    }
}

#[test]
fn files_that_are_not_objects_are_refused() {
    let executable = std::fs::read("/proc/self/exe").unwrap();
    let cases: [(&[u8], &str); 4] = [
        (b"", "magic"),
        (b"#!/bin/sh\n", "magic"),
        (b"\x7fELF\x02\x01", "cut off"),
        (&executable, "relocatable"),
    ];
    for (bytes, expected) in cases {
        let error = Image::load(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// An object of 448 bytes with one function, `answer`, that returns 42: ELF header; .text, .symtab, .strtab and their headers.
fn fixture() -> Vec<u8> {
    const CODE: [u8; 6] = [0xb8, 42, 0, 0, 0, 0xc3];
    const NAMES: &[u8; 16] = b"\0answer\0.text\0\0\0";
    let mut file = vec![0_u8; 64];
    file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
    put(&mut file, 16, elf::TYPE_RELOCATABLE.to_le_bytes());
    put(&mut file, 18, elf::MACHINE_X86_64.to_le_bytes());
    put(&mut file, 40, 136_u64.to_le_bytes());
    put(&mut file, 58, 64_u16.to_le_bytes());
    put(&mut file, 60, 4_u16.to_le_bytes());
    put(&mut file, 62, 3_u16.to_le_bytes());
    file.extend(CODE);
    file.extend([0; 2]);
    file.extend([0; 24]);
    let mut symbol = [0_u8; 24];
    put(&mut symbol, 0, 1_u32.to_le_bytes());
    symbol[4] = (1 << 4) | elf::SYMBOL_FUNCTION;
    put(&mut symbol, 6, 1_u16.to_le_bytes());
    file.extend(symbol);
    file.extend(NAMES);
    let mut section = |name: u32, kind: u32, flags: u64, offset: u64, size: u64, link: u32| {
        let mut header = [0_u8; 64];
        put(&mut header, 0, name.to_le_bytes());
        put(&mut header, 4, kind.to_le_bytes());
        put(&mut header, 8, flags.to_le_bytes());
        put(&mut header, 24, offset.to_le_bytes());
        put(&mut header, 32, size.to_le_bytes());
        put(&mut header, 40, link.to_le_bytes());
        put(&mut header, 48, 1_u64.to_le_bytes());
        file.extend(header);
    };
    section(0, 0, 0, 0, 0, 0);
    section(8, 1, elf::FLAG_ALLOCATE | elf::FLAG_EXECUTE, 64, 6, 0);
    section(0, elf::SECTION_SYMBOLS, 0, 72, 48, 3);
    section(0, 3, 0, 120, 16, 0);
    file
}

#[test]
fn the_smallest_object_loads_without_a_compiler() {
    let image = Image::load(&fixture()).unwrap();
    let address = image.function("answer").unwrap();
    // SAFETY: the fixture's code is `mov eax, 42; ret`.
    let answer = unsafe { std::mem::transmute::<*const u8, extern "C" fn() -> i32>(address) };
    assert_eq!(answer(), 42);
}

#[test]
fn every_truncation_is_an_error() {
    let mut objects = vec![fixture()];
    objects.extend(compile("truncated", SOURCE, &["-O1", "-fPIC"]));
    for bytes in objects {
        // The section table stands at the end, so nothing short of the whole file can be complete.
        for len in 0..bytes.len() {
            assert!(
                Image::load(&bytes[..len]).is_err(),
                "{len} of {}",
                bytes.len()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 3_000 } else { 50_000 }))]

    /// Loading damaged objects must neither panic nor touch memory it does not own; the code is not run.
    #[test]
    fn damaged_objects_load_or_fail_cleanly(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            any::<u8>(), Just(0_u8), Just(0xff), Just(0x7f), Just(0x80),
        ]), 1..8),
        whole_fixture in any::<bool>(),
    ) {
        let mut bytes = if whole_fixture { fixture() } else { compiled_once() };
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        match Image::load(&bytes) {
            Ok(image) => prop_assert!(image.function_names().count() < 100),
            Err(Error::InvalidModule { reason }) => prop_assert!(!reason.is_empty()),
            // A mapping of an absurd size may be refused by the system.
            Err(Error::DriverFault { .. }) => {}
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }

    /// Wide fields are hit whole, because single bytes rarely make extreme offsets and sizes.
    #[test]
    fn extreme_fields_load_or_fail_cleanly(
        at in any::<prop::sample::Index>(),
        value in prop_oneof![
            any::<u64>(), Just(u64::MAX), Just(u64::MAX - 7), Just(1 << 63), Just(1 << 31), Just(1 << 32), Just(i64::MAX as u64),
        ],
    ) {
        let mut bytes = compiled_once();
        let words = bytes.len() / 8;
        put(&mut bytes, at.index(words) * 8, value.to_le_bytes());
        let clean = matches!(
            Image::load(&bytes),
            Ok(_) | Err(Error::InvalidModule { .. } | Error::DriverFault { .. })
        );
        prop_assert!(clean);
    }
}

/// The object of `SOURCE`, compiled with the first call; the fixture where there is no compiler.
fn compiled_once() -> Vec<u8> {
    static OBJECT: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    OBJECT
        .get_or_init(|| compile("damaged", SOURCE, &["-O1", "-fPIC"]).unwrap_or_else(fixture))
        .clone()
}
