//! Relocation records: which exist, and what they need from the layout.

use std::collections::{HashMap, HashSet};

use super::error::LinkError;
use super::object::{
    FLAG_WRITE, Object, Place, Relocation, SECTION_NO_BITS, SECTION_RELOCATIONS,
    SECTION_RELOCATIONS_ADDEND,
};

/// Records that remain for the loader, as "User Guide for AMDGPU Backend", "Relocation Records" numbers them.
pub const ABSOLUTE_64: u32 = 3;
pub const RELATIVE_64: u32 = 13;

/// How the bytes of a record are computed; S symbol, A addend, P place, G its entry in the global offset table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// S + A, left to the loader where S is an address.
    Absolute64,
    /// S + A - P.
    Relative(Field),
    /// G + A - P.
    Table(Field),
}

/// Which bits of the value are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// All, as a signed number of 32 bits.
    Word,
    Low,
    High,
    Whole64,
}

impl Field {
    fn bytes(self) -> u64 {
        match self {
            Self::Word | Self::Low | Self::High => 4,
            Self::Whole64 => 8,
        }
    }
}

/// The kinds of the user guide that objects of LLVM have.
fn kind_of(number: u32) -> Option<Kind> {
    Some(match number {
        ABSOLUTE_64 => Kind::Absolute64,
        4 => Kind::Relative(Field::Word),
        5 => Kind::Relative(Field::Whole64),
        7 => Kind::Table(Field::Word),
        8 => Kind::Table(Field::Low),
        9 => Kind::Table(Field::High),
        10 => Kind::Relative(Field::Low),
        11 => Kind::Relative(Field::High),
        _ => return None,
    })
}

fn name_of(number: u32) -> String {
    match number {
        1 => "R_AMDGPU_ABS32_LO".to_owned(),
        2 => "R_AMDGPU_ABS32_HI".to_owned(),
        ABSOLUTE_64 => "R_AMDGPU_ABS64".to_owned(),
        6 => "R_AMDGPU_ABS32".to_owned(),
        RELATIVE_64 => "R_AMDGPU_RELATIVE64".to_owned(),
        14 => "R_AMDGPU_REL16".to_owned(),
        other => format!("R_AMDGPU number {other}"),
    }
}

/// The relocations of one loaded section.
pub struct Records {
    pub section: usize,
    pub records: Vec<(Relocation, Kind)>,
}

/// What all relocations together need.
pub struct Plan {
    pub sections: Vec<Records>,
    /// Symbols with an entry in the global offset table, in the order of their first use.
    pub table: Vec<usize>,
    pub table_index: HashMap<usize, usize>,
    /// Records left to the loader.
    pub dynamic_count: usize,
}

impl Plan {
    pub fn of(object: &Object<'_>) -> Result<Self, LinkError> {
        let mut plan = Self {
            sections: Vec::new(),
            table: Vec::new(),
            table_index: HashMap::new(),
            dynamic_count: 0,
        };
        // A second list for the same bytes would make the result depend on the order.
        let mut seen = HashSet::new();
        for section in &object.sections {
            let target_index = section.info as usize;
            let is_list = matches!(
                section.kind,
                SECTION_RELOCATIONS | SECTION_RELOCATIONS_ADDEND
            );
            let Some(target) = object.sections.get(target_index).filter(|_| is_list) else {
                if is_list {
                    return Err(LinkError::malformed(format!(
                        "{} is for section {target_index}, which is not there",
                        section.name
                    )));
                }
                continue;
            };
            if !target.is_loaded() {
                continue;
            }
            if section.kind == SECTION_RELOCATIONS {
                return Err(LinkError::Unsupported(format!(
                    "relocations without addends in {}",
                    section.name
                )));
            }
            if !seen.insert(target_index) || target.kind == SECTION_NO_BITS {
                return Err(LinkError::malformed(format!(
                    "{} cannot change {}",
                    section.name, target.name
                )));
            }
            plan.add(object, target_index, object.relocations(section)?)?;
        }
        Ok(plan)
    }

    fn add(
        &mut self,
        object: &Object<'_>,
        section: usize,
        list: Vec<Relocation>,
    ) -> Result<(), LinkError> {
        let target = &object.sections[section];
        let mut records = Vec::with_capacity(list.len());
        for record in list {
            if record.kind == 0 {
                continue;
            }
            let kind = kind_of(record.kind).ok_or_else(|| {
                LinkError::Unsupported(format!(
                    "the relocation {} in {}",
                    name_of(record.kind),
                    target.name
                ))
            })?;
            let symbol = &object.symbols[record.symbol];
            let is_address = match symbol.place {
                Place::Absolute => false,
                Place::Section(index) if object.sections[index].is_loaded() => true,
                _ => {
                    return Err(LinkError::malformed(format!(
                        "a relocation in {} names the symbol '{}', which has no address",
                        target.name, symbol.name
                    )));
                }
            };
            let field = match kind {
                Kind::Absolute64 => Field::Whole64,
                Kind::Relative(field) | Kind::Table(field) => field,
            };
            let end = record.offset.checked_add(field.bytes());
            if end.is_none_or(|end| end > target.data.len() as u64) {
                return Err(LinkError::malformed(format!(
                    "a relocation lies past the end of {}",
                    target.name
                )));
            }
            match kind {
                Kind::Absolute64 if is_address => {
                    if target.flags & FLAG_WRITE == 0 {
                        return Err(LinkError::Unsupported(format!(
                            "the address of '{}' (R_AMDGPU_ABS64) in the read-only section {}",
                            symbol.name, target.name
                        )));
                    }
                    self.dynamic_count += 1;
                }
                Kind::Table(_) if !self.table_index.contains_key(&record.symbol) => {
                    self.table_index.insert(record.symbol, self.table.len());
                    self.table.push(record.symbol);
                    self.dynamic_count += usize::from(is_address);
                }
                _ => {}
            }
            records.push((record, kind));
        }
        self.sections.push(Records { section, records });
        Ok(())
    }
}

/// A record for the loader.
pub struct DynamicRecord {
    pub address: u64,
    pub kind: u32,
    /// Index in the dynamic symbol table; 0 for none.
    pub symbol: usize,
    pub addend: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the user guide for the AMDGPU backend of LLVM, "Relocation Records".
    #[test]
    fn relocations_have_the_names_of_the_user_guide() {
        for (number, name) in [
            (1, "R_AMDGPU_ABS32_LO"),
            (2, "R_AMDGPU_ABS32_HI"),
            (3, "R_AMDGPU_ABS64"),
            (6, "R_AMDGPU_ABS32"),
            (13, "R_AMDGPU_RELATIVE64"),
            (14, "R_AMDGPU_REL16"),
            (99, "R_AMDGPU number 99"),
        ] {
            assert_eq!(name_of(number), name);
        }
        let known: Vec<u32> = (0..20)
            .filter(|number| kind_of(*number).is_some())
            .collect();
        assert_eq!(known, [3, 4, 5, 7, 8, 9, 10, 11]);
    }
}
