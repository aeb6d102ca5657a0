//! The free functions over the global hub. One test, because switching telemetry on and off is for the whole process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests may stop them"
)]

use std::sync::{Arc, Mutex};

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_telemetry as telemetry;
use amdgpu_telemetry::{
    Boundary, Core, KernelIdentity, KernelMeter, Kind, Language, MetricId, Record,
};

#[derive(Debug)]
struct Mismatch;

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("mismatch")
    }
}

impl std::error::Error for Mismatch {}

impl Coded for Mismatch {
    fn code(&self) -> ErrorCode {
        ErrorCode::ShapeMismatch
    }

    fn language(&self) -> Language {
        Language::Zig
    }
}

fn threads_of_this_process() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .collect()
}

fn records_of(kind: Kind) -> Vec<Record> {
    telemetry::snapshot()
        .records
        .into_iter()
        .filter(|record| record.kind == kind)
        .collect()
}

static CROSSING: Boundary = Boundary::new(Language::Rust, Language::Zig, "static crossing");

#[test]
fn the_global_hub_serves_every_thread() {
    telemetry::name_device(0, "cpu:0");
    let collector_runs = || {
        threads_of_this_process()
            .iter()
            .any(|name| name.starts_with("amdgpu-telemetr"))
    };

    drop(telemetry::boundary(
        Language::Python,
        Language::Rust,
        "outer",
    ));
    drop(CROSSING.enter());
    std::thread::spawn(|| drop(CROSSING.enter()))
        .join()
        .unwrap();
    assert_eq!(records_of(Kind::Boundary).len(), 3);
    assert!(!collector_runs(), "a snapshot needs no thread");

    let (name, id) = ("saxpy", 1);
    let saxpy = KernelIdentity { name, id };
    let meter = KernelMeter::new("cpu:0", 0, Core::Aura, Language::Rust, saxpy);
    meter.finish(1, 10, 20, 1024, 4);
    let launches = records_of(Kind::Launch);
    assert_eq!(
        (launches[0].stream, launches[0].value, launches[0].detail[0]),
        (1, 1024, 4)
    );

    telemetry::span(Kind::Compile, telemetry::intern("cancelled")).cancel();
    drop(telemetry::span(Kind::Compile, telemetry::intern("kept")));
    assert_eq!(records_of(Kind::Compile).len(), 1);

    telemetry::name_thread("renamed");
    let said = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&said);
    telemetry::set_notice_handler(move |notice| sink.lock().unwrap().push(notice.to_owned()));
    for _ in 0..3 {
        telemetry::fallback("matmul", "strided input");
    }
    telemetry::fallback("matmul", "no AVX2");
    assert_eq!(said.lock().unwrap().len(), 2, "each reason is said once");
    assert!(
        said.lock().unwrap()[0].contains("matmul")
            && said.lock().unwrap()[0].contains("strided input")
    );
    telemetry::error(&Mismatch);

    let snapshot = telemetry::snapshot();
    assert_eq!(
        snapshot.value(MetricId::FallbacksTotal, &["matmul", "strided input"]),
        Some(3.0)
    );
    assert_eq!(
        snapshot.value(MetricId::ErrorsTotal, &["shape-mismatch", "zig"]),
        Some(1.0)
    );
    assert_eq!(
        snapshot.value(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]),
        Some(1.0)
    );
    assert_eq!(records_of(Kind::Fallback).len(), 4);
    assert_eq!(
        records_of(Kind::Error)[0].value,
        ErrorCode::ShapeMismatch.code() as u64
    );
    assert!(
        snapshot
            .names
            .threads
            .iter()
            .any(|(_, name)| name == "renamed")
    );
    assert!(snapshot.overhead_ratio.is_some());

    telemetry::set_enabled(false);
    let before = telemetry::snapshot().records_emitted;
    drop(CROSSING.enter());
    drop(telemetry::boundary(
        Language::Python,
        Language::Rust,
        "outer",
    ));
    drop(telemetry::span(Kind::Compile, telemetry::intern("off")));
    meter.finish(1, 10, 20, 1024, 4);
    telemetry::emit(Record::new(Kind::Marker, telemetry::intern("off")));
    telemetry::fallback("matmul", "no AVX2");
    let off = telemetry::snapshot();
    assert_eq!(off.records_emitted, before);
    assert_eq!(
        off.value(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"]),
        Some(2.0)
    );
    assert_eq!(
        off.value(MetricId::FallbacksTotal, &["matmul", "no AVX2"]),
        Some(2.0)
    );
    telemetry::set_enabled(true);
    assert!(telemetry::is_enabled());

    let subscription = telemetry::subscribe(8);
    telemetry::emit(Record::new(Kind::Marker, telemetry::intern("on")).value(5));
    let record = subscription.recv_timeout(std::time::Duration::from_secs(60));
    assert_eq!(record.map(|record| record.value), Some(5));
    assert!(collector_runs(), "{:?}", threads_of_this_process());
}
