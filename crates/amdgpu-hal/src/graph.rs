//! Graphs: commands that are recorded once and replayed with one call.

use std::any::Any;
use std::fmt;
use std::fmt::Debug;
use std::sync::Arc;

use crate::{CopyDirection, DevicePointer, Function, LaunchConfig, Result};

/// What a graph does, in the order in which it was recorded.
///
/// Commands of one lane run in order, lanes run beside each other. A step waits only for marks that a step before it sets, so the order of
/// recording is always one in which everything could run.
#[derive(Clone, Debug, Default)]
pub struct GraphPlan {
    pub steps: Vec<GraphStep>,
    /// Lanes are numbered from 0; all of them are below this.
    pub lane_count: usize,
    /// Marks are numbered from 0; each is set by one step.
    pub mark_count: usize,
}

/// One command on one lane.
#[derive(Clone, Debug)]
pub struct GraphStep {
    pub lane: usize,
    pub command: GraphCommand,
}

/// What a graph can do.
#[derive(Clone, Debug)]
pub enum GraphCommand {
    Launch {
        function: Arc<dyn Function>,
        config: LaunchConfig,
        /// The packed argument block.
        arguments: Arc<[u8]>,
    },
    Copy {
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        direction: CopyDirection,
    },
    Fill {
        destination: DevicePointer,
        value: u8,
        bytes: u64,
    },
    /// Host code, on devices that are the host; graphs of GPUs refuse it.
    Call(GraphFunction),
    /// A point of the lane that others can wait for.
    Mark(usize),
    /// Holds the lane back until the mark is passed.
    Wait(usize),
}

/// Host code of a graph. It runs in every replay; an error it returns ends the lane and sticks to the stream.
#[derive(Clone)]
pub struct GraphFunction(pub Arc<dyn Fn() -> Result<()> + Send + Sync>);

impl Debug for GraphFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GraphFunction")
    }
}

/// A graph that is ready to be replayed, made by [`crate::Device::create_graph`].
pub trait Graph: Debug + Send + Sync {
    /// For the backend that made it.
    fn as_any(&self) -> &dyn Any;
}
