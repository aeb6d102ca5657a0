//! The graph that a thread records: launches, copies and fills that it submits become commands, and nothing runs.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use amdgpu_abi::ErrorCode;
use amdgpu_aura::{self as aura, GraphRecorder, Kernel, Lane, OpenDevice, PackedArguments};
use amdgpu_hal::{CopyDirection, DevicePointer, LaunchConfig, Stream};

use crate::{Error, Owner, Result, Uses};

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static CURRENT: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// What a thread records.
pub struct Recording {
    number: u64,
    pub recorder: GraphRecorder,
    /// What keeps in place the memory that the commands use.
    pub owners: Vec<Owner>,
    /// Streams that the graph is replayed in.
    uses: Arc<Uses>,
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
    check_not_recording("recording a second graph")?;
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    CURRENT.set(Some(Recording {
        number,
        recorder: GraphRecorder::default(),
        owners: Vec::new(),
        uses,
    }));
    Ok(number)
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
        if let Some(recording) = current {
            for uses in memory {
                uses.join(&recording.uses);
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

/// Record a fill; the owner holds the memory.
///
/// # Errors
///
/// A second device.
pub fn record_fill(
    device: &Arc<OpenDevice>,
    destination: DevicePointer,
    value: u8,
    bytes: u64,
    owner: Owner,
) -> Result<()> {
    record([owner], |recorder| {
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
