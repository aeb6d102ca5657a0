//! Prometheus text format 0.0.4 and OpenMetrics 1.0. Metrics without a series are left out.
//!
//! Sources: "Exposition formats" in the Prometheus documentation; the OpenMetrics 1.0 specification.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use amdgpu_abi::metrics::CATALOGUE;

use super::units::unit_of;
use crate::labels::Labels;
use crate::snapshot::{HistogramSample, Sample, Snapshot};

/// `Content-Type` of what [`prometheus`] returns.
pub const PROMETHEUS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// `Content-Type` of what [`open_metrics`] returns.
pub const OPEN_METRICS_CONTENT_TYPE: &str =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The page in Prometheus text format 0.0.4.
#[must_use]
pub fn prometheus(snapshot: &Snapshot) -> String {
    Page {
        text: String::new(),
        open_metrics: false,
    }
    .write(snapshot)
}

/// The page in OpenMetrics 1.0 text format.
#[must_use]
pub fn open_metrics(snapshot: &Snapshot) -> String {
    Page {
        text: String::new(),
        open_metrics: true,
    }
    .write(snapshot)
}

struct Page {
    text: String,
    open_metrics: bool,
}

impl Page {
    fn write(mut self, snapshot: &Snapshot) -> String {
        for group in snapshot.counters.chunk_by(|a, b| a.metric == b.metric) {
            self.samples(group, "counter");
        }
        for group in snapshot.gauges.chunk_by(|a, b| a.metric == b.metric) {
            self.samples(group, "gauge");
        }
        for group in snapshot.histograms.chunk_by(|a, b| a.metric == b.metric) {
            self.header(&group[0].metric, "histogram");
            for sample in group {
                self.histogram(sample);
            }
        }
        if self.open_metrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn samples(&mut self, group: &[Sample], kind: &str) {
        self.header(&group[0].metric, kind);
        for sample in group {
            self.line(
                &sample.metric,
                "",
                &sample.labels,
                None,
                &number(sample.value),
            );
        }
    }

    fn header(&mut self, metric: &str, kind: &str) {
        // OpenMetrics names the family without the suffix that its samples carry.
        let family = if self.open_metrics {
            metric.strip_suffix("_total").unwrap_or(metric)
        } else {
            metric
        };
        if let Some(row) = CATALOGUE.iter().find(|row| row.name == metric) {
            let help = escape(row.help, self.open_metrics);
            self.write_line(format_args!("# HELP {family} {help}"));
        }
        self.write_line(format_args!("# TYPE {family} {kind}"));
        if self.open_metrics
            && let Some(unit) = unit_of(metric)
        {
            self.write_line(format_args!("# UNIT {family} {unit}"));
        }
    }

    fn histogram(&mut self, sample: &HistogramSample) {
        for (bound_seconds, count) in &sample.buckets {
            self.line(
                &sample.metric,
                "_bucket",
                &sample.labels,
                Some(&number(*bound_seconds)),
                &count.to_string(),
            );
        }
        let count = sample.count.to_string();
        self.line(
            &sample.metric,
            "_bucket",
            &sample.labels,
            Some("+Inf"),
            &count,
        );
        self.line(
            &sample.metric,
            "_sum",
            &sample.labels,
            None,
            &number(sample.sum_seconds),
        );
        self.line(&sample.metric, "_count", &sample.labels, None, &count);
    }

    fn write_line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn line(
        &mut self,
        metric: &str,
        suffix: &str,
        labels: &Labels,
        bound: Option<&str>,
        value: &str,
    ) {
        self.text.push_str(metric);
        self.text.push_str(suffix);
        let mut separator = '{';
        for (name, text) in labels.iter().chain(bound.map(|bound| ("le", bound))) {
            self.text.push(separator);
            for part in [name, "=\"", &escape(text, true), "\""] {
                self.text.push_str(part);
            }
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
        self.write_line(format_args!(" {value}"));
    }
}

fn number(value: f64) -> String {
    if value.is_infinite() {
        if value > 0.0 {
            "+Inf".to_owned()
        } else {
            "-Inf".to_owned()
        }
    } else {
        value.to_string()
    }
}

/// Help text of format 0.0.4 leaves quotes alone; label values and OpenMetrics escape them.
fn escape(text: &str, quotes: bool) -> Cow<'_, str> {
    if !text.contains(['\\', '\n', '"']) {
        return Cow::Borrowed(text);
    }
    let escaped = text.replace('\\', r"\\").replace('\n', r"\n");
    Cow::Owned(if quotes {
        escaped.replace('"', "\\\"")
    } else {
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(escape("a\\b\n\"c\"", true), r#"a\\b\n\"c\""#);
        assert_eq!(escape("a\\b\n\"c\"", false), r#"a\\b\n"c""#);
    }

    #[test]
    fn numbers_are_written_as_the_formats_want_them() {
        assert_eq!(number(f64::INFINITY), "+Inf");
        assert_eq!(number(f64::NEG_INFINITY), "-Inf");
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!(number(3.0), "3");
        assert_eq!(number(0.000_001_024), "0.000001024");
    }
}
