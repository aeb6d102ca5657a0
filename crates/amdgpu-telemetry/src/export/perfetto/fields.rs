//! Numbers of the fields of Perfetto's messages that a trace of ours has.
//!
//! Source: `protos/perfetto/trace/` of Perfetto, compared with the descriptors of the Python package `perfetto` by `tests/telemetry/test_exporters.py`.

// `Trace`.
pub(super) const TRACE_PACKET: u64 = 1;

// `TracePacket` and `TracePacketDefaults`.
pub(super) const PACKET_CLOCK_SNAPSHOT: u64 = 6;
pub(super) const PACKET_TIMESTAMP: u64 = 8;
pub(super) const PACKET_SEQUENCE_ID: u64 = 10;
pub(super) const PACKET_TRACK_EVENT: u64 = 11;
pub(super) const PACKET_INTERNED_DATA: u64 = 12;
pub(super) const PACKET_SEQUENCE_FLAGS: u64 = 13;
pub(super) const PACKET_TIMESTAMP_CLOCK_ID: u64 = 58;
pub(super) const PACKET_DEFAULTS: u64 = 59;
pub(super) const PACKET_TRACK_DESCRIPTOR: u64 = 60;

// `ClockSnapshot` and `ClockSnapshot.Clock`.
pub(super) const CLOCKS_CLOCK: u64 = 1;
pub(super) const CLOCKS_PRIMARY: u64 = 2;
pub(super) const CLOCKS_ID: u64 = 1;
pub(super) const CLOCKS_TIMESTAMP: u64 = 2;

// `TrackDescriptor` and its process, thread and counter descriptors.
pub(super) const DESCRIPTOR_UUID: u64 = 1;
pub(super) const DESCRIPTOR_NAME: u64 = 2;
pub(super) const DESCRIPTOR_PROCESS: u64 = 3;
pub(super) const DESCRIPTOR_THREAD: u64 = 4;
pub(super) const DESCRIPTOR_PARENT: u64 = 5;
pub(super) const DESCRIPTOR_COUNTER: u64 = 8;
pub(super) const DESCRIPTOR_PID: u64 = 1;
pub(super) const DESCRIPTOR_TID: u64 = 2;
pub(super) const DESCRIPTOR_THREAD_NAME: u64 = 5;
pub(super) const DESCRIPTOR_PROCESS_NAME: u64 = 6;
pub(super) const DESCRIPTOR_UNIT_NAME: u64 = 6;

// `TrackEvent`.
pub(super) const EVENT_CATEGORY_IID: u64 = 3;
pub(super) const EVENT_ANNOTATION: u64 = 4;
pub(super) const EVENT_TYPE: u64 = 9;
pub(super) const EVENT_NAME_IID: u64 = 10;
pub(super) const EVENT_TRACK: u64 = 11;
pub(super) const EVENT_COUNTER_VALUE: u64 = 44;

// `DebugAnnotation`.
pub(super) const ANNOTATION_NAME_IID: u64 = 1;
pub(super) const ANNOTATION_UINT: u64 = 3;
pub(super) const ANNOTATION_TEXT: u64 = 6;

// `EventCategory`, `EventName` and `DebugAnnotationName` of `InternedData`.
pub(super) const INTERNED_IID: u64 = 1;
pub(super) const INTERNED_NAME: u64 = 2;
