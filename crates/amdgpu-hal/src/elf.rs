//! 64-bit little-endian ELF files (System V gABI, chapters 4 and 5) as modules need them. The `object` crate reads the records and checks them
//! against the bytes that are there; what does not fit is an error with a sentence.

use object::elf::{self, FileHeader64, Rela64, SectionHeader64, Sym64};
use object::read::StringTable;
use object::read::elf::{FileHeader as _, Rela as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, pod};

/// Object files of kernels are kilobytes; a file past this is not one.
const MAX_FILE_BYTES: usize = 256 << 20;

pub(crate) const TYPE_RELOCATABLE: u16 = elf::ET_REL;
pub(crate) const TYPE_SHARED: u16 = elf::ET_DYN;
pub(crate) const MACHINE_X86_64: u16 = elf::EM_X86_64;
pub(crate) const MACHINE_AMDGPU: u16 = elf::EM_AMDGPU;

pub(crate) const SECTION_SYMBOLS: u32 = elf::SHT_SYMTAB;
pub(crate) const SECTION_RELOCATIONS_ADDEND: u32 = elf::SHT_RELA;
pub(crate) const SECTION_NOTE: u32 = elf::SHT_NOTE;
pub(crate) const SECTION_NO_BITS: u32 = elf::SHT_NOBITS;
pub(crate) const SECTION_RELOCATIONS: u32 = elf::SHT_REL;
pub(crate) const SECTION_DYNAMIC_SYMBOLS: u32 = elf::SHT_DYNSYM;

pub(crate) const FLAG_WRITE: u64 = elf::SHF_WRITE as u64;
pub(crate) const FLAG_ALLOCATE: u64 = elf::SHF_ALLOC as u64;
pub(crate) const FLAG_EXECUTE: u64 = elf::SHF_EXECINSTR as u64;
pub(crate) const FLAG_THREAD_LOCAL: u64 = elf::SHF_TLS as u64;

pub(crate) const INDEX_UNDEFINED: u16 = elf::SHN_UNDEF;
pub(crate) const INDEX_ABSOLUTE: u16 = elf::SHN_ABS;
pub(crate) const INDEX_RESERVED: u16 = elf::SHN_LORESERVE;

pub(crate) const SYMBOL_OBJECT: u8 = elf::STT_OBJECT;
pub(crate) const SYMBOL_FUNCTION: u8 = elf::STT_FUNC;
pub(crate) const SYMBOL_INDIRECT_FUNCTION: u8 = elf::STT_GNU_IFUNC;
pub(crate) const BINDING_LOCAL: u8 = elf::STB_LOCAL;

const ENDIAN: LittleEndian = LittleEndian;

type Header = FileHeader64<LittleEndian>;
type SectionHeader = SectionHeader64<LittleEndian>;
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
        bytes.starts_with(&elf::ELFMAG)
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
        if bytes.len() < size_of::<Header>() {
            return Err("the ELF header is cut off".to_string());
        }
        let header = Header::parse(bytes)
            .map_err(|_| "it is not a 64-bit little-endian ELF file".to_string())?;
        let headers = header.section_headers(ENDIAN, bytes).map_err(unreadable)?;
        if headers.is_empty() {
            return Err("it has no usable section table".to_string());
        }
        let mut sections = Vec::with_capacity(headers.len());
        for section in headers {
            sections.push(Section::read(bytes, section)?);
        }
        // A file without names is unusual and not wrong.
        let names = header.shstrndx(ENDIAN, bytes).ok();
        let names = names.and_then(|index| sections.get(index as usize));
        let names = strings(names.map_or(&[], |section| section.data));
        for (section, header) in sections.iter_mut().zip(headers) {
            section.name = text_at(names, header.sh_name(ENDIAN));
        }
        Ok(Self {
            file_type: header.e_type(ENDIAN),
            machine: header.e_machine(ENDIAN),
            flags: header.e_flags(ENDIAN),
            sections,
        })
    }

    /// The symbols of a symbol table section.
    pub fn symbols(&self, table: &Section<'a>) -> Parsed<Vec<Symbol<'a>>> {
        let names = self
            .sections
            .get(table.link as usize)
            .ok_or("the symbol table has no string table")?;
        let names = strings(names.data);
        let symbol = |entry: &Sym64<LittleEndian>| Symbol {
            name: text_at(names, entry.st_name(ENDIAN)),
            kind: entry.st_type(),
            binding: entry.st_bind(),
            section: entry.st_shndx(ENDIAN),
            value: entry.st_value(ENDIAN),
            size_bytes: entry.st_size(ENDIAN),
        };
        Ok(table.entries()?.iter().map(symbol).collect())
    }

    /// The entries of a relocation section with addends.
    pub fn relocations(section: &Section<'_>) -> Parsed<Vec<Relocation>> {
        let relocation = |entry: &Rela64<LittleEndian>| Relocation {
            offset: entry.r_offset(ENDIAN),
            kind: entry.r_type(ENDIAN, false),
            symbol: entry.r_sym(ENDIAN, false),
            addend: entry.r_addend(ENDIAN),
        };
        Ok(section.entries()?.iter().map(relocation).collect())
    }
}

impl<'a> Section<'a> {
    fn read(bytes: &'a [u8], header: &SectionHeader) -> Parsed<Self> {
        let kind = header.sh_type(ENDIAN);
        let data = if kind == elf::SHT_NULL {
            &[][..]
        } else {
            header.data(ENDIAN, bytes).map_err(unreadable)?
        };
        Ok(Self {
            name: "",
            kind,
            flags: header.sh_flags(ENDIAN),
            size_bytes: header.sh_size(ENDIAN),
            link: header.sh_link(ENDIAN),
            info: header.sh_info(ENDIAN),
            align_bytes: header.sh_addralign(ENDIAN),
            data,
        })
    }

    /// The records that the section consists of.
    fn entries<T: pod::Pod>(&self) -> Parsed<&'a [T]> {
        pod::slice_from_all_bytes(self.data)
            .map_err(|()| format!("the last record of section {} is cut off", self.name))
    }
}

fn strings(data: &[u8]) -> StringTable<'_> {
    StringTable::new(data, 0, data.len() as u64)
}

/// Text up to the zero byte; empty when it is not there or not UTF-8.
fn text_at(strings: StringTable<'_>, offset: u32) -> &str {
    let bytes = strings.get(offset).unwrap_or_default();
    std::str::from_utf8(bytes).unwrap_or_default()
}

fn unreadable(error: object::read::Error) -> String {
    format!("it is damaged: {error}")
}
