//! 64-bit little-endian ELF files for AMD GPUs. The `object` crate reads the records and checks them against the bytes that are there; what the
//! linker demands of them is checked here.

use ::object::elf::{self, FileHeader64, Rela64, SectionHeader64, Sym64};
use ::object::read::StringTable;
use ::object::read::elf::{FileHeader as _, Rela as _, SectionHeader as _, Sym as _};
use ::object::{LittleEndian, pod};

use super::error::LinkError;

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

pub const HEADER_BYTES: usize = size_of::<Header>();
pub const SECTION_HEADER_BYTES: usize = size_of::<SectionHeader>();
pub const SYMBOL_BYTES: usize = size_of::<Sym64<LittleEndian>>();
pub const RELOCATION_BYTES: usize = size_of::<Rela64<LittleEndian>>();

pub const TYPE_RELOCATABLE: u16 = elf::ET_REL;
pub const TYPE_SHARED: u16 = elf::ET_DYN;
pub const MACHINE_AMDGPU: u16 = elf::EM_AMDGPU;
/// `ELFOSABI_AMDGPU_HSA`, which `object` does not name.
pub const OSABI_AMDGPU_HSA: u8 = 64;

pub const SECTION_PROGRAM_BITS: u32 = elf::SHT_PROGBITS;
pub const SECTION_SYMBOLS: u32 = elf::SHT_SYMTAB;
pub const SECTION_STRINGS: u32 = elf::SHT_STRTAB;
pub const SECTION_RELOCATIONS_ADDEND: u32 = elf::SHT_RELA;
pub const SECTION_HASH: u32 = elf::SHT_HASH;
pub const SECTION_DYNAMIC: u32 = elf::SHT_DYNAMIC;
pub const SECTION_NOTE: u32 = elf::SHT_NOTE;
pub const SECTION_NO_BITS: u32 = elf::SHT_NOBITS;
pub const SECTION_RELOCATIONS: u32 = elf::SHT_REL;
pub const SECTION_DYNAMIC_SYMBOLS: u32 = elf::SHT_DYNSYM;
pub const SECTION_GNU_HASH: u32 = elf::SHT_GNU_HASH;

pub const FLAG_WRITE: u64 = elf::SHF_WRITE as u64;
pub const FLAG_ALLOCATE: u64 = elf::SHF_ALLOC as u64;
pub const FLAG_EXECUTE: u64 = elf::SHF_EXECINSTR as u64;
const FLAG_THREAD_LOCAL: u64 = elf::SHF_TLS as u64;
const FLAG_COMPRESSED: u64 = elf::SHF_COMPRESSED as u64;

pub const INDEX_ABSOLUTE: u16 = elf::SHN_ABS;

pub const SYMBOL_SECTION: u8 = elf::STT_SECTION;
pub const SYMBOL_FILE: u8 = elf::STT_FILE;
pub const BINDING_LOCAL: u8 = elf::STB_LOCAL;

const ENDIAN: LittleEndian = LittleEndian;

type Header = FileHeader64<LittleEndian>;
type SectionHeader = SectionHeader64<LittleEndian>;
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
        let header = header_of(bytes)?;
        let mut object = Self {
            file_type: header.e_type(ENDIAN),
            abi_version: header.e_ident.abi_version,
            file_bytes: bytes.len(),
            flags: header.e_flags(ENDIAN),
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
        let entries: &[Sym64<LittleEndian>] = pod::slice_from_all_bytes(table.data)
            .map_err(|()| LinkError::malformed("the symbol table is cut off"))?;
        entries
            .iter()
            .map(|entry| {
                let symbol = Symbol {
                    name: text_at(names.data, entry.st_name(ENDIAN))?,
                    kind: entry.st_type(),
                    binding: entry.st_bind(),
                    other: entry.st_other(),
                    place: match entry.st_shndx(ENDIAN) {
                        elf::SHN_UNDEF => Place::Undefined,
                        INDEX_ABSOLUTE => Place::Absolute,
                        index if index >= elf::SHN_LORESERVE => Place::Reserved(index),
                        index => Place::Section(usize::from(index)),
                    },
                    value: entry.st_value(ENDIAN),
                    size_bytes: entry.st_size(ENDIAN),
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
        let entries: &[Rela64<LittleEndian>] = pod::slice_from_all_bytes(section.data)
            .map_err(|()| LinkError::malformed(format!("{} is cut off", section.name)))?;
        entries
            .iter()
            .map(|entry| {
                let symbol = entry.r_sym(ENDIAN, false) as usize;
                if symbol >= self.symbols.len() {
                    return Err(LinkError::malformed(format!(
                        "{} names symbol {symbol}, there are {}",
                        section.name,
                        self.symbols.len()
                    )));
                }
                Ok(Relocation {
                    offset: entry.r_offset(ENDIAN),
                    kind: entry.r_type(ENDIAN, false),
                    symbol,
                    addend: entry.r_addend(ENDIAN),
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
    fn visibility(&self) -> u8 {
        // `ELF64_ST_VISIBILITY`.
        self.other & 3
    }

    /// Whether code outside the object may see it.
    pub fn is_exported(&self) -> bool {
        self.binding != BINDING_LOCAL
            && matches!(self.visibility(), elf::STV_DEFAULT | elf::STV_PROTECTED)
    }

    /// Whether the rules of ELF let a symbol of another object take its place.
    pub fn is_preemptible(&self) -> bool {
        self.binding != BINDING_LOCAL && self.visibility() == elf::STV_DEFAULT
    }
}

fn header_of(bytes: &[u8]) -> Parsed<&Header> {
    if !bytes.starts_with(&elf::ELFMAG) {
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
    if bytes.len() < HEADER_BYTES {
        return Err(LinkError::malformed("the ELF header is cut off"));
    }
    let header = Header::parse(bytes).map_err(|_| {
        LinkError::malformed("it is not a 64-bit little-endian ELF file of version 1")
    })?;
    let (machine, os_abi) = (header.e_machine(ENDIAN), header.e_ident.os_abi);
    if machine != MACHINE_AMDGPU || os_abi != OSABI_AMDGPU_HSA {
        return Err(LinkError::malformed(format!(
            "it is for ELF machine {machine} and OS ABI {os_abi}, an AMD GPU under HSA has {MACHINE_AMDGPU} and {OSABI_AMDGPU_HSA}"
        )));
    }
    Ok(header)
}

fn sections<'a>(bytes: &'a [u8], header: &Header) -> Parsed<Vec<Section<'a>>> {
    let headers = header.section_headers(ENDIAN, bytes).map_err(unreadable)?;
    if headers.is_empty() || headers.len() > MAX_SECTIONS {
        return Err(LinkError::malformed(format!(
            "its section table has {} entries; 1 to {MAX_SECTIONS} are possible",
            headers.len()
        )));
    }
    let mut sections = Vec::with_capacity(headers.len());
    for header in headers {
        let kind = header.sh_type(ENDIAN);
        sections.push(Section {
            name: "",
            kind,
            flags: header.sh_flags(ENDIAN),
            size_bytes: header.sh_size(ENDIAN),
            link: header.sh_link(ENDIAN),
            info: header.sh_info(ENDIAN),
            align_bytes: header.sh_addralign(ENDIAN),
            data: if kind == elf::SHT_NULL {
                &[]
            } else {
                header.data(ENDIAN, bytes).map_err(unreadable)?
            },
        });
    }
    let names = header.shstrndx(ENDIAN, bytes).map_err(unreadable)?;
    let names = sections.get(names as usize);
    let names = names.map_or(&[][..], |section| section.data);
    for (section, header) in sections.iter_mut().zip(headers) {
        section.name = text_at(names, header.sh_name(ENDIAN))?;
    }
    Ok(sections)
}

fn text_at(table: &[u8], offset: u32) -> Parsed<&str> {
    // A table that is not there names nothing; offset 0 is the empty name in every table.
    if offset == 0 {
        return Ok("");
    }
    let end = table.len().min(offset as usize + MAX_NAME_BYTES);
    let bytes = StringTable::new(table, 0, end as u64).get(offset).ok();
    bytes
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .ok_or_else(|| LinkError::malformed("a name lies outside its table or is not text"))
}

fn unreadable(error: ::object::read::Error) -> LinkError {
    LinkError::malformed(format!("it is damaged: {error}"))
}
