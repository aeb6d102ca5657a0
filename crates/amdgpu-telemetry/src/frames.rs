//! Frames: what subscribers are sent through a socket, and what recordings on disk are made of.
//!
//! A frame is a header of 16 bytes and a payload: `u32 magic, u32 payload bytes, u32 CRC-32 of all that follows, u8 kind, u8 0,
//! u16 source`, little endian. `source` numbers the processes of one recording. Readers skip kinds that they do not know, so kinds may be
//! added. A reader that meets damage looks for the next magic whose frame is whole.

use crc32fast::hash as crc32;

use crate::names::{NameId, Names};
use crate::record::{Record, WORDS};

/// `AGF1`: raised with the layout of the header.
const MAGIC: u32 = u32::from_le_bytes(*b"AGF1");
const HEADER_BYTES: usize = 16;
/// Largest payload: sixteen times the largest batch of records. What claims more is damage.
pub const MAX_FRAME_BYTES: usize = 64 << 20;
const RECORD_BYTES: usize = WORDS * 8;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// JSON: schema and clock of a recording; its first frame.
    Header = 1,
    /// JSON: names that were not sent before, see [`NamesDelta`].
    Names = 2,
    /// `u64` records lost so far, then records of 64 bytes.
    Records = 3,
    /// JSON: values of sensors at one moment.
    Readings = 4,
    /// JSON: a snapshot of the bus.
    Snapshot = 5,
    /// JSON: sums since the process began, see [`crate::Totals`].
    Totals = 6,
    /// JSON: spiking and layered networks.
    Networks = 7,
    /// JSON: who a source is.
    Process = 8,
    /// JSON: counts, the last frame of a recording that was ended properly.
    End = 9,
}

impl FrameKind {
    const ALL: [Self; 9] = [
        Self::Header,
        Self::Names,
        Self::Records,
        Self::Readings,
        Self::Snapshot,
        Self::Totals,
        Self::Networks,
        Self::Process,
        Self::End,
    ];

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == code)
    }

    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Names => "names",
            Self::Records => "records",
            Self::Readings => "readings",
            Self::Snapshot => "snapshot",
            Self::Totals => "totals",
            Self::Networks => "networks",
            Self::Process => "process",
            Self::End => "end",
        }
    }

    /// The kind of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A frame as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// `None`: of a later version.
    pub kind: Option<FrameKind>,
    pub source: u16,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The records of a [`FrameKind::Records`] frame, and how many were lost so far. Words that no record has are left out.
    #[must_use]
    pub fn records(&self) -> (u64, Vec<Record>) {
        let Some((lost, rest)) = self.payload.split_first_chunk::<8>() else {
            return (0, Vec::new());
        };
        let records = rest.chunks_exact(RECORD_BYTES).filter_map(|chunk| {
            let mut words = [0; WORDS];
            for (word, bytes) in words.iter_mut().zip(chunk.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            Record::from_words(&words)
        });
        (u64::from_le_bytes(*lost), records.collect())
    }

    /// The payload as text; empty if it is none.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.payload).unwrap_or_default()
    }
}

/// Append a frame to `out`.
pub fn append(out: &mut Vec<u8>, kind: FrameKind, source: u16, payload: &[&[u8]]) {
    let start = out.len();
    let bytes: usize = payload.iter().map(|part| part.len()).sum();
    out.extend(MAGIC.to_le_bytes());
    out.extend((bytes as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend([kind as u8, 0]);
    out.extend(source.to_le_bytes());
    for part in payload {
        out.extend(*part);
    }
    let sum = crc32(&out[start + 12..]);
    out[start + 8..start + 12].copy_from_slice(&sum.to_le_bytes());
}

/// Append a frame of records.
pub fn append_records(out: &mut Vec<u8>, source: u16, lost: u64, records: &[Record]) {
    let mut bytes = Vec::with_capacity(records.len() * RECORD_BYTES);
    for record in records {
        record
            .to_words()
            .iter()
            .for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    append(
        out,
        FrameKind::Records,
        source,
        &[&lost.to_le_bytes(), &bytes],
    );
}

/// Bytes that do not belong to a whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, counted from the first byte that was ever given.
    pub offset: u64,
    pub bytes: u64,
}

/// Cuts a stream of bytes into frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    waiting: Vec<u8>,
    /// Of the first waiting byte.
    begin: usize,
    offset: u64,
}

enum Look {
    Whole(usize),
    /// More bytes are needed to tell.
    Short,
    Broken,
}

impl FrameReader {
    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.begin > 0 {
            self.waiting.drain(..self.begin);
            self.begin = 0;
        }
        self.waiting.extend(bytes);
    }

    /// Bytes that are no whole frame yet.
    #[must_use]
    pub fn unread_bytes(&self) -> u64 {
        (self.waiting.len() - self.begin) as u64
    }

    fn look(bytes: &[u8]) -> Look {
        let Some((head, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            let magic = MAGIC.to_le_bytes();
            let known = bytes.len().min(magic.len());
            return if bytes[..known] == magic[..known] {
                Look::Short
            } else {
                Look::Broken
            };
        };
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let len = number(4) as usize;
        if number(0) != MAGIC || len > MAX_FRAME_BYTES {
            return Look::Broken;
        }
        if rest.len() < len {
            return Look::Short;
        }
        if crc32(&bytes[12..HEADER_BYTES + len]) != number(8) {
            return Look::Broken;
        }
        Look::Whole(len)
    }

    fn take(&mut self, len: usize) -> Frame {
        let bytes = &self.waiting[self.begin..][..HEADER_BYTES + len];
        let frame = Frame {
            kind: FrameKind::from_code(bytes[12]),
            source: u16::from_le_bytes([bytes[14], bytes[15]]),
            payload: bytes[HEADER_BYTES..].to_vec(),
        };
        self.skip(HEADER_BYTES + len);
        frame
    }

    fn skip(&mut self, bytes: usize) {
        self.begin += bytes;
        self.offset += bytes as u64;
    }

    /// The next whole frame; `None` when more bytes are needed. After an error the next call goes on behind the damage.
    ///
    /// # Errors
    ///
    /// Bytes that are no frame.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Damage> {
        match Self::look(&self.waiting[self.begin..]) {
            Look::Whole(len) => Ok(Some(self.take(len))),
            Look::Short => Ok(None),
            Look::Broken => Err(self.skip_damage()),
        }
    }

    /// Goes to the next place where a frame may begin.
    fn skip_damage(&mut self) -> Damage {
        let offset = self.offset;
        let bytes = &self.waiting[self.begin..];
        let magic = MAGIC.to_le_bytes();
        let next = (1..bytes.len()).find(|at| {
            bytes[*at] == magic[0] && !matches!(Self::look(&bytes[*at..]), Look::Broken)
        });
        let skipped = next.unwrap_or(bytes.len());
        self.skip(skipped);
        Damage {
            offset,
            bytes: skipped as u64,
        }
    }

    /// At the end of a file: a frame that claims more bytes than there are hides no whole one behind it. Returns the next whole frame,
    /// and what was passed over on the way.
    pub fn next_at_end(&mut self) -> (Option<Frame>, Option<Damage>) {
        let offset = self.offset;
        let mut passed = 0;
        while self.unread_bytes() > 0 {
            match Self::look(&self.waiting[self.begin..]) {
                Look::Whole(len) => {
                    let damage = (passed > 0).then_some(Damage {
                        offset,
                        bytes: passed,
                    });
                    return (Some(self.take(len)), damage);
                }
                Look::Short => {
                    self.skip(1);
                    passed += 1;
                }
                Look::Broken => passed += self.skip_damage().bytes,
            }
        }
        let damage = (passed > 0).then_some(Damage {
            offset,
            bytes: passed,
        });
        (None, damage)
    }
}

/// Names that a reader does not have yet.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct NamesDelta {
    /// Number of the first of `names`.
    pub first: u32,
    pub names: Vec<std::sync::Arc<str>>,
    /// All threads and devices, where one of them is new.
    pub threads: Option<Vec<(u32, String)>>,
    pub devices: Option<Vec<String>>,
}

impl NamesDelta {
    /// Whether it says nothing new.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.threads.is_none() && self.devices.is_none()
    }

    /// Add it to what is known. Numbers that leave a gap are filled with empty names: the text of a lost frame is unknown.
    pub fn apply(self, known: &mut Names) {
        let first = self.first as usize;
        if known.names.len() < first && first <= crate::MAX_NAMES {
            known.names.resize_with(first, || std::sync::Arc::from(""));
        }
        for (number, name) in (first..).zip(self.names) {
            if number < known.names.len() {
                known.names[number] = name;
            } else if number < crate::MAX_NAMES {
                known.names.push(name);
            }
        }
        if let Some(threads) = self.threads {
            known.threads = threads;
        }
        if let Some(devices) = self.devices {
            known.devices = devices;
        }
    }

    /// Whether a record mentions a name, thread or device that `known` does not have.
    #[must_use]
    pub(crate) fn is_needed(record: &Record, known: &Names) -> bool {
        let number = record.name.number();
        let device_is_unknown = record.device != Record::NO_DEVICE
            && known
                .devices
                .get(usize::from(record.device))
                .is_none_or(String::is_empty);
        number as usize >= known.names.len()
            || device_is_unknown
            || record.kind == crate::Kind::Fallback
                && NameId::from_number(record.detail[0] as u32).number() as usize
                    >= known.names.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;

    #[test]
    fn checksums_are_those_of_ieee_802_3() {
        // The check value of the standard.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    fn record(value: u64) -> Record {
        Record::new(Kind::Launch, NameId::from_number(3))
            .at(value * 10, 5)
            .value(value)
    }

    fn frames_of(reader: &mut FrameReader) -> (Vec<Frame>, u64) {
        let (mut frames, mut damaged) = (Vec::new(), 0);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => return (frames, damaged),
                Err(damage) => damaged += damage.bytes,
            }
        }
    }

    fn three() -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        append(&mut bytes, FrameKind::Header, 0, &[b"{\"a\"", b":1}"]);
        ends.push(bytes.len());
        append_records(&mut bytes, 2, 7, &[record(1), record(2)]);
        ends.push(bytes.len());
        append(&mut bytes, FrameKind::End, 0, &[]);
        ends.push(bytes.len());
        (bytes, ends)
    }

    #[test]
    fn frames_come_back_byte_by_byte() {
        let (bytes, _) = three();
        let mut reader = FrameReader::default();
        let mut frames = Vec::new();
        for byte in bytes {
            reader.push(&[byte]);
            frames.extend(frames_of(&mut reader).0);
        }
        assert_eq!(frames.len(), 3);
        assert_eq!(frames[0].text(), "{\"a\":1}");
        assert_eq!(
            (frames[1].source, frames[1].records()),
            (2, (7, vec![record(1), record(2)]))
        );
        assert_eq!(frames[2].kind, Some(FrameKind::End));
        assert_eq!(reader.unread_bytes(), 0);
    }

    #[test]
    fn a_frame_that_ends_early_hides_none_behind_it() {
        let (bytes, ends) = three();
        let mut reader = FrameReader::default();
        // The first frame lost its last bytes.
        reader.push(&bytes[..ends[0] - 3]);
        reader.push(&bytes[ends[0]..]);
        let mut found = Vec::new();
        let mut passed = 0;
        loop {
            let (frame, damage) = reader.next_at_end();
            passed += damage.map_or(0, |damage| damage.bytes);
            match frame {
                Some(frame) => found.push(frame.kind),
                None => break,
            }
        }
        assert_eq!(found, [Some(FrameKind::Records), Some(FrameKind::End)]);
        assert_eq!(passed, ends[0] as u64 - 3);
    }

    #[test]
    fn kinds_of_later_versions_are_passed_on_unnamed() {
        let mut bytes = Vec::new();
        append(&mut bytes, FrameKind::End, 0, &[b"later"]);
        bytes[12] = 200;
        let sum = crc32(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        let mut reader = FrameReader::default();
        reader.push(&bytes);
        let frame = reader.next_frame().unwrap().unwrap();
        assert_eq!((frame.kind, frame.text()), (None, "later"));
    }

    #[test]
    fn names_are_added_and_gaps_filled() {
        let mut known = Names::default();
        let delta = |first, names: &[&str]| NamesDelta {
            first,
            names: names.iter().map(|name| (*name).into()).collect(),
            threads: None,
            devices: Some(vec!["cpu:0".to_owned()]),
        };
        delta(0, &["", "other"]).apply(&mut known);
        delta(3, &["late"]).apply(&mut known);
        assert_eq!(
            known.names.iter().map(|name| &**name).collect::<Vec<_>>(),
            ["", "other", "", "late"]
        );
        delta(u32::MAX, &["far"]).apply(&mut known);
        assert_eq!(known.names.len(), 4);
        assert_eq!(known.device(0), "cpu:0");
    }

    proptest::proptest! {
        #[test]
        fn one_damaged_byte_costs_at_most_its_frame(at in 0..300usize, value in 1..=255u8) {
            let (mut bytes, ends) = three();
            let at = at % bytes.len();
            bytes[at] ^= value;
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            let mut found = 0;
            loop {
                let (frame, _) = reader.next_at_end();
                if frame.is_none() {
                    break;
                }
                found += 1;
            }
            // The two other frames are whole; a damaged kind or source is caught by the sum too.
            proptest::prop_assert_eq!(found, 2, "of {:?}", ends);
        }

        #[test]
        fn any_bytes_end_in_frames_or_damage(bytes: Vec<u8>) {
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            let (frames, damaged) = frames_of(&mut reader);
            let used: u64 = frames.iter().map(|frame| (frame.payload.len() + HEADER_BYTES) as u64).sum();
            proptest::prop_assert_eq!(used + damaged + reader.unread_bytes(), bytes.len() as u64);
        }
    }
}
