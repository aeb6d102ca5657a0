//! MIOpen: convolutions in its immediate mode, in which a solution is taken from what the library knows without measuring.

use std::ffi::CStr;

use super::convolution::{
    ConvolutionShape, MAX_WORKSPACE_BYTES, Planner, StoredTensor, VendorConvolution,
};
use super::engine::Workspace;
use super::functions::{Handle, MiopenFunctions, MiopenNames, Status};
use super::open::Found;
use super::product::Number;
use crate::{ConvolvePass, Error};

static NAMES: MiopenNames = MiopenNames {
    create: c"miopenCreate",
    destroy: c"miopenDestroy",
    set_stream: c"miopenSetStream",
    status_text: c"miopenGetErrorString",
    tensor_create: c"miopenCreateTensorDescriptor",
    tensor_destroy: c"miopenDestroyTensorDescriptor",
    tensor_set: c"miopenSetTensorDescriptor",
    convolution_create: c"miopenCreateConvolutionDescriptor",
    convolution_destroy: c"miopenDestroyConvolutionDescriptor",
    convolution_set: c"miopenInitConvolutionNdDescriptor",
    set_groups: c"miopenSetConvolutionGroupCount",
    set_attribute: c"miopenSetConvolutionAttribute",
    forward_solutions: c"miopenConvolutionForwardGetSolution",
    image_solutions: c"miopenConvolutionBackwardDataGetSolution",
    weight_solutions: c"miopenConvolutionBackwardWeightsGetSolution",
    forward_compile: c"miopenConvolutionForwardCompileSolution",
    image_compile: c"miopenConvolutionBackwardDataCompileSolution",
    weight_compile: c"miopenConvolutionBackwardWeightsCompileSolution",
    forward: c"miopenConvolutionForwardImmediate",
    image_gradient: c"miopenConvolutionBackwardDataImmediate",
    weight_gradient: c"miopenConvolutionBackwardWeightsImmediate",
    add_bias: c"miopenConvolutionForwardBias",
};

/// `miopenConvolution`: a cross-correlation; groups are told apart from it.
const CROSS_CORRELATION: i32 = 0;
/// `MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL`: gradients of float16 by units of bfloat16, which have less digits.
const ATTRIBUTE_OTHER_F16: i32 = 0;
/// `MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC`: the same bits in every run.
const ATTRIBUTE_DETERMINISTIC: i32 = 1;
/// `miopenStatusNotImplemented`, `miopenStatusUnsupportedOp`.
const REFUSALS: [Status; 2] = [6, 8];
/// Algorithms that add up products, whose errors are those of our kernels: `miopenConvolutionAlgoGEMM`, `...Direct`, `...ImplicitGEMM`.
/// Those by FFT and by Winograd lose more digits.
const SUMS: [i32; 3] = [0, 1, 5];
/// Solutions that are looked through; the library has them in the order of their time.
const MAX_SOLUTIONS: usize = 32;

/// `miopenDataType_t`; `None` for what MIOpen does not convolve with the meaning of ours.
const fn data_type(number: Number) -> Option<i32> {
    match number {
        Number::F16 => Some(0),
        Number::F32 => Some(1),
        Number::Bf16 => Some(5),
        Number::F64 | Number::Tf32 | Number::I8 | Number::I32 => None,
    }
}

/// `miopenConvSolution_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Solution {
    milliseconds: f32,
    workspace_bytes: usize,
    id: u64,
    algorithm: i32,
}

pub(super) struct Miopen {
    functions: MiopenFunctions,
    handle: Handle,
}

/// Descriptors, 0 for those that were not made, and the solution.
#[derive(Default)]
pub(super) struct Plan {
    image: Handle,
    weight: Handle,
    result: Handle,
    bias: Handle,
    convolution: Handle,
    solution: u64,
    workspace_bytes: u64,
}

impl Miopen {
    pub fn new(library: &Found) -> Result<Self, Error> {
        // SAFETY: the names are those of the header of this very library.
        let functions = unsafe { MiopenFunctions::load(library, &NAMES) }?;
        let mut handle = 0;
        // SAFETY: `handle` is a valid place for the result.
        let status = unsafe { (functions.create)(&raw mut handle) };
        check(&functions, "starting", status)?;
        Ok(Self { functions, handle })
    }

    /// False for what the library does not implement.
    fn check(&self, operation: &'static str, status: Status) -> Result<bool, Error> {
        check(&self.functions, operation, status)
    }

    /// Makes the descriptors of a shape; `false` when the library does not implement it.
    fn describe(&self, shape: &ConvolutionShape, plan: &mut Plan) -> Result<bool, Error> {
        // A bias is added to results that were rounded before, so narrow ones would be rounded twice.
        let is_twice = shape.has_bias && shape.number != Number::F32;
        let Some(data) = data_type(shape.number).filter(|_| !is_twice) else {
            return Ok(false);
        };
        let tensors = [
            (&mut plan.image, Some(shape.image_tensor())),
            (&mut plan.weight, Some(shape.weight_tensor())),
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
        self.describe_steps(shape, plan)
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
        self.check("describing a tensor", status)
    }

    fn describe_steps(&self, shape: &ConvolutionShape, plan: &mut Plan) -> Result<bool, Error> {
        let [stride, padding, dilation] = shape.steps();
        let functions = &self.functions;
        // SAFETY: the place for the result is valid, and there are as many steps as are told; afterwards the descriptor is live.
        let statuses = unsafe {
            let made = (functions.convolution_create)(&raw mut plan.convolution);
            if !self.check("describing a convolution", made)? {
                return Ok(false);
            }
            let convolution = plan.convolution;
            [
                (functions.convolution_set)(
                    convolution,
                    shape.spatial as i32,
                    padding.as_ptr(),
                    stride.as_ptr(),
                    dilation.as_ptr(),
                    CROSS_CORRELATION,
                ),
                (functions.set_groups)(convolution, shape.groups as i32),
                (functions.set_attribute)(convolution, ATTRIBUTE_DETERMINISTIC, 1),
                (functions.set_attribute)(convolution, ATTRIBUTE_OTHER_F16, 0),
            ]
        };
        for status in statuses {
            if !self.check("describing a convolution", status)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the fastest solution and has its kernels compiled; `false` when there is none.
    fn choose(&self, shape: &ConvolutionShape, plan: &mut Plan) -> Result<bool, Error> {
        let (image, weight, result) = (plan.image, plan.weight, plan.result);
        let functions = &self.functions;
        let (ask, compile, [first, second, third]) = match shape.pass {
            ConvolvePass::Forward => (
                functions.forward_solutions,
                functions.forward_compile,
                [weight, image, result],
            ),
            ConvolvePass::ImageGradient => (
                functions.image_solutions,
                functions.image_compile,
                [result, weight, image],
            ),
            ConvolvePass::WeightGradient => (
                functions.weight_solutions,
                functions.weight_compile,
                [result, image, weight],
            ),
        };
        let mut count = 0;
        let mut solutions = [Solution::default(); MAX_SOLUTIONS];
        // SAFETY: all descriptors are live, and there is room for as many records as are asked for.
        let status = unsafe {
            ask(
                self.handle,
                first,
                second,
                plan.convolution,
                third,
                MAX_SOLUTIONS,
                &raw mut count,
                solutions.as_mut_ptr().cast(),
            )
        };
        if !self.check("asking for solutions", status)? {
            return Ok(false);
        }
        let fits = |one: &&Solution| {
            SUMS.contains(&one.algorithm) && one.workspace_bytes as u64 <= MAX_WORKSPACE_BYTES
        };
        let Some(best) = solutions[..count.min(MAX_SOLUTIONS)].iter().find(fits) else {
            return Ok(false);
        };
        plan.solution = best.id;
        plan.workspace_bytes = best.workspace_bytes as u64;
        // SAFETY: all descriptors are live, and the solution is one of this convolution.
        let status = unsafe {
            compile(
                self.handle,
                first,
                second,
                plan.convolution,
                third,
                plan.solution,
            )
        };
        self.check("compiling a solution", status)
    }

    /// # Safety
    /// As for [`Planner::run`].
    unsafe fn add_bias(&self, plan: &Plan, work: &VendorConvolution) -> Status {
        static FACTORS: [f32; 2] = [1.0, 0.0];
        // SAFETY: the handle and the descriptors are live; the caller vouches for the memory.
        unsafe {
            (self.functions.add_bias)(
                self.handle,
                (&raw const FACTORS[0]).cast(),
                plan.bias,
                work.bias,
                (&raw const FACTORS[1]).cast(),
                plan.result,
                work.result,
            )
        }
    }
}

fn check(
    functions: &MiopenFunctions,
    operation: &'static str,
    status: Status,
) -> Result<bool, Error> {
    if status == 0 {
        return Ok(true);
    }
    if REFUSALS.contains(&status) {
        return Ok(false);
    }
    // SAFETY: the library answers with a text of its own that is never freed, or with null.
    let text = unsafe {
        let text = (functions.status_text)(status);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let text = text.unwrap_or_else(|| "unknown status".to_owned());
    Err(Error::vendor(
        "MIOpen",
        operation,
        &format!("{text} ({status})"),
    ))
}

impl Planner for Miopen {
    type Plan = Plan;

    fn plan(&self, shape: &ConvolutionShape) -> Result<Option<Plan>, Error> {
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
        let (image, weight, result) = (
            (plan.image, work.image),
            (plan.weight, work.weight),
            (plan.result, work.result),
        );
        let (convolve, first, second, out) = match work.shape.pass {
            ConvolvePass::Forward => (functions.forward, weight, image, result),
            ConvolvePass::ImageGradient => (functions.image_gradient, result, weight, image),
            ConvolvePass::WeightGradient => (functions.weight_gradient, result, image, weight),
        };
        // SAFETY: the handle and the descriptors are live; the caller vouches for the stream and for memory of these extents.
        let status = unsafe {
            let set = (functions.set_stream)(self.handle, stream);
            if set == 0 {
                convolve(
                    self.handle,
                    first.0,
                    first.1,
                    second.0,
                    second.1,
                    plan.convolution,
                    out.0,
                    out.1,
                    workspace.address,
                    workspace.bytes as usize,
                    plan.solution,
                )
            } else {
                set
            }
        };
        if !self.check("convolving", status)? || !work.shape.has_bias {
            return Ok(status == 0);
        }
        // SAFETY: the caller's contract.
        let status = unsafe { self.add_bias(plan, work) };
        // What was computed is without a bias: the caller computes all of it again.
        self.check("adding a bias", status)
    }

    fn forget(&self, plan: &Plan) {
        let functions = &self.functions;
        let tensors = functions.tensor_destroy;
        // SAFETY: made by `describe`, destroyed once; a failure has nobody left to hear it. 0 was never made.
        unsafe {
            for (handle, destroy) in [
                (plan.image, tensors),
                (plan.weight, tensors),
                (plan.result, tensors),
                (plan.bias, tensors),
                (plan.convolution, functions.convolution_destroy),
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
        // A float, a size_t and a uint64_t at multiples of 8, an enum and the rest of 8.
        assert_eq!(size_of::<Solution>(), 32);
        assert_eq!(std::mem::offset_of!(Solution, algorithm), 24);
    }
}
