//! Graphs that run: memory is planned once, then every call computes the steps in order.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, recording};
use amdgpu_aura::OpenDevice;
use amdgpu_hal::MemoryKind;
use amdgpu_ops::{DeviceOps, Operand};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::passes::Report;
use crate::replay::{Addresses, Order, Recordings, Replaying, Results, order_of};
use crate::watch::{Timing, Watched};
use crate::{
    Error, Graph, Input, Kind, Layout, Node, NodeId, Place, Plan, Replay, ReplayCounts, Result,
};

/// A graph on a device, with planned memory. Runs of several threads have shared memory of their own each.
pub struct Executable {
    watched: Arc<Watched>,
    ops: Arc<DeviceOps>,
    /// For each operation with several results the nodes of those behind the first, by position.
    results: FxHashMap<NodeId, SmallVec<[(usize, NodeId); 2]>>,
    /// Nodes whose values lie in other memory in every run, in the order of computation.
    of_run: Vec<NodeId>,
    /// Memory of runs that are over.
    idle: Mutex<Vec<Values>>,
    replaying: Replaying,
}

/// The values of one run; those that a call gives or takes away are set for the run alone.
struct Values {
    arrays: Vec<Option<Array>>,
    /// Of runs in this memory.
    recordings: Recordings,
}

impl Executable {
    /// Plans a graph for a device.
    ///
    /// # Errors
    ///
    /// As [`Graph::verify`]; `wrong-device` for a constant of another device; the device is lost.
    pub fn new(graph: Graph, device: &Arc<OpenDevice>) -> Result<Self> {
        Self::with_replay(graph, device, Replay::Auto)
    }

    /// As [`Self::new`]; `replay` says whether runs are replayed as one graph of the device.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn with_replay(graph: Graph, device: &Arc<OpenDevice>, replay: Replay) -> Result<Self> {
        graph.verify()?;
        for (id, node) in graph.ids().zip(graph.nodes()) {
            if let Kind::Constant(array) = &node.kind
                && array.device_name() != device.name()
            {
                return Err(Error::refused(
                    ErrorCode::WrongDevice,
                    format!(
                        "the constant {id} is on {}, the graph runs on {}: move it there with `to(device)`",
                        array.device_name(),
                        device.name()
                    ),
                ));
            }
        }
        let plan = Plan::of(&graph);
        let replaying = Replaying::new(replay, device, constants(&graph));
        Ok(Self {
            results: results_of(&graph),
            of_run: graph
                .ids()
                .filter(|id| is_of_run(&plan, plan.places[id.index()]))
                .collect(),
            replaying,
            watched: Watched::new(graph, plan, device.name()),
            ops: DeviceOps::of(device)?,
            idle: Mutex::default(),
        })
    }

    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.watched.graph
    }

    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.watched.plan
    }

    /// Tells watchers what the graph is called, and what `report` says that the passes did.
    pub fn set_origin(&self, name: &str, report: &Report) {
        self.watched.set_origin(name, report);
    }

    /// Whether an array is on the device that the graph runs on.
    #[must_use]
    pub fn is_on(&self, array: &Array) -> bool {
        array
            .open_device()
            .is_some_and(|device| Arc::ptr_eq(device, self.ops.device()))
    }

    /// The outputs for these arguments, which have the shapes and dtypes of the graph's inputs.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`, `unsupported-dtype`, `wrong-device` for other arguments; what a node fails with.
    pub fn run(&self, arguments: &[Array]) -> Result<Vec<Array>> {
        let outputs = self.run_timed(arguments, None)?;
        self.watched.note_run(None);
        Ok(outputs)
    }

    /// As [`Self::run`], and how long each node took: the device is waited for after each.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn profile(&self, arguments: &[Array]) -> Result<(Vec<Array>, Vec<Timing>)> {
        let mut timings = Vec::new();
        let outputs = self.run_timed(arguments, Some(&mut timings))?;
        self.watched.note_run(Some(&timings));
        Ok((outputs, timings))
    }

    /// What runs, what the passes of `report` joined, and how much memory it takes, as text.
    #[must_use]
    pub fn explain(&self, report: &Report) -> String {
        let mut text = self.graph().to_string();
        text.push('\n');
        for note in &report.notes {
            text += note;
            text.push('\n');
        }
        if report.notes.is_empty() {
            text += "nothing was joined\n";
        }
        let _ = write!(
            text,
            "memory of values within the graph: {} bytes; {} if none shared it",
            self.plan().bytes,
            self.plan().unshared_bytes
        );
        text + "\n" + &self.explain_replays()
    }

    fn explain_replays(&self) -> String {
        let counts = self.replays();
        if let Some(reason) = counts.refusal {
            return format!("not replayed as one graph of the device: {reason}");
        }
        if counts.recordings == 0 {
            return "replayed as one graph of the device once arguments come to lie where they lay before"
                .to_owned();
        }
        format!(
            "replayed as one graph of the device: {} commands; {} recordings hold {} bytes beside that memory, and were replayed {} times",
            counts.commands, counts.recordings, counts.bytes, counts.replays
        )
    }

    /// How replays went.
    #[must_use]
    pub fn replays(&self) -> ReplayCounts {
        self.replaying.counts()
    }

    fn run_timed(
        &self,
        arguments: &[Array],
        timings: Option<&mut Vec<Timing>>,
    ) -> Result<Vec<Array>> {
        // Its memory serves the next run as well, which a replay would not know.
        recording::check_not_recording("running a graph of operations")?;
        let arguments = self.checked(arguments)?;
        let idle = self.lock_idle().pop();
        let mut values = match idle {
            Some(values) => values,
            None => self.make_values()?,
        };
        let outcome = match timings {
            None => self.run_in(&mut values, &arguments),
            Some(timings) => self
                .results()
                .map(|results| self.place_arguments(&mut values.arrays, &arguments, results))
                .and_then(|()| self.steps(&values.arrays, Some(timings)))
                .and_then(|_| self.outputs(&values.arrays)),
        };
        for id in &self.of_run {
            values.arrays[id.index()] = None;
        }
        self.lock_idle().push(values);
        outcome
    }

    fn run_in(&self, values: &mut Values, arguments: &[Array]) -> Result<Vec<Array>> {
        let read = || arguments.iter().chain(constants(self.graph()));
        let order = if self.replaying.is_refused() {
            values.recordings.clear(&self.replaying);
            None
        } else {
            order_of(self.ops.device(), read())
        };
        let Some(order) = order else {
            self.place_arguments(&mut values.arrays, arguments, self.results()?);
            self.steps(&values.arrays, None)?;
            return self.outputs(&values.arrays);
        };
        let Values { arrays, recordings } = values;
        let addresses: Addresses = arguments
            .iter()
            .map(|array| array.address().address())
            .collect();
        let choice = recordings.choose(&self.replaying, &addresses, || self.results())?;
        self.place_arguments(arrays, arguments, choice.results.clone());
        let is_recorded = choice.is_recorded
            || (recordings.is_due(&self.replaying, &addresses, &choice)
                && recordings.record(
                    &self.replaying,
                    (addresses, &choice),
                    blocks(arrays.iter().flatten().chain(arguments)),
                    || self.steps(arrays, None),
                ));
        if is_recorded {
            self.hold_back(read().chain(&choice.results), order)?;
            // SAFETY: arguments, constants, results and values are held, and lie where the recording has them.
            unsafe { recordings.replay(&self.replaying, self.ops.device(), order) }?;
        } else {
            let outside = self.steps(arrays, None)?;
            // The host's functions do otherwise what kernels do in a recording, which tells itself.
            let outside = outside.filter(|_| !self.ops.computes_on_host());
            self.replaying.learn(outside);
        }
        self.outputs(arrays)
    }

    /// Lets a replay begin behind what streams were given to do with its memory.
    fn hold_back<'a>(&self, memory: impl Iterator<Item = &'a Array>, order: Order) -> Result<()> {
        let device = self.ops.device().device();
        for array in memory.filter(|array| array.has_uses()) {
            let uses = array.storage().uses();
            match order {
                Order::Queued => uses.hold_back(device.default_stream(), device),
                Order::Waited => uses.finish(),
            }
            .map_err(amdgpu_array::Error::from)?;
        }
        Ok(())
    }

    /// New arrays for what is computed in memory of the caller's.
    fn results(&self) -> Result<Results> {
        let is_result = |id: &&NodeId| matches!(self.plan().places[id.index()], Place::Output(_));
        let results = self.of_run.iter().filter(is_result);
        results
            .map(|id| self.empty(self.graph().node(*id)))
            .collect()
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<Values>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The arguments without gaps.
    fn checked(&self, arguments: &[Array]) -> Result<SmallVec<[Array; 4]>> {
        let inputs = self.graph().inputs();
        if arguments.len() != inputs.len() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "the graph takes {} arguments, not {}",
                    inputs.len(),
                    arguments.len()
                ),
            ));
        }
        let mut checked = SmallVec::new();
        for (position, (argument, id)) in arguments.iter().zip(inputs).enumerate() {
            argument.check_alive()?;
            let node = self.graph().node(*id);
            if argument.shape != node.shape {
                return Err(Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!(
                        "argument {position} has shape {:?}; the graph was made for {:?}",
                        argument.shape.as_slice(),
                        node.shape.as_slice()
                    ),
                ));
            }
            if argument.dtype != node.dtype {
                return Err(Error::refused(
                    ErrorCode::UnsupportedDtype,
                    format!(
                        "argument {position} has dtype {}; the graph was made for {}",
                        argument.dtype.name().unwrap_or("?"),
                        node.dtype.name().unwrap_or("?")
                    ),
                ));
            }
            amdgpu_ops::check_device("graph", "argument", argument, self.ops.device())?;
            if argument.is_contiguous() {
                checked.push(argument.clone());
            } else {
                checked.push(self.copied(argument)?);
            }
        }
        Ok(checked)
    }

    fn copied(&self, array: &Array) -> Result<Array> {
        let x = Operand::of_array(array.clone());
        Ok(amdgpu_ops::cast(&self.ops, &x, array.dtype, None)?)
    }

    fn empty(&self, node: &Node) -> Result<Array> {
        let shape = node.shape.clone();
        Ok(Array::empty(
            self.ops.device(),
            shape,
            node.dtype,
            MemoryKind::Device,
        )?)
    }

    fn make_values(&self) -> Result<Values> {
        let memory = Array::empty(
            self.ops.device(),
            Dims::from_slice(&[self.plan().bytes.cast_signed()]),
            Dtype::U8,
            MemoryKind::Device,
        )?;
        let mut arrays: Vec<Option<Array>> = Vec::with_capacity(self.graph().nodes().len());
        for (node, place) in self.graph().nodes().iter().zip(&self.plan().places) {
            arrays.push(match (place, &node.kind) {
                (Place::Shared(offset), _) => {
                    let layout = Layout {
                        offset_bytes: offset.cast_signed(),
                        ..Layout::dense(&node.shape)
                    };
                    Some(seen(&memory, node.dtype, &layout))
                }
                (Place::Constant, Kind::Constant(array)) => Some(array.clone()),
                (Place::Within(_), Kind::View(layout)) if !is_of_run(self.plan(), *place) => {
                    shown(&arrays, node, layout)
                }
                (Place::Within(root), Kind::Result(_)) if !is_of_run(self.plan(), *place) => {
                    arrays[root.index()].clone()
                }
                _ => None,
            });
        }
        Ok(Values {
            arrays,
            recordings: Recordings::default(),
        })
    }

    /// Sets what is other memory in every run: arguments, results, and views of both.
    fn place_arguments(&self, arrays: &mut [Option<Array>], arguments: &[Array], results: Results) {
        let mut results = results.into_iter();
        for id in &self.of_run {
            let node = self.graph().node(*id);
            arrays[id.index()] = match (self.plan().places[id.index()], &node.kind) {
                (Place::Input(position), _) => Some(arguments[position].clone()),
                (Place::Output(_), _) => results.next(),
                (Place::Within(root), Kind::Result(_)) => arrays[root.index()].clone(),
                (_, Kind::View(layout)) => shown(arrays, node, layout),
                _ => None,
            };
        }
    }

    /// Computes all nodes; gives what of it no graph of a device holds. A recording ends there.
    fn steps(
        &self,
        arrays: &[Option<Array>],
        mut timings: Option<&mut Vec<Timing>>,
    ) -> Result<Option<String>> {
        let mut outside = None;
        let _ = recording::take_outside();
        for (id, node) in self.graph().ids().zip(self.graph().nodes()) {
            if !node.is_computed() {
                continue;
            }
            let begin = Instant::now();
            self.step(node, id, arrays)?;
            if let Some(what) = recording::take_outside() {
                outside.get_or_insert_with(|| format!("{id} ({}): {what}", node.operation_name()));
                if recording::is_recording() {
                    return Ok(outside);
                }
            }
            if let Some(timings) = timings.as_deref_mut() {
                if let Some(array) = &arrays[id.index()] {
                    array.wait()?;
                }
                timings.push(Timing {
                    node: id,
                    seconds: begin.elapsed().as_secs_f64(),
                });
            }
        }
        Ok(outside)
    }

    fn step(&self, node: &Node, id: NodeId, arrays: &[Option<Array>]) -> Result<()> {
        let missing = || Error::refused(ErrorCode::Internal, format!("node {id} has no memory"));
        let mut inputs: SmallVec<[Operand; 4]> = SmallVec::new();
        for input in &node.inputs {
            inputs.push(match input {
                Input::Number(number, dtype) => Operand::of_number(*number, *dtype),
                Input::Node(read) => {
                    Operand::of_array(arrays[read.index()].clone().ok_or_else(missing)?)
                }
            });
        }
        let out = arrays[id.index()].as_ref().ok_or_else(missing)?;
        let done = match &node.kind {
            Kind::Operation(operation) => operation
                .run_all(&self.ops, &inputs, &self.outs(node, id, arrays))
                .map(|_| out.clone()),
            Kind::Rows(chain) => chain
                .run(&self.ops, &inputs, &self.outs(node, id, arrays))
                .map(|_| out.clone()),
            Kind::Fused(region) => region.run(&self.ops, &inputs, Some(out)),
            Kind::FusedRows(rows) => rows.run(&self.ops, &inputs, Some(out)),
            Kind::Assign(layout) => amdgpu_ops::cast(&self.ops, &inputs[0], node.dtype, Some(out))
                .and_then(|_| {
                    let target = seen(out, inputs[1].dtype, layout);
                    amdgpu_ops::cast(&self.ops, &inputs[1], inputs[1].dtype, Some(&target))
                }),
            _ => Ok(out.clone()),
        };
        done.map(drop).map_err(|source| Error::Node {
            node: format!("{id} ({})", node.operation_name()),
            source: Box::new(source),
        })
    }

    /// Memory for each result of a node.
    fn outs<'a>(
        &self,
        node: &Node,
        id: NodeId,
        arrays: &'a [Option<Array>],
    ) -> SmallVec<[Option<&'a Array>; 3]> {
        let mut outs = SmallVec::from_elem(None, node.results());
        outs[0] = arrays[id.index()].as_ref();
        for (index, result) in self.results.get(&id).into_iter().flatten() {
            outs[*index] = arrays[result.index()].as_ref();
        }
        outs
    }

    fn outputs(&self, arrays: &[Option<Array>]) -> Result<Vec<Array>> {
        let mut outputs = Vec::with_capacity(self.graph().outputs().len());
        for (position, id) in self.graph().outputs().iter().enumerate() {
            let array = arrays[id.index()].as_ref().ok_or_else(|| {
                Error::refused(
                    ErrorCode::Internal,
                    format!("output {position} has no memory"),
                )
            })?;
            let is_again = self.graph().outputs()[..position].contains(id);
            let root = match self.plan().places[id.index()] {
                Place::Within(root) => self.plan().places[root.index()],
                place => place,
            };
            if matches!(root, Place::Output(_)) && !is_again {
                outputs.push(array.clone());
            } else {
                outputs.push(self.copied(array)?);
            }
        }
        Ok(outputs)
    }
}

/// Whether a value's memory is another one in every run.
fn is_of_run(plan: &Plan, place: Place) -> bool {
    match place {
        Place::Input(_) | Place::Output(_) => true,
        Place::Within(root) => is_of_run(plan, plan.places[root.index()]),
        _ => false,
    }
}

/// Where the blocks of memory begin that arrays lie in.
fn blocks<'a>(arrays: impl Iterator<Item = &'a Array>) -> Vec<u64> {
    let ranges = arrays.filter_map(|array| array.storage().block_range());
    ranges.map(|(first, _)| first).collect()
}

fn constants(graph: &Graph) -> impl Iterator<Item = &Array> {
    graph.nodes().iter().filter_map(|node| match &node.kind {
        Kind::Constant(array) => Some(array),
        _ => None,
    })
}

/// The nodes of results behind the first, for each operation that has several. Of two for one result the first counts.
fn results_of(graph: &Graph) -> FxHashMap<NodeId, SmallVec<[(usize, NodeId); 2]>> {
    let mut results: FxHashMap<NodeId, SmallVec<[(usize, NodeId); 2]>> = FxHashMap::default();
    for (id, node) in graph.ids().zip(graph.nodes()) {
        if let (Kind::Result(index), Some(operation)) = (&node.kind, node.reads().next()) {
            let known = results.entry(operation).or_default();
            if !known.iter().any(|(other, _)| other == index) {
                known.push((*index, id));
            }
        }
    }
    results
}

/// The view that a node shows of the array that it reads.
fn shown(arrays: &[Option<Array>], node: &Node, layout: &Layout) -> Option<Array> {
    let of = node.reads().next()?;
    let array = arrays[of.index()].as_ref()?;
    Some(seen(array, node.dtype, layout))
}

/// Memory of an array without gaps as a view shows it.
fn seen(array: &Array, dtype: Dtype, layout: &Layout) -> Array {
    array.seen_as(
        layout.offset_bytes,
        dtype,
        (layout.shape.clone(), layout.strides.clone()),
    )
}
