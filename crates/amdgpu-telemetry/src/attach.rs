//! Watching this process from another one of the same user.
//!
//! Contract
//! - [`start`] makes the process listen on `<pid>.sock` in a private folder (`$XDG_RUNTIME_DIR/amdgpu` or `/tmp/amdgpu-<uid>`, mode 0700,
//!   owner checked); `AMDGPU_ATTACH=off` forbids it. Where that is impossible it is counted and said once, and the program goes on.
//! - Requests are lines of JSON, `{"op": …}`; each gets one line. `subscribe` turns the connection into a stream of [`crate::frames`], or
//!   of JSON lines. Connections of other users are refused.
//! - A thread of its own serves each client and touches nothing that the program waits for: a client that reads slowly, sends garbage or
//!   is stopped loses records, which is counted, and costs the program one idle thread. Clients and requests have limits.
//! - Upper layers say what they know through [`provide`]: a function that is called on a client's thread, answers from what it can reach
//!   without waiting for the program's work, and never takes the interpreter's lock.
//! - The child of a fork has none of its parent's connections; it listens under its own number when it opens a device.
//! - The socket is removed at exit; those of processes that were killed are removed by whoever finds them.
//! - [`Client`], [`RecordStream`] and [`Watcher`] are the other end.

mod client;
mod directory;
mod error;
mod exit;
mod listing;
mod providers;
mod requests;
mod server;
mod session;
mod socket;
mod stream;
mod watcher;

pub use client::Client;
pub use directory::prepare as folder;
pub use error::{Error, Result};
pub use listing::{ProcessInfo, ProcessState, processes};
pub use providers::{Provider, Question, Topic, provide};
pub use requests::{ATTACH_SCHEMA, answer};
pub use server::{MAX_CLIENTS, is_listening, socket_path, start, stop};
pub use session::MAX_REQUEST_BYTES;
pub use stream::{Batch, RecordStream, SubscribeOptions};
pub use watcher::{Document, WatchedBatch, Watcher};
