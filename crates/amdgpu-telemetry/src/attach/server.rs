//! The listening end: the socket, the thread that accepts, and what happens to both at exit and in a fork.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use amdgpu_abi::environment;

use super::{directory, exit, session, socket};
use crate::hub::lock;

/// Clients at a time: a dashboard, a `top` and a recorder for each of ten users' windows. Each costs a thread and two descriptors.
pub const MAX_CLIENTS: usize = 32;
/// Stack of a client's thread: JSON of a snapshot is built on the heap.
const STACK_BYTES: usize = 256 << 10;
/// Pause after the process ran out of descriptors, so that accepting does not spin.
const RETRY_AFTER: Duration = Duration::from_millis(100);

struct Server {
    listener: UnixListener,
    path: PathBuf,
    /// The clients' descriptors, by number of the session.
    sessions: Vec<(u64, RawFd)>,
    next_session: u64,
}

/// Held over a fork, see [`exit`].
static SERVER: Mutex<Option<Server>> = Mutex::new(None);
/// Whether [`start`] has done what it can in this process.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Listen, unless this process does already. What prevents it is counted and said once.
pub fn start() {
    if IS_STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    if environment::read(environment::ATTACH).is_some_and(|value| value == "off") {
        return;
    }
    exit::install();
    if let Err(reason) = listen() {
        crate::fallback(
            "attach",
            &format!("the process cannot be watched: {reason}"),
        );
    }
}

/// Whether other processes can attach to this one.
#[must_use]
pub fn is_listening() -> bool {
    lock(&SERVER).is_some()
}

/// Where it listens.
#[must_use]
pub fn socket_path() -> Option<PathBuf> {
    lock(&SERVER).as_ref().map(|server| server.path.clone())
}

fn listen() -> Result<(), String> {
    let folder = directory::prepare()?;
    let pid = std::process::id();
    let path = directory::socket_of(&folder, pid);
    // Under another name until it listens: who finds a socket that refuses takes it for one left behind.
    let beginning = folder.join(format!(".{pid}.new"));
    let of = |error: io::Error| format!("{}: {error}", path.display());
    let _ = fs::remove_file(&beginning);
    let listener = UnixListener::bind(&beginning).map_err(of)?;
    listener.set_nonblocking(true).map_err(of)?;
    fs::rename(&beginning, &path).map_err(of)?;
    let fd = listener.as_raw_fd();
    *lock(&SERVER) = Some(Server {
        listener,
        path: path.clone(),
        sessions: Vec::new(),
        next_session: 0,
    });
    spawn("amdgpu-attach", move || accept_all(fd)).map_err(|error| {
        drop(lock(&SERVER).take());
        let _ = fs::remove_file(&path);
        format!("no thread for it: {error}")
    })
}

/// Stop listening and end every client's connection; the next [`start`] begins again.
pub fn stop() {
    let Some(server) = lock(&SERVER).take() else {
        return;
    };
    IS_STARTED.store(false, Ordering::Release);
    let _ = fs::remove_file(&server.path);
    for fd in server
        .sessions
        .iter()
        .map(|(_, fd)| *fd)
        .chain([server.listener.as_raw_fd()])
    {
        // SAFETY: the descriptors are open: sessions take theirs off the list before they close it. The threads wake, and end.
        unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
    }
}

/// A thread to which no signal is delivered: those are the program's.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // SAFETY: both sets are valid places; the calls only change which signals this thread takes, and the old set is put back.
    let spawned = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let spawned = std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(run);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        spawned
    };
    spawned.map(drop)
}

/// Accepts until the listener is shut down.
fn accept_all(fd: RawFd) {
    while socket::wait(fd, libc::POLLIN, None).is_ok() {
        if !accept_one(fd) {
            return;
        }
    }
}

/// `false`: it was stopped.
fn accept_one(fd: RawFd) -> bool {
    // Held while the descriptor is made known, so that a child forked meanwhile knows what to close.
    let mut guard = lock(&SERVER);
    let Some(server) = guard
        .as_mut()
        .filter(|server| server.listener.as_raw_fd() == fd)
    else {
        return false;
    };
    let stream = match server.listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) => {
            drop(guard);
            if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) {
                std::thread::sleep(RETRY_AFTER);
            }
            return error.raw_os_error() != Some(libc::EINVAL);
        }
    };
    let is_trusted = socket::peer(&stream).is_ok_and(|(_, uid)| socket::is_own(uid));
    if !is_trusted {
        return true;
    }
    if server.sessions.len() >= MAX_CLIENTS {
        // It fits into the empty buffer of a new connection.
        let refusal =
            session::refusal(&format!("{MAX_CLIENTS} clients watch this process already"));
        let _ = (&stream).write(refusal.as_bytes());
        return true;
    }
    let number = server.next_session;
    server.next_session += 1;
    server.sessions.push((number, stream.as_raw_fd()));
    let session = Session {
        number,
        stream: Some(stream),
    };
    // Without a thread the session is dropped with the closure, which needs the lock.
    drop(guard);
    let _ = spawn("amdgpu-attach", move || session::serve(session.stream()));
    true
}

/// A client's connection; dropping it takes it off the list and closes it.
struct Session {
    number: u64,
    stream: Option<UnixStream>,
}

impl Session {
    fn stream(&self) -> Option<&UnixStream> {
        self.stream.as_ref()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut guard = lock(&SERVER);
        if let Some(server) = guard.as_mut() {
            server.sessions.retain(|(number, _)| *number != self.number);
        }
        // Under the lock: a child forked in between would close a number that is somebody else's already.
        drop(self.stream.take());
    }
}

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, Option<Server>>>> = const { RefCell::new(None) };
}

/// Before a fork: nobody else changes the list until it is over.
pub(super) fn hold() {
    let _ = HELD.try_with(|held| {
        let mut held = held.borrow_mut();
        if held.is_none() {
            *held = Some(lock(&SERVER));
        }
    });
}

/// After a fork, in the parent.
pub(super) fn release() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

/// After a fork, in the child: its parent's connections are not its own, and keeping them open would hide the parent's end.
pub(super) fn forget() {
    let _ = HELD.try_with(|held| {
        if let Some(mut guard) = held.borrow_mut().take() {
            if let Some(server) = guard.take() {
                for (_, fd) in &server.sessions {
                    // SAFETY: copies of descriptors whose threads the child does not have; nobody else uses or closes them here.
                    unsafe { libc::close(*fd) };
                }
            }
            IS_STARTED.store(false, Ordering::Release);
        }
    });
}
