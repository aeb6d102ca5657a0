//! The functions of `libamdgpu.so` that kernels call: amdgpu/ops.h, array.h, random.h, runtime.h. One copy of the core serves the process.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::dynamic::{Library, functions};
use crate::failure::{Failure, Outcome};

/// Any handle of libamdgpu; 0 is none.
pub type Handle = u64;
type Text = *const c_char;

/// `AGPU_MAX_DIMENSIONS`.
pub const MAX_DIMENSIONS: usize = 16;

/// `agpu_operand`.
#[repr(C)]
pub struct Operand {
    pub kind: u32,
    pub dimensions: u32,
    pub dtype: Text,
    pub address: *mut c_void,
    pub shape: *const i64,
    pub strides: *const i64,
    pub integer: i64,
    pub real: f64,
    pub imaginary: f64,
}

/// An operand, or where there is none the address 0.
pub fn address_of(operand: Option<&Operand>) -> *const Operand {
    operand.map_or(std::ptr::null(), std::ptr::from_ref)
}

pub const OPERAND_MEMORY: u32 = 0;
pub const OPERAND_INTEGER: u32 = 1;
pub const OPERAND_REAL: u32 = 2;

/// `AGPU_LIST_SLOTS` and `AGPU_LIST_NUMBERS`.
pub const LIST_SLOTS: usize = 8;
pub const LIST_NUMBERS: usize = 4;

/// `agpu_list_item`.
#[repr(C)]
pub struct ListItem {
    pub elements: u64,
    pub memory: [*mut c_void; LIST_SLOTS],
    pub numbers: [f64; LIST_NUMBERS],
}

/// Options of libamdgpu, which begin with their size; zero is the default of every other field.
macro_rules! options {
    ($(#[$meta:meta])* $name:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[repr(C)]
        pub struct $name {
            pub size_bytes: u64,
            $(pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                // SAFETY: plain numbers and pointers; all zeros is a valid value.
                let mut options: Self = unsafe { std::mem::zeroed() };
                options.size_bytes = size_of::<Self>() as u64;
                options
            }
        }
    };
}

options!(/// `agpu_array_facts`.
Facts {
    device: [u8; 64],
    dtype: [c_char; 16],
    address: *mut c_void,
    elements: u64,
    item_bytes: u32,
    dimensions: u32,
    shape: [i64; MAX_DIMENSIONS],
    strides: [i64; MAX_DIMENSIONS],
    is_contiguous: u32,
    is_read_only: u32,
});
options!(/// `agpu_device_facts`.
DeviceFacts {
    name: [u8; 64],
    product_name: [u8; 128],
    architecture: [u8; 64],
    kind: [u8; 8],
    ordinal: u32,
    compute_units: u32,
    physical_cores: u32,
    logical_cores: u32,
    warp_size: u32,
    max_threads_per_block: u32,
    max_block: [u32; 3],
    max_grid: [u32; 3],
    shared_memory_per_block_bytes: u64,
    total_memory_bytes: u64,
    clock_hertz: u64,
});
options!(/// `agpu_memory_info`.
    MemoryInfo { free_bytes: u64, total_bytes: u64, used_bytes: u64, });
options!(/// `agpu_memory_statistics`.
MemoryStatistics {
    allocations: u64,
    allocated_bytes: u64,
    allocated_bytes_peak: u64,
    reserved_bytes: u64,
    reserved_bytes_peak: u64,
    allocations_total: u64,
    cache_hits: u64,
    cache_misses: u64,
    out_of_memory: u64,
});
options!(/// `agpu_memory_options`.
    MemoryOptions { kind: u32, reserved: u32, stream: Handle, });
options!(/// `agpu_ops_options`.
    Out { out: Handle, });
options!(/// `agpu_ops_reduce_options`.
Reduce {
    out: Handle,
    axes: *const i64,
    axis_count: u64,
    correction: f64,
    keeps_axes: u32,
    reserved: u32,
    dtype: Text,
});
options!(/// `agpu_ops_scan_options`.
    Scan { out: Handle, is_exclusive: u32, is_reversed: u32, });
options!(/// `agpu_ops_segment_options`.
    Segment { axis: i64, count: i64, has_offsets: u32, reserved: u32, });
options!(/// `agpu_ops_scatter_reduce_options`.
    ScatterReduce { excludes_self: u32, reserved: u32, });
options!(/// `agpu_ops_top_k_options`.
    TopK { is_smallest: u32, reserved: u32, });
options!(/// `agpu_ops_sort_options`.
    Sort { is_descending: u32, reserved: u32, });
options!(/// `agpu_ops_matmul_options`.
Matmul {
    out: Handle,
    bias: Handle,
    residual: Handle,
    activation: Text,
    precision: Text,
    alpha: f64,
    beta: f64,
    has_factors: u32,
    transpose_a: u32,
    transpose_b: u32,
    reserved: u32,
});
options!(/// `agpu_ops_normalize_options`.
Normalize {
    out: Handle,
    scale: Handle,
    shift: Handle,
    axes: *const i64,
    axis_count: u64,
    epsilon: f64,
    has_epsilon: u32,
    reserved: u32,
});
options!(/// `agpu_ops_batch_norm_options`.
BatchNorm {
    weight: Handle,
    bias: Handle,
    epsilon: f64,
    has_epsilon: u32,
    reserved: u32,
    out: Handle,
    saved_mean: Handle,
    saved_scale: Handle,
    running_mean: Handle,
    running_variance: Handle,
    momentum: f64,
    out_by_weight: Handle,
    out_by_bias: Handle,
});
options!(/// `agpu_ops_conv2d_options`.
Convolve {
    out: Handle,
    bias: Handle,
    stride: [i64; 2],
    padding: [i64; 2],
    dilation: [i64; 2],
    groups: i64,
    layout: Text,
    precision: Text,
    stride_depth: i64,
    padding_depth: i64,
    dilation_depth: i64,
    output_padding: [i64; 3],
    pads_same: u32,
    reserved: u32,
});
options!(/// `agpu_ops_pool_options`.
Pool {
    out: Handle,
    window: [i64; 2],
    stride: [i64; 2],
    padding: [i64; 2],
    dilation: [i64; 2],
    layout: Text,
    excludes_padding: u32,
    reserved: u32,
    window_depth: i64,
    stride_depth: i64,
    padding_depth: i64,
    dilation_depth: i64,
    output_size: [i64; 3],
    divisor_override: i64,
    ceil_mode: u32,
    reserved_end: u32,
});
options!(/// `agpu_ops_embedding_gradient_options`.
    EmbeddingGradient { padding_index: i64, has_padding_index: u32, scales_by_frequency: u32, });
options!(/// `agpu_ops_loss_options`.
Loss {
    weight: Handle,
    reduction: Text,
    label_smoothing: f64,
    ignored_class: i64,
    has_ignored_class: u32,
    with_logits: u32,
});
options!(/// `agpu_ops_attention_options`.
    Attention { mask: Handle, scale: f64, has_scale: u32, is_causal: u32, });
options!(/// `agpu_random_state`.
    RandomState { key: u64, position: u64, jumps: u32, reserved: u32, });
options!(/// `agpu_error_info`.
ErrorInfo {
    status: i32,
    reserved: u32,
    name: Text,
    class_name: Text,
    message: Text,
    hint: Text,
    language: Text,
});

/// What `agpu_stream_lend` calls: the driver's handle of the stream, and what was given for it.
pub type NativeWork = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

functions!(Functions {
    agpu_last_error: fn(*mut ErrorInfo) -> i32;
    agpu_release: fn(Handle) -> i32;
    agpu_telemetry_is_watched: fn() -> bool;
    agpu_telemetry_mark: fn(Text, u64, u64) -> i32;
    agpu_device_count: fn(*mut u32) -> i32;
    agpu_device_info_at: fn(u32, *mut DeviceFacts) -> i32;
    agpu_device_open: fn(Text, *const c_void, *mut Handle) -> i32;
    agpu_device_memory: fn(Handle, *mut MemoryInfo) -> i32;
    agpu_device_memory_statistics: fn(Handle, u32, *mut MemoryStatistics) -> i32;
    agpu_device_reset_memory_peaks: fn(Handle) -> i32;
    agpu_device_synchronize: fn(Handle) -> i32;
    agpu_device_default_stream: fn(Handle, *mut Handle) -> i32;
    agpu_stream_create: fn(Handle, *mut Handle) -> i32;
    agpu_stream_synchronize: fn(Handle) -> i32;
    agpu_stream_wait_event: fn(Handle, Handle) -> i32;
    agpu_stream_lend: fn(Handle, NativeWork, *mut c_void, *mut bool) -> i32;
    agpu_event_create: fn(Handle, *mut Handle) -> i32;
    agpu_event_record: fn(Handle, Handle) -> i32;
    agpu_event_synchronize: fn(Handle) -> i32;
    agpu_event_is_complete: fn(Handle, *mut bool) -> i32;
    agpu_event_elapsed_ns: fn(Handle, Handle, *mut i64) -> i32;
    agpu_raw_allocate: fn(Handle, u64, *const MemoryOptions, *mut *mut c_void) -> i32;
    agpu_raw_free: fn(*mut c_void, Handle) -> i32;
    agpu_raw_copy: fn(Handle, *mut c_void, *const c_void, u64, u32, Handle) -> i32;
    agpu_raw_fill: fn(Handle, *mut c_void, u64, u8, Handle) -> i32;
    agpu_device_wait_stream: fn(Handle, Handle) -> i32;
    agpu_stream_wait_device: fn(Handle, Handle) -> i32;
    agpu_array_from_address: fn(Handle, *mut c_void, Text, u32, *const i64, *const i64, *mut Handle) -> i32;
    agpu_array_info: fn(Handle, *mut Facts) -> i32;
    agpu_array_write: fn(Handle, *const c_void, u64) -> i32;
    agpu_array_read: fn(Handle, *mut c_void, u64) -> i32;
    agpu_ops_elementwise_at: fn(Handle, Text, *const Operand, usize, f64, *const Operand) -> i32;
    agpu_ops_fused_at: fn(Handle, Text, *const Operand, usize, *const Operand) -> i32;
    agpu_ops_list_at: fn(Handle, Text, *const Text, *const ListItem, usize, *const f64, usize) -> i32;
    agpu_ops_reduce: fn(Text, Handle, *const Reduce, *mut Handle) -> i32;
    agpu_ops_scan: fn(Text, Handle, i64, *const Scan, *mut Handle) -> i32;
    agpu_ops_cumulative_best: fn(Text, Handle, i64, *mut Handle, *mut Handle) -> i32;
    agpu_ops_masked_select: fn(Handle, Handle, *mut Handle) -> i32;
    agpu_ops_nonzero: fn(Handle, *mut Handle) -> i32;
    agpu_ops_sort: fn(Handle, i64, *const Sort, *mut Handle, *mut Handle) -> i32;
    agpu_ops_top_k: fn(Handle, i64, i64, *const TopK, *mut Handle, *mut Handle) -> i32;
    agpu_ops_pick: fn(Handle, *const i64, *const Handle, usize, *mut Handle) -> i32;
    agpu_ops_put: fn(Handle, *const i64, *const Handle, usize, Handle, Text) -> i32;
    agpu_ops_segment_reduce: fn(Text, Handle, Handle, *const Segment, *mut Handle) -> i32;
    agpu_ops_scatter_reduce: fn(Text, Handle, i64, Handle, Handle, *const ScatterReduce, *mut Handle) -> i32;
    agpu_ops_matmul: fn(Handle, Handle, *const Matmul, *mut Handle) -> i32;
    agpu_ops_matmul_at: fn(Handle, *const Operand, *const Operand, *const Operand, *const Matmul, *const Operand) -> i32;
    agpu_ops_normalize: fn(Text, Handle, *const Normalize, *mut Handle) -> i32;
    agpu_ops_normalize_gradient: fn(Text, Handle, Handle, *const Normalize, *mut Handle, *mut Handle, *mut Handle) -> i32;
    agpu_ops_batch_norm_training: fn(Handle, i64, *const BatchNorm, *mut Handle, *mut Handle, *mut Handle) -> i32;
    agpu_ops_layer_norm_training_at: fn(Handle, *const Operand, *const Operand, *const Operand, u64, f64, *const Operand, *const Operand, *const Operand) -> i32;
    agpu_ops_layer_norm_training_gradient_at: fn(Handle, *const Operand, *const Operand, *const Operand, *const Operand, *const Operand, u64, *const Operand, *const Operand, *const Operand) -> i32;
    agpu_ops_batch_norm_gradient: fn(Handle, Handle, i64, *const BatchNorm, *mut Handle, *mut Handle, *mut Handle) -> i32;
    agpu_ops_convolve: fn(Text, Handle, Handle, *const Convolve, *mut Handle) -> i32;
    agpu_ops_convolve_input_gradient: fn(Text, Handle, Handle, u32, *const i64, *const Convolve, *mut Handle) -> i32;
    agpu_ops_convolve_weight_gradient: fn(Text, Handle, Handle, u32, *const i64, *const Convolve, *mut Handle) -> i32;
    agpu_ops_pool: fn(Text, Handle, *const Pool, *mut Handle) -> i32;
    agpu_ops_pool_gradient: fn(Text, Handle, Handle, *const Pool, *mut Handle) -> i32;
    agpu_ops_pool_with_indices: fn(Text, Handle, *const Pool, *mut Handle, *mut Handle) -> i32;
    agpu_ops_pool_indices_gradient: fn(Text, Handle, Handle, u32, *const i64, *const Pool, *mut Handle) -> i32;
    agpu_ops_defer_index_checks: fn(bool, *mut bool) -> i32;
    agpu_ops_embedding: fn(Handle, Handle, *const Out, *mut Handle) -> i32;
    agpu_ops_embedding_gradient: fn(Handle, Handle, i64, *const EmbeddingGradient, *mut Handle) -> i32;
    agpu_ops_nll_loss: fn(Handle, Handle, *const Loss, *mut Handle) -> i32;
    agpu_ops_nll_loss_gradient: fn(Handle, Handle, Handle, *const Loss, *mut Handle) -> i32;
    agpu_ops_scaled_dot_product_attention_at: fn(Handle, *const Operand, *const Operand, *const Operand, *const Operand, *const Attention, *const Operand) -> i32;
    agpu_ops_scaled_dot_product_attention_gradient_at: fn(Handle, *const Operand, *const Operand, *const Operand, *const Operand, *const Operand, *const Attention, *const Operand, *const Operand, *const Operand) -> i32;
    agpu_random_create: fn(*const u32, u64, *mut Handle) -> i32;
    agpu_random_set_state: fn(Handle, *const RandomState) -> i32;
    agpu_random_draw: fn(Handle, Text, f64, f64, Handle) -> i32;
    agpu_random_integers: fn(Handle, i64, u64, Handle) -> i32;
    agpu_random_tensorflow_bits: fn(Handle, u64, u64, u64, i64, *mut Handle) -> i32;
    agpu_random_tensorflow_normal_at: fn(Handle, u64, u64, u64, bool, *const Operand) -> i32;
    agpu_random_permutation: fn(Handle, Handle, i64, *mut Handle) -> i32;
});

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

/// Finds the functions in the `libamdgpu.so` that the process has loaded.
pub fn find() -> Outcome {
    let known = Functions::find(Library::loaded(c"libamdgpu.so")?)?;
    FUNCTIONS.get_or_init(|| known);
    Ok(())
}

/// The functions, which [`find`] found.
pub fn get() -> Outcome<&'static Functions> {
    FUNCTIONS
        .get()
        .ok_or_else(|| Failure::refused("libamdgpu.so was not looked for before this call"))
}

/// A status of libamdgpu as an outcome.
pub fn done(status: i32) -> Outcome {
    if status == 0 {
        return Ok(());
    }
    let mut info = ErrorInfo::default();
    // SAFETY: a struct that states its size.
    unsafe { (get()?.agpu_last_error)(&raw mut info) };
    let text = |text: Text| {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: the library's texts end with a null byte and are valid until the next failure of this thread.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    };
    let (name, hint) = (text(info.name), text(info.hint));
    let mut message = text(info.message);
    if !hint.is_empty() {
        message = format!("{message} ({hint})");
    }
    if name == "out-of-memory" {
        return Err(Failure::out_of_memory(message));
    }
    if matches!(
        name.as_str(),
        "unsupported-dtype" | "no-implementation" | "unsupported-feature"
    ) {
        return Err(Failure::no_kernel(message));
    }
    Err(Failure::refused(message))
}

/// Calls a function of libamdgpu by its name and checks its status.
#[macro_export]
macro_rules! agpu {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let library = $crate::amdgpu::get()?;
        // SAFETY: handles and pointers are valid during the call, and are what the headers of libamdgpu say.
        let status = unsafe { (library.$name)($($argument),*) };
        $crate::amdgpu::done(status)
    }};
}

pub use agpu;

/// A handle that is released when it goes.
pub struct Owned(pub Handle);

impl Drop for Owned {
    fn drop(&mut self) {
        if let Ok(library) = get() {
            // SAFETY: a handle that this owns.
            unsafe { (library.agpu_release)(self.0) };
        }
    }
}
