//! What a database holds of products: how long each way to compute one took. The text form of a database is JSON, schema `amdgpu.tuning/1`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::records::{self, Record};
use super::timings::{MAX_ENTRIES, Timings, fields_of, line_head, quoted, ranking, shown, times};
use crate::archived::problem::{Epilogue, Layout, Number, Problem};

pub const SCHEMA: &str = "amdgpu.tuning/1";
/// Of m, n, k and the batch: what kernels count with.
const MAX_EXTENT: u64 = u32::MAX as u64;
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

    const RECORDS: &str = r#"{"schema": "amdgpu.tuning/1", "architecture": "x86_64", "entries": [], "records": [
        {"device": "CPU", "failed": {"block=512": "wrong"}, "measured": "2026-11-22T17:34:23Z", "subject": "kernel b",
         "seconds": {"block=64 TILE=8": 2e-5, "block=128 TILE=8": 1e-5}},
        {"measured": "2026-11-22T17:34:23Z", "subject": "kernel a", "seconds": {}}]}"#;

    #[test]
    fn records_are_written_and_read_again_in_the_order_of_subjects() {
        let read = parse(RECORDS, None).unwrap();
        assert_eq!(
            read.records[0].ranking(),
            [("block=128 TILE=8", 1e-5), ("block=64 TILE=8", 2e-5)]
        );
        let text = dump("x86_64", [].iter(), read.records.iter());
        let mut again = parse(&text, None).unwrap();
        again.records.reverse();
        assert_eq!(again, read);
    }

    #[test]
    fn damaged_records_are_named_with_their_place() {
        let error = |from: &str, to: &str| parse(&RECORDS.replace(from, to), None).unwrap_err();
        assert_eq!(
            error("\"kernel a\"", "7"),
            "record 1: the subject must be a text of one line, got 7"
        );
        assert_eq!(
            error("2e-5", "-1"),
            "record 0: the time of block=64 TILE=8 is -1"
        );
        assert_eq!(error("\"device\"", "\"x\""), "record 0: unknown field 'x'");
        assert!(error("\"records\": [", "\"records\": 1, \"x\": [").starts_with("records is not"));
    }
}
