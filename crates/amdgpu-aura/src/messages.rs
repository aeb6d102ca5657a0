//! What kernels tell the host: lines of `printf` and failed assertions, fetched when a launch has ended.
//!
//! A module whose kernels print or assert has a [`PrintfBuffer`]. Launches that wait flush it at once; launches in streams are noted, and
//! [`flush_printf`] fetches what those of one stream left, as soon as no launch of the module is on its way any more: the memory of
//! messages belongs to the module, and is cleared after it is read.

mod format;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use amdgpu_compiler::messages::{
    MESSAGE_HEADER_WORDS, MESSAGE_VARIABLE, MESSAGE_WORDS, Message, MessageTable,
};
use amdgpu_hal::{CopyDirection, Device, DevicePointer, Event, ForkLocal, GlobalMemory, Module};

use crate::error::{Error, Result};

const WORD_BYTES: u64 = 4;

/// Takes text that kernels printed.
pub type Output = fn(&str);

static OUTPUT: OnceLock<Output> = OnceLock::new();
/// Ports with launches in streams that were not looked at since.
static WAITING: ForkLocal<Mutex<Vec<Weak<PrintfBuffer>>>> = ForkLocal::new(Mutex::default);
static WAITING_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Where text goes that kernels print; standard output unless this is called, which counts once.
pub fn set_output(output: Output) {
    let _ = OUTPUT.set(output);
}

fn write(text: &str) {
    match OUTPUT.get() {
        Some(output) => output(text),
        None => print!("{text}"),
    }
}

/// The memory of messages of one module.
pub(crate) struct PrintfBuffer {
    table: MessageTable,
    memory: GlobalMemory,
    device: Arc<dyn Device>,
    // Keeps the memory there.
    _module: Arc<dyn Module>,
    state: Mutex<Vec<Launched>>,
}

/// A launch in a stream.
struct Launched {
    stream: u64,
    end: Arc<dyn Event>,
}

impl PrintfBuffer {
    /// The buffer of a module, if its kernels have anything to say.
    pub fn of(
        table: &MessageTable,
        module: &Arc<dyn Module>,
        device: &Arc<dyn Device>,
    ) -> Option<Arc<Self>> {
        if table.messages.is_empty() {
            return None;
        }
        // Messages may stand in functions that no kernel calls; then there is no memory for them.
        let memory = module.global(MESSAGE_VARIABLE).ok()?;
        Some(Arc::new(Self {
            table: table.clone(),
            memory,
            device: Arc::clone(device),
            _module: Arc::clone(module),
            state: Mutex::new(Vec::new()),
        }))
    }

    /// The list holds whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Vec<Launched>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a launch that goes on in a stream.
    pub fn launched(self: &Arc<Self>, stream: u64, end: &Arc<dyn Event>) {
        self.lock().push(Launched {
            stream,
            end: Arc::clone(end),
        });
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting
            .iter()
            .any(|buffer| Weak::as_ptr(buffer) == Arc::as_ptr(self))
        {
            waiting.push(Arc::downgrade(self));
            WAITING_COUNT.store(waiting.len(), Ordering::Release);
        }
    }

    /// Writes what launches left, unless one is still on its way.
    ///
    /// # Errors
    ///
    /// The first failed assertion; what the device reports.
    pub fn flush(&self) -> Result<()> {
        // Held to the end: of two threads that flush, the second finds the memory cleared.
        let mut launched = self.lock();
        launched.retain(|launch| !launch.end.is_complete());
        if !launched.is_empty() {
            return Ok(());
        }
        let mut header = [0_u32; MESSAGE_HEADER_WORDS];
        self.fetch(0, &mut header)?;
        let [used, lost, faults, ..] = header;
        if used == 0 && faults == 0 {
            return Ok(());
        }
        let mut words = vec![0_u32; MESSAGE_WORDS.min(used as usize)];
        self.fetch(MESSAGE_HEADER_WORDS as u64, &mut words)?;
        self.clear((MESSAGE_HEADER_WORDS + words.len()) as u64)?;
        let mut text = format::lines(&self.table, &words);
        if lost > 0 {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "[amdgpu] {lost} lines of printf were lost: a launch has room for {} KiB",
                MESSAGE_WORDS * 4 / 1024
            );
        }
        if !text.is_empty() {
            write(&text);
        }
        if faults > 0 {
            return Err(self.failure(&header));
        }
        Ok(())
    }

    fn failure(&self, header: &[u32; MESSAGE_HEADER_WORDS]) -> Error {
        let [_, _, faults, message, kernel, bx, by, bz, tx, ty, tz, ..] = *header;
        let kernel = self.table.kernels.get(kernel as usize);
        let messages = &self.table.messages;
        let (what, place) = match messages.get((message as usize).wrapping_sub(1)) {
            Some(Message::Failure { what, file, line }) => {
                (what.as_str(), format!("{file}:{line}"))
            }
            _ => ("a work-item failed", "?".to_owned()),
        };
        Error::Assertion {
            kernel: kernel.map_or("?", String::as_str).to_owned(),
            what: what.to_owned(),
            place,
            block: [bx, by, bz],
            thread: [tx, ty, tz],
            others: u64::from(faults) - 1,
        }
    }

    /// Copies words from the device, from word `first` on.
    fn fetch(&self, first: u64, words: &mut [u32]) -> Result<()> {
        let bytes = size_of_val(words) as u64;
        if bytes == 0 {
            return Ok(());
        }
        let source = self.memory.ptr.offset(first * WORD_BYTES);
        let stream = self.device.default_stream();
        let target = DevicePointer::from_host(words.as_mut_ptr());
        // SAFETY: both ranges have these bytes, and the wait ends the use of them.
        unsafe { stream.copy(target, source, bytes, CopyDirection::DeviceToHost)? };
        Ok(stream.synchronize()?)
    }

    fn clear(&self, words: u64) -> Result<()> {
        let stream = self.device.default_stream();
        // SAFETY: the memory of messages has at least the words that were just read, and lives as long as the buffer.
        unsafe { stream.fill(self.memory.ptr, 0, words * WORD_BYTES)? };
        Ok(stream.synchronize()?)
    }
}

/// Writes what kernels of a stream (`None`: of any) have left, to be called after a wait for it.
///
/// # Errors
///
/// The first failed assertion; what the device reports.
pub fn flush_printf(stream: Option<u64>) -> Result<()> {
    if WAITING_COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let buffers: Vec<Arc<PrintfBuffer>> = {
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        let buffers: Vec<Arc<PrintfBuffer>> = waiting.iter().filter_map(Weak::upgrade).collect();
        waiting.retain(|buffer| buffer.strong_count() > 0);
        WAITING_COUNT.store(waiting.len(), Ordering::Release);
        buffers
    };
    let concerned = |buffer: &&Arc<PrintfBuffer>| {
        let launched = buffer.lock();
        stream.is_none_or(|stream| launched.iter().any(|launch| launch.stream == stream))
    };
    let mut outcome = Ok(());
    for buffer in buffers.iter().filter(concerned) {
        outcome = outcome.and(buffer.flush());
    }
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.retain(|buffer| {
        buffer
            .upgrade()
            .is_some_and(|buffer| !buffer.lock().is_empty())
    });
    WAITING_COUNT.store(waiting.len(), Ordering::Release);
    outcome
}
