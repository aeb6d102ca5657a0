//! Which processes can be watched.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::error::Error;
use super::{client, directory, socket};

/// Bytes of a command line that are kept.
const MAX_COMMAND_BYTES: usize = 4096;

/// How a process answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    Running,
    /// By a signal or a debugger.
    Stopped,
    /// It does not answer, and nobody knows why.
    Silent,
}

impl ProcessState {
    fn of(pid: u32, has_answered: bool) -> Self {
        if is_stopped(pid) {
            Self::Stopped
        } else if has_answered {
            Self::Running
        } else {
            Self::Silent
        }
    }
}

/// A process that can be watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessInfo {
    pub pid: u32,
    pub command: Vec<String>,
    /// Calendar time of its start; nothing where the system does not tell.
    pub started_epoch_ns: Option<u64>,
    /// Of amdgpu in that process; nothing where it did not answer.
    pub version: Option<String>,
    pub state: ProcessState,
}

/// The owner of a process; `None` where there is none.
pub(super) fn user_of(pid: u32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}"))
        .ok()
        .map(|metadata| metadata.uid())
}

/// Fields of `/proc/<pid>/stat` behind the name of the program, which may hold anything.
fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind) = text.rsplit_once(')')?;
    Some(behind.split_whitespace().map(str::to_owned).collect())
}

/// Whether a process is stopped.
pub(super) fn is_stopped(pid: u32) -> bool {
    stat_fields(pid)
        .is_some_and(|fields| matches!(fields.first().map(String::as_str), Some("T" | "t")))
}

/// Field 22 of `stat`, in ticks since the machine began (`man 5 proc_pid_stat`); the first one here is field 3.
fn started_epoch_ns(pid: u32) -> Option<u64> {
    let ticks: u64 = stat_fields(pid)?.get(19)?.parse().ok()?;
    // SAFETY: takes a number, touches no memory.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) })
        .ok()?
        .max(1);
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
    let boot: u64 = boot.trim().parse().ok()?;
    Some(boot * 1_000_000_000 + ticks * (1_000_000_000 / per_second))
}

fn command(pid: u32) -> Vec<String> {
    let mut bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.truncate(MAX_COMMAND_BYTES);
    let parts = bytes.split(|byte| *byte == 0);
    let mut words: Vec<String> = parts
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    words.pop_if(|last| last.is_empty());
    words
}

impl ProcessInfo {
    /// What the system knows about a process; it may have gone meanwhile.
    #[must_use]
    pub fn of(pid: u32, version: Option<String>) -> Self {
        Self {
            pid,
            command: command(pid),
            started_epoch_ns: started_epoch_ns(pid),
            state: ProcessState::of(pid, version.is_some()),
            version,
        }
    }

    /// The same, as it is now that it has said its version, or not.
    pub(super) fn with_version(&self, version: Option<&str>) -> Self {
        Self {
            version: version.map(str::to_owned),
            state: ProcessState::of(self.pid, version.is_some()),
            ..self.clone()
        }
    }
}

/// Every process of this user that can be watched, by number; sockets of dead ones are removed. Those that are asked who they are have
/// `timeout` together: one that is stopped is listed too.
#[must_use]
pub fn processes(timeout: Duration) -> Vec<ProcessInfo> {
    let deadline = Instant::now() + timeout;
    let mut asked = Vec::new();
    for (pid, path) in directory::sockets() {
        match client::connect(pid, &path) {
            Ok(stream) => {
                let _ = socket::send(&stream, b"{\"op\":\"process\"}\n");
                asked.push((pid, Some(stream)));
            }
            Err(Error::Silent { .. }) => asked.push((pid, None)),
            Err(_) => {}
        }
    }
    let answered = |(pid, stream): (u32, Option<UnixStream>)| {
        let version = stream.and_then(|stream| version_of(&stream, deadline));
        ProcessInfo::of(pid, version)
    };
    asked.into_iter().map(answered).collect()
}

/// What a process says before the deadline.
fn version_of(stream: &UnixStream, deadline: Instant) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if socket::wait(stream.as_raw_fd(), libc::POLLIN, Some(left)).ok()? == 0 {
            return None;
        }
        let mut chunk = [0; 4096];
        match socket::receive(stream, &mut chunk).ok()? {
            0 => return None,
            count => line.extend(&chunk[..count]),
        }
    }
    let answer: Value = serde_json::from_slice(&line).ok()?;
    // A process with as many clients as it takes answers with an error; it runs all the same.
    let version = answer["answer"]["version"].as_str();
    Some(version.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_known_to_the_system() {
        let own = std::process::id();
        let info = ProcessInfo::of(own, Some("1".to_owned()));
        assert!(!info.command.is_empty());
        assert_eq!(info.state, ProcessState::Running);
        let now = crate::snapshot().clock.unix_ns;
        assert!(info.started_epoch_ns.is_some_and(|start| start <= now));
        assert!(user_of(own).is_some_and(socket::is_own));
        assert!(!is_stopped(own));
        assert_eq!(user_of(u32::MAX), None);
    }
}
