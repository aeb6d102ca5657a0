//! Trace Event JSON, read by Perfetto and `chrome://tracing`: threads of the host on one track each, streams of each device on theirs.
//!
//! Source: "Trace Event Format", Google, 2016.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::tracks::{FIRST_DEVICE, arguments, event_name, stream_name, thread_name, track};
use crate::names::Names;
use crate::record::Record;

/// The trace of these records. Times stay those of the records, in microseconds.
#[must_use]
pub fn chrome_trace(records: &[Record], names: &Names) -> String {
    let tracks: BTreeSet<(u64, u64)> = records.iter().map(track).collect();
    let mut events = track_names(&tracks, names);
    events.extend(records.iter().map(|record| event(record, names)));
    json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string()
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
        let text = if device.is_some() {
            stream_name(thread)
        } else {
            thread_name(thread, names)
        };
        events.push(metadata("thread_name", (process, thread), text));
    }
    events
}

fn event(record: &Record, names: &Names) -> Value {
    let (process, thread) = track(record);
    json!({
        "ph": "X",
        "name": event_name(record, names),
        "cat": record.kind.name(),
        "pid": process,
        "tid": thread,
        "ts": record.start_ns as f64 / 1e3,
        "dur": record.duration_ns as f64 / 1e3,
        "args": arguments(record, names),
    })
}
