//! Which sections the code object has, in which order, at which addresses.

use super::error::LinkError;
use super::object::{
    FLAG_ALLOCATE, FLAG_EXECUTE, FLAG_WRITE, HEADER_BYTES, Object, PAGE_BYTES, Place,
    RELOCATION_BYTES, SECTION_DYNAMIC, SECTION_DYNAMIC_SYMBOLS, SECTION_GNU_HASH, SECTION_HASH,
    SECTION_NO_BITS, SECTION_NOTE, SECTION_PROGRAM_BITS, SECTION_RELOCATIONS_ADDEND,
    SECTION_STRINGS, SYMBOL_BYTES, Section, Symbol,
};
use super::plan::{DynamicRecord, Plan};
use super::symbols::{self, DynamicSymbols};

pub const PROGRAM_HEADER_BYTES: usize = 56;
const TABLE_ENTRY_BYTES: u64 = 8;
/// Sections of the linker's own making.
const GENERATED: [&str; 7] = [
    ".dynsym",
    ".gnu.hash",
    ".hash",
    ".dynstr",
    ".rela.dyn",
    ".dynamic",
    ".got",
];

/// Loadable segments, in the order of their addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Segment {
    ReadOnly,
    Code,
    /// Written by the loader only.
    Relocated,
    Data,
}

impl Segment {
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Code, Self::Relocated, Self::Data];
}

/// A section of the code object.
#[derive(Debug)]
pub struct OutputSection {
    pub name: String,
    pub kind: u32,
    pub flags: u64,
    pub align_bytes: u64,
    pub entry_bytes: u64,
    /// Name of the section that `sh_link` points at.
    pub link: Option<&'static str>,
    pub info: u32,
    pub segment: Segment,
    pub address: u64,
    pub offset: u64,
    pub size_bytes: u64,
    /// Empty for zeroed data.
    pub data: Vec<u8>,
}

/// Memory from `begin` to `end` and the bytes of the file it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub offset: u64,
    pub address: u64,
    pub file_bytes: u64,
    pub memory_bytes: u64,
}

/// All sections with their addresses.
#[derive(Debug)]
pub struct Layout {
    pub sections: Vec<OutputSection>,
    /// For each section of the object: output section and offset in it.
    places: Vec<Option<(usize, u64)>>,
}

impl Layout {
    pub fn new(
        object: &Object<'_>,
        symbols: &DynamicSymbols,
        plan: &Plan,
    ) -> Result<Self, LinkError> {
        let mut sections = generated(symbols, plan);
        let mut homes: Vec<Option<(String, Segment, u64)>> = Vec::new();
        for section in &object.sections {
            homes.push(if section.is_loaded() {
                Some(add(&mut sections, section)?)
            } else {
                None
            });
        }
        // Stable: within a segment the order of the list stays, but for zeroed data, which has to be last.
        sections.sort_by_key(|section| {
            let is_note = section.kind == SECTION_NOTE;
            (section.segment, section.kind == SECTION_NO_BITS, !is_note)
        });
        let index_of = |name: &str, segment: Segment| {
            sections
                .iter()
                .position(|section| section.name == name && section.segment == segment)
        };
        let places = homes
            .into_iter()
            .map(|home| home.and_then(|(name, segment, at)| Some((index_of(&name, segment)?, at))))
            .collect();
        let mut layout = Self { sections, places };
        layout.assign();
        Ok(layout)
    }

    /// Program headers: the table itself, segments, dynamic section, what becomes read-only, stack, notes.
    pub fn program_header_count(&self) -> usize {
        let segments = Segment::ALL
            .iter()
            .filter(|&&segment| self.has(segment))
            .count();
        let notes = self.notes().count();
        1 + segments + 3 + notes
    }

    pub fn has(&self, segment: Segment) -> bool {
        self.sections
            .iter()
            .any(|section| section.segment == segment)
    }

    pub fn notes(&self) -> impl Iterator<Item = &OutputSection> {
        self.sections
            .iter()
            .filter(|section| section.kind == SECTION_NOTE)
    }

    fn assign(&mut self) {
        let mut offset = (HEADER_BYTES + self.program_header_count() * PROGRAM_HEADER_BYTES) as u64;
        let mut address = offset;
        let mut segment = Segment::ReadOnly;
        for section in &mut self.sections {
            if section.segment != segment {
                segment = section.segment;
                // Each segment has pages of its own in memory, while the file goes on without a gap.
                address = address.next_multiple_of(PAGE_BYTES) + offset % PAGE_BYTES;
            }
            let padding = address.next_multiple_of(section.align_bytes) - address;
            section.address = address + padding;
            // Offsets and addresses agree within a page, for zeroed data too, which has no bytes there.
            section.offset = offset + padding;
            address = section.address + section.size_bytes;
            if section.kind != SECTION_NO_BITS {
                offset = section.offset + section.size_bytes;
            }
        }
    }

    /// Where a segment is. The first one begins with the file.
    pub fn extent(&self, segment: Segment) -> Option<Extent> {
        let mut members = self
            .sections
            .iter()
            .filter(|section| section.segment == segment);
        let first = members.next()?;
        let last = members.next_back().unwrap_or(first);
        let (offset, address) = match segment {
            Segment::ReadOnly => (0, 0),
            _ => (first.offset, first.address),
        };
        let file_end = self
            .sections
            .iter()
            .filter(|section| section.segment == segment && section.kind != SECTION_NO_BITS)
            .map(|section| section.offset + section.size_bytes)
            .max();
        let end = last.address + last.size_bytes;
        // Loaders protect whole pages.
        let end = match segment {
            Segment::Relocated => end.next_multiple_of(PAGE_BYTES),
            _ => end,
        };
        Some(Extent {
            offset,
            address,
            file_bytes: file_end.unwrap_or(offset) - offset,
            memory_bytes: end - address,
        })
    }

    /// The address of a symbol, or the value of an absolute one.
    pub fn address_of(&self, symbol: &Symbol<'_>) -> Option<u64> {
        match symbol.place {
            Place::Absolute => Some(symbol.value),
            Place::Section(index) => Some(self.address_of_section(index)? + symbol.value),
            Place::Undefined | Place::Reserved(_) => None,
        }
    }

    /// The address of a section of the object.
    pub fn address_of_section(&self, section: usize) -> Option<u64> {
        let (output, at) = (*self.places.get(section)?)?;
        Some(self.sections[output].address + at)
    }

    /// The section index that symbol tables have for a symbol. Indices count from 1: section 0 is the null section.
    pub fn index_of_symbol(&self, symbol: &Symbol<'_>) -> u16 {
        symbols::section_index(symbol.place, |section| {
            let place = self.places.get(section).copied().flatten();
            place.map_or(0, |(output, _)| output as u16 + 1)
        })
    }

    /// Address and size of the section of that name.
    pub fn range(&self, name: &str) -> Option<(u64, u64)> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        Some((section.address, section.size_bytes))
    }

    /// Address of the global offset table; 0 when there is none.
    pub fn table_address(&self) -> u64 {
        self.range(".got").unwrap_or_default().0
    }

    pub fn write_table(&mut self, index: usize, value: u64) {
        if let Some(section) = self.find(".got") {
            let at = index * TABLE_ENTRY_BYTES as usize;
            section.data[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Writes into the bytes of a section of the object; the plan has checked that they are there.
    pub fn write(&mut self, section: usize, offset: u64, bytes: &[u8]) {
        if let Some((output, at)) = self.places[section] {
            let begin = (at + offset) as usize;
            self.sections[output].data[begin..begin + bytes.len()].copy_from_slice(bytes);
        }
    }

    pub fn set_dynamic_records(&mut self, records: &[DynamicRecord]) {
        let bytes = records
            .iter()
            .flat_map(|record| {
                let info = (record.symbol as u64) << 32 | u64::from(record.kind);
                [record.address, info, record.addend]
            })
            .flat_map(u64::to_le_bytes)
            .collect();
        self.set_data(".rela.dyn", bytes);
    }

    /// Fills a section whose size was known before.
    pub fn set_data(&mut self, name: &str, data: Vec<u8>) {
        if let Some(section) = self.find(name) {
            debug_assert_eq!(section.size_bytes, data.len() as u64, "{name}");
            section.data = data;
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut OutputSection> {
        self.sections
            .iter_mut()
            .find(|section| section.name == name)
    }
}

/// The sections that the linker makes, in the order of their addresses within each segment.
fn generated(symbols: &DynamicSymbols, plan: &Plan) -> Vec<OutputSection> {
    let read_only =
        |name: &str, kind, align_bytes, entry_bytes: usize, link, data: Vec<u8>| OutputSection {
            name: name.to_owned(),
            kind,
            flags: FLAG_ALLOCATE,
            align_bytes,
            entry_bytes: entry_bytes as u64,
            link,
            info: u32::from(kind == SECTION_DYNAMIC_SYMBOLS),
            segment: Segment::ReadOnly,
            address: 0,
            offset: 0,
            size_bytes: data.len() as u64,
            data,
        };
    let table = vec![0; symbols.table_bytes()];
    let mut sections = vec![
        read_only(
            ".dynsym",
            SECTION_DYNAMIC_SYMBOLS,
            8,
            SYMBOL_BYTES,
            Some(".dynstr"),
            table,
        ),
        read_only(
            ".gnu.hash",
            SECTION_GNU_HASH,
            8,
            0,
            Some(".dynsym"),
            symbols.gnu_hash_table(),
        ),
        read_only(
            ".hash",
            SECTION_HASH,
            4,
            4,
            Some(".dynsym"),
            symbols.hash_table(),
        ),
        read_only(
            ".dynstr",
            SECTION_STRINGS,
            1,
            0,
            None,
            symbols.names.clone(),
        ),
    ];
    if plan.dynamic_count > 0 {
        sections.push(read_only(
            ".rela.dyn",
            SECTION_RELOCATIONS_ADDEND,
            8,
            RELOCATION_BYTES,
            Some(".dynsym"),
            vec![0; plan.dynamic_count * RELOCATION_BYTES],
        ));
    }
    let relocated = |section: OutputSection| OutputSection {
        flags: FLAG_ALLOCATE | FLAG_WRITE,
        segment: Segment::Relocated,
        ..section
    };
    let bytes = vec![0; symbols::dynamic_section_bytes(plan.dynamic_count > 0)];
    sections.push(relocated(read_only(
        ".dynamic",
        SECTION_DYNAMIC,
        8,
        16,
        Some(".dynstr"),
        bytes,
    )));
    if !plan.table.is_empty() {
        let bytes = vec![0; plan.table.len() * TABLE_ENTRY_BYTES as usize];
        sections.push(relocated(read_only(
            ".got",
            SECTION_PROGRAM_BITS,
            8,
            0,
            None,
            bytes,
        )));
    }
    sections
}

/// Adds a section of the object to the output section of its name; returns where it went.
fn add(
    sections: &mut Vec<OutputSection>,
    input: &Section<'_>,
) -> Result<(String, Segment, u64), LinkError> {
    let name = output_name(input.name);
    if GENERATED.contains(&name) {
        return Err(LinkError::Unsupported(format!(
            "the section {name}, which the linker makes itself,"
        )));
    }
    let segment = if input.flags & FLAG_EXECUTE != 0 {
        Segment::Code
    } else if input.flags & FLAG_WRITE == 0 {
        Segment::ReadOnly
    } else if name == ".data.rel.ro" {
        Segment::Relocated
    } else {
        Segment::Data
    };
    let align_bytes = input.align_bytes.max(1);
    let existing = sections
        .iter_mut()
        .find(|section| section.name == name && section.segment == segment);
    let Some(output) = existing else {
        sections.push(OutputSection {
            name: name.to_owned(),
            kind: input.kind,
            flags: input.flags & (FLAG_ALLOCATE | FLAG_WRITE | FLAG_EXECUTE),
            align_bytes,
            entry_bytes: 0,
            link: None,
            info: 0,
            segment,
            address: 0,
            offset: 0,
            size_bytes: input.size_bytes,
            data: input.data.to_vec(),
        });
        return Ok((name.to_owned(), segment, 0));
    };
    if output.kind != input.kind {
        return Err(LinkError::Unsupported(format!(
            "the section {} of another type than the section {name} it belongs to",
            input.name
        )));
    }
    let at = output.size_bytes.next_multiple_of(align_bytes);
    output.align_bytes = output.align_bytes.max(align_bytes);
    output.size_bytes = at + input.size_bytes;
    if output.kind != SECTION_NO_BITS {
        output.data.resize(at as usize, 0);
        output.data.extend_from_slice(input.data);
    }
    Ok((name.to_owned(), segment, at))
}

/// Sections per function or object, such as `.text.unlikely.f`, go together.
fn output_name(name: &str) -> &str {
    const COLLECTED: [&str; 5] = [".text", ".rodata", ".data.rel.ro", ".data", ".bss"];
    COLLECTED
        .into_iter()
        .find(|&prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .unwrap_or(name)
}
