//! Formats that other tools read: Prometheus and OpenMetrics pages, Chrome traces, newline-delimited JSON.

mod chrome;
mod ndjson;
mod prometheus;

pub use chrome::chrome_trace;
pub use ndjson::{NDJSON_SCHEMA, ndjson};
pub use prometheus::{
    OPEN_METRICS_CONTENT_TYPE, PROMETHEUS_CONTENT_TYPE, open_metrics, prometheus,
};
