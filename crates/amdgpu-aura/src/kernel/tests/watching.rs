//! What watchers are told of kernels, and which are kept.

use std::sync::Arc;

use super::scene::{SOURCE, Scene, blocks};
use super::{occupy, told_behind};
use crate::cache::CacheAnswer;
use crate::shared::LaunchRecords;
use crate::watch::{all_kernels, one_kernel};

use amdgpu_abi::MetricId;
use amdgpu_telemetry::attach::Question;
use serde_json::{Value, json};

fn question(handle: &str) -> Question {
    Question {
        handle: Some(handle.to_owned()),
        ..Question::default()
    }
}

#[test]
fn kernels_are_listed_by_the_time_that_they_took() {
    let scene = Scene::new(LaunchRecords::All);
    let (busy, idle) = (scene.kernel("add"), scene.kernel("sum"));
    // SAFETY: the kernel adds to the word of the scene, which outlives the launches.
    unsafe {
        busy.run(&blocks(1), &scene.add_arguments(1), None).unwrap();
        busy.run(&blocks(1), &scene.add_arguments(1), None).unwrap();
    }
    let rows = all_kernels(&Question::default()).unwrap();
    let rows = rows.as_array().unwrap();
    let place = |handle: &str| rows.iter().position(|row| row["handle"] == handle).unwrap();
    let (first, last) = (place(busy.handle()), place(idle.handle()));
    assert!(first < last);
    let row = &rows[first];
    assert_eq!(row["name"], "add");
    assert_eq!(
        row["signature"],
        "add(unsigned long long* out, unsigned long long value)"
    );
    assert_eq!(
        (&row["device"], &row["core"]),
        (&json!("cpu:0"), &json!("aura"))
    );
    assert_eq!(row["target"], "host");
    assert_eq!((&row["calls"], &row["timed_calls"]), (&json!(2), &json!(2)));
    assert_eq!(row["calls_are_sampled"], false);
    let seconds = row["seconds"].as_f64().unwrap();
    assert!(seconds > 0.0);
    assert!((row["mean_seconds"].as_f64().unwrap() - seconds / 2.0).abs() <= 1e-9 * seconds);
    assert_eq!(row["is_checked"], false);
    assert_eq!(
        (&row["occupancy"], &row["counted"]),
        (&Value::Null, &Value::Null)
    );
    let idle_row = &rows[last];
    assert_eq!(
        (&idle_row["calls"], &idle_row["mean_seconds"]),
        (&json!(0), &Value::Null)
    );
    assert!(busy.handle().ends_with(row["id"].as_str().unwrap()));
}

#[test]
fn one_kernel_is_told_of_with_its_text_and_options() {
    let scene = Scene::new(LaunchRecords::None);
    let kernel = scene.kernel("staged");
    let answer = one_kernel(&question(kernel.handle())).unwrap();
    assert!(answer["source"].as_str().unwrap().starts_with(SOURCE));
    assert_eq!(answer["options"]["optimization_level"], "high");
    assert_eq!(answer["options"]["fast_math"], false);
    assert_eq!(answer["shared_bytes"], 8000);
    assert_eq!(answer["is_foreign"], true);
    assert_eq!(answer["version"], amdgpu_abi::layout::PACKAGE_VERSION);
    assert_eq!(answer["notes"], json!([]));
    assert_eq!(answer["options"]["checked"], false);
    assert_eq!(answer["resources"], Value::Null);
    // Without telemetry there are no sums.
    assert_eq!(
        (&answer["calls"], &answer["seconds"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(answer["calls_are_sampled"], false);
    assert_eq!(answer["passes"], json!([]));
    let error = one_kernel(&question("nobody")).unwrap_err();
    assert!(
        error.starts_with("there is no kernel with the handle \"nobody\"; "),
        "{error}"
    );
    assert!(kernel.is_foreign() && !kernel.is_checked());
    assert_eq!(kernel.cache_answer(), CacheAnswer::Miss);
    assert!(kernel.compile_seconds() > 0.0 && kernel.compile_seconds() < 600.0);
}

#[test]
fn kernels_are_found_by_their_handle_until_their_opening_is_closed() {
    let scene = Scene::new(LaunchRecords::None);
    assert_eq!(scene.context.kernel_cache_sizes().known_kernels, 0);
    let (kernel, dropped) = (scene.kernel("add"), scene.kernel("sum"));
    let handle = dropped.handle().to_owned();
    drop(dropped);
    let sizes = scene.context.kernel_cache_sizes();
    assert_eq!((sizes.known_kernels, sizes.kept_kernels), (2, 2));
    let bytes = sizes.kept_bytes;
    assert!((2 * SOURCE.len()..1 << 20).contains(&bytes), "{bytes}");
    assert_eq!(sizes.limit_bytes, 64 << 20);
    // One that nobody holds is kept for who asks for it.
    assert_eq!(scene.context.kernel(&handle).unwrap().facts().name, "sum");
    assert!(scene.context.kernel("cpu:0:add:0").is_none());
    let name = kernel.handle().to_owned();
    assert!(name.starts_with("cpu:0:add:") && name.len() == "cpu:0:add:".len() + 16);
    scene.context.close().unwrap();
    let sizes = scene.context.kernel_cache_sizes();
    assert_eq!(
        (
            sizes.known_kernels,
            sizes.kept_kernels,
            sizes.kept_bytes,
            sizes.known_units
        ),
        (0, 0, 0, 0)
    );
    assert!(scene.context.kernel(&name).is_none() && scene.context.kernel(&handle).is_none());
    assert!(one_kernel(&question(&name)).is_err());
    assert_eq!(Arc::strong_count(&kernel), 1);
}

/// Told of when somebody looks, from the first time that something was seen waiting until the stream is gone.
#[test]
fn the_depth_of_a_stream_is_that_of_the_moment() {
    let scene = Scene::new(LaunchRecords::None);
    let stream = scene.context.create_stream().unwrap();
    let labels = ["cpu:0".to_owned(), stream.id().to_string()];
    let depth = || {
        let labels = [labels[0].as_str(), labels[1].as_str()];
        amdgpu_telemetry::snapshot().value(MetricId::QueueDepth, &labels)
    };
    assert_eq!(depth(), None);
    let release = occupy(stream.as_ref());
    let behind = [(); 2].map(|()| told_behind(stream.as_ref()));
    assert_eq!(depth(), Some(3.0));
    assert_eq!(depth(), Some(3.0));
    drop(release);
    stream.synchronize().unwrap();
    assert!(behind.iter().all(|told| told.try_recv().is_ok()));
    assert_eq!(depth(), Some(0.0));
    drop(stream);
    assert_eq!(depth(), None);
}
