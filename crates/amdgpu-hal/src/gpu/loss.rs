//! What a context remembers for the case that a kernel ends it: which kernels ran, and then which error it was.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Launches that are remembered; a fault shows soon after the kernel that caused it.
const MAX_SUSPECTS: usize = 8;

/// The kernels under way, and the end of the context.
#[derive(Debug, Default)]
pub(super) struct Loss {
    is_lost: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Kernel and stream of the latest launches, oldest first.
    suspects: VecDeque<(Arc<str>, u64)>,
    /// There were more than are remembered.
    is_overflown: bool,
    error: Option<Error>,
}

impl Loss {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// For those who outlive the context and want to know how it ended.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_lost)
    }

    /// A kernel was handed to the driver in a stream.
    pub fn launched(&self, kernel: &Arc<str>, stream_id: u64) {
        let mut state = self.lock();
        if let Some((latest, id)) = state.suspects.back()
            && *id == stream_id
            && Arc::ptr_eq(latest, kernel)
        {
            return;
        }
        if state.suspects.len() == MAX_SUSPECTS {
            state.suspects.pop_front();
            state.is_overflown = true;
        }
        state.suspects.push_back((Arc::clone(kernel), stream_id));
    }

    /// Everything launched in a stream went well.
    pub fn passed(&self, stream_id: u64) {
        let mut state = self.lock();
        state.suspects.retain(|(_, id)| *id != stream_id);
        if state.suspects.is_empty() {
            state.is_overflown = false;
        }
    }

    /// The error of the lost context, once there is one.
    pub fn error(&self) -> Option<Error> {
        self.is_lost().then(|| self.lock().error.clone()).flatten()
    }

    /// Notes that the context is lost; the first error stays, with the kernels that could have caused it.
    pub fn note(&self, error: Error) -> Error {
        let Error::DeviceLost { device, reason } = error else {
            return error;
        };
        let mut state = self.lock();
        if let Some(first) = &state.error {
            return first.clone();
        }
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &state.suspects {
            if !names.contains(&&**name) {
                names.push(name);
            }
        }
        let blame = match names.as_slice() {
            [] => String::new(),
            [only] if !state.is_overflown => format!("; the kernel was `{only}`"),
            several => format!(
                "; one of the kernels under way did it, last `{}`",
                several.join("`, `")
            ),
        };
        let error = Error::DeviceLost {
            device,
            reason: format!("{reason}{blame}"),
        };
        state.error = Some(error.clone());
        self.is_lost.store(true, Ordering::Release);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: &Loss) -> String {
        loss.note(Error::DeviceLost {
            device: "cuda:0".into(),
            reason: "fault".into(),
        })
        .to_string()
    }

    #[test]
    fn kernels_of_streams_that_passed_are_not_blamed() {
        let loss = Loss::default();
        let (good, bad) = (Arc::from("good"), Arc::from("bad"));
        loss.launched(&good, 1);
        loss.passed(1);
        loss.launched(&bad, 2);
        loss.launched(&bad, 2);
        assert!(lost(&loss).ends_with("fault; the kernel was `bad`"));
        assert!(loss.is_lost());
        loss.launched(&good, 1);
        assert_eq!(lost(&loss), loss.error().unwrap().to_string());
    }

    #[test]
    fn several_kernels_under_way_are_all_named() {
        let loss = Loss::default();
        for (name, stream) in [("a", 1), ("b", 2), ("a", 1)] {
            loss.launched(&Arc::from(name), stream);
        }
        assert!(lost(&loss).contains("one of the kernels under way did it, last `a`, `b`"));
    }

    #[test]
    fn more_kernels_than_are_remembered_are_not_put_down_to_one() {
        let loss = Loss::default();
        for number in 0..=MAX_SUSPECTS {
            loss.launched(&Arc::from(format!("k{number}")), 1);
        }
        loss.launched(&Arc::from("last"), 2);
        loss.passed(1);
        // Some that were forgotten may be under way in other streams.
        let text = lost(&loss);
        assert!(
            text.contains("one of the kernels under way did it, last `last`"),
            "{text}"
        );
        let calm = Loss::default();
        for number in 0..=MAX_SUSPECTS {
            calm.launched(&Arc::from(format!("k{number}")), 1);
        }
        calm.passed(1);
        calm.launched(&Arc::from("alone"), 2);
        assert!(lost(&calm).ends_with("the kernel was `alone`"));
        let many = Loss::default();
        for number in 0..=MAX_SUSPECTS {
            many.launched(&Arc::from(format!("k{number}")), 1);
        }
        let text = lost(&many);
        assert!(
            !text.contains("`k0`") && text.contains("last `k1`, `k2`"),
            "{text}"
        );
    }

    #[test]
    fn other_errors_are_no_loss() {
        let loss = Loss::default();
        let error = Error::WouldDeadlock { operation: "x" };
        assert_eq!(loss.note(error.clone()), error);
        assert!(!loss.is_lost() && loss.error().is_none());
    }
}
