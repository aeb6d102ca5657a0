//! The dynamic symbol table and the dynamic section.

use super::error::LinkError;
use super::layout::Layout;
use super::object::{Object, RELOCATION_BYTES, SYMBOL_BYTES};
use super::symbols::{DynamicSymbols, symbol_record};

// Tags of the dynamic section: gABI, figure 5-10, and the GNU extensions.
const TAG_HASH: u64 = 4;
const TAG_STRINGS: u64 = 5;
const TAG_SYMBOLS: u64 = 6;
const TAG_RELOCATIONS: u64 = 7;
const TAG_RELOCATIONS_BYTES: u64 = 8;
const TAG_RELOCATION_BYTES: u64 = 9;
const TAG_STRINGS_BYTES: u64 = 10;
const TAG_SYMBOL_BYTES: u64 = 11;
const TAG_GNU_HASH: u64 = 0x6fff_fef5;

/// Writes the dynamic symbols and the dynamic section, now that addresses are known.
pub fn fill(
    object: &Object<'_>,
    symbols: &DynamicSymbols,
    layout: &mut Layout,
) -> Result<(), LinkError> {
    let mut table = vec![0; SYMBOL_BYTES];
    for exported in &symbols.exported {
        let symbol = &object.symbols[exported.symbol];
        let address = layout.address_of(symbol).ok_or_else(|| {
            LinkError::malformed(format!("the symbol {} has no address", symbol.name))
        })?;
        let section = layout.index_of_symbol(symbol);
        let record = symbol_record(
            symbol,
            exported.name_offset,
            symbol.binding,
            section,
            address,
        );
        table.extend_from_slice(&record);
    }
    layout.set_data(".dynsym", table);

    let mut entries = Vec::new();
    if let Some((address, bytes)) = layout.range(".rela.dyn") {
        entries.push((TAG_RELOCATIONS, address));
        entries.push((TAG_RELOCATIONS_BYTES, bytes));
        entries.push((TAG_RELOCATION_BYTES, RELOCATION_BYTES as u64));
    }
    let at = |name: &str| layout.range(name).unwrap_or_default();
    entries.push((TAG_SYMBOLS, at(".dynsym").0));
    entries.push((TAG_SYMBOL_BYTES, SYMBOL_BYTES as u64));
    entries.push((TAG_STRINGS, at(".dynstr").0));
    entries.push((TAG_STRINGS_BYTES, at(".dynstr").1));
    entries.push((TAG_GNU_HASH, at(".gnu.hash").0));
    entries.push((TAG_HASH, at(".hash").0));
    entries.push((0, 0));
    let bytes = entries
        .iter()
        .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()])
        .flatten()
        .collect();
    layout.set_data(".dynamic", bytes);
    Ok(())
}
