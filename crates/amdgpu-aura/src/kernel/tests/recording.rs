//! What launches leave on the bus.

use std::time::Duration;

use amdgpu_hal::LaunchConfig;
use amdgpu_telemetry::{Core, Kind, Record, Subscription, intern, subscribe};

use super::super::Kernel;
use super::scene::Scene;
use crate::graph::{GraphRecorder, Lane};
use crate::shared::{CoreType, LaunchRecords};

const INDEX: u16 = 4711;
const CAPACITY: usize = 1 << 14;
const PATIENCE: Duration = Duration::from_secs(60);

/// The next record of this test's device.
fn next(records: &Subscription) -> Record {
    loop {
        let record = records.recv_timeout(PATIENCE).expect("a record");
        if record.device == INDEX {
            return record;
        }
    }
}

#[test]
fn records_tell_where_and_when_how_much_ran() {
    let scene = Scene::numbered(INDEX, LaunchRecords::All);
    let records = subscribe(CAPACITY);
    let config = LaunchConfig::linear(3, 5);
    for (core, expected) in [
        (CoreType::Aura, Core::Aura),
        (CoreType::Matrix, Core::Matrix),
        (CoreType::Neuromorphic, Core::Neuromorphic),
    ] {
        let kernel = scene.kernel_of("add", core);
        // SAFETY: the kernel adds to the word of the scene, which outlives the launch.
        let times = unsafe { kernel.launch(&config, &scene.add_arguments(1), None) }.unwrap();
        let record = next(&records);
        assert_eq!((record.kind, record.core), (Kind::Launch, expected));
        assert_eq!(record.name, intern("add"));
        assert_eq!(record.stream, scene.default_stream().id() as u32);
        assert_eq!(
            (record.start_ns, record.duration_ns),
            (times.start_ns, times.duration_ns)
        );
        assert_eq!((record.value, record.detail[0]), (15, 3));
    }
    let kernel = scene.kernel("add");
    let stream = scene.context.create_stream().unwrap();
    // SAFETY: as above.
    let times = unsafe { kernel.launch(&config, &scene.add_arguments(1), Some(&stream)) }.unwrap();
    Kernel::wait(stream.as_ref(), None).unwrap();
    let record = next(&records);
    assert_eq!(record.stream, stream.id() as u32);
    assert!(record.start_ns >= times.start_ns);
    let ended_ns = record.start_ns + record.duration_ns;
    assert!(ended_ns <= amdgpu_telemetry::now_ns());
    assert_eq!((record.value, record.detail[0]), (15, 3));
    // A replay that is waited for is told of as a whole.
    let mut recorder = GraphRecorder::default();
    let arguments = kernel.pack_arguments(&scene.add_arguments(1)).unwrap();
    recorder
        .launch(&kernel, config, &arguments, Lane::Waited)
        .unwrap();
    let graph = recorder.finish().unwrap();
    // SAFETY: as above.
    let times = unsafe { graph.replay(None) }.unwrap();
    let record = next(&records);
    assert_eq!((record.kind, record.name), (Kind::Launch, intern("graph")));
    assert!(record.start_ns >= times.start_ns && record.duration_ns > 0);
    assert_eq!(scene.take(), 15);
}
