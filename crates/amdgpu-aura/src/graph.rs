//! Graphs: launches, copies and fills recorded once, replayed with one call and without checking anything again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_hal as hal;
use amdgpu_hal::{
    CopyDirection, DevicePointer, GraphCommand, GraphPlan, GraphStep, LaunchConfig, Stream,
};
use amdgpu_telemetry::{Kind, NameId, intern, now_ns, span};

use crate::error::{Error, Result};
use crate::kernel::{Kernel, LaunchTimes, PackedArguments};
use crate::messages::PrintfBuffer;
use crate::open_device::OpenDevice;

/// Where a command was submitted: a stream, by its number, or no stream, which means that the program waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    Waited,
    Stream(u64),
}

impl Lane {
    /// The lane of a launch in `stream`.
    #[must_use]
    pub fn of(stream: Option<&Arc<dyn Stream>>) -> Self {
        stream.map_or(Self::Waited, |stream| Self::Stream(stream.id()))
    }
}

/// One command of a graph, as its user sees it.
#[derive(Clone)]
pub struct GraphNode {
    pub kind: &'static str,
    /// The kernel of a launch.
    pub kernel: Option<Arc<Kernel>>,
    pub config: Option<LaunchConfig>,
    pub bytes: Option<u64>,
    pub lane: Lane,
    /// Its place in the plan.
    step: usize,
}

/// Records commands in the order in which a program submits them.
///
/// Commands of one stream stay in order, and streams run beside each other unless an event orders them. What the program would have waited
/// for is over before anything that it submits afterwards.
#[derive(Default)]
pub struct GraphRecorder {
    device: Option<Arc<OpenDevice>>,
    nodes: Vec<GraphNode>,
    /// Of the launches, by node.
    arguments: HashMap<usize, PackedArguments>,
    plan: GraphPlan,
    lanes: HashMap<Lane, LaneState>,
    /// Commands on [`Lane::Waited`] so far, and the mark behind the latest of them where one was needed.
    waited: u64,
    waited_mark: Option<(u64, usize)>,
}

struct LaneState {
    index: usize,
    /// Commands on [`Lane::Waited`] that this lane is known to be behind.
    seen: u64,
}

impl GraphRecorder {
    /// Make the graph one of this device; a graph has one.
    fn bind(&mut self, device: &Arc<OpenDevice>) -> Result<()> {
        match &self.device {
            None => self.device = Some(Arc::clone(device)),
            Some(own) if own.name() == device.name() => {}
            Some(own) => {
                return Err(refuse(
                    "work on two devices",
                    format!(
                        "the graph began on {}, and this is for {}; record a graph for each",
                        own.name(),
                        device.name()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The device of what was recorded so far.
    #[must_use]
    pub fn device_name(&self) -> Option<&str> {
        self.device.as_deref().map(OpenDevice::name)
    }

    /// A launch with arguments that this kernel packed.
    ///
    /// # Errors
    ///
    /// A closed device, a second device.
    pub fn launch(
        &mut self,
        kernel: &Arc<Kernel>,
        config: LaunchConfig,
        arguments: &PackedArguments,
        lane: Lane,
    ) -> Result<()> {
        kernel.shared.check_open()?;
        self.bind(kernel.shared.open_device())?;
        let command = kernel.graph_command(config, arguments);
        let node = GraphNode {
            kind: "launch",
            kernel: Some(Arc::clone(kernel)),
            config: Some(config),
            bytes: None,
            lane,
            step: 0,
        };
        self.arguments.insert(self.nodes.len(), arguments.clone());
        self.push(node, command);
        Ok(())
    }

    /// A copy between memory that the graph's user keeps in place.
    ///
    /// # Errors
    ///
    /// A second device, host memory that a GPU does not reach by itself.
    pub fn copy(
        &mut self,
        device: &Arc<OpenDevice>,
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        direction: CopyDirection,
    ) -> Result<()> {
        self.bind(device)?;
        let takes_host_memory = device.info().capabilities.graph_host_copies;
        if !takes_host_memory && direction != CopyDirection::DeviceToDevice {
            return Err(refuse(
                "a copy from or to ordinary host memory",
                "the driver stages it through memory of its own; use amdgpu.allocate_memory(..., kind=\"pinned\") for the host's side"
                    .to_owned(),
            ));
        }
        let command = GraphCommand::Copy {
            destination,
            source,
            bytes,
            direction,
        };
        self.push(memory_node("copy", bytes), command);
        Ok(())
    }

    /// A fill of memory that the graph's user keeps in place.
    ///
    /// # Errors
    ///
    /// A second device.
    pub fn fill(
        &mut self,
        device: &Arc<OpenDevice>,
        destination: DevicePointer,
        value: u8,
        bytes: u64,
    ) -> Result<()> {
        self.bind(device)?;
        let command = GraphCommand::Fill {
            destination,
            value,
            bytes,
        };
        self.push(memory_node("fill", bytes), command);
        Ok(())
    }

    /// A point of a lane that others can wait for.
    pub fn mark(&mut self, lane: Lane) -> usize {
        let lane = self.enter(lane);
        self.new_mark(lane)
    }

    /// Hold a lane back until a mark of this recorder.
    pub fn wait(&mut self, lane: Lane, mark: usize) {
        let lane = self.enter(lane);
        self.step(lane, GraphCommand::Wait(mark));
    }

    fn push(&mut self, node: GraphNode, command: GraphCommand) {
        let lane = self.enter(node.lane);
        if node.lane == Lane::Waited {
            self.waited += 1;
        }
        self.nodes.push(GraphNode {
            step: self.plan.steps.len(),
            ..node
        });
        self.step(lane, command);
    }

    fn step(&mut self, lane: usize, command: GraphCommand) {
        self.plan.steps.push(GraphStep { lane, command });
    }

    fn new_mark(&mut self, lane: usize) -> usize {
        let mark = self.plan.mark_count;
        self.plan.mark_count += 1;
        self.step(lane, GraphCommand::Mark(mark));
        mark
    }

    /// The number of a lane, which is behind everything that was waited for.
    fn enter(&mut self, lane: Lane) -> usize {
        let count = self.lanes.len();
        let state = self.lanes.entry(lane).or_insert(LaneState {
            index: count,
            seen: 0,
        });
        let index = state.index;
        if lane == Lane::Waited || state.seen == self.waited {
            return index;
        }
        state.seen = self.waited;
        let mark = match self.waited_mark {
            Some((waited, mark)) if waited == self.waited => mark,
            _ => {
                let waited_lane = self.lanes[&Lane::Waited].index;
                let mark = self.new_mark(waited_lane);
                self.waited_mark = Some((self.waited, mark));
                mark
            }
        };
        self.step(index, GraphCommand::Wait(mark));
        index
    }

    /// The graph, ready to be replayed.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn finish(mut self) -> Result<Graph> {
        self.plan.lane_count = self.lanes.len();
        let mut launches: Vec<(Arc<Kernel>, u64)> = Vec::new();
        for kernel in self.nodes.iter().filter_map(|node| node.kernel.as_ref()) {
            match launches
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, kernel))
            {
                Some((_, count)) => *count += 1,
                None => launches.push((Arc::clone(kernel), 1)),
            }
        }
        let built = match &self.device {
            Some(device) => Some(device.device().create_graph(self.plan.clone())?),
            None => None,
        };
        Ok(Graph {
            device: self.device,
            nodes: self.nodes,
            launches,
            name: intern("graph"),
            state: Mutex::new(State {
                arguments: self.arguments,
                plan: self.plan,
                built,
            }),
        })
    }
}

fn memory_node(kind: &'static str, bytes: u64) -> GraphNode {
    GraphNode {
        kind,
        kernel: None,
        config: None,
        bytes: Some(bytes),
        lane: Lane::Waited,
        step: 0,
    }
}

fn refuse(what: &str, reason: String) -> Error {
    Error::NotCapturable {
        what: what.to_owned(),
        reason,
    }
}

/// Recorded commands, which are replayed together.
pub struct Graph {
    /// Absent in a graph without commands.
    device: Option<Arc<OpenDevice>>,
    nodes: Vec<GraphNode>,
    /// How often each kernel is launched.
    launches: Vec<(Arc<Kernel>, u64)>,
    /// How records call it.
    name: NameId,
    state: Mutex<State>,
}

struct State {
    /// Of the launches, by node.
    arguments: HashMap<usize, PackedArguments>,
    plan: GraphPlan,
    /// What the device made of the plan; none after a change of it.
    built: Option<Arc<dyn hal::Graph>>,
}

impl Graph {
    /// Launches, copies and fills in the order of recording.
    #[must_use]
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    #[must_use]
    pub fn device_name(&self) -> Option<&str> {
        self.device.as_deref().map(OpenDevice::name)
    }

    /// A new event of the graph's device, `None` for a graph without commands.
    ///
    /// # Errors
    ///
    /// A closed device, or what the device reports.
    pub fn create_event(&self) -> Result<Option<Arc<dyn hal::Event>>> {
        let Some(device) = &self.device else {
            return Ok(None);
        };
        self.check_open()?;
        Ok(Some(device.device().create_event()?))
    }

    /// The argument block of a launch.
    #[must_use]
    pub fn arguments(&self, node: usize) -> Option<PackedArguments> {
        self.lock().arguments.get(&node).cloned()
    }

    /// Give a launch other arguments, which its kernel packed, from the next replay on.
    pub fn set_arguments(&self, node: usize, packed: &PackedArguments) {
        let Some((step, kernel, config)) = self.nodes.get(node).and_then(|entry| {
            let kernel = entry.kernel.as_ref()?;
            Some((entry.step, kernel, entry.config?))
        }) else {
            return;
        };
        let mut state = self.lock();
        state.plan.steps[step].command = kernel.graph_command(config, packed);
        state.arguments.insert(node, packed.clone());
        state.built = None;
    }

    /// Run everything: in `stream`, or on the default stream and wait.
    ///
    /// # Errors
    ///
    /// A closed device, or what the device reports.
    ///
    /// # Safety
    ///
    /// The memory that was recorded is valid until the replay has run.
    pub unsafe fn replay(&self, stream: Option<&Arc<dyn Stream>>) -> Result<LaunchTimes> {
        let start_ns = now_ns();
        let mut times = LaunchTimes {
            start_ns,
            duration_ns: 0,
        };
        let Some(device) = &self.device else {
            return Ok(times);
        };
        self.check_open()?;
        let graph = self.built(device)?;
        if let Some(stream) = stream {
            device.hold_back(stream.as_ref())?;
            // SAFETY: launches were checked when they were recorded; memory is the caller's promise.
            unsafe { stream.replay(graph.as_ref())? };
            if self.printf_buffers().next().is_some() {
                let end = device.device().create_event()?;
                stream.record(&end)?;
                self.printf_buffers()
                    .for_each(|buffer| buffer.launched(stream.id(), &end));
            }
        } else {
            let mut replay = span(Kind::Launch, self.name);
            replay.record.device = device.index();
            let stream = device.device().default_stream();
            // SAFETY: as above.
            unsafe { stream.replay(graph.as_ref())? };
            stream.synchronize()?;
            times.duration_ns = now_ns() - start_ns;
            self.printf_buffers()
                .try_for_each(|buffer| buffer.flush())?;
        }
        self.count_replay(times.duration_ns);
        Ok(times)
    }

    /// Counts the launches of a replay. Its time, where it was waited for, is exact; whose it is, is estimated from what launches of each kernel
    /// took elsewhere, and shared out evenly where that is not known.
    fn count_replay(&self, duration_ns: u64) {
        if duration_ns == 0 {
            for (kernel, count) in &self.launches {
                kernel.count_launches(*count);
            }
            return;
        }
        let is_known = self
            .launches
            .iter()
            .all(|(kernel, _)| kernel.typical_ns() > 0);
        let weight = |kernel: &Kernel| if is_known { kernel.typical_ns() } else { 1 };
        let total: u64 = self
            .launches
            .iter()
            .map(|(kernel, count)| weight(kernel).saturating_mul(*count))
            .sum();
        for (kernel, count) in &self.launches {
            let each_ns =
                u128::from(duration_ns) * u128::from(weight(kernel)) / u128::from(total.max(1));
            kernel.count_in_replay(*count, each_ns as u64);
        }
    }

    /// Where its kernels leave what they print.
    fn printf_buffers(&self) -> impl Iterator<Item = &Arc<PrintfBuffer>> {
        self.launches
            .iter()
            .filter_map(|(kernel, _)| kernel.printf_buffer())
    }

    /// Refuses when an opening was closed that a kernel is of.
    fn check_open(&self) -> Result<()> {
        let mut kernels = self.launches.iter();
        kernels.try_for_each(|(kernel, _)| kernel.shared.check_open())
    }

    fn built(&self, device: &OpenDevice) -> Result<Arc<dyn hal::Graph>> {
        let mut state = self.lock();
        if let Some(built) = &state.built {
            return Ok(Arc::clone(built));
        }
        let built = device.device().create_graph(state.plan.clone())?;
        state.built = Some(Arc::clone(&built));
        Ok(built)
    }

    /// The plan is whole whatever panicked.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use amdgpu_hal::registry;
    use amdgpu_memory::AllocatorOptions;

    use super::*;
    use crate::context::{Context, ContextOptions};
    use crate::shared::{CoreType, LaunchRecords};

    /// An opening of a device that no other test shares.
    fn open(name: &str) -> Context {
        let device = registry::open_device(name).unwrap();
        let options = ContextOptions {
            cores: CoreType::ALL.to_vec(),
            launch_records: LaunchRecords::None,
        };
        let device = OpenDevice::alone(device, 0, AllocatorOptions::default()).unwrap();
        Context::open(device, options).unwrap()
    }

    fn context() -> Context {
        open("cpu:0")
    }

    fn fill(recorder: &mut GraphRecorder, context: &Context, cell: &AtomicU64, value: u8) {
        let ptr = DevicePointer::from_host(cell.as_ptr());
        let device = context.open_device().unwrap();
        recorder.fill(device, ptr, value, 8).unwrap();
    }

    /// Lane and kind of every step, with the number of a mark.
    fn steps(recorder: &GraphRecorder) -> Vec<(usize, String)> {
        let kind = |command: &GraphCommand| match command {
            GraphCommand::Fill { .. } => "fill".to_owned(),
            GraphCommand::Mark(mark) => format!("mark {mark}"),
            GraphCommand::Wait(mark) => format!("wait {mark}"),
            _ => "other".to_owned(),
        };
        let entry = |step: &GraphStep| (step.lane, kind(&step.command));
        recorder.plan.steps.iter().map(entry).collect()
    }

    fn expect(recorder: &GraphRecorder, expected: &[(usize, &str)]) {
        let found = steps(recorder);
        let found: Vec<(usize, &str)> = found.iter().map(|(l, k)| (*l, k.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_command_that_was_waited_for_gets_a_mark_of_its_own() {
        let (context, cell) = (context(), AtomicU64::new(0));
        let mut recorder = GraphRecorder::default();
        let (first, second) = (Lane::Stream(1), Lane::Stream(2));
        fill(&mut recorder, &context, &cell, 1);
        recorder.mark(first);
        fill(&mut recorder, &context, &cell, 2);
        recorder.mark(first);
        // Behind the same command: the mark is there already.
        recorder.mark(second);
        // Nothing was waited for since.
        recorder.mark(first);
        expect(
            &recorder,
            &[
                (0, "fill"),
                (0, "mark 0"),
                (1, "wait 0"),
                (1, "mark 1"),
                (0, "fill"),
                (0, "mark 2"),
                (1, "wait 2"),
                (1, "mark 3"),
                (2, "wait 2"),
                (2, "mark 4"),
                (1, "mark 5"),
            ],
        );
    }

    #[test]
    fn a_lane_that_begins_behind_two_waited_commands_waits_for_the_second() {
        let (context, cell) = (context(), AtomicU64::new(0));
        let mut recorder = GraphRecorder::default();
        fill(&mut recorder, &context, &cell, 1);
        recorder.mark(Lane::Stream(1));
        fill(&mut recorder, &context, &cell, 2);
        recorder.mark(Lane::Stream(2));
        let found = steps(&recorder);
        assert_eq!(found.last().unwrap(), &(2, "mark 3".to_owned()));
        assert_eq!(found[found.len() - 2], (2, "wait 2".to_owned()));
        assert_eq!(found[found.len() - 3], (0, "mark 2".to_owned()));
    }

    #[test]
    fn a_lane_that_begins_before_anything_was_waited_for_waits_for_nothing() {
        let mut recorder = GraphRecorder::default();
        let mark = recorder.mark(Lane::Stream(1));
        recorder.wait(Lane::Stream(2), mark);
        expect(&recorder, &[(0, "mark 0"), (1, "wait 0")]);
    }

    #[test]
    fn a_replay_does_what_was_recorded_and_an_empty_graph_nothing() {
        let (context, cell) = (context(), AtomicU64::new(0));
        let mut recorder = GraphRecorder::default();
        assert_eq!(recorder.device_name(), None);
        fill(&mut recorder, &context, &cell, 3);
        fill(&mut recorder, &context, &cell, 7);
        assert_eq!(recorder.device_name(), Some("cpu:0"));
        let graph = recorder.finish().unwrap();
        assert_eq!(
            cell.load(Ordering::Relaxed),
            0,
            "nothing runs before the replay"
        );
        assert_eq!(graph.device_name(), Some("cpu:0"));
        let nodes: Vec<_> = graph.nodes().iter().map(|n| (n.kind, n.bytes)).collect();
        assert_eq!(nodes, [("fill", Some(8)), ("fill", Some(8))]);
        assert!(graph.create_event().unwrap().is_some());
        // SAFETY: the cell outlives the replay.
        let times = unsafe { graph.replay(None) }.unwrap();
        assert!(times.start_ns > 0 && times.duration_ns > 0);
        assert_eq!(cell.load(Ordering::Relaxed), 0x0707_0707_0707_0707);
        let empty = GraphRecorder::default().finish().unwrap();
        assert_eq!(empty.device_name(), None);
        assert!(empty.create_event().unwrap().is_none());
        // SAFETY: it uses no memory.
        let times = unsafe { empty.replay(None) }.unwrap();
        assert_eq!(times.duration_ns, 0);
    }

    #[test]
    fn a_graph_keeps_its_device_and_two_devices_do_not_mix() {
        let (own, cell) = (context(), AtomicU64::new(0));
        let other = open("null:gfx1100");
        let mut recorder = GraphRecorder::default();
        fill(&mut recorder, &own, &cell, 1);
        let ptr = DevicePointer::from_host(cell.as_ptr());
        let foreign = other.open_device().unwrap();
        let error = recorder.fill(foreign, ptr, 1, 8).unwrap_err();
        assert!(
            error.to_string().contains("the graph began on cpu:0"),
            "{error}"
        );
        let graph = recorder.finish().unwrap();
        own.close().unwrap();
        // SAFETY: the cell is alive, and nothing else uses it.
        unsafe { graph.replay(None) }.unwrap();
        assert_eq!(cell.load(Ordering::SeqCst), 0x0101_0101_0101_0101);
        assert!(matches!(own.open_device(), Err(Error::Closed { .. })));
    }
}
