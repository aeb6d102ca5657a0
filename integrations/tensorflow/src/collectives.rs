//! Collectives of devices of this process. Each rank shares its tensors (`RdnaAllReduceStart`) and gives a number for them, a token, that
//! TensorFlow carries to every rank as a tensor in the memory of the host. A rank reduces (`RdnaAllReduceDone`) when it has the tokens of all, so no
//! kernel waits for another one: streams wait for events that are recorded already. What a rank shared lives as long as TensorFlow keeps its token;
//! a step that failed or was cancelled drops it (`docs/adr/0031-all-reduce-in-two-operations.md`).

mod engine;
mod nccl;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::call::Call;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome, caught};
use crate::streams::{Event, Queue};
use crate::tensor::{Tensor, shown};
use crate::tensorflow;

pub use engine::{COUNTS, Reduction, all_reduce, engine_of_devices, set_nccl_folders};

/// What one rank shared with the others.
pub struct Shared {
    pub queue: Queue,
    pub is_host: bool,
    /// Places for the results, as a library that works for all ranks at once needs them before.
    pub results: Vec<Tensor>,
    pub tensors: Vec<Tensor>,
    /// The tensors are computed.
    ready: Option<Event>,
    /// Points of other streams before which the tensors must not change.
    readers: Mutex<Vec<Event>>,
    /// Whether the library was given the work of all ranks; of rank 0.
    submitted: Mutex<Option<Outcome>>,
}

// SAFETY: tensors are counted references of TensorFlow's, which any thread may use; everything else is numbers and locks.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn of(call: &Call) -> Outcome<Self> {
        let tensors: Vec<Tensor> = (0..call.input_count()?)
            .map(|place| call.tensor(place))
            .collect::<Outcome<_>>()?;
        let results = { tensors.iter() }
            .map(|tensor| call.temporary(tensor.dtype, &tensor.shape))
            .collect::<Outcome<_>>()?;
        let ready = (!call.is_host).then(|| call.stream.point()).transpose()?;
        Ok(Self {
            queue: *call.stream,
            is_host: call.is_host,
            results,
            tensors,
            ready,
            readers: Mutex::default(),
            submitted: Mutex::default(),
        })
    }

    /// Lets a rank read the tensors.
    fn begin_reading(&self, reader: &Queue) -> Outcome {
        match &self.ready {
            Some(ready) if !reader.is_same_queue(&self.queue) => reader.begin_behind(ready),
            _ => Ok(()),
        }
    }

    /// A rank has read the tensors when its stream gets where it is now.
    fn end_reading(&self, reader: &Queue) -> Outcome {
        if !self.is_host && !reader.is_same_queue(&self.queue) {
            let read = reader.point()?;
            locked(&self.readers).push(read);
        }
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let readers = std::mem::take(&mut *locked(&self.readers));
        for read in readers {
            // Where the stream is gone, nothing can change the memory any more.
            let _ = caught(|| read.hold_back(&self.queue));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static SHARED: LazyLock<Mutex<HashMap<i32, Arc<Shared>>>> = LazyLock::new(Mutex::default);

/// A number that nothing else has which is shared now.
fn register(shared: Arc<Shared>) -> i32 {
    static NEXT: AtomicI32 = AtomicI32::new(1);
    let mut all = locked(&SHARED);
    loop {
        // Begins anew behind the last one.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Entry::Vacant(place) = all.entry(number) {
            place.insert(shared);
            return number;
        }
    }
}

/// Memory of a tensor that stands for what was shared. TensorFlow copies memory that is not aligned so, and frees it too early for us.
#[repr(C, align(64))]
struct Token(i32);

/// TensorFlow has dropped the last reference of a token.
extern "C" fn forget(memory: *mut c_void, _bytes: usize, _data: *mut c_void) {
    // A panic of a destructor ends here.
    let _ = caught(|| {
        // SAFETY: what `share` leaked, for the last time.
        let token = unsafe { Box::from_raw(memory.cast::<Token>()) };
        let dropped = locked(&SHARED).remove(&token.0);
        // Behind the lock: it gives memory back.
        drop(dropped);
        Ok(())
    });
}

/// Shares the inputs of a call; its output is the token.
pub fn share(call: &Call) -> Outcome {
    let number = register(Arc::new(Shared::of(call)?));
    let memory = Box::into_raw(Box::new(Token(number))).cast();
    // SAFETY: memory of the host for one number, which `forget` frees.
    let handle = unsafe {
        (tensorflow::get()?.TF_NewTensor)(
            Dtype::I32.0,
            std::ptr::null(),
            0,
            memory,
            size_of::<i32>(),
            forget,
            std::ptr::null_mut(),
        )
    };
    let token = Tensor::of(handle, 0)?;
    call.set_output(0, &token, &[])
}

/// What all ranks shared, by their tokens.
pub fn shared_by_all(call: &Call, ranks: usize) -> Outcome<Vec<Arc<Shared>>> {
    let found = |rank: usize| {
        let number = call.host_int(rank)?;
        let found = i32::try_from(number)
            .ok()
            .and_then(|number| locked(&SHARED).get(&number).cloned());
        found.ok_or_else(|| {
            Failure::refused(format!(
                "{}: what rank {rank} shared is gone; tokens are used where TensorFlow made them, in the step that they belong to",
                call.name.to_string_lossy()
            ))
        })
    };
    let all: Vec<Arc<Shared>> = (0..ranks).map(found).collect::<Outcome<_>>()?;
    for (rank, other) in all.iter().enumerate().skip(1) {
        check_alike(&all[0], other, rank)?;
    }
    Ok(all)
}

/// Tensors that are reduced have the same dtypes and shapes on every rank.
fn check_alike(first: &Shared, other: &Shared, rank: usize) -> Outcome {
    if first.tensors.len() != other.tensors.len() {
        return Err(Failure::refused(format!(
            "all_reduce: rank 0 has {} tensors, rank {rank} has {}",
            first.tensors.len(),
            other.tensors.len()
        )));
    }
    for (place, (one, two)) in first.tensors.iter().zip(&other.tensors).enumerate() {
        if one.shape != two.shape || one.dtype != two.dtype {
            return Err(Failure::refused(format!(
                "all_reduce: tensor {place} has shape {} on rank 0 and {} on rank {rank}; give every replica the same shapes, for example with batches of one size (drop_remainder=True)",
                shown(&one.shape),
                shown(&two.shape)
            )));
        }
    }
    Ok(())
}
