//! One client: its requests, one after the other, until it goes.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::requests::{self, Request, Subscribe};
use super::{ATTACH_SCHEMA, Topic, providers, socket};
use crate::clock::ClockOrigin;
use crate::frames::{self, FrameKind, NamesDelta};
use crate::names::Names;
use crate::record::Record;
use crate::{export, hub};

/// Longest request; the longest that makes sense holds a handle.
pub const MAX_REQUEST_BYTES: usize = 64 << 10;
/// Records of one frame or line.
const BATCH: usize = 4096;
/// Longest wait for a record, after which the client is looked at: it may have gone.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// A frame of a subscriber that wants networks is sent this often: what people see move.
const NETWORKS_EVERY: Duration = Duration::from_millis(100);

/// A line that says why there is no answer.
pub(super) fn refusal(reason: &str) -> String {
    format!(
        "{}\n",
        serde_json::json!({"schema": ATTACH_SCHEMA, "error": reason})
    )
}

pub(super) fn serve(stream: Option<&UnixStream>) {
    let Some(stream) = stream else { return };
    // A client that goes in the middle of something ends its session, which is all that there is to do.
    let _ = Session {
        stream,
        waiting: Vec::new(),
    }
    .run();
}

struct Session<'a> {
    stream: &'a UnixStream,
    waiting: Vec<u8>,
}

impl Session<'_> {
    fn run(&mut self) -> io::Result<()> {
        while let Some(line) = self.read_line()? {
            match requests::parse(&line) {
                Ok(Request::Subscribe(options)) => return self.stream_records(&options),
                Ok(request) => {
                    self.write(format!("{}\n", requests::respond(&request)).as_bytes())?;
                }
                Err(reason) => self.write(refusal(&reason).as_bytes())?,
            }
        }
        Ok(())
    }

    /// `None` at the end of what the client sends.
    fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.waiting[searched..]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                let rest = self.waiting.split_off(searched + end + 1);
                return Ok(Some(std::mem::replace(&mut self.waiting, rest)));
            }
            searched = self.waiting.len();
            if searched > MAX_REQUEST_BYTES {
                let reason = format!("a request is a line of at most {MAX_REQUEST_BYTES} bytes");
                self.write(refusal(&reason).as_bytes())?;
                return Ok(None);
            }
            let mut chunk = [0; 4096];
            match socket::receive(self.stream, &mut chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => self.waiting.extend(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket::wait(self.stream.as_raw_fd(), libc::POLLIN, None)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes everything, however slowly the client reads.
    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match socket::send(self.stream, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket::wait(self.stream.as_raw_fd(), libc::POLLOUT, None)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the client has closed its end, or says something, which ends a stream too.
    fn has_gone(&self) -> bool {
        let events = libc::POLLIN | libc::POLLRDHUP;
        !matches!(
            socket::wait(self.stream.as_raw_fd(), events, Some(Duration::ZERO)),
            Ok(0)
        )
    }

    fn stream_records(&self, options: &Subscribe) -> io::Result<()> {
        let hub = hub::global();
        let subscription = hub.subscribe_patiently("attach", options.capacity, options.pause);
        let acknowledged = requests::envelope("subscribe", &requests::describe());
        self.write(format!("{acknowledged}\n").as_bytes())?;
        let mut sender = Sender::new(options);
        let mut batch = Vec::new();
        let (mut told_lost, begin) = (0, Instant::now());
        let (mut totals_due, mut networks_due) = (begin, begin);
        loop {
            let wait = sender.longest_wait(options);
            subscription.recv_batch(&mut batch, BATCH, wait);
            if subscription.is_closed() {
                return Ok(());
            }
            let lost = subscription.dropped();
            batch.retain(|record| options.wants(record));
            if !batch.is_empty() || lost != told_lost {
                sender.records(&batch, lost);
                told_lost = lost;
                batch.clear();
            }
            let now = Instant::now();
            if let Some(every) = options.totals_every
                && now >= totals_due
            {
                totals_due = now + every;
                sender.json(FrameKind::Totals, &serde_json::json!(hub.totals()));
            }
            if options.with_networks && now >= networks_due {
                networks_due = now + NETWORKS_EVERY;
                if let Ok(networks) = providers::ask(Topic::Networks, &super::Question::default())
                    && !networks.is_null()
                {
                    sender.json(FrameKind::Networks, &networks);
                }
            }
            self.write(&sender.out)?;
            sender.out.clear();
            if self.has_gone() {
                return Ok(());
            }
            if !options.pause.is_zero() {
                std::thread::sleep(options.pause);
            }
        }
    }
}

/// Makes frames or lines of what a subscriber gets.
struct Sender {
    as_lines: bool,
    out: Vec<u8>,
    sent: Names,
    clock: ClockOrigin,
}

impl Sender {
    fn new(options: &Subscribe) -> Self {
        Self {
            as_lines: options.as_lines,
            out: Vec::new(),
            sent: Names::default(),
            clock: hub::global().clock_origin(),
        }
    }

    fn longest_wait(&self, options: &Subscribe) -> Duration {
        debug_assert!(
            self.out.is_empty(),
            "everything was sent before the next wait"
        );
        options
            .totals_every
            .unwrap_or(LONGEST_WAIT)
            .min(LONGEST_WAIT)
    }

    fn json(&mut self, kind: FrameKind, value: &serde_json::Value) {
        if self.as_lines {
            let line = serde_json::json!({ (kind.name()): value });
            self.out.extend(format!("{line}\n").bytes());
        } else {
            frames::append(&mut self.out, kind, 0, &[value.to_string().as_bytes()]);
        }
    }

    fn records(&mut self, batch: &[Record], lost: u64) {
        let delta = self.delta(batch);
        if self.as_lines {
            let lines = export::ndjson(batch, &self.sent, &self.clock);
            let joined = lines.lines().collect::<Vec<_>>().join(",");
            self.out
                .extend(format!("{{\"records\":[{joined}],\"dropped\":{lost}}}\n").bytes());
            return;
        }
        if !delta.is_empty() {
            let text = serde_json::to_string(&delta).unwrap_or_default();
            frames::append(&mut self.out, FrameKind::Names, 0, &[text.as_bytes()]);
        }
        frames::append_records(&mut self.out, 0, lost, batch);
    }

    /// The names that these records need and that were not sent before.
    fn delta(&mut self, batch: &[Record]) -> NamesDelta {
        let threads = &self.sent.threads;
        let is_new = |record: &Record| {
            NamesDelta::is_needed(record, &self.sent)
                || !threads.iter().any(|(thread, _)| *thread == record.thread)
        };
        // Threads without a name never get on the list; looking again for each of their batches costs two short locks.
        if !batch.iter().any(is_new) {
            return NamesDelta::default();
        }
        let known = hub::global().known_names(self.sent.names.len());
        let delta = NamesDelta {
            first: self.sent.names.len() as u32,
            names: known.names,
            threads: (known.threads != self.sent.threads).then_some(known.threads),
            devices: (known.devices != self.sent.devices).then_some(known.devices),
        };
        delta.clone().apply(&mut self.sent);
        delta
    }
}
