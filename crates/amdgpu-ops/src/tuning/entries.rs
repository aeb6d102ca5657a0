//! What a database holds of products: how long each way to compute one took. The text form of a database is JSON, schema `amdgpu.tuning/1`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::records::{self, Record};
use crate::archived::choice::by_time;
use crate::archived::problem::{Epilogue, Layout, Number, Problem};

pub const SCHEMA: &str = "amdgpu.tuning/1";
/// Of m, n, k and the batch: what kernels count with.
const MAX_EXTENT: u64 = u32::MAX as u64;
/// Of one file: some hundred shapes are tuned in an hour.
pub(super) const MAX_ENTRIES: usize = 100_000;
const MAX_ARCHITECTURE: usize = 64;
const MAX_CANDIDATE: usize = 128;
const FIELDS: [&str; 9] = [
    "m",
    "n",
    "k",
    "batch",
    "operand",
    "output",
    "layout",
    "epilogue",
    "is_aligned",
];

/// Measurements of one product.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What was computed.
    pub product: Problem,
    /// Time of each way that gave the right result.
    pub seconds: BTreeMap<String, f64>,
    /// Why a way has no time.
    pub failed: BTreeMap<String, String>,
    /// Product name of the device.
    pub device: String,
    /// UTC, as in `2026-11-21T18:30:00Z`; of two measurements the later one counts.
    pub measured: String,
}

impl Entry {
    /// Ways to compute it with their times, fastest first.
    #[must_use]
    pub fn ranking(&self) -> Vec<(&str, f64)> {
        ranking(&self.seconds)
    }
}

/// Ways with their times, fastest first.
pub(super) fn ranking(seconds: &BTreeMap<String, f64>) -> Vec<(&str, f64)> {
    let named = seconds.iter();
    let mut all: Vec<(&str, f64)> = named
        .map(|(name, seconds)| (name.as_str(), *seconds))
        .collect();
    all.sort_by(|one, other| by_time((one.1, one.0), (other.1, other.0)));
    all
}

/// What the text of a database says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    pub architecture: String,
    pub entries: Vec<Entry>,
    pub records: Vec<Record>,
}

/// The name of an architecture as files can bear it.
#[must_use]
pub fn check_architecture(name: &str) -> String {
    let mut made = String::new();
    for character in name.to_lowercase().chars() {
        if is_name(character, "_.-") {
            made.push(character);
        } else if !made.ends_with('-') || made.is_empty() {
            made.push('-');
        }
    }
    made.truncate(MAX_ARCHITECTURE);
    let trimmed = made.trim_matches('-');
    if trimmed.is_empty() {
        "unknown".to_owned()
    } else {
        trimmed.to_owned()
    }
}

fn is_name(character: char, others: &str) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit() || others.contains(character)
}

fn is_text(text: &str, others: &str, limit: usize) -> bool {
    let first = text.chars().next().is_some_and(|first| is_name(first, ""));
    first && text.len() <= limit && text.chars().all(|character| is_name(character, others))
}

/// The text of a database: one line for each entry, in an order that the content decides.
#[must_use]
pub fn dump<'a>(
    architecture: &str,
    entries: impl Iterator<Item = &'a Entry>,
    records: impl Iterator<Item = &'a Record>,
) -> String {
    let mut sorted: Vec<&Entry> = entries.collect();
    sorted.sort_by_key(|entry| {
        let product = &entry.product;
        (
            [product.m, product.n, product.k, product.batch],
            product.operand.name(),
            product.output.name(),
            product.layout.name(),
            product.epilogue.name(),
            product.is_aligned,
        )
    });
    let lines: Vec<String> = sorted
        .into_iter()
        .map(|entry| format!("\n{}", record(entry)))
        .collect();
    let mut text = format!(
        "{{\"schema\": \"{SCHEMA}\", \"architecture\": \"{architecture}\", \"entries\": [{}\n]",
        lines.join(",")
    );
    let records = records::dump(records);
    if !records.is_empty() {
        let _ = write!(text, ", \"records\": [{records}\n]");
    }
    text.push_str("}\n");
    text
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

fn record(entry: &Entry) -> String {
    let product = &entry.product;
    let mut text = line_head(&entry.device, &entry.failed);
    let _ = write!(
        text,
        ", \"measured\": {}, \"product\": {{\"batch\": {}, \"epilogue\": \"{}\", \"is_aligned\": {}, \"k\": {}, \"layout\": \"{}\", \"m\": {}, \"n\": {}, \"operand\": \"{}\", \"output\": \"{}\"}}, \"seconds\": {}}}",
        quoted(&entry.measured),
        product.batch,
        product.epilogue.name(),
        product.is_aligned,
        product.k,
        product.layout.name(),
        product.m,
        product.n,
        product.operand.name(),
        product.output.name(),
        times(&entry.seconds)
    );
    text
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

/// What a text says; `expected` is the architecture that it must be for.
///
/// # Errors
///
/// Why it is no tuning database of this version, and where.
pub fn parse(text: &str, expected: Option<&str>) -> Result<Content, String> {
    let content: Value =
        serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))?;
    let schema = content.get("schema");
    if schema.and_then(Value::as_str) != Some(SCHEMA) {
        return Err(format!(
            "the schema is {}; this version reads '{SCHEMA}'",
            shown(schema)
        ));
    }
    let architecture = content.get("architecture");
    let Some(name) = architecture
        .and_then(Value::as_str)
        .filter(|name| is_text(name, "_.-", MAX_ARCHITECTURE))
    else {
        return Err(format!(
            "the architecture must be a name such as sm_90 or gfx942, got {}",
            shown(architecture)
        ));
    };
    if let Some(expected) = expected
        && name != expected
    {
        return Err(format!("it is for {name}, not for {expected}"));
    }
    let records = content.get("entries").and_then(Value::as_array);
    let Some(records) = records.filter(|records| records.len() <= MAX_ENTRIES) else {
        return Err(format!(
            "entries is not a list of at most {MAX_ENTRIES} objects"
        ));
    };
    let entries = records.iter().enumerate();
    let entries = entries.map(|(number, record)| {
        checked(record).map_err(|reason| format!("entry {number}: {reason}"))
    });
    Ok(Content {
        architecture: name.to_owned(),
        entries: entries.collect::<Result<_, _>>()?,
        records: records::parse(content.get("records"))?,
    })
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

fn checked(record: &Value) -> Result<Entry, String> {
    let fields = fields_of(record, "product")?;
    let product = product(fields.get("product"))?;
    let timings = Timings::of(fields, |name| is_text(name, "_.:-", MAX_CANDIDATE))?;
    Ok(Entry {
        product,
        seconds: timings.seconds,
        failed: timings.failed,
        device: timings.device,
        measured: timings.measured,
    })
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

fn product(value: Option<&Value>) -> Result<Problem, String> {
    let fields = value
        .and_then(Value::as_object)
        .filter(|fields| {
            fields.len() == FIELDS.len() && FIELDS.iter().all(|name| fields.contains_key(*name))
        })
        .ok_or_else(|| format!("product has not the fields {}", FIELDS.join(", ")))?;
    let extent = |name: &str| {
        let value = fields.get(name);
        value
            .and_then(Value::as_u64)
            .filter(|extent| (1..=MAX_EXTENT).contains(extent))
            .ok_or_else(|| format!("{name} is {}", shown(value)))
    };
    let (m, n, k, batch) = (extent("m")?, extent("n")?, extent("k")?, extent("batch")?);
    let unknown = |name: &str, known: &[&str]| {
        let known: Vec<String> = known.iter().map(|one| format!("'{one}'")).collect();
        format!(
            "{name} is {}; known are {}",
            shown(fields.get(name)),
            known.join(", ")
        )
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let operand = text("operand")
        .and_then(Number::from_name)
        .filter(|number| number.is_operand())
        .ok_or_else(|| {
            unknown(
                "operand",
                &Number::operands().map(Number::name).collect::<Vec<_>>(),
            )
        })?;
    let layout = text("layout")
        .and_then(Layout::from_name)
        .ok_or_else(|| unknown("layout", &Layout::ALL.map(Layout::name)))?;
    let epilogue = text("epilogue")
        .and_then(Epilogue::from_name)
        .ok_or_else(|| unknown("epilogue", &Epilogue::ALL.map(Epilogue::name)))?;
    let output = operand.output();
    if text("output") != Some(output.name()) {
        return Err(format!(
            "output is {}; products of {} give {}",
            shown(fields.get("output")),
            operand.name(),
            output.name()
        ));
    }
    let aligned = fields.get("is_aligned");
    let is_aligned = aligned
        .and_then(Value::as_bool)
        .ok_or_else(|| format!("is_aligned is {}", shown(aligned)))?;
    Ok(Problem {
        m,
        n,
        k,
        batch,
        operand,
        output,
        layout,
        epilogue,
        is_aligned,
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

    const LINE: &str = r#"{"device": "GPU", "measured": "2026-11-22T17:34:23Z", "product": {"batch": 1, "epilogue": "", "is_aligned": true, "k": 64, "layout": "nn", "m": 1, "n": 32, "operand": "bf16", "output": "bf16"}, "seconds": {"a": 2e-5, "b": 1e-5}}"#;

    fn text_of(lines: &[&str]) -> String {
        format!(
            "{{\"schema\": \"{SCHEMA}\", \"architecture\": \"sm_90\", \"entries\": [{}]}}",
            lines.join(",")
        )
    }

    #[test]
    fn what_is_written_is_read_again() {
        let read = parse(&text_of(&[LINE]), Some("sm_90")).unwrap();
        assert_eq!(read.entries[0].ranking(), [("b", 1e-5), ("a", 2e-5)]);
        let text = dump(&read.architecture, read.entries.iter(), [].iter());
        assert_eq!(parse(&text, None).unwrap(), read);
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let written = [1.539e-5, 0.000_188_9, 1.0, 2e-6, 0.25, 1e16].map(number);
        assert_eq!(
            written,
            ["1.539e-05", "0.0001889", "1.0", "2e-06", "0.25", "1e+16"]
        );
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let broken = LINE.replace("\"k\": 64", "\"k\": 0");
        let error = parse(&text_of(&[LINE, &broken]), None).unwrap_err();
        assert_eq!(error, "entry 1: k is 0");
        let broken = LINE.replace("\"output\": \"bf16\"", "\"output\": \"f32\"");
        let error = parse(&text_of(&[&broken]), None).unwrap_err();
        assert_eq!(
            error,
            "entry 0: output is 'f32'; products of bf16 give bf16"
        );
        assert!(
            parse("{", None)
                .unwrap_err()
                .starts_with("this is not JSON")
        );
        let other = text_of(&[]).replace("tuning/1", "tuning/2");
        assert!(parse(&other, None).unwrap_err().contains("amdgpu.tuning/2"));
        let error = parse(&text_of(&[]), Some("gfx942")).unwrap_err();
        assert_eq!(error, "it is for sm_90, not for gfx942");
    }

    #[test]
    fn names_of_architectures_become_names_of_files() {
        assert_eq!(
            check_architecture("gfx942:sramecc+:xnack-"),
            "gfx942-sramecc-xnack"
        );
        assert_eq!(check_architecture("x86_64 znver4"), "x86_64-znver4");
        assert_eq!(check_architecture("::"), "unknown");
    }
}
