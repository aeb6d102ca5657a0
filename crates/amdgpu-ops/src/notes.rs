//! Notes of kernels about indices that are none, which the host reads while the device goes on with what was launched behind them.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, recording};
use amdgpu_hal::MemoryKind;

use crate::blank_notes::BlankNote;
use crate::words::words;
use crate::{DeviceOps, Result};

/// A parameter of a kernel for each of [`Note::arrays`], and the function by which it notes a place. It keeps the first one.
pub(crate) const PARAMETERS: &str = "unsigned long long* first_bad, unsigned long long* is_bad";
pub(crate) const FUNCTION: &str = r"
__device__ inline void note(unsigned long long place, unsigned long long* first_bad, unsigned long long* is_bad) {
    atomicMax(first_bad, ~place);
    *(volatile unsigned long long*)is_bad = 1;
}
";

/// What kernels note about the indices of a call.
pub(crate) struct Note<'a> {
    ops: &'a DeviceOps,
    blank: BlankNote,
}

impl<'a> Note<'a> {
    /// # Errors
    ///
    /// `out-of-memory`; what the device reports.
    pub fn new(ops: &'a DeviceOps) -> Result<Self> {
        // A graph that is recorded keeps what it is given.
        let spare = if recording::is_recording() {
            None
        } else {
            ops.blank_notes().take()
        };
        let blank = match spare {
            Some(blank) => blank,
            None => blank(ops)?,
        };
        Ok(Self { ops, blank })
    }

    /// The arguments of a kernel for [`PARAMETERS`].
    pub fn arrays(&self) -> [&Array; 2] {
        [&self.blank.first_bad, &self.blank.is_bad]
    }

    /// What was launched so far has noted what there is to note.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn end(&self) -> Result<()> {
        recording::note_outside(recording::CHECKED_BY_THE_HOST);
        if !recording::is_recording() {
            let stream = self.ops.device().device().default_stream();
            stream.record(&self.blank.event)?;
        }
        Ok(())
    }

    /// The first place that was noted; waits until the device was at [`Self::end`]. Nothing runs while a graph is recorded, so nothing is known then.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn read(self) -> Result<Option<u64>> {
        if recording::is_recording() {
            return Ok(None);
        }
        self.blank.event.synchronize()?;
        // SAFETY: the word is memory of the host, which lives as long as the array; kernels that write to it have passed the event.
        let is_bad = unsafe { self.blank.is_bad.data().cast::<u64>().read_volatile() };
        if is_bad == 0 {
            self.ops.blank_notes().give_back(self.blank);
            return Ok(None);
        }
        let bytes = self.blank.first_bad.read()?;
        let noted = bytes.first_chunk().copied().map(u64::from_ne_bytes);
        Ok(noted.map(|complement| !complement))
    }
}

fn blank(ops: &DeviceOps) -> Result<BlankNote> {
    let device = ops.device();
    let one = Dims::from_slice(&[1]);
    let is_bad = Array::empty(device, one, Dtype::U64, MemoryKind::PinnedHost)?;
    // SAFETY: the word is memory of the host that nobody else knows.
    unsafe { is_bad.data().cast::<u64>().write_volatile(0) };
    Ok(BlankNote {
        first_bad: words(ops, 1, 1)?,
        is_bad,
        event: device.device().create_event()?,
    })
}
