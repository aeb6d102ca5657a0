//! The unit of the bus: one fact, 64 bytes, no pointers.

use std::borrow::Cow;

use amdgpu_abi::Language;
use serde::{Deserialize, Serialize};

use crate::names::NameId;

/// What a record tells. The meaning of `value` and `detail` depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// A user's annotation. `value`, `detail`: the user's.
    Marker,
    /// A kernel ran. `value`: work-items; `detail`: work-groups, the kernel's id.
    Launch,
    /// A source was compiled. `value`: bytes of source; `detail`: bytes of code.
    Compile,
    /// One compiler pass. `value`: transformations made.
    Pass,
    /// The kernel cache was asked. `value`: 0 miss, 1 memory, 2 disk.
    CacheRequest,
    /// Memory was handed out. `value`: bytes; `detail`: address.
    Allocate,
    /// Memory was given back. `value`: bytes; `detail`: address.
    Free,
    /// Bytes were copied. `value`: bytes; `detail`: 0 host to device, 1 device to host, 2 device to device.
    Copy,
    /// Memory was filled. `value`: bytes.
    Fill,
    /// Another implementation than the preferred one ran. `detail`: name id of the reason.
    Fallback,
    /// A call crossed from one language into another.
    Boundary,
    /// An error was reported to the user. `value`: its code in the catalogue.
    Error,
    /// The dispatcher chose an implementation. `value`: 1 if a fallback was taken.
    Dispatch,
    /// A network took a step. `value`: spikes or samples.
    NetworkStep,
    /// A stream was waited for.
    Synchronize,
    /// A network has learnt from its samples once. `value`: samples; `detail`: loss and accuracy as bits of float64, NaN where there is none.
    NeuralUpdate,
}

impl Kind {
    /// Every kind, indexed by its number.
    pub const ALL: [Self; 16] = [
        Self::Marker,
        Self::Launch,
        Self::Compile,
        Self::Pass,
        Self::CacheRequest,
        Self::Allocate,
        Self::Free,
        Self::Copy,
        Self::Fill,
        Self::Fallback,
        Self::Boundary,
        Self::Error,
        Self::Dispatch,
        Self::NetworkStep,
        Self::Synchronize,
        Self::NeuralUpdate,
    ];

    /// Stable name, as in the JSON exports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Marker => "marker",
            Self::Launch => "launch",
            Self::Compile => "compile",
            Self::Pass => "pass",
            Self::CacheRequest => "cache_request",
            Self::Allocate => "allocate",
            Self::Free => "free",
            Self::Copy => "copy",
            Self::Fill => "fill",
            Self::Fallback => "fallback",
            Self::Boundary => "boundary",
            Self::Error => "error",
            Self::Dispatch => "dispatch",
            Self::NetworkStep => "network_step",
            Self::Synchronize => "synchronize",
            Self::NeuralUpdate => "neural_update",
        }
    }

    /// Whether the work happened on a device's stream rather than on the thread that reports it.
    #[must_use]
    pub const fn runs_on_device(self) -> bool {
        matches!(self, Self::Launch | Self::Copy | Self::Fill)
    }
}

/// Which core a record belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Core {
    #[default]
    None,
    Aura,
    Matrix,
    Neuromorphic,
    Math,
}

impl Core {
    /// Every core, indexed by its number.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Aura,
        Self::Matrix,
        Self::Neuromorphic,
        Self::Math,
    ];

    /// Stable name, as in the `core` label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Aura => "aura",
            Self::Matrix => "matrix",
            Self::Neuromorphic => "neuromorphic",
            Self::Math => "math",
        }
    }
}

/// Code of a language in a record; 0 is "no language".
const fn language_code(language: Language) -> u8 {
    language as u8 + 1
}

fn language_from_code(code: u8) -> Option<Language> {
    Language::ALL
        .get(usize::from(code).checked_sub(1)?)
        .copied()
}

/// One fact on the bus.
///
/// Built with [`Record::new`] and the chaining setters; `thread` is filled by [`crate::emit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Readable", into = "Readable")]
#[repr(C)]
pub struct Record {
    pub kind: Kind,
    pub core: Core,
    from_code: u8,
    to_code: u8,
    /// Index in `list_devices()`, or [`Record::NO_DEVICE`].
    pub device: u16,
    /// Free for the producer.
    pub flags: u16,
    pub name: NameId,
    /// The operating system's id of the thread that emitted the record.
    pub thread: u32,
    /// Number of the stream on its device, or [`Record::NO_STREAM`].
    pub stream: u32,
    /// Of the launch, compile … that this record belongs to; 0 if none.
    pub correlation: u32,
    /// Monotonic time, see [`crate::now_ns`].
    pub start_ns: u64,
    pub duration_ns: u64,
    pub value: u64,
    pub detail: [u64; 2],
}

/// A record as the rings carry it.
pub(crate) type Words = [u64; WORDS];
pub(crate) const WORDS: usize = 8;

const _: () = assert!(size_of::<Record>() == 64 && size_of::<Record>() == size_of::<Words>());

impl Record {
    /// `device` of a record that belongs to none.
    pub const NO_DEVICE: u16 = u16::MAX;
    /// `stream` of a record that belongs to none.
    pub const NO_STREAM: u32 = u32::MAX;

    /// A record of `kind` about `name`, with everything else absent or zero.
    #[must_use]
    pub const fn new(kind: Kind, name: NameId) -> Self {
        Self {
            kind,
            core: Core::None,
            from_code: 0,
            to_code: 0,
            device: Self::NO_DEVICE,
            flags: 0,
            name,
            thread: 0,
            stream: Self::NO_STREAM,
            correlation: 0,
            start_ns: 0,
            duration_ns: 0,
            value: 0,
            detail: [0; 2],
        }
    }

    #[must_use]
    pub const fn core(mut self, core: Core) -> Self {
        self.core = core;
        self
    }

    /// The language that did the work.
    #[must_use]
    pub const fn language(mut self, language: Language) -> Self {
        self.to_code = language_code(language);
        self
    }

    /// The languages of a boundary: caller, callee.
    #[must_use]
    pub const fn languages(mut self, from: Language, to: Language) -> Self {
        self.from_code = language_code(from);
        self.to_code = language_code(to);
        self
    }

    #[must_use]
    pub const fn device(mut self, device: u16) -> Self {
        self.device = device;
        self
    }

    #[must_use]
    pub const fn stream(mut self, stream: u32) -> Self {
        self.stream = stream;
        self
    }

    #[must_use]
    pub const fn at(mut self, start_ns: u64, duration_ns: u64) -> Self {
        self.start_ns = start_ns;
        self.duration_ns = duration_ns;
        self
    }

    #[must_use]
    pub const fn value(mut self, value: u64) -> Self {
        self.value = value;
        self
    }

    #[must_use]
    pub const fn detail(mut self, first: u64, second: u64) -> Self {
        self.detail = [first, second];
        self
    }

    /// The calling language of a boundary.
    #[must_use]
    pub fn from_language(&self) -> Option<Language> {
        language_from_code(self.from_code)
    }

    /// The language that did the work; the called one of a boundary.
    #[must_use]
    pub fn to_language(&self) -> Option<Language> {
        language_from_code(self.to_code)
    }

    /// When the fact was complete.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    pub(crate) const fn to_words(self) -> Words {
        [
            self.kind as u64
                | (self.core as u64) << 8
                | (self.from_code as u64) << 16
                | (self.to_code as u64) << 24
                | (self.device as u64) << 32
                | (self.flags as u64) << 48,
            self.name.number() as u64 | (self.thread as u64) << 32,
            self.stream as u64 | (self.correlation as u64) << 32,
            self.start_ns,
            self.duration_ns,
            self.value,
            self.detail[0],
            self.detail[1],
        ]
    }

    /// `None` for words that no record has.
    pub(crate) fn from_words(words: &Words) -> Option<Self> {
        let head = words[0];
        Some(Self {
            kind: *Kind::ALL.get((head & 0xff) as usize)?,
            core: *Core::ALL.get((head >> 8 & 0xff) as usize)?,
            from_code: (head >> 16 & 0xff) as u8,
            to_code: (head >> 24 & 0xff) as u8,
            device: (head >> 32 & 0xffff) as u16,
            flags: (head >> 48) as u16,
            name: NameId::from_number(words[1] as u32),
            thread: (words[1] >> 32) as u32,
            stream: words[2] as u32,
            correlation: (words[2] >> 32) as u32,
            start_ns: words[3],
            duration_ns: words[4],
            value: words[5],
            detail: [words[6], words[7]],
        })
    }
}

/// A record as JSON shows it: words for codes, `null` for what is absent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Readable {
    kind: Kind,
    core: Core,
    from: Option<Cow<'static, str>>,
    to: Option<Cow<'static, str>>,
    device: Option<u16>,
    stream: Option<u32>,
    flags: u16,
    #[serde(rename = "name_id")]
    name: NameId,
    thread: u32,
    correlation: u32,
    start_ns: u64,
    duration_ns: u64,
    value: u64,
    detail: [u64; 2],
}

impl From<Record> for Readable {
    fn from(record: Record) -> Self {
        Self {
            kind: record.kind,
            core: record.core,
            from: record
                .from_language()
                .map(|language| language.name().into()),
            to: record.to_language().map(|language| language.name().into()),
            device: (record.device != Record::NO_DEVICE).then_some(record.device),
            stream: (record.stream != Record::NO_STREAM).then_some(record.stream),
            flags: record.flags,
            name: record.name,
            thread: record.thread,
            correlation: record.correlation,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            value: record.value,
            detail: record.detail,
        }
    }
}

impl From<Readable> for Record {
    /// A language that this build does not know reads as absent.
    fn from(readable: Readable) -> Self {
        let code = |name: &Option<Cow<'static, str>>| {
            let name = name.as_deref()?;
            Language::ALL
                .into_iter()
                .find(|language| language.name() == name)
                .map(language_code)
        };
        Self {
            kind: readable.kind,
            core: readable.core,
            from_code: code(&readable.from).unwrap_or(0),
            to_code: code(&readable.to).unwrap_or(0),
            device: readable.device.unwrap_or(Record::NO_DEVICE),
            flags: readable.flags,
            name: readable.name,
            thread: readable.thread,
            stream: readable.stream.unwrap_or(Record::NO_STREAM),
            correlation: readable.correlation,
            start_ns: readable.start_ns,
            duration_ns: readable.duration_ns,
            value: readable.value,
            detail: readable.detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_indexed_by_their_numbers() {
        for (number, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, number);
        }
        for (number, core) in Core::ALL.iter().enumerate() {
            assert_eq!(*core as usize, number);
        }
        for language in Language::ALL {
            assert_eq!(language_from_code(language_code(language)), Some(language));
        }
        assert_eq!(language_from_code(0), None);
        assert_eq!(language_from_code(Language::ALL.len() as u8 + 1), None);
    }

    #[test]
    fn json_names_are_the_stable_names() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        for core in Core::ALL {
            assert_eq!(serde_json::to_value(core).unwrap(), core.name());
        }
    }

    #[test]
    fn words_that_no_record_has_are_refused() {
        let mut words = Record::new(Kind::Marker, NameId::UNNAMED).to_words();
        words[0] = 0xff;
        assert_eq!(Record::from_words(&words), None);
        words[0] = 0xff00;
        assert_eq!(Record::from_words(&words), None);
    }

    proptest::proptest! {
        #[test]
        fn a_record_survives_the_ring_and_json(
            kind in 0..Kind::ALL.len(), core in 0..Core::ALL.len(), device: u16, flags: u16, name: u32, thread: u32,
            stream: u32, correlation: u32, times: (u64, u64), value: u64, detail: [u64; 2], languages in (0..6usize, 0..6usize),
        ) {
            let mut record = Record::new(Kind::ALL[kind], NameId::from_number(name))
                .core(Core::ALL[core])
                .languages(Language::ALL[languages.0], Language::ALL[languages.1])
                .device(device)
                .stream(stream)
                .at(times.0, times.1)
                .value(value)
                .detail(detail[0], detail[1]);
            record.flags = flags;
            record.thread = thread;
            record.correlation = correlation;
            proptest::prop_assert_eq!(Record::from_words(&record.to_words()), Some(record));
            let json = serde_json::to_string(&record).unwrap();
            proptest::prop_assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
        }
    }
}
