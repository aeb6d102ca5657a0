//! Graphs of `tf.function` and of sessions before they run: `TF_InitGraph` of `tensorflow/c/experimental/grappler/grappler.h`. TensorFlow hands over each
//! graph with nodes on RDNA behind its own optimizers; nodes that one kernel computes together are replaced by one, and counted.

pub mod attention;
pub mod convolution;
pub mod elementwise;
mod gelu;
mod layer_norm;
mod lists;
pub mod matmul;
mod node;
mod rewrite;
mod shapes;
mod wire;

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::failure::Outcome;
use crate::platform::{answered, structs, write_up_to};
use crate::tensorflow::{self, Buffer, Opaque, Status};
use node::GraphDef;
use rewrite::{Graph, is_on_rdna};
use shapes::Inferred;

structs! {
    OptimizerConfigs {
        ext: *mut c_void,
        disable_model_pruning: c_int,
        implementation_selector: c_int,
        function_optimization: c_int,
        common_subgraph_elimination: c_int,
        arithmetic_optimization: c_int,
        debug_stripper: c_int,
        constant_folding: c_int,
        shape_optimization: c_int,
        auto_mixed_precision: c_int,
        auto_mixed_precision_onednn_bfloat16: c_int,
        auto_mixed_precision_mkl: c_int,
        pin_to_host_optimization: c_int,
        layout_optimizer: c_int,
        remapping: c_int,
        loop_optimization: c_int,
        dependency_optimization: c_int,
        auto_parallel: c_int,
        memory_optimization: c_int,
        ; scoped_allocator_optimization: c_int,
    }
    Optimizer {
        ext: *mut c_void,
        create_func: Option<extern "C" fn() -> Opaque>,
        optimize_func: Option<extern "C" fn(Opaque, *const Buffer, Opaque, *mut Buffer, Opaque)>,
        ; destroy_func: Option<extern "C" fn(Opaque)>,
    }
    OptimizerRegistrationParams {
        ext: *mut c_void,
        major_version: i32,
        minor_version: i32,
        patch_version: i32,
        device_type: *const c_char,
        optimizer_configs: *mut OptimizerConfigs,
        ; optimizer: *mut Optimizer,
    }
}

impl OptimizerConfigs {
    const C_NAME: &'static CStr = c"TP_OptimizerConfigs";
}

impl Optimizer {
    const C_NAME: &'static CStr = c"TP_Optimizer";
}

impl OptimizerRegistrationParams {
    const C_NAME: &'static CStr = c"TP_OptimizerRegistrationParams";
}

/// `TF_TriState_Off`.
const OFF: c_int = 1;

static IS_ON: AtomicBool = AtomicBool::new(true);

/// Rewrites of one kind: the name that users read, how many nodes were made, and of how many.
pub struct Fusion {
    pub name: &'static CStr,
    pub made: AtomicU64,
    pub joined: AtomicU64,
    join: fn(&mut Graph) -> (u64, u64),
}

const fn fusion(name: &'static CStr, join: fn(&mut Graph) -> (u64, u64)) -> Fusion {
    Fusion {
        name,
        made: AtomicU64::new(0),
        joined: AtomicU64::new(0),
        join,
    }
}

/// In the order in which they are tried: what one kernel computes as a whole comes before chains of elements.
pub static FUSIONS: [Fusion; 7] = [
    fusion(c"lists on the CPU", lists::join),
    fusion(c"layer norm", layer_norm::join),
    fusion(c"gelu", gelu::join),
    fusion(c"attention", attention::join),
    fusion(c"matmul", matmul::join),
    fusion(c"convolution", convolution::join),
    fusion(c"elementwise", elementwise::join),
];

/// Switches fusions on or off, for graphs that are made from now on. Lists of tensors are moved in any case: the device cannot compute with them.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_set_fusion(is_on: bool) {
    IS_ON.store(is_on, Ordering::Relaxed);
}

/// TensorFlow's entry: registers the optimizer of graphs with nodes on RDNA.
///
/// # Safety
///
/// `params` is what TensorFlow gives a plug-in, with places for the optimizer and for what it says of others; `status` is a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TF_InitGraph(params: *mut OptimizerRegistrationParams, status: Opaque) {
    answered(status, || {
        tensorflow::graphs()?;
        // SAFETY: as the caller promises.
        let params = unsafe { &mut *params };
        params.device_type = c"RDNA".as_ptr();
        // SAFETY: plain numbers and a pointer; zeros leave to users what they have set.
        let mut configs: OptimizerConfigs = unsafe { std::mem::zeroed() };
        configs.struct_size = OptimizerConfigs::STRUCT_SIZE;
        // It would make operations of a batch normalisation with an activation, which have kernels on CPUs and on GPUs of TensorFlow's own alone.
        configs.remapping = OFF;
        let optimizer = Optimizer {
            struct_size: Optimizer::STRUCT_SIZE,
            ext: std::ptr::null_mut(),
            create_func: Some(create),
            optimize_func: Some(optimize),
            destroy_func: Some(destroy),
        };
        // SAFETY: places of TensorFlow's for these structs.
        unsafe {
            write_up_to(
                params.optimizer_configs,
                configs,
                OptimizerConfigs::STRUCT_SIZE,
            );
            write_up_to(params.optimizer, optimizer, Optimizer::STRUCT_SIZE);
        }
        Ok(())
    });
}

/// The optimizer has no state; TensorFlow wants a pointer that is not null.
extern "C" fn create() -> Opaque {
    std::ptr::from_ref(&IS_ON).cast_mut().cast()
}

extern "C" fn destroy(_optimizer: Opaque) {}

extern "C" fn optimize(
    _optimizer: Opaque,
    graph: *const Buffer,
    item: Opaque,
    optimized: *mut Buffer,
    status: Opaque,
) {
    answered(status, || {
        // SAFETY: TensorFlow's buffer, which lives during the call.
        let given = unsafe { (*graph).bytes() };
        let written = rewritten(given, item)?;
        // SAFETY: an empty buffer of TensorFlow's.
        unsafe { (*optimized).fill(written) };
        Ok(())
    });
}

/// The graph with what can be joined in one node each.
fn rewritten(bytes: &[u8], item: Opaque) -> Outcome<Vec<u8>> {
    let read = GraphDef::read(bytes)?;
    if !read.nodes.iter().any(|node| is_on_rdna(&node.device)) {
        return Ok(bytes.to_vec());
    }
    let mut shapes = Inferred::of(item);
    let mut graph = Graph::new(read, kept(item)?, &mut shapes);
    let is_on = IS_ON.load(Ordering::Relaxed);
    for (place, fusion) in FUSIONS.iter().enumerate() {
        if place > 0 && !is_on {
            break;
        }
        let (made, joined) = (fusion.join)(&mut graph);
        fusion.made.fetch_add(made, Ordering::Relaxed);
        fusion.joined.fetch_add(joined, Ordering::Relaxed);
    }
    Ok(graph.finished().written())
}

/// Names of nodes that are fed or whose results are asked for.
fn kept(item: Opaque) -> Outcome<HashSet<String>> {
    let (graphs, status) = (tensorflow::graphs()?, Status::new()?);
    let (mut count, mut bytes) = (0, 0);
    // SAFETY: TensorFlow's item, a live status and places for two numbers.
    unsafe {
        (graphs.TF_GetNodesToPreserveListSize)(item, &raw mut count, &raw mut bytes, status.0);
    }
    status.done()?;
    let places = count.max(0) as usize;
    let mut texts: Vec<*mut c_char> = vec![std::ptr::null_mut(); places];
    let (mut lengths, mut storage) = (vec![0_usize; places], vec![0_u8; bytes]);
    // SAFETY: as above, with room for so many pointers and lengths and for the characters of all.
    unsafe {
        (graphs.TF_GetNodesToPreserveList)(
            item,
            texts.as_mut_ptr(),
            lengths.as_mut_ptr(),
            count,
            storage.as_mut_ptr().cast(),
            bytes,
            status.0,
        );
    }
    status.done()?;
    let name = |(text, length): (&*mut c_char, &usize)| {
        // SAFETY: characters within the storage.
        let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), *length) };
        String::from_utf8_lossy(bytes).into_owned()
    };
    Ok(texts.iter().zip(&lengths).map(name).collect())
}
