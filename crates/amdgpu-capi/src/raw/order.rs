//! Streams that calls on addresses are given: ours, or those of the GPU's driver.

use std::sync::Arc;

use amdgpu_array::Array;
use amdgpu_hal::{DeviceKind, Stream as HalStream};

use crate::handles::Handle;
use crate::objects::{DeviceObject, StreamObject};
use crate::status::Answer;

/// Where a call does its work.
pub enum Queue {
    /// In the default stream, and waits.
    Default,
    Ours(Arc<StreamObject>),
    /// In the default stream, ordered with a stream of the driver.
    Native(u64),
}

impl Queue {
    /// The stream that C gave.
    pub fn of(stream: Handle, device: &DeviceObject) -> Answer<Self> {
        let is_gpu = matches!(
            device.context.info().kind,
            DeviceKind::Hip | DeviceKind::Cuda
        );
        if is_gpu && !stream.is_null() && !stream.has_kind() {
            return Ok(Self::Native(stream.bits()));
        }
        Ok(StreamObject::of(stream, device)?.map_or(Self::Default, Self::Ours))
    }

    /// Lets the default stream begin behind what the stream was given so far.
    pub fn before(&self, device: &DeviceObject) -> Answer {
        let open = device.context.open_device()?;
        match self {
            Self::Default => {}
            Self::Ours(stream) if stream.queue.id() == open.device().default_stream().id() => {}
            // Operations of a CPU device run in the calling thread.
            Self::Ours(stream) if open.info().capabilities.host_visible => {
                stream.queue.synchronize()?;
            }
            Self::Ours(stream) => {
                let point = open.device().create_event()?;
                stream.queue.record(&point)?;
                open.device().default_stream().wait(&point)?;
                open.note_queued();
            }
            // SAFETY: a stream of the driver, as the caller says who has no handle of ours.
            Self::Native(stream) => unsafe { open.device().wait_for_native(*stream)? },
        }
        Ok(())
    }

    /// Holds the stream back until the default stream has done what it was given so far.
    pub fn after(&self, device: &DeviceObject) -> Answer {
        let open = device.context.open_device()?;
        match self {
            Self::Default => {}
            Self::Ours(stream) => open.hold_back(stream.queue.as_ref())?,
            // SAFETY: as in `before`.
            Self::Native(stream) => unsafe { open.device().order_before(*stream)? },
        }
        Ok(())
    }

    /// Does work on memory where it belongs: in a stream of ours and returns at once, or in the default stream.
    pub fn run(
        &self,
        device: &DeviceObject,
        memory: &[Array],
        work: impl FnOnce(&dyn HalStream) -> amdgpu_hal::Result<()>,
    ) -> Answer {
        let open = device.context.open_device()?;
        if let Self::Ours(stream) = self {
            open.hold_back(stream.queue.as_ref())?;
            for array in memory {
                array.storage().uses().note(&stream.queue, open.device());
            }
            work(stream.queue.as_ref())?;
            return Ok(stream.keep(memory, open.device().as_ref())?);
        }
        self.before(device)?;
        for array in memory {
            array.finish_uses()?;
        }
        let queue = open.device().default_stream();
        work(queue.as_ref())?;
        queue.synchronize()?;
        self.after(device)
    }
}
