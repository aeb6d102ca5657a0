//! A reader of 64-bit little-endian ELF files (System V gABI, chapters 4 and 5). It trusts nothing: every offset is checked against the
//! bytes that are there, and what does not fit is an error with a sentence.

/// Object files of kernels are kilobytes; a file past this is not one.
const MAX_FILE_BYTES: usize = 256 << 20;

pub(crate) const TYPE_RELOCATABLE: u16 = 1;
pub(crate) const TYPE_SHARED: u16 = 3;
pub(crate) const MACHINE_X86_64: u16 = 62;
pub(crate) const MACHINE_AMDGPU: u16 = 224;

pub(crate) const SECTION_SYMBOLS: u32 = 2;
pub(crate) const SECTION_RELOCATIONS_ADDEND: u32 = 4;
pub(crate) const SECTION_NOTE: u32 = 7;
pub(crate) const SECTION_NO_BITS: u32 = 8;
pub(crate) const SECTION_RELOCATIONS: u32 = 9;
pub(crate) const SECTION_DYNAMIC_SYMBOLS: u32 = 11;

pub(crate) const FLAG_WRITE: u64 = 1;
pub(crate) const FLAG_ALLOCATE: u64 = 2;
pub(crate) const FLAG_EXECUTE: u64 = 4;
pub(crate) const FLAG_THREAD_LOCAL: u64 = 0x400;

pub(crate) const INDEX_UNDEFINED: u16 = 0;
pub(crate) const INDEX_ABSOLUTE: u16 = 0xfff1;
pub(crate) const INDEX_RESERVED: u16 = 0xff00;

pub(crate) const SYMBOL_OBJECT: u8 = 1;
pub(crate) const SYMBOL_FUNCTION: u8 = 2;
pub(crate) const SYMBOL_INDIRECT_FUNCTION: u8 = 10;
pub(crate) const BINDING_LOCAL: u8 = 0;

const HEADER_BYTES: usize = 64;
const SECTION_HEADER_BYTES: u64 = 64;
const SYMBOL_BYTES: usize = 24;
const RELOCATION_BYTES: usize = 24;

type Parsed<T> = Result<T, String>;

/// A parsed file.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    pub file_type: u16,
    pub machine: u16,
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub name: &'a str,
    pub kind: u8,
    pub binding: u8,
    pub section: u16,
    pub value: u64,
    pub size_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub offset: u64,
    pub kind: u32,
    pub symbol: u32,
    pub addend: i64,
}

impl<'a> Object<'a> {
    /// Whether the bytes claim to be ELF at all.
    pub fn is_elf(bytes: &[u8]) -> bool {
        bytes.starts_with(b"\x7fELF")
    }

    pub fn parse(bytes: &'a [u8]) -> Parsed<Self> {
        if !Self::is_elf(bytes) {
            return Err("it does not begin with the ELF magic number".to_string());
        }
        if bytes.len() > MAX_FILE_BYTES {
            return Err(format!(
                "it has {} bytes, the limit is {MAX_FILE_BYTES}",
                bytes.len()
            ));
        }
        let header = bytes
            .get(..HEADER_BYTES)
            .ok_or("the ELF header is cut off")?;
        if header[4] != 2 || header[5] != 1 {
            return Err("it is not a 64-bit little-endian ELF file".to_string());
        }
        let table_offset = read_u64(header, 40)?;
        let entry_bytes = read_u16(header, 58)?;
        let count = read_u16(header, 60)?;
        let names_index = read_u16(header, 62)?;
        if u64::from(entry_bytes) != SECTION_HEADER_BYTES || count == 0 {
            return Err("it has no usable section table".to_string());
        }
        let table = slice(
            bytes,
            table_offset,
            u64::from(count) * SECTION_HEADER_BYTES,
            "the section table",
        )?;
        let mut sections = Vec::with_capacity(usize::from(count));
        let mut name_offsets = Vec::with_capacity(usize::from(count));
        for entry in table.chunks_exact(SECTION_HEADER_BYTES as usize) {
            name_offsets.push(read_u32(entry, 0)?);
            sections.push(Section::read(bytes, entry)?);
        }
        let names = sections
            .get(usize::from(names_index))
            .map_or(&[][..], |section| section.data);
        for (section, offset) in sections.iter_mut().zip(name_offsets) {
            section.name = text_at(names, offset);
        }
        Ok(Self {
            file_type: read_u16(header, 16)?,
            machine: read_u16(header, 18)?,
            flags: read_u32(header, 48)?,
            sections,
        })
    }

    /// The symbols of a symbol table section.
    pub fn symbols(&self, table: &Section<'a>) -> Parsed<Vec<Symbol<'a>>> {
        let names = self
            .sections
            .get(table.link as usize)
            .ok_or("the symbol table has no string table")?;
        table
            .data
            .chunks_exact(SYMBOL_BYTES)
            .map(|entry| {
                let info = entry[4];
                Ok(Symbol {
                    name: text_at(names.data, read_u32(entry, 0)?),
                    kind: info & 0xf,
                    binding: info >> 4,
                    section: read_u16(entry, 6)?,
                    value: read_u64(entry, 8)?,
                    size_bytes: read_u64(entry, 16)?,
                })
            })
            .collect()
    }

    /// The entries of a relocation section with addends.
    pub fn relocations(section: &Section<'_>) -> Parsed<Vec<Relocation>> {
        section
            .data
            .chunks_exact(RELOCATION_BYTES)
            .map(|entry| {
                let info = read_u64(entry, 8)?;
                Ok(Relocation {
                    offset: read_u64(entry, 0)?,
                    kind: info as u32,
                    symbol: (info >> 32) as u32,
                    addend: read_u64(entry, 16)? as i64,
                })
            })
            .collect()
    }
}

impl<'a> Section<'a> {
    fn read(bytes: &'a [u8], entry: &[u8]) -> Parsed<Self> {
        let kind = read_u32(entry, 4)?;
        let offset = read_u64(entry, 24)?;
        let size_bytes = read_u64(entry, 32)?;
        let data = if kind == SECTION_NO_BITS || kind == 0 {
            &[][..]
        } else {
            slice(bytes, offset, size_bytes, "a section")?
        };
        Ok(Self {
            name: "",
            kind,
            flags: read_u64(entry, 8)?,
            size_bytes,
            link: read_u32(entry, 40)?,
            info: read_u32(entry, 44)?,
            align_bytes: read_u64(entry, 48)?,
            data,
        })
    }
}

fn slice<'a>(bytes: &'a [u8], offset: u64, len: u64, what: &str) -> Parsed<&'a [u8]> {
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(len).ok())
        .and_then(|(begin, len)| Some(begin..begin.checked_add(len)?));
    range
        .and_then(|range| bytes.get(range))
        .ok_or_else(|| format!("{what} lies outside the file"))
}

/// Text up to the zero byte; empty when it is not there or not UTF-8.
fn text_at(table: &[u8], offset: u32) -> &str {
    let tail = table.get(offset as usize..).unwrap_or(&[]);
    let len = tail.iter().position(|&byte| byte == 0).unwrap_or(0);
    std::str::from_utf8(&tail[..len]).unwrap_or("")
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Parsed<[u8; N]> {
    bytes
        .get(at..at + N)
        .and_then(|field| field.try_into().ok())
        .ok_or_else(|| "a table entry is cut off".to_string())
}

fn read_u16(bytes: &[u8], at: usize) -> Parsed<u16> {
    field(bytes, at).map(u16::from_le_bytes)
}

fn read_u32(bytes: &[u8], at: usize) -> Parsed<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn read_u64(bytes: &[u8], at: usize) -> Parsed<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}
