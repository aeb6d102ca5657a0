//! Notifications: host code that runs some time after an event, beside all streams.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::recording::Recording;
use crate::{Error, Notification, Result};

/// Between two looks at an event that is still to come. Notifications are for statistics, which can wait, and the core has better work.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// A thread that looks at events in the order of their notifications; it ends with the context it belongs to.
pub(super) struct Watcher {
    entries: mpsc::Sender<(Arc<Recording>, Notification)>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Watcher")
    }
}

impl Watcher {
    pub fn start(device: &str) -> Result<Self> {
        let (entries, received) = mpsc::channel::<(Arc<Recording>, Notification)>();
        thread::Builder::new()
            .name(format!("agpu-watch-{device}"))
            .spawn(move || {
                for (recording, notification) in received {
                    while !recording.is_reached() {
                        thread::sleep(POLL_INTERVAL);
                    }
                    // What a notification does is nobody's command, so a panic in it has nobody to be reported to.
                    drop(catch_unwind(AssertUnwindSafe(notification)));
                }
            })
            .map_err(|error| Error::DriverFault {
                device: device.to_string(),
                operation: "starting the thread for notifications",
                reason: error.to_string(),
            })?;
        Ok(Self { entries })
    }

    /// Runs `notification` some time after `recording` was reached.
    pub fn watch(&self, recording: Arc<Recording>, notification: Notification) {
        // The thread lives as long as this sender, so sending succeeds.
        let _ = self.entries.send((recording, notification));
    }
}
