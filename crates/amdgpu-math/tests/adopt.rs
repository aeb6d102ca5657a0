//! A process that already runs Julia, as with juliacall: the table is handed over, work goes to the host's own thread.

// Tests stop at the first surprise, and results that are exact are compared exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;

use amdgpu_abi::{
    ACTIVATION_RELU, ACTIVATION_SOFTMAX, Activation, Coded, ErrorCode, Language, MathTable,
};
use amdgpu_math::{Math, Runner, Task};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

type EvalStringFn = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type UnboxFn = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type InitFn = unsafe extern "C" fn(*const c_char, *const c_char);
type ParseOptsFn = unsafe extern "C" fn(*mut c_int, *mut *mut *const c_char);

/// What `julia` says of itself, asked by the test's own words.
fn ask_julia(expression: &str) -> String {
    let executable = std::env::var("AMDGPU_JULIA").unwrap_or_else(|_| "julia".to_owned());
    let output = Command::new(executable)
        .args(["--startup-file=no", "-e", &format!("print({expression})")])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Start Julia on this thread, load the kernels and give their table, without any code of the crate under test.
fn host_runtime(library: &Path, image: &str, bindir: &str, source: &Path) -> *const MathTable {
    // SAFETY: prototypes as in julia.h; everything happens on the calling thread.
    unsafe {
        let library: &'static Library = Box::leak(Box::new(
            Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL).unwrap(),
        ));
        let init = [
            "jl_init_with_image",
            "jl_init_with_image_file",
            "jl_init_with_image__threading",
        ]
        .iter()
        .find_map(|name| library.get::<InitFn>(name.as_bytes()).ok())
        .unwrap();
        let parse_opts = library.get::<ParseOptsFn>(b"jl_parse_opts").unwrap();
        let eval_string = library.get::<EvalStringFn>(b"jl_eval_string").unwrap();
        let unbox = library.get::<UnboxFn>(b"jl_unbox_voidpointer").unwrap();
        let arguments: &'static mut [*const c_char] = vec![
            c"host".as_ptr(),
            c"--handle-signals=no".as_ptr(),
            std::ptr::null(),
        ]
        .leak();
        let (mut count, mut pointer) = (2, arguments.as_mut_ptr());
        parse_opts(&raw mut count, &raw mut pointer);
        init(
            CString::new(bindir).unwrap().into_raw(),
            CString::new(image).unwrap().into_raw(),
        );
        let code = format!(
            "include({:?}); AgpuKernels.use_matmul(Ptr{{Cvoid}}({})); Ptr{{Cvoid}}(AgpuKernels.table())",
            source.to_str().unwrap(),
            amdgpu_math::matmul_address().unwrap()
        );
        let value = eval_string(CString::new(code).unwrap().as_ptr());
        assert!(!value.is_null());
        unbox(value).cast()
    }
}

#[test]
fn an_adopted_runtime_serves_calls_on_its_own_thread() {
    let availability = Math::availability();
    let Some(library) = availability.path else {
        eprintln!("skipped: {:?}", availability.reason);
        return;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../julia/src/AgpuKernels.jl");
    let image = ask_julia("unsafe_string(Base.JLOptions().image_file)");
    let bindir = ask_julia("Sys.BINDIR");
    let (to_host, tasks) = mpsc::channel::<Task>();
    let (ready, table) = mpsc::channel();
    let host_source: PathBuf = source.clone();
    // Like Python's main thread under juliacall; the process ends without waiting for it.
    std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            let table = host_runtime(&library, &image, &bindir, &host_source);
            ready.send(table as usize).unwrap();
            for task in tasks {
                task();
            }
        })
        .unwrap();
    let table: *const MathTable = std::ptr::with_exposed_provenance(table.recv().unwrap());

    // The crate must not start a second runtime in this process.
    let error = Math::global().err().unwrap();
    assert_eq!(error.code(), ErrorCode::ForeignError);
    assert!(
        error.to_string().contains("already runs a Julia runtime"),
        "{error}"
    );

    let drop_next = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let drops = std::sync::Arc::clone(&drop_next);
    let runner: Runner = Box::new(move |task| {
        if !drops.swap(false, std::sync::atomic::Ordering::SeqCst) {
            to_host.send(task).unwrap();
        }
    });
    // A table of another version is refused before it is called.
    // SAFETY: the table is valid; the copy differs in one number.
    let mut other = unsafe { table.read() };
    other.abi_hash ^= 1;
    // SAFETY: a valid table that the check refuses.
    let error = unsafe { Math::adopt(&raw const other, Box::new(|_| {}), "0", &source) }
        .err()
        .unwrap();
    assert_eq!(error.code(), ErrorCode::LibraryStale);

    // SAFETY: the table came from AgpuKernels.table(), and the runner brings tasks to the thread that runs Julia.
    let math = unsafe { Math::adopt(table, runner, "host", &source) }.unwrap();
    assert!(std::ptr::eq(math, Math::global().unwrap()));
    assert_eq!(math.julia_version(), "host");

    let relu = Activation {
        kind: ACTIVATION_RELU,
        alpha: 0.0,
        beta: 0.0,
        reserved: 0,
    };
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            scope.spawn(move || {
                for _ in 0..500 {
                    let value = f32::from(thread);
                    let mut y = [0.0; 2];
                    math.activation(&[value, -value], &mut y, relu).unwrap();
                    assert_eq!(y, [value, 0.0]);
                }
            });
        }
    });
    let softmax = Activation {
        kind: ACTIVATION_SOFTMAX,
        ..relu
    };
    let error = math.activation(&[1.0], &mut [0.0], softmax).unwrap_err();
    assert_eq!(
        (error.code(), error.language()),
        (ErrorCode::InvalidArgument, Language::Julia)
    );

    // A host that gives a task up leaves an error, not a hang.
    drop_next.store(true, std::sync::atomic::Ordering::SeqCst);
    let error = math.activation(&[1.0], &mut [0.0], relu).unwrap_err();
    assert!(error.to_string().contains("given up"), "{error}");
    math.activation(&[1.0], &mut [0.0], relu).unwrap();

    // SAFETY: refused because the core already runs.
    let again = unsafe { Math::adopt(table, Box::new(|_| {}), "host", &source) };
    assert_eq!(again.err().unwrap().code(), ErrorCode::InvalidArgument);
    assert!(math.evaluate("1").is_err());
}
