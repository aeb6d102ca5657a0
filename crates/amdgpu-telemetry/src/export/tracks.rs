//! What traces of every format show of a record: the track it is drawn on, and the arguments of a selected event.

use serde_json::{Map, Value, json};

use crate::names::{NameId, Names};
use crate::record::{Core, Kind, Record};
use crate::span::kernel_id_text;

/// "Process" of the trace that holds the threads of the host.
pub(super) const HOST: u64 = 1;
/// "Process" of device 0; the others follow.
pub(super) const FIRST_DEVICE: u64 = 2;

/// Process and thread of the trace on which a record is drawn. The thread of a device is a stream plus one, or 0 where there is none.
pub(super) fn track(record: &Record) -> (u64, u64) {
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

/// The name of a device's thread in the trace.
pub(super) fn stream_name(thread: u64) -> String {
    match thread {
        0 => "no stream".to_owned(),
        stream => format!("stream {}", stream - 1),
    }
}

pub(super) fn thread_name(thread: u64, names: &Names) -> String {
    let known = names
        .threads
        .iter()
        .find(|(id, _)| u64::from(*id) == thread);
    known.map_or_else(|| format!("thread {thread}"), |(_, name)| name.clone())
}

/// The name of a record; what has none is called after its kind.
pub(super) fn event_name<'a>(record: &Record, names: &'a Names) -> &'a str {
    match names.get(record.name) {
        "" => record.kind.name(),
        name => name,
    }
}

/// What the viewer shows of a selected event; only what is there.
pub(super) fn arguments(record: &Record, names: &Names) -> Map<String, Value> {
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
    } else if record.kind == Kind::Launch {
        arguments.insert("work_groups".into(), record.detail[0].into());
        if record.detail[1] != 0 {
            arguments.insert("kernel".into(), kernel_id_text(record.detail[1]).into());
        }
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
