//! Formats that other tools read: Prometheus and OpenMetrics pages, Chrome and Perfetto traces, newline-delimited JSON.

mod chrome;
mod ndjson;
mod perfetto;
mod prometheus;
mod protobuf;
mod tracks;
mod units;

pub use chrome::chrome_trace;
pub use ndjson::{NDJSON_SCHEMA, ndjson, ndjson_of};
pub use perfetto::{Reading, perfetto_trace};
pub use prometheus::{
    OPEN_METRICS_CONTENT_TYPE, PROMETHEUS_CONTENT_TYPE, open_metrics, prometheus,
};
pub use units::unit_of;
