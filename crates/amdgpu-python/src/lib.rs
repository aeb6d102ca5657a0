//! `libamdgpu.so`: the core, its C interface (the crate amdgpu-capi) and `amdgpu._native`, which is here and is bindings only.
//!
//! Contract
//! - One library for C and for Python, so that a process has one copy of the core's state: docs/adr/0010-one-library-for-c-and-python.md.
//!   Programs without Python load it too: no code outside of the module's own functions touches Python.
//! - Each function takes Python values, calls one core, and gives Python values back. Decisions live in the crates below or in the
//!   Python modules above.
//! - Work that can take long runs detached from the interpreter (the GIL is released).
//! - Errors of every crate become the exceptions of `amdgpu._generated.errors`.
//! - Importing the module opens no library and starts no thread: cores are loaded by the first call that needs them.
//! - Arrays that a launch in a stream uses are kept alive by the stream until it has passed the launch.

// Arguments of Python functions arrive by value.
#![allow(clippy::needless_pass_by_value)]

mod archived;
mod arguments;
mod array;
mod codegen;
mod compile;
mod device;
mod dlpack;
mod errors;
mod event;
mod fast_call;
mod floats;
mod given;
mod graph;
mod graph_builder;
mod interrupt;
mod jit;
mod kernel;
mod late_binding;
mod layered_network;
mod libraries;
mod math;
mod network_plan;
mod numbers;
mod operand;
mod ops;
mod output;
mod prepared;
mod profile;
mod rocm;
mod spiking_network;
mod stream;
mod telemetry;
mod training;
mod tuning;
mod vendor;

// Its functions are exported by this library, though nothing here calls them.
use amdgpu_capi as _;
use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::archived::{
        ArchivedKernel, archived_architectures, archived_convolve, archived_kernels,
        archived_transpose,
    };
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::array::picking::{
        numpy_dtype, pick_by_arrays, picked_shape, promoted, put_by_arrays,
    };
    #[pymodule_export]
    use super::array::views::broadcast_shapes;
    #[pymodule_export]
    use super::compile::{check_target, compile_job, compile_source, link_code_object};
    #[pymodule_export]
    use super::device::{
        Device, current_device, device_name, dtype_names, list_devices, set_current_device,
    };
    #[pymodule_export]
    use super::event::Event;
    #[pymodule_export]
    use super::fast_call::forget_choices;
    #[pymodule_export]
    use super::graph::{CapturedGraph, is_recording_graph};
    #[pymodule_export]
    use super::graph_builder::{Graph, graph_operations};
    #[pymodule_export]
    use super::interrupt::{end_cpu_work, stop_cpu_work};
    #[pymodule_export]
    use super::jit::{ExecutableGraph, is_tracing, trace_function};
    #[pymodule_export]
    use super::kernel::{Kernel, Launcher};
    #[pymodule_export]
    use super::layered_network::LayeredNetwork;
    #[pymodule_export]
    use super::libraries::{from_dlpack, julia_source_path, libraries};
    #[pymodule_export]
    use super::math::{
        math_activation, math_adaptive_learning_rate, math_adopt_table, math_availability,
        math_is_started, math_matmul_address, math_momentum_update, math_softmax,
    };
    #[pymodule_export]
    use super::network_plan::NetworkPlan;
    #[pymodule_export]
    use super::ops::attention::{attention, attention_gradient};
    #[pymodule_export]
    use super::ops::batch_norm::{
        batch_norm, batch_norm_gradient, batch_norm_training, norm_parameter_gradients,
    };
    #[pymodule_export]
    use super::ops::blocks::{gather, gather_on_device, scatter, scatter_on_device};
    #[pymodule_export]
    use super::ops::cast::{cast, cast_on_device};
    #[pymodule_export]
    use super::ops::convolve::ways::{
        convolve_by, convolve_choices, convolve_libraries, convolve_ways,
    };
    #[pymodule_export]
    use super::ops::convolve::{convolve, convolve_fast_call, convolve_on_device};
    #[pymodule_export]
    use super::ops::elementwise::{elementwise, elementwise_fast_call, elementwise_on_device};
    #[pymodule_export]
    use super::ops::embedding::{embedding, embedding_on_device};
    #[pymodule_export]
    use super::ops::forms::{FusedSteps, fused_texts, reduce_by, reduce_forms};
    #[pymodule_export]
    use super::ops::geam::geam;
    #[pymodule_export]
    use super::ops::loss::{class_loss, element_loss};
    #[pymodule_export]
    use super::ops::matmul::{
        MatmulCall, matmul, matmul_choice, matmul_choices, matmul_decision, matmul_fast_call,
        matmul_is_verified, matmul_libraries, matmul_on_device, matmul_problem, matmul_ways,
    };
    #[pymodule_export]
    use super::ops::nonzero::{
        masked_select, masked_select_on_device, nonzero, nonzero_on_device, unique_consecutive,
        unique_consecutive_on_device,
    };
    #[pymodule_export]
    use super::ops::normalize::{
        normalize, normalize_fast_call, normalize_gradient, normalize_gradient_on_device,
        normalize_on_device,
    };
    #[pymodule_export]
    use super::ops::offsets::{offsets, offsets_on_device};
    #[pymodule_export]
    use super::ops::pool::{pool, pool_on_device};
    #[pymodule_export]
    use super::ops::random::{
        RandomGenerator, random_dropout, random_tensorflow_bits, random_tensorflow_normal,
        random_tensorflow_stateless, random_torch_bits, random_torch_layout,
    };
    #[pymodule_export]
    use super::ops::reduce::{reduce, reduce_fast_call, reduce_on_device};
    #[pymodule_export]
    use super::ops::scan::{cumulative_best, cumulative_best_on_device, scan, scan_on_device};
    #[pymodule_export]
    use super::ops::segments::{
        embedding_gradient, embedding_gradient_on_device, index_add, index_add_on_device,
        scatter_reduce, scatter_reduce_on_device, segment_reduce, segment_reduce_on_device,
    };
    #[pymodule_export]
    use super::ops::sort::{search_sorted, search_sorted_on_device, sort, sort_on_device};
    #[pymodule_export]
    use super::ops::top_k::{top_k, top_k_on_device};
    #[pymodule_export]
    use super::ops::transpose::{transpose, transpose_fast_call, transpose_on_device};
    #[pymodule_export]
    use super::prepared::PreparedLaunch;
    #[pymodule_export]
    use super::profile::KernelProfile;
    #[pymodule_export]
    use super::rocm::{
        current_device_info, device_text, rocm_device_count, rocm_get_device, rocm_get_device_info,
        rocm_set_device, rocm_synchronize, set_device_text, synchronize_current_device,
    };
    #[pymodule_export]
    use super::spiking_network::{SpikingBatch, SpikingNetwork, network_memory};
    #[pymodule_export]
    use super::stream::{Stream, current_stream};
    #[pymodule_export]
    use super::telemetry::attach::{
        AttachClient, RecordStream, Watcher, attach_answer, attach_folder, attach_is_listening,
        attach_processes, attach_start, attach_stop,
    };
    #[pymodule_export]
    use super::telemetry::exporters::{
        telemetry_chrome_trace_of, telemetry_ndjson, telemetry_ndjson_of,
        telemetry_open_metrics_of, telemetry_perfetto_trace, telemetry_perfetto_trace_of,
    };
    #[pymodule_export]
    use super::telemetry::recorder::{
        Recording, RecordingWriter, flight_save, flight_start, flight_status, flight_stop,
    };
    #[pymodule_export]
    use super::telemetry::sensors::{
        SensorFrame, SensorSampler, sensor_processes, sensor_readings,
    };
    #[pymodule_export]
    use super::telemetry::{
        Decision, Subscription, record_fallback, telemetry_chrome_trace, telemetry_is_enabled,
        telemetry_prometheus, telemetry_set_enabled, telemetry_snapshot,
    };
    #[pymodule_export]
    use super::tuning::{
        TuningDatabase, matmul_demand, tuning_architectures, tuning_budget_seconds, tuning_changes,
        tuning_dump, tuning_file_name, tuning_folder, tuning_import, tuning_parse,
    };
    #[pymodule_export]
    use super::vendor::VendorSession;

    #[pymodule_export]
    use super::training::{Trainer, training_order, training_split};

    #[pymodule_init]
    fn init() {
        amdgpu_capi::register_own_directory();
        super::telemetry::warn_about_fallbacks();
        super::codegen::register();
        super::ops::matmul::register_vendor_folders();
        super::tuning::connect();
        super::output::connect();
        super::interrupt::connect();
    }
}
