//! Trace Event JSON, read by Perfetto and `chrome://tracing`: threads of the host on one track each, streams of each device on theirs.
//!
//! Source: "Trace Event Format", Google, 2016.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::names::{NameId, Names};
use crate::record::{Core, Kind, Record};

/// "Process" of the trace that holds the threads of the host.
const HOST: u64 = 1;
/// "Process" of device 0; the others follow.
const FIRST_DEVICE: u64 = 2;

/// The trace of these records. Times stay those of the records, in microseconds.
#[must_use]
pub fn chrome_trace(records: &[Record], names: &Names) -> String {
    let tracks: BTreeSet<(u64, u64)> = records.iter().map(track).collect();
    let mut events = track_names(&tracks, names);
    events.extend(records.iter().map(|record| event(record, names)));
    json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string()
}

/// Process and thread of the trace on which a record is drawn.
fn track(record: &Record) -> (u64, u64) {
    if record.kind.runs_on_device() && record.device != Record::NO_DEVICE {
        let stream = if record.stream == Record::NO_STREAM {
            0
        } else {
            u64::from(record.stream) + 1
        };
        (FIRST_DEVICE + u64::from(record.device), stream)
    } else {
        (HOST, u64::from(record.thread))
    }
}

fn track_names(tracks: &BTreeSet<(u64, u64)>, names: &Names) -> Vec<Value> {
    let metadata = |name: &str, (process, thread): (u64, u64), text: String| json!({ "ph": "M", "name": name, "pid": process, "tid": thread, "args": { "name": text } });
    let mut events = Vec::new();
    let mut last = None;
    for &(process, thread) in tracks {
        let device = process
            .checked_sub(FIRST_DEVICE)
            .map(|index| names.device(index as u16));
        if last.replace(process) != Some(process) {
            let text = device.clone().unwrap_or_else(|| "host".to_owned());
            events.push(metadata("process_name", (process, thread), text));
            events.push(json!({
                "ph": "M", "name": "process_sort_index", "pid": process, "tid": thread, "args": { "sort_index": process },
            }));
        }
        let text = match (device, thread) {
            (Some(_), 0) => "no stream".to_owned(),
            (Some(_), stream) => format!("stream {}", stream - 1),
            (None, thread) => thread_name(thread, names),
        };
        events.push(metadata("thread_name", (process, thread), text));
    }
    events
}

fn thread_name(thread: u64, names: &Names) -> String {
    let known = names
        .threads
        .iter()
        .find(|(id, _)| u64::from(*id) == thread);
    known.map_or_else(|| format!("thread {thread}"), |(_, name)| name.clone())
}

fn event(record: &Record, names: &Names) -> Value {
    let (process, thread) = track(record);
    let name = match names.get(record.name) {
        "" => record.kind.name(),
        name => name,
    };
    json!({
        "ph": "X",
        "name": name,
        "cat": record.kind.name(),
        "pid": process,
        "tid": thread,
        "ts": record.start_ns as f64 / 1e3,
        "dur": record.duration_ns as f64 / 1e3,
        "args": arguments(record, names),
    })
}

/// What the viewer shows of a selected event; only what is there.
fn arguments(record: &Record, names: &Names) -> Map<String, Value> {
    let mut arguments = Map::new();
    if record.core != Core::None {
        arguments.insert("core".into(), record.core.name().into());
    }
    if let Some(language) = record.from_language() {
        arguments.insert("from".into(), language.name().into());
    }
    if let Some(language) = record.to_language() {
        arguments.insert("to".into(), language.name().into());
    }
    if record.kind.runs_on_device() {
        arguments.insert(
            "thread".into(),
            thread_name(u64::from(record.thread), names).into(),
        );
    }
    if record.kind == Kind::Fallback {
        let reason = NameId::from_number(record.detail[0] as u32);
        arguments.insert("reason".into(), names.get(reason).into());
    } else if record.detail != [0; 2] {
        arguments.insert("detail".into(), json!(record.detail));
    }
    if record.value != 0 {
        arguments.insert("value".into(), record.value.into());
    }
    if record.correlation != 0 {
        arguments.insert("correlation".into(), record.correlation.into());
    }
    arguments
}
