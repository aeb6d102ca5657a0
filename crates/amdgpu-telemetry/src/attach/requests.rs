//! Requests and their answers: one line of JSON each.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::providers::{self, Question, Topic};
use crate::hub;
use crate::record::{Kind, Record};
use crate::subscriber::MAX_SUBSCRIPTION_CAPACITY;

/// Version of requests and answers.
pub const ATTACH_SCHEMA: &str = "amdgpu.attach/1";
/// Queue of a subscriber that names no size.
const USUAL_CAPACITY: usize = 65_536;
/// Totals more often than this would cost more than they tell.
const SHORTEST_TOTALS: Duration = Duration::from_millis(20);
/// A subscriber may let this much time pass between two sends.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// As it stands in the line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    op: String,
    handle: Option<String>,
    /// Of the memory: an allocation of so many bytes, of which pools say what it would find.
    size_bytes: Option<u64>,
    /// Of a snapshot: newest records that it shows; all where it is left out.
    records: Option<usize>,
    capacity: Option<usize>,
    /// Names of kinds of records; all where it is left out.
    kinds: Option<Vec<Kind>>,
    /// Pause between two sends: fewer wake-ups of watcher and watched.
    interval_ms: Option<u64>,
    /// Sends totals this often.
    totals_ms: Option<u64>,
    #[serde(default)]
    networks: bool,
    /// `frames` or `lines`.
    encoding: Option<String>,
}

/// What a subscriber wants.
#[derive(Debug)]
pub(super) struct Subscribe {
    pub capacity: usize,
    kinds: Option<Vec<Kind>>,
    pub pause: Duration,
    pub totals_every: Option<Duration>,
    pub with_networks: bool,
    pub as_lines: bool,
}

impl Subscribe {
    pub fn wants(&self, record: &Record) -> bool {
        self.kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&record.kind))
    }
}

#[derive(Debug)]
pub(super) enum Request {
    Process,
    /// With so many records.
    Snapshot(Option<usize>),
    Totals,
    Topic(Topic, Question),
    Subscribe(Subscribe),
}

/// The request of a line, or what is wrong with it.
pub(super) fn parse(line: &[u8]) -> Result<Request, String> {
    let known = || {
        let topics = Topic::ALL.map(Topic::name).join(", ");
        format!("process, snapshot, totals, subscribe, {topics}")
    };
    let line: Line = serde_json::from_slice(line).map_err(|error| {
        format!(
            "a request is one line of JSON, {{\"op\": …}} with one of {}: {error}",
            known()
        )
    })?;
    let topic = Topic::ALL.into_iter().find(|topic| topic.name() == line.op);
    Ok(match (line.op.as_str(), topic) {
        ("process", _) => Request::Process,
        ("snapshot", _) => Request::Snapshot(line.records),
        ("totals", _) => Request::Totals,
        ("subscribe", _) => Request::Subscribe(subscribe(line)?),
        (_, Some(Topic::Kernel)) if line.handle.is_none() => {
            return Err("kernel needs the handle of one, as `kernels` lists them".to_owned());
        }
        (_, Some(topic)) => Request::Topic(
            topic,
            Question {
                handle: line.handle,
                size_bytes: line.size_bytes,
            },
        ),
        (unknown, None) => return Err(format!("op is {unknown:?}; known are {}", known())),
    })
}

fn subscribe(line: Line) -> Result<Subscribe, String> {
    let capacity = line.capacity.unwrap_or(USUAL_CAPACITY);
    Ok(Subscribe {
        capacity: capacity.clamp(1, MAX_SUBSCRIPTION_CAPACITY),
        kinds: line.kinds,
        pause: Duration::from_millis(line.interval_ms.unwrap_or(0)).min(LONGEST_PAUSE),
        totals_every: line
            .totals_ms
            .map(|every| Duration::from_millis(every).max(SHORTEST_TOTALS)),
        with_networks: line.networks,
        as_lines: match line.encoding.as_deref() {
            None | Some("frames") => false,
            Some("lines") => true,
            Some(other) => {
                return Err(format!("encoding is {other:?}; known are frames and lines"));
            }
        },
    })
}

/// Who this process is.
pub(super) fn describe() -> Value {
    json!({
        "pid": std::process::id(),
        "version": amdgpu_abi::layout::PACKAGE_VERSION,
        "clock": hub::global().clock_origin(),
    })
}

pub(super) fn envelope(op: &str, answer: &Value) -> String {
    json!({"schema": ATTACH_SCHEMA, "op": op, "answer": answer}).to_string()
}

fn snapshot(records: Option<usize>) -> Result<Value, String> {
    let mut snapshot = hub::global().snapshot();
    if let Some(newest) = records {
        let excess = snapshot.records.len().saturating_sub(newest);
        snapshot.records.drain(..excess);
    }
    serde_json::to_value(snapshot).map_err(|error| error.to_string())
}

/// The line that answers.
pub(super) fn respond(request: &Request) -> String {
    let (op, answer) = match request {
        Request::Process => ("process", Ok(describe())),
        Request::Snapshot(records) => ("snapshot", snapshot(*records)),
        Request::Totals => ("totals", Ok(json!(hub::global().totals()))),
        Request::Topic(topic, question) => (topic.name(), providers::ask(*topic, question)),
        Request::Subscribe(_) => (
            "subscribe",
            Err("only a connection can subscribe".to_owned()),
        ),
    };
    match answer {
        Ok(answer) => envelope(op, &answer),
        Err(reason) => json!({"schema": ATTACH_SCHEMA, "op": op, "error": reason}).to_string(),
    }
}

/// What a client of this process would be answered: for watchers inside of it.
#[must_use]
pub fn answer(line: &str) -> String {
    match parse(line.as_bytes()) {
        Ok(request) => respond(&request),
        Err(reason) => super::session::refusal(&reason).trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(line: &str) -> String {
        let answer: Value = serde_json::from_str(&answer(line)).unwrap();
        assert_eq!(answer["schema"], ATTACH_SCHEMA);
        answer["error"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn what_is_no_request_is_told_what_would_be() {
        for line in [
            "",
            "hello",
            "[1]",
            "{\"op\":7}",
            "{\"op\":\"totals\",\"more\":1}",
        ] {
            assert!(error_of(line).contains("one line of JSON"), "{line}");
        }
        assert!(error_of("{\"op\":\"reboot\"}").contains("known are process"));
        assert!(error_of("{\"op\":\"kernel\"}").contains("handle"));
        let wrong = "{\"op\":\"subscribe\",\"encoding\":\"xml\"}";
        assert!(error_of(wrong).contains("frames and lines"));
        assert!(error_of("{\"op\":\"subscribe\"}").contains("connection"));
    }

    #[test]
    fn the_process_says_who_it_is() {
        let answer: Value = serde_json::from_str(&answer("{\"op\":\"process\"}")).unwrap();
        assert_eq!(answer["answer"]["pid"], std::process::id());
        assert!(answer["answer"]["clock"]["monotonic_ns"].is_u64());
    }

    #[test]
    fn limits_of_a_subscription_are_kept() {
        let line = br#"{"op":"subscribe","capacity":99999999999,"interval_ms":99999,"totals_ms":1,"kinds":["launch"]}"#;
        let Ok(Request::Subscribe(options)) = parse(line) else {
            panic!("a subscription");
        };
        assert_eq!(options.capacity, MAX_SUBSCRIPTION_CAPACITY);
        assert_eq!(options.pause, LONGEST_PAUSE);
        assert_eq!(options.totals_every, Some(SHORTEST_TOTALS));
        assert!(options.wants(&Record::new(Kind::Launch, crate::NameId::UNNAMED)));
        assert!(!options.wants(&Record::new(Kind::Copy, crate::NameId::UNNAMED)));
    }
}
