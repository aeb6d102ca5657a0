//! Graphs of the CPU backend: checked lists, run without asking anything per command.
//!
//! The stream that replays runs lane 0; every further lane has a queue of its own. What one replay waits for was submitted before it, and a
//! replay is submitted to all its queues at once, so replays cannot wait for each other in a circle. `tests/order_model.rs` tries it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::cancel::{self, CancelFlag};
use super::command::Command;
use super::event::Completion;
use super::launch::{self, PackedArguments};
use super::module::CpuFunction;
use super::queue::{Mode, Queue};
use super::sync::Mutex;
use crate::{
    DevicePointer, Error, Graph, GraphCommand, GraphFunction, GraphPlan, LaunchConfig, Result,
};

/// A graph; clones are the same.
#[derive(Clone, Debug)]
pub struct CpuGraph(Arc<Recorded>);

#[derive(Debug)]
struct Recorded {
    lanes: Vec<Vec<Step>>,
    mark_count: usize,
    /// One for each lane after the first.
    queues: Vec<Arc<Queue>>,
    /// The end of the latest replay, behind which the next one begins.
    latest: Mutex<Option<Arc<Completion>>>,
}

enum Step {
    Launch {
        function: CpuFunction,
        config: LaunchConfig,
        arguments: PackedArguments,
    },
    Copy {
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
    },
    Fill {
        destination: DevicePointer,
        value: u8,
        bytes: u64,
    },
    Call(GraphFunction),
    Mark(usize),
    Wait(usize),
}

impl std::fmt::Debug for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Launch { .. } => "Launch",
            Self::Copy { .. } => "Copy",
            Self::Fill { .. } => "Fill",
            Self::Call(_) => "Call",
            Self::Mark(_) => "Mark",
            Self::Wait(_) => "Wait",
        })
    }
}

impl CpuGraph {
    pub(super) fn new(plan: GraphPlan) -> Result<Self> {
        let mut lanes: Vec<Vec<Step>> = Vec::new();
        lanes.resize_with(plan.lane_count.max(1), Vec::new);
        for step in plan.steps {
            lanes[step.lane].extend(compile(step.command, plan.lane_count)?);
        }
        let queues = (1..lanes.len())
            .map(|_| Queue::new(Mode::Asynchronous))
            .collect();
        Ok(Self(Arc::new(Recorded {
            lanes,
            mark_count: plan.mark_count,
            queues,
            latest: Mutex::new(None),
        })))
    }

    /// Hands one replay to the stream behind `queue` and to the lanes' own queues.
    ///
    /// All of them get it under one lock: every queue has the replays in the same order, so what a replay waits for stands before it wherever
    /// both are. The lock is free again before an idle default stream runs the whole graph inside this call; others may replay meanwhile.
    pub(super) fn replay(&self, queue: &Arc<Queue>) -> Result<()> {
        let mut latest = self.0.latest.lock().unwrap_or_else(PoisonError::into_inner);
        for lane_queue in &self.0.queues {
            lane_queue.prepare()?;
        }
        let run = Arc::new(Run {
            graph: Arc::clone(&self.0),
            cancelled: Arc::clone(queue.cancel_flag()),
            before: latest.clone(),
            begun: Completion::default(),
            marks: completions(self.0.mark_count),
            lane_ends: completions(self.0.queues.len()),
            ended: Arc::default(),
        });
        let part = |lane| {
            let run = Arc::clone(&run);
            Command::Replay(Replay { run, lane })
        };
        let inline = queue.enqueue(part(0))?;
        for (index, lane_queue) in self.0.queues.iter().enumerate() {
            lane_queue.append(part(index + 1));
        }
        *latest = Some(Arc::clone(&run.ended));
        drop(latest);
        if let Some(inline) = inline {
            inline.run();
        }
        Ok(())
    }
}

fn completions(count: usize) -> Box<[Completion]> {
    std::iter::repeat_with(Completion::default)
        .take(count)
        .collect()
}

fn compile(command: GraphCommand, lane_count: usize) -> Result<Option<Step>> {
    Ok(Some(match command {
        GraphCommand::Launch {
            function,
            config,
            arguments,
        } => Step::Launch {
            function: function
                .as_any()
                .downcast_ref::<CpuFunction>()
                .cloned()
                .ok_or_else(|| Error::WrongBackend {
                    what: "the kernel",
                    device: "cpu:0".to_string(),
                })?,
            config,
            arguments: PackedArguments::new(&arguments),
        },
        GraphCommand::Copy {
            destination,
            source,
            bytes,
            ..
        } => Step::Copy {
            destination,
            source,
            bytes,
        },
        GraphCommand::Fill {
            destination,
            value,
            bytes,
        } => Step::Fill {
            destination,
            value,
            bytes,
        },
        GraphCommand::Call(function) => Step::Call(function),
        // One lane is in order by itself.
        GraphCommand::Mark(_) | GraphCommand::Wait(_) if lane_count <= 1 => return Ok(None),
        GraphCommand::Mark(mark) => Step::Mark(mark),
        GraphCommand::Wait(mark) => Step::Wait(mark),
    }))
}

impl Step {
    fn run(&self, run: &Run, failure: &mut Option<Error>) {
        let outcome = match self {
            Self::Mark(mark) => {
                run.marks[*mark].complete(failure.as_ref());
                Ok(())
            }
            Self::Wait(mark) => run.marks[*mark].wait(),
            _ if failure.is_some() => Ok(()),
            Self::Launch {
                function,
                config,
                arguments,
            } => {
                // SAFETY: the caller of `Stream::replay` vouches for arguments, limits and memory.
                unsafe { launch::run(function, config, arguments.as_slice()) }
            }
            Self::Copy {
                destination,
                source,
                bytes,
            } => {
                // SAFETY: the caller of `Stream::replay` keeps both ranges valid until the replay is over; they lie apart.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        source.as_mut_ptr::<u8>().cast_const(),
                        destination.as_mut_ptr::<u8>(),
                        *bytes as usize,
                    );
                }
                Ok(())
            }
            Self::Fill {
                destination,
                value,
                bytes,
            } => {
                // SAFETY: as above.
                unsafe {
                    std::ptr::write_bytes(destination.as_mut_ptr::<u8>(), *value, *bytes as usize);
                }
                Ok(())
            }
            Self::Call(function) => catch_unwind(AssertUnwindSafe(|| (function.0)()))
                .unwrap_or_else(|payload| Err(Error::from_panic(payload.as_ref()))),
        };
        if let Err(error) = outcome {
            failure.get_or_insert(error);
        }
    }
}

/// One replay: what its lanes tell each other.
#[derive(Debug)]
struct Run {
    graph: Arc<Recorded>,
    /// Of the stream that replays: it stops all lanes.
    cancelled: Arc<CancelFlag>,
    before: Option<Arc<Completion>>,
    begun: Completion,
    marks: Box<[Completion]>,
    lane_ends: Box<[Completion]>,
    ended: Arc<Completion>,
}

impl Run {
    fn run_lane(&self, lane: usize, mut failure: Option<Error>) -> Option<Error> {
        for step in &self.graph.lanes[lane] {
            step.run(self, &mut failure);
        }
        failure
    }

    /// Waits for the replay before, unless the stream has failed or is cancelled; gives the error that keeps this one from running.
    fn begin(&self, failure: Option<&Error>) -> Option<Error> {
        let before = self.before.as_ref();
        let skipped = failure.cloned().or_else(|| {
            // The error of the replay before belongs to the stream it ran in, but not a cancellation of this one.
            let waited = before.map(|before| before.wait_unless_cancelled());
            let is_over = before.is_none_or(|before| before.is_complete());
            waited.and_then(Result::err).filter(|_| !is_over)
        });
        self.begun.complete(skipped.as_ref());
        skipped
    }

    /// Lets the next replay begin: at once, or where this one was skipped, behind the one before, which it did not wait for.
    fn end(&self) {
        match &self.before {
            Some(before) => before.pass_on(&self.ended),
            None => self.ended.complete(None),
        }
    }
}

/// The part of one lane in one replay, as a command of a queue.
#[derive(Debug)]
pub(super) struct Replay {
    run: Arc<Run>,
    lane: usize,
}

impl Replay {
    /// Whether running it now would not have to wait for another replay.
    pub fn is_ready(&self) -> bool {
        self.awaited().is_none_or(|before| before.is_complete())
    }

    /// The replay before, for the lane that waits for it.
    pub fn awaited(&self) -> Option<Arc<Completion>> {
        self.run.before.clone().filter(|_| self.lane == 0)
    }

    /// Runs it; with an error that sticks to the stream, it only lets the others pass.
    pub fn run(self, failure: Option<&Error>) -> Result<()> {
        let run = &*self.run;
        if self.lane > 0 {
            let outcome = cancel::within(&run.cancelled, || {
                run.run_lane(self.lane, run.begun.wait().err())
            });
            // The stream that replays reports the error.
            run.lane_ends[self.lane - 1].complete(outcome.as_ref());
            return Ok(());
        }
        let skipped = run.begin(failure);
        let mut outcome = run.run_lane(0, skipped);
        for end in &run.lane_ends {
            outcome = outcome.or(end.wait().err());
        }
        run.end();
        if failure.is_none() && run.cancelled.is_requested() {
            outcome.get_or_insert_with(Error::cancelled);
        }
        // What stuck to the stream already is no news to it.
        outcome.filter(|_| failure.is_none()).map_or(Ok(()), Err)
    }
}

impl Graph for CpuGraph {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        for queue in &self.queues {
            queue.close();
        }
    }
}
