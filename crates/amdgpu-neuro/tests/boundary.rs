//! The C functions of `libagpu_neuro.so` as any language may call them, wrong calls included.

use amdgpu_abi::library::{NativeLibrary, last_error};
use amdgpu_abi::{Activation, Dtype, ErrorCode, LastError, LibraryInfo, NeuroSymbols, Str, Tensor};

fn symbols() -> Option<NeuroSymbols> {
    let library = match NativeLibrary::open("neuro") {
        Ok(library) => library,
        Err(error) => {
            println!("skipped: {error}");
            return None;
        }
    };
    // SAFETY: the library passed the checks of version and ABI hash.
    let symbols = unsafe { NeuroSymbols::resolve(|name| library.symbol(name)) };
    assert!(symbols.is_ok(), "the library lacks {:?}", symbols.err());
    symbols.ok()
}

fn failure(symbols: &NeuroSymbols, status: i32) -> (ErrorCode, String) {
    assert_ne!(status, 0);
    // SAFETY: the function of the checked library.
    let (code, message) = unsafe { last_error(symbols.last_error) };
    assert_eq!(code, status);
    (ErrorCode::from_status(code), message)
}

#[test]
fn null_pointers_are_refused() {
    let Some(symbols) = symbols() else { return };
    let text = Str::borrow("layer a(1)");
    let null_text = Str {
        ptr: std::ptr::null(),
        len: 5,
    };
    let mut plan = std::ptr::null_mut();
    let mut json = Str::borrow("");
    // SAFETY: the functions promise to refuse NULL wherever a pointer is expected.
    let statuses = unsafe {
        [
            (symbols.compile)(std::ptr::null(), std::ptr::null(), &raw mut plan),
            (symbols.compile)(&raw const null_text, std::ptr::null(), &raw mut plan),
            (symbols.compile)(&raw const text, &raw const null_text, &raw mut plan),
            (symbols.compile)(&raw const text, std::ptr::null(), std::ptr::null_mut()),
            (symbols.plan_json)(std::ptr::null_mut(), &raw mut json),
            (symbols.plan_destroy)(std::ptr::null_mut()),
            (symbols.describe)(std::ptr::null_mut()),
            (symbols.dense_forward)(
                std::ptr::null(),
                std::ptr::null(),
                std::ptr::null(),
                std::ptr::null_mut(),
                std::ptr::null(),
                std::ptr::null(),
            ),
            (symbols.hebbian_update)(
                std::ptr::null_mut(),
                std::ptr::null(),
                std::ptr::null(),
                0.1,
            ),
        ]
    };
    for status in statuses {
        assert_eq!(ErrorCode::from_status(status), ErrorCode::InvalidArgument);
    }
    assert!(failure(&symbols, statuses[7]).1.contains("NULL"));
}

#[test]
fn structs_of_a_smaller_size_are_refused_and_not_written() {
    let Some(symbols) = symbols() else { return };
    let empty = Str {
        ptr: std::ptr::null(),
        len: 0,
    };
    let mut info = LibraryInfo {
        size_bytes: 24,
        abi_version: 77,
        reserved: 0,
        abi_hash: 0,
        name: empty,
        version: empty,
        language: empty,
        layout_manifest: empty,
    };
    // SAFETY: the struct is larger than it says.
    assert_ne!(unsafe { (symbols.describe)(&raw mut info) }, 0);
    assert_eq!(info.abi_version, 77);
    let mut error = LastError {
        size_bytes: 8,
        code: 77,
        reserved: 0,
        message: empty,
    };
    // SAFETY: as above.
    assert_ne!(unsafe { (symbols.last_error)(&raw mut error) }, 0);
    assert_eq!(error.code, 77);
}

#[test]
fn memory_that_is_no_plan_is_refused() {
    let Some(symbols) = symbols() else { return };
    let mut stranger = [0x5A_u64; 8];
    // SAFETY: the memory is readable and at least as large as a plan's header.
    let status = unsafe { (symbols.plan_destroy)(stranger.as_mut_ptr().cast()) };
    assert_eq!(failure(&symbols, status).0, ErrorCode::InvalidHandle);
}

#[test]
fn a_plan_is_read_by_many_threads_and_text_may_hold_any_byte() {
    let Some(symbols) = symbols() else { return };
    let text = Str::borrow("neuralNetwork any:\n  layer a(1)\n");
    let mut plan = std::ptr::null_mut();
    // SAFETY: valid pointers; the plan is destroyed after the last use.
    let status = unsafe { (symbols.compile)(&raw const text, std::ptr::null(), &raw mut plan) };
    assert_eq!(status, 0);
    let address = plan as usize;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut json = Str::borrow("");
                // SAFETY: the plan lives until the scope ends.
                let text = unsafe {
                    assert_eq!((symbols.plan_json)(address as *mut _, &raw mut json), 0);
                    json.to_text()
                };
                assert!(text.starts_with('{') && text.contains("\"any\""));
            });
        }
    });
    // SAFETY: nobody uses the plan any more.
    assert_eq!(unsafe { (symbols.plan_destroy)(plan) }, 0);
    for bytes in [
        &b"\xff\xfe"[..],
        b"layer caf\xe9(1)",
        b"layer a(1)\0",
        b"\0",
        b"\xed\xa0\x80",
    ] {
        let text = Str {
            ptr: bytes.as_ptr().cast(),
            len: bytes.len() as u64,
        };
        // SAFETY: valid pointers.
        let status = unsafe { (symbols.compile)(&raw const text, std::ptr::null(), &raw mut plan) };
        assert_eq!(failure(&symbols, status).0, ErrorCode::NetworkInvalid);
        assert!(plan.is_null());
    }
}

#[test]
fn errors_belong_to_the_thread_that_made_them() {
    let Some(symbols) = symbols() else { return };
    let text = Str::borrow("layer mine(0)");
    let mut plan = std::ptr::null_mut();
    // SAFETY: valid pointers.
    let status = unsafe { (symbols.compile)(&raw const text, std::ptr::null(), &raw mut plan) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the function of the checked library.
            let (code, message) = unsafe { last_error(symbols.last_error) };
            assert_eq!((code, message.as_str()), (0, ""));
        });
    });
    assert!(failure(&symbols, status).1.contains("'mine'"));
}

#[test]
fn tensors_with_absurd_strides_end_in_an_error_and_touch_nothing() {
    let Some(symbols) = symbols() else { return };
    let values = [1.0_f32; 4];
    let mut out = [0.0_f32; 4];
    let shape = [2_i64, 2];
    let strides = [i64::MAX, i64::MIN];
    let x = Tensor::host(
        values.as_ptr().cast_mut().cast(),
        Dtype::F32,
        &shape,
        Some(&strides),
    );
    let weight = Tensor::host(values.as_ptr().cast_mut().cast(), Dtype::F32, &shape, None);
    let mut output = Tensor::host(out.as_mut_ptr().cast(), Dtype::F32, &shape, None);
    let activation = Activation {
        kind: 0,
        alpha: 0.0,
        beta: 0.0,
        reserved: 0,
    };
    // SAFETY: such strides are refused before an element is read.
    let status = unsafe {
        (symbols.dense_forward)(
            &raw const x,
            &raw const weight,
            std::ptr::null(),
            &raw mut output,
            &raw const activation,
            std::ptr::null(),
        )
    };
    let (code, message) = failure(&symbols, status);
    assert_eq!(code, ErrorCode::InvalidArgument, "{message}");
    assert_eq!(out.map(f32::to_bits), [0; 4]);
}
