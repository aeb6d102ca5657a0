//! Nodes: a value each, and how it is made from others.

use std::fmt::{self, Display};

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, element_count, row_major};
use amdgpu_ops::fused::Region;
use amdgpu_ops::{FusedRows, Operation, RowChain, Scalar};
use smallvec::SmallVec;

/// A node of one graph, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "%{}", self.0)
    }
}

/// What a node reads: another node's value, or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    Node(NodeId),
    Number(Scalar, Dtype),
}

impl Input {
    #[must_use]
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(id) => Some(id),
            Self::Number(..) => None,
        }
    }
}

/// Which elements of an array in row-major order a view shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// From the first element of the array to index 0 of the view.
    pub offset_bytes: i64,
    pub shape: Dims,
    /// In elements of the view's dtype.
    pub strides: Dims,
}

impl Layout {
    /// All elements in row-major order.
    #[must_use]
    pub fn dense(shape: &[i64]) -> Self {
        Self {
            offset_bytes: 0,
            shape: Dims::from_slice(shape),
            strides: row_major(shape),
        }
    }

    /// Whether it shows all elements of an array in row-major order, so that only the shape may differ.
    #[must_use]
    pub fn is_dense(&self, count: i64) -> bool {
        self.offset_bytes == 0
            && element_count(&self.shape) == count
            && amdgpu_array::is_row_major(&self.shape, &self.strides)
    }
}

/// How a value is made.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The argument of that position.
    Input(usize),
    /// An array that was there when the graph was made.
    Constant(Array),
    /// The memory of a value seen otherwise.
    View(Layout),
    /// The first value, with the elements that the layout shows set to those of the second.
    Assign(Layout),
    /// The first result of an operation; the others are nodes of their own.
    Operation(Operation),
    /// Another result of the operation that it reads, by its position from 1 on.
    Result(usize),
    /// Elementwise steps that one kernel computes.
    Fused(Region),
    /// A normalisation with the steps around it; what is normalised may be result 1.
    Rows(Box<RowChain>),
    /// Reductions over the last axes with the steps around them.
    FusedRows(Box<FusedRows>),
}

/// A value, and how it is made.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub inputs: SmallVec<[Input; 4]>,
    pub shape: Dims,
    pub dtype: Dtype,
    /// For people; may be empty.
    pub name: String,
}

impl Node {
    /// Nodes that it reads.
    pub fn reads(&self) -> impl Iterator<Item = NodeId> {
        self.inputs.iter().filter_map(|input| input.node())
    }

    #[must_use]
    pub fn len(&self) -> i64 {
        element_count(&self.shape)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.len() as u64 * self.dtype.size_bytes() as u64
    }

    /// What it does, in a word.
    #[must_use]
    pub fn operation_name(&self) -> &str {
        match &self.kind {
            Kind::Input(_) => "input",
            Kind::Constant(_) => "constant",
            Kind::View(_) => "view",
            Kind::Assign(_) => "assign",
            Kind::Operation(operation) => operation.name(),
            Kind::Result(_) => "result",
            Kind::Fused(_) => "fused",
            Kind::Rows(_) => "rows",
            Kind::FusedRows(_) => "fused_rows",
        }
    }

    /// Whether it computes, as opposed to what is there already.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        matches!(
            self.kind,
            Kind::Operation(_)
                | Kind::Fused(_)
                | Kind::Rows(_)
                | Kind::FusedRows(_)
                | Kind::Assign(_)
        )
    }

    /// How many results it has: 0 for what computes none.
    #[must_use]
    pub fn results(&self) -> usize {
        match &self.kind {
            Kind::Operation(operation) => operation.results(),
            Kind::Rows(chain) => chain.results(),
            Kind::Fused(_) | Kind::FusedRows(_) | Kind::Assign(_) => 1,
            _ => 0,
        }
    }

    /// Names of the operations that it joins, in order; none for what joins none.
    #[must_use]
    pub fn steps(&self) -> Vec<&'static str> {
        match &self.kind {
            Kind::Fused(region) => region
                .steps
                .iter()
                .map(|step| step.operation.name())
                .collect(),
            Kind::Rows(chain) => chain.steps(),
            Kind::FusedRows(rows) => rows.steps(),
            _ => Vec::new(),
        }
    }

    /// Whether its value has memory that is written when the graph runs.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.is_computed() || matches!(self.kind, Kind::Result(_))
    }
}
