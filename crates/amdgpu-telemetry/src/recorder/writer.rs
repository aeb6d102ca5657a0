//! Writing a recording.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::RecorderError;
use crate::attach::{Batch, RecordStream};
use crate::frames::{self, FrameKind, NamesDelta};
use crate::hub;
use crate::names::Names;
use crate::record::Record;

/// Version of recordings; the number is raised when an older reader would misread a newer file.
pub const RECORDING_SCHEMA: &str = "amdgpu.recording/1";
/// Bytes that are kept back, so that small batches do not cost a system call each.
const BUFFER_BYTES: usize = 256 << 10;
/// Records of one frame: small enough that a damaged one costs little.
const RECORDS_PER_FRAME: usize = 4096;

/// A recording that grows.
#[derive(Debug)]
pub struct RecordingWriter {
    path: PathBuf,
    file: File,
    waiting: Vec<u8>,
    /// Ends of the waiting frames, and how many records there are up to each.
    ends: Vec<(usize, u64)>,
    written_bytes: u64,
    written_records: u64,
    records: u64,
    names: HashMap<u16, Names>,
}

impl RecordingWriter {
    /// Begin a file; one that is there is replaced.
    ///
    /// # Errors
    ///
    /// It cannot be made or written to.
    pub fn create(path: &Path) -> Result<Self, RecorderError> {
        let file = File::create(path).map_err(|error| RecorderError::Write {
            path: path.display().to_string(),
            reason: error.to_string(),
            kept_bytes: 0,
            kept_records: 0,
        })?;
        let mut writer = Self {
            path: path.to_owned(),
            file,
            waiting: Vec::new(),
            ends: Vec::new(),
            written_bytes: 0,
            written_records: 0,
            records: 0,
            names: HashMap::new(),
        };
        let header = serde_json::json!({
            "schema": RECORDING_SCHEMA,
            "version": amdgpu_abi::layout::PACKAGE_VERSION,
            "clock": hub::global().clock_origin(),
        });
        writer.document(FrameKind::Header, 0, &header.to_string())?;
        writer.flush()?;
        Ok(writer)
    }

    /// Records written or waiting to be.
    #[must_use]
    pub fn records_so_far(&self) -> u64 {
        self.records
    }

    /// Bytes written or waiting to be.
    #[must_use]
    pub fn bytes_so_far(&self) -> u64 {
        self.written_bytes + self.waiting.len() as u64
    }

    /// Add a document.
    ///
    /// # Errors
    ///
    /// The file cannot be written to.
    pub fn document(
        &mut self,
        kind: FrameKind,
        source: u16,
        text: &str,
    ) -> Result<(), RecorderError> {
        frames::append(&mut self.waiting, kind, source, &[text.as_bytes()]);
        self.frame_ends()
    }

    /// Add records of a source, whose names are `names`.
    ///
    /// # Errors
    ///
    /// The file cannot be written to.
    pub fn records(
        &mut self,
        source: u16,
        names: &Names,
        lost: u64,
        records: &[Record],
    ) -> Result<(), RecorderError> {
        if records.is_empty() {
            return Ok(());
        }
        let known = self.names.entry(source).or_default();
        let first = known.names.len().min(names.names.len());
        let delta = NamesDelta {
            first: first as u32,
            names: names.names[first..].to_vec(),
            threads: (names.threads != known.threads).then(|| names.threads.clone()),
            devices: (names.devices != known.devices).then(|| names.devices.clone()),
        };
        if !delta.is_empty() {
            delta.clone().apply(known);
            let text = serde_json::to_string(&delta).unwrap_or_default();
            self.document(FrameKind::Names, source, &text)?;
        }
        for part in records.chunks(RECORDS_PER_FRAME) {
            self.records += part.len() as u64;
            frames::append_records(&mut self.waiting, source, lost, part);
            self.frame_ends()?;
        }
        Ok(())
    }

    /// Add what came from a stream.
    ///
    /// # Errors
    ///
    /// The file cannot be written to.
    pub fn batch(
        &mut self,
        source: u16,
        stream: &RecordStream,
        batch: &Batch,
    ) -> Result<(), RecorderError> {
        self.records(source, stream.names(), stream.dropped(), &batch.records)?;
        for (kind, text) in &batch.documents {
            self.document(*kind, source, text)?;
        }
        Ok(())
    }

    fn frame_ends(&mut self) -> Result<(), RecorderError> {
        self.ends.push((self.waiting.len(), self.records));
        if self.waiting.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Write what waits.
    ///
    /// # Errors
    ///
    /// The file cannot be written to. It is cut behind its last whole frame; later calls try again with what comes then.
    pub fn flush(&mut self) -> Result<(), RecorderError> {
        let mut done = 0;
        let outcome = loop {
            if done == self.waiting.len() {
                break Ok(());
            }
            match self.file.write(&self.waiting[done..]) {
                Ok(0) => break Err(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        let whole = self
            .ends
            .iter()
            .rev()
            .find(|(end, _)| *end <= done)
            .copied();
        if let Some((end, records)) = whole {
            self.written_bytes += end as u64;
            self.written_records = records;
        }
        self.waiting.clear();
        self.ends.clear();
        self.records = self.written_records;
        outcome.map_err(|error| {
            // A file system that refuses this too leaves a frame that ends early, which readers pass over.
            let _ = self.file.set_len(self.written_bytes);
            let _ = self.file.seek(SeekFrom::Start(self.written_bytes));
            // Those that were not written have to come again.
            self.names.clear();
            RecorderError::Write {
                path: self.path.display().to_string(),
                reason: error.to_string(),
                kept_bytes: self.written_bytes,
                kept_records: self.written_records,
            }
        })
    }

    /// Write the last frame. Returns the number of records.
    ///
    /// # Errors
    ///
    /// The file cannot be written to.
    pub fn finish(mut self) -> Result<u64, RecorderError> {
        let text = serde_json::json!({ "records": self.records }).to_string();
        self.document(FrameKind::End, 0, &text)?;
        self.flush()?;
        Ok(self.records)
    }
}
