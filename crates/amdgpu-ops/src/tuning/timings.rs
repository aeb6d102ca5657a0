//! What lines of a database have in common, whatever was measured: times by way, reasons by way, device and time of the measurement.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Of one file: some hundred shapes are tuned in an hour.
pub(super) const MAX_ENTRIES: usize = 100_000;

/// Ways with their times, fastest first.
pub(super) fn ranking(seconds: &BTreeMap<String, f64>) -> Vec<(&str, f64)> {
    let named = seconds.iter();
    let mut all: Vec<(&str, f64)> = named
        .map(|(name, seconds)| (name.as_str(), *seconds))
        .collect();
    all.sort_by(|one, other| one.1.total_cmp(&other.1).then_with(|| one.0.cmp(other.0)));
    all
}

/// A text as JSON has it.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// How a line of the text form begins.
pub(super) fn line_head(device: &str, failed: &BTreeMap<String, String>) -> String {
    let mut text = format!("{{\"device\": {}", quoted(device));
    if !failed.is_empty() {
        let failed: Vec<String> = failed
            .iter()
            .map(|(name, reason)| format!("{}: {}", quoted(name), quoted(reason)))
            .collect();
        let _ = write!(text, ", \"failed\": {{{}}}", failed.join(", "));
    }
    text
}

/// Times by way, as JSON.
pub(super) fn times(seconds: &BTreeMap<String, f64>) -> String {
    let seconds: Vec<String> = seconds
        .iter()
        .map(|(name, seconds)| format!("{}: {}", quoted(name), number(*seconds)))
        .collect();
    format!("{{{}}}", seconds.join(", "))
}

/// A number as Python writes it, so that files do not depend on who wrote them: exponents have a sign and two digits.
fn number(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{value:?}"),
    }
}

/// A value in a message.
pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "None".to_owned(),
        Some(Value::String(text)) => format!("'{text}'"),
        Some(Value::Bool(truth)) => if *truth { "True" } else { "False" }.to_owned(),
        Some(other) => other.to_string(),
    }
}

/// The fields of a line, none of which is unknown.
pub(super) fn fields_of<'a>(
    record: &'a Value,
    subject: &str,
) -> Result<&'a Map<String, Value>, String> {
    let Some(fields) = record.as_object() else {
        return Err("not an object".to_owned());
    };
    let known = [subject, "seconds", "failed", "device", "measured"];
    let mut unknown = fields.keys().filter(|name| !known.contains(&name.as_str()));
    match unknown.next() {
        Some(name) => Err(format!("unknown field '{name}'")),
        None => Ok(fields),
    }
}

/// What lines of products and of other subjects have in common.
pub(super) struct Timings {
    pub seconds: BTreeMap<String, f64>,
    pub failed: BTreeMap<String, String>,
    pub device: String,
    pub measured: String,
}

impl Timings {
    /// The timings of a line; `is_way` tells names of ways from other texts.
    pub fn of(fields: &Map<String, Value>, is_way: impl Fn(&str) -> bool) -> Result<Self, String> {
        let mut seconds = BTreeMap::new();
        for (name, value) in by_name(fields, "seconds", &is_way)? {
            let time = value
                .as_f64()
                .filter(|time| *time > 0.0 && time.is_finite());
            let time =
                time.ok_or_else(|| format!("the time of {name} is {}", shown(Some(value))))?;
            seconds.insert(name.clone(), time);
        }
        let mut failed = BTreeMap::new();
        let texts = "device and reasons are texts";
        for (name, value) in by_name(fields, "failed", &is_way)? {
            failed.insert(name.clone(), value.as_str().ok_or(texts)?.to_owned());
        }
        let device = fields.get("device").map_or(Some(""), Value::as_str);
        let measured = fields.get("measured");
        let time = measured
            .and_then(Value::as_str)
            .filter(|text| is_time(text));
        let time = time.ok_or_else(|| {
            format!(
                "measured must be a time such as 2026-11-21T18:30:00Z, got {}",
                shown(measured)
            )
        })?;
        Ok(Self {
            seconds,
            failed,
            device: device.ok_or(texts)?.to_owned(),
            measured: time.to_owned(),
        })
    }
}

/// Whether a text is a time such as 2026-11-21T18:30:00Z.
fn is_time(text: &str) -> bool {
    let pattern = "0000-00-00T00:00:00Z";
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(own, wanted)| {
            if wanted == b'0' {
                own.is_ascii_digit()
            } else {
                own == wanted
            }
        })
}

fn by_name<'a>(
    record: &'a Map<String, Value>,
    field: &str,
    is_way: impl Fn(&str) -> bool,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, String> {
    let values = record.get(field);
    let is_optional = field == "failed" && values.is_none();
    let fields = values.and_then(Value::as_object).filter(|fields| {
        let mut names = fields.keys();
        names.all(|name| is_way(name))
    });
    if fields.is_none() && !is_optional {
        return Err(format!("{field} is not an object with names of kernels"));
    }
    Ok(fields.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let written = [1.539e-5, 0.000_188_9, 1.0, 2e-6, 0.25, 1e16].map(number);
        assert_eq!(
            written,
            ["1.539e-05", "0.0001889", "1.0", "2e-06", "0.25", "1e+16"]
        );
    }
}
