//! Checked copies between the host and blocks. Every byte is counted.

use std::sync::Arc;

use amdgpu_hal::{CopyDirection, DevicePointer, Stream};

use crate::block::Block;
use crate::{Error, Result};

impl Block {
    /// Copies `data` into the block at `offset_bytes` and waits for it. `stream`: where the copy is ordered; `None` means the block's own.
    pub fn write_bytes(
        &self,
        offset_bytes: u64,
        data: &[u8],
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        let bytes = data.len() as u64;
        self.check_range("write", offset_bytes, bytes)?;
        let host = DevicePointer::from_host(data.as_ptr());
        let device = self.ptr().offset(offset_bytes);
        // SAFETY: the range of the block was checked; both ranges outlive the wait.
        unsafe { self.copy_and_wait(device, host, bytes, CopyDirection::HostToDevice, stream) }
    }

    /// Copies from the block at `offset_bytes` into `data` and waits for it.
    pub fn read_bytes(
        &self,
        offset_bytes: u64,
        data: &mut [u8],
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        let bytes = data.len() as u64;
        self.check_range("read", offset_bytes, bytes)?;
        let host = DevicePointer::from_host(data.as_mut_ptr());
        let device = self.ptr().offset(offset_bytes);
        // SAFETY: the range of the block was checked; both ranges outlive the wait.
        unsafe { self.copy_and_wait(host, device, bytes, CopyDirection::DeviceToHost, stream) }
    }

    /// Copies `bytes` from the beginning of `source` to the beginning of this block, in the order of `stream`, without waiting. Both blocks
    /// are held back for `stream` when they are dropped.
    pub fn copy_from(
        &self,
        source: &Self,
        bytes: u64,
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        self.check_range("copy", 0, bytes)?;
        source.check_range("copy", 0, bytes)?;
        if self.device().memory_domain() != source.device().memory_domain() {
            return Err(Error::WrongDevice {
                operation: "copy",
                first: self.device().info().name.clone(),
                second: source.device().info().name.clone(),
            });
        }
        if self.ptr() == source.ptr() {
            return Ok(());
        }
        let stream = stream.unwrap_or_else(|| self.stream());
        for block in [self, source] {
            if block.stream().id() != stream.id() {
                block.record_stream(stream)?;
            }
        }
        let start_ns = amdgpu_telemetry::now_ns();
        // SAFETY: both ranges lie inside live blocks, which stay unused by others until the stream has passed; two blocks never overlap.
        unsafe {
            stream.copy(
                self.ptr(),
                source.ptr(),
                bytes,
                CopyDirection::DeviceToDevice,
            )?;
        }
        self.pool()
            .report
            .copied(CopyDirection::DeviceToDevice, bytes, stream.id(), start_ns);
        Ok(())
    }

    /// Sets `bytes` bytes at `offset_bytes` to `value`, in the order of `stream`, without waiting.
    pub fn fill(
        &self,
        offset_bytes: u64,
        bytes: u64,
        value: u8,
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        self.check_range("fill", offset_bytes, bytes)?;
        let stream = stream.unwrap_or_else(|| self.stream());
        if self.stream().id() != stream.id() {
            self.record_stream(stream)?;
        }
        // SAFETY: the range lies inside the block, which stays unused by others until the stream has passed.
        unsafe { stream.fill(self.ptr().offset(offset_bytes), value, bytes) }?;
        Ok(())
    }

    fn check_range(&self, operation: &'static str, offset_bytes: u64, bytes: u64) -> Result<()> {
        let fits = offset_bytes
            .checked_add(bytes)
            .is_some_and(|end| end <= self.len_bytes());
        if fits {
            return Ok(());
        }
        Err(Error::OutOfRange {
            operation,
            offset_bytes,
            bytes,
            block_bytes: self.len_bytes(),
        })
    }

    /// # Safety
    /// Both ranges are valid for the copy.
    unsafe fn copy_and_wait(
        &self,
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        direction: CopyDirection,
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        let stream = stream.unwrap_or_else(|| self.stream());
        let start_ns = amdgpu_telemetry::now_ns();
        // SAFETY: the caller vouches for the ranges, and this call returns only when the copy is done.
        unsafe { stream.copy(destination, source, bytes, direction) }?;
        stream.synchronize()?;
        self.pool()
            .report
            .copied(direction, bytes, stream.id(), start_ns);
        Ok(())
    }
}
