//! Records as newline-delimited JSON: one object a line, each with the version of its schema, names spelled out.

use serde::Serialize;

use crate::clock::ClockOrigin;
use crate::names::{NameId, Names};
use crate::record::{Kind, Readable, Record};
use crate::span::kernel_id_text;

/// Version of a line; raised when a field changes its meaning or goes away.
pub const NDJSON_SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Line<'a> {
    schema: u32,
    /// Of records that came from another process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// When the record's work began, in calendar time.
    unix_ns: u64,
    /// The name in words; `name_id` is the number that other exports use.
    name: &'a str,
    device_name: Option<String>,
    /// Of a launch: what tells the kernel from others of its name; handles end with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    /// Of a fallback.
    reason: Option<&'a str>,
    #[serde(flatten)]
    record: Readable,
}

/// One line for each record. `clock` places monotonic times in the calendar, see [`crate::Snapshot::clock`].
#[must_use]
pub fn ndjson(records: &[Record], names: &Names, clock: &ClockOrigin) -> String {
    lines(None, records, names, clock)
}

/// Like [`ndjson`], with the number of the process that the records are of.
#[must_use]
pub fn ndjson_of(pid: u32, records: &[Record], names: &Names, clock: &ClockOrigin) -> String {
    lines(Some(pid), records, names, clock)
}

fn lines(pid: Option<u32>, records: &[Record], names: &Names, clock: &ClockOrigin) -> String {
    let mut text = String::new();
    for record in records {
        let line = Line {
            schema: NDJSON_SCHEMA,
            pid,
            unix_ns: clock.unix_ns_at(record.start_ns),
            name: names.get(record.name),
            device_name: (record.device != Record::NO_DEVICE).then(|| names.device(record.device)),
            kernel: (record.kind == Kind::Launch && record.detail[1] != 0)
                .then(|| kernel_id_text(record.detail[1])),
            reason: (record.kind == Kind::Fallback)
                .then(|| names.get(NameId::from_number(record.detail[0] as u32))),
            record: Readable::from(*record),
        };
        // Numbers and text always have a JSON form, so no line is ever left out.
        if let Ok(json) = serde_json::to_string(&line) {
            text.push_str(&json);
            text.push('\n');
        }
    }
    text
}
