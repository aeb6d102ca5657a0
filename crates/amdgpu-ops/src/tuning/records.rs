//! What a database holds of anything but products: for a subject that its owner names, how long each way took.
//!
//! Kernels of users are subjects, and so is whatever C and C++ programs measure themselves. Names are the owner's: a subject says everything
//! that the best way depends on, but for the architecture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::timings::{MAX_ENTRIES, Timings, fields_of, line_head, quoted, ranking, shown, times};

/// Of the names of subjects and ways: a line of text.
const MAX_NAME_BYTES: usize = 512;

/// Measurements of one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was measured.
    pub subject: String,
    /// Time of each way that gave the right result.
    pub seconds: BTreeMap<String, f64>,
    /// Why a way has no time.
    pub failed: BTreeMap<String, String>,
    /// Product name of the device.
    pub device: String,
    /// UTC, as in `2026-11-21T18:30:00Z`; of two measurements the later one counts.
    pub measured: String,
}

impl Record {
    /// A subject of which nothing is known.
    #[must_use]
    pub fn of(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            seconds: BTreeMap::new(),
            failed: BTreeMap::new(),
            device: String::new(),
            measured: utc_now(),
        }
    }

    /// The ways with their times, fastest first.
    #[must_use]
    pub fn ranking(&self) -> Vec<(&str, f64)> {
        ranking(&self.seconds)
    }
}

/// Whether a text can name a subject or a way.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// This moment as measurements have it, for example `2026-11-21T18:30:00Z`.
pub(super) fn utc_now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    utc(since.unwrap_or_default().as_secs())
}

/// Seconds since 1970 as a time of the proleptic Gregorian calendar: `civil_from_days` of
/// <https://howardhinnant.github.io/date_algorithms.html>, which counts years from March on.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Lines of a database, in the order of subjects; empty where there are none.
pub(super) fn dump<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let mut sorted: Vec<&Record> = records.collect();
    sorted.sort_by(|one, other| one.subject.cmp(&other.subject));
    let lines: Vec<String> = sorted.into_iter().map(line).collect();
    lines.join(",")
}

fn line(record: &Record) -> String {
    let mut text = format!("\n{}", line_head(&record.device, &record.failed));
    let _ = write!(
        text,
        ", \"measured\": {}, \"subject\": {}, \"seconds\": {}}}",
        quoted(&record.measured),
        quoted(&record.subject),
        times(&record.seconds)
    );
    text
}

/// The records of a database; none where it has no such field.
pub(super) fn parse(value: Option<&Value>) -> Result<Vec<Record>, String> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let lines = value
        .as_array()
        .filter(|lines| lines.len() <= MAX_ENTRIES)
        .ok_or_else(|| format!("records is not a list of at most {MAX_ENTRIES} objects"))?;
    let records = lines.iter().enumerate();
    records
        .map(|(number, line)| checked(line).map_err(|reason| format!("record {number}: {reason}")))
        .collect()
}

fn checked(line: &Value) -> Result<Record, String> {
    let fields = fields_of(line, "subject")?;
    let subject = fields.get("subject");
    let name = subject
        .and_then(Value::as_str)
        .filter(|text| is_name(text))
        .ok_or_else(|| {
            format!(
                "the subject must be a text of one line, got {}",
                shown(subject)
            )
        })?;
    let timings = Timings::of(fields, is_name)?;
    Ok(Record {
        subject: name.to_owned(),
        seconds: timings.seconds,
        failed: timings.failed,
        device: timings.device,
        measured: timings.measured,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_848_605, "2026-11-28T06:50:05Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }

    #[test]
    fn names_are_lines_of_text() {
        assert!(is_name("kernel saxpy 3f2a float32[2^20]"));
        for text in ["", "two\nlines", &"x".repeat(513)] {
            assert!(!is_name(text));
        }
    }
}
