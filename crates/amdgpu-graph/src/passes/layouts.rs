//! Chooses where the channels of images stand. Our convolutions are about as fast in both layouts, so what decides is mostly where images are
//! transposed: convolutions that are joined by pooling, normalisation and elementwise steps change together, where that lets transpositions at
//! the borders go away, and images are transposed nowhere else.

use amdgpu_abi::Dtype;
use amdgpu_array::{Dims, row_major};
use amdgpu_ops::convolve::Convolve;
use amdgpu_ops::{DeviceOps, ImageLayout, Named, Operation};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::passes::Report;
use crate::{Graph, Input, Kind, Layout, Node, NodeId, Result};

/// What a convolution loses by channels that come first, of its time: by windows of more than one pixel, and by windows of one pixel with gaps
/// between them. By layers of ResNet-50 in float32 on an AMD EPYC, one image and four: 0.01 to 0.08 and 0.25; without gaps 0.07 to -0.08, which is
/// nothing that decides.
const OF_WINDOWS: f64 = -0.02;
const OF_STRIDES: f64 = -0.15;
/// Multiplications that take as long as transposing a byte.
const OF_BYTES: f64 = 8.0;
/// A change is made where it saves this share of the time of the convolutions at least.
const LEAST_SHARE: f64 = 0.03;

/// Axes of an image with channels first as those of one with channels last, and the other way round.
const TO_LAST: [i64; 4] = [0, 2, 3, 1];
const TO_FIRST: [i64; 4] = [0, 3, 1, 2];

/// How a device computes convolutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speed {
    /// About as fast in both layouts.
    Even,
    /// With channels last; images with channels first are transposed before and behind each convolution.
    ChannelsLast,
}

impl Speed {
    /// `None` for devices whose convolutions were not measured.
    fn of(ops: &DeviceOps, dtype: Dtype) -> Result<Option<Self>> {
        if ops.computes_on_host() {
            return Ok(Some(Self::Even));
        }
        let is_last = amdgpu_ops::convolve::takes_channels_last(ops, dtype)?;
        Ok(is_last.then_some(Self::ChannelsLast))
    }
}

/// Changes the layout of images where that is faster, on devices whose convolutions were measured: those that compute where arrays of the host
/// lie, and those with archived kernels.
///
/// # Errors
///
/// `library-missing` for a damaged archive.
pub fn choose_layouts(graph: &mut Graph, ops: &DeviceOps, report: &mut Report) -> Result<()> {
    for island in islands(graph) {
        let (layout, id) = (island.layout, island.members[0]);
        let Some(speed) = Speed::of(ops, graph.node(id).dtype)? else {
            continue;
        };
        let (saved, whole) = island.saving(graph, speed);
        let names = ImageLayout::names(2);
        let (own, other) = match layout {
            ImageLayout::Nchw => (names[0], names[1]),
            ImageLayout::Nhwc => (names[1], names[0]),
        };
        let count = island.convolutions(graph);
        if saved < LEAST_SHARE * whole {
            report.notes.push(format!(
                "{count} convolutions around {id} stay {own}: {other} would save {:.0} % of their time, transposing at the borders included",
                100.0 * saved / whole
            ));
            continue;
        }
        let transposed = island.transposed(graph);
        let id = island.change(graph)?;
        report.notes.push(format!(
            "{count} convolutions around {id} are computed in {other} instead of {own}, with {transposed} transposed images at the borders"
        ));
    }
    report.renumber(&graph.rebuild());
    Ok(())
}

/// Convolutions with what changes with them, of a graph in which nothing has changed yet.
fn islands(graph: &Graph) -> Vec<Island> {
    let mut is_seen = vec![false; graph.nodes().len()];
    let mut islands = Vec::new();
    for id in graph.ids() {
        let Some(layout) = layout_of(graph.node(id)) else {
            continue;
        };
        if is_seen[id.index()] || !is_convolution(graph.node(id)) {
            continue;
        }
        let island = Island::around(graph, id, layout);
        for member in &island.members {
            is_seen[member.index()] = true;
        }
        islands.push(island);
    }
    islands
}

fn is_convolution(node: &Node) -> bool {
    matches!(&node.kind, Kind::Operation(Operation::Convolve { .. }))
}

/// The layout of an operation on images of two axes.
fn layout_of(node: &Node) -> Option<ImageLayout> {
    if node.shape.len() != 4 {
        return None;
    }
    match &node.kind {
        Kind::Operation(Operation::Convolve { options, .. }) => {
            (options.operation == Convolve::CONV2D).then_some(options.layout)
        }
        Kind::Operation(Operation::Pool { options, .. }) => Some(options.layout),
        Kind::Operation(Operation::BatchNorm { options, .. }) => {
            match options.channel_axis.rem_euclid(4) {
                1 => Some(ImageLayout::Nchw),
                3 => Some(ImageLayout::Nhwc),
                _ => None,
            }
        }
        _ => None,
    }
}

fn flipped(layout: ImageLayout) -> ImageLayout {
    match layout {
        ImageLayout::Nchw => ImageLayout::Nhwc,
        ImageLayout::Nhwc => ImageLayout::Nchw,
    }
}

/// Operations on images that change their layout together.
struct Island {
    layout: ImageLayout,
    /// In the order of the graph.
    members: Vec<NodeId>,
    /// Images from outside that members read.
    entering: Vec<NodeId>,
    /// Members that others read, or that are outputs, with the readers that do not transpose them back.
    leaving: Vec<NodeId>,
    /// Readers that transpose a member to the other layout, and what they transpose.
    returning: Vec<(NodeId, NodeId)>,
}

impl Island {
    fn around(graph: &Graph, first: NodeId, layout: ImageLayout) -> Self {
        let mut readers: Vec<SmallVec<[NodeId; 2]>> = vec![SmallVec::new(); graph.nodes().len()];
        for id in graph.ids() {
            for read in graph.node(id).reads() {
                readers[read.index()].push(id);
            }
        }
        let mut is_member = vec![false; graph.nodes().len()];
        let mut open = vec![first];
        let mut island = Self {
            layout,
            members: Vec::new(),
            entering: Vec::new(),
            leaving: Vec::new(),
            returning: Vec::new(),
        };
        while let Some(id) = open.pop() {
            if is_member[id.index()] || !island.takes(graph, id) {
                continue;
            }
            is_member[id.index()] = true;
            island.members.push(id);
            open.extend(images(graph, id));
            let is_image = |reader: &&NodeId| {
                island.takes(graph, **reader) && images(graph, **reader).contains(&id)
            };
            open.extend(readers[id.index()].iter().filter(is_image));
        }
        island.members.sort_unstable();
        island.find_borders(graph, &is_member, &readers);
        island
    }

    fn find_borders(
        &mut self,
        graph: &Graph,
        is_member: &[bool],
        readers: &[SmallVec<[NodeId; 2]>],
    ) {
        for id in self.members.clone() {
            for image in images(graph, id) {
                if !is_member[image.index()] && !self.entering.contains(&image) {
                    self.entering.push(image);
                }
            }
            let mut leaves = graph.outputs().contains(&id);
            for reader in &readers[id.index()] {
                let reads_image = is_member[reader.index()] && images(graph, *reader).contains(&id);
                if reads_image {
                    continue;
                }
                if self.transposes(graph, *reader) {
                    self.returning.push((*reader, id));
                } else {
                    leaves = true;
                }
            }
            if leaves {
                self.leaving.push(id);
            }
        }
    }

    /// Whether a node can change its layout.
    fn takes(&self, graph: &Graph, id: NodeId) -> bool {
        let node = graph.node(id);
        if let Some(layout) = layout_of(node) {
            return layout == self.layout;
        }
        let Kind::Operation(Operation::Elementwise {
            operation: Named::Any(_),
            ..
        }) = &node.kind
        else {
            return false;
        };
        let is_fitting = |read: NodeId| {
            let shape = &graph.node(read).shape;
            *shape == node.shape || self.channel_shape(shape, node).is_some()
        };
        node.shape.len() == 4 && node.reads().all(is_fitting) && node.reads().next().is_some()
    }

    /// The shape in the other layout of an operand that has one number, or one for each channel, of a node.
    fn channel_shape(&self, shape: &[i64], node: &Node) -> Option<Dims> {
        if shape.iter().all(|extent| *extent == 1) {
            return Some(Dims::new());
        }
        let (before, channels) = match self.layout {
            ImageLayout::Nhwc => (shape.split_last(), node.shape[3]),
            ImageLayout::Nchw => {
                let behind = shape.len().checked_sub(2)?;
                let are_ones = shape[behind..].iter().all(|extent| *extent == 1);
                (
                    shape[..behind].split_last().filter(|_| are_ones),
                    node.shape[1],
                )
            }
        };
        let (last, rest) = before?;
        let is_one = *last == channels && rest.iter().all(|extent| *extent == 1);
        is_one.then(|| match self.layout {
            ImageLayout::Nhwc => Dims::from_slice(&[channels, 1, 1]),
            ImageLayout::Nchw => Dims::from_slice(&[channels]),
        })
    }

    /// The axes that bring images to the other layout.
    fn axes(&self) -> [i64; 4] {
        match self.layout {
            ImageLayout::Nhwc => TO_FIRST,
            ImageLayout::Nchw => TO_LAST,
        }
    }

    /// The axes that bring images of the other layout back.
    fn back(&self) -> [i64; 4] {
        match self.layout {
            ImageLayout::Nhwc => TO_LAST,
            ImageLayout::Nchw => TO_FIRST,
        }
    }

    /// Whether a node shows what it reads in the other layout, and does nothing else.
    fn transposes(&self, graph: &Graph, id: NodeId) -> bool {
        shows(graph, id, self.axes())
    }

    /// What an image from outside shows, where that has the other layout.
    fn source(&self, graph: &Graph, image: NodeId) -> Option<NodeId> {
        let of = graph.node(image).reads().next()?;
        shows(graph, image, self.back()).then_some(of)
    }

    fn convolutions(&self, graph: &Graph) -> usize {
        let members = self.members.iter();
        members
            .filter(|id| is_convolution(graph.node(**id)))
            .count()
    }

    /// How many images are transposed at the borders.
    fn transposed(&self, graph: &Graph) -> usize {
        let entering = self.entering.iter();
        let entering = entering.filter(|image| self.source(graph, **image).is_none());
        entering.count() + self.leaving.len()
    }

    /// What the other layout saves, and what the convolutions take, in multiplications.
    fn saving(&self, graph: &Graph, speed: Speed) -> (f64, f64) {
        let (mut saved, mut whole) = (0.0, 0.0);
        let bytes = |id: &NodeId| graph.node(*id).bytes() as f64;
        for id in &self.members {
            let node = graph.node(*id);
            let Kind::Operation(Operation::Convolve { options, .. }) = &node.kind else {
                continue;
            };
            let Some(weight) = node.inputs[1].node().map(|read| graph.node(read)) else {
                continue;
            };
            if speed == Speed::ChannelsLast {
                let image = node.inputs[0].node();
                let moved = OF_BYTES * (bytes(id) + image.as_ref().map_or(0.0, bytes));
                saved += match self.layout {
                    ImageLayout::Nchw => moved,
                    ImageLayout::Nhwc => -moved,
                };
                whole += moved;
                continue;
            }
            let outputs = weight.shape[0].max(1);
            let work = node.len() as f64 * (weight.len() / outputs) as f64;
            let is_pixel = weight.shape[2..].iter().all(|extent| *extent == 1);
            let has_gaps = options.sliding.stride.iter().any(|stride| *stride > 1);
            let first = match (is_pixel, has_gaps) {
                (true, false) => 0.0,
                (true, true) => OF_STRIDES,
                (false, _) => OF_WINDOWS,
            };
            let gain = match self.layout {
                ImageLayout::Nhwc => first,
                ImageLayout::Nchw => -first,
            };
            saved += gain * work;
            whole += work;
        }
        let (shown, read): (Vec<NodeId>, Vec<NodeId>) = self
            .entering
            .iter()
            .partition(|image| self.source(graph, **image).is_some());
        let spared = self.returning.iter().map(|(reader, _)| reader);
        // Views of another layout are made dense where a convolution reads them.
        saved += OF_BYTES * shown.iter().chain(spared).map(bytes).sum::<f64>();
        saved -= OF_BYTES * read.iter().chain(&self.leaving).map(bytes).sum::<f64>();
        (saved, whole)
    }

    /// Adds the operations in the other layout, and lets all that reads the old ones read them; gives the first.
    fn change(&self, graph: &mut Graph) -> Result<NodeId> {
        let mut twins: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for image in &self.entering {
            let twin = match self.source(graph, *image) {
                Some(source) => source,
                None => transposed(graph, *image, self.axes())?,
            };
            twins.insert(*image, twin);
        }
        for id in &self.members {
            let twin = self.twin(graph, *id, &twins)?;
            twins.insert(*id, twin);
        }
        for (reader, of) in &self.returning {
            graph.replace(*reader, twins[of]);
        }
        for id in &self.leaving {
            let back = transposed(graph, twins[id], self.back())?;
            graph.replace(*id, back);
        }
        Ok(twins[&self.members[0]])
    }

    fn twin(
        &self,
        graph: &mut Graph,
        id: NodeId,
        twins: &FxHashMap<NodeId, NodeId>,
    ) -> Result<NodeId> {
        let mut node = graph.node(id).clone();
        let own_images = images(graph, id);
        let is_elementwise = layout_of(&node).is_none();
        let inputs = node.inputs.clone();
        for (place, input) in node.inputs.iter_mut().enumerate() {
            let Some(read) = inputs[place].node() else {
                continue;
            };
            // Of operations on images the first input alone is one.
            if own_images.contains(&read) && (is_elementwise || place == 0) {
                // An island that changed before may have put another image in the place of the known one.
                *input = Input::Node(match twins.get(&read) {
                    Some(twin) => *twin,
                    None => transposed(graph, read, self.axes())?,
                });
            } else if is_elementwise {
                let shape = graph.node(read).shape.clone();
                if let Some(shape) = self.channel_shape(&shape, graph.node(id)) {
                    *input = Input::Node(graph.add_reshape(read, &shape)?);
                }
            }
        }
        node.shape = self
            .axes()
            .iter()
            .map(|axis| node.shape[*axis as usize])
            .collect();
        match &mut node.kind {
            Kind::Operation(Operation::Convolve { options, .. }) => {
                options.layout = flipped(self.layout);
            }
            Kind::Operation(Operation::Pool { options, .. }) => {
                options.layout = flipped(self.layout);
            }
            Kind::Operation(Operation::BatchNorm { options, .. }) => {
                options.channel_axis = match self.layout {
                    ImageLayout::Nhwc => 1,
                    ImageLayout::Nchw => 3,
                };
            }
            _ => {}
        }
        Ok(graph.push(node))
    }
}

/// The operands of a node that are images.
fn images(graph: &Graph, id: NodeId) -> SmallVec<[NodeId; 3]> {
    let node = graph.node(id);
    if layout_of(node).is_some() {
        return node.inputs[0].node().into_iter().collect();
    }
    let has_shape = |read: &NodeId| graph.node(*read).shape == node.shape;
    node.reads().filter(has_shape).collect()
}

fn transposed(graph: &mut Graph, of: NodeId, axes: [i64; 4]) -> Result<NodeId> {
    let operation = Operation::Transpose {
        axes: Some(Dims::from_slice(&axes)),
    };
    graph.add(operation, &[Input::Node(of)])
}

/// Whether a node has the axes of what it reads in another order, and does nothing else.
fn shows(graph: &Graph, id: NodeId, axes: [i64; 4]) -> bool {
    let node = graph.node(id);
    let Some(of) = node.reads().next().map(|of| graph.node(of)) else {
        return false;
    };
    if of.shape.len() != 4 || node.dtype != of.dtype {
        return false;
    }
    match &node.kind {
        Kind::View(layout) => {
            let dense = row_major(&of.shape);
            let in_order = |values: &Dims| -> Dims {
                axes.iter().map(|axis| values[*axis as usize]).collect()
            };
            let wanted = Layout {
                offset_bytes: 0,
                shape: in_order(&of.shape),
                strides: in_order(&dense),
            };
            // A view of a view shows memory in an order of its own.
            *layout == wanted && !matches!(of.kind, Kind::View(_) | Kind::Constant(_))
        }
        Kind::Operation(Operation::Transpose { axes: Some(own) }) => {
            let own = own.iter().map(|axis| axis.rem_euclid(4));
            own.eq(axes)
        }
        _ => false,
    }
}
