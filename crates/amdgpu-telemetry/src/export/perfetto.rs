//! A Perfetto trace: threads, streams of devices and sensors on tracks of their own.
//!
//! Times are `CLOCK_MONOTONIC`; a clock snapshot places them in the calendar. Track ids and the packet sequence carry the process id, so
//! that traces of several processes can be joined by writing one after the other.
//!
//! Source: `protos/perfetto/trace/` of Perfetto.

mod fields;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::protobuf::Message;
use super::tracks::{FIRST_DEVICE, arguments, event_name, stream_name, thread_name, track};
use super::units::unit_of;
use crate::names::Names;
use crate::record::Record;
use crate::snapshot::Snapshot;

/// Slices of one track that overlap without one holding the other are drawn side by side; those past this many become instants.
const MAX_LANES: usize = 64;

/// A value of a sensor at a time.
#[derive(Clone, Debug, Deserialize)]
pub struct Reading {
    pub metric: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `None` is absent, and is not drawn.
    pub value: Option<f64>,
    pub time_ns: u64,
}

const CLOCK_REALTIME: u64 = 1;
const CLOCK_MONOTONIC: u64 = 3;
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Tables of words that packets refer to by number; the discriminants are their fields in `InternedData`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Table {
    Category = 1,
    Event = 2,
    Annotation = 3,
}

/// The trace of the snapshot's records, and of sensor readings beside them.
#[must_use]
pub fn perfetto_trace(snapshot: &Snapshot, readings: &[Reading]) -> Vec<u8> {
    let mut writer = Writer::new(snapshot);
    let devices = writer.devices(snapshot, readings);
    let mut tracks: BTreeMap<(u64, u64), Vec<&Record>> = BTreeMap::new();
    for record in &snapshot.records {
        tracks.entry(track(record)).or_default().push(record);
    }
    for ((process, thread), records) in tracks {
        let device = process
            .checked_sub(FIRST_DEVICE)
            .map(|index| snapshot.names.device(index as u16));
        let (name, parent) = match &device {
            Some(device) => (stream_name(thread), devices[device]),
            None => (thread_name(thread, &snapshot.names), writer.process),
        };
        let thread = device.is_none().then_some(thread);
        writer.slices(&name, parent, thread, records, &snapshot.names);
    }
    writer.counters(readings, &devices);
    writer.trace.into_bytes()
}

struct Writer {
    trace: Message,
    process_id: u32,
    /// Uuid of the track of the process.
    process: u64,
    last_uuid: u64,
    words: HashMap<(Table, String), u64>,
    /// Words that the next packet has to bring along.
    new_words: Message,
}

impl Writer {
    fn new(snapshot: &Snapshot) -> Self {
        let mut writer = Self {
            trace: Message::new(),
            process_id: snapshot.process_id,
            process: 0,
            last_uuid: u64::from(snapshot.process_id) << 32,
            words: HashMap::new(),
            new_words: Message::new(),
        };
        writer.clocks(snapshot);
        writer.process = writer.next_uuid();
        let mut process = Message::new();
        process
            .uint(fields::DESCRIPTOR_PID, u64::from(snapshot.process_id))
            .text(fields::DESCRIPTOR_PROCESS_NAME, "program with amdgpu");
        let mut descriptor = Message::new();
        descriptor
            .uint(fields::DESCRIPTOR_UUID, writer.process)
            .message(fields::DESCRIPTOR_PROCESS, &process);
        writer.descriptor(&descriptor);
        writer
    }

    fn clocks(&mut self, snapshot: &Snapshot) {
        let clock = |id: u64, time_ns: u64| {
            let mut clock = Message::new();
            clock
                .uint(fields::CLOCKS_ID, id)
                .uint(fields::CLOCKS_TIMESTAMP, time_ns);
            clock
        };
        let mut clocks = Message::new();
        clocks
            .message(
                fields::CLOCKS_CLOCK,
                &clock(CLOCK_MONOTONIC, snapshot.clock.monotonic_ns),
            )
            .message(
                fields::CLOCKS_CLOCK,
                &clock(CLOCK_REALTIME, snapshot.clock.unix_ns),
            )
            .uint(fields::CLOCKS_PRIMARY, CLOCK_MONOTONIC);
        let mut defaults = Message::new();
        defaults.uint(fields::PACKET_TIMESTAMP_CLOCK_ID, CLOCK_MONOTONIC);
        let mut packet = Message::new();
        packet
            .message(fields::PACKET_CLOCK_SNAPSHOT, &clocks)
            .message(fields::PACKET_DEFAULTS, &defaults);
        self.packet(packet, STATE_CLEARED);
    }

    /// The tracks of all devices, by name.
    fn devices(&mut self, snapshot: &Snapshot, readings: &[Reading]) -> BTreeMap<String, u64> {
        let of_records = snapshot.records.iter().filter_map(|record| {
            let index = track(record).0.checked_sub(FIRST_DEVICE)?;
            Some(snapshot.names.device(index as u16))
        });
        let of_readings = readings
            .iter()
            .filter_map(|reading| reading.labels.get("device").cloned());
        let names: BTreeSet<String> = of_records.chain(of_readings).collect();
        names
            .into_iter()
            .map(|name| {
                let uuid = self.track(&name, self.process, None);
                (name, uuid)
            })
            .collect()
    }

    /// Records of one track; those that cannot nest go to lanes of their own with the same name, which viewers draw together.
    fn slices(
        &mut self,
        name: &str,
        parent: u64,
        thread: Option<u64>,
        mut records: Vec<&Record>,
        names: &Names,
    ) {
        records.sort_by_key(|record| (record.start_ns, std::cmp::Reverse(record.end_ns())));
        let mut lanes: Vec<Lane> = Vec::new();
        let first = self.track(name, parent, thread);
        for record in records {
            if record.duration_ns == 0 {
                self.event(record, INSTANT, first, names);
                continue;
            }
            let mut found = None;
            for (index, lane) in lanes.iter_mut().enumerate() {
                self.close_until(lane, record.start_ns);
                if lane.ends.last().is_none_or(|&end| record.end_ns() <= end) {
                    found = Some(index);
                    break;
                }
            }
            let index = match found {
                Some(index) => index,
                None if lanes.len() < MAX_LANES => {
                    let uuid = if lanes.is_empty() {
                        first
                    } else {
                        self.track(name, parent, None)
                    };
                    lanes.push(Lane {
                        uuid,
                        ends: Vec::new(),
                    });
                    lanes.len() - 1
                }
                None => {
                    self.event(record, INSTANT, first, names);
                    continue;
                }
            };
            self.event(record, SLICE_BEGIN, lanes[index].uuid, names);
            lanes[index].ends.push(record.end_ns());
        }
        for lane in &mut lanes {
            self.close_until(lane, u64::MAX);
        }
    }

    /// End the slices of a lane that are over at a time.
    fn close_until(&mut self, lane: &mut Lane, time_ns: u64) {
        while let Some(end_ns) = lane.ends.pop_if(|end_ns| *end_ns <= time_ns) {
            let mut event = Message::new();
            event
                .uint(fields::EVENT_TYPE, SLICE_END)
                .uint(fields::EVENT_TRACK, lane.uuid);
            self.event_packet(end_ns, &event);
        }
    }

    fn counters(&mut self, readings: &[Reading], devices: &BTreeMap<String, u64>) {
        let mut series: BTreeMap<Series<'_>, Vec<(u64, f64)>> = BTreeMap::new();
        for reading in readings {
            if let Some(value) = reading.value.filter(|value| value.is_finite()) {
                series
                    .entry((&reading.metric, &reading.labels))
                    .or_default()
                    .push((reading.time_ns, value));
            }
        }
        for ((metric, labels), mut values) in series {
            let mut counter = Message::new();
            if let Some(unit) = unit_of(metric) {
                counter.text(fields::DESCRIPTOR_UNIT_NAME, unit);
            }
            let rest = labels
                .iter()
                .filter(|(label, _)| *label != "device")
                .map(|(_, value)| format!(" {value}"));
            let name = metric.to_owned() + &rest.collect::<String>();
            let parent = labels
                .get("device")
                .and_then(|device| devices.get(device))
                .copied()
                .unwrap_or(self.process);
            let uuid = self.next_uuid();
            let mut descriptor = Message::new();
            descriptor
                .uint(fields::DESCRIPTOR_UUID, uuid)
                .text(fields::DESCRIPTOR_NAME, &name)
                .uint(fields::DESCRIPTOR_PARENT, parent)
                .message(fields::DESCRIPTOR_COUNTER, &counter);
            self.descriptor(&descriptor);
            values.sort_by_key(|(time_ns, _)| *time_ns);
            for (time_ns, value) in values {
                let mut event = Message::new();
                event
                    .uint(fields::EVENT_TYPE, COUNTER)
                    .uint(fields::EVENT_TRACK, uuid)
                    .double(fields::EVENT_COUNTER_VALUE, value);
                self.event_packet(time_ns, &event);
            }
        }
    }

    fn event(&mut self, record: &Record, kind: u64, track: u64, names: &Names) {
        let mut event = Message::new();
        let category = self.word(Table::Category, record.kind.name());
        let name = self.word(Table::Event, event_name(record, names));
        event
            .uint(fields::EVENT_TYPE, kind)
            .uint(fields::EVENT_TRACK, track)
            .uint(fields::EVENT_CATEGORY_IID, category)
            .uint(fields::EVENT_NAME_IID, name);
        for (key, value) in arguments(record, names) {
            match value {
                Value::Array(values) => {
                    for (index, value) in values.iter().enumerate() {
                        self.annotate(&mut event, &format!("{key}[{index}]"), value);
                    }
                }
                value => self.annotate(&mut event, &key, &value),
            }
        }
        if kind == INSTANT && record.duration_ns > 0 {
            self.annotate(&mut event, "duration_ns", &record.duration_ns.into());
        }
        self.event_packet(record.start_ns, &event);
    }

    fn annotate(&mut self, event: &mut Message, key: &str, value: &Value) {
        let mut annotation = Message::new();
        annotation.uint(
            fields::ANNOTATION_NAME_IID,
            self.word(Table::Annotation, key),
        );
        match value {
            Value::Number(number) if number.is_u64() => {
                annotation.uint(fields::ANNOTATION_UINT, number.as_u64().unwrap_or_default())
            }
            Value::String(text) => annotation.text(fields::ANNOTATION_TEXT, text),
            other => annotation.text(fields::ANNOTATION_TEXT, &other.to_string()),
        };
        event.message(fields::EVENT_ANNOTATION, &annotation);
    }

    /// The number of a word; the packet under construction brings a new one along.
    fn word(&mut self, table: Table, text: &str) -> u64 {
        // Zero means "none".
        let next = self.words.len() as u64 + 1;
        let number = *self.words.entry((table, text.to_owned())).or_insert(next);
        if number == next {
            let mut word = Message::new();
            word.uint(fields::INTERNED_IID, number)
                .text(fields::INTERNED_NAME, text);
            self.new_words.message(table as u64, &word);
        }
        number
    }

    /// A new track; one with a thread id is that thread's.
    fn track(&mut self, name: &str, parent: u64, thread: Option<u64>) -> u64 {
        let uuid = self.next_uuid();
        let mut descriptor = Message::new();
        descriptor.uint(fields::DESCRIPTOR_UUID, uuid);
        if let Some(thread) = thread {
            let mut of_thread = Message::new();
            of_thread
                .uint(fields::DESCRIPTOR_PID, u64::from(self.process_id))
                .uint(fields::DESCRIPTOR_TID, thread)
                .text(fields::DESCRIPTOR_THREAD_NAME, name);
            descriptor.message(fields::DESCRIPTOR_THREAD, &of_thread);
        } else {
            descriptor
                .text(fields::DESCRIPTOR_NAME, name)
                .uint(fields::DESCRIPTOR_PARENT, parent);
        }
        self.descriptor(&descriptor);
        uuid
    }

    fn next_uuid(&mut self) -> u64 {
        self.last_uuid += 1;
        self.last_uuid
    }

    fn descriptor(&mut self, descriptor: &Message) {
        let mut packet = Message::new();
        packet.message(fields::PACKET_TRACK_DESCRIPTOR, descriptor);
        self.packet(packet, NEEDS_STATE);
    }

    fn event_packet(&mut self, time_ns: u64, event: &Message) {
        let mut packet = Message::new();
        packet
            .uint(fields::PACKET_TIMESTAMP, time_ns)
            .message(fields::PACKET_TRACK_EVENT, event);
        if !self.new_words.is_empty() {
            packet.message(fields::PACKET_INTERNED_DATA, &self.new_words);
            self.new_words = Message::new();
        }
        self.packet(packet, NEEDS_STATE);
    }

    fn packet(&mut self, mut packet: Message, flags: u64) {
        packet
            .uint(
                fields::PACKET_SEQUENCE_ID,
                u64::from(self.process_id).max(1),
            )
            .uint(fields::PACKET_SEQUENCE_FLAGS, flags);
        self.trace.message(fields::TRACE_PACKET, &packet);
    }
}

/// Metric and labels.
type Series<'a> = (&'a str, &'a BTreeMap<String, String>);

/// Slices of one track that are open, each within the one before.
struct Lane {
    uuid: u64,
    ends: Vec<u64>,
}
