//! Notes that kernels take of indices and labels that are none.
//!
//! A kernel notes the first one in the order of the indices, and neither reads nor writes what it names. The host looks at the note at once and
//! waits for it; where the thread has put that off ([`defer`]), it looks at the notes of all operations when somebody waits for the device
//! anyway ([`check_deferred`]).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use amdgpu_abi::ErrorCode;
use amdgpu_array::{Array, Dims, recording};
use amdgpu_aura::OpenDevice;

use crate::words::words;
use crate::{Arg, DeviceOps, Error, Result};

/// Words of a note: the complement of the first bad place, then of the index that was noted first its value, its place and what it should be
/// below. The next one is the kernel's own; the others keep notes of different operations on different cache lines.
const WORDS: i64 = 8;
/// The word that kernels use as they like.
pub(crate) const OWN_WORD: usize = 4;
/// Operations that have a note of their own; those that come later share the last one.
const OPERATIONS: usize = 16;

/// Above this bit of a place stands the number of its array among those of the call.
const PLACE_BITS: u32 = crate::generated::offsets::PLACE_BITS;

thread_local! {
    static IS_DEFERRED: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether operations of this thread leave it to [`check_deferred`] to refuse indices that are none, instead of waiting for the device
/// themselves; returns what was set before. What the host computes is checked at once anyway.
#[must_use]
pub fn defer(is_deferred: bool) -> bool {
    IS_DEFERRED.replace(is_deferred)
}

/// Whether notes that are taken now are looked at later. A graph that is recorded has nobody who looks.
pub(crate) fn is_deferred() -> bool {
    IS_DEFERRED.get() && !recording::is_recording()
}

/// The notes of a device that nobody has looked at yet.
#[derive(Default)]
struct DeferredNotes {
    known: Mutex<Option<Known>>,
    is_pending: AtomicBool,
}

struct Known {
    words: Array,
    /// Operations by the place of their note.
    operations: Vec<&'static str>,
}

impl DeferredNotes {
    /// The note of an operation.
    fn of(&self, ops: &DeviceOps, operation: &'static str) -> Result<Array> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match &mut *known {
            Some(known) => known,
            none => none.insert(Known {
                words: words(ops, WORDS * OPERATIONS as i64, WORDS * OPERATIONS as i64)?,
                operations: Vec::new(),
            }),
        };
        let found = known.operations.iter().position(|one| *one == operation);
        let place = found.unwrap_or_else(|| {
            if known.operations.len() < OPERATIONS {
                known.operations.push(operation);
            }
            known.operations.len() - 1
        });
        let (shape, strides) = (Dims::from_slice(&[WORDS]), Dims::from_slice(&[1]));
        let note = known.words.view_at(place as i64 * WORDS, shape, strides);
        self.is_pending.store(true, Ordering::Release);
        Ok(note)
    }

    /// Looks at all notes and clears them.
    fn check(&self) -> Result<()> {
        if !self.is_pending.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = &*known else {
            return Ok(());
        };
        let all = read_words(&known.words)?;
        let notes = all.chunks_exact(WORDS as usize);
        let Some((operation, note)) = known
            .operations
            .iter()
            .zip(notes)
            .find(|(_, note)| note[0] != 0)
        else {
            return Ok(());
        };
        known.words.fill(&0_u64.to_ne_bytes())?;
        let (index, place) = (note[1].cast_signed(), note[2] & ((1 << PLACE_BITS) - 1));
        Err(Error::refused(
            ErrorCode::IndexOutOfRange,
            format!(
                "{operation}: index {index} at place {place} of the indices is out of range: {} are there. The call that was given it did not wait for the device",
                note[3]
            ),
        ))
    }
}

/// Refuses an index that operations on this device were given since the last look and that is none. Waits for the default stream where there
/// was any operation with indices.
///
/// # Errors
///
/// `index-out-of-range`, naming operation, index, place and extent; what the device reports.
pub fn check_deferred(device: &OpenDevice) -> Result<()> {
    match device.find_cache::<DeferredNotes>() {
        Some(notes) => notes.check(),
        None => Ok(()),
    }
}

fn read_words(words: &Array) -> Result<Vec<u64>> {
    let bytes = words.read()?;
    let (chunks, _) = bytes.as_chunks();
    Ok(chunks
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
        .collect())
}

/// Where the kernels of a call note the first index that is none.
pub(crate) struct Note {
    words: Array,
    is_deferred: bool,
}

impl Note {
    /// A note that is looked at when it is asked for or, where the thread has put that off, later.
    pub fn of(ops: &DeviceOps, operation: &'static str) -> Result<Self> {
        if !is_deferred() {
            return Self::waiting(ops);
        }
        let notes = ops.device().cache(DeferredNotes::default);
        Ok(Self {
            words: notes.of(ops, operation)?,
            is_deferred: true,
        })
    }

    /// A note that is looked at when it is asked for.
    pub fn waiting(ops: &DeviceOps) -> Result<Self> {
        Ok(Self {
            words: words(ops, WORDS, WORDS)?,
            is_deferred: false,
        })
    }

    pub fn argument(&self) -> Arg<'_> {
        Arg::Array(&self.words)
    }

    /// The place of the first bad index, and the kernel's own word; `None` where it is not known yet: in a graph that is recorded, and where somebody
    /// looks later. Waits for the device.
    pub fn look(&self) -> Result<Option<(Option<u64>, u64)>> {
        recording::note_outside(recording::CHECKED_BY_THE_HOST);
        if self.is_deferred || recording::is_recording() {
            return Ok(None);
        }
        let words = read_words(&self.words)?;
        let first = (words[0] != 0).then_some(!words[0]);
        Ok(Some((first, words[OWN_WORD])))
    }

    /// The place of the first bad index, where it is known that there is one.
    pub fn first_bad(&self) -> Result<Option<u64>> {
        Ok(self.look()?.and_then(|(first, _)| first))
    }
}
