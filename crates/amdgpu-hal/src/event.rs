//! Events: points in the order of a stream.

use std::any::Any;
use std::fmt::Debug;

use crate::Result;

/// A point in a stream that can be asked about, waited for and dated. Recording again moves it; waits that were submitted before keep the
/// point they had.
pub trait Event: Debug + Send + Sync {
    /// Whether everything before the point is done. True for an event never recorded.
    fn is_complete(&self) -> bool;

    /// Waits for the point. Returns the error that stuck to the stream at that point, if any.
    fn synchronize(&self) -> Result<()>;

    /// When the point was reached, in nanoseconds of [`crate::clock::now_ns`]; `None` before that.
    fn timestamp_ns(&self) -> Option<u64>;

    /// For the backend that made it.
    fn as_any(&self) -> &dyn Any;
}
