//! Records of one process as they happen: of another one through its socket, or of this one.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{self, Client};
use super::error::{Error, Result};
use super::socket;
use crate::frames::{Frame, FrameKind, FrameReader, NamesDelta};
use crate::names::Names;
use crate::record::{Kind, Record};
use crate::subscriber::Subscription;
use crate::{export, hub};

/// Bytes that are read before records are looked at.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes of one look: a flood must not keep a watcher from the other processes.
const MAX_LOOK_BYTES: usize = 4 << 20;
/// Longest wait for the answer to the request itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// What to send, and how often. See the fields of the request `subscribe`.
#[derive(Clone, Debug)]
pub struct SubscribeOptions {
    /// Records kept for this reader in the process that is watched.
    pub capacity: usize,
    /// `None`: all.
    pub kinds: Option<Vec<Kind>>,
    /// Least time between two sends; zero sends at once.
    pub interval: Duration,
    /// Sums are sent this often.
    pub totals_every: Option<Duration>,
    pub with_networks: bool,
}

impl Default for SubscribeOptions {
    fn default() -> Self {
        Self {
            capacity: 65_536,
            kinds: None,
            interval: Duration::ZERO,
            totals_every: None,
            with_networks: false,
        }
    }
}

impl SubscribeOptions {
    pub(super) fn request(&self) -> Value {
        json!({
            "op": "subscribe",
            "capacity": self.capacity,
            "kinds": self.kinds,
            "interval_ms": self.interval.as_millis() as u64,
            "totals_ms": self.totals_every.map(|every| every.as_millis() as u64),
            "networks": self.with_networks,
        })
    }
}

/// What came at once.
#[derive(Debug, Default)]
pub struct Batch {
    pub records: Vec<Record>,
    /// Totals and networks as JSON.
    pub documents: Vec<(FrameKind, String)>,
}

/// Records of a process.
pub struct RecordStream {
    pid: u32,
    names: Names,
    lost: u64,
    end: End,
}

enum End {
    Socket(Socket),
    Own(Subscription, Option<Vec<Kind>>),
}

struct Socket {
    stream: UnixStream,
    reader: FrameReader,
    /// The acknowledgement, a line, comes before the first frame.
    is_acknowledged: bool,
    line: Vec<u8>,
    /// Where bytes are read to; made once, because a new one this large is a system call and a fault for each of its pages.
    chunk: Box<[u8]>,
    is_over: bool,
    /// Of amdgpu in the process.
    version: Option<String>,
}

impl RecordStream {
    /// Watch another process.
    pub fn connect(pid: u32, options: &SubscribeOptions) -> Result<Self> {
        let mut stream = Self::begin(Client::connect(pid)?, options)?;
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while !stream.is_acknowledged() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Silent {
                    pid,
                    op: "subscribe".to_owned(),
                    seconds: ANSWER_TIMEOUT.as_secs_f64(),
                    hint: client::hint_of(pid),
                });
            }
            stream.recv_acknowledgement(left)?;
        }
        Ok(stream)
    }

    /// Ask to watch, without waiting for the answer.
    pub(super) fn begin(client: Client, options: &SubscribeOptions) -> Result<Self> {
        let (pid, stream, line) = client.into_parts();
        let request = format!("{}\n", options.request());
        // The buffer of a new connection takes a line at once.
        let sent = socket::send(&stream, request.as_bytes());
        let has_hung_up = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        // Who hung up said why; that is read with the answer.
        if !sent.as_ref().is_ok_and(|count| *count == request.len())
            && !sent.as_ref().is_err_and(has_hung_up)
        {
            let reason = sent.map_or_else(
                |error| error.to_string(),
                |_| "its buffer is full".to_owned(),
            );
            return Err(Error::Broken { pid, reason });
        }
        Ok(Self {
            pid,
            names: Names::default(),
            lost: 0,
            end: End::Socket(Socket {
                stream,
                reader: FrameReader::default(),
                is_acknowledged: false,
                line,
                chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
                is_over: false,
                version: None,
            }),
        })
    }

    /// Watch this process.
    #[must_use]
    pub fn own(options: &SubscribeOptions) -> Self {
        Self {
            pid: std::process::id(),
            names: Names::default(),
            lost: 0,
            end: End::Own(
                crate::subscribe_as("attach", options.capacity),
                options.kinds.clone(),
            ),
        }
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Words for the numbers in the records that came so far.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Records that were lost because this reader was too slow.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.lost
    }

    /// Records as lines of JSON, see [`export::ndjson_of`].
    #[must_use]
    pub fn lines(&self, records: &[Record]) -> String {
        let clock = hub::global().clock_origin();
        export::ndjson_of(self.pid, records, &self.names, &clock)
    }

    /// What the process said of itself, once it has answered.
    pub(super) fn version(&self) -> Option<&str> {
        match &self.end {
            End::Socket(socket) => socket.version.as_deref(),
            End::Own(..) => Some(amdgpu_abi::layout::PACKAGE_VERSION),
        }
    }

    pub(super) fn descriptor(&self) -> Option<RawFd> {
        match &self.end {
            End::Socket(socket) => Some(socket.stream.as_raw_fd()),
            End::Own(..) => None,
        }
    }

    fn is_acknowledged(&self) -> bool {
        match &self.end {
            End::Socket(socket) => socket.is_acknowledged,
            End::Own(..) => true,
        }
    }

    fn recv_acknowledgement(&mut self, timeout: Duration) -> Result<()> {
        let pid = self.pid;
        if let End::Socket(socket) = &mut self.end {
            socket.wait(pid, timeout)?;
            // What comes behind the line stays in the reader until it is asked for.
            socket.read(pid)?;
        }
        Ok(())
    }

    /// What came; waits up to `timeout` for the first. An empty batch after the time.
    pub fn recv(&mut self, timeout: Duration) -> Result<Batch> {
        let mut batch = self.try_recv()?;
        if batch.records.is_empty() && batch.documents.is_empty() && !timeout.is_zero() {
            let pid = self.pid;
            match &mut self.end {
                End::Socket(socket) => {
                    socket.wait(pid, timeout)?;
                    batch = self.try_recv()?;
                }
                End::Own(subscription, _) => {
                    let mut records = Vec::new();
                    subscription.recv_batch(&mut records, usize::MAX, timeout);
                    batch.records = records;
                    self.finish_own(&mut batch);
                }
            }
        }
        Ok(batch)
    }

    /// What is there now.
    pub(super) fn try_recv(&mut self) -> Result<Batch> {
        let mut batch = Batch::default();
        let pid = self.pid;
        match &mut self.end {
            End::Own(subscription, _) => {
                subscription.try_recv_batch(&mut batch.records, usize::MAX);
                self.finish_own(&mut batch);
            }
            End::Socket(socket) => {
                let outcome = socket.read(pid);
                let frames = socket.frames(pid)?;
                let is_empty = frames.is_empty();
                for frame in frames {
                    self.take(&frame, &mut batch);
                }
                // What came before the end is given first; the next call tells of the end.
                if is_empty {
                    outcome?;
                }
            }
        }
        Ok(batch)
    }

    fn finish_own(&mut self, batch: &mut Batch) {
        if let End::Own(subscription, kinds) = &self.end {
            self.lost = subscription.dropped();
            if let Some(kinds) = kinds {
                batch.records.retain(|record| kinds.contains(&record.kind));
            }
            if !batch.records.is_empty() {
                let known = hub::global().known_names(self.names.names.len());
                self.names.names.extend(known.names);
                self.names.threads = known.threads;
                self.names.devices = known.devices;
            }
        }
    }

    fn take(&mut self, frame: &Frame, batch: &mut Batch) {
        match frame.kind {
            Some(FrameKind::Names) => {
                if let Ok(delta) = serde_json::from_str::<NamesDelta>(frame.text()) {
                    delta.apply(&mut self.names);
                }
            }
            Some(FrameKind::Records) => {
                let (lost, records) = frame.records();
                self.lost = lost;
                batch.records.extend(records);
            }
            Some(kind) => batch.documents.push((kind, frame.text().to_owned())),
            // Of a later version.
            None => {}
        }
    }
}

impl Socket {
    fn wait(&self, pid: u32, timeout: Duration) -> Result<()> {
        socket::wait(self.stream.as_raw_fd(), libc::POLLIN, Some(timeout))
            .map(drop)
            .map_err(|error| broken(pid, &error))
    }

    /// Takes over what is there; an error at the end of the connection.
    fn read(&mut self, pid: u32) -> Result<()> {
        let mut chunk = std::mem::take(&mut self.chunk);
        let outcome = self.read_into(pid, &mut chunk);
        self.chunk = chunk;
        outcome
    }

    fn read_into(&mut self, pid: u32, chunk: &mut [u8]) -> Result<()> {
        let mut taken = 0;
        let mut was_reset = false;
        while taken < MAX_LOOK_BYTES && !self.is_over {
            match socket::receive(&self.stream, chunk) {
                Ok(0) => self.is_over = true,
                Ok(count) => {
                    taken += count;
                    self.push(pid, &chunk[..count])?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Told once, before what the other end sent last.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset && !was_reset => {
                    was_reset = true;
                }
                Err(error) => return Err(broken(pid, &error)),
            }
        }
        if self.is_over {
            return Err(Error::Gone { pid });
        }
        Ok(())
    }

    fn push(&mut self, pid: u32, bytes: &[u8]) -> Result<()> {
        if self.is_acknowledged {
            self.reader.push(bytes);
            return Ok(());
        }
        self.line.extend(bytes);
        let Some(end) = self.line.iter().position(|byte| *byte == b'\n') else {
            return Ok(());
        };
        let answer: Value = serde_json::from_slice(&self.line[..end]).unwrap_or_default();
        if answer.get("answer").is_none() {
            let reason = answer["error"].as_str().unwrap_or("it did not say why");
            return Err(Error::Refused {
                pid,
                op: "subscribe".to_owned(),
                reason: reason.to_owned(),
            });
        }
        self.version = answer["answer"]["version"].as_str().map(str::to_owned);
        self.is_acknowledged = true;
        self.reader.push(&self.line[end + 1..]);
        self.line = Vec::new();
        Ok(())
    }

    fn frames(&mut self, pid: u32) -> Result<Vec<Frame>> {
        let mut frames = Vec::new();
        loop {
            match self.reader.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => return Ok(frames),
                Err(_) => {
                    return Err(Error::Broken {
                        pid,
                        reason: "it sends something else than frames".to_owned(),
                    });
                }
            }
        }
    }
}

fn broken(pid: u32, error: &io::Error) -> Error {
    Error::Broken {
        pid,
        reason: error.to_string(),
    }
}
