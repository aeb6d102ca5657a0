//! cuDNN's graphs of operations: a convolution whose plan is made once costs the host little more than a launch, where its functions with
//! algorithms plan anew in every call.
//!
//! Numbers are those of `cudnn_graph.h` of version 9.

use std::ffi::c_void;

use super::convolution::{
    ALIGNMENT_BYTES, ConvolutionShape, MAX_WORKSPACE_BYTES, StoredTensor, VendorConvolution,
};
use super::engine::Workspace;
use super::functions::{CudnnGraphFunctions, CudnnGraphNames, Handle, Status};
use super::open::Found;
use super::product::Number;
use crate::{ConvolvePass, Error};

static NAMES: CudnnGraphNames = CudnnGraphNames {
    create: c"cudnnBackendCreateDescriptor",
    destroy: c"cudnnBackendDestroyDescriptor",
    set: c"cudnnBackendSetAttribute",
    get: c"cudnnBackendGetAttribute",
    finish: c"cudnnBackendFinalize",
    execute: c"cudnnBackendExecute",
};

/// `cudnnBackendDescriptorType_t`: `CUDNN_BACKEND_..._DESCRIPTOR`.
mod kind {
    pub const CONVOLUTION: i32 = 1;
    pub const ENGINE: i32 = 2;
    pub const ENGINECFG: i32 = 3;
    pub const ENGINEHEUR: i32 = 4;
    pub const EXECUTION_PLAN: i32 = 5;
    pub const OPERATION_FORWARD: i32 = 10;
    pub const OPERATION_BACKWARD_FILTER: i32 = 11;
    pub const OPERATION_BACKWARD_DATA: i32 = 12;
    pub const OPERATIONGRAPH: i32 = 15;
    pub const VARIANT_PACK: i32 = 16;
    pub const TENSOR: i32 = 17;
}

/// `cudnnBackendAttributeName_t`: `CUDNN_ATTR_...`.
mod name {
    pub const CONVOLUTION_COMP_TYPE: i32 = 100;
    pub const CONVOLUTION_CONV_MODE: i32 = 101;
    pub const CONVOLUTION_DILATIONS: i32 = 102;
    pub const CONVOLUTION_FILTER_STRIDES: i32 = 103;
    pub const CONVOLUTION_POST_PADDINGS: i32 = 104;
    pub const CONVOLUTION_PRE_PADDINGS: i32 = 105;
    pub const CONVOLUTION_SPATIAL_DIMS: i32 = 106;
    pub const ENGINEHEUR_MODE: i32 = 200;
    pub const ENGINEHEUR_OPERATION_GRAPH: i32 = 201;
    pub const ENGINEHEUR_RESULTS: i32 = 202;
    pub const ENGINECFG_ENGINE: i32 = 300;
    pub const EXECUTION_PLAN_HANDLE: i32 = 400;
    pub const EXECUTION_PLAN_ENGINE_CONFIG: i32 = 401;
    pub const EXECUTION_PLAN_WORKSPACE_SIZE: i32 = 402;
    pub const OPERATIONGRAPH_HANDLE: i32 = 800;
    pub const OPERATIONGRAPH_OPS: i32 = 801;
    pub const TENSOR_BYTE_ALIGNMENT: i32 = 900;
    pub const TENSOR_DATA_TYPE: i32 = 901;
    pub const TENSOR_DIMENSIONS: i32 = 902;
    pub const TENSOR_STRIDES: i32 = 903;
    pub const TENSOR_UNIQUE_ID: i32 = 906;
    pub const VARIANT_PACK_UNIQUE_IDS: i32 = 1000;
    pub const VARIANT_PACK_DATA_POINTERS: i32 = 1001;
    pub const VARIANT_PACK_WORKSPACE: i32 = 1003;
    pub const ENGINE_NUMERICAL_NOTE: i32 = 1303;
}

/// `cudnnBackendAttributeType_t`: `CUDNN_TYPE_...`.
mod is {
    pub const HANDLE: i32 = 0;
    pub const DATA_TYPE: i32 = 1;
    pub const INT64: i32 = 3;
    pub const FLOAT: i32 = 4;
    pub const DOUBLE: i32 = 5;
    pub const VOID_PTR: i32 = 6;
    pub const CONVOLUTION_MODE: i32 = 7;
    pub const HEUR_MODE: i32 = 8;
    pub const NUMERICAL_NOTE: i32 = 11;
    pub const DESCRIPTOR: i32 = 15;
}

/// `cudnnBackendNumericalNote_t`. Engines with tensor cores round float32 to tf32 without a note of a conversion.
const TENSOR_CORE: i32 = 0;
const DOWN_CONVERT_INPUTS: i32 = 1;
const REDUCED_PRECISION_REDUCTION: i32 = 2;
const FFT: i32 = 3;
const NONDETERMINISTIC: i32 = 4;
const WINOGRAD: i32 = 5;
/// `CUDNN_HEUR_MODE_A`, and `CUDNN_HEUR_MODE_FALLBACK` for what the first finds nothing for.
const MODES: [i32; 2] = [3, 2];
/// `CUDNN_CROSS_CORRELATION`.
const CROSS_CORRELATION: i32 = 1;
/// Engines that are looked at, best first, and notes of each.
const MAX_ENGINES: usize = 16;
const MAX_NOTES: usize = 32;
/// What the tensors of a graph are called: image, weight, result.
const IDS: [i64; 3] = [1, 2, 3];

/// Attributes of an operation: its descriptor, then convolution, image, weight, result, alpha, beta.
const fn operation(pass: ConvolvePass) -> (i32, [i32; 6]) {
    match pass {
        ConvolvePass::Forward => (kind::OPERATION_FORWARD, [702, 704, 703, 705, 700, 701]),
        ConvolvePass::ImageGradient => (
            kind::OPERATION_BACKWARD_DATA,
            [708, 710, 709, 711, 706, 707],
        ),
        ConvolvePass::WeightGradient => (
            kind::OPERATION_BACKWARD_FILTER,
            [714, 716, 715, 717, 712, 713],
        ),
    }
}

/// The functions of graphs.
pub(super) struct Graphs(CudnnGraphFunctions);

/// A plan, with all descriptors that it was made of.
pub(super) struct GraphPlan {
    plan: Handle,
    pub workspace_bytes: u64,
    descriptors: Vec<Handle>,
}

/// Descriptors that are given back when making a plan ends without one.
struct Made<'a> {
    functions: &'a CudnnGraphFunctions,
    descriptors: Vec<Handle>,
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for descriptor in self.descriptors.drain(..).rev() {
            // SAFETY: made by `create`, destroyed once.
            unsafe { (self.functions.destroy)(descriptor) };
        }
    }
}

impl Made<'_> {
    fn create(&mut self, kind: i32) -> Result<Handle, Status> {
        let mut descriptor = 0;
        // SAFETY: a valid place for the result.
        done(unsafe { (self.functions.create)(kind, &raw mut descriptor) })?;
        self.descriptors.push(descriptor);
        Ok(descriptor)
    }

    fn set<T>(&self, descriptor: Handle, name: i32, kind: i32, values: &[T]) -> Result<(), Status> {
        set(self.functions, descriptor, name, kind, values)
    }

    fn finish(&self, descriptor: Handle) -> Result<(), Status> {
        // SAFETY: a live descriptor.
        done(unsafe { (self.functions.finish)(descriptor) })
    }

    /// Values of an attribute; how many there are.
    fn get<T>(
        &self,
        descriptor: Handle,
        name: i32,
        kind: i32,
        values: &mut [T],
    ) -> Result<usize, Status> {
        let mut count = 0;
        // SAFETY: a live descriptor, and room for as many values of the kind as are asked for.
        done(unsafe {
            (self.functions.get)(
                descriptor,
                name,
                kind,
                values.len() as i64,
                &raw mut count,
                values.as_mut_ptr().cast(),
            )
        })?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn tensor(&mut self, stored: &StoredTensor, id: i64, data: i32) -> Result<Handle, Status> {
        let wide = |numbers: &[i32; 5]| numbers.map(i64::from);
        let (extents, strides) = (wide(&stored.extents), wide(&stored.strides));
        let made = self.create(kind::TENSOR)?;
        self.set(made, name::TENSOR_DATA_TYPE, is::DATA_TYPE, &[data])?;
        self.set(
            made,
            name::TENSOR_DIMENSIONS,
            is::INT64,
            &extents[..stored.rank],
        )?;
        self.set(
            made,
            name::TENSOR_STRIDES,
            is::INT64,
            &strides[..stored.rank],
        )?;
        self.set(made, name::TENSOR_UNIQUE_ID, is::INT64, &[id])?;
        let alignment = [ALIGNMENT_BYTES as i64];
        self.set(made, name::TENSOR_BYTE_ALIGNMENT, is::INT64, &alignment)?;
        self.finish(made)?;
        Ok(made)
    }

    fn convolution(&mut self, shape: &ConvolutionShape, sums: i32) -> Result<Handle, Status> {
        let made = self.create(kind::CONVOLUTION)?;
        let axes = shape.spatial;
        let [stride, padding, dilation] = shape.steps().map(|steps| steps.map(i64::from));
        self.set(made, name::CONVOLUTION_COMP_TYPE, is::DATA_TYPE, &[sums])?;
        let correlates = [CROSS_CORRELATION];
        self.set(
            made,
            name::CONVOLUTION_CONV_MODE,
            is::CONVOLUTION_MODE,
            &correlates,
        )?;
        self.set(
            made,
            name::CONVOLUTION_SPATIAL_DIMS,
            is::INT64,
            &[axes as i64],
        )?;
        for (name, steps) in [
            (name::CONVOLUTION_PRE_PADDINGS, padding),
            (name::CONVOLUTION_POST_PADDINGS, padding),
            (name::CONVOLUTION_DILATIONS, dilation),
            (name::CONVOLUTION_FILTER_STRIDES, stride),
        ] {
            self.set(made, name, is::INT64, &steps[..axes])?;
        }
        self.finish(made)?;
        Ok(made)
    }

    /// The graph of one convolution.
    fn graph(
        &mut self,
        handle: Handle,
        shape: &ConvolutionShape,
        [data, sums]: [i32; 2],
    ) -> Result<Handle, Status> {
        let stored = [
            shape.image_tensor(),
            shape.weight_tensor(),
            shape.result_tensor(),
        ];
        let mut tensors = [0; 3];
        for (index, tensor) in stored.iter().enumerate() {
            tensors[index] = self.tensor(tensor, IDS[index], data)?;
        }
        let convolution = self.convolution(shape, sums)?;
        let (kind, names) = operation(shape.pass);
        let made = self.create(kind)?;
        let [image, weight, result] = tensors;
        for (name, part) in names.iter().zip([convolution, image, weight, result]) {
            self.set(made, *name, is::DESCRIPTOR, &[part])?;
        }
        for (name, factor) in names[4..].iter().zip([1.0_f32, 0.0]) {
            if shape.number == Number::F64 {
                self.set(made, *name, is::DOUBLE, &[f64::from(factor)])?;
            } else {
                self.set(made, *name, is::FLOAT, &[factor])?;
            }
        }
        self.finish(made)?;
        let graph = self.create(kind::OPERATIONGRAPH)?;
        self.set(graph, name::OPERATIONGRAPH_OPS, is::DESCRIPTOR, &[made])?;
        self.set(graph, name::OPERATIONGRAPH_HANDLE, is::HANDLE, &[handle])?;
        self.finish(graph)?;
        Ok(graph)
    }

    /// Configurations of engines for a graph, best first.
    fn configurations(&mut self, graph: Handle, mode: i32) -> Result<Vec<Handle>, Status> {
        let heuristic = self.create(kind::ENGINEHEUR)?;
        let of_graph = name::ENGINEHEUR_OPERATION_GRAPH;
        self.set(heuristic, of_graph, is::DESCRIPTOR, &[graph])?;
        self.set(heuristic, name::ENGINEHEUR_MODE, is::HEUR_MODE, &[mode])?;
        self.finish(heuristic)?;
        let mut found = Vec::new();
        for _ in 0..MAX_ENGINES {
            found.push(self.create(kind::ENGINECFG)?);
        }
        let results = name::ENGINEHEUR_RESULTS;
        let count = self.get(heuristic, results, is::DESCRIPTOR, &mut found)?;
        found.truncate(count);
        Ok(found)
    }

    /// Whether an engine adds up products in an order that is always the same, in the arithmetic that was asked for.
    fn is_wanted(&mut self, configuration: Handle, number: Number) -> Result<bool, Status> {
        let mut engine = [self.create(kind::ENGINE)?];
        self.get(
            configuration,
            name::ENGINECFG_ENGINE,
            is::DESCRIPTOR,
            &mut engine,
        )?;
        let mut notes = [0_i32; MAX_NOTES];
        let name = name::ENGINE_NUMERICAL_NOTE;
        let count = self.get(engine[0], name, is::NUMERICAL_NOTE, &mut notes)?;
        let is_refused = |note: &i32| match *note {
            NONDETERMINISTIC | FFT | WINOGRAD | REDUCED_PRECISION_REDUCTION => true,
            TENSOR_CORE | DOWN_CONVERT_INPUTS => number == Number::F32,
            _ => false,
        };
        Ok(!notes[..count.min(MAX_NOTES)].iter().any(is_refused))
    }

    /// The plan of a configuration and the workspace that it wants.
    fn plan(&mut self, handle: Handle, configuration: Handle) -> Result<(Handle, u64), Status> {
        let plan = self.create(kind::EXECUTION_PLAN)?;
        self.set(plan, name::EXECUTION_PLAN_HANDLE, is::HANDLE, &[handle])?;
        let name = name::EXECUTION_PLAN_ENGINE_CONFIG;
        self.set(plan, name, is::DESCRIPTOR, &[configuration])?;
        self.finish(plan)?;
        let mut bytes = [0_i64];
        self.get(
            plan,
            name::EXECUTION_PLAN_WORKSPACE_SIZE,
            is::INT64,
            &mut bytes,
        )?;
        Ok((plan, u64::try_from(bytes[0]).unwrap_or(u64::MAX)))
    }
}

fn done(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

fn set<T>(
    functions: &CudnnGraphFunctions,
    descriptor: Handle,
    name: i32,
    kind: i32,
    values: &[T],
) -> Result<(), Status> {
    // SAFETY: a live descriptor, and as many values of the kind as are told.
    done(unsafe {
        (functions.set)(
            descriptor,
            name,
            kind,
            values.len() as i64,
            values.as_ptr().cast::<c_void>(),
        )
    })
}

impl Graphs {
    /// The functions; an error where the library lacks one.
    pub fn load(library: &Found) -> Result<Self, Error> {
        // SAFETY: the names are those of the header of this very library.
        Ok(Self(unsafe { CudnnGraphFunctions::load(library, &NAMES) }?))
    }

    /// The plan of the best engine that is wanted; `None` where the library has none, or does not plan.
    pub fn plan(
        &self,
        handle: Handle,
        shape: &ConvolutionShape,
        types: [i32; 2],
    ) -> Option<GraphPlan> {
        let mut kept = self.made();
        let graph = kept.graph(handle, shape, types).ok()?;
        for mode in MODES {
            let mut tried = self.made();
            let found = tried.configurations(graph, mode).unwrap_or_default();
            for configuration in found {
                if tried.is_wanted(configuration, shape.number) != Ok(true) {
                    continue;
                }
                let Ok((plan, workspace_bytes)) = tried.plan(handle, configuration) else {
                    continue;
                };
                if workspace_bytes <= MAX_WORKSPACE_BYTES {
                    let own = [configuration, plan];
                    tried.descriptors.retain(|one| !own.contains(one));
                    kept.descriptors.extend(own);
                    return Some(GraphPlan {
                        plan,
                        workspace_bytes,
                        descriptors: std::mem::take(&mut kept.descriptors),
                    });
                }
            }
        }
        None
    }

    fn made(&self) -> Made<'_> {
        Made {
            functions: &self.0,
            descriptors: Vec::new(),
        }
    }

    /// Puts a convolution into the stream of the handle.
    ///
    /// # Safety
    /// As for `Engine::submit`; the plan is that of the convolution's shape.
    pub unsafe fn run(
        &self,
        handle: Handle,
        plan: &GraphPlan,
        work: &VendorConvolution,
        workspace: Workspace,
    ) -> Status {
        let mut made = self.made();
        let pack = made.create(kind::VARIANT_PACK).and_then(|pack| {
            let pointers = [work.image, work.weight, work.result];
            let address = [workspace.address];
            made.set(pack, name::VARIANT_PACK_UNIQUE_IDS, is::INT64, &IDS)?;
            made.set(
                pack,
                name::VARIANT_PACK_DATA_POINTERS,
                is::VOID_PTR,
                &pointers,
            )?;
            made.set(pack, name::VARIANT_PACK_WORKSPACE, is::VOID_PTR, &address)?;
            made.finish(pack)?;
            Ok(pack)
        });
        match pack {
            // SAFETY: handle, plan and pack are live; the caller vouches for the memory.
            Ok(pack) => unsafe { (self.0.execute)(handle, plan.plan, pack) },
            Err(status) => status,
        }
    }

    /// Gives the descriptors of a plan back.
    pub fn forget(&self, plan: &GraphPlan) {
        drop(Made {
            functions: &self.0,
            descriptors: plan.descriptors.clone(),
        });
    }
}
