//! The graph: nodes in the order of their computation, with its inputs and outputs.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_ops::fused::Region;
use amdgpu_ops::operation::Described;
use amdgpu_ops::{Operation, TensorView};
use smallvec::SmallVec;

use crate::{Error, Input, Kind, Layout, Node, NodeId, Result};

/// Nodes, each after those it reads.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
}

impl Graph {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Arguments, in order.
    #[must_use]
    pub fn inputs(&self) -> &[NodeId] {
        &self.inputs
    }

    /// Results, in order.
    #[must_use]
    pub fn outputs(&self) -> &[NodeId] {
        &self.outputs
    }

    pub fn set_outputs(&mut self, outputs: Vec<NodeId>) {
        self.outputs = outputs;
    }

    /// A node.
    ///
    /// # Panics
    ///
    /// The graph has no such node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// Ids of all nodes, each after those it reads.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Adds a node whose shape and dtype are known.
    pub fn push(&mut self, node: Node) -> NodeId {
        debug_assert!(node.reads().all(|id| id.index() < self.nodes.len()));
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds an argument.
    pub fn add_input(&mut self, name: &str, shape: &[i64], dtype: Dtype) -> NodeId {
        let id = self.push(Node {
            kind: Kind::Input(self.inputs.len()),
            inputs: SmallVec::new(),
            shape: Dims::from_slice(shape),
            dtype,
            name: name.to_owned(),
        });
        self.inputs.push(id);
        id
    }

    /// Adds an array that is there; its strides may be any.
    pub fn add_constant(&mut self, name: &str, array: &Array) -> NodeId {
        self.push(Node {
            shape: array.shape.clone(),
            dtype: array.dtype,
            kind: Kind::Constant(array.clone()),
            inputs: SmallVec::new(),
            name: name.to_owned(),
        })
    }

    /// Adds an operation; its shape and dtype follow from those of its inputs.
    ///
    /// # Errors
    ///
    /// As [`Operation::describe`].
    pub fn add(&mut self, operation: Operation, inputs: &[Input]) -> Result<NodeId> {
        let (shape, dtype) = self.described(&operation, inputs)?.swap_remove(0);
        Ok(self.push(Node {
            kind: Kind::Operation(operation),
            inputs: SmallVec::from_slice(inputs),
            shape,
            dtype,
            name: String::new(),
        }))
    }

    /// Adds another result of an operation; the operation's own node is the result 0.
    ///
    /// # Errors
    ///
    /// `invalid-argument` where the node is no operation, or has no such result.
    pub fn add_result(&mut self, of: NodeId, index: usize) -> Result<NodeId> {
        let node = self.node(of);
        if index == 0 {
            return Ok(of);
        }
        let (name, results) = (node.operation_name(), node.results());
        let (shape, dtype) = match &node.kind {
            Kind::Operation(operation) if index < results => {
                self.described(operation, &node.inputs)?.swap_remove(index)
            }
            Kind::Rows(chain) if index < results => {
                let own = |input: &Input| input.node().map(|id| self.node(id).dtype);
                let given = node.inputs.first().and_then(own).unwrap_or(node.dtype);
                let before = chain.before.as_ref().map(Region::dtype);
                (node.shape.clone(), before.unwrap_or(given))
            }
            _ => {
                return Err(Error::refused(
                    ErrorCode::InvalidArgument,
                    format!(
                        "{of} ({name}) has no result {index}: {}",
                        count_in_words(results)
                    ),
                ));
            }
        };
        Ok(self.push(Node {
            kind: Kind::Result(index),
            inputs: SmallVec::from_slice(&[Input::Node(of)]),
            shape,
            dtype,
            name: String::new(),
        }))
    }

    /// Shapes and dtypes of the results of an operation.
    pub(crate) fn described(&self, operation: &Operation, inputs: &[Input]) -> Result<Described> {
        let views: SmallVec<[TensorView<'_>; 4]> = inputs
            .iter()
            .map(|input| match input {
                Input::Node(id) => {
                    let node = self.node(*id);
                    TensorView::without_memory(&node.shape, node.dtype)
                }
                Input::Number(_, dtype) => TensorView::without_memory(&[], *dtype),
            })
            .collect();
        Ok(operation.describe_all(&views)?)
    }

    /// Adds a view of a node's value, or the node itself where it shows just that.
    pub fn add_view(&mut self, of: NodeId, dtype: Dtype, layout: Layout) -> NodeId {
        let node = self.node(of);
        if node.dtype == dtype && node.shape == layout.shape && layout.is_dense(node.len()) {
            return of;
        }
        self.push(Node {
            shape: layout.shape.clone(),
            dtype,
            kind: Kind::View(layout),
            inputs: SmallVec::from_slice(&[Input::Node(of)]),
            name: String::new(),
        })
    }

    /// Adds the elements of a node in row-major order under another shape, one extent of which may be -1.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` where the number of elements differs.
    pub fn add_reshape(&mut self, of: NodeId, shape: &[i64]) -> Result<NodeId> {
        let node = self.node(of);
        let known: i64 = shape.iter().filter(|extent| **extent != -1).product();
        let resolved: Dims = shape
            .iter()
            .map(|extent| {
                if *extent == -1 && known > 0 {
                    node.len() / known
                } else {
                    *extent
                }
            })
            .collect();
        let is_whole = resolved.iter().all(|extent| *extent >= 0)
            && amdgpu_array::element_count(&resolved) == node.len();
        if !is_whole {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{of} of shape {:?} has no shape {shape:?}",
                    node.shape.as_slice()
                ),
            ));
        }
        let dtype = node.dtype;
        let of = self.dense(of);
        Ok(self.add_view(of, dtype, Layout::dense(&resolved)))
    }

    /// Adds a node with its axes in another order: axis i of the view is axis `axes[i]` of the node.
    ///
    /// # Errors
    ///
    /// `invalid-argument` unless `axes` names every axis once.
    pub fn add_permuted(&mut self, of: NodeId, axes: &[i64]) -> Result<NodeId> {
        let node = self.node(of);
        let rank = node.shape.len() as i64;
        let axes: Vec<i64> = axes
            .iter()
            .map(|axis| if *axis < 0 { axis + rank } else { *axis })
            .collect();
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{axes:?} does not name each of the {rank} axes of {of} once"),
            ));
        }
        // Of a view, the memory that it shows is shown otherwise.
        let base = node.reads().next();
        let shown = match &node.kind {
            Kind::View(layout) => base.map(|base| (base, layout.clone())),
            _ => None,
        };
        let own_layout = Layout::dense(&node.shape);
        let (base, own) = match shown {
            Some(found) => found,
            None => (self.dense(of), own_layout),
        };
        let layout = Layout {
            offset_bytes: own.offset_bytes,
            shape: axes.iter().map(|axis| own.shape[*axis as usize]).collect(),
            strides: axes
                .iter()
                .map(|axis| own.strides[*axis as usize])
                .collect(),
        };
        let dtype = self.node(of).dtype;
        Ok(self.add_view(base, dtype, layout))
    }

    /// A node whose value lies in row-major order without gaps, as views of it take for granted: the node itself, or a copy.
    pub(crate) fn dense(&mut self, of: NodeId) -> NodeId {
        let node = self.node(of);
        let is_dense = match &node.kind {
            Kind::View(layout) => layout.strides == amdgpu_array::row_major(&layout.shape),
            Kind::Constant(array) => array.is_contiguous(),
            _ => true,
        };
        if is_dense {
            return of;
        }
        let (shape, dtype) = (node.shape.clone(), node.dtype);
        self.push(Node {
            kind: Kind::Operation(Operation::Copy),
            inputs: SmallVec::from_slice(&[Input::Node(of)]),
            shape,
            dtype,
            name: String::new(),
        })
    }

    /// How often each node is read, outputs of the graph included.
    #[must_use]
    pub fn use_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.nodes.len()];
        let reads = self.nodes.iter().flat_map(Node::reads);
        for id in reads.chain(self.outputs.iter().copied()) {
            counts[id.index()] += 1;
        }
        counts
    }

    /// Puts the nodes in order again after a pass that made readers stand before what they read, and drops those that no output needs.
    /// Arguments stay. Returns where each node is now, if it is still there.
    pub(crate) fn rebuild(&mut self) -> Vec<Option<NodeId>> {
        let mut places: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        let mut ordered = Vec::with_capacity(self.nodes.len());
        let mut place = |id: NodeId, nodes: &[Node], places: &mut Vec<Option<NodeId>>| {
            // Depth first, without recursion: graphs are deep.
            let mut open = vec![(id, 0)];
            while let Some((id, next)) = open.pop() {
                if places[id.index()].is_some() {
                    continue;
                }
                let node = &nodes[id.index()];
                let waiting = node
                    .reads()
                    .skip(next)
                    .position(|read| places[read.index()].is_none());
                if let Some(skipped) = waiting {
                    let at = next + skipped;
                    open.push((id, at));
                    if let Some(read) = node.reads().nth(at) {
                        open.push((read, 0));
                    }
                    continue;
                }
                places[id.index()] = Some(NodeId(ordered.len() as u32));
                ordered.push(id);
            }
        };
        for id in self.inputs.iter().chain(&self.outputs) {
            place(*id, &self.nodes, &mut places);
        }
        let mut old: Vec<Option<Node>> = std::mem::take(&mut self.nodes)
            .into_iter()
            .map(Some)
            .collect();
        let moved = |id: NodeId| places[id.index()].unwrap_or(id);
        self.nodes = ordered
            .iter()
            .filter_map(|id| old[id.index()].take())
            .collect();
        for node in &mut self.nodes {
            for input in &mut node.inputs {
                if let Input::Node(id) = input {
                    *id = moved(*id);
                }
            }
        }
        self.inputs = self.inputs.iter().map(|id| moved(*id)).collect();
        self.outputs = self.outputs.iter().map(|id| moved(*id)).collect();
        places
    }

    /// Lets all readers of a node read another one.
    pub(crate) fn replace(&mut self, old: NodeId, new: NodeId) {
        for node in &mut self.nodes {
            for input in &mut node.inputs {
                if *input == Input::Node(old) {
                    *input = Input::Node(new);
                }
            }
        }
        for output in &mut self.outputs {
            if *output == old {
                *output = new;
            }
        }
    }

    /// Checks what every other function relies on: nodes come after what they read, views stay within the memory they show, arguments stand
    /// where they say, operations have as many inputs as they take.
    ///
    /// # Errors
    ///
    /// `invalid-argument`, naming the node.
    pub fn verify(&self) -> Result<()> {
        for (id, node) in self.ids().zip(&self.nodes) {
            let refuse = |what: String| {
                Err(Error::refused(
                    ErrorCode::InvalidArgument,
                    format!("node {id} ({}): {what}", node.operation_name()),
                ))
            };
            if let Some(read) = node.reads().find(|read| *read >= id) {
                return refuse(format!(
                    "it reads {read}, which does not come before it: the graph has a cycle"
                ));
            }
            match &node.kind {
                Kind::Input(position) if self.inputs.get(*position) != Some(&id) => {
                    return refuse(format!("the graph's argument {position} is another node"));
                }
                Kind::Operation(operation) => operation.check_count(node.inputs.len())?,
                Kind::Result(index) => {
                    let results = node.reads().next().map_or(0, |of| self.node(of).results());
                    if !(1..results).contains(index) {
                        return refuse(format!(
                            "what it reads has no result {index}: {}",
                            count_in_words(results)
                        ));
                    }
                }
                Kind::View(layout) | Kind::Assign(layout) => {
                    let Some(of) = node.reads().next() else {
                        return refuse("it shows no value".to_owned());
                    };
                    let shown = &self.node(of).kind;
                    let is_dense = match shown {
                        Kind::View(own) => own.strides == amdgpu_array::row_major(&own.shape),
                        Kind::Constant(array) => array.is_contiguous(),
                        _ => true,
                    };
                    if !is_dense {
                        return refuse(format!("{of} has gaps: views are of values without them"));
                    }
                    if !self.shows_inside(layout, self.node(of), node) {
                        return refuse(format!("it shows elements outside of {of}"));
                    }
                }
                _ => {}
            }
        }
        match self
            .outputs
            .iter()
            .find(|id| id.index() >= self.nodes.len())
        {
            Some(id) => Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "the output {id} does not exist: the graph has {} nodes",
                    self.nodes.len()
                ),
            )),
            None => Ok(()),
        }
    }

    fn shows_inside(&self, layout: &Layout, of: &Node, node: &Node) -> bool {
        if layout.shape.contains(&0) {
            return true;
        }
        let dtype = match (&node.kind, node.reads().nth(1)) {
            (Kind::Assign(_), Some(values)) => self.node(values).dtype,
            _ => node.dtype,
        };
        let item = dtype.size_bytes() as i64;
        let (mut first, mut last) = (layout.offset_bytes, layout.offset_bytes + item);
        for (extent, stride) in layout.shape.iter().zip(layout.strides.iter()) {
            let reach = (extent - 1) * stride * item;
            first += reach.min(0);
            last += reach.max(0);
        }
        first >= 0 && last <= of.bytes() as i64
    }
}

fn count_in_words(results: usize) -> String {
    match results {
        0 => "it is no operation".to_owned(),
        1 => "it has one, result 0".to_owned(),
        _ => format!("it has results 0 to {}", results - 1),
    }
}
