//! The CPU device.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::event::CpuEvent;
use super::graph::CpuGraph;
use super::memory::Budget;
use super::module::CpuModule;
use super::queue::Queue;
use super::stream::CpuStream;
use super::{limits, topology};
use crate::fork::ForkMark;
use crate::{
    Device, DeviceInfo, DevicePointer, Error, Event, Graph, GraphPlan, MemoryInfo, MemoryKind,
    Module, Result, Stream,
};

/// Options of a CPU device.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuOptions {
    /// A limit of this device's own; without one, devices share the limit of the process.
    pub memory_limit_bytes: Option<u64>,
}

/// This machine's cores and memory.
#[derive(Debug)]
pub struct CpuDevice {
    info: DeviceInfo,
    budget: Arc<Budget>,
    default_stream: Arc<dyn Stream>,
    /// Queues of all streams, for [`Device::synchronize`].
    queues: Mutex<Vec<Weak<Queue>>>,
    mark: ForkMark,
}

impl CpuDevice {
    /// The device with the limits of the process.
    pub fn open() -> Result<Self> {
        Self::with_options(CpuOptions::default())
    }

    /// The device with limits of its own.
    pub fn with_options(options: CpuOptions) -> Result<Self> {
        // A thread count that does not parse is refused here, before anything depends on the pool.
        limits::thread_count()?;
        let budget = match options.memory_limit_bytes {
            Some(limit_bytes) => Budget::new(limit_bytes),
            None => Budget::of_process()?,
        };
        let default_stream = CpuStream::inline();
        let queues = Mutex::new(vec![Arc::downgrade(default_stream.queue())]);
        Ok(Self {
            info: topology::device_info(budget.limit_bytes()),
            budget,
            default_stream: Arc::new(default_stream),
            queues,
            mark: ForkMark::current(),
        })
    }

    /// The queues of all streams that still run, those without a handle included.
    fn queues(&self) -> Vec<Arc<Queue>> {
        self.queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    fn check(&self) -> Result<()> {
        self.mark.check("the device cpu:0")
    }
}

impl Device for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory_info(&self) -> Result<MemoryInfo> {
        self.check()?;
        let total_bytes = self.budget.limit_bytes();
        let used_bytes = self.budget.used_bytes();
        let left = total_bytes.saturating_sub(used_bytes);
        Ok(MemoryInfo {
            free_bytes: limits::available_bytes().map_or(left, |available| available.min(left)),
            total_bytes,
            used_bytes,
        })
    }

    fn memory_domain(&self) -> usize {
        Arc::as_ptr(&self.budget).addr()
    }

    fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<DevicePointer> {
        self.check()?;
        self.budget.allocate(bytes, kind)
    }

    unsafe fn free(&self, ptr: DevicePointer, bytes: u64, _kind: MemoryKind) -> Result<()> {
        // Allowed in a forked child: the child owns its copy of the memory.
        // SAFETY: the caller's contract is the same.
        unsafe { self.budget.free(ptr, bytes) }
    }

    fn default_stream(&self) -> &Arc<dyn Stream> {
        &self.default_stream
    }

    fn create_stream(&self) -> Result<Arc<dyn Stream>> {
        self.check()?;
        let stream = CpuStream::asynchronous();
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(stream.queue()));
        Ok(Arc::new(stream))
    }

    fn create_event(&self) -> Result<Arc<dyn Event>> {
        self.check()?;
        Ok(Arc::new(CpuEvent::new()))
    }

    fn load_module(&self, image: &[u8]) -> Result<Arc<dyn Module>> {
        self.check()?;
        Ok(Arc::new(CpuModule::load(image)?))
    }

    fn create_graph(&self, plan: GraphPlan) -> Result<Arc<dyn Graph>> {
        self.check()?;
        Ok(Arc::new(CpuGraph::new(plan)?))
    }

    fn wait_idle(&self) -> Result<()> {
        self.check()?;
        self.queues()
            .into_iter()
            .try_for_each(|queue| queue.wait_idle())
    }

    fn synchronize(&self) -> Result<()> {
        self.check()?;
        let mut outcome = Ok(());
        let queues = self.queues();
        for queue in &queues {
            let result = queue.synchronize();
            if matches!(result, Err(Error::Interrupted)) {
                // The others were waited for as well.
                queues
                    .iter()
                    .try_for_each(|other| other.cancel().map(drop))?;
            }
            outcome = outcome.and(result);
        }
        outcome
    }
}
