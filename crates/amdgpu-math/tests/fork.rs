//! A forked child: without the runtime when the parent started it, with a runtime of its own when it did not.

// Tests stop at the first surprise, and results that are exact are compared exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]

use amdgpu_abi::{ACTIVATION_RELU, Activation, Coded, ErrorCode};
use amdgpu_math::Math;

#[path = "support/runtime.rs"]
mod runtime;

const RELU: Activation = Activation {
    kind: ACTIVATION_RELU,
    alpha: 0.0,
    beta: 0.0,
    reserved: 0,
};

/// Exit status of a child that runs `work` and exits with what it returns.
fn status_of_child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs only `work` and leaves through _exit; the allocator is safe to use after fork with glibc.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::_exit(work());
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert!(
            libc::WIFEXITED(status),
            "the child ended with raw status {status}"
        );
        libc::WEXITSTATUS(status)
    }
}

#[test]
fn children_get_their_own_runtime_before_and_a_clear_error_after_the_start() {
    if !Math::availability().found {
        eprintln!("skipped: {:?}", Math::availability().reason);
        return;
    }
    let chosen = std::env::var_os("AMDGPU_JULIA");
    let relu_works = |math: &Math| {
        let mut y = [0.0; 2];
        math.activation(&[-1.0, 2.0], &mut y, RELU).is_ok() && y == [0.0, 2.0]
    };
    // A failed start leaves nothing behind that a child could trip over.
    // SAFETY: the only test of this process, and no other thread reads the environment.
    unsafe { std::env::set_var("AMDGPU_JULIA", "off") };
    assert_eq!(
        Math::global().err().unwrap().code(),
        ErrorCode::JuliaMissing
    );
    // SAFETY: as above.
    unsafe {
        match &chosen {
            Some(value) => std::env::set_var("AMDGPU_JULIA", value),
            None => std::env::remove_var("AMDGPU_JULIA"),
        }
    }
    let fresh = status_of_child(|| Math::global().map_or(1, |math| i32::from(!relu_works(math))));
    assert_eq!(fresh, 0);

    let math = runtime::math().unwrap();
    assert!(relu_works(math));
    let forked = status_of_child(|| {
        let global = Math::global().err().map(|error| error.code());
        let call = math
            .activation(&[1.0], &mut [0.0], RELU)
            .err()
            .map(|error| error.code());
        i32::from(global != Some(ErrorCode::Forked) || call != Some(ErrorCode::Forked))
    });
    assert_eq!(forked, 0);
    assert!(relu_works(math));
}
