//! Which kernels a fault of the device is put down to, and what is counted as waiting.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};

use super::{PTX, hold, words};
use crate::gpu::api::Api;
use crate::gpu::device::GpuDevice;
use crate::gpu::fake::{self, NEXT_WAIT};
use crate::{
    Device, DevicePointer, Function, GraphCommand, GraphPlan, GraphStep, LaunchConfig, MemoryKind,
    Stream,
};

/// A device that no other test has: a fault ends everything on it.
const ORDINAL: i32 = 5;
const ILLEGAL_ADDRESS: i32 = 700;

/// An opened device with a stream, the kernel of the fake and a word that it may write.
struct Scene {
    device: GpuDevice,
    stream: Arc<dyn Stream>,
    function: Arc<dyn Function>,
    ptr: DevicePointer,
}

impl Scene {
    fn new(api: &'static Api) -> Self {
        let device = GpuDevice::open(api, ORDINAL).unwrap();
        Self {
            stream: device.create_stream().unwrap(),
            function: device.load_module(PTX).unwrap().function("store").unwrap(),
            ptr: device.allocate(8, MemoryKind::Device).unwrap(),
            device,
        }
    }

    fn launch(&self) {
        let (config, arguments) = (LaunchConfig::linear(1, 1), words(self.ptr, 7));
        // SAFETY: the kernel writes one word of live memory.
        unsafe { self.stream.launch(&*self.function, &config, &arguments) }.unwrap();
    }

    fn replay(&self) {
        let command = GraphCommand::Launch {
            function: Arc::clone(&self.function),
            config: LaunchConfig::linear(1, 1),
            arguments: words(self.ptr, 7).into(),
        };
        let plan = GraphPlan {
            steps: vec![GraphStep { lane: 0, command }],
            lane_count: 1,
            mark_count: 0,
        };
        let graph = self.device.create_graph(plan).unwrap();
        // SAFETY: as above.
        unsafe { self.stream.replay(&*graph) }.unwrap();
    }

    fn lend(&self, name: &str) {
        // SAFETY: nothing is submitted.
        let lent = unsafe { self.stream.lend(&Arc::from(name), &mut |_| Ok(())) };
        assert_eq!(lent, Ok(true));
    }

    /// Lets the device fail in the next wait, and gives what is said of it behind the driver's own words.
    fn blame(&self) -> String {
        NEXT_WAIT.store(ILLEGAL_ADDRESS, Ordering::Relaxed);
        let text = self.stream.synchronize().unwrap_err().to_string();
        let (_, blame) = text.split_once("(700)").unwrap();
        blame.to_owned()
    }
}

type Launch<'a> = &'a dyn Fn(&Scene);

pub(super) fn whatever_was_launched_is_blamed(api: &'static Api) {
    let cases: [(Launch, &str); 5] = [
        (&|_| {}, ""),
        (&Scene::replay, "; the kernel was `store`"),
        (&|scene| scene.lend("library"), "; the kernel was `library`"),
        (
            &|scene| {
                let release = hold(&scene.stream);
                scene.launch();
                release.send(()).unwrap();
                // Behind what is held here.
                scene.lend("library");
            },
            "; one of the kernels under way did it, last `store`, `library`",
        ),
        (
            &|scene| {
                scene.lend("library");
                scene.stream.synchronize().unwrap();
                scene.launch();
            },
            "; the kernel was `store`",
        ),
    ];
    for (launch, blame) in cases {
        // Each opening after the first finds the device lost, and begins anew.
        let scene = Scene::new(api);
        launch(&scene);
        assert_eq!(scene.blame(), blame);
    }
    drop(Scene::new(api));
}

pub(super) fn what_is_not_known_to_be_done_is_counted(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let fill = |times: usize| {
        for _ in 0..times {
            // SAFETY: the range is the allocation.
            unsafe { stream.fill(ptr, 1, 8) }.unwrap();
        }
    };
    let is_idle = || stream.is_idle().unwrap();
    fill(3);
    fake::hold_events();
    assert_eq!((stream.depth(), is_idle()), (3, false));
    // A wait knows that all is done, and so does who asks at the right time.
    stream.synchronize().unwrap();
    fill(2);
    assert_eq!((stream.depth(), is_idle()), (2, false));
    fake::release_events();
    assert!(is_idle());
    assert_eq!(stream.depth(), 0);
    fake::hold_events();
    fill(1);
    assert_eq!((stream.depth(), is_idle()), (1, false));
    let name: Arc<str> = Arc::from("library");
    // SAFETY: nothing is submitted.
    unsafe { stream.lend(&name, &mut |_| Ok(())) }.unwrap();
    assert_eq!(stream.depth(), 2);
    fake::release_events();
    assert_eq!(stream.depth(), 0);
    stream.synchronize().unwrap();
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

pub(super) fn notifications_come_in_order_whatever_one_of_them_does(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    let (sender, told) = mpsc::channel();
    fake::hold_events();
    stream.record(&event).unwrap();
    stream
        .notify(&event, Box::new(|| panic!("on purpose")))
        .unwrap();
    for number in 0..3 {
        let sender = sender.clone();
        stream
            .notify(&event, Box::new(move || sender.send(number).unwrap()))
            .unwrap();
    }
    assert!(told.try_recv().is_err());
    fake::release_events();
    assert_eq!([0; 3].map(|_| told.recv().unwrap()), [0, 1, 2]);
}
