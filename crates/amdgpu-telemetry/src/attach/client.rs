//! One connection to one process: requests and their answers.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::error::{Error, Result};
use super::{directory, listing, socket};

/// Longest answer: a snapshot of a process with every limit reached takes a tenth of it.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// A connection to a process of this user.
#[derive(Debug)]
pub struct Client {
    pid: u32,
    stream: UnixStream,
    waiting: Vec<u8>,
}

/// The socket of a process.
pub(super) fn path_of(pid: u32) -> Result<PathBuf> {
    let sockets = directory::sockets();
    if let Some((_, path)) = sockets.into_iter().find(|(known, _)| *known == pid) {
        return Ok(path);
    }
    Err(match listing::user_of(pid) {
        None => Error::Gone { pid },
        // The superuser may ask everybody, but is asked by nobody else.
        Some(uid) if uid != directory::user() => Error::Foreign {
            path: format!("process {pid}"),
        },
        Some(_) => Error::NotListening { pid },
    })
}

/// Connects to a socket, and removes it where nobody listens any more.
pub(super) fn connect(pid: u32, path: &Path) -> Result<UnixStream> {
    let stream = socket::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            // Its process was killed: it removes its socket when it ends by itself.
            let _ = std::fs::remove_file(path);
            Error::Gone { pid }
        }
        io::ErrorKind::NotFound => Error::Gone { pid },
        io::ErrorKind::PermissionDenied => Error::Foreign {
            path: path.display().to_string(),
        },
        io::ErrorKind::WouldBlock => Error::Silent {
            pid,
            op: "a connection".to_owned(),
            seconds: 0.0,
            hint: hint_of(pid),
        },
        _ => Error::Broken {
            pid,
            reason: error.to_string(),
        },
    })?;
    let is_own = socket::peer(&stream).is_ok_and(|(_, uid)| socket::is_own(uid));
    if !is_own {
        return Err(Error::Foreign {
            path: path.display().to_string(),
        });
    }
    Ok(stream)
}

/// Why a process may be silent.
pub(super) fn hint_of(pid: u32) -> &'static str {
    if listing::is_stopped(pid) {
        "; it is stopped (Ctrl-Z, SIGSTOP or a debugger)"
    } else {
        ""
    }
}

impl Client {
    /// Connect to the process.
    pub fn connect(pid: u32) -> Result<Self> {
        Ok(Self::of(pid, connect(pid, &path_of(pid)?)?))
    }

    pub(super) fn of(pid: u32, stream: UnixStream) -> Self {
        Self {
            pid,
            stream,
            waiting: Vec::new(),
        }
    }

    pub(super) fn into_parts(self) -> (u32, UnixStream, Vec<u8>) {
        (self.pid, self.stream, self.waiting)
    }

    fn broken(&self, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                Error::Gone { pid: self.pid }
            }
            _ => Error::Broken {
                pid: self.pid,
                reason: error.to_string(),
            },
        }
    }

    /// Waits for `events` until the deadline; an error after it.
    fn wait(&self, events: i16, op: &str, timeout: Duration, deadline: Instant) -> Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::Silent {
                pid: self.pid,
                op: op.to_owned(),
                seconds: timeout.as_secs_f64(),
                hint: hint_of(self.pid),
            });
        }
        socket::wait(self.stream.as_raw_fd(), events, Some(left))
            .map(drop)
            .map_err(|error| self.broken(&error))
    }

    /// The answer to a request, as JSON.
    pub fn request(&mut self, request: &Value, timeout: Duration) -> Result<Value> {
        let op = request["op"].as_str().unwrap_or_default().to_owned();
        let deadline = Instant::now() + timeout.min(Duration::from_secs(86_400));
        let line = format!("{request}\n");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match socket::send(&self.stream, rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(libc::POLLOUT, &op, timeout, deadline)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The other end said why before it hung up.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
                Err(error) => return Err(self.broken(&error)),
            }
        }
        let line = self.read_line(&op, timeout, deadline)?;
        let refused = |reason: String| Error::Refused {
            pid: self.pid,
            op: op.clone(),
            reason,
        };
        let mut answer: Value = serde_json::from_slice(&line)
            .map_err(|error| refused(format!("its answer is no JSON: {error}")))?;
        if let Some(found) = answer.get_mut("answer") {
            return Ok(found.take());
        }
        let reason = answer["error"].as_str();
        Err(refused(reason.unwrap_or("it did not say why").to_owned()))
    }

    fn read_line(&mut self, op: &str, timeout: Duration, deadline: Instant) -> Result<Vec<u8>> {
        let mut searched = 0;
        let mut was_reset = false;
        loop {
            let found = self.waiting[searched..]
                .iter()
                .position(|byte| *byte == b'\n');
            if let Some(end) = found {
                let rest = self.waiting.split_off(searched + end + 1);
                return Ok(std::mem::replace(&mut self.waiting, rest));
            }
            searched = self.waiting.len();
            if searched > MAX_ANSWER_BYTES {
                return Err(Error::Broken {
                    pid: self.pid,
                    reason: format!("an answer is longer than {MAX_ANSWER_BYTES} bytes"),
                });
            }
            let mut chunk = [0; 16 << 10];
            match socket::receive(&self.stream, &mut chunk) {
                Ok(0) => return Err(Error::Gone { pid: self.pid }),
                Ok(count) => self.waiting.extend(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(libc::POLLIN, op, timeout, deadline)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Told once, before what the other end sent last.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset && !was_reset => {
                    was_reset = true;
                }
                Err(error) => return Err(self.broken(&error)),
            }
        }
    }
}
