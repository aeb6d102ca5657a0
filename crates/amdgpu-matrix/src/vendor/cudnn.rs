//! cuDNN: convolutions by its graphs where they have a plan, else by its functions with descriptors and algorithms, which version 9 has beside
//! them.

use std::ffi::{CStr, c_void};

use super::convolution::{
    ConvolutionShape, MAX_WORKSPACE_BYTES, Planner, StoredTensor, VendorConvolution,
};
use super::cudnn_graph::{GraphPlan, Graphs};
use super::engine::Workspace;
use super::functions::{CudnnFunctions, CudnnNames, Handle, Status};
use super::open::Found;
use super::product::Number;
use crate::{ConvolvePass, Error};

static NAMES: CudnnNames = CudnnNames {
    create: c"cudnnCreate",
    destroy: c"cudnnDestroy",
    set_stream: c"cudnnSetStream",
    status_text: c"cudnnGetErrorString",
    tensor_create: c"cudnnCreateTensorDescriptor",
    tensor_destroy: c"cudnnDestroyTensorDescriptor",
    tensor_set: c"cudnnSetTensorNdDescriptor",
    filter_create: c"cudnnCreateFilterDescriptor",
    filter_destroy: c"cudnnDestroyFilterDescriptor",
    filter_set: c"cudnnSetFilterNdDescriptor",
    convolution_create: c"cudnnCreateConvolutionDescriptor",
    convolution_destroy: c"cudnnDestroyConvolutionDescriptor",
    convolution_set: c"cudnnSetConvolutionNdDescriptor",
    set_groups: c"cudnnSetConvolutionGroupCount",
    set_math: c"cudnnSetConvolutionMathType",
    activation_create: c"cudnnCreateActivationDescriptor",
    activation_destroy: c"cudnnDestroyActivationDescriptor",
    activation_set: c"cudnnSetActivationDescriptor",
    forward_algorithm: c"cudnnGetConvolutionForwardAlgorithm_v7",
    image_algorithm: c"cudnnGetConvolutionBackwardDataAlgorithm_v7",
    weight_algorithm: c"cudnnGetConvolutionBackwardFilterAlgorithm_v7",
    forward_workspace: c"cudnnGetConvolutionForwardWorkspaceSize",
    forward: c"cudnnConvolutionForward",
    image_gradient: c"cudnnConvolutionBackwardData",
    weight_gradient: c"cudnnConvolutionBackwardFilter",
    biased: c"cudnnConvolutionBiasActivationForward",
};

/// `CUDNN_TENSOR_NCHW`, `CUDNN_TENSOR_NHWC`.
const FORMATS: [i32; 2] = [0, 1];
/// `CUDNN_CROSS_CORRELATION`.
const CROSS_CORRELATION: i32 = 1;
/// `CUDNN_ACTIVATION_IDENTITY`.
const IDENTITY: i32 = 5;
/// `CUDNN_DETERMINISTIC`: the same bits in every run.
const DETERMINISTIC: i32 = 1;
/// `CUDNN_DEFAULT_MATH`, which rounds float32 to tf32.
const MATH_DEFAULT: i32 = 0;
/// `CUDNN_TENSOR_OP_MATH`.
const MATH_TENSOR: i32 = 1;
/// `CUDNN_FMA_MATH`.
const MATH_FMA: i32 = 3;
/// `CUDNN_STATUS_NOT_SUPPORTED` and the more exact ones behind it.
const NOT_SUPPORTED: std::ops::Range<Status> = 3000..4000;
/// `CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM`, the one that adds a bias without an activation.
const PRECOMPUTED: i32 = 1;
/// Algorithms that add up products, whose errors are those of our kernels: `..._FWD_ALGO_IMPLICIT_GEMM`, `..._IMPLICIT_PRECOMP_GEMM`,
/// `..._GEMM`; `..._BWD_DATA_ALGO_1`; `..._BWD_FILTER_ALGO_1`. Those by FFT and by Winograd lose more digits.
const FORWARD_SUMS: &[i32] = &[0, PRECOMPUTED, 2];
const GRADIENT_SUMS: &[i32] = &[1];
/// More algorithms than there are for any pass.
const MAX_ALGORITHMS: usize = 16;

/// `cudnnDataType_t`; `None` for what cuDNN convolves in no such way.
const fn data_type(number: Number) -> Option<i32> {
    match number {
        Number::F32 | Number::Tf32 => Some(DATA_F32),
        Number::F64 => Some(DATA_F64),
        Number::F16 => Some(2),
        Number::Bf16 => Some(9),
        Number::I8 | Number::I32 => None,
    }
}
const DATA_F32: i32 = 0;
const DATA_F64: i32 = 1;

/// The type that products are added up in.
const fn sums_type(number: Number) -> i32 {
    match number {
        Number::F64 => DATA_F64,
        _ => DATA_F32,
    }
}

const fn math(number: Number) -> i32 {
    match number {
        Number::F32 => MATH_FMA,
        Number::F16 | Number::Bf16 => MATH_TENSOR,
        _ => MATH_DEFAULT,
    }
}

/// `cudnnConvolutionFwdAlgoPerf_t`, and those of the gradients, which differ in names only.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Algorithm {
    number: i32,
    status: Status,
    milliseconds: f32,
    workspace_bytes: usize,
    determinism: i32,
    math: i32,
    reserved: [i32; 3],
}

pub(super) struct Cudnn {
    functions: CudnnFunctions,
    /// Where the library has them.
    graphs: Option<Graphs>,
    handle: Handle,
}

/// Descriptors, 0 for those that were not made, and the algorithm.
#[derive(Default)]
pub(super) struct Plan {
    image: Handle,
    result: Handle,
    bias: Handle,
    weight: Handle,
    convolution: Handle,
    activation: Handle,
    algorithm: i32,
    workspace_bytes: u64,
    /// Nothing else was made where it is there.
    graph: Option<GraphPlan>,
}

impl Cudnn {
    pub fn new(library: &Found) -> Result<Self, Error> {
        // SAFETY: the names are those of the header of this very library.
        let functions = unsafe { CudnnFunctions::load(library, &NAMES) }?;
        let mut handle = 0;
        // SAFETY: `handle` is a valid place for the result.
        let status = unsafe { (functions.create)(&raw mut handle) };
        check(&functions, "starting", status)?;
        Ok(Self {
            functions,
            graphs: Graphs::load(library).ok(),
            handle,
        })
    }

    /// False for what the library does not support.
    fn check(&self, operation: &'static str, status: Status) -> Result<bool, Error> {
        check(&self.functions, operation, status)
    }

    /// The plan of a graph; `None` where there are no graphs, or none of this shape.
    fn graph(&self, shape: &ConvolutionShape) -> Option<GraphPlan> {
        let types = [data_type(shape.number)?, sums_type(shape.number)];
        let graphs = self.graphs.as_ref().filter(|_| !shape.has_bias)?;
        graphs.plan(self.handle, shape, types)
    }

    /// Makes the descriptors of a shape; `false` when the library does not support one.
    fn describe(&self, shape: &ConvolutionShape, plan: &mut Plan) -> Result<bool, Error> {
        let Some(data) = data_type(shape.number) else {
            return Ok(false);
        };
        let tensors = [
            (&mut plan.image, Some(shape.image_tensor())),
            (&mut plan.result, Some(shape.result_tensor())),
            (&mut plan.bias, shape.has_bias.then(|| shape.bias_tensor())),
        ];
        for (handle, tensor) in tensors {
            if let Some(tensor) = tensor
                && !self.describe_tensor(handle, data, &tensor)?
            {
                return Ok(false);
            }
        }
        let weight = shape.weight_tensor();
        let format = FORMATS[usize::from(shape.is_channels_last)];
        // SAFETY: the place for the result is valid, and the extents are as many as are told.
        let status = unsafe {
            let made = (self.functions.filter_create)(&raw mut plan.weight);
            if made == 0 {
                let (rank, extents) = (weight.rank as i32, weight.extents.as_ptr());
                (self.functions.filter_set)(plan.weight, data, format, rank, extents)
            } else {
                made
            }
        };
        let is_described = self.check("describing weights", status)?
            && self.describe_steps(shape, plan)?
            && (!shape.has_bias || self.describe_identity(plan)?);
        Ok(is_described)
    }

    fn describe_tensor(
        &self,
        handle: &mut Handle,
        data: i32,
        tensor: &StoredTensor,
    ) -> Result<bool, Error> {
        // SAFETY: the place for the result is valid, and there are as many extents and strides as are told.
        let status = unsafe {
            let made = (self.functions.tensor_create)(std::ptr::from_mut(handle));
            if made == 0 {
                let (extents, strides) = (tensor.extents.as_ptr(), tensor.strides.as_ptr());
                (self.functions.tensor_set)(*handle, data, tensor.rank as i32, extents, strides)
            } else {
                made
            }
        };
        self.check("describing images", status)
    }

    fn describe_steps(&self, shape: &ConvolutionShape, plan: &mut Plan) -> Result<bool, Error> {
        let sums = sums_type(shape.number);
        let [stride, padding, dilation] = shape.steps();
        // SAFETY: the place for the result is valid, and there are as many steps as are told.
        let status = unsafe {
            let made = (self.functions.convolution_create)(&raw mut plan.convolution);
            if made == 0 {
                (self.functions.convolution_set)(
                    plan.convolution,
                    shape.spatial as i32,
                    padding.as_ptr(),
                    stride.as_ptr(),
                    dilation.as_ptr(),
                    CROSS_CORRELATION,
                    sums,
                )
            } else {
                made
            }
        };
        if !self.check("describing a convolution", status)? {
            return Ok(false);
        }
        // SAFETY: the descriptor is live.
        let status = unsafe { (self.functions.set_groups)(plan.convolution, shape.groups as i32) };
        Ok(self.check("describing groups", status)? && self.set_math(plan, math(shape.number))?)
    }

    fn set_math(&self, plan: &Plan, math: i32) -> Result<bool, Error> {
        // SAFETY: the descriptor is live.
        let status = unsafe { (self.functions.set_math)(plan.convolution, math) };
        self.check("describing the arithmetic", status)
    }

    fn describe_identity(&self, plan: &mut Plan) -> Result<bool, Error> {
        // SAFETY: the place for the result is valid.
        let status = unsafe {
            let made = (self.functions.activation_create)(&raw mut plan.activation);
            if made == 0 {
                (self.functions.activation_set)(plan.activation, IDENTITY, 0, 0.0)
            } else {
                made
            }
        };
        self.check("describing an activation", status)
    }

    /// Takes the best algorithm; `false` when there is none.
    fn choose(&self, shape: &ConvolutionShape, plan: &mut Plan) -> Result<bool, Error> {
        if shape.has_bias {
            return self.choose_precomputed(plan);
        }
        let (image, weight, result) = (plan.image, plan.weight, plan.result);
        let functions = &self.functions;
        let (ask, [first, second, third], sums) = match shape.pass {
            ConvolvePass::Forward => {
                let ask = functions.forward_algorithm;
                (ask, [image, weight, result], FORWARD_SUMS)
            }
            ConvolvePass::ImageGradient => {
                let ask = functions.image_algorithm;
                (ask, [weight, result, image], GRADIENT_SUMS)
            }
            ConvolvePass::WeightGradient => {
                let ask = functions.weight_algorithm;
                (ask, [image, result, weight], GRADIENT_SUMS)
            }
        };
        let mut count = 0;
        let mut records = [Algorithm::default(); MAX_ALGORITHMS];
        // SAFETY: all descriptors are live, and there is room for as many records as are asked for.
        let status = unsafe {
            ask(
                self.handle,
                first,
                second,
                plan.convolution,
                third,
                MAX_ALGORITHMS as i32,
                &raw mut count,
                records.as_mut_ptr().cast(),
            )
        };
        if !self.check("choosing an algorithm", status)? {
            return Ok(false);
        }
        let count = usize::try_from(count).unwrap_or(0).min(MAX_ALGORITHMS);
        let fits = |one: &&Algorithm| {
            one.status == 0
                && one.determinism == DETERMINISTIC
                && sums.contains(&one.number)
                && one.workspace_bytes as u64 <= MAX_WORKSPACE_BYTES
        };
        // What an algorithm wants is said for its arithmetic, where the library tells that of plain float32 apart.
        let is_exact = |one: &Algorithm| shape.number == Number::F32 && one.math == MATH_FMA;
        let is_told = records[..count].iter().any(is_exact);
        let mut fitting = records[..count].iter().filter(fits);
        let Some(best) = fitting.find(|one| !is_told || is_exact(one)) else {
            return Ok(false);
        };
        plan.algorithm = best.number;
        plan.workspace_bytes = best.workspace_bytes as u64;
        // Plain float32 stays so, whatever an algorithm could do faster.
        Ok(shape.number == Number::F32 || self.set_math(plan, best.math)?)
    }

    /// With a bias there is one algorithm.
    fn choose_precomputed(&self, plan: &mut Plan) -> Result<bool, Error> {
        let mut bytes = 0;
        // SAFETY: all descriptors are live, and the place for the result is valid.
        let status = unsafe {
            (self.functions.forward_workspace)(
                self.handle,
                plan.image,
                plan.weight,
                plan.convolution,
                plan.result,
                PRECOMPUTED,
                &raw mut bytes,
            )
        };
        plan.algorithm = PRECOMPUTED;
        plan.workspace_bytes = bytes as u64;
        Ok(self.check("asking for a workspace", status)? && bytes as u64 <= MAX_WORKSPACE_BYTES)
    }
}

fn check(
    functions: &CudnnFunctions,
    operation: &'static str,
    status: Status,
) -> Result<bool, Error> {
    if status == 0 {
        return Ok(true);
    }
    if NOT_SUPPORTED.contains(&status) {
        return Ok(false);
    }
    // SAFETY: the library answers with a text of its own that is never freed, or with null.
    let text = unsafe {
        let text = (functions.status_text)(status);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let text = text.unwrap_or_else(|| "unknown status".to_owned());
    Err(Error::vendor(
        "cuDNN",
        operation,
        &format!("{text} ({status})"),
    ))
}

/// Factors of the result and of what it held, in the format that sums have.
fn factors(number: Number) -> [*const c_void; 2] {
    static F32: [f32; 2] = [1.0, 0.0];
    static F64: [f64; 2] = [1.0, 0.0];
    if number == Number::F64 {
        [(&raw const F64[0]).cast(), (&raw const F64[1]).cast()]
    } else {
        [(&raw const F32[0]).cast(), (&raw const F32[1]).cast()]
    }
}

impl Planner for Cudnn {
    type Plan = Plan;

    fn plan(&self, shape: &ConvolutionShape) -> Result<Option<Plan>, Error> {
        if let Some(graph) = self.graph(shape) {
            return Ok(Some(Plan {
                workspace_bytes: graph.workspace_bytes,
                graph: Some(graph),
                ..Plan::default()
            }));
        }
        let mut plan = Plan::default();
        let outcome = self
            .describe(shape, &mut plan)
            .and_then(|is_described| Ok(is_described && self.choose(shape, &mut plan)?));
        match outcome {
            Ok(true) => Ok(Some(plan)),
            outcome => {
                self.forget(&plan);
                outcome.map(|_| None)
            }
        }
    }

    fn workspace_bytes(plan: &Plan) -> u64 {
        plan.workspace_bytes
    }

    unsafe fn run(
        &self,
        plan: &Plan,
        work: &VendorConvolution,
        workspace: Workspace,
        stream: u64,
    ) -> Result<bool, Error> {
        let functions = &self.functions;
        let [alpha, beta] = factors(work.shape.number);
        let (image, weight, result) = (
            (plan.image, work.image),
            (plan.weight, work.weight),
            (plan.result, work.result),
        );
        let (convolve, first, second, out) = match work.shape.pass {
            ConvolvePass::Forward => (functions.forward, image, weight, result),
            ConvolvePass::ImageGradient => (functions.image_gradient, weight, result, image),
            ConvolvePass::WeightGradient => (functions.weight_gradient, image, result, weight),
        };
        let bytes = workspace.bytes as usize;
        // SAFETY: the handle and the descriptors are live; the caller vouches for the stream and for memory of these extents.
        let status = unsafe {
            let set = (functions.set_stream)(self.handle, stream);
            if set != 0 {
                set
            } else if let (Some(graphs), Some(graph)) = (&self.graphs, &plan.graph) {
                graphs.run(self.handle, graph, work, workspace)
            } else if work.shape.has_bias {
                (functions.biased)(
                    self.handle,
                    alpha,
                    first.0,
                    first.1,
                    second.0,
                    second.1,
                    plan.convolution,
                    plan.algorithm,
                    workspace.address,
                    bytes,
                    beta,
                    out.0,
                    out.1,
                    plan.bias,
                    work.bias,
                    plan.activation,
                    out.0,
                    out.1,
                )
            } else {
                convolve(
                    self.handle,
                    alpha,
                    first.0,
                    first.1,
                    second.0,
                    second.1,
                    plan.convolution,
                    plan.algorithm,
                    workspace.address,
                    bytes,
                    beta,
                    out.0,
                    out.1,
                )
            }
        };
        self.check("convolving", status)
    }

    fn forget(&self, plan: &Plan) {
        if let (Some(graphs), Some(graph)) = (&self.graphs, &plan.graph) {
            graphs.forget(graph);
        }
        let functions = &self.functions;
        let tensors = functions.tensor_destroy;
        // SAFETY: made by `describe`, destroyed once; a failure has nobody left to hear it. 0 was never made.
        unsafe {
            for (handle, destroy) in [
                (plan.image, tensors),
                (plan.result, tensors),
                (plan.bias, tensors),
                (plan.weight, functions.filter_destroy),
                (plan.convolution, functions.convolution_destroy),
                (plan.activation, functions.activation_destroy),
            ] {
                if handle != 0 {
                    destroy(handle);
                }
            }
        }
    }

    fn close(&self) {
        // SAFETY: made by `new`, destroyed once; nothing is called afterwards.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_size_of_the_header() {
        // Four int or float, a size_t at a multiple of 8, five int and the rest of 8.
        assert_eq!(size_of::<Algorithm>(), 48);
        assert_eq!(std::mem::offset_of!(Algorithm, workspace_bytes), 16);
        assert_eq!(std::mem::offset_of!(Algorithm, math), 28);
    }
}
