//! Notes that kernels take of indices and labels that are none.
//!
//! A kernel notes the first one in the order of the indices, and neither reads nor writes what it names. The host waits until all were looked at
//! ([`Note::end`], [`Note::read`]), while the device goes on with what was launched behind; where the thread has put that off ([`defer`]), it looks
//! at the notes of all operations when somebody waits for the device anyway ([`check_deferred`]).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, recording};
use amdgpu_aura::OpenDevice;
use amdgpu_hal::{Event, MemoryKind};

use crate::words::words;
use crate::{Arg, DeviceOps, Error, Result};

/// Words of a note: the complement of the first bad place, then of the index that was noted first its value, its place and what it should be
/// below. The next one is the address of a word of the host that is set too, or 0; the others keep notes of different operations on different
/// cache lines.
const WORDS: i64 = 8;
/// The word with the address.
const FLAG_WORD: usize = 4;
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

/// Memory of a note that is looked at by the call itself.
struct OwnNote {
    /// On the device. Zero but for the address of the flag, while nothing was noted.
    words: Array,
    /// In memory of the host, where the device writes to: whether there is an index that is none. Reading it costs the device nothing.
    flag: Array,
    /// Behind the kernel that looks at the indices.
    event: Arc<dyn Event>,
}

impl OwnNote {
    fn new(device: &Arc<OpenDevice>) -> Result<Self> {
        let one = Dims::from_slice(&[1]);
        let flag = Array::empty(device, one, Dtype::U64, MemoryKind::PinnedHost)?;
        // SAFETY: the word is memory of the host that nobody else knows.
        unsafe { flag.data().cast::<u64>().write_volatile(0) };
        let mut words = [0; WORDS as usize];
        words[FLAG_WORD] = flag.address().address();
        let bytes = words.map(u64::to_ne_bytes);
        let shape = Dims::from_slice(&[WORDS]);
        Ok(Self {
            words: Array::from_host(device, bytes.as_flattened(), shape, Dtype::U64)?,
            flag,
            event: device.device().create_event()?,
        })
    }
}

/// Notes that are between two calls, with nothing in them.
#[derive(Default)]
struct SpareNotes(Mutex<Vec<OwnNote>>);

impl SpareNotes {
    /// As many as threads call at a time.
    const MAX_COUNT: usize = 16;

    fn take(&self) -> Option<OwnNote> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a note in which nothing was written, unless there are many.
    fn give_back(&self, note: OwnNote) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < Self::MAX_COUNT {
            spare.push(note);
        }
    }
}

/// Where the kernels of a call note the first index that is none.
pub(crate) struct Note<'a> {
    ops: &'a DeviceOps,
    kind: Kind,
}

enum Kind {
    /// Words that nobody looks at now: they are looked at later, or are part of a graph.
    Unread(Array),
    Own(OwnNote),
    /// What was noted is known.
    Ended,
}

impl<'a> Note<'a> {
    /// A note that is looked at when it is asked for or, where the thread has put that off, later.
    ///
    /// # Errors
    ///
    /// `out-of-memory`; what the device reports.
    pub fn of(ops: &'a DeviceOps, operation: &'static str) -> Result<Self> {
        if !is_deferred() {
            return Self::own(ops);
        }
        let notes = ops.device().cache(DeferredNotes::default);
        let kind = Kind::Unread(notes.of(ops, operation)?);
        Ok(Self { ops, kind })
    }

    /// A note that is looked at when it is asked for.
    ///
    /// # Errors
    ///
    /// `out-of-memory`; what the device reports.
    pub fn own(ops: &'a DeviceOps) -> Result<Self> {
        let kind = if recording::is_recording() {
            Kind::Unread(words(ops, WORDS, WORDS)?)
        } else {
            let spare = ops.device().cache(SpareNotes::default).take();
            Kind::Own(spare.map_or_else(|| OwnNote::new(ops.device()), Ok)?)
        };
        Ok(Self { ops, kind })
    }

    /// The argument of kernels that note.
    ///
    /// # Panics
    ///
    /// Never: [`Self::read`] takes the note.
    pub fn argument(&self) -> Arg<'_> {
        match &self.kind {
            Kind::Unread(words) | Kind::Own(OwnNote { words, .. }) => Arg::Array(words),
            Kind::Ended => unreachable!("the note was read"),
        }
    }

    /// What was launched so far has noted what there is to note.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn end(&self) -> Result<()> {
        recording::note_outside(recording::CHECKED_BY_THE_HOST);
        if let Kind::Own(own) = &self.kind {
            let stream = self.ops.device().device().default_stream();
            stream.record(&own.event)?;
        }
        Ok(())
    }

    /// The place of the first index that is none; waits until the device was at [`Self::end`]. Nothing is known yet in a graph that is recorded,
    /// nor where somebody looks later.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn read(mut self) -> Result<Option<u64>> {
        let Kind::Own(own) = &self.kind else {
            return Ok(None);
        };
        own.event.synchronize()?;
        // SAFETY: the word is memory of the host, which lives as long as the array; kernels that write to it have passed the event.
        let is_bad = unsafe { own.flag.data().cast::<u64>().read_volatile() } != 0;
        let first = if is_bad {
            read_words(&own.words)?.first().map(|noted| !noted)
        } else {
            None
        };
        if let (Kind::Own(own), None) = (std::mem::replace(&mut self.kind, Kind::Ended), first) {
            let spare = self.ops.device().cache(SpareNotes::default);
            spare.give_back(own);
        }
        Ok(first)
    }
}

impl Drop for Note<'_> {
    /// Kernels know the flag by its address alone: where a call fails before it has read its note, they end first.
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Own(_)) {
            let stream = self.ops.device().device().default_stream();
            // What the device reports, the next call that waits reports too.
            let _ = stream.synchronize();
        }
    }
}
