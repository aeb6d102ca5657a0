//! Reads 64-bit little-endian ELF files for AMD GPUs. Trusts nothing: what does not fit into the bytes is an error.

use super::LinkError;

/// Kernels are kilobytes; a file past this is not one, and file offsets stay far below the reach of 32-bit relocations.
pub const MAX_OBJECT_BYTES: usize = 256 << 20;
/// Memory for zeroed data in one object; with the file's own bytes this keeps every address within 31 bits.
const MAX_ZEROED_BYTES: u64 = 1 << 30;
/// Modules of kernels have about twenty; sections are looked up by name one after another.
const MAX_SECTIONS: usize = 4096;
/// Far above any mangled name; keeps the work per symbol bounded.
const MAX_NAME_BYTES: usize = 16 << 10;
/// Alignment of sections: segments begin at pages of this size (what lld and the loader of ROCm use for AMD GPUs).
pub const PAGE_BYTES: u64 = 4096;

pub const HEADER_BYTES: usize = 64;
pub const SECTION_HEADER_BYTES: usize = 64;
pub const SYMBOL_BYTES: usize = 24;
pub const RELOCATION_BYTES: usize = 24;

pub const TYPE_RELOCATABLE: u16 = 1;
pub const TYPE_SHARED: u16 = 3;
pub const MACHINE_AMDGPU: u16 = 224;
pub const OSABI_AMDGPU_HSA: u8 = 64;

pub const SECTION_PROGRAM_BITS: u32 = 1;
pub const SECTION_SYMBOLS: u32 = 2;
pub const SECTION_STRINGS: u32 = 3;
pub const SECTION_RELOCATIONS_ADDEND: u32 = 4;
pub const SECTION_HASH: u32 = 5;
pub const SECTION_DYNAMIC: u32 = 6;
pub const SECTION_NOTE: u32 = 7;
pub const SECTION_NO_BITS: u32 = 8;
pub const SECTION_RELOCATIONS: u32 = 9;
pub const SECTION_DYNAMIC_SYMBOLS: u32 = 11;
pub const SECTION_GNU_HASH: u32 = 0x6fff_fff6;

pub const FLAG_WRITE: u64 = 1;
pub const FLAG_ALLOCATE: u64 = 2;
pub const FLAG_EXECUTE: u64 = 4;
const FLAG_THREAD_LOCAL: u64 = 0x400;
const FLAG_COMPRESSED: u64 = 0x800;

const INDEX_UNDEFINED: u16 = 0;
const INDEX_RESERVED: u16 = 0xff00;
pub const INDEX_ABSOLUTE: u16 = 0xfff1;

pub const SYMBOL_SECTION: u8 = 3;
pub const SYMBOL_FILE: u8 = 4;
pub const BINDING_LOCAL: u8 = 0;
const VISIBILITY_MASK: u8 = 3;
const VISIBILITY_DEFAULT: u8 = 0;
const VISIBILITY_PROTECTED: u8 = 3;

type Parsed<T> = Result<T, LinkError>;

/// A parsed file.
#[derive(Debug)]
pub struct Object<'a> {
    pub file_type: u16,
    pub abi_version: u8,
    file_bytes: usize,
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
    /// Of the one symbol table; the first entry is the null symbol.
    pub symbols: Vec<Symbol<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub flags: u64,
    pub size_bytes: u64,
    pub link: u32,
    pub info: u32,
    pub align_bytes: u64,
    /// Empty for sections that occupy no bytes of the file.
    pub data: &'a [u8],
}

/// Where a symbol is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Undefined,
    Absolute,
    Section(usize),
    /// A reserved index: common blocks, or local data share whose place the linker would have to choose.
    Reserved(u16),
}

#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub kind: u8,
    pub binding: u8,
    /// `st_other`: visibility in the low bits.
    pub other: u8,
    pub place: Place,
    pub value: u64,
    pub size_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    pub offset: u64,
    pub kind: u32,
    pub symbol: usize,
    pub addend: i64,
}

impl<'a> Object<'a> {
    pub fn parse(bytes: &'a [u8]) -> Parsed<Self> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(LinkError::malformed(
                "it does not begin with the ELF magic number",
            ));
        }
        if bytes.len() > MAX_OBJECT_BYTES {
            return Err(LinkError::malformed(format!(
                "it has {} bytes, the limit is {MAX_OBJECT_BYTES}",
                bytes.len()
            )));
        }
        let header = bytes
            .get(..HEADER_BYTES)
            .ok_or_else(|| LinkError::malformed("the ELF header is cut off"))?;
        if header[4] != 2 || header[5] != 1 || header[6] != 1 {
            return Err(LinkError::malformed(
                "it is not a 64-bit little-endian ELF file of version 1",
            ));
        }
        let machine = read_u16(header, 18)?;
        if machine != MACHINE_AMDGPU || header[7] != OSABI_AMDGPU_HSA {
            return Err(LinkError::malformed(format!(
                "it is for ELF machine {machine} and OS ABI {}, an AMD GPU under HSA has {MACHINE_AMDGPU} and {OSABI_AMDGPU_HSA}",
                header[7]
            )));
        }
        let mut object = Self {
            file_type: read_u16(header, 16)?,
            abi_version: header[8],
            file_bytes: bytes.len(),
            flags: read_u32(header, 48)?,
            sections: sections(bytes, header)?,
            symbols: Vec::new(),
        };
        object.symbols = object.read_symbols()?;
        Ok(object)
    }

    fn read_symbols(&self) -> Parsed<Vec<Symbol<'a>>> {
        let mut tables = self
            .sections
            .iter()
            .filter(|section| section.kind == SECTION_SYMBOLS);
        let Some(table) = tables.next() else {
            return Ok(Vec::new());
        };
        if tables.next().is_some() {
            return Err(LinkError::malformed("it has several symbol tables"));
        }
        let names = self
            .sections
            .get(table.link as usize)
            .ok_or_else(|| LinkError::malformed("the symbol table has no string table"))?;
        let (entries, rest) = table.data.as_chunks::<SYMBOL_BYTES>();
        if !rest.is_empty() {
            return Err(LinkError::malformed("the symbol table is cut off"));
        }
        entries
            .iter()
            .map(|entry| {
                let symbol = Symbol {
                    name: text_at(names.data, read_u32(entry, 0)?)?,
                    kind: entry[4] & 0xf,
                    binding: entry[4] >> 4,
                    other: entry[5],
                    place: match read_u16(entry, 6)? {
                        INDEX_UNDEFINED => Place::Undefined,
                        INDEX_ABSOLUTE => Place::Absolute,
                        index if index >= INDEX_RESERVED => Place::Reserved(index),
                        index => Place::Section(usize::from(index)),
                    },
                    value: read_u64(entry, 8)?,
                    size_bytes: read_u64(entry, 16)?,
                };
                self.check_symbol(&symbol)?;
                Ok(symbol)
            })
            .collect()
    }

    fn check_symbol(&self, symbol: &Symbol<'_>) -> Parsed<()> {
        let Place::Section(index) = symbol.place else {
            return Ok(());
        };
        let section = self.sections.get(index).ok_or_else(|| {
            LinkError::malformed(format!(
                "the symbol {} is in section {index}, there are {}",
                symbol.name,
                self.sections.len()
            ))
        })?;
        // Addresses in shared files are not offsets in sections; only relocatable objects are linked.
        if self.file_type == TYPE_RELOCATABLE && symbol.value > section.size_bytes {
            return Err(LinkError::malformed(format!(
                "the symbol {} lies past the end of {}",
                symbol.name, section.name
            )));
        }
        Ok(())
    }

    /// Whether the linker knows what to do with the sections and can give every symbol an address.
    pub fn check(&self) -> Parsed<()> {
        let (mut loaded_bytes, mut zeroed_bytes) = (0usize, 0u64);
        for section in self.sections.iter().filter(|section| section.is_loaded()) {
            section.check()?;
            loaded_bytes = loaded_bytes.saturating_add(section.data.len());
            if section.kind == SECTION_NO_BITS {
                zeroed_bytes = zeroed_bytes.saturating_add(section.size_bytes);
            }
        }
        // Sections that overlap in the file could claim more than it has.
        if loaded_bytes > self.file_bytes || zeroed_bytes > MAX_ZEROED_BYTES {
            return Err(LinkError::malformed(format!(
                "its sections claim {loaded_bytes} bytes of a file of {} and {zeroed_bytes} zeroed bytes (limit {MAX_ZEROED_BYTES})",
                self.file_bytes
            )));
        }
        self.check_symbols()
    }

    fn check_symbols(&self) -> Parsed<()> {
        let mut undefined = Vec::new();
        for symbol in self.symbols.iter().skip(1) {
            match symbol.place {
                Place::Undefined => undefined.push(symbol.name.to_owned()),
                Place::Reserved(index) => {
                    return Err(LinkError::Unsupported(format!(
                        "the symbol {} in the reserved section {index:#x}",
                        symbol.name
                    )));
                }
                Place::Absolute | Place::Section(_) => {}
            }
        }
        if undefined.is_empty() {
            Ok(())
        } else {
            Err(LinkError::UndefinedSymbols(undefined))
        }
    }

    /// The relocations of a section with addends.
    pub fn relocations(&self, section: &Section<'_>) -> Parsed<Vec<Relocation>> {
        let (entries, rest) = section.data.as_chunks::<RELOCATION_BYTES>();
        if !rest.is_empty() {
            return Err(LinkError::malformed(format!("{} is cut off", section.name)));
        }
        entries
            .iter()
            .map(|entry| {
                let info = read_u64(entry, 8)?;
                let symbol = (info >> 32) as usize;
                if symbol >= self.symbols.len() {
                    return Err(LinkError::malformed(format!(
                        "{} names symbol {symbol}, there are {}",
                        section.name,
                        self.symbols.len()
                    )));
                }
                Ok(Relocation {
                    offset: read_u64(entry, 0)?,
                    kind: info as u32,
                    symbol,
                    addend: read_u64(entry, 16)? as i64,
                })
            })
            .collect()
    }
}

impl Section<'_> {
    pub fn is_loaded(&self) -> bool {
        self.flags & FLAG_ALLOCATE != 0
    }

    fn check(&self) -> Parsed<()> {
        let refuse = |what: &str| {
            Err(LinkError::Unsupported(format!(
                "the section {} {what}",
                self.name
            )))
        };
        if self.flags & FLAG_THREAD_LOCAL != 0 {
            return refuse("with thread-local data");
        }
        if self.flags & FLAG_COMPRESSED != 0 {
            return refuse("with compressed data");
        }
        if self.flags & FLAG_WRITE != 0 && self.flags & FLAG_EXECUTE != 0 {
            return refuse("that is writable code");
        }
        if self.align_bytes > PAGE_BYTES || !self.align_bytes.max(1).is_power_of_two() {
            return refuse(&format!("aligned to {} bytes", self.align_bytes));
        }
        match self.kind {
            SECTION_NO_BITS if self.flags & FLAG_WRITE == 0 => {
                refuse("that is zeroed and not writable")
            }
            SECTION_PROGRAM_BITS | SECTION_NOTE | SECTION_NO_BITS => Ok(()),
            kind => refuse(&format!("of type {kind:#x}")),
        }
    }
}

impl Symbol<'_> {
    /// Whether code outside the object may see it.
    pub fn is_exported(&self) -> bool {
        self.binding != BINDING_LOCAL
            && matches!(
                self.other & VISIBILITY_MASK,
                VISIBILITY_DEFAULT | VISIBILITY_PROTECTED
            )
    }

    /// Whether the rules of ELF let a symbol of another object take its place.
    pub fn is_preemptible(&self) -> bool {
        self.binding != BINDING_LOCAL && self.other & VISIBILITY_MASK == VISIBILITY_DEFAULT
    }
}

fn sections<'a>(bytes: &'a [u8], header: &[u8]) -> Parsed<Vec<Section<'a>>> {
    let entry_bytes = usize::from(read_u16(header, 58)?);
    let count = usize::from(read_u16(header, 60)?);
    if entry_bytes != SECTION_HEADER_BYTES || count == 0 || count > MAX_SECTIONS {
        return Err(LinkError::malformed(format!(
            "its section table has {count} entries of {entry_bytes} bytes; the limit is {MAX_SECTIONS} of {SECTION_HEADER_BYTES}"
        )));
    }
    let table_bytes = (count * SECTION_HEADER_BYTES) as u64;
    let table = slice(
        bytes,
        read_u64(header, 40)?,
        table_bytes,
        "the section table",
    )?;
    let (entries, _) = table.as_chunks::<SECTION_HEADER_BYTES>();
    let mut sections = Vec::with_capacity(count);
    for entry in entries {
        let kind = read_u32(entry, 4)?;
        let size_bytes = read_u64(entry, 32)?;
        sections.push(Section {
            name: "",
            kind,
            flags: read_u64(entry, 8)?,
            size_bytes,
            link: read_u32(entry, 40)?,
            info: read_u32(entry, 44)?,
            align_bytes: read_u64(entry, 48)?,
            data: if kind == SECTION_NO_BITS || kind == 0 {
                &[]
            } else {
                slice(bytes, read_u64(entry, 24)?, size_bytes, "a section")?
            },
        });
    }
    let names = sections
        .get(usize::from(read_u16(header, 62)?))
        .map_or(&[][..], |section| section.data);
    for (section, entry) in sections.iter_mut().zip(entries) {
        section.name = text_at(names, read_u32(entry, 0)?)?;
    }
    Ok(sections)
}

fn slice<'a>(bytes: &'a [u8], offset: u64, len: u64, what: &str) -> Parsed<&'a [u8]> {
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(len).ok())
        .and_then(|(begin, len)| Some(begin..begin.checked_add(len)?));
    range
        .and_then(|range| bytes.get(range))
        .ok_or_else(|| LinkError::malformed(format!("{what} lies outside the file")))
}

fn text_at(table: &[u8], offset: u32) -> Parsed<&str> {
    // A table that is not there names nothing; offset 0 is the empty name in every table.
    if offset == 0 {
        return Ok("");
    }
    let tail = table.get(offset as usize..).unwrap_or(&[]);
    let tail = &tail[..tail.len().min(MAX_NAME_BYTES)];
    let len = tail.iter().position(|&byte| byte == 0);
    len.and_then(|len| std::str::from_utf8(&tail[..len]).ok())
        .ok_or_else(|| LinkError::malformed("a name lies outside its table or is not text"))
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Parsed<[u8; N]> {
    bytes
        .get(at..)
        .and_then(|tail| tail.first_chunk())
        .copied()
        .ok_or_else(|| LinkError::malformed("a table entry is cut off"))
}

fn read_u16(bytes: &[u8], at: usize) -> Parsed<u16> {
    field(bytes, at).map(u16::from_le_bytes)
}

pub fn read_u32(bytes: &[u8], at: usize) -> Parsed<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn read_u64(bytes: &[u8], at: usize) -> Parsed<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}
