//! Records of all processes of this user, of those that come later too.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use super::client::Client;
use super::error::Error;
use super::listing::ProcessInfo;
use super::stream::{Batch, RecordStream, SubscribeOptions};
use super::{client, directory, socket};

/// How long a new process may go unseen.
const SCAN_EVERY: Duration = Duration::from_millis(200);
/// A process that could not be watched is tried again after this time: it may have been stopped, or have had too many clients.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// What came from one process.
#[derive(Debug)]
pub struct WatchedBatch {
    pub pid: u32,
    pub batch: Batch,
}

/// Totals or networks of a process, as JSON.
#[derive(Clone, Debug)]
pub struct Document {
    pub pid: u32,
    pub kind: &'static str,
    pub text: String,
}

struct Watched {
    stream: RecordStream,
    info: ProcessInfo,
}

/// Attached to every process of this user that listens.
pub struct Watcher {
    options: SubscribeOptions,
    watched: HashMap<u32, Watched>,
    /// When to try again.
    refused: HashMap<u32, Instant>,
    next_scan: Instant,
    /// Counts processes that came or went.
    changes: u64,
    /// Lost by processes that are gone.
    lost_before: u64,
    news: Option<News>,
}

/// One descriptor for the connections to all processes: readable when something has come on one of them that was not looked at since.
struct News(OwnedFd);

impl News {
    /// `None` where the system has no descriptor left; who waits then looks at a time of its own.
    fn new() -> Option<Self> {
        // SAFETY: takes a flag, touches no memory.
        let descriptor = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        // SAFETY: just made, and nobody else has it.
        (descriptor >= 0).then(|| Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Watches a connection until it is closed.
    fn add(&self, descriptor: RawFd) {
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32,
            u64: 0,
        };
        // SAFETY: both descriptors are open, the event lives through the call. Without it, news of this process are seen a little later.
        unsafe {
            libc::epoll_ctl(
                self.0.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                descriptor,
                &raw mut event,
            )
        };
    }

    /// Takes note of what has come so far.
    fn acknowledge(&self) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        loop {
            // SAFETY: the events live through the call and their number is told; it does not wait.
            let count = unsafe {
                libc::epoll_wait(
                    self.0.as_raw_fd(),
                    events.as_mut_ptr(),
                    events.len() as libc::c_int,
                    0,
                )
            };
            if usize::try_from(count).is_ok_and(|count| count == events.len()) {
                continue;
            }
            return;
        }
    }
}

impl Watcher {
    #[must_use]
    pub fn new(options: SubscribeOptions) -> Self {
        let mut watcher = Self {
            options,
            watched: HashMap::new(),
            refused: HashMap::new(),
            next_scan: Instant::now(),
            changes: 0,
            lost_before: 0,
            news: News::new(),
        };
        watcher.scan();
        watcher
    }

    /// The processes that are watched now, by number.
    #[must_use]
    pub fn processes(&self) -> Vec<ProcessInfo> {
        let now = |watched: &Watched| watched.info.with_version(watched.stream.version());
        let mut infos: Vec<ProcessInfo> = self.watched.values().map(now).collect();
        infos.sort_by_key(|info| info.pid);
        infos
    }

    /// Goes up when a process comes or goes.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Records lost so far, of all processes.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let now: u64 = self
            .watched
            .values()
            .map(|watched| watched.stream.dropped())
            .sum();
        self.lost_before + now
    }

    /// A descriptor that becomes readable when something has come: for event loops that wait for other things too. `None` where the system
    /// has none left. Processes that are new are found by polling alone.
    #[must_use]
    pub fn descriptor(&self) -> Option<RawFd> {
        self.news.as_ref().map(|news| news.0.as_raw_fd())
    }

    /// Makes the descriptor unreadable until something else comes. What has come stays to be polled.
    pub fn acknowledge(&self) {
        if let Some(news) = &self.news {
            news.acknowledge();
        }
    }

    /// The stream of a process, for names and lines.
    #[must_use]
    pub fn stream(&self, pid: u32) -> Option<&RecordStream> {
        self.watched.get(&pid).map(|watched| &watched.stream)
    }

    /// What came; waits up to `timeout` for the first. Processes that are gone are left out from then on.
    pub fn poll(&mut self, timeout: Duration) -> Vec<WatchedBatch> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if Instant::now() >= self.next_scan {
                self.scan();
            }
            let batches = self.take();
            let now = Instant::now();
            let left = deadline.map_or(SCAN_EVERY, |deadline| {
                deadline.saturating_duration_since(now)
            });
            if !batches.is_empty() || left.is_zero() {
                return batches;
            }
            self.wait(left.min(self.next_scan.saturating_duration_since(now)));
        }
    }

    /// Like [`Watcher::poll`], as text: records as lines of JSON with the number of their process, the newest `limit` of each process, and
    /// documents with process and kind.
    pub fn poll_lines(&mut self, timeout: Duration, limit: usize) -> (String, Vec<Document>) {
        let mut lines = String::new();
        let mut documents = Vec::new();
        for WatchedBatch { pid, batch } in self.poll(timeout) {
            let excess = batch.records.len().saturating_sub(limit);
            self.lost_before += excess as u64;
            if let Some(watched) = self.watched.get(&pid) {
                lines.push_str(&watched.stream.lines(&batch.records[excess..]));
            }
            documents.extend(batch.documents.into_iter().map(|(kind, text)| Document {
                pid,
                kind: kind.name(),
                text,
            }));
        }
        (lines, documents)
    }

    fn wait(&self, timeout: Duration) {
        let mut entries: Vec<libc::pollfd> = self
            .watched
            .values()
            .filter_map(|watched| watched.stream.descriptor())
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the entries live through the call and their number is told. Nothing depends on the outcome: who waits looks again.
        unsafe {
            libc::poll(
                entries.as_mut_ptr(),
                entries.len() as libc::nfds_t,
                socket::milliseconds(timeout),
            )
        };
    }

    fn take(&mut self) -> Vec<WatchedBatch> {
        let mut batches = Vec::new();
        let mut gone = Vec::new();
        for (pid, watched) in &mut self.watched {
            match watched.stream.try_recv() {
                Ok(batch) if batch.records.is_empty() && batch.documents.is_empty() => {}
                Ok(batch) => batches.push(WatchedBatch { pid: *pid, batch }),
                Err(error) => gone.push((*pid, error)),
            }
        }
        for (pid, error) in gone {
            if let Some(watched) = self.watched.remove(&pid) {
                self.lost_before += watched.stream.dropped();
                self.changes += 1;
            }
            if !matches!(error, Error::Gone { .. }) {
                self.refused.insert(pid, Instant::now() + RETRY_AFTER);
            }
        }
        batches
    }

    /// Attaches to whoever is new.
    fn scan(&mut self) {
        let now = Instant::now();
        self.next_scan = now + SCAN_EVERY;
        self.refused.retain(|_, again| *again > now);
        for (pid, path) in directory::sockets() {
            if self.watched.contains_key(&pid) || self.refused.contains_key(&pid) {
                continue;
            }
            let begun = client::connect(pid, &path)
                .and_then(|stream| RecordStream::begin(Client::of(pid, stream), &self.options));
            match begun {
                Ok(stream) => {
                    if let (Some(news), Some(descriptor)) = (&self.news, stream.descriptor()) {
                        news.add(descriptor);
                    }
                    let info = ProcessInfo::of(pid, None);
                    self.watched.insert(pid, Watched { stream, info });
                    self.changes += 1;
                }
                Err(Error::Gone { .. }) => {}
                Err(_) => {
                    self.refused.insert(pid, now + RETRY_AFTER);
                }
            }
        }
    }
}
