//! Unix sockets: the few calls that the standard library does not have.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A wait of `poll`: 0 for no wait; a rest of a millisecond counts as a whole one, so that a wait is never cut into busy looks.
pub(super) fn milliseconds(timeout: Duration) -> i32 {
    let rounded = timeout.as_micros().div_ceil(1000);
    i32::try_from(rounded).unwrap_or(i32::MAX)
}

/// Waits until one of `events` or a hang-up; what happened, 0 after the time.
pub(super) fn wait(fd: RawFd, events: i16, timeout: Option<Duration>) -> io::Result<i16> {
    let mut entry = libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    // SAFETY: one entry, which lives through the call.
    let count = unsafe { libc::poll(&raw mut entry, 1, timeout.map_or(-1, milliseconds)) };
    match count {
        0 => Ok(0),
        1 => Ok(entry.revents),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        },
    }
}

/// Connects without waiting: a listener whose queue is full answers `WouldBlock`. The stream does not block.
pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: an all-zero address is a valid value of the type.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if bytes.len() >= address.sun_path.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path of the socket is too long",
        ));
    }
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    let flags = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes numbers only.
    let fd = unsafe { libc::socket(libc::AF_UNIX, flags, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let stream = unsafe { UnixStream::from_raw_fd(fd) };
    // SAFETY: the address lives through the call and its length is that of its type.
    let outcome = unsafe {
        libc::connect(
            stream.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if outcome == 0 {
        Ok(stream)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Who is at the other end: number of the process, and user.
pub(super) fn peer(stream: &UnixStream) -> io::Result<(u32, u32)> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut len = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the answer's place and its length belong together.
    let outcome = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut len,
        )
    };
    if outcome == 0 {
        Ok((peer.pid as u32, peer.uid))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether the peer is of this user, or the superuser.
pub(super) fn is_own(uid: u32) -> bool {
    // SAFETY: takes nothing, touches no memory, cannot fail.
    let own = unsafe { libc::geteuid() };
    uid == own || uid == 0
}

/// Sends what there is room for, without a signal when the other end is gone.
pub(super) fn send(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: pointer and length are those of `bytes`.
    let sent = unsafe {
        libc::send(
            stream.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives what is there; 0 at the end.
pub(super) fn receive(stream: &UnixStream, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of `bytes`.
    let count = unsafe {
        libc::recv(
            stream.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
