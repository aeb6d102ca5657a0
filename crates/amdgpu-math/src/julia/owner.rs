//! The thread that owns Julia, and how work reaches it: the caller puts a job that lies on its own stack into a queue and waits. Both
//! sides spin for a moment before they sleep, because a wake-up through the kernel costs more than most kernels do.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::julia::api::Api;
use crate::julia::discovery::Installation;
use crate::julia::start::start;
use crate::{Error, fork};

/// How long a caller polls for its answer before it sleeps. Waking a sleeping thread takes 5 µs on bare metal and was measured at 75 µs on a
/// virtual machine; polling about as long as that costs at most twice the best choice (Karlin et al. 1990, "Competitive randomized
/// algorithms for nonuniform problems").
const CALLER_POLL: Duration = Duration::from_micros(50);
/// How long the owner polls for the next job: callers in a loop come back within this time.
const OWNER_POLL: Duration = Duration::from_micros(100);
/// Polls before the core is offered to other threads between polls: 1 to 3 µs, the length of a short call.
const EAGER_POLLS: u32 = 64;

/// Julia takes its stack limit from `RLIMIT_STACK` for the thread that starts it, whatever that thread really has.
const MIN_STACK_BYTES: usize = 8 << 20;
const MAX_STACK_BYTES: usize = 64 << 20;
/// What already lies on the stack when Julia looks.
const STACK_MARGIN_BYTES: usize = 1 << 20;

pub(crate) struct Owner {
    queue: Mutex<Queue>,
    /// Length of the queue, readable without its lock.
    pending: AtomicUsize,
    arrival: Condvar,
    /// Callers that poll now, and how many may: with more than the cores beside the owner's they keep it from running.
    polling: AtomicUsize,
    max_polling: usize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<JobPtr>,
    owner_sleeps: bool,
}

/// A job on the stack of a thread that waits for it.
struct JobPtr(*const Job);

// SAFETY: the job stays alive until `done` is set, and only the owner touches it between submission and that moment.
unsafe impl Send for JobPtr {}

struct Job {
    /// Runs the closure behind `data`.
    run: unsafe fn(*const (), &Api),
    data: *const (),
    done: AtomicBool,
    waiter: Thread,
}

/// Closure and answer of one call.
struct Call<F, R> {
    work: UnsafeCell<Option<F>>,
    answer: UnsafeCell<Option<thread::Result<R>>>,
}

impl Owner {
    /// Start the thread and Julia on it. The thread lives as long as the process.
    pub(crate) fn start(installation: Installation) -> Result<&'static Self, Error> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let owner: &'static Self = Box::leak(Box::new(Self {
            queue: Mutex::default(),
            pending: AtomicUsize::new(0),
            arrival: Condvar::new(),
            polling: AtomicUsize::new(0),
            max_polling: cores - 1,
        }));
        let (report, started) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name("agpu-julia".to_owned())
            .stack_size(stack_bytes())
            .spawn(move || {
                amdgpu_telemetry::name_thread("julia");
                match start(&installation) {
                    Ok(api) => {
                        // The starter waits for this report; it cannot be gone.
                        let _ = report.send(Ok(()));
                        owner.serve(&api)
                    }
                    Err(error) => {
                        let _ = report.send(Err(error));
                    }
                }
            })
            .map_err(|error| Error::JuliaMissing {
                reason: format!("its thread cannot be started: {error}"),
            })?;
        started.recv().unwrap_or_else(|_| {
            Err(Error::JuliaMissing {
                reason: "its thread ended while the runtime started".to_owned(),
            })
        })?;
        Ok(owner)
    }

    /// Run `work` on the owning thread and return its answer.
    pub(crate) fn call<R: Send>(&self, work: impl FnOnce(&Api) -> R + Send) -> Result<R, Error> {
        fork::check()?;
        let call = Call {
            work: UnsafeCell::new(Some(work)),
            answer: UnsafeCell::new(None),
        };
        let job = Job {
            run: runner_of(&call),
            data: (&raw const call).cast(),
            done: AtomicBool::new(false),
            waiter: thread::current(),
        };
        self.submit(JobPtr(&raw const job));
        self.wait(&job);
        match call.answer.into_inner() {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(_)) | None => Err(Error::Foreign {
                message: "the call panicked on the thread that owns Julia".to_owned(),
            }),
        }
    }

    /// No code panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, job: JobPtr) {
        let mut queue = self.lock();
        queue.jobs.push_back(job);
        self.pending.store(queue.jobs.len(), Ordering::Release);
        let wake = std::mem::take(&mut queue.owner_sleeps);
        drop(queue);
        if wake {
            self.arrival.notify_one();
        }
    }

    fn wait(&self, job: &Job) {
        // Acquire pairs with the owner's Release: the answer is visible once `done` is.
        let is_done = || job.done.load(Ordering::Acquire);
        // Relaxed: the count only steers who polls.
        if self.polling.fetch_add(1, Ordering::Relaxed) < self.max_polling {
            poll_until(CALLER_POLL, is_done);
        }
        self.polling.fetch_sub(1, Ordering::Relaxed);
        while !is_done() {
            thread::park();
        }
    }

    fn next_job(&self) -> JobPtr {
        loop {
            if self.max_polling > 0 {
                poll_until(OWNER_POLL, || self.pending.load(Ordering::Acquire) > 0);
            }
            let mut queue = self.lock();
            if queue.jobs.is_empty() {
                queue.owner_sleeps = true;
                queue = self
                    .arrival
                    .wait_while(queue, |queue| queue.jobs.is_empty())
                    .unwrap_or_else(PoisonError::into_inner);
                queue.owner_sleeps = false;
            }
            if let Some(job) = queue.jobs.pop_front() {
                self.pending.store(queue.jobs.len(), Ordering::Release);
                return job;
            }
        }
    }

    fn serve(&self, api: &Api) -> ! {
        loop {
            let JobPtr(job) = self.next_job();
            // SAFETY: the caller keeps the job and what it points to alive and untouched until `done` is set, which is the last access.
            unsafe {
                ((*job).run)((*job).data, api);
                // Cloned first: once `done` is set the job may be gone.
                let waiter = (*job).waiter.clone();
                (*job).done.store(true, Ordering::Release);
                waiter.unpark();
            }
        }
    }
}

fn runner_of<F: FnOnce(&Api) -> R + Send, R: Send>(_: &Call<F, R>) -> unsafe fn(*const (), &Api) {
    run_call::<F, R>
}

/// # Safety
///
/// `data` must point to a `Call<F, R>` that no other thread touches now.
unsafe fn run_call<F: FnOnce(&Api) -> R + Send, R: Send>(data: *const (), api: &Api) {
    // SAFETY: the caller vouches for type and exclusiveness.
    let call = unsafe { &*data.cast::<Call<F, R>>() };
    // SAFETY: exclusive access, as above.
    let work = unsafe { (*call.work.get()).take() };
    if let Some(work) = work {
        let answer = catch_unwind(AssertUnwindSafe(|| work(api)));
        // SAFETY: exclusive access, as above.
        unsafe { *call.answer.get() = Some(answer) };
    }
}

/// Polls until `ready` or `limit` has passed.
fn poll_until(limit: Duration, ready: impl Fn() -> bool) {
    for _ in 0..EAGER_POLLS {
        if ready() {
            return;
        }
        std::hint::spin_loop();
    }
    // The other side may need this very core.
    let started = Instant::now();
    while !ready() && started.elapsed() < limit {
        thread::yield_now();
    }
}

fn stack_bytes() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call fills in the struct it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    let wanted = if known {
        usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
    } else {
        MIN_STACK_BYTES
    };
    wanted.clamp(MIN_STACK_BYTES, MAX_STACK_BYTES) + STACK_MARGIN_BYTES
}
