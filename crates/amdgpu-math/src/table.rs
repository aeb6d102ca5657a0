//! The function table of `AgpuKernels`, checked before anything of it is called.

use std::mem::size_of;
use std::path::Path;

use amdgpu_abi::{
    ABI_HASH, ABI_VERSION, ErrorCode, MathActivationFn, MathAdaptiveLearningRateFn,
    MathDenseForwardFn, MathLastErrorFn, MathMomentumUpdateFn, MathSoftmaxFn, MathTable,
};

use crate::Error;

/// Longest message that is read from Julia.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// The functions of a table that fits this build.
///
/// They may be called only on the thread that owns the runtime; that is the executor's care.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    pub activation: MathActivationFn,
    pub softmax: MathSoftmaxFn,
    pub dense_forward: MathDenseForwardFn,
    pub adaptive_learning_rate: MathAdaptiveLearningRateFn,
    pub momentum_update: MathMomentumUpdateFn,
    last_error: MathLastErrorFn,
}

impl Table {
    /// Check and copy the table at `table`; `source` names the file it came from in the error.
    ///
    /// # Safety
    ///
    /// `table` must be null or point to an `agpu_math_table` of some version, whose first 16 bytes have been the same in all of them.
    pub(crate) unsafe fn check(table: *const MathTable, source: &Path) -> Result<Self, Error> {
        let stale = |reason: String| Error::Stale {
            path: source.to_owned(),
            reason,
        };
        if table.is_null() {
            return Err(stale("it gives no function table".to_owned()));
        }
        // SAFETY: non-null, and size and version are where they are in every version of the table.
        let (size_bytes, abi_version) = unsafe {
            (
                (&raw const (*table).size_bytes).read(),
                (&raw const (*table).abi_version).read(),
            )
        };
        if abi_version != ABI_VERSION {
            return Err(stale(format!(
                "it speaks ABI version {abi_version}, this build needs {ABI_VERSION}"
            )));
        }
        if size_bytes < size_of::<MathTable>() as u64 {
            return Err(stale(format!(
                "its function table has {size_bytes} bytes, this build needs {}",
                size_of::<MathTable>()
            )));
        }
        // SAFETY: the hash lies within the size just read.
        if unsafe { (&raw const (*table).abi_hash).read() } != ABI_HASH {
            return Err(stale("it was built from another agpu.h".to_owned()));
        }
        // SAFETY: version, size and hash agree, so the layout is that of this build.
        let table = unsafe { table.read() };
        let lacks = |name: &str| stale(format!("its function table lacks {name}"));
        Ok(Self {
            activation: table.activation.ok_or_else(|| lacks("activation"))?,
            softmax: table.softmax.ok_or_else(|| lacks("softmax"))?,
            dense_forward: table.dense_forward.ok_or_else(|| lacks("dense_forward"))?,
            adaptive_learning_rate: table
                .adaptive_learning_rate
                .ok_or_else(|| lacks("adaptive_learning_rate"))?,
            momentum_update: table
                .momentum_update
                .ok_or_else(|| lacks("momentum_update"))?,
            last_error: table.last_error.ok_or_else(|| lacks("last_error"))?,
        })
    }

    /// What a status means; the message is fetched when it is a failure.
    ///
    /// # Safety
    ///
    /// To be called on the thread that owns the runtime, directly after the call that returned `status`.
    pub(crate) unsafe fn outcome(&self, status: i32) -> Result<(), Error> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: passed on from the caller.
        let message = unsafe { self.last_message() };
        Err(match ErrorCode::from_status(status) {
            ErrorCode::ForeignError => Error::Foreign { message },
            kind => Error::Refused { kind, message },
        })
    }

    /// # Safety
    ///
    /// On the thread that owns the runtime.
    unsafe fn last_message(&self) -> String {
        let mut bytes = vec![0_u8; 512];
        // Twice at most: the second buffer has room for all of it.
        for _ in 0..2 {
            // SAFETY: the buffer has the capacity it states.
            let len = unsafe { (self.last_error)(bytes.as_mut_ptr().cast(), bytes.len() as u64) };
            let len = (len as usize).min(MAX_MESSAGE_BYTES);
            if len <= bytes.len() {
                bytes.truncate(len);
                break;
            }
            bytes.resize(len, 0);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
