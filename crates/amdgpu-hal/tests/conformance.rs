//! The suite every backend passes. A case is a function of the backend; a backend that cannot show a case skips it with a reason.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod conformance {
    pub mod backend;
    pub mod errors;
    pub mod gpu;
    pub mod graphs;
    pub mod memory;
    pub mod modules;
    pub mod streams;
}

use conformance::backend::{Backend, Need};
use conformance::{errors, gpu, graphs, memory, modules, streams};

fn run(backend: &Backend, need: Need, case: fn(&Backend)) {
    match backend.lacks(need) {
        Some(reason) => println!("skipped: {} {reason}", backend.name),
        None => case(backend),
    }
}

fn run_on_gpu(backend: Result<Backend, String>, need: Need, case: fn(&Backend)) {
    match backend {
        Ok(backend) => run(&backend, need, case),
        Err(reason) => println!("skipped: {reason}"),
    }
}

macro_rules! suite {
    ($($module:ident::$case:ident needs $need:ident;)*) => {
        mod cpu {
            use super::*;
            $(#[test] fn $case() { run(&Backend::cpu(), Need::$need, $module::$case); })*
        }
        mod null {
            use super::*;
            $(#[test] fn $case() { run(&Backend::null(), Need::$need, $module::$case); })*
        }
        mod cuda {
            use super::*;
            $(#[test] fn $case() { run_on_gpu(Backend::cuda(), Need::$need, $module::$case); })*
        }
        mod hip {
            use super::*;
            $(#[test] fn $case() { run_on_gpu(Backend::hip(), Need::$need, $module::$case); })*
        }
    };
}

suite! {
    memory::the_device_describes_itself needs Nothing;
    memory::accounts_follow_every_allocation needs Nothing;
    memory::a_refused_allocation_leaves_the_device_usable needs Nothing;
    memory::every_kind_of_memory_survives_a_round_trip needs Results;
    memory::fills_set_exactly_their_range needs Results;
    memory::reading_the_null_device_gives_zeros needs NoResults;
    streams::commands_of_one_stream_run_in_order needs Nothing;
    streams::streams_have_identities_of_their_own needs Nothing;
    streams::an_explicit_stream_does_not_hold_its_submitter needs Asynchrony;
    streams::an_idle_default_stream_runs_on_the_calling_thread needs CallingThread;
    streams::a_busy_default_stream_does_not_hold_its_submitter needs Asynchrony;
    streams::a_command_may_submit_to_its_own_stream needs Nothing;
    streams::waiting_orders_two_streams needs Asynchrony;
    streams::recording_again_does_not_move_earlier_waits needs Asynchrony;
    streams::an_event_never_recorded_is_complete needs Nothing;
    streams::event_times_follow_the_order_of_the_stream needs Nothing;
    streams::notifications_come_after_their_event needs Nothing;
    streams::streams_without_a_driver_lend_nothing needs Nothing;
    streams::dropping_a_stream_drains_it needs Nothing;
    streams::a_stream_may_be_dropped_by_its_own_command needs Nothing;
    streams::the_device_waits_for_all_its_streams needs Nothing;
    streams::many_threads_share_one_stream needs Asynchrony;
    errors::an_error_sticks_until_it_is_reported needs Nothing;
    errors::a_panic_in_a_command_is_an_error_of_its_stream needs Nothing;
    errors::events_carry_the_error_to_their_waiters needs Nothing;
    errors::the_device_reports_the_error_of_any_stream needs Nothing;
    errors::waiting_for_idleness_leaves_errors_in_place needs Nothing;
    errors::waiting_for_oneself_is_refused needs Asynchrony;
    errors::objects_of_other_backends_are_refused needs Nothing;
    modules::a_module_lists_its_kernels needs Module;
    modules::bytes_that_are_no_module_are_refused needs Nothing;
    modules::launches_cover_the_grid_once needs Execution;
    modules::arguments_may_be_reused_after_the_call needs Execution;
    modules::blocks_have_shared_memory_of_their_own needs Execution;
    modules::launching_is_accepted_and_does_nothing needs NoResults;
    graphs::replays_keep_the_order_of_lanes_and_streams needs Execution;
    graphs::a_replay_waits_for_its_stream needs Execution;
    graphs::a_stream_that_failed_leaves_the_graph_usable needs Execution;
    graphs::graphs_of_other_backends_are_refused needs Nothing;
    graphs::host_code_of_graphs_runs_in_each_replay needs HostGraphs;
    graphs::errors_and_panics_of_host_code_stick_to_the_stream_that_replays needs HostGraphs;
    graphs::a_replay_behind_a_pending_one_does_not_hold_its_submitter needs HostGraphs;
    graphs::a_replay_that_a_failed_stream_refuses_changes_nothing_for_others needs HostGraphs;
    graphs::host_code_in_graphs_of_gpus_is_refused needs Gpu;
    gpu::a_module_with_errors_shows_what_the_driver_says needs Gpu;
    gpu::shared_memory_beyond_the_plain_limit_is_asked_for needs Gpu;
    gpu::event_times_measure_the_work_between_them needs Gpu;
    gpu::launches_the_driver_refuses_name_the_kernel needs Gpu;
    gpu::calls_about_the_whole_device_do_not_wait_for_host_functions needs Gpu;
    gpu::commands_behind_a_host_function_see_what_it_did needs Gpu;
    gpu::devices_of_one_gpu_share_memory_and_not_streams needs Gpu;
}
