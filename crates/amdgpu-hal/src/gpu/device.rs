//! An open GPU.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::api::Api;
use super::context::Context;
use super::event::GpuEvent;
use super::graph::GpuGraph;
use super::module::GpuModule;
use super::queue::Queue;
use super::stream::GpuStream;
use super::{describe, memory};
use crate::{
    Device, DeviceInfo, DevicePointer, Error, Event, Graph, GraphPlan, MemoryInfo, MemoryKind,
    Module, Result, Stream,
};

/// A GPU with a default stream of its own.
#[derive(Debug)]
pub struct GpuDevice {
    info: DeviceInfo,
    default_stream: Arc<dyn Stream>,
    /// Every stream that lives, for those who wait for all of them.
    queues: Mutex<Vec<Weak<Queue>>>,
    context: Arc<Context>,
}

impl GpuDevice {
    pub(super) fn open(api: &'static Api, ordinal: i32) -> Result<Self> {
        let info = describe::describe(api, ordinal)?;
        let context = api.context(ordinal)?;
        let stream = GpuStream::new(&context)?;
        Ok(Self {
            info,
            queues: Mutex::new(vec![Arc::downgrade(stream.queue())]),
            default_stream: Arc::new(stream),
            context,
        })
    }

    fn live_queues(&self) -> Vec<Arc<Queue>> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.iter().filter_map(Weak::upgrade).collect()
    }

    /// Fails in a forked child and after a fault.
    fn check(&self) -> Result<()> {
        self.context.check_usable()
    }
}

impl Device for GpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory_info(&self) -> Result<MemoryInfo> {
        memory::info(&self.context)
    }

    fn memory_domain(&self) -> usize {
        Arc::as_ptr(&self.context).addr()
    }

    fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<DevicePointer> {
        memory::allocate(&self.context, bytes, kind)
    }

    unsafe fn free(&self, ptr: DevicePointer, bytes: u64, kind: MemoryKind) -> Result<()> {
        // SAFETY: the caller's contract is the same.
        unsafe { memory::free(&self.context, ptr, bytes, kind) }
    }

    fn default_stream(&self) -> &Arc<dyn Stream> {
        &self.default_stream
    }

    fn create_stream(&self) -> Result<Arc<dyn Stream>> {
        let stream = GpuStream::new(&self.context)?;
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(stream.queue()));
        Ok(Arc::new(stream))
    }

    fn create_event(&self) -> Result<Arc<dyn Event>> {
        self.check()?;
        Ok(Arc::new(GpuEvent::new(&self.context)))
    }

    fn load_module(&self, image: &[u8]) -> Result<Arc<dyn Module>> {
        Ok(Arc::new(GpuModule::load(&self.context, image)?))
    }

    fn create_graph(&self, plan: GraphPlan) -> Result<Arc<dyn Graph>> {
        Ok(Arc::new(GpuGraph::new(&self.context, &plan)?))
    }

    fn ordinal_of_address(&self, ptr: DevicePointer) -> Option<u32> {
        memory::ordinal_of_address(&self.context, ptr)
    }

    unsafe fn order_before(&self, native_handle: u64) -> Result<()> {
        self.check()?;
        // The memory may have been written through another opening of the GPU.
        for queue in self.context.live_queues() {
            // SAFETY: the caller's contract is the same.
            unsafe { queue.order_before(native_handle as usize) }?;
        }
        Ok(())
    }

    unsafe fn wait_for_native(&self, native_handle: u64) -> Result<()> {
        let _entered = self.context.enter()?;
        // SAFETY: the caller gives a live stream of the driver.
        let status =
            unsafe { (self.context.functions().stream_synchronize)(native_handle as usize) };
        self.context.check("waiting for a stream", status)
    }

    fn with_current(&self, work: &mut dyn FnMut()) -> Result<()> {
        let _entered = self.context.enter()?;
        work();
        Ok(())
    }

    fn is_lost(&self) -> bool {
        self.context.loss.is_lost()
    }

    fn wait_idle(&self) -> Result<()> {
        self.check()?;
        self.live_queues()
            .into_iter()
            .try_for_each(|queue| queue.wait_idle())
    }

    fn synchronize(&self) -> Result<()> {
        self.check()?;
        let mut outcome = Ok(());
        let own = self.live_queues();
        for queue in &own {
            outcome = outcome.and(queue.synchronize());
        }
        for queue in self.context.live_queues() {
            if !own.iter().any(|known| Arc::ptr_eq(known, &queue)) {
                // Its errors belong to who opened it; a fault of the GPU is everybody's.
                outcome = outcome.and(queue.wait_idle().or_else(|error| match error {
                    Error::DeviceLost { .. } => Err(error),
                    _ => Ok(()),
                }));
            }
        }
        outcome
    }
}
