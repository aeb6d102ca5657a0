//! Kernels that do not end by themselves: they are left where they are, and Python's signal handlers run in the middle of them.
//!
//! A thread that runs a kernel is sent a signal ([`SIGNAL`]). Its handler looks where the thread was: only inside the code of the kernel itself
//! does it do anything. There the thread holds no lock and no value of ours: between [`call`] and the kernel lies nothing but a few
//! lines of assembly, which saved what the calling convention wants back. So the handler may
//! - run arbitrary code on the thread, as the kernel could have called it: that is how the hook of [`attention`] is reached, and
//! - let the thread go on behind the kernel instead of in it.
//!
//! Where nothing is cancelled and no command of the first thread takes long, no signal is sent.
//!
//! Inside functions that the kernel calls (the C library, checks) nothing happens, and the signal is sent again a little later.

use std::arch::global_asm;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, compiler_fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use super::cancel::{CancelFlag, Cancellation};
use super::launch::{CpuLaunch, KernelEntry};
use crate::attention;
use crate::fork::{ForkLocal, ForkMark};

/// Ignored by default, and meant for sockets, which nobody uses it for.
const SIGNAL: c_int = libc::SIGURG;
/// How long a cancelled kernel may go on to the end of its block.
const GRACE: Duration = Duration::from_millis(5);
/// Time between two signals to a thread that was outside of the kernel's own code.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);
/// The longest time between two signals, to a thread that a function called by the kernel keeps long.
const MAX_RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Signals sent in a row for one look at [`attention`].
const MAX_RETRIES: u32 = 50;
/// Looks without a kernel on the first thread after which the watcher sleeps.
const MAX_IDLE_LOOKS: u32 = 20;

/// What leaving a kernel needs.
struct Frame {
    /// The stack pointer that [`call_kernel`] has while the kernel runs.
    stack: usize,
    code_begin: usize,
    code_end: usize,
    cancellation: Cancellation,
}

thread_local! {
    /// Of the innermost kernel that this thread runs.
    static FRAME: Cell<*const Frame> = const { Cell::new(ptr::null()) };
    static RUNNER: Cell<*const Runner> = const { Cell::new(ptr::null()) };
    static REGISTRATION: RefCell<Option<Registration>> = const { RefCell::new(None) };
}

/// A thread that runs kernels, as others see it.
struct Runner {
    thread: libc::pthread_t,
    mark: ForkMark,
    /// The flag of the innermost kernel that it runs now. Compared, never followed.
    flag: AtomicPtr<CancelFlag>,
    /// Of the thread that runs the hook of [`attention`].
    watched: Option<Watched>,
}

/// What the watcher of the first thread sees of it.
struct Watched {
    /// Odd while the thread runs a command; each has another number.
    command: AtomicU64,
    /// The hook shall run on the thread.
    is_wanted: AtomicBool,
    is_watcher_asleep: AtomicBool,
    watcher: OnceLock<Thread>,
}

static RUNNERS: ForkLocal<Mutex<Vec<Arc<Runner>>>> = ForkLocal::new(Mutex::default);

fn runners() -> MutexGuard<'static, Vec<Arc<Runner>>> {
    RUNNERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the thread in the list as long as it lives, so that no signal goes to a thread that has ended.
struct Registration(Arc<Runner>);

impl Drop for Registration {
    fn drop(&mut self) {
        RUNNER.set(ptr::null());
        runners().retain(|runner| !Arc::ptr_eq(runner, &self.0));
    }
}

/// This thread's entry in the list; `None` while the thread is being taken down.
#[inline]
fn runner() -> Option<&'static Runner> {
    // SAFETY: the registration of this thread keeps it until the thread ends; the reference does not leave this thread's calls.
    match unsafe { RUNNER.get().as_ref() } {
        Some(runner) if runner.mark.is_current() => Some(runner),
        _ => register(),
    }
}

#[cold]
fn register() -> Option<&'static Runner> {
    let runner = Arc::new(Runner {
        // SAFETY: cannot fail.
        thread: unsafe { libc::pthread_self() },
        mark: ForkMark::current(),
        flag: AtomicPtr::new(ptr::null_mut()),
        watched: attention::is_needed().then(|| Watched {
            command: AtomicU64::new(0),
            is_wanted: AtomicBool::new(false),
            is_watcher_asleep: AtomicBool::new(false),
            watcher: OnceLock::new(),
        }),
    });
    let registration = Registration(Arc::clone(&runner));
    REGISTRATION
        .try_with(|own| drop(own.replace(Some(registration))))
        .ok()?;
    RUNNER.set(Arc::as_ptr(&runner));
    if runner.watched.is_some() {
        start_watcher(&runner);
    }
    runners().push(runner);
    // SAFETY: as in `runner`.
    unsafe { RUNNER.get().as_ref() }
}

/// A command that this thread runs is noted for the watcher, where the thread has one.
#[must_use]
pub(super) struct Noted(Option<&'static Watched>);

#[inline]
pub(super) fn note_command() -> Noted {
    let Some(watched) = runner().and_then(|runner| runner.watched.as_ref()) else {
        return Noted(None);
    };
    // Only this thread writes.
    let number = watched.command.load(Ordering::Relaxed);
    if !number.is_multiple_of(2) {
        return Noted(None);
    }
    watched.command.store(number + 1, Ordering::Relaxed);
    // Either this sees that the watcher sleeps, or the watcher sees the command before it sleeps. The processor's part of the fence is
    // the watcher's ([`fence_all_threads`]): here it would wait for all that the command before has stored.
    compiler_fence(Ordering::SeqCst);
    if watched.is_watcher_asleep.load(Ordering::Relaxed) {
        watched.watcher.get().inspect(|watcher| watcher.unpark());
    }
    Noted(Some(watched))
}

impl Drop for Noted {
    fn drop(&mut self) {
        if let Some(watched) = self.0 {
            let number = watched.command.load(Ordering::Relaxed);
            watched.command.store(number + 1, Ordering::Relaxed);
        }
    }
}

/// Calls a kernel, which may be left before its end once `cancellation` is requested. `code` is where its module lies.
///
/// # Safety
/// As for calling `entry`.
pub(super) unsafe fn call(
    entry: KernelEntry,
    arguments: *const u8,
    launch: &CpuLaunch,
    blocks: Range<u64>,
    code: Range<usize>,
    cancellation: Cancellation,
) {
    // SAFETY: as in `runner`. In a child after `fork()`, `note_command` has renewed it.
    let Some(runner) = (unsafe { RUNNER.get().as_ref() }).or_else(register) else {
        // SAFETY: as the caller promises.
        return unsafe { entry(arguments, launch, blocks.start, blocks.end) };
    };
    let mut frame = Frame {
        stack: 0,
        code_begin: code.start,
        code_end: code.end,
        cancellation,
    };
    let outer_frame = FRAME.replace(&raw const frame);
    let flag = cancellation.as_ptr().cast_mut();
    // Only this thread writes: an exchange would wait for all that the kernel before has stored.
    let outer_flag = runner.flag.load(Ordering::Relaxed);
    runner.flag.store(flag, Ordering::Relaxed);
    // SAFETY: as the caller promises; the frame outlives the call.
    let is_left = unsafe {
        agpu_call_kernel(
            arguments,
            launch,
            blocks.start,
            blocks.end,
            entry,
            &raw mut frame.stack,
        )
    };
    runner.flag.store(outer_flag, Ordering::Relaxed);
    FRAME.set(outer_frame);
    if is_left != 0 {
        clean_registers();
    }
}

unsafe extern "C" {
    /// Calls `entry` with the first four arguments, with its own stack pointer in `stack`; 0 when it returned, 1 when the handler left it.
    fn agpu_call_kernel(
        arguments: *const u8,
        launch: *const CpuLaunch,
        block_begin: u64,
        block_end: u64,
        entry: KernelEntry,
        stack: *mut usize,
    ) -> u32;

    /// Where a thread goes on that leaves a kernel, with the stack pointer of its frame.
    fn agpu_leave_kernel();
}

// What a callee must preserve (System V ABI, x86-64 supplement, 3.2.1) lies on the stack while the kernel runs.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".hidden agpu_call_kernel",
    ".globl agpu_call_kernel",
    ".type agpu_call_kernel, @function",
    "agpu_call_kernel:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "mov [r9], rsp",
    "call r8",
    "xor eax, eax",
    "2:",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".hidden agpu_leave_kernel",
    ".globl agpu_leave_kernel",
    "agpu_leave_kernel:",
    "cld",
    "mov eax, 1",
    "jmp 2b",
    ".cfi_endproc",
    ".size agpu_call_kernel, . - agpu_call_kernel",
);

// What a callee must preserve (Procedure Call Standard for the Arm 64-bit Architecture, 6.1) lies on the stack while the kernel runs.
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".hidden agpu_call_kernel",
    ".globl agpu_call_kernel",
    ".type agpu_call_kernel, %function",
    "agpu_call_kernel:",
    "stp x29, x30, [sp, #-160]!",
    "mov x29, sp",
    "stp x19, x20, [sp, #16]",
    "stp x21, x22, [sp, #32]",
    "stp x23, x24, [sp, #48]",
    "stp x25, x26, [sp, #64]",
    "stp x27, x28, [sp, #80]",
    "stp d8, d9, [sp, #96]",
    "stp d10, d11, [sp, #112]",
    "stp d12, d13, [sp, #128]",
    "stp d14, d15, [sp, #144]",
    "mov x9, sp",
    "str x9, [x5]",
    "blr x4",
    "mov w0, #0",
    "2:",
    "ldp x19, x20, [sp, #16]",
    "ldp x21, x22, [sp, #32]",
    "ldp x23, x24, [sp, #48]",
    "ldp x25, x26, [sp, #64]",
    "ldp x27, x28, [sp, #80]",
    "ldp d8, d9, [sp, #96]",
    "ldp d10, d11, [sp, #112]",
    "ldp d12, d13, [sp, #128]",
    "ldp d14, d15, [sp, #144]",
    "ldp x29, x30, [sp], #160",
    "ret",
    ".hidden agpu_leave_kernel",
    ".globl agpu_leave_kernel",
    "agpu_leave_kernel:",
    "mov w0, #1",
    "b 2b",
    ".size agpu_call_kernel, . - agpu_call_kernel",
);

/// The upper halves of vector registers that a kernel was left with make every later SSE instruction wait for them.
#[cfg(target_arch = "x86_64")]
fn clean_registers() {
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the instruction.
        unsafe { std::arch::asm!("vzeroupper", options(nostack, nomem)) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn clean_registers() {}

/// Where a signal stopped its thread.
struct Stopped<'a> {
    instruction: &'a mut usize,
    stack: &'a mut usize,
}

impl Stopped<'_> {
    /// # Safety
    /// `context` is what a handler with `SA_SIGINFO` was given.
    unsafe fn of(context: *mut c_void) -> Self {
        // SAFETY: as the caller promises; registers and addresses are of one size.
        unsafe {
            let registers = &raw mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
            #[cfg(target_arch = "x86_64")]
            let (instruction, stack) = (
                &raw mut (*registers).gregs[libc::REG_RIP as usize],
                &raw mut (*registers).gregs[libc::REG_RSP as usize],
            );
            #[cfg(target_arch = "aarch64")]
            let (instruction, stack) = (&raw mut (*registers).pc, &raw mut (*registers).sp);
            Self {
                instruction: &mut *instruction.cast(),
                stack: &mut *stack.cast(),
            }
        }
    }
}

/// What the signal did before.
static FORMER: OnceLock<libc::sigaction> = OnceLock::new();

fn install() {
    FORMER.get_or_init(|| {
        // SAFETY: the handler has the signature that SA_SIGINFO asks for, and keeps to what the module's text says.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            // Not on the small alternative stack: the hook runs Python code. The hook may run kernels, which must be reachable as well.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
            let mut former = std::mem::zeroed();
            libc::sigaction(SIGNAL, &raw const action, &raw mut former);
            former
        }
    });
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the thread's own errno, which the interrupted code may be about to read.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: called as a handler with SA_SIGINFO.
    let mut stopped = unsafe { Stopped::of(context) };
    // SAFETY: null, or the frame of a call further down on this stack.
    match unsafe { FRAME.get().as_ref() } {
        Some(frame) if (frame.code_begin..frame.code_end).contains(stopped.instruction) => {
            interrupt(frame, &mut stopped);
        }
        Some(_) => {}
        // SAFETY: as above.
        None => unsafe { call_former(signal, info, context) },
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// The thread is in a kernel: runs the hook if it is wanted, and leaves the kernel if it is cancelled.
fn interrupt(frame: &Frame, stopped: &mut Stopped) {
    let watched = runner().and_then(|runner| runner.watched.as_ref());
    let is_wanted = |watched: &Watched| watched.is_wanted.swap(false, Ordering::AcqRel);
    if watched.is_some_and(is_wanted) && attention::is_wait_over() {
        frame.cancellation.request();
    }
    if frame.cancellation.is_requested() {
        *stopped.instruction = agpu_leave_kernel as *const () as usize;
        *stopped.stack = frame.stack;
    }
}

/// Passes a signal on that was not sent from here.
///
/// # Safety
/// The arguments are those of a handler.
unsafe fn call_former(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(former) = FORMER.get() else { return };
    if matches!(former.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        return;
    }
    // SAFETY: the system kept the function with the flags that tell its signature.
    unsafe {
        if former.sa_flags & libc::SA_SIGINFO != 0 {
            let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(former.sa_sigaction);
            handler(signal, info, context);
        } else {
            let handler: unsafe extern "C" fn(c_int) = std::mem::transmute(former.sa_sigaction);
            handler(signal);
        }
    }
}

fn send(runner: &Runner) {
    // SAFETY: threads leave the list before they end, and the caller holds the list or knows that the thread is the first of the process.
    unsafe { libc::pthread_kill(runner.thread, SIGNAL) };
}

/// Sees to it that kernels which run under the flag end, until it is cleared.
pub(super) fn enforce(flag: &Arc<CancelFlag>) {
    if cfg!(feature = "model") {
        return;
    }
    install();
    let flag = Arc::clone(flag);
    // A machine that gives no thread leaves it to the kernels, which look between blocks.
    let _ = thread::Builder::new()
        .name("agpu-stop".to_string())
        .spawn(move || {
            thread::sleep(GRACE);
            let mut wait = RETRY_INTERVAL;
            while flag.is_requested() {
                let is_under_flag = |runner: &&Arc<Runner>| {
                    ptr::eq(runner.flag.load(Ordering::Relaxed), Arc::as_ptr(&flag))
                };
                for runner in runners().iter().filter(is_under_flag) {
                    send(runner);
                }
                thread::sleep(wait);
                // Host functions of a stream end when they do.
                wait = (wait * 11 / 10).min(MAX_RETRY_INTERVAL);
            }
        });
}

fn start_watcher(runner: &Arc<Runner>) {
    install();
    let own = Arc::clone(runner);
    let spawned = thread::Builder::new()
        .name("agpu-signals".to_string())
        .spawn(move || {
            if let Some(watched) = &own.watched {
                watch(&own, watched);
            }
        });
    if let (Ok(handle), Some(watched)) = (spawned, &runner.watched) {
        let _ = watched.watcher.set(handle.thread().clone());
    }
}

/// Has the hook run on the first thread while a command of it takes long.
fn watch(runner: &Runner, watched: &Watched) {
    let (mut last, mut idle_looks) = (0, 0);
    loop {
        thread::sleep(attention::INTERVAL);
        let number = watched.command.load(Ordering::Acquire);
        let is_idle = number == last && number.is_multiple_of(2);
        if is_idle {
            idle_looks += 1;
            if idle_looks >= MAX_IDLE_LOOKS {
                sleep_until_command(watched, number);
                idle_looks = 0;
            }
            continue;
        }
        idle_looks = 0;
        if number != last {
            last = number;
            continue;
        }
        watched.is_wanted.store(true, Ordering::Release);
        for _ in 0..MAX_RETRIES {
            send(runner);
            thread::sleep(RETRY_INTERVAL);
            let is_over = watched.command.load(Ordering::Acquire) != number;
            if is_over || !watched.is_wanted.load(Ordering::Acquire) {
                break;
            }
        }
        watched.is_wanted.store(false, Ordering::Release);
    }
}

/// Waits for the next command; looks again after [`attention::INTERVAL`] where the system has no fence for all threads.
fn sleep_until_command(watched: &Watched, number: u64) {
    watched.is_watcher_asleep.store(true, Ordering::Relaxed);
    if fence_all_threads() {
        while watched.command.load(Ordering::Relaxed) == number {
            thread::park();
        }
    }
    watched.is_watcher_asleep.store(false, Ordering::Relaxed);
}

/// Has every running thread of the process pass a full memory fence; whether the system can (`membarrier(2)`, Linux 4.14).
fn fence_all_threads() -> bool {
    static IS_REGISTERED: ForkLocal<bool> =
        ForkLocal::new(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
    *IS_REGISTERED && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

fn membarrier(command: c_int) -> bool {
    // SAFETY: both commands take no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
