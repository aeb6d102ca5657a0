//! The graph that a thread records: launches, copies and fills that it submits become commands, and nothing runs.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use amdgpu_abi::ErrorCode;
use amdgpu_aura::{self as aura, GraphRecorder, Kernel, Lane, OpenDevice, PackedArguments};
use amdgpu_hal::{CopyDirection, DevicePointer, LaunchConfig, Stream};

use crate::{Error, Owner, Result, Uses};

/// For [`note_outside`]: a kernel notes the first index, label or parameter that is none, and the host looks at the note, but not in a graph.
pub const CHECKED_BY_THE_HOST: &str = "the host checks what its indices or labels are";

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static CURRENT: RefCell<Option<Recording>> = const { RefCell::new(None) };
    /// What this thread did last that no graph holds.
    static OUTSIDE: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// What a thread records.
pub struct Recording {
    number: u64,
    pub recorder: GraphRecorder,
    /// What keeps in place the memory that the commands use.
    pub owners: Vec<Owner>,
    /// Streams that the graph is replayed in; `None` where replays keep the order of the default stream, as operations do.
    uses: Option<Arc<Uses>>,
    /// Blocks of memory, by their first address: those that the caller keeps, and those that the owners keep.
    kept: Vec<u64>,
    /// Of the blocks that the owners keep.
    pub held_bytes: u64,
}

/// Whether this thread records a graph: then nothing it submits runs.
#[inline]
#[must_use]
pub fn is_recording() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Refuses what a graph cannot hold.
///
/// # Errors
///
/// `not-capturable` while this thread records a graph.
pub fn check_not_recording(what: &str) -> Result<()> {
    if !is_recording() {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::NotCapturable,
        format!(
            "{what} is not possible while this thread records a graph: nothing runs before the replay"
        ),
    ))
}

/// Begins to record; `uses` learns of the streams that the graph is replayed in. Returns the recording's number, which [`end`] takes.
///
/// # Errors
///
/// `not-capturable` where this thread records already.
pub fn begin(uses: Arc<Uses>) -> Result<u64> {
    start(Some(uses), Vec::new())
}

fn start(uses: Option<Arc<Uses>>, kept: Vec<u64>) -> Result<u64> {
    check_not_recording("recording a second graph")?;
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    CURRENT.set(Some(Recording {
        number,
        recorder: GraphRecorder::default(),
        owners: Vec::new(),
        uses,
        kept,
        held_bytes: 0,
    }));
    Ok(number)
}

/// Records what `work` submits, for replays in the order of the default stream. Blocks of memory that begin at the addresses `kept` are the
/// caller's, who sees to it that they are there in every replay; the recording holds all others.
///
/// # Errors
///
/// `not-capturable` where this thread records already.
pub fn record_within<T>(kept: Vec<u64>, work: impl FnOnce() -> T) -> Result<(T, Recording)> {
    struct Ending(u64);
    impl Drop for Ending {
        fn drop(&mut self) {
            drop(end(self.0));
        }
    }
    let ending = Ending(start(None, kept)?);
    let made = work();
    match end(ending.0) {
        Some(recording) => Ok((made, recording)),
        None => Err(Error::refused(
            ErrorCode::Internal,
            "the recording was ended by what it records",
        )),
    }
}

/// Whether the graph that this thread records has to hold a block of memory: it is neither the caller's nor held already.
#[must_use]
pub fn is_to_hold(first: u64, bytes: u64) -> bool {
    CURRENT.with_borrow_mut(|current| match current {
        Some(recording) if recording.kept.contains(&first) => false,
        Some(recording) => {
            recording.kept.push(first);
            recording.held_bytes += bytes;
            true
        }
        None => true,
    })
}

/// Notes that this thread does something that no graph holds, or that a graph would leave out.
pub fn note_outside(what: &'static str) {
    OUTSIDE.set(Some(what));
}

/// What was noted last since this was asked.
#[must_use]
pub fn take_outside() -> Option<&'static str> {
    OUTSIDE.take()
}

/// Ends the recording of that number; `None` where this thread records another one, or none.
#[must_use]
pub fn end(number: u64) -> Option<Recording> {
    CURRENT.with_borrow_mut(|current| {
        let is_own = current.as_ref().is_some_and(|own| own.number == number);
        if is_own { current.take() } else { None }
    })
}

fn record<T>(
    owners: impl IntoIterator<Item = Owner>,
    command: impl FnOnce(&mut GraphRecorder) -> aura::Result<T>,
) -> Result<T> {
    let outcome = CURRENT.with_borrow_mut(|current| {
        current.as_mut().map(|recording| {
            recording.owners.extend(owners);
            command(&mut recording.recorder)
        })
    });
    let outcome = outcome.unwrap_or_else(|| {
        // Callers asked a moment ago, on this thread.
        Err(aura::Error::NotCapturable {
            what: "a command".to_owned(),
            reason: "no graph is being recorded".to_owned(),
        })
    });
    Ok(outcome?)
}

/// The graph that this thread records works on memory of which these are the uses.
pub fn record_uses<'a>(memory: impl IntoIterator<Item = &'a Uses>) {
    CURRENT.with_borrow(|current| {
        let graph = current.as_ref().and_then(|own| own.uses.as_ref());
        if let Some(graph) = graph {
            for uses in memory {
                uses.join(graph);
            }
        }
    });
}

/// Record a launch whose arguments are packed.
///
/// # Errors
///
/// A closed device, a second device.
pub fn record_launch(
    kernel: &Arc<Kernel>,
    config: LaunchConfig,
    arguments: &PackedArguments,
    owners: impl IntoIterator<Item = Owner>,
    stream: Option<&Arc<dyn Stream>>,
) -> Result<()> {
    let lane = Lane::of(stream);
    record(owners, |recorder| {
        recorder.launch(kernel, config, arguments, lane)
    })
}

/// Record a copy; the owners hold both sides.
///
/// # Errors
///
/// A second device; host memory that a GPU does not reach by itself.
pub fn record_copy(
    device: &Arc<OpenDevice>,
    (destination, source): (DevicePointer, DevicePointer),
    bytes: u64,
    direction: CopyDirection,
    owners: impl IntoIterator<Item = Owner>,
) -> Result<()> {
    record(owners, |recorder| {
        recorder.copy(device, destination, source, bytes, direction)
    })
}

/// Record a fill; the owners hold the memory.
///
/// # Errors
///
/// A second device.
pub fn record_fill(
    device: &Arc<OpenDevice>,
    destination: DevicePointer,
    value: u8,
    bytes: u64,
    owners: impl IntoIterator<Item = Owner>,
) -> Result<()> {
    record(owners, |recorder| {
        recorder.fill(device, destination, value, bytes)
    })
}

/// Mark a point of a stream in the graph that this thread records: the recording's number and the mark; `None` when it records none.
#[must_use]
pub fn record_mark(stream: &Arc<dyn Stream>) -> Option<(u64, usize)> {
    CURRENT.with_borrow_mut(|current| {
        let recording = current.as_mut()?;
        let mark = recording.recorder.mark(Lane::Stream(stream.id()));
        Some((recording.number, mark))
    })
}

/// Hold a stream back until a mark of the graph that this thread records.
///
/// # Errors
///
/// `not-capturable` for a mark of another recording.
pub fn record_wait(stream: &Arc<dyn Stream>, number: u64, mark: usize) -> Result<()> {
    let is_own = CURRENT.with_borrow_mut(|current| match current {
        Some(recording) if recording.number == number => {
            recording.recorder.wait(Lane::Stream(stream.id()), mark);
            true
        }
        _ => false,
    });
    if is_own {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::NotCapturable,
        "the event belongs to another graph, which alone can wait for it",
    ))
}
