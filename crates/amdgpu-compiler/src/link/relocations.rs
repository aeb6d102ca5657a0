//! Applies relocations: the bytes that they change, and what is left to the loader.

use super::error::LinkError;
use super::layout::Layout;
use super::object::{Object, Place};
use super::plan::{ABSOLUTE_64, DynamicRecord, Field, Kind, Plan, RELATIVE_64};
use super::symbols::DynamicSymbols;

/// Changes the bytes of the layout, and collects what the loader has to do.
pub fn apply(
    object: &Object<'_>,
    plan: &Plan,
    symbols: &DynamicSymbols,
    layout: &mut Layout,
) -> Result<(), LinkError> {
    let mut left = Vec::with_capacity(plan.dynamic_count);
    let mut leave = |address: u64, symbol: usize, addend: u64, value: u64| {
        let exported = symbols.index_of(symbol);
        left.push(
            match exported.filter(|_| object.symbols[symbol].is_preemptible()) {
                Some(index) => DynamicRecord {
                    address,
                    kind: ABSOLUTE_64,
                    symbol: index,
                    addend,
                },
                None => DynamicRecord {
                    address,
                    kind: RELATIVE_64,
                    symbol: 0,
                    addend: value.wrapping_add(addend),
                },
            },
        );
    };
    let table_address = layout.table_address();
    for (index, &symbol) in plan.table.iter().enumerate() {
        let value = value_of(object, layout, symbol)?;
        if object.symbols[symbol].place == Place::Absolute {
            layout.write_table(index, value);
        } else {
            leave(table_address + index as u64 * 8, symbol, 0, value);
        }
    }
    for records in &plan.sections {
        let section_name = object.sections[records.section].name;
        let place = layout.address_of_section(records.section).unwrap_or(0);
        for (record, kind) in &records.records {
            let value = value_of(object, layout, record.symbol)?;
            let address = place + record.offset;
            let addend = record.addend as u64;
            let (result, field) = match kind {
                Kind::Absolute64 if object.symbols[record.symbol].place != Place::Absolute => {
                    leave(address, record.symbol, addend, value);
                    continue;
                }
                Kind::Absolute64 => (value.wrapping_add(addend), Field::Whole64),
                Kind::Relative(field) => (value.wrapping_add(addend).wrapping_sub(address), *field),
                Kind::Table(field) => {
                    let entry = table_address + plan.table_index[&record.symbol] as u64 * 8;
                    (entry.wrapping_add(addend).wrapping_sub(address), *field)
                }
            };
            let bytes = stored_bytes(result, field, section_name)?;
            layout.write(records.section, record.offset, &bytes);
        }
    }
    // Records without a symbol come first, so that a loader can do them without looking anything up.
    left.sort_by_key(|record| (record.symbol != 0, record.address));
    layout.set_dynamic_records(&left);
    Ok(())
}

/// The bytes of a value that are stored.
fn stored_bytes(value: u64, field: Field, section_name: &str) -> Result<Vec<u8>, LinkError> {
    Ok(match field {
        Field::Whole64 => value.to_le_bytes().to_vec(),
        Field::Low => (value as u32).to_le_bytes().to_vec(),
        Field::High => ((value >> 32) as u32).to_le_bytes().to_vec(),
        Field::Word => {
            let word = i32::try_from(value as i64).map_err(|_| {
                LinkError::malformed(format!(
                    "a relocation in {section_name} reaches {} bytes, more than 32 bits hold",
                    value as i64
                ))
            })?;
            word.to_le_bytes().to_vec()
        }
    })
}

fn value_of(object: &Object<'_>, layout: &Layout, symbol: usize) -> Result<u64, LinkError> {
    layout.address_of(&object.symbols[symbol]).ok_or_else(|| {
        LinkError::malformed(format!(
            "the symbol '{}' has no address",
            object.symbols[symbol].name
        ))
    })
}
