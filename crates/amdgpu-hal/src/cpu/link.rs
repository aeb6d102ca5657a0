//! Turns a relocatable ELF object (x86-64 psABI, version 1.0) into code in memory.
//!
//! Sections are grouped by protection: code with the jump stubs for functions of the host, read-only data with the global offset table,
//! writable data. Relocations are applied while everything is still writable.

use std::collections::BTreeMap;
use std::ops::Range;

use super::checked;
use super::mapping::{Mapping, Protection};
use super::memory::page_bytes;
use crate::elf::{self, Object, Relocation, Section, Symbol};
use crate::{Error, Result};

/// Code and data of one module; kernels are kilobytes.
const MAX_IMAGE_BYTES: usize = 256 << 20;
/// `jmp *displacement(%rip)` and padding to a 16-byte boundary.
const STUB_BYTES: usize = 16;
const GOT_ENTRY_BYTES: usize = 8;

const R_64: u32 = 1;
const R_PC32: u32 = 2;
const R_PLT32: u32 = 4;
const R_GOTPCREL: u32 = 9;
const R_32: u32 = 10;
const R_32S: u32 = 11;
const R_PC64: u32 = 24;
const R_GOTPCRELX: u32 = 41;
const R_REX_GOTPCRELX: u32 = 42;

type Linked<T> = std::result::Result<T, String>;

/// A loaded object.
#[derive(Debug)]
pub(super) struct Image {
    // The code stays mapped as long as the image lives.
    mapping: Mapping,
    /// Global functions by name.
    functions: BTreeMap<String, *const u8>,
    /// Global variables by name, with their sizes.
    variables: BTreeMap<String, (*const u8, u64)>,
}

// SAFETY: the pointers lead into the mapping, which lives as long and is itself `Send` and `Sync`.
unsafe impl Send for Image {}
// SAFETY: see `Send`.
unsafe impl Sync for Image {}

impl Image {
    /// Loads the bytes of a relocatable object.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let invalid = |reason| Error::InvalidModule { reason };
        let object = Object::parse(bytes).map_err(invalid)?;
        let plan = Plan::new(&object).map_err(invalid)?;
        let mut mapping = Mapping::new(plan.size_bytes)?;
        plan.write(&object, &mut mapping).map_err(invalid)?;
        for (protection, range) in &plan.groups {
            mapping.protect(range.clone(), *protection)?;
        }
        let functions = plan.functions(mapping.base()).map_err(invalid)?;
        let variables = plan.variables(mapping.base()).map_err(invalid)?;
        Ok(Self {
            mapping,
            functions,
            variables,
        })
    }

    /// Addresses of code and data.
    pub fn range(&self) -> Range<u64> {
        let base = self.mapping.base().expose_provenance() as u64;
        base..base + self.mapping.len_bytes() as u64
    }

    /// The address of a global function.
    pub fn function(&self, name: &str) -> Option<*const u8> {
        self.functions.get(name).copied()
    }

    /// Address and size of a global variable.
    pub fn variable(&self, name: &str) -> Option<(*const u8, u64)> {
        self.variables.get(name).copied()
    }

    /// Names of the global variables, sorted.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Names of the global functions, sorted.
    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}

/// Where everything goes, as offsets into the mapping.
struct Plan<'a> {
    symbols: Vec<Symbol<'a>>,
    /// Relocations with the index of the section they change.
    relocations: Vec<(usize, Relocation)>,
    /// By section index; `None` for what is not loaded.
    section_offsets: Vec<Option<usize>>,
    section_sizes: Vec<u64>,
    /// By symbol index.
    got_offsets: BTreeMap<u32, usize>,
    stub_offsets: BTreeMap<u32, usize>,
    groups: Vec<(Protection, Range<usize>)>,
    size_bytes: usize,
}

impl<'a> Plan<'a> {
    fn new(object: &Object<'a>) -> Linked<Self> {
        check_header(object)?;
        let mut plan = Self {
            symbols: Vec::new(),
            relocations: Vec::new(),
            section_offsets: vec![None; object.sections.len()],
            section_sizes: object
                .sections
                .iter()
                .map(|section| section.size_bytes)
                .collect(),
            got_offsets: BTreeMap::new(),
            stub_offsets: BTreeMap::new(),
            groups: Vec::new(),
            size_bytes: 0,
        };
        let protections = object
            .sections
            .iter()
            .map(protection)
            .collect::<Linked<Vec<_>>>()?;
        plan.collect(object, &protections)?;
        plan.place(object, &protections)?;
        Ok(plan)
    }

    /// Gathers symbols and the relocations of loaded sections, and which of them need table entries.
    fn collect(&mut self, object: &Object<'a>, protections: &[Option<Protection>]) -> Linked<()> {
        let mut tables = object
            .sections
            .iter()
            .enumerate()
            .filter(|(_, section)| section.kind == elf::SECTION_SYMBOLS);
        let symbol_table = tables.next();
        if tables.next().is_some() {
            return Err("it has more than one symbol table".to_string());
        }
        if let Some((_, section)) = symbol_table {
            self.symbols = object.symbols(section)?;
        }
        for section in &object.sections {
            let target = section.info as usize;
            let loaded = protections.get(target).is_some_and(Option::is_some);
            match section.kind {
                elf::SECTION_RELOCATIONS if loaded => {
                    return Err(
                        "it has relocations without addends, which x86-64 does not use".to_string(),
                    );
                }
                elf::SECTION_RELOCATIONS_ADDEND if loaded => {
                    if symbol_table.is_none_or(|(index, _)| index != section.link as usize) {
                        return Err(
                            "relocations refer to a symbol table that is not there".to_string()
                        );
                    }
                    for relocation in Object::relocations(section)? {
                        self.note_tables(&relocation)?;
                        self.relocations.push((target, relocation));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn note_tables(&mut self, relocation: &Relocation) -> Linked<()> {
        let symbol = self.symbol(relocation.symbol)?;
        match relocation.kind {
            R_GOTPCREL | R_GOTPCRELX | R_REX_GOTPCRELX => {
                self.got_offsets.insert(relocation.symbol, 0);
            }
            // A function of the host may be further away than 32 bits reach, so calls go through a stub next to the code.
            R_PC32 | R_PLT32
                if symbol.section == elf::INDEX_UNDEFINED && relocation.symbol != 0 =>
            {
                self.got_offsets.insert(relocation.symbol, 0);
                self.stub_offsets.insert(relocation.symbol, 0);
            }
            _ => {}
        }
        Ok(())
    }

    /// Assigns offsets, group by group.
    fn place(&mut self, object: &Object<'a>, protections: &[Option<Protection>]) -> Linked<()> {
        let mut cursor = 0_usize;
        for group in [Protection::Execute, Protection::Read, Protection::Write] {
            let begin = cursor;
            for (index, section) in object.sections.iter().enumerate() {
                if protections[index] == Some(group) {
                    let align = alignment(section)?;
                    let offset = cursor.next_multiple_of(align);
                    self.section_offsets[index] = Some(offset);
                    cursor = advance(offset, section.size_bytes)?;
                }
            }
            let (table, entry_bytes) = match group {
                Protection::Execute => (&mut self.stub_offsets, STUB_BYTES),
                Protection::Read => (&mut self.got_offsets, GOT_ENTRY_BYTES),
                Protection::Write => (&mut BTreeMap::new(), 1),
            };
            for offset in table.values_mut() {
                *offset = cursor.next_multiple_of(entry_bytes);
                cursor = advance(*offset, entry_bytes as u64)?;
            }
            let end = cursor.next_multiple_of(page_bytes());
            self.groups.push((group, begin..end));
            cursor = end;
        }
        self.size_bytes = cursor;
        Ok(())
    }

    fn symbol(&self, index: u32) -> Linked<&Symbol<'a>> {
        self.symbols
            .get(index as usize)
            .ok_or_else(|| format!("a relocation names symbol {index}, which is not there"))
    }

    /// The address a symbol stands for.
    fn address(&self, index: u32, base: u64) -> Linked<u64> {
        let symbol = self.symbol(index)?;
        if symbol.kind == elf::SYMBOL_INDIRECT_FUNCTION {
            return Err(format!(
                "`{}` is an indirect function, which is not supported",
                symbol.name
            ));
        }
        match symbol.section {
            elf::INDEX_UNDEFINED if index == 0 => Ok(0),
            elf::INDEX_UNDEFINED => host_function(symbol.name)
                .ok_or_else(|| format!("it needs `{}`, which kernels cannot call", symbol.name)),
            elf::INDEX_ABSOLUTE => Ok(symbol.value),
            section if section >= elf::INDEX_RESERVED => Err(format!(
                "`{}` is a common symbol; compile with -fno-common",
                symbol.name
            )),
            section => {
                let index = usize::from(section);
                let offset = self
                    .section_offsets
                    .get(index)
                    .copied()
                    .flatten()
                    .ok_or_else(|| {
                        format!("`{}` lies in a section that is not loaded", symbol.name)
                    })?;
                if symbol.value > self.section_sizes[index] {
                    return Err(format!("`{}` lies outside its section", symbol.name));
                }
                Ok(base + offset as u64 + symbol.value)
            }
        }
    }

    /// Copies the sections and applies every relocation.
    fn write(&self, object: &Object<'a>, mapping: &mut Mapping) -> Linked<()> {
        let base = mapping.base().expose_provenance() as u64;
        let memory = mapping.bytes_mut();
        for (section, offset) in object.sections.iter().zip(&self.section_offsets) {
            if let Some(offset) = *offset {
                memory[offset..offset + section.data.len()].copy_from_slice(section.data);
            }
        }
        for (&symbol, &offset) in &self.got_offsets {
            put(memory, offset, self.address(symbol, base)?.to_le_bytes());
        }
        for (symbol, &offset) in &self.stub_offsets {
            // The displacement counts from the end of the six-byte instruction; both tables lie in one mapping below 2 GiB.
            let displacement = self.got_offsets[symbol] as i64 - (offset as i64 + 6);
            put(memory, offset, [0xff, 0x25]);
            put(memory, offset + 2, (displacement as i32).to_le_bytes());
        }
        self.relocations
            .iter()
            .try_for_each(|(section, relocation)| self.apply(*section, relocation, base, memory))
    }

    fn apply(
        &self,
        section: usize,
        relocation: &Relocation,
        base: u64,
        memory: &mut [u8],
    ) -> Linked<()> {
        let width: u64 = match relocation.kind {
            0 => return Ok(()),
            R_64 | R_PC64 => 8,
            R_PC32 | R_PLT32 | R_GOTPCREL | R_GOTPCRELX | R_REX_GOTPCRELX => 4,
            R_32 | R_32S => {
                return Err(format!(
                    "it holds a 32-bit absolute address (relocation type {}); compile with -fPIC",
                    relocation.kind
                ));
            }
            kind => return Err(format!("relocation type {kind} is not supported")),
        };
        let inside = relocation
            .offset
            .checked_add(width)
            .is_some_and(|end| end <= self.section_sizes[section]);
        let Some(section_offset) = self.section_offsets[section].filter(|_| inside) else {
            return Err("a relocation lies outside its section".to_string());
        };
        let at = section_offset + relocation.offset as usize;
        let place = base + at as u64;
        let target = match relocation.kind {
            R_GOTPCREL | R_GOTPCRELX | R_REX_GOTPCRELX => {
                base + self.got_offsets[&relocation.symbol] as u64
            }
            R_PC32 | R_PLT32 => match self.stub_offsets.get(&relocation.symbol) {
                Some(&stub) => base + stub as u64,
                None => self.address(relocation.symbol, base)?,
            },
            _ => self.address(relocation.symbol, base)?,
        };
        let absolute = target.wrapping_add_signed(relocation.addend);
        match relocation.kind {
            R_64 => put(memory, at, absolute.to_le_bytes()),
            R_PC64 => put(memory, at, absolute.wrapping_sub(place).to_le_bytes()),
            _ => {
                let distance =
                    i128::from(target) + i128::from(relocation.addend) - i128::from(place);
                let distance = i32::try_from(distance)
                    .map_err(|_| "a relative address does not fit into 32 bits".to_string())?;
                put(memory, at, distance.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Global functions that lie in code.
    fn functions(&self, base: *const u8) -> Linked<BTreeMap<String, *const u8>> {
        let (_, code) = &self.groups[0];
        let mut functions = BTreeMap::new();
        for symbol in &self.symbols {
            let global =
                symbol.kind == elf::SYMBOL_FUNCTION && symbol.binding != elf::BINDING_LOCAL;
            if !global || symbol.section == elf::INDEX_UNDEFINED || symbol.name.is_empty() {
                continue;
            }
            let index = usize::from(symbol.section);
            let offset = self.section_offsets.get(index).copied().flatten();
            let Some(offset) = offset.filter(|offset| code.contains(offset)) else {
                return Err(format!("function `{}` does not lie in code", symbol.name));
            };
            if symbol.value >= self.section_sizes[index] {
                return Err(format!(
                    "function `{}` lies outside its section",
                    symbol.name
                ));
            }
            let address = base.wrapping_add(offset + symbol.value as usize);
            if functions.insert(symbol.name.to_string(), address).is_some() {
                return Err(format!("it defines function `{}` twice", symbol.name));
            }
        }
        Ok(functions)
    }
}

impl Plan<'_> {
    /// Global variables that lie in data.
    fn variables(&self, base: *const u8) -> Linked<BTreeMap<String, (*const u8, u64)>> {
        let mut variables = BTreeMap::new();
        for symbol in &self.symbols {
            let is_variable =
                symbol.kind == elf::SYMBOL_OBJECT && symbol.binding != elf::BINDING_LOCAL;
            if !is_variable || symbol.section == elf::INDEX_UNDEFINED || symbol.name.is_empty() {
                continue;
            }
            let index = usize::from(symbol.section);
            let Some(offset) = self.section_offsets.get(index).copied().flatten() else {
                continue;
            };
            let end = symbol.value.checked_add(symbol.size_bytes);
            if end.is_none_or(|end| end > self.section_sizes[index]) {
                return Err(format!("`{}` lies outside its section", symbol.name));
            }
            let address = base.wrapping_add(offset + symbol.value as usize);
            variables.insert(symbol.name.to_string(), (address, symbol.size_bytes));
        }
        Ok(variables)
    }
}

fn check_header(object: &Object<'_>) -> Linked<()> {
    if object.file_type != elf::TYPE_RELOCATABLE {
        return Err(format!(
            "it is an ELF file of type {}, a relocatable object (type 1) is needed",
            object.file_type
        ));
    }
    if !cfg!(target_arch = "x86_64") {
        return Err("objects are loaded on x86-64 only".to_string());
    }
    if object.machine != elf::MACHINE_X86_64 {
        return Err(format!(
            "it is machine code for ELF machine {}, this is an x86-64 processor (62)",
            object.machine
        ));
    }
    Ok(())
}

/// The group a section belongs to; `None` when it is not loaded.
fn protection(section: &Section<'_>) -> Linked<Option<Protection>> {
    /// Unwind tables under their own section type.
    const UNWIND: u32 = 0x7000_0001;
    const PROGRAM_BITS: u32 = 1;
    if section.flags & elf::FLAG_ALLOCATE == 0
        || section.kind == elf::SECTION_NOTE
        || section.kind == UNWIND
        || section.name == ".eh_frame"
    {
        return Ok(None);
    }
    if section.flags & elf::FLAG_THREAD_LOCAL != 0 {
        return Err(format!(
            "section `{}` holds thread-local data, which kernels cannot have",
            section.name
        ));
    }
    if section.kind != PROGRAM_BITS && section.kind != elf::SECTION_NO_BITS {
        return Err(format!(
            "section `{}` has type {}, which is not supported",
            section.name, section.kind
        ));
    }
    let execute = section.flags & elf::FLAG_EXECUTE != 0;
    let write = section.flags & elf::FLAG_WRITE != 0;
    match (execute, write) {
        (true, true) => Err(format!(
            "section `{}` is both writable and executable",
            section.name
        )),
        (true, false) => Ok(Some(Protection::Execute)),
        (false, true) => Ok(Some(Protection::Write)),
        (false, false) => Ok(Some(Protection::Read)),
    }
}

fn alignment(section: &Section<'_>) -> Linked<usize> {
    let align_bytes = section.align_bytes.max(1);
    if align_bytes.is_power_of_two() && align_bytes <= page_bytes() as u64 {
        Ok(align_bytes as usize)
    } else {
        Err(format!(
            "section `{}` asks for an alignment of {align_bytes} bytes",
            section.name
        ))
    }
}

fn advance(offset: usize, size_bytes: u64) -> Linked<usize> {
    usize::try_from(size_bytes)
        .ok()
        .and_then(|size| offset.checked_add(size))
        .filter(|&end| end <= MAX_IMAGE_BYTES)
        .ok_or_else(|| format!("it is larger than {MAX_IMAGE_BYTES} bytes in memory"))
}

fn put<const N: usize>(memory: &mut [u8], at: usize, bytes: [u8; N]) {
    memory[at..at + N].copy_from_slice(&bytes);
}

/// Functions of the host that compilers call on their own account.
fn host_function(name: &str) -> Option<u64> {
    let address = match name {
        "memcpy" => libc::memcpy as *const () as usize,
        "memmove" => libc::memmove as *const () as usize,
        "memset" => libc::memset as *const () as usize,
        "memcmp" => libc::memcmp as *const () as usize,
        other => checked::address_of(other)?,
    };
    Some(address as u64)
}

#[cfg(test)]
mod tests;
