//! Graphs of the null backend: each replay is checked, and nothing of it runs.

use std::any::Any;

use super::module::NullFunction;
use super::stream::NullStream;
use crate::{Error, Graph, GraphCommand, GraphPlan, Result, Stream};

/// A plan.
#[derive(Debug)]
pub struct NullGraph(GraphPlan);

impl NullGraph {
    pub(super) fn new(plan: GraphPlan, device: &str) -> Result<Self> {
        let is_foreign = plan.steps.iter().any(|step| match &step.command {
            GraphCommand::Launch { function, .. } => !function.as_any().is::<NullFunction>(),
            _ => false,
        });
        if is_foreign {
            return Err(Error::WrongBackend {
                what: "the kernel",
                device: device.to_string(),
            });
        }
        Ok(Self(plan))
    }

    /// # Safety
    /// As for [`Stream::replay`].
    pub(super) unsafe fn replay(&self, stream: &NullStream) -> Result<()> {
        for step in &self.0.steps {
            match &step.command {
                GraphCommand::Launch {
                    function,
                    config,
                    arguments,
                } => {
                    // SAFETY: the caller's contract is the same.
                    unsafe { stream.launch(function.as_ref(), config, arguments) }?;
                }
                GraphCommand::Copy {
                    destination,
                    source,
                    bytes,
                    direction,
                } => {
                    // SAFETY: as above.
                    unsafe { stream.copy(*destination, *source, *bytes, *direction) }?;
                }
                GraphCommand::Fill {
                    destination,
                    value,
                    bytes,
                } => {
                    // SAFETY: as above.
                    unsafe { stream.fill(*destination, *value, *bytes) }?;
                }
                GraphCommand::Mark(_) | GraphCommand::Wait(_) => {}
            }
        }
        Ok(())
    }
}

impl Graph for NullGraph {
    fn as_any(&self) -> &dyn Any {
        self
    }
}
