//! What the exporters write, read back: Prometheus and OpenMetrics by a strict little parser, traces and lines by a JSON parser.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests may stop them"
)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use amdgpu_telemetry::{
    Core, Hub, Kind, Language, ManualClock, MetricId, Record, Snapshot, export,
};
use serde_json::Value;

/// One sample line: name, labels, value.
type Parsed = (String, BTreeMap<String, String>, f64);

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn parse_number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        _ => {
            assert!(
                text.chars()
                    .all(|c| c.is_ascii_digit() || "+-.e".contains(c)),
                "not a number: {text:?}"
            );
            text.parse().unwrap()
        }
    }
}

/// `name{label="value",...} number`, nothing else.
fn parse_sample(line: &str) -> Parsed {
    let end = line
        .find(['{', ' '])
        .expect("a name is followed by labels or a value");
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line:?}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label has a quoted value");
            assert!(is_name(label), "{line:?}");
            let mut value = String::new();
            let mut chars = after.char_indices();
            let end = loop {
                match chars.next().expect("the value ends") {
                    (position, '"') => break position,
                    (_, '\\') => match chars.next().expect("an escape has a second character").1 {
                        'n' => value.push('\n'),
                        other @ ('\\' | '"') => value.push(other),
                        other => panic!("unknown escape \\{other} in {line:?}"),
                    },
                    (_, other) => value.push(other),
                }
            };
            assert_eq!(
                labels.insert(label.to_owned(), value),
                None,
                "label twice: {line:?}"
            );
            rest = &after[end + 1..];
            match rest.split_at(1) {
                (",", more) => rest = more,
                ("}", more) => {
                    rest = more;
                    break;
                }
                _ => panic!("{line:?}"),
            }
        }
    }
    let value = rest.strip_prefix(' ').expect("one space before the value");
    (name.to_owned(), labels, parse_number(value))
}

#[derive(Default)]
struct Page {
    types: HashMap<String, String>,
    units: HashMap<String, String>,
    samples: Vec<Parsed>,
}

/// Refuses what the formats forbid: samples outside their family, a family in two places, doubled series, TYPE after samples.
fn parse(text: &str, open_metrics: bool) -> Page {
    let mut page = Page::default();
    let mut family = String::new();
    let mut seen = HashSet::new();
    let body = if open_metrics {
        text.strip_suffix("# EOF\n")
            .expect("OpenMetrics ends with # EOF")
    } else {
        text
    };
    assert!(body.is_empty() || body.ends_with('\n'));
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let (keyword, rest) = rest.split_once(' ').unwrap();
            let (name, content) = rest.split_once(' ').unwrap();
            assert!(is_name(name), "{line:?}");
            if name != family {
                assert!(seen.insert(name.to_owned()), "family {name} comes twice");
                name.clone_into(&mut family);
            }
            match keyword {
                "HELP" => assert!(!content.is_empty()),
                "TYPE" => assert_eq!(page.types.insert(name.to_owned(), content.to_owned()), None),
                "UNIT" => assert_eq!(page.units.insert(name.to_owned(), content.to_owned()), None),
                other => panic!("unknown keyword {other}"),
            }
            continue;
        }
        let sample = parse_sample(line);
        let kind = &page.types[&family];
        let suffix = sample
            .0
            .strip_prefix(family.as_str())
            .unwrap_or_else(|| panic!("{line:?} is outside family {family}"));
        match (kind.as_str(), open_metrics) {
            ("counter", true) => assert_eq!(suffix, "_total"),
            ("counter", false) | ("gauge", _) => assert_eq!(suffix, ""),
            ("histogram", _) => assert!(["_bucket", "_sum", "_count"].contains(&suffix)),
            other => panic!("unknown type {other:?}"),
        }
        assert!(
            !page
                .samples
                .iter()
                .any(|known| known.0 == sample.0 && known.1 == sample.1),
            "series twice: {line:?}"
        );
        page.samples.push(sample);
    }
    page
}

fn value(page: &Page, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let labels: BTreeMap<String, String> = labels
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    page.samples
        .iter()
        .find(|sample| sample.0 == name && sample.1 == labels)
        .map(|sample| sample.2)
}

const NASTY: &str = "a\\b \"c\"\nd, e}=é";

fn filled() -> (Arc<Hub>, Snapshot) {
    let clock = ManualClock::default();
    let hub = Hub::with_clock(clock.clone());
    let producer = hub.producer();
    clock.advance_ns(1_000_000_000);
    hub.name_device(0, "cpu:0");
    hub.counter(MetricId::FallbacksTotal, &["matmul", NASTY])
        .add(3);
    hub.counter(MetricId::KernelLaunchesTotal, &["cpu:0", "aura", "rust"])
        .add(5);
    hub.gauge(MetricId::QueueDepth, &["cpu:0", "0"]).set(2.5);
    hub.gauge(MetricId::QueueDepth, &["cpu:0", "1"])
        .set(f64::INFINITY);
    let _absent = hub.gauge(MetricId::PowerWatts, &["cpu:0", "package"]);
    let seconds = hub.histogram(
        MetricId::KernelDurationSeconds,
        &["cpu:0", "aura", "saxpy", "0000000000000001"],
    );
    for duration_ns in [100, 256, 257, 1_000_000, 10_000_000_000_000] {
        seconds.record_ns(duration_ns);
    }
    hub.record_boundary(
        &producer,
        Language::Rust,
        Language::Zig,
        "matmul",
        999_000_000,
        1_000_000,
    );
    hub.record_boundary(
        &producer,
        Language::Python,
        Language::Rust,
        "execute",
        998_000_000,
        2_000_000,
    );
    let kernel = Record::new(Kind::Launch, hub.intern(NASTY))
        .core(Core::Aura)
        .language(Language::Rust)
        .device(0);
    producer.emit(
        kernel
            .stream(1)
            .at(999_100_123, 4_567)
            .value(1024)
            .detail(4, 0),
    );
    producer.emit(kernel.device(7).at(999_200_000, 1));
    let why = u64::from(hub.intern("strided").number());
    producer.emit(
        Record::new(Kind::Fallback, hub.intern("matmul"))
            .detail(why, 0)
            .at(999_300_000, 0),
    );
    let snapshot = hub.snapshot();
    (hub, snapshot)
}

#[test]
fn prometheus_page_reads_back() {
    let (_hub, snapshot) = filled();
    let page = parse(&export::prometheus(&snapshot), false);
    assert_eq!(
        value(
            &page,
            "amdgpu_fallbacks_total",
            &[("operation", "matmul"), ("reason", NASTY)]
        ),
        Some(3.0)
    );
    assert_eq!(
        value(
            &page,
            "amdgpu_queue_depth",
            &[("device", "cpu:0"), ("stream", "0")]
        ),
        Some(2.5)
    );
    assert_eq!(
        value(
            &page,
            "amdgpu_queue_depth",
            &[("device", "cpu:0"), ("stream", "1")]
        ),
        Some(f64::INFINITY)
    );
    assert_eq!(
        value(
            &page,
            "amdgpu_boundary_calls_total",
            &[("from", "rust"), ("to", "zig")]
        ),
        Some(1.0)
    );
    assert_eq!(page.types["amdgpu_boundary_calls_total"], "counter");
    assert!(page.units.is_empty());
    assert!(
        !page.types.contains_key("amdgpu_power_watts"),
        "absent metrics are not exported"
    );
}

#[test]
fn histograms_are_cumulative_and_end_at_infinity() {
    let (_hub, snapshot) = filled();
    let page = parse(&export::prometheus(&snapshot), false);
    let labels = [
        ("device", "cpu:0"),
        ("core", "aura"),
        ("kernel", "saxpy"),
        ("id", "0000000000000001"),
    ];
    let name = "amdgpu_kernel_duration_seconds";
    let bucket = |bound: &'static str| {
        let labels: Vec<_> = labels.iter().copied().chain([("le", bound)]).collect();
        value(&page, "amdgpu_kernel_duration_seconds_bucket", &labels)
    };
    assert_eq!(
        (bucket("0.000000256"), bucket("0.000000512"), bucket("+Inf")),
        (Some(2.0), Some(3.0), Some(5.0))
    );
    assert_eq!(value(&page, &format!("{name}_count"), &labels), Some(5.0));
    let sum = value(&page, &format!("{name}_sum"), &labels).unwrap();
    assert!((sum - 10_000.001_000_613).abs() < 1e-6, "{sum}");
    let mut last = (f64::NEG_INFINITY, 0.0);
    for (sample, labels, count) in &page.samples {
        if sample == "amdgpu_kernel_duration_seconds_bucket" {
            let bound = parse_number(&labels["le"]);
            assert!(bound > last.0 && *count >= last.1);
            last = (bound, *count);
        }
    }
}

#[test]
fn open_metrics_page_reads_back() {
    let (_hub, snapshot) = filled();
    let page = parse(&export::open_metrics(&snapshot), true);
    assert_eq!(page.types["amdgpu_boundary_calls"], "counter");
    assert_eq!(
        value(
            &page,
            "amdgpu_boundary_calls_total",
            &[("from", "rust"), ("to", "zig")]
        ),
        Some(1.0)
    );
    for (family, unit) in &page.units {
        assert!(family.ends_with(&format!("_{unit}")), "{family} {unit}");
    }
    assert_eq!(page.units["amdgpu_boundary_seconds"], "seconds");
}

#[test]
fn both_pages_hold_the_same_samples() {
    let (_hub, snapshot) = filled();
    let samples = |page: Page| {
        page.samples
            .into_iter()
            .map(|(name, labels, value)| format!("{name} {labels:?} {value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        samples(parse(&export::prometheus(&snapshot), false)),
        samples(parse(&export::open_metrics(&snapshot), true))
    );
}

#[test]
fn an_empty_hub_exports_valid_empty_pages() {
    let snapshot = Hub::with_clock(ManualClock::default()).snapshot();
    assert_eq!(export::prometheus(&snapshot), "");
    assert_eq!(export::open_metrics(&snapshot), "# EOF\n");
    let trace: Value =
        serde_json::from_str(&export::chrome_trace(&snapshot.records, &snapshot.names)).unwrap();
    assert_eq!(trace["traceEvents"], serde_json::json!([]));
    assert_eq!(packets(&export::perfetto_trace(&snapshot, &[])).len(), 2);
    assert_eq!(
        export::ndjson(&snapshot.records, &snapshot.names, &snapshot.clock),
        ""
    );
}

#[test]
fn chrome_trace_has_a_named_track_for_every_event() {
    let (_hub, snapshot) = filled();
    let trace: Value =
        serde_json::from_str(&export::chrome_trace(&snapshot.records, &snapshot.names)).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let (complete, metadata): (Vec<_>, Vec<_>) =
        events.iter().partition(|event| event["ph"] == "X");
    assert_eq!(complete.len(), snapshot.records.len());
    assert!(metadata.iter().all(|event| event["ph"] == "M"));
    let named = |name: &str, event: &Value| {
        let found = metadata.iter().find(|entry| {
            entry["name"] == name
                && entry["pid"] == event["pid"]
                && (name == "process_name" || entry["tid"] == event["tid"])
        });
        found.map(|entry| entry["args"]["name"].as_str().unwrap().to_owned())
    };
    for event in &complete {
        assert!(
            named("process_name", event).is_some() && named("thread_name", event).is_some(),
            "{event}"
        );
        assert!(event["ts"].is_number() && event["dur"].is_number() && event["name"].is_string());
    }
    let launch = complete
        .iter()
        .find(|event| event["cat"] == "launch" && event["tid"] == 2)
        .unwrap();
    assert_eq!(launch["name"], NASTY);
    assert_eq!(
        (
            named("process_name", launch).as_deref(),
            named("thread_name", launch).as_deref()
        ),
        (Some("cpu:0"), Some("stream 1"))
    );
    assert_eq!(launch["ts"].as_f64(), Some(999_100.123));
    assert_eq!(launch["dur"].as_f64(), Some(4.567));
    assert_eq!(launch["args"]["core"], "aura");
    let unnamed = complete
        .iter()
        .find(|event| event["cat"] == "launch" && event["tid"] == 0)
        .unwrap();
    assert_eq!(named("process_name", unnamed).as_deref(), Some("device 7"));
    let boundary = complete
        .iter()
        .find(|event| event["cat"] == "boundary" && event["name"] == "matmul")
        .unwrap();
    assert_eq!(
        (&boundary["args"]["from"], &boundary["args"]["to"]),
        (&"rust".into(), &"zig".into())
    );
    assert_eq!(named("process_name", boundary).as_deref(), Some("host"));
    let fallback = complete
        .iter()
        .find(|event| event["cat"] == "fallback")
        .unwrap();
    assert_eq!(fallback["args"]["reason"], "strided");
}

/// Field numbers and contents of a message of Protocol Buffers; numbers as their bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first().expect("a number ends");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return value;
            }
        }
        panic!("a number has at most ten bytes");
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let content = match key & 7 {
            0 => varint(&mut bytes).to_le_bytes().to_vec(),
            1 => bytes.split_off(..8).expect("eight bytes").to_vec(),
            2 => {
                let length = varint(&mut bytes) as usize;
                bytes.split_off(..length).expect("as long as said").to_vec()
            }
            wire => panic!("wire type {wire}"),
        };
        found.push((key >> 3, content));
    }
    found
}

fn packets(trace: &[u8]) -> Vec<Vec<(u64, Vec<u8>)>> {
    fields(trace)
        .into_iter()
        .map(|(number, packet)| {
            assert_eq!(number, 1);
            fields(&packet)
        })
        .collect()
}

#[test]
fn perfetto_trace_begins_and_ends_every_slice() {
    const TRACK_EVENT: u64 = 11;
    let (_hub, snapshot) = filled();
    let packets = packets(&export::perfetto_trace(&snapshot, &[]));
    let mut kinds = [0; 4];
    for (_, event) in packets
        .iter()
        .flatten()
        .filter(|(number, _)| *number == TRACK_EVENT)
    {
        let (_, kind) = &fields(event)[0];
        kinds[usize::from(kind[0])] += 1;
    }
    let instants = snapshot
        .records
        .iter()
        .filter(|record| record.duration_ns == 0)
        .count();
    let slices = snapshot.records.len() - instants;
    assert!(slices > 0 && instants > 0);
    assert_eq!(kinds, [0, slices, slices, instants]);
    for packet in &packets {
        let sequence = packet.iter().find(|(number, _)| *number == 10);
        assert_eq!(
            sequence.unwrap().1,
            u64::from(std::process::id()).to_le_bytes()
        );
    }
}

#[test]
fn a_snapshot_that_came_as_json_gives_the_same_perfetto_trace() {
    let (_hub, snapshot) = filled();
    let json = serde_json::to_string(&snapshot).unwrap();
    let read: Snapshot = serde_json::from_str(&json).unwrap();
    assert_eq!(
        export::perfetto_trace(&read, &[]),
        export::perfetto_trace(&snapshot, &[])
    );
}

#[test]
fn ndjson_lines_stand_alone() {
    let (_hub, snapshot) = filled();
    let text = export::ndjson(&snapshot.records, &snapshot.names, &snapshot.clock);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), snapshot.records.len());
    for (line, record) in lines.iter().zip(&snapshot.records) {
        assert_eq!(line["schema"], export::NDJSON_SCHEMA);
        assert_eq!(line["name"], snapshot.names.get(record.name));
        assert_eq!(line["kind"], record.kind.name());
        assert_eq!(
            line["unix_ns"],
            ManualClock::UNIX_AT_ZERO_NS + record.start_ns
        );
    }
    let launch = lines
        .iter()
        .find(|line| line["kind"] == "launch" && line["device"] == 0)
        .unwrap();
    assert_eq!(
        (&launch["device_name"], &launch["to"], &launch["from"]),
        (&"cpu:0".into(), &"rust".into(), &Value::Null)
    );
    let fallback = lines
        .iter()
        .find(|line| line["kind"] == "fallback")
        .unwrap();
    assert_eq!(
        (&fallback["reason"], &fallback["device_name"]),
        (&"strided".into(), &Value::Null)
    );
}
