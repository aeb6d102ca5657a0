//! `AMDGPU_TELEMETRY=off` starts a process with telemetry switched off. The test runs itself again with the variable set.

use std::process::Command;

use amdgpu_telemetry as telemetry;
use amdgpu_telemetry::{Kind, Language, MetricId, Record};

const ROLE: &str = "AGPU_TEST_ROLE";

#[test]
fn the_environment_switches_telemetry_off() {
    if std::env::var_os(ROLE).is_some() {
        assert!(!telemetry::is_enabled());
        telemetry::emit(Record::new(Kind::Marker, telemetry::intern("off")));
        drop(telemetry::boundary(Language::Python, Language::Rust, "off"));
        telemetry::counter(MetricId::SpikesTotal, &["net"]).add(2);
        let snapshot = telemetry::snapshot();
        assert_eq!(snapshot.records_emitted, 0);
        assert_eq!(snapshot.value(MetricId::SpikesTotal, &["net"]), Some(2.0));
        telemetry::set_enabled(true);
        telemetry::emit(Record::new(Kind::Marker, telemetry::intern("on")));
        assert_eq!(telemetry::snapshot().records_emitted, 1);
        return;
    }
    assert!(
        telemetry::is_enabled(),
        "on is the default; unset AMDGPU_TELEMETRY to run this test"
    );
    let status = std::env::current_exe().and_then(|own| {
        Command::new(own)
            .env(ROLE, "child")
            .env("AMDGPU_TELEMETRY", "off")
            .status()
    });
    assert!(status.is_ok_and(|status| status.success()));
}
