//! Events of the CPU backend.

use std::any::Any;
use std::sync::{Arc, PoisonError, Weak};

use super::cancel::Cancellation;
use super::command::Command;
use super::queue::Queue;
use super::shutdown;
use super::sync::{self, AtomicU64, Condvar, Mutex, MutexGuard, Ordering};
use crate::fork::ForkMark;
use crate::{Error, Event, Result, attention, clock};

/// One recording of an event: it happens once.
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// Zero until it has happened; the clock never reads zero on a running system.
    timestamp_ns: AtomicU64,
    outcome: Mutex<Outcome>,
    happened: Condvar,
}

#[derive(Debug, Default)]
struct Outcome {
    failure: Option<Error>,
    /// What happens as soon as this has.
    followers: Vec<Arc<Completion>>,
}

impl Completion {
    /// Lets it happen now, with the error of the stream it was recorded on.
    pub fn complete(&self, failure: Option<&Error>) {
        let mut followers = self.happen(failure);
        // A loop, not a recursion: cancelled replays of one graph make chains of any length.
        while let Some(next) = followers.pop() {
            followers.extend(next.happen(None));
        }
    }

    fn happen(&self, failure: Option<&Error>) -> Vec<Arc<Self>> {
        let mut outcome = self.lock();
        outcome.failure = failure.cloned();
        self.timestamp_ns
            .store(clock::now_ns().max(1), Ordering::Release);
        self.happened.notify_all();
        std::mem::take(&mut outcome.followers)
    }

    /// Lets `follower` happen, without an error, as soon as this has.
    pub fn pass_on(&self, follower: &Arc<Self>) {
        let mut outcome = self.lock();
        if !self.is_complete() {
            outcome.followers.push(Arc::clone(follower));
            return;
        }
        drop(outcome);
        follower.complete(None);
    }

    /// Whether it has happened.
    pub fn is_complete(&self) -> bool {
        self.timestamp_ns.load(Ordering::Acquire) != 0
    }

    /// Waits until it has happened, also when the command that waits was cancelled: for what is cancelled with it.
    pub fn wait(&self) -> Result<()> {
        let mut outcome = self.lock();
        while !self.is_complete() {
            outcome = self.sleep(outcome, || Cancellation::current().request());
        }
        outcome.failure.clone().map_or(Ok(()), Err)
    }

    /// Waits until it has happened or the command that waits is cancelled; whoever cancels calls [`Self::look_again`].
    pub fn wait_unless_cancelled(&self) -> Result<()> {
        let cancellation = Cancellation::current();
        let mut outcome = self.lock();
        while !self.is_complete() {
            if cancellation.is_requested() {
                return Err(Error::cancelled());
            }
            outcome = self.sleep(outcome, || cancellation.request());
        }
        outcome.failure.clone().map_or(Ok(()), Err)
    }

    /// Waits on the host. A signal handler that ends the wait cancels what the stream runs.
    fn wait_on_host(&self, queue: &Weak<Queue>) -> Result<()> {
        let mut is_interrupted = false;
        let mut outcome = self.lock();
        while !self.is_complete() {
            outcome = self.sleep(outcome, || {
                is_interrupted = true;
                // A stream of a parent process is none of ours; without its queue nothing is waited for.
                let _ = queue.upgrade().map(|queue| queue.cancel());
            });
        }
        if is_interrupted {
            return Err(Error::Interrupted);
        }
        outcome.failure.clone().map_or(Ok(()), Err)
    }

    /// Wakes whoever waits, to look whether it was cancelled.
    pub fn look_again(&self) {
        let _outcome = self.lock();
        self.happened.notify_all();
    }

    /// Sleeps until something happened; calls `give_up`, without the lock, when a signal handler ends the wait.
    fn sleep<'a>(
        &'a self,
        outcome: MutexGuard<'a, Outcome>,
        give_up: impl FnOnce(),
    ) -> MutexGuard<'a, Outcome> {
        let (outcome, elapsed) = sync::sleep(&self.happened, outcome);
        if !elapsed {
            return outcome;
        }
        drop(outcome);
        if attention::is_wait_over() {
            give_up();
        }
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event: the latest of its recordings.
#[derive(Debug)]
pub struct CpuEvent {
    latest: Mutex<Option<Recording>>,
    mark: ForkMark,
}

/// Where an event was recorded.
#[derive(Clone, Debug)]
struct Recording {
    completion: Arc<Completion>,
    queue: Weak<Queue>,
}

impl CpuEvent {
    pub(super) fn new() -> Self {
        Self {
            latest: Mutex::new(None),
            mark: ForkMark::current(),
        }
    }

    /// Records behind everything that the queue was given so far.
    ///
    /// Nobody sees the recording before the queue has it: a wait that another thread submits could otherwise get ahead of what it waits
    /// for, in the same queue or in a circle of several.
    pub(super) fn record(&self, queue: &Arc<Queue>) -> Result<()> {
        let mut latest = self.lock();
        let completion = Arc::new(Completion::default());
        queue.submit(Command::Record(Arc::clone(&completion)))?;
        *latest = Some(Recording {
            completion,
            queue: Arc::downgrade(queue),
        });
        Ok(())
    }

    /// The latest recording.
    pub(super) fn latest(&self) -> Option<Arc<Completion>> {
        let latest = self.lock();
        latest.as_ref().map(|latest| Arc::clone(&latest.completion))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Recording>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Event for CpuEvent {
    fn is_complete(&self) -> bool {
        self.mark.is_current()
            && self
                .latest()
                .is_none_or(|completion| completion.is_complete())
    }

    fn synchronize(&self) -> Result<()> {
        self.mark.check("the event")?;
        let Some(latest) = self.lock().clone() else {
            return Ok(());
        };
        let result = latest.completion.wait_on_host(&latest.queue);
        shutdown::detain(&result);
        result
    }

    fn timestamp_ns(&self) -> Option<u64> {
        if !self.mark.is_current() {
            return None;
        }
        let timestamp_ns = self.latest()?.timestamp_ns.load(Ordering::Acquire);
        (timestamp_ns != 0).then_some(timestamp_ns)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use std::thread;

    use super::super::cancel::{self, CancelFlag};
    use super::super::queue::Mode;
    use super::*;

    fn failure() -> Error {
        Error::Panicked {
            message: "on purpose".to_string(),
        }
    }

    #[test]
    fn a_completion_keeps_its_error_and_its_time() {
        let (good, bad) = (Completion::default(), Completion::default());
        assert!(!good.is_complete());
        let before_ns = clock::now_ns();
        good.complete(None);
        bad.complete(Some(&failure()));
        let at_ns = good.timestamp_ns.load(Ordering::Acquire);
        assert!((before_ns..=clock::now_ns()).contains(&at_ns));
        assert!(good.is_complete() && bad.is_complete());
        for _ in 0..2 {
            assert_eq!((good.wait(), bad.wait()), (Ok(()), Err(failure())));
            assert_eq!(good.wait_unless_cancelled(), Ok(()));
            assert_eq!(bad.wait_unless_cancelled(), Err(failure()));
        }
    }

    #[test]
    fn followers_happen_after_what_they_follow_and_without_its_error() {
        // As long as no recursion could be.
        let chain: Vec<Arc<Completion>> = (0..100_000).map(|_| Arc::default()).collect();
        for pair in chain.windows(2) {
            pair[0].pass_on(&pair[1]);
        }
        let second = Arc::new(Completion::default());
        chain[0].pass_on(&second);
        assert!(chain.iter().all(|one| !one.is_complete()) && !second.is_complete());
        chain[0].complete(Some(&failure()));
        assert!(chain.iter().all(|one| one.is_complete()) && second.is_complete());
        assert_eq!(chain[0].wait(), Err(failure()));
        assert_eq!((chain[1].wait(), second.wait()), (Ok(()), Ok(())));
        // What follows something that has happened happens at once.
        let late = Arc::new(Completion::default());
        chain[0].pass_on(&late);
        assert!(late.is_complete());
        assert_eq!(late.wait(), Ok(()));
    }

    #[test]
    fn only_a_wait_that_may_be_given_up_is_given_up_when_its_command_is_cancelled() {
        let (flag, awaited) = (CancelFlag::new(), Arc::new(Completion::default()));
        thread::scope(|scope| {
            let given_up =
                scope.spawn(|| cancel::within(&flag, || awaited.wait_unless_cancelled()));
            let kept = scope.spawn(|| cancel::within(&flag, || awaited.wait()));
            flag.request();
            while !given_up.is_finished() {
                awaited.look_again();
                thread::yield_now();
            }
            assert_eq!(given_up.join().unwrap(), Err(Error::cancelled()));
            assert!(!kept.is_finished());
            awaited.complete(None);
            assert_eq!(kept.join().unwrap(), Ok(()));
        });
        flag.clear();
    }

    #[test]
    fn an_event_is_its_latest_recording() {
        let (event, queue) = (CpuEvent::new(), Queue::new(Mode::Inline));
        assert!(event.is_complete() && event.latest().is_none());
        assert_eq!((event.timestamp_ns(), event.synchronize()), (None, Ok(())));
        event.record(&queue).unwrap();
        let first = event.latest().unwrap();
        let first_ns = event.timestamp_ns().unwrap();
        assert!(event.is_complete());
        event.record(&queue).unwrap();
        assert!(!Arc::ptr_eq(&first, &event.latest().unwrap()));
        assert!(event.timestamp_ns().unwrap() >= first_ns);
        assert_eq!(event.synchronize(), Ok(()));
        assert!(event.as_any().is::<CpuEvent>());
        queue.close();
    }
}
