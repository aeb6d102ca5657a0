//! Which symbols a loader can look up, their names and their two hash tables.

use std::collections::HashMap;

use super::error::LinkError;
use super::object::{INDEX_ABSOLUTE, Object, Place, SYMBOL_BYTES, Symbol};

/// Symbols per bucket of the hash table, and bits per symbol of its filter: what lld chose after measuring loaders.
const SYMBOLS_PER_BUCKET: usize = 4;
const FILTER_BITS_PER_SYMBOL: usize = 12;
const FILTER_WORD_BITS: usize = 64;
/// The second filter bit of a symbol is taken from its hash shifted by this.
const FILTER_SHIFT: u32 = 26;

const DYNAMIC_ENTRY_BYTES: usize = 16;

/// A symbol of the table.
pub struct Exported {
    pub symbol: usize,
    pub name_offset: u32,
    gnu_hash: u32,
    hash: u32,
}

/// The symbols that a loader can look up, in the order of their table.
pub struct DynamicSymbols {
    pub exported: Vec<Exported>,
    index: HashMap<usize, usize>,
    /// Their names: the dynamic string table.
    pub names: Vec<u8>,
}

impl DynamicSymbols {
    pub fn choose(object: &Object<'_>) -> Result<Self, LinkError> {
        let mut exported = Vec::new();
        let mut names = vec![0];
        let mut seen = HashMap::new();
        for (symbol, entry) in object.symbols.iter().enumerate().skip(1) {
            if !entry.is_exported() || entry.name.is_empty() || !has_address(object, entry) {
                continue;
            }
            if seen.insert(entry.name, symbol).is_some() {
                return Err(LinkError::malformed(format!(
                    "the symbol {} is defined twice",
                    entry.name
                )));
            }
            exported.push(Exported {
                symbol,
                name_offset: names.len() as u32,
                gnu_hash: gnu_hash(entry.name),
                hash: hash(entry.name),
            });
            names.extend_from_slice(entry.name.as_bytes());
            names.push(0);
        }
        // The GNU table lists the symbols of a bucket one after another; the sort is stable.
        let buckets = bucket_count(exported.len());
        exported.sort_by_key(|entry| entry.gnu_hash as usize % buckets);
        let index = exported
            .iter()
            .enumerate()
            .map(|(index, entry)| (entry.symbol, index + 1))
            .collect();
        Ok(Self {
            exported,
            index,
            names,
        })
    }

    /// The index of a symbol of the object in the dynamic symbol table.
    pub fn index_of(&self, symbol: usize) -> Option<usize> {
        self.index.get(&symbol).copied()
    }

    pub fn table_bytes(&self) -> usize {
        (self.exported.len() + 1) * SYMBOL_BYTES
    }

    /// The table of `.hash`: gABI chapter 5, "Hash Table", with one bucket per symbol.
    pub fn hash_table(&self) -> Vec<u8> {
        let count = self.exported.len() + 1;
        let mut buckets = vec![0u32; count];
        let mut chains = vec![0u32; count];
        for (index, entry) in self.exported.iter().enumerate() {
            let bucket = entry.hash as usize % count;
            chains[index + 1] = buckets[bucket];
            buckets[bucket] = index as u32 + 1;
        }
        let header = [count as u32, count as u32];
        words(header.into_iter().chain(buckets).chain(chains))
    }

    /// The table of `.gnu.hash`.
    pub fn gnu_hash_table(&self) -> Vec<u8> {
        let count = self.exported.len();
        let buckets = bucket_count(count);
        let filter_words = (count * FILTER_BITS_PER_SYMBOL / FILTER_WORD_BITS).next_power_of_two();
        let mut filter = vec![0u64; filter_words];
        let mut firsts = vec![0u32; buckets];
        let mut chain = Vec::with_capacity(count);
        for (index, entry) in self.exported.iter().enumerate() {
            let value = entry.gnu_hash;
            let word = &mut filter[value as usize / FILTER_WORD_BITS % filter_words];
            *word |= 1 << (value as usize % FILTER_WORD_BITS);
            *word |= 1 << ((value >> FILTER_SHIFT) as usize % FILTER_WORD_BITS);
            let bucket = value as usize % buckets;
            if firsts[bucket] == 0 {
                firsts[bucket] = index as u32 + 1;
            }
            let next = self.exported.get(index + 1);
            let is_last = next.is_none_or(|next| next.gnu_hash as usize % buckets != bucket);
            // The lowest bit marks the end of a bucket.
            chain.push(value & !1 | u32::from(is_last));
        }
        // The null symbol is not in the table.
        let header = [buckets as u32, 1, filter_words as u32, FILTER_SHIFT];
        let mut table = words(header);
        table.extend(filter.iter().flat_map(|word| word.to_le_bytes()));
        table.extend(words(firsts.into_iter().chain(chain)));
        table
    }
}

/// Size of the dynamic section.
pub fn dynamic_section_bytes(has_relocations: bool) -> usize {
    let tags = if has_relocations { 10 } else { 7 };
    tags * DYNAMIC_ENTRY_BYTES
}

/// One entry of a symbol table.
pub fn symbol_record(
    symbol: &Symbol<'_>,
    name_offset: u32,
    binding: u8,
    section: u16,
    address: u64,
) -> [u8; SYMBOL_BYTES] {
    let mut record = [0; SYMBOL_BYTES];
    record[..4].copy_from_slice(&name_offset.to_le_bytes());
    record[4] = binding << 4 | symbol.kind;
    record[5] = symbol.other;
    record[6..8].copy_from_slice(&section.to_le_bytes());
    record[8..16].copy_from_slice(&address.to_le_bytes());
    record[16..].copy_from_slice(&symbol.size_bytes.to_le_bytes());
    record
}

/// Whether a symbol is an absolute value or in memory that is loaded.
pub fn has_address(object: &Object<'_>, symbol: &Symbol<'_>) -> bool {
    match symbol.place {
        Place::Absolute => true,
        Place::Section(index) => object.sections[index].is_loaded(),
        Place::Undefined | Place::Reserved(_) => false,
    }
}

/// The section index that a symbol table has for a symbol.
pub fn section_index(place: Place, output: impl Fn(usize) -> u16) -> u16 {
    match place {
        Place::Section(index) => output(index),
        _ => INDEX_ABSOLUTE,
    }
}

fn bucket_count(symbols: usize) -> usize {
    (symbols / SYMBOLS_PER_BUCKET).max(1)
}

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The hash function of `.gnu.hash`.
fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |value: u32, byte| {
        value.wrapping_mul(33).wrapping_add(u32::from(byte))
    })
}

/// The hash function of gABI, figure 5-13.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0, |value: u32, byte| {
        let value = (value << 4).wrapping_add(u32::from(byte));
        let high = value & 0xf000_0000;
        (value ^ (high >> 24)) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_functions_give_the_published_values() {
        // Values of the documentation of both tables for these names.
        assert_eq!(hash(""), 0);
        assert_eq!(hash("printf"), 0x0779_05a6);
        assert_eq!(gnu_hash(""), 0x1505);
        assert_eq!(gnu_hash("printf"), 0x156b_2bb8);
    }
}
