//! Reading a recording back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::RecorderError;
use super::writer::RECORDING_SCHEMA;
use crate::clock::ClockOrigin;
use crate::export;
use crate::frames::{Damage, Frame, FrameKind, FrameReader, NamesDelta};
use crate::names::Names;
use crate::record::Record;

/// Records of one file that are read: 1 GiB of them. A longer recording is read up to there, and that is said.
pub const MAX_RECORDS: usize = 1 << 24;
const CHUNK_BYTES: usize = 1 << 20;

/// One process of a recording.
#[derive(Clone, Debug, Default)]
pub struct RecordedSource {
    /// Who it is, as JSON.
    pub process: Option<String>,
    pub names: Names,
    /// In the order of time.
    pub records: Vec<Record>,
    /// Records that the recorder was too slow for.
    pub lost: u64,
}

/// What could be read.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Nothing where the first frame is damaged.
    pub header: Option<String>,
    pub clock: Option<ClockOrigin>,
    pub sources: BTreeMap<u16, RecordedSource>,
    /// All other frames, in the order of the file.
    pub documents: Vec<(FrameKind, u16, String)>,
    /// What could not be read, in a sentence.
    pub damage: Option<String>,
    /// Whether it was ended properly.
    pub is_complete: bool,
}

#[derive(Default)]
struct Building {
    recording: Recording,
    frames: u64,
    records: usize,
    first_damage: Option<Damage>,
    damaged_bytes: u64,
    version: Option<String>,
}

impl Building {
    fn damaged(&mut self, damage: Damage) {
        self.damaged_bytes += damage.bytes;
        self.first_damage.get_or_insert(damage);
    }

    fn take(&mut self, frame: &Frame) {
        self.frames += 1;
        let text = || frame.text().to_owned();
        let recording = &mut self.recording;
        match frame.kind {
            Some(FrameKind::Header) => {
                let header: Value = serde_json::from_str(frame.text()).unwrap_or_default();
                self.version = header["schema"].as_str().map(str::to_owned);
                recording.clock = serde_json::from_value(header["clock"].clone()).ok();
                recording.header = Some(text());
            }
            Some(FrameKind::Names) => {
                if let Ok(delta) = serde_json::from_str::<NamesDelta>(frame.text()) {
                    let source = recording.sources.entry(frame.source).or_default();
                    delta.apply(&mut source.names);
                }
            }
            Some(FrameKind::Records) => {
                let (lost, records) = frame.records();
                let source = recording.sources.entry(frame.source).or_default();
                source.lost = source.lost.max(lost);
                let room = MAX_RECORDS.saturating_sub(self.records);
                self.records += records.len();
                source.records.extend(records.into_iter().take(room));
            }
            Some(FrameKind::Process) => {
                recording.sources.entry(frame.source).or_default().process = Some(text());
            }
            Some(FrameKind::End) => recording.is_complete = true,
            Some(kind) => recording.documents.push((kind, frame.source, text())),
            None => {}
        }
    }

    fn finish(mut self, path: &str) -> Result<Recording, RecorderError> {
        let no_recording = |reason: String| RecorderError::NoRecording {
            path: path.to_owned(),
            reason,
        };
        if self.frames == 0 {
            return Err(no_recording("it has no whole frame".to_owned()));
        }
        if let Some(version) = self
            .version
            .as_deref()
            .filter(|version| *version != RECORDING_SCHEMA)
        {
            return Err(no_recording(format!(
                "its schema is {version}; this version reads {RECORDING_SCHEMA}"
            )));
        }
        for source in self.recording.sources.values_mut() {
            source.records.sort_by_key(|record| record.start_ns);
        }
        let mut remarks = Vec::new();
        if let Some(damage) = self.first_damage {
            remarks.push(format!(
                "{} bytes are damaged, the first at {}; everything else was read",
                self.damaged_bytes, damage.offset
            ));
        }
        if !self.recording.is_complete {
            remarks.push(
                "it was not ended properly: the recorder was killed, or the file is cut".to_owned(),
            );
        }
        if self.records > MAX_RECORDS {
            remarks.push(format!(
                "only the first {MAX_RECORDS} of {} records were read",
                self.records
            ));
        }
        self.recording.damage = (!remarks.is_empty()).then(|| remarks.join("; "));
        Ok(self.recording)
    }
}

/// Everything in a recording that can be read.
///
/// # Errors
///
/// The file cannot be opened or read, is none of ours, or of a later version.
pub fn read_recording(path: &Path) -> Result<Recording, RecorderError> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| RecorderError::Read {
        path: name.clone(),
        reason: error.to_string(),
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut building = Building::default();
    let mut reader = FrameReader::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = file.read(&mut chunk).map_err(failed)?;
        if count == 0 {
            break;
        }
        reader.push(&chunk[..count]);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => building.take(&frame),
                Ok(None) => break,
                Err(damage) => building.damaged(damage),
            }
        }
    }
    loop {
        let (frame, damage) = reader.next_at_end();
        if let Some(damage) = damage {
            building.damaged(damage);
        }
        match frame {
            Some(frame) => building.take(&frame),
            None => break,
        }
    }
    building.finish(&name)
}

impl Recording {
    /// Records of a source as lines of JSON, see [`export::ndjson_of`].
    #[must_use]
    pub fn lines(&self, source: u16, first: usize, count: usize) -> String {
        let Some(found) = self.sources.get(&source) else {
            return String::new();
        };
        let end = first.saturating_add(count).min(found.records.len());
        let records = found.records.get(first..end).unwrap_or_default();
        let clock = self.clock.unwrap_or(ClockOrigin {
            monotonic_ns: 0,
            unix_ns: 0,
        });
        let process: Value = found
            .process
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let pid = process["pid"].as_u64().unwrap_or_default() as u32;
        export::ndjson_of(pid, records, &found.names, &clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{append, append_records};
    use crate::{Kind, NameId};

    /// Frames of records of one source, each with what was lost up to then.
    fn read(name: &str, frames: &[(u16, u64)]) -> Recording {
        let mut bytes = Vec::new();
        let header = format!("{{\"schema\": \"{RECORDING_SCHEMA}\"}}");
        append(&mut bytes, FrameKind::Header, 0, &[header.as_bytes()]);
        for (time, (source, lost)) in (1..).zip(frames) {
            let record = Record::new(Kind::Marker, NameId::UNNAMED).at(time, 0);
            append_records(&mut bytes, *source, *lost, &[record]);
        }
        append(&mut bytes, FrameKind::End, 0, &[b"{}"]);
        let path = std::env::temp_dir().join(format!("agpu-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let recording = read_recording(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        recording
    }

    #[test]
    fn frames_say_what_was_lost_so_far() {
        let recording = read("lost", &[(0, 2), (1, 40), (0, 5), (0, 5)]);
        let lost = |source: u16| recording.sources[&source].lost;
        assert_eq!((lost(0), lost(1)), (5, 40));
        assert_eq!(recording.sources[&0].records.len(), 3);
        // A source that began anew counts from zero; what is known of before stays.
        assert_eq!(read("anew", &[(0, 5), (0, 3)]).sources[&0].lost, 5);
    }
}
