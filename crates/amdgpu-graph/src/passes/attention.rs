//! Scores of queries and keys, their softmax and the sum of values by it are one operation, which keeps no scores in memory.

use amdgpu_abi::Dtype;
use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::promotion::is_float;
use amdgpu_ops::attention::AttentionOptions;
use amdgpu_ops::normalize::Normalize;
use amdgpu_ops::operation::Product;
use amdgpu_ops::{DeviceOps, Elementwise, Named, Operation, Scalar};
use smallvec::SmallVec;

use crate::passes::Report;
use crate::{Graph, Input, Kind, Node, NodeId, Result};

/// Elements of a query up to which attention is faster: of 128 the products are.
const MOST_SIZE: i64 = 64;
/// In float16; a product of few queries with many keys is faster.
const MOST_KEYS_OF_A_QUERY: i64 = 4;
/// In float32; attention computes blocks of 128.
const LEAST_QUERIES: i64 = 128;
/// Scores of that many bytes and a mask take 1.1 times as long as attention in float32 where a query has so many keys; with 256 they take 0.98 of it.
const MASKED_BYTES: i64 = 8 << 20;
const MASKED_KEYS: i64 = 512;
/// One matrix of scores of that many bytes takes 1.1 times as long, also without a mask.
const MATRIX_BYTES: i64 = 256 << 20;
/// Elementwise steps between product and softmax that are looked through for what to say.
const MOST_STEPS: usize = 4;

/// Lets attention compute `softmax(q @ k^T * scale + mask) @ v`, where the product that ends it stands.
///
/// # Errors
///
/// The graph is not as it has to be.
pub fn fuse_attention(graph: &mut Graph, ops: &DeviceOps, report: &mut Report) -> Result<()> {
    let counts = graph.use_counts();
    let ids: Vec<NodeId> = graph.ids().collect();
    let mut is_changed = false;
    for id in ids {
        let Some(softmax) = softmax_of(graph, id) else {
            continue;
        };
        let found = Found::of(graph, id, softmax, &counts);
        match found.and_then(|found| found.replace(graph, id, ops.computes_on_host())) {
            Ok(sentence) => {
                is_changed = true;
                report.fused += 3;
                report.notes.push(sentence);
            }
            Err(reason) => report.notes.push(format!(
                "{softmax} (softmax) between the products is no attention in one: {reason}"
            )),
        }
    }
    if is_changed {
        report.renumber(&graph.rebuild());
    }
    Ok(())
}

/// Why a softmax between products stays one.
type Reason = &'static str;

fn product_of(node: &Node) -> Option<&Product> {
    match &node.kind {
        Kind::Operation(Operation::Matmul(product)) => Some(product),
        _ => None,
    }
}

/// A product without options, in the precision of one, where attention computes no less exactly.
fn plain(product: &Product, dtype: Dtype) -> Option<Product> {
    let is_own = match product.precision {
        None => true,
        Some(Precision::Fp64) => dtype == Dtype::F64,
        Some(Precision::Fp32 | Precision::Tf32) => dtype == Dtype::F32,
        Some(Precision::Fp16) => dtype == Dtype::F16,
        Some(Precision::Bf16) => dtype == Dtype::BF16,
        Some(Precision::Int8) => false,
    };
    is_own.then(|| Product {
        precision: product.precision,
        ..Product::plain()
    })
}

fn step_of(node: &Node) -> Option<Elementwise> {
    match &node.kind {
        Kind::Operation(Operation::Elementwise {
            operation: Named::Any(operation),
            ..
        }) => Some(*operation),
        _ => None,
    }
}

/// The softmax that a product multiplies values by, where another product is behind it.
fn softmax_of(graph: &Graph, id: NodeId) -> Option<NodeId> {
    product_of(graph.node(id))?;
    let softmax = graph.node(id).inputs[0].node()?;
    let node = graph.node(softmax);
    let Kind::Operation(Operation::Normalize(norm)) = &node.kind else {
        return None;
    };
    let last = node.shape.len() as i64 - 1;
    let axis = match norm.axes.as_slice() {
        [_] if norm.are_last => last,
        [axis] if *axis < 0 => axis + last + 1,
        [axis] => *axis,
        _ => return None,
    };
    if norm.operation != Normalize::Softmax || axis != last {
        return None;
    }
    let scores = node.inputs[0].node()?;
    follows_product(graph, scores, MOST_STEPS).then_some(softmax)
}

/// Whether a product is behind elementwise steps, of which there are so many at most.
fn follows_product(graph: &Graph, id: NodeId, most: usize) -> bool {
    let node = graph.node(id);
    if product_of(node).is_some() {
        return true;
    }
    let mut alike = node
        .reads()
        .filter(|read| graph.node(*read).shape == node.shape);
    step_of(node).is_some() && most > 0 && alike.any(|read| follows_product(graph, read, most - 1))
}

/// What attention is computed of.
struct Found {
    q: NodeId,
    /// Keys, or their transpose.
    k: NodeId,
    is_transposed: bool,
    v: NodeId,
    mask: Option<NodeId>,
    scale: f64,
    /// One of the products is asked for by tf32.
    is_tf32: bool,
}

impl Found {
    fn of(
        graph: &Graph,
        id: NodeId,
        softmax: NodeId,
        counts: &[usize],
    ) -> std::result::Result<Self, Reason> {
        let last = graph.node(id);
        if product_of(last).is_none_or(|product| plain(product, last.dtype) != Some(*product)) {
            return Err("the product with the values has options");
        }
        let v = last.inputs[1].node().ok_or("the values are a number")?;
        if counts[softmax.index()] != 1 {
            return Err("the shares are read elsewhere, too");
        }
        let (scores, mut scale, mask) = Self::scores(graph, softmax, counts)?;
        let scores = graph.node(scores);
        let product = product_of(scores).ok_or("there is no product")?;
        let own = plain(product, scores.dtype).map(|plain| Product {
            transpose_b: product.transpose_b,
            alpha: product.alpha,
            ..plain
        });
        if own != Some(*product) {
            return Err("the product of queries and keys has options");
        }
        let is_tf32 = [product, product_of(last).unwrap_or(product)]
            .iter()
            .any(|one| one.precision == Some(Precision::Tf32));
        let mut q = scores.inputs[0].node().ok_or("the queries are a number")?;
        let mut k = scores.inputs[1].node().ok_or("the keys are a number")?;
        scale *= product.alpha;
        for side in [&mut q, &mut k] {
            while let Some((read, factor)) = scaled(graph, graph.node(*side)) {
                if counts[side.index()] != 1 {
                    break;
                }
                scale *= factor;
                *side = read;
            }
        }
        Ok(Self {
            q,
            k,
            is_transposed: !product.transpose_b,
            v,
            mask,
            scale,
            is_tf32,
        })
    }

    /// The product that gives the scores of a softmax, their factor and their mask.
    fn scores(
        graph: &Graph,
        softmax: NodeId,
        counts: &[usize],
    ) -> std::result::Result<(NodeId, f64, Option<NodeId>), Reason> {
        let (mut scale, mut mask) = (1.0, None);
        let mut at = graph.node(softmax).inputs[0]
            .node()
            .ok_or("the scores are a number")?;
        loop {
            if counts[at.index()] != 1 {
                return Err("the scores are read elsewhere, too");
            }
            let node = graph.node(at);
            if product_of(node).is_some() {
                return Ok((at, scale, mask));
            }
            if let Some((read, factor)) = scaled(graph, node) {
                scale *= factor;
                at = read;
                continue;
            }
            let (read, added) = added(graph, node)
                .or_else(|| chosen(node))
                .ok_or("between product and softmax stands more than a factor and a mask")?;
            if mask.is_some() || scale.to_bits() != 1.0_f64.to_bits() {
                return Err("the factor follows the mask, or there are two masks");
            }
            mask = Some(added);
            at = read;
        }
    }

    /// Puts the operation in the place of the last product.
    fn replace(
        &self,
        graph: &mut Graph,
        id: NodeId,
        is_on_host: bool,
    ) -> std::result::Result<String, Reason> {
        let k = if self.is_transposed {
            transposed(graph, self.k).ok_or("the keys have one axis")?
        } else {
            self.k
        };
        let mut inputs: SmallVec<[Input; 4]> = SmallVec::new();
        inputs.extend([self.q, k, self.v].map(Input::Node));
        inputs.extend(self.mask.map(Input::Node));
        let operation = Operation::Attention(AttentionOptions {
            is_causal: false,
            scale: Some(self.scale),
            thread_limit: None,
        });
        let (shape, dtype) = graph
            .described(&operation, &inputs)
            .map_err(|_| "batches and heads broadcast, or dtypes differ")?
            .swap_remove(0);
        if graph.node(id).shape != shape || graph.node(id).dtype != dtype {
            return Err("batches and heads broadcast");
        }
        let is_faster = if is_on_host {
            self.is_faster(graph, k)
        } else {
            self.is_faster_on_gpus(graph)
        };
        if !is_faster {
            return Err(
                "for these shapes and precisions products and softmax are faster one by one",
            );
        }
        let node = graph.node_mut(id);
        node.kind = Kind::Operation(operation);
        node.inputs = inputs;
        let of_mask = if self.mask.is_some() {
            "; a query whose mask is -inf for every key gets zeros"
        } else {
            ""
        };
        let of_scores = if is_on_host {
            ", without scores in memory"
        } else {
            ""
        };
        Ok(format!(
            "{id}: products and softmax are one attention{of_scores}{of_mask}"
        ))
    }
}

impl Found {
    /// Whether attention is no slower than what it replaces: where the archive has a kernel for it that is one launch instead of three, else it is the
    /// same products with one kernel between them. These have float32 scores, which products by tf32 would not.
    fn is_faster_on_gpus(&self, graph: &Graph) -> bool {
        let dtype = graph.node(self.q).dtype;
        !self.is_tf32 && (dtype == Dtype::F16 || dtype == Dtype::BF16 || dtype == Dtype::F32)
    }

    /// Whether attention is no slower than what it replaces, by measurements on an AMD EPYC with AVX-512. Keeping no scores in memory pays where
    /// these leave the caches and are walked once more for a mask, or where all of them would be rounded to float16.
    fn is_faster(&self, graph: &Graph, k: NodeId) -> bool {
        let (q, k) = (graph.node(self.q), graph.node(k));
        let rank = q.shape.len();
        let [queries, size] = [q.shape[rank - 2], q.shape[rank - 1]];
        let keys = k.shape[rank - 2];
        let matrix_bytes = queries * keys * q.dtype.size_bytes() as i64;
        let bytes = q.shape[..rank - 2].iter().product::<i64>() * matrix_bytes;
        let is_narrow = size <= MOST_SIZE;
        if q.dtype == Dtype::F16 {
            return is_narrow && queries * MOST_KEYS_OF_A_QUERY >= keys;
        }
        let is_masked = self.mask.is_some() && bytes >= MASKED_BYTES && keys >= MASKED_KEYS;
        let is_large = is_masked || matrix_bytes >= MATRIX_BYTES;
        q.dtype == Dtype::F32 && is_narrow && queries >= LEAST_QUERIES && is_large
    }
}

/// The array and the factor of a multiplication by a number.
fn scaled(graph: &Graph, node: &Node) -> Option<(NodeId, f64)> {
    let step = step_of(node).filter(|_| is_float(node.dtype))?;
    let (read, factor) = match (step, node.inputs.as_slice()) {
        (
            Elementwise::Multiply,
            [Input::Node(read), Input::Number(Scalar::Float(factor), _)]
            | [Input::Number(Scalar::Float(factor), _), Input::Node(read)],
        ) => (*read, *factor),
        (Elementwise::Divide, [Input::Node(read), Input::Number(Scalar::Float(divisor), _)]) => {
            (*read, 1.0 / divisor)
        }
        _ => return None,
    };
    let is_same = graph.node(read).dtype == node.dtype;
    (factor.is_finite() && is_same).then_some((read, factor))
}

/// The scores and the mask of an addition.
fn added(graph: &Graph, node: &Node) -> Option<(NodeId, NodeId)> {
    let (Some(Elementwise::Add), [Input::Node(a), Input::Node(b)]) =
        (step_of(node), node.inputs.as_slice())
    else {
        return None;
    };
    let are_scores = |id: NodeId| {
        let mut at = id;
        while let Some((read, _)) = scaled(graph, graph.node(at)) {
            at = read;
        }
        graph.node(id).shape == node.shape && product_of(graph.node(at)).is_some()
    };
    match (are_scores(*a), are_scores(*b)) {
        (true, _) => Some((*a, *b)),
        (false, true) => Some((*b, *a)),
        (false, false) => None,
    }
}

/// The scores and the truth values of a choice between scores and -inf.
fn chosen(node: &Node) -> Option<(NodeId, NodeId)> {
    match (step_of(node), node.inputs.as_slice()) {
        (
            Some(Elementwise::Where),
            [
                Input::Node(mask),
                Input::Node(scores),
                Input::Number(Scalar::Float(other), _),
            ],
        ) if *other == f64::NEG_INFINITY => Some((*scores, *mask)),
        _ => None,
    }
}

/// A node with its last two axes exchanged: what it is the transpose of, or a view.
fn transposed(graph: &mut Graph, id: NodeId) -> Option<NodeId> {
    let node = graph.node(id);
    let rank = node.shape.len();
    if rank < 2 {
        return None;
    }
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(rank - 2, rank - 1);
    if let Kind::Operation(Operation::Transpose { axes: own }) = &node.kind {
        let is_same = match own {
            None => rank == 2,
            Some(own) => own
                .iter()
                .map(|axis| axis.rem_euclid(rank as i64))
                .eq(axes.iter().copied()),
        };
        if is_same {
            return node.reads().next();
        }
    }
    graph.add_permuted(id, &axes).ok()
}
