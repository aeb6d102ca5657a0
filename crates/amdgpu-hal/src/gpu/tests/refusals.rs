//! Whatever the driver refuses is an error that says what was asked of it, or an unknown where one may be.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{PTX, hold, words};
use crate::gpu::api::Api;
use crate::gpu::device::GpuDevice;
use crate::gpu::fake::{
    CREATIONS_LEFT, CURRENT, MEMORY_BYTES, NEXT_RECORD, NEXT_WAIT, REFUSED, calls_of, live_objects,
    refuse,
};
use crate::{
    CopyDirection, Device, DevicePointer, Error, GraphCommand, GraphPlan, GraphStep, LaunchConfig,
    MemoryKind, Result,
};

const DIRECTIONS: [(CopyDirection, &str); 3] = [
    (CopyDirection::HostToDevice, "cuMemcpyHtoDAsync"),
    (CopyDirection::DeviceToHost, "cuMemcpyDtoHAsync"),
    (CopyDirection::DeviceToDevice, "cuMemcpyDtoDAsync"),
];
const KINDS: [(MemoryKind, &str, &str); 3] = [
    (MemoryKind::Device, "cuMemAlloc", "cuMemFree"),
    (MemoryKind::PinnedHost, "cuMemHostAlloc", "cuMemFreeHost"),
    (MemoryKind::Unified, "cuMemAllocManaged", "cuMemFree"),
];

/// The error of a call while the driver refuses one of its functions, which is asked again afterwards with success.
fn refused_once(function: &'static str, what: &str, mut call: impl FnMut() -> Result<()>) {
    refuse(function);
    let error = call().expect_err(function);
    assert_eq!(
        error.to_string(),
        format!("cuda:0: {what} failed: FAKE_ERROR ({REFUSED})"),
        "{function}"
    );
    call().expect(function);
}

fn graph_of(device: &GpuDevice, commands: Vec<GraphCommand>, mark_count: usize) -> Result<()> {
    let steps = commands.into_iter();
    let plan = GraphPlan {
        steps: steps
            .map(|command| GraphStep { lane: 0, command })
            .collect(),
        lane_count: 1,
        mark_count,
    };
    device.create_graph(plan).map(drop)
}

fn memory_is_of_the_kind_that_was_asked_for(device: &GpuDevice) {
    let used = || device.memory_info().unwrap().used_bytes;
    let before = used();
    for (kind, allocates, frees) in KINDS {
        let mut ptr = DevicePointer(0);
        let calls = calls_of(|| ptr = device.allocate(64, kind).unwrap());
        assert_eq!(calls, ["cuCtxGetCurrent", allocates]);
        // SAFETY: live, unused and freed once: what the driver refuses to free is there as before.
        let free = || unsafe { device.free(ptr, 64, kind) };
        refuse(frees);
        assert_eq!(
            free().unwrap_err().to_string(),
            "cuda:0: freeing memory failed: FAKE_ERROR (999)"
        );
        assert_eq!(used(), before + 64);
        assert_eq!(calls_of(|| free().unwrap()), ["cuCtxGetCurrent", frees]);
        assert_eq!(used(), before);
        refuse(allocates);
        let error = device.allocate(64, kind).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cuda:0: allocating memory failed: FAKE_ERROR (999)"
        );
        assert_eq!(used(), before);
    }
    // Where the driver does not tell what others hold, ours is what is known to be in use.
    let ptr = device.allocate(64, MemoryKind::Device).unwrap();
    refuse("cuMemGetInfo");
    let error = device.allocate(MEMORY_BYTES as u64 + 1, MemoryKind::Device);
    assert!(
        matches!(error, Err(Error::OutOfMemory { used_bytes, .. }) if used_bytes == before + 64)
    );
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 64, MemoryKind::Device) }.unwrap();
    refused_once("cuMemGetInfo", "asking for free memory", || {
        device.memory_info().map(drop)
    });
    refuse("cuPointerGetAttribute");
    assert_eq!(device.ordinal_of_address(DevicePointer(0x1000)), None);
}

/// Copies go to the driver's function for their direction, at once, behind a host function and in a graph.
fn copies_go_where_their_direction_says(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(16, MemoryKind::Device).unwrap();
    for (number, (direction, function)) in DIRECTIONS.into_iter().enumerate() {
        let value = number as u8 + 1;
        // SAFETY: both ranges lie in the allocation, apart.
        let copy = || unsafe { stream.copy(ptr.offset(8), ptr, 8, direction) };
        // SAFETY: as above.
        let fill = |value| unsafe { stream.fill(ptr, value, 8) };
        let copied = || super::read(device, ptr.offset(8)).to_ne_bytes();
        fill(value).unwrap();
        assert_eq!(calls_of(|| copy().unwrap()), ["cuCtxGetCurrent", function]);
        assert_eq!(copied(), [value; 8]);
        refused_once(function, "copying memory", copy);
        let release = hold(&stream);
        fill(value + 10).unwrap();
        copy().unwrap();
        assert_eq!(copied(), [value; 8], "held behind the host function");
        release.send(()).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(copied(), [value + 10; 8]);
        let command = || GraphCommand::Copy {
            destination: ptr.offset(8),
            source: ptr,
            bytes: 8,
            direction,
        };
        let record = || graph_of(device, vec![command()], 0);
        let calls = calls_of(|| record().unwrap());
        let asked: Vec<_> = calls
            .iter()
            .filter(|call| call.contains("Memcpy"))
            .collect();
        assert_eq!(asked, [&function]);
        refused_once(function, "recording a copy", record);
    }
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 16, MemoryKind::Device) }.unwrap();
}

fn refused_commands_say_what_was_asked(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    let module = device.load_module(PTX).unwrap();
    let function = module.function("store").unwrap();
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let arguments = words(ptr, 7);
    let launch = |shared_bytes| {
        let config = LaunchConfig {
            shared_bytes,
            ..LaunchConfig::linear(1, 1)
        };
        // SAFETY: the kernel writes one word of live memory.
        unsafe { stream.launch(&*function, &config, &arguments) }
    };
    refused_once("cuMemsetD8Async", "filling memory", || {
        // SAFETY: the range is the allocation.
        unsafe { stream.fill(ptr, 1, 8) }
    });
    refused_once("cuLaunchKernel", "launching a kernel", || launch(0));
    refused_once(
        "cuFuncSetAttribute",
        "allowing dynamic shared memory",
        || launch(50 << 10),
    );
    refused_once("cuModuleLoadDataEx", "loading a module", || {
        device.load_module(PTX).map(drop)
    });
    refused_once("cuModuleGetFunction", "finding a kernel", || {
        module.function("store").map(drop)
    });
    refused_once("cuFuncGetAttribute", "loading a kernel", || {
        module.function("store").map(drop)
    });
    let residence = || function.residence(256, 0).map(drop);
    refused_once(
        "cuFuncGetAttribute",
        "asking what a kernel occupies",
        residence,
    );
    refused_once(
        "cuOccupancyMaxActiveBlocks",
        "asking for the occupancy of a kernel",
        residence,
    );
    stream.record(&event).unwrap();
    refused_once("cuEventSynchronize", "waiting for an event", || {
        event.synchronize()
    });
    let order = "letting a stream wait for an event";
    refused_once("cuStreamWaitEvent", order, || {
        // SAFETY: the fake driver takes any number for a stream.
        unsafe { device.order_before(usize::MAX as u64) }
    });
    // A stream that does not get to wait must not go on as if it had.
    let late = device.create_stream().unwrap();
    refused_once("cuStreamWaitEvent", order, || {
        late.wait(&event).unwrap();
        late.synchronize()
    });
    refused_once("cuStreamQuery", "asking for the state of a stream", || {
        stream.is_idle().map(drop)
    });
    refuse("cuStreamQuery");
    assert_eq!(stream.depth(), 0, "nothing is known to wait");
    stream.synchronize().unwrap();
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

fn what_is_not_known_of_an_event_is_asked_again(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    stream.record(&event).unwrap();
    // Nobody waits for an event whose driver has failed.
    refuse("cuEventQuery");
    assert!(event.is_complete());
    for function in ["cuEventQuery", "cuEventElapsedTime"] {
        refuse(function);
        assert_eq!(event.timestamp_ns(), None, "{function}");
    }
    assert!(event.timestamp_ns().is_some());
}

fn a_wait_that_the_driver_refuses_runs_no_host_function(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let failed = "cuda:0: waiting for a stream failed: FAKE_ERROR (999)";
    NEXT_WAIT.store(REFUSED, Ordering::Relaxed);
    assert_eq!(stream.synchronize().unwrap_err().to_string(), failed);
    NEXT_WAIT.store(REFUSED, Ordering::Relaxed);
    assert_eq!(device.wait_idle().unwrap_err().to_string(), failed);
    let (sender, told) = std::sync::mpsc::channel();
    NEXT_WAIT.store(REFUSED, Ordering::Relaxed);
    let tell = move || {
        sender.send(()).unwrap();
        Ok(())
    };
    stream.call(Box::new(tell)).unwrap();
    assert!(told.recv().is_err(), "it was dropped and not called");
    assert_eq!(stream.synchronize().unwrap_err().to_string(), failed);
    stream.synchronize().unwrap();
}

/// A recording that fails anywhere leaves nothing behind, and the next one begins anew.
fn refused_recordings_leave_nothing_behind(device: &GpuDevice) {
    let fill = || GraphCommand::Fill {
        destination: DevicePointer(0),
        value: 0,
        bytes: 1,
    };
    let record = || graph_of(device, vec![fill()], 0);
    let before = live_objects();
    for (function, what) in [
        ("cuStreamBeginCapture", "beginning to record a graph"),
        ("cuMemsetD8Async", "recording a fill"),
        ("cuStreamEndCapture", "recording a graph"),
        ("cuGraphInstantiate", "preparing a graph"),
    ] {
        refused_once(function, what, record);
        assert_eq!(live_objects(), before, "{function}");
    }
    let marks = || {
        graph_of(
            device,
            vec![GraphCommand::Mark(0), GraphCommand::Wait(0)],
            1,
        )
    };
    refused_once(
        "cuStreamWaitEvent",
        "letting a stream wait for an event",
        marks,
    );
    NEXT_RECORD.store(REFUSED, Ordering::Relaxed);
    assert_eq!(
        marks().unwrap_err().to_string(),
        "cuda:0: recording an event failed: FAKE_ERROR (999)"
    );
    assert_eq!(live_objects(), before);
    // A lane whose end the driver does not get to know of would never be joined.
    let plan = || GraphPlan {
        steps: Vec::new(),
        lane_count: 2,
        mark_count: 0,
    };
    refused_once(
        "cuStreamWaitEvent",
        "letting a stream wait for an event",
        || device.create_graph(plan()).map(drop),
    );
    let graph = device.create_graph(plan()).unwrap();
    let stream = device.create_stream().unwrap();
    refused_once("cuGraphLaunch", "launching a graph", || {
        // SAFETY: the graph holds no command.
        unsafe { stream.replay(&*graph) }
    });
    stream.synchronize().unwrap();
}

fn a_context_that_cannot_be_entered_is_an_error(device: &GpuDevice) {
    let ask = || device.memory_info().map(drop);
    refused_once("cuCtxGetCurrent", "asking for the current context", ask);
    let ours = CURRENT.replace(0x0bad);
    refused_once("cuCtxSetCurrent", "making the context current", ask);
    assert_eq!(CURRENT.replace(ours), 0x0bad);
}

fn openings_say_what_the_driver_does_not_tell(api: &'static Api) {
    let before = live_objects();
    for (function, what) in [
        ("cuDeviceGet", "cuda:3: finding the device"),
        ("cuDeviceGetName", "cuda:3: asking for the product name"),
        ("cuDeviceTotalMem", "cuda:3: asking for the size of memory"),
        ("cuDevicePrimaryCtxRetain", "cuda:3: making a context"),
        (
            "cuDeviceGetAttribute",
            "fake: asking for a device attribute",
        ),
    ] {
        refuse(function);
        let error = GpuDevice::open(api, 3).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{what} failed: FAKE_ERROR (999)")
        );
        assert_eq!(live_objects(), before, "{function}");
    }
    // What is nice to know may be missing.
    refuse("cuDeviceGetUuid");
    assert_eq!(GpuDevice::open(api, 3).unwrap().info().uuid, None);
    refuse("cuDriverGetVersion");
    assert_eq!(GpuDevice::open(api, 3).unwrap().info().driver_version, None);
}

/// Tying the clocks takes a stream and five events, and the first recording an event more.
fn recordings_without_their_objects_are_errors(api: &'static Api) {
    let device = GpuDevice::open(api, 4).unwrap();
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    let before = live_objects();
    let failed = |what: &str| format!("cuda:4: {what} failed: FAKE_ERROR (999)");
    for made in 0..6 {
        CREATIONS_LEFT.store(made, Ordering::Relaxed);
        let what = if made == 0 {
            "making a stream"
        } else {
            "making an event"
        };
        let error = stream.record(&event).unwrap_err();
        assert_eq!(error.to_string(), failed(what), "after {made}");
        assert_eq!(live_objects(), before, "after {made}");
        assert_eq!(event.synchronize(), Err(error));
    }
    CREATIONS_LEFT.store(-1, Ordering::Relaxed);
    refuse("cuEventSynchronize");
    let error = stream.record(&event).unwrap_err();
    assert_eq!(error.to_string(), failed("waiting for an event"));
    NEXT_RECORD.store(REFUSED, Ordering::Relaxed);
    let error = stream.record(&event).unwrap_err();
    assert_eq!(error.to_string(), failed("recording an event"));
    assert_eq!(live_objects(), before);
    CREATIONS_LEFT.store(6, Ordering::Relaxed);
    let error = stream.record(&event).unwrap_err();
    assert_eq!(error.to_string(), failed("making an event"));
    CREATIONS_LEFT.store(-1, Ordering::Relaxed);
    // The clocks are tied by now: of what that took, one event is kept.
    assert_eq!(live_objects(), before + 1);
    stream.record(&event).unwrap();
    assert_eq!(live_objects(), before + 2);
    assert!(Arc::clone(&event).timestamp_ns().is_some());
}

pub(super) fn whatever_the_driver_refuses_is_an_error(device: &GpuDevice, api: &'static Api) {
    memory_is_of_the_kind_that_was_asked_for(device);
    copies_go_where_their_direction_says(device);
    refused_commands_say_what_was_asked(device);
    what_is_not_known_of_an_event_is_asked_again(device);
    a_wait_that_the_driver_refuses_runs_no_host_function(device);
    refused_recordings_leave_nothing_behind(device);
    a_context_that_cannot_be_entered_is_an_error(device);
    openings_say_what_the_driver_does_not_tell(api);
    recordings_without_their_objects_are_errors(api);
}
