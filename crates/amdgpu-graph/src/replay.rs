//! Device graphs of a graph of operations: the launches of a run are recorded once, and replayed with one call when memory lies where it did.
//!
//! A recording holds addresses. Constants and values within the graph keep theirs. Results are new arrays for whoever calls: a few sets of them
//! are kept, and one is given again when nobody else holds any array of it, so that a loop goes round in the same memory. There is a recording
//! for each set and the addresses of arguments that come again with it. What operations need for themselves stays reserved as long as the
//! recording lives.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::environment;
use amdgpu_array::{Array, Owner, recording};
use amdgpu_aura as aura;
use amdgpu_aura::OpenDevice;
use smallvec::SmallVec;

use crate::Result;

/// Recordings that the memory of one run keeps; the one that was replayed longest ago goes first.
const MOST_RECORDINGS: usize = 8;
/// Sets of results that it keeps: a loop that holds one until it has the next goes round in two, and one that looks back once more in three.
const MOST_SETS: usize = 3;
/// Of so many bytes and more there are two, as many as such a loop holds anyway.
const LARGE_BYTES: u64 = 64 << 20;
/// Addresses of arguments that are remembered: a recording is made when they come again.
const MOST_ADDRESSES: usize = 32;
/// Runs after which what no graph holds is there to stay: the first one may also try out what is computed how.
const LEARNING_RUNS: u32 = 2;

/// Whether a graph of operations is replayed as one graph of its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// As `AMDGPU_GRAPH_REPLAY` says: where streams are queues of the hardware, unless it is set.
    #[default]
    Auto,
    /// On every device. A CPU device computes with kernels then, whose functions may differ from those of the operations in the last bit.
    On,
    Off,
}

/// How the replays of a graph of operations went, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Runs that were replays.
    pub replays: u64,
    /// Recordings that are kept.
    pub recordings: u64,
    /// Launches, copies and fills of one recording.
    pub commands: u64,
    /// Memory beside that of the values within the graph: of results that are kept to be given again, and what operations take for themselves.
    pub bytes: u64,
    /// Why runs are not replayed; `None` where they are, or will be.
    pub refusal: Option<String>,
}

/// Addresses of arguments.
pub(crate) type Addresses = SmallVec<[u64; 8]>;

/// What is known about recording a graph of operations.
enum Learnt {
    /// How many runs were watched.
    Nothing(u32),
    Recordable,
    Refused(String),
}

/// What the recordings of all runs share.
pub(crate) struct Replaying {
    learnt: Mutex<Learnt>,
    replays: AtomicU64,
    recordings: AtomicU64,
    commands: AtomicU64,
    bytes: AtomicU64,
}

impl Replaying {
    /// For a graph with these constants.
    pub fn new<'a>(
        wanted: Replay,
        device: &Arc<OpenDevice>,
        mut constants: impl Iterator<Item = &'a Array>,
    ) -> Self {
        let is_elsewhere = |array: &Array| {
            !array
                .open_device()
                .is_some_and(|own| Arc::ptr_eq(own, device))
        };
        let refusal = refusal(wanted, device).or_else(|| {
            constants
                .any(is_elsewhere)
                .then(|| "a constant is memory of another library".to_owned())
        });
        Self {
            learnt: Mutex::new(refusal.map_or(Learnt::Nothing(0), Learnt::Refused)),
            replays: AtomicU64::new(0),
            recordings: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub fn is_refused(&self) -> bool {
        matches!(&*self.lock(), Learnt::Refused(_))
    }

    /// Whether a recording may be made now.
    fn is_recordable(&self) -> bool {
        matches!(&*self.lock(), Learnt::Recordable)
    }

    /// A run was computed step by step; `outside` says what of it no graph holds.
    pub fn learn(&self, outside: Option<String>) {
        let mut learnt = self.lock();
        let Learnt::Nothing(runs) = &*learnt else {
            return;
        };
        let runs = runs + 1;
        *learnt = match outside {
            None => Learnt::Recordable,
            Some(reason) if runs >= LEARNING_RUNS => Learnt::Refused(reason),
            Some(_) => Learnt::Nothing(runs),
        };
    }

    fn refuse(&self, reason: String) {
        *self.lock() = Learnt::Refused(reason);
    }

    pub fn counts(&self) -> ReplayCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ReplayCounts {
            replays: read(&self.replays),
            recordings: read(&self.recordings),
            commands: read(&self.commands),
            bytes: read(&self.bytes),
            refusal: match &*self.lock() {
                Learnt::Refused(reason) => Some(reason.clone()),
                _ => None,
            },
        }
    }

    /// Whole whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Learnt> {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why graphs are not replayed on a device, as far as that is known before one runs.
fn refusal(wanted: Replay, device: &Arc<OpenDevice>) -> Option<String> {
    let variable = environment::read(environment::GRAPH_REPLAY).unwrap_or_default();
    match (wanted, variable.trim()) {
        (Replay::On, _) | (Replay::Auto, "1" | "on") => None,
        (Replay::Off, _) => Some("it was switched off by the argument `replay`".to_owned()),
        (Replay::Auto, "0" | "off") => Some("AMDGPU_GRAPH_REPLAY is 0".to_owned()),
        (Replay::Auto, "" | "auto") => {
            let has_queues = device.info().capabilities.hardware_queues;
            (!has_queues).then(|| {
                format!(
                    "{} computes at once, so that a step costs no submission (`replay=True` asks for it)",
                    device.name()
                )
            })
        }
        (Replay::Auto, other) => Some(format!(
            "AMDGPU_GRAPH_REPLAY is '{other}'; it may be auto, 0, 1"
        )),
    }
}

/// How replays keep order with what surrounds them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nobody but the device's own stream knows the memory: the call returns at once.
    Queued,
    /// The host or another library may look at it when the call returns.
    Waited,
}

/// How a run on these arrays would keep order; `None` for memory that is not of the device's own allocator.
pub(crate) fn order_of<'a>(
    device: &Arc<OpenDevice>,
    arrays: impl Iterator<Item = &'a Array>,
) -> Option<Order> {
    let mut order = if device.is_host_visible() {
        Order::Waited
    } else {
        Order::Queued
    };
    for array in arrays {
        let (own, is_lent) = array.storage().allocated_by()?;
        if !Arc::ptr_eq(own, device) {
            return None;
        }
        if is_lent {
            order = Order::Waited;
        }
    }
    Some(order)
}

/// Arrays of the results, in the order of computation.
pub(crate) type Results = SmallVec<[Array; 2]>;

/// A run that was recorded.
struct Recorded {
    addresses: Addresses,
    /// The number of its set of results.
    set: u64,
    graph: aura::Graph,
    /// Of memory that operations took for themselves.
    #[allow(dead_code, reason = "held, not read")]
    owners: Vec<Owner>,
    bytes: u64,
}

/// Results that are kept.
struct ResultSet {
    number: u64,
    arrays: Results,
}

impl ResultSet {
    /// Whether nobody else holds an array of it, or was told where it lies.
    fn is_free(&self) -> bool {
        self.arrays.iter().all(|array| {
            let is_lent = array.storage().allocated_by().is_none_or(|(_, lent)| lent);
            Arc::strong_count(array.storage()) == 1 && !is_lent && !array.is_freed()
        })
    }

    fn bytes(&self) -> u64 {
        self.arrays.iter().map(|array| array.bytes() as u64).sum()
    }
}

/// Memory for the results of a run.
pub(crate) struct Choice {
    pub results: Results,
    /// The number of the set.
    set: u64,
    /// They were given before.
    is_again: bool,
    /// There is a recording.
    pub is_recorded: bool,
}

/// The recordings and the results that belong to the memory of one run at a time.
#[derive(Default)]
pub(crate) struct Recordings {
    /// The one that was replayed last is the last.
    list: Vec<Recorded>,
    /// The one that was given last is the last.
    sets: Vec<ResultSet>,
    next_set: u64,
    seen: VecDeque<Addresses>,
}

impl Recordings {
    /// Results for a run on arguments at these addresses: those of a recording where they can be given, or others that can, or those that `make`
    /// makes.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn choose(
        &mut self,
        replaying: &Replaying,
        addresses: &Addresses,
        make: impl Fn() -> Result<Results>,
    ) -> Result<Choice> {
        let set_of = |sets: &[ResultSet], number| {
            let found = sets.iter().position(|set| set.number == number);
            found.filter(|found| sets[*found].is_free())
        };
        let mut list = self.list.iter().enumerate().rev();
        let recorded = list.find_map(|(place, one)| {
            let is_fitting = one.addresses == *addresses;
            let set = is_fitting.then(|| set_of(&self.sets, one.set)).flatten()?;
            Some((place, set))
        });
        let free = recorded
            .map(|(_, set)| set)
            .or_else(|| self.sets.iter().position(ResultSet::is_free));
        if let Some((place, _)) = recorded {
            let one = self.list.remove(place);
            self.list.push(one);
        }
        let set = if let Some(place) = free {
            self.sets.remove(place)
        } else {
            let results = make().or_else(|error| {
                // What is kept for later gives way to what is needed now.
                if self.sets.is_empty() {
                    return Err(error);
                }
                self.clear(replaying);
                make()
            })?;
            self.new_set(replaying, results)
        };
        let choice = Choice {
            results: set.arrays.clone(),
            set: set.number,
            is_again: free.is_some(),
            is_recorded: recorded.is_some(),
        };
        self.sets.push(set);
        Ok(choice)
    }

    /// A set of results, in the place of the one that was given longest ago where there are many.
    fn new_set(&mut self, replaying: &Replaying, arrays: Results) -> ResultSet {
        let number = self.next_set;
        self.next_set += 1;
        let made = ResultSet { number, arrays };
        let most = if made.bytes() < LARGE_BYTES {
            MOST_SETS
        } else {
            MOST_SETS - 1
        };
        while self.sets.len() >= most {
            let oldest = self.sets.remove(0);
            replaying.bytes.fetch_sub(oldest.bytes(), Ordering::Relaxed);
            self.forget(replaying, |one| one.set == oldest.number);
        }
        replaying.bytes.fetch_add(made.bytes(), Ordering::Relaxed);
        made
    }

    fn forget(&mut self, replaying: &Replaying, is_gone: impl Fn(&Recorded) -> bool) {
        self.list.retain(|one| {
            let is_gone = is_gone(one);
            if is_gone {
                replaying.recordings.fetch_sub(1, Ordering::Relaxed);
                replaying.bytes.fetch_sub(one.bytes, Ordering::Relaxed);
            }
            !is_gone
        });
    }

    /// Gives all memory back.
    pub fn clear(&mut self, replaying: &Replaying) {
        self.forget(replaying, |_| true);
        for set in self.sets.drain(..) {
            replaying.bytes.fetch_sub(set.bytes(), Ordering::Relaxed);
        }
    }

    /// Whether a recording is to be made now, since arguments came to these addresses before, and the results were given before. The addresses
    /// are remembered.
    pub fn is_due(
        &mut self,
        replaying: &Replaying,
        addresses: &Addresses,
        choice: &Choice,
    ) -> bool {
        if self.seen.contains(addresses) {
            return choice.is_again && replaying.is_recordable();
        }
        if self.seen.len() == MOST_ADDRESSES {
            self.seen.pop_front();
        }
        self.seen.push_back(addresses.clone());
        false
    }

    /// Records what `steps` launches; false where that cannot be recorded, which is remembered with its reason. Blocks that begin at `kept` are
    /// in their places in every replay.
    pub fn record(
        &mut self,
        replaying: &Replaying,
        (addresses, choice): (Addresses, &Choice),
        kept: Vec<u64>,
        steps: impl FnOnce() -> Result<Option<String>>,
    ) -> bool {
        match recorded(addresses, choice.set, kept, steps) {
            Ok(made) => {
                replaying.recordings.fetch_add(1, Ordering::Relaxed);
                replaying.bytes.fetch_add(made.bytes, Ordering::Relaxed);
                let commands = made.graph.nodes().len() as u64;
                replaying.commands.store(commands, Ordering::Relaxed);
                if self.list.len() == MOST_RECORDINGS {
                    let oldest = self.list.remove(0);
                    replaying.recordings.fetch_sub(1, Ordering::Relaxed);
                    replaying.bytes.fetch_sub(oldest.bytes, Ordering::Relaxed);
                }
                self.list.push(made);
                true
            }
            Err(reason) => {
                replaying.refuse(reason);
                false
            }
        }
    }

    /// Replays the last recording.
    ///
    /// # Errors
    ///
    /// What the device reports.
    ///
    /// # Safety
    ///
    /// Memory at the addresses of the recording is of the arrays that the caller holds, and they are of the device's allocator; where nothing
    /// is waited for, nobody else knows it.
    pub unsafe fn replay(
        &self,
        replaying: &Replaying,
        device: &Arc<OpenDevice>,
        order: Order,
    ) -> Result<()> {
        let Some(last) = self.list.last() else {
            return Ok(());
        };
        let stream = device.device().default_stream();
        let is_queued = order == Order::Queued;
        // SAFETY: the caller's promise; what operations took for themselves is held by the recording, which gives it back in the order of this
        // stream.
        unsafe { last.graph.replay(is_queued.then_some(stream)) }
            .map_err(amdgpu_array::Error::from)?;
        if is_queued {
            device.note_queued();
        }
        replaying.replays.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn recorded(
    addresses: Addresses,
    set: u64,
    kept: Vec<u64>,
    steps: impl FnOnce() -> Result<Option<String>>,
) -> std::result::Result<Recorded, String> {
    let (outside, recording) =
        recording::record_within(kept, steps).map_err(|error| error.to_string())?;
    if let Some(outside) = outside.map_err(|error| error.to_string())? {
        return Err(outside);
    }
    let graph = recording.recorder.finish();
    Ok(Recorded {
        addresses,
        set,
        graph: graph.map_err(|error| error.to_string())?,
        owners: recording.owners,
        bytes: recording.held_bytes,
    })
}
