//! The null device.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::graph::NullGraph;
use super::memory::Memory;
use super::module::NullModule;
use super::stream::{Failure, NullEvent, NullStream};
use super::target::{MEMORY_BYTES, Target};
use crate::fork::ForkMark;
use crate::{
    Device, DeviceInfo, DevicePointer, Event, Graph, GraphPlan, MemoryInfo, MemoryKind, Module,
    Result, Stream,
};

/// A device that executes nothing.
#[derive(Debug)]
pub struct NullDevice {
    target: &'static Target,
    info: DeviceInfo,
    memory: Arc<Memory>,
    default_stream: Arc<dyn Stream>,
    /// What sticks to each stream, for [`Device::synchronize`].
    failures: Mutex<Vec<Weak<Failure>>>,
    mark: ForkMark,
}

impl NullDevice {
    pub(super) fn new(target: &'static Target) -> Self {
        let info = target.device_info();
        let memory = Arc::new(Memory::new(info.name.clone(), MEMORY_BYTES));
        let stream = NullStream::new(Arc::clone(&memory), info.name.clone());
        let failures = Mutex::new(vec![Arc::downgrade(stream.failure())]);
        Self {
            target,
            info,
            memory,
            default_stream: Arc::new(stream),
            failures,
            mark: ForkMark::current(),
        }
    }

    fn check(&self) -> Result<()> {
        self.mark.check("the null device")
    }
}

impl Device for NullDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory_info(&self) -> Result<MemoryInfo> {
        self.check()?;
        Ok(self.memory.info())
    }

    fn memory_domain(&self) -> usize {
        Arc::as_ptr(&self.memory).addr()
    }

    fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<DevicePointer> {
        self.check()?;
        self.memory.allocate(bytes, kind)
    }

    unsafe fn free(&self, ptr: DevicePointer, bytes: u64, kind: MemoryKind) -> Result<()> {
        self.check()?;
        // SAFETY: the caller's contract is the same.
        unsafe { self.memory.free(ptr, bytes, kind) }
    }

    fn default_stream(&self) -> &Arc<dyn Stream> {
        &self.default_stream
    }

    fn create_stream(&self) -> Result<Arc<dyn Stream>> {
        self.check()?;
        let stream = NullStream::new(Arc::clone(&self.memory), self.info.name.clone());
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|failure| failure.strong_count() > 0);
        failures.push(Arc::downgrade(stream.failure()));
        Ok(Arc::new(stream))
    }

    fn create_event(&self) -> Result<Arc<dyn Event>> {
        self.check()?;
        Ok(Arc::new(NullEvent::default()))
    }

    fn load_module(&self, image: &[u8]) -> Result<Arc<dyn Module>> {
        self.check()?;
        Ok(Arc::new(NullModule::load(
            image,
            self.target,
            &self.memory,
        )?))
    }

    fn create_graph(&self, plan: GraphPlan) -> Result<Arc<dyn Graph>> {
        self.check()?;
        Ok(Arc::new(NullGraph::new(&plan, &self.info.name)?))
    }

    fn wait_idle(&self) -> Result<()> {
        self.check()
    }

    fn synchronize(&self) -> Result<()> {
        self.check()?;
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcome = Ok(());
        for failure in failures.iter().filter_map(Weak::upgrade) {
            outcome = outcome.and(failure.take());
        }
        outcome
    }
}
