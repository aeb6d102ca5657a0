//! The bytes of a code object from its layout.

use super::layout::{Extent, Layout, OutputSection, PROGRAM_HEADER_BYTES, Segment};
use super::object::{
    BINDING_LOCAL, HEADER_BYTES, MACHINE_AMDGPU, OSABI_AMDGPU_HSA, Object, PAGE_BYTES,
    SECTION_HEADER_BYTES, SECTION_NO_BITS, SECTION_STRINGS, SECTION_SYMBOLS, SYMBOL_BYTES,
    SYMBOL_FILE, SYMBOL_SECTION, TYPE_SHARED,
};
use super::symbols::{has_address, symbol_record};

const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const SEGMENT_NOTE: u32 = 4;
const SEGMENT_HEADERS: u32 = 6;
const SEGMENT_GNU_STACK: u32 = 0x6474_e551;
const SEGMENT_GNU_READ_ONLY: u32 = 0x6474_e552;

const EXECUTE: u32 = 1;
const WRITE: u32 = 2;
const READ: u32 = 4;

/// A section that is not loaded: names and symbols for tools.
struct Unloaded {
    name: &'static str,
    kind: u32,
    link: u32,
    info: u32,
    align_bytes: u64,
    entry_bytes: u64,
    data: Vec<u8>,
}

pub fn write(object: &Object<'_>, layout: &Layout) -> Vec<u8> {
    let mut file = vec![0; HEADER_BYTES];
    program_headers(layout, &mut file);
    for section in &layout.sections {
        if section.kind != SECTION_NO_BITS {
            file.resize(section.offset as usize, 0);
            file.extend_from_slice(&section.data);
        }
    }
    let first = layout.sections.len() as u32 + 1;
    let (symbols, local_count, names) = symbol_table(object, layout);
    let mut unloaded = [
        Unloaded {
            name: ".symtab",
            kind: SECTION_SYMBOLS,
            link: first + 1,
            info: local_count,
            align_bytes: 8,
            entry_bytes: SYMBOL_BYTES as u64,
            data: symbols,
        },
        strings(".strtab", names),
        strings(".shstrtab", Vec::new()),
    ];
    let loaded_names = layout.sections.iter().map(|section| section.name.as_str());
    let (name_offsets, section_names) =
        string_table(loaded_names.chain(unloaded.iter().map(|section| section.name)));
    unloaded[2].data = section_names;

    let mut headers = vec![0; SECTION_HEADER_BYTES];
    for (section, name) in layout.sections.iter().zip(&name_offsets) {
        headers.extend(section_header(layout, section, *name));
    }
    for (section, name) in unloaded.iter().zip(&name_offsets[layout.sections.len()..]) {
        file.resize(file.len().next_multiple_of(section.align_bytes as usize), 0);
        headers.extend(header_bytes(
            [*name, section.kind],
            [0, 0, file.len() as u64, section.data.len() as u64],
            [section.link, section.info],
            [section.align_bytes, section.entry_bytes],
        ));
        file.extend_from_slice(&section.data);
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let table_offset = file.len() as u64;
    file.extend_from_slice(&headers);
    let count = headers.len() / SECTION_HEADER_BYTES;
    let header = file_header(object, layout, table_offset, count as u16);
    file[..HEADER_BYTES].copy_from_slice(&header);
    file
}

fn file_header(
    object: &Object<'_>,
    layout: &Layout,
    table_offset: u64,
    section_count: u16,
) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x00\x00");
    header[7] = OSABI_AMDGPU_HSA;
    header[8] = object.abi_version;
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(16, &TYPE_SHARED.to_le_bytes());
    put(18, &MACHINE_AMDGPU.to_le_bytes());
    put(20, &1u32.to_le_bytes());
    put(32, &(HEADER_BYTES as u64).to_le_bytes());
    put(40, &table_offset.to_le_bytes());
    put(48, &object.flags.to_le_bytes());
    put(52, &(HEADER_BYTES as u16).to_le_bytes());
    put(54, &(PROGRAM_HEADER_BYTES as u16).to_le_bytes());
    put(56, &(layout.program_header_count() as u16).to_le_bytes());
    put(58, &(SECTION_HEADER_BYTES as u16).to_le_bytes());
    put(60, &section_count.to_le_bytes());
    put(62, &(section_count - 1).to_le_bytes());
    header
}

fn program_headers(layout: &Layout, file: &mut Vec<u8>) {
    let mut add = |kind: u32, flags: u32, extent: Extent, align_bytes: u64| {
        file.extend(kind.to_le_bytes());
        file.extend(flags.to_le_bytes());
        let Extent {
            offset,
            address,
            file_bytes,
            memory_bytes,
        } = extent;
        for value in [
            offset,
            address,
            address,
            file_bytes,
            memory_bytes,
            align_bytes,
        ] {
            file.extend(value.to_le_bytes());
        }
    };
    let of = |section: &OutputSection| Extent {
        offset: section.offset,
        address: section.address,
        file_bytes: section.size_bytes,
        memory_bytes: section.size_bytes,
    };
    let table_bytes = (layout.program_header_count() * PROGRAM_HEADER_BYTES) as u64;
    let table = Extent {
        offset: HEADER_BYTES as u64,
        address: HEADER_BYTES as u64,
        file_bytes: table_bytes,
        memory_bytes: table_bytes,
    };
    add(SEGMENT_HEADERS, READ, table, 8);
    for segment in Segment::ALL {
        let flags = match segment {
            Segment::ReadOnly => READ,
            Segment::Code => READ | EXECUTE,
            Segment::Relocated | Segment::Data => READ | WRITE,
        };
        if let Some(extent) = layout.extent(segment) {
            add(SEGMENT_LOAD, flags, extent, PAGE_BYTES);
        }
    }
    if let Some(dynamic) = layout
        .sections
        .iter()
        .find(|section| section.name == ".dynamic")
    {
        add(SEGMENT_DYNAMIC, READ | WRITE, of(dynamic), 8);
    }
    if let Some(extent) = layout.extent(Segment::Relocated) {
        add(SEGMENT_GNU_READ_ONLY, READ, extent, 1);
    }
    let nothing = Extent {
        offset: 0,
        address: 0,
        file_bytes: 0,
        memory_bytes: 0,
    };
    add(SEGMENT_GNU_STACK, READ | WRITE, nothing, 0);
    for note in layout.notes() {
        add(SEGMENT_NOTE, READ, of(note), note.align_bytes);
    }
}

fn section_header(
    layout: &Layout,
    section: &OutputSection,
    name: u32,
) -> [u8; SECTION_HEADER_BYTES] {
    let link = section.link.and_then(|link| {
        let index = layout
            .sections
            .iter()
            .position(|other| other.name == link)?;
        Some(index as u32 + 1)
    });
    header_bytes(
        [name, section.kind],
        [
            section.flags,
            section.address,
            section.offset,
            section.size_bytes,
        ],
        [link.unwrap_or(0), section.info],
        [section.align_bytes, section.entry_bytes],
    )
}

/// A section header: name and type; flags, address, offset, size; link and info; alignment and entry size.
fn header_bytes(
    names: [u32; 2],
    range: [u64; 4],
    links: [u32; 2],
    shape: [u64; 2],
) -> [u8; SECTION_HEADER_BYTES] {
    let mut header = [0; SECTION_HEADER_BYTES];
    let words = |values: [u32; 2]| values.into_iter().flat_map(u32::to_le_bytes);
    let bytes = words(names)
        .chain(range.into_iter().flat_map(u64::to_le_bytes))
        .chain(words(links))
        .chain(shape.into_iter().flat_map(u64::to_le_bytes));
    for (to, byte) in header.iter_mut().zip(bytes) {
        *to = byte;
    }
    header
}

/// The full symbol table for tools: local symbols first, as gABI wants it; how many those are; the names.
fn symbol_table(object: &Object<'_>, layout: &Layout) -> (Vec<u8>, u32, Vec<u8>) {
    let mut kept: Vec<_> = object
        .symbols
        .iter()
        .skip(1)
        .filter(|symbol| {
            // Labels that assemblers make up for constants say nothing.
            let is_label = symbol.binding == BINDING_LOCAL && symbol.name.starts_with(".L");
            let is_bookkeeping = matches!(symbol.kind, SYMBOL_SECTION | SYMBOL_FILE);
            !is_label && !is_bookkeeping && !symbol.name.is_empty() && has_address(object, symbol)
        })
        .collect();
    kept.sort_by_key(|symbol| symbol.is_exported());
    let local_count = kept.iter().filter(|symbol| !symbol.is_exported()).count() as u32 + 1;
    let (offsets, names) = string_table(kept.iter().map(|symbol| symbol.name));
    let mut table = vec![0; SYMBOL_BYTES];
    for (symbol, name_offset) in kept.into_iter().zip(offsets) {
        // Hidden symbols end with the link.
        let binding = if symbol.is_exported() {
            symbol.binding
        } else {
            BINDING_LOCAL
        };
        let address = layout.address_of(symbol).unwrap_or(0);
        let section = layout.index_of_symbol(symbol);
        table.extend_from_slice(&symbol_record(
            symbol,
            name_offset,
            binding,
            section,
            address,
        ));
    }
    (table, local_count, names)
}

fn strings(name: &'static str, data: Vec<u8>) -> Unloaded {
    Unloaded {
        name,
        kind: SECTION_STRINGS,
        link: 0,
        info: 0,
        align_bytes: 1,
        entry_bytes: 0,
        data,
    }
}

fn string_table<'a>(names: impl Iterator<Item = &'a str>) -> (Vec<u32>, Vec<u8>) {
    let mut bytes = vec![0];
    let offsets = names
        .map(|name| {
            let offset = bytes.len() as u32;
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
            offset
        })
        .collect();
    (offsets, bytes)
}
