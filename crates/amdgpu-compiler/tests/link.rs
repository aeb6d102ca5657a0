//! The linker of AMD code objects, on objects made here record by record. Objects of LLVM are linked, and compared with the
//! results of lld, in `tests/compiler/test_code_objects.py`.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap is a failed test.

use amdgpu_compiler::link::{LinkError, link, resources};
use proptest::prelude::*;

const PROGRAM_BITS: u32 = 1;
const SYMBOLS: u32 = 2;
const STRINGS: u32 = 3;
const RELOCATIONS_ADDEND: u32 = 4;
const NOTE: u32 = 7;
const NO_BITS: u32 = 8;

const READ: u64 = 2;
const READ_WRITE: u64 = 3;
const READ_EXECUTE: u64 = 6;

const ABI_VERSION: u8 = 4;
const FLAGS: u32 = 0x41;

#[derive(Clone)]
struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    links: [u32; 2],
    align: u64,
    /// Size of a section without bytes.
    zeroed: u64,
    data: Vec<u8>,
}

fn section(name: &'static str, kind: u32, flags: u64, data: &[u8]) -> Section {
    Section {
        name,
        kind,
        flags,
        links: [0, 0],
        align: 8,
        zeroed: 0,
        data: data.to_vec(),
    }
}

#[derive(Clone)]
struct Symbol {
    name: &'static str,
    /// Binding and type.
    info: u8,
    visibility: u8,
    section: u16,
    value: u64,
    size: u64,
}

const LOCAL: u8 = 0;
const GLOBAL: u8 = 0x10;
const FUNCTION: u8 = 2;
const OBJECT: u8 = 1;
const PROTECTED: u8 = 3;
const HIDDEN: u8 = 2;

/// An object with these sections (the first has index 1), symbols (the first has index 1), and relocations: section they
/// change, offset, type, symbol, addend.
#[derive(Clone, Default)]
struct Object {
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
    relocations: Vec<(u32, u64, u32, u64, i64)>,
}

impl Object {
    /// A kernel `k` with its descriptor, a table, data and zeroed data.
    fn typical() -> Self {
        let mut zeroed = section(".bss", NO_BITS, READ_WRITE, &[]);
        zeroed.zeroed = 48;
        zeroed.align = 64;
        let mut text = section(".text", PROGRAM_BITS, READ_EXECUTE, &[0xbf; 64]);
        text.align = 256;
        let mut descriptors = section(".rodata", PROGRAM_BITS, READ, &[0; 96]);
        descriptors.align = 64;
        let symbol = |name, info, visibility, section, value, size| Symbol {
            name,
            info,
            visibility,
            section,
            value,
            size,
        };
        Self {
            sections: vec![
                text,
                descriptors,
                section(".data", PROGRAM_BITS, READ_WRITE, &[7; 24]),
                zeroed,
                section(".note", NOTE, READ, &metadata_note()),
            ],
            symbols: vec![
                symbol("table", LOCAL | OBJECT, 0, 2, 64, 32),
                symbol("k", GLOBAL | FUNCTION, PROTECTED, 1, 0, 64),
                symbol("k.kd", GLOBAL | OBJECT, PROTECTED, 2, 0, 64),
                symbol("counter", GLOBAL | OBJECT, 0, 3, 0, 8),
                symbol("buffer", GLOBAL | OBJECT, HIDDEN, 4, 16, 32),
                symbol("k.num_vgpr", LOCAL, 0, 0xfff1, 12, 0),
            ],
            // The descriptor's offset of the code; the address of the table in the code; those of the counter and the buffer.
            relocations: vec![
                (2, 16, 5, 2, 16),
                (1, 8, 10, 1, 4),
                (1, 16, 11, 1, 12),
                (1, 24, 8, 4, 4),
                (1, 32, 9, 4, 12),
                (1, 40, 4, 1, 0),
                (3, 8, 3, 5, 2),
                (3, 16, 3, 4, 1),
            ],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut sections = self.sections.clone();
        let (mut names, mut table) = (vec![0], vec![0; 24]);
        for symbol in &self.symbols {
            table.extend((names.len() as u32).to_le_bytes());
            names.extend(symbol.name.bytes().chain([0]));
            table.extend([symbol.info, symbol.visibility]);
            table.extend(symbol.section.to_le_bytes());
            table.extend(symbol.value.to_le_bytes());
            table.extend(symbol.size.to_le_bytes());
        }
        let symbols_index = sections.len() as u32 + 1;
        sections.push(Section {
            links: [symbols_index + 1, 0],
            ..section(".symtab", SYMBOLS, 0, &table)
        });
        sections.push(section(".strtab", STRINGS, 0, &names));
        let mut changed: Vec<u32> = self.relocations.iter().map(|record| record.0).collect();
        changed.sort_unstable();
        changed.dedup();
        for target in changed {
            let mut list = Vec::new();
            let records = self.relocations.iter().filter(|record| record.0 == target);
            for (_, offset, kind, symbol, addend) in records {
                list.extend(offset.to_le_bytes());
                list.extend((symbol << 32 | u64::from(*kind)).to_le_bytes());
                list.extend(addend.to_le_bytes());
            }
            sections.push(Section {
                links: [symbols_index, target],
                ..section(".rela", RELOCATIONS_ADDEND, 0, &list)
            });
        }
        let (mut offsets, mut names) = (Vec::new(), vec![0]);
        for name in sections
            .iter()
            .map(|section| section.name)
            .chain([".shstrtab"])
        {
            offsets.push(names.len() as u32);
            names.extend(name.bytes().chain([0]));
        }
        sections.push(section(".shstrtab", STRINGS, 0, &names));

        let mut file = vec![0; 64];
        let mut headers = vec![0; 64];
        for (section, name) in sections.iter().zip(offsets) {
            file.resize(file.len().next_multiple_of(8), 0);
            headers.extend(name.to_le_bytes());
            headers.extend(section.kind.to_le_bytes());
            let size = section.data.len() as u64 + section.zeroed;
            for value in [section.flags, 0, file.len() as u64, size] {
                headers.extend(value.to_le_bytes());
            }
            headers.extend(section.links.into_iter().flat_map(u32::to_le_bytes));
            headers.extend([section.align, 0].into_iter().flat_map(u64::to_le_bytes));
            file.extend(&section.data);
        }
        file.resize(file.len().next_multiple_of(8), 0);
        let table_offset = file.len() as u64;
        file[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 64, ABI_VERSION]);
        file[16..18].copy_from_slice(&1u16.to_le_bytes());
        file[18..20].copy_from_slice(&224u16.to_le_bytes());
        file[20..24].copy_from_slice(&1u32.to_le_bytes());
        file[40..48].copy_from_slice(&table_offset.to_le_bytes());
        file[48..52].copy_from_slice(&FLAGS.to_le_bytes());
        file[58..60].copy_from_slice(&64u16.to_le_bytes());
        file[60..62].copy_from_slice(&(sections.len() as u16 + 1).to_le_bytes());
        file[62..64].copy_from_slice(&(sections.len() as u16).to_le_bytes());
        file.extend(headers);
        file
    }
}

/// `{"amdhsa.kernels": [{".name": "k", ".sgpr_count": 18, …}]}`.
fn metadata_note() -> Vec<u8> {
    let numbers = [
        (".sgpr_count", 18u8),
        (".vgpr_count", 5),
        (".group_segment_fixed_size", 64),
        (".private_segment_fixed_size", 0),
        (".kernarg_segment_size", 24),
        (".wavefront_size", 32),
        (".max_flat_workgroup_size", 127),
    ];
    let text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend([0xd9, text.len() as u8]);
        bytes.extend(text.bytes());
    };
    let mut map = vec![0x81];
    text(&mut map, "amdhsa.kernels");
    map.extend([0x91, 0x80 + numbers.len() as u8 + 1]);
    text(&mut map, ".name");
    text(&mut map, "k");
    for (key, value) in numbers {
        text(&mut map, key);
        map.push(value);
    }
    let mut note = Vec::new();
    for value in [7, map.len() as u32, 32] {
        note.extend(value.to_le_bytes());
    }
    note.extend(b"AMDGPU\0\0");
    note.extend(&map);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

/// A linked file, read without the linker's own reader.
struct Image(Vec<u8>);

impl Image {
    fn of(object: &Object) -> Self {
        Self(link(&object.bytes()).unwrap())
    }

    fn u16(&self, at: u64) -> u64 {
        u64::from(u16::from_le_bytes(
            self.0[at as usize..][..2].try_into().unwrap(),
        ))
    }

    fn u32(&self, at: u64) -> u64 {
        u64::from(u32::from_le_bytes(
            self.0[at as usize..][..4].try_into().unwrap(),
        ))
    }

    fn u64(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.0[at as usize..][..8].try_into().unwrap())
    }

    /// Type, flags, offset, address, bytes in the file, bytes in memory.
    fn segments(&self) -> Vec<[u64; 6]> {
        (0..self.u16(56))
            .map(|index| {
                let at = self.u64(32) + index * 56;
                let words = [8, 16, 32, 40].map(|field| self.u64(at + field));
                let [offset, address, file, memory] = words;
                [
                    self.u32(at),
                    self.u32(at + 4),
                    offset,
                    address,
                    file,
                    memory,
                ]
            })
            .collect()
    }

    /// The place in the file of an address.
    fn at(&self, address: u64) -> u64 {
        let mut segments = self.segments().into_iter();
        let found = segments.find(|[kind, _, _, begin, file, _]| {
            *kind == 1 && (*begin..begin + file).contains(&address)
        });
        let [_, _, offset, begin, ..] = found.unwrap();
        address - begin + offset
    }

    fn dynamic(&self, tag: u64) -> Option<u64> {
        let segments = self.segments();
        let [_, _, offset, _, bytes, _] = segments.iter().find(|segment| segment[0] == 2).unwrap();
        let mut entries = (0..bytes / 16).map(|index| offset + index * 16);
        let entry = entries.find(|&entry| self.u64(entry) == tag)?;
        Some(self.u64(entry + 8))
    }

    fn text(&self, at: u64) -> String {
        let tail = &self.0[at as usize..];
        let len = tail.iter().position(|&byte| byte == 0).unwrap();
        String::from_utf8(tail[..len].to_vec()).unwrap()
    }

    /// Index of a symbol, found as a loader does: through `.hash`.
    fn look_up(&self, name: &str) -> Option<u64> {
        let hash = name.bytes().fold(0u32, |value, byte| {
            let value = (value << 4).wrapping_add(u32::from(byte));
            let high = value & 0xf000_0000;
            (value ^ (high >> 24)) & !high
        });
        let table = self.at(self.dynamic(4)?);
        let buckets = self.u32(table);
        let mut index = self.u32(table + 8 + u64::from(hash) % buckets * 4);
        while index != 0 && self.symbol(index).0 != name {
            index = self.u32(table + 8 + (buckets + index) * 4);
        }
        (index != 0).then_some(index)
    }

    /// Index of a symbol, found through `.gnu.hash`.
    fn look_up_gnu(&self, name: &str) -> Option<u64> {
        let hash = name.bytes().fold(5381u32, |value, byte| {
            value.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        let table = self.at(self.dynamic(0x6fff_fef5)?);
        let (buckets, first) = (self.u32(table), self.u32(table + 4));
        let (words, shift) = (self.u32(table + 8), self.u32(table + 12));
        let word = self.u64(table + 16 + u64::from(hash) / 64 % words * 8);
        if word >> (hash % 64) & 1 == 0 || word >> ((hash >> shift) % 64) & 1 == 0 {
            return None;
        }
        let firsts = table + 16 + words * 8;
        let mut index = self.u32(firsts + u64::from(hash) % buckets * 4);
        while index != 0 {
            let entry = self.u32(firsts + (buckets + index - first) * 4);
            if entry | 1 == u64::from(hash) | 1 && self.symbol(index).0 == name {
                return Some(index);
            }
            index = if entry & 1 == 1 { 0 } else { index + 1 };
        }
        None
    }

    /// Name, info, visibility, address, size of a dynamic symbol.
    fn symbol(&self, index: u64) -> (String, u8, u8, u64, u64) {
        let at = self.at(self.dynamic(6).unwrap()) + index * 24;
        let name = self.at(self.dynamic(5).unwrap()) + self.u32(at);
        let flags = &self.0[at as usize + 4..];
        (
            self.text(name),
            flags[0],
            flags[1],
            self.u64(at + 8),
            self.u64(at + 16),
        )
    }

    fn find(&self, name: &str) -> (u8, u8, u64, u64) {
        let index = self.look_up(name).unwrap();
        assert_eq!(self.look_up_gnu(name), Some(index), "{name}");
        let (_, info, visibility, address, size) = self.symbol(index);
        (info, visibility, address, size)
    }

    /// Records left to the loader: address, type, symbol, addend.
    fn relocations(&self) -> Vec<(u64, u64, u64, u64)> {
        let Some(address) = self.dynamic(7) else {
            return Vec::new();
        };
        let (begin, bytes) = (self.at(address), self.dynamic(8).unwrap());
        (0..bytes / 24)
            .map(|index| begin + index * 24)
            .map(|at| {
                (
                    self.u64(at),
                    self.u32(at + 8),
                    self.u32(at + 12),
                    self.u64(at + 16),
                )
            })
            .collect()
    }
}

#[test]
fn headers_keep_what_the_object_says_of_processor_and_abi() {
    let image = Image::of(&Object::typical());
    assert_eq!(
        image.0[..9],
        [0x7f, b'E', b'L', b'F', 2, 1, 1, 64, ABI_VERSION]
    );
    assert_eq!((image.u16(16), image.u16(18)), (3, 224));
    assert_eq!(image.u32(48), u64::from(FLAGS));
}

#[test]
fn segments_have_their_own_pages_and_permissions() {
    let image = Image::of(&Object::typical());
    let segments = image.segments();
    let loaded: Vec<_> = segments.iter().filter(|segment| segment[0] == 1).collect();
    let flags: Vec<u64> = loaded.iter().map(|segment| segment[1]).collect();
    assert_eq!(flags, [4, 5, 6, 6]);
    for pair in loaded.windows(2) {
        assert!(pair[0][3] + pair[0][5] <= pair[1][3] / 4096 * 4096);
    }
    for [_, _, offset, address, file, memory] in &loaded {
        assert_eq!(offset % 4096, address % 4096);
        assert!(file <= memory && offset + file <= image.0.len() as u64);
    }
    // Zeroed data has memory and no bytes.
    assert!(loaded[3][5] >= loaded[3][4] + 48);
    let kinds: Vec<u64> = segments.iter().map(|segment| segment[0]).collect();
    assert_eq!(kinds, [6, 1, 1, 1, 1, 2, 0x6474_e552, 0x6474_e551, 4]);
}

#[test]
fn kernels_and_descriptors_are_found_by_name() {
    let image = Image::of(&Object::typical());
    let (info, visibility, kernel, size) = image.find("k");
    assert_eq!((info, visibility, size), (GLOBAL | FUNCTION, PROTECTED, 64));
    let (info, visibility, descriptor, size) = image.find("k.kd");
    assert_eq!((info, visibility, size), (GLOBAL | OBJECT, PROTECTED, 64));
    assert_eq!((kernel % 256, descriptor % 64), (0, 0));
    let offset = image.u64(image.at(descriptor) + 16);
    assert_eq!(descriptor.wrapping_add(offset), kernel);
    for absent in ["buffer", "table", "k.num_vgpr", "nobody", ""] {
        assert_eq!(
            (image.look_up(absent), image.look_up_gnu(absent)),
            (None, None),
            "{absent}"
        );
    }
}

#[test]
fn relative_relocations_reach_their_symbols() {
    let image = Image::of(&Object::typical());
    let (code, table) = (image.find("k").2, image.find("k.kd").2 + 64);
    let word = |offset: u64| image.u32(image.at(code + offset));
    let low_and_high = word(8) | word(16) << 32;
    // The code adds the pair to the address behind the instruction that gave it: the first record's place less its addend.
    assert_eq!((code + 8 - 4).wrapping_add(low_and_high), table);
    assert_eq!(
        (code + 40).wrapping_add(word(40) as u32 as i32 as u64),
        table
    );
}

#[test]
fn addresses_of_data_are_left_to_the_loader() {
    let image = Image::of(&Object::typical());
    let (code, counter) = (image.find("k").2, image.find("counter").2);
    let word = |offset: u64| image.u32(image.at(code + offset));
    let entry = (code + 24 - 4).wrapping_add(word(24) | word(32) << 32);
    let symbol = image.look_up("counter").unwrap();
    let records = image.relocations();
    assert_eq!(records.len(), 3);
    // A visible symbol may be replaced by name; a hidden one is an address.
    assert!(records.contains(&(entry, 3, symbol, 0)), "{records:x?}");
    assert!(
        records.contains(&(counter + 16, 3, symbol, 1)),
        "{records:x?}"
    );
    let (address, kind, symbol, buffer) = records[0];
    assert_eq!((address, kind, symbol), (counter + 8, 13, 0));
    assert_eq!((buffer - 2) % 64, 16);
    let segments = image.segments();
    let last = segments.iter().rfind(|segment| segment[0] == 1).unwrap();
    assert!((last[3] + last[4]..last[3] + last[5]).contains(&buffer));
}

#[test]
fn an_object_without_data_needs_no_relocations_of_the_loader() {
    let mut object = Object::typical();
    object.relocations.truncate(3);
    let image = Image::of(&object);
    assert_eq!(image.relocations(), []);
    assert_eq!(image.dynamic(7), None);
}

#[test]
fn resources_are_read_before_and_after_linking() {
    let object = Object::typical();
    let found = resources(&object.bytes()).unwrap();
    assert_eq!(found, resources(&link(&object.bytes()).unwrap()).unwrap());
    assert_eq!((found.len(), found[0].kernel.as_str()), (1, "k"));
    assert_eq!((found[0].sgpr_count, found[0].vgpr_count), (18, 5));
    assert_eq!((found[0].lds_bytes, found[0].kernarg_bytes), (64, 24));
}

#[test]
fn sections_per_function_go_together() {
    let mut object = Object::typical();
    object
        .sections
        .push(section(".text.cold", PROGRAM_BITS, READ_EXECUTE, &[1; 8]));
    object
        .sections
        .push(section(".rodata.cst16", PROGRAM_BITS, READ, &[2; 16]));
    let (cold, constant) = (
        object.sections.len() as u16 - 1,
        object.sections.len() as u16,
    );
    for (name, section) in [("cold", cold), ("constant", constant)] {
        object.symbols.push(Symbol {
            name,
            info: GLOBAL | OBJECT,
            visibility: PROTECTED,
            section,
            value: 0,
            size: 8,
        });
    }
    let image = Image::of(&object);
    assert_eq!(image.find("cold").2, image.find("k").2 + 64);
    assert_eq!(image.find("constant").2, image.find("k.kd").2 + 96);
    assert_eq!(image.0[image.at(image.find("cold").2) as usize], 1);
    assert_eq!(image.0[image.at(image.find("constant").2) as usize], 2);
}

fn refusal(change: impl FnOnce(&mut Object)) -> String {
    let mut object = Object::typical();
    change(&mut object);
    link(&object.bytes()).unwrap_err().to_string()
}

#[test]
fn undefined_symbols_are_all_named() {
    let mut object = Object::typical();
    for name in ["missing", "absent"] {
        object.symbols.push(Symbol {
            name,
            info: GLOBAL,
            visibility: 0,
            section: 0,
            value: 0,
            size: 0,
        });
    }
    assert_eq!(
        link(&object.bytes()),
        Err(LinkError::UndefinedSymbols(vec![
            "missing".to_owned(),
            "absent".to_owned()
        ]))
    );
}

#[test]
fn relocations_that_are_not_supported_are_named() {
    let kinds = [
        (1, "R_AMDGPU_ABS32_LO"),
        (2, "R_AMDGPU_ABS32_HI"),
        (6, "R_AMDGPU_ABS32"),
        (13, "R_AMDGPU_RELATIVE64"),
        (14, "R_AMDGPU_REL16"),
        (99, "R_AMDGPU number 99"),
    ];
    for (kind, name) in kinds {
        let message = refusal(|object| object.relocations.push((1, 0, kind, 1, 0)));
        assert!(message.contains(&format!("{name} in .text")), "{message}");
    }
    let message = refusal(|object| object.relocations.push((2, 64, 3, 4, 0)));
    assert!(
        message.contains("R_AMDGPU_ABS64") && message.contains(".rodata"),
        "{message}"
    );
}

#[test]
fn what_is_not_supported_is_named() {
    type Change = Box<dyn FnOnce(&mut Object)>;
    let cases: [(&str, Change); 8] = [
        (
            "shared",
            Box::new(|object| object.symbols[0].section = 0xff00),
        ),
        (
            ".tbss",
            Box::new(|object| {
                object
                    .sections
                    .push(section(".tbss", NO_BITS, READ_WRITE | 0x400, &[]));
            }),
        ),
        (
            ".init_array",
            Box::new(|object| {
                object
                    .sections
                    .push(section(".init_array", 14, READ_WRITE, &[0; 8]));
            }),
        ),
        (
            "writable code",
            Box::new(|object| object.sections[0].flags = 7),
        ),
        ("8192", Box::new(|object| object.sections[0].align = 8192)),
        (
            ".dynsym",
            Box::new(|object| {
                object
                    .sections
                    .push(section(".dynsym", PROGRAM_BITS, READ, &[0; 24]));
            }),
        ),
        ("twice", Box::new(|object| object.symbols[3].name = "k")),
        (
            "past the end of .text",
            Box::new(|object| object.relocations[1].1 = 61),
        ),
    ];
    for (words, change) in cases {
        let message = refusal(change);
        let words = if words == "shared" { "0xff00" } else { words };
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn claims_beyond_the_file_are_refused_before_memory_is_taken() {
    let message = refusal(|object| object.sections[3].zeroed = 1 << 40);
    assert!(message.contains("zeroed"), "{message}");
    let message = refusal(|object| object.relocations[5].4 = 1 << 40);
    assert!(message.contains("32 bits"), "{message}");
}

#[test]
fn code_objects_and_other_files_are_not_linked_again() {
    let linked = link(&Object::typical().bytes()).unwrap();
    assert!(link(&linked).unwrap_err().to_string().contains("type 3"));
    for bytes in [&b""[..], b"\x7fELF", b"// PTX", &[0; 64]] {
        assert!(matches!(link(bytes), Err(LinkError::Malformed(_))));
        assert!(resources(bytes).is_err());
    }
}

#[test]
fn every_truncation_ends_in_an_error() {
    let bytes = Object::typical().bytes();
    for len in 0..bytes.len() {
        assert!(link(&bytes[..len]).is_err(), "{len}");
        assert!(resources(&bytes[..len]).is_err(), "{len}");
    }
}

/// Every byte of an object, set to values that break headers, counts, indices and offsets.
#[test]
fn no_changed_byte_makes_the_linker_panic() {
    let bytes = Object::typical().bytes();
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 4] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if let Ok(linked) = link(&changed) {
                let _ = resources(&linked);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn mutated_objects_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 1usize..=8), 1..6)) {
        let mut bytes = Object::typical().bytes();
        for (at, value, width) in changes {
            let at = at.index(bytes.len());
            let end = (at + width).min(bytes.len());
            bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
        if let Ok(linked) = link(&bytes) {
            let _ = resources(&linked);
        }
        let _ = resources(&bytes);
    }
}
