//! Tables of lists of tensors that lie on a device, by what they say.

use std::collections::VecDeque;

use amdgpu_array::Array;

/// Tables that a device keeps: each step of an optimizer that is made of several operations has one for each of them.
const KEPT: usize = 64;

/// Tables that were written before, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    kept: VecDeque<(Vec<u64>, Array)>,
}

impl Tables {
    /// The table with these words.
    pub fn find(&mut self, words: &[u64]) -> Option<Array> {
        let place = self.kept.iter().position(|(known, _)| known == words)?;
        let found = self.kept.remove(place)?;
        let table = found.1.clone();
        self.kept.push_front(found);
        Some(table)
    }

    /// Keeps a table; the one that was not asked for longest goes.
    pub fn keep(&mut self, words: Vec<u64>, table: Array) {
        self.kept.truncate(KEPT - 1);
        self.kept.push_front((words, table));
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_abi::Dtype;
    use amdgpu_aura::OpenDevice;

    use super::*;

    #[test]
    fn the_table_that_was_not_asked_for_longest_goes() {
        let device = OpenDevice::open("cpu:0").unwrap();
        let table = || Array::from_host(&device, &[0; 8], [1].as_slice(), Dtype::U64).unwrap();
        let mut tables = Tables::default();
        for number in 0..KEPT as u64 {
            tables.keep(vec![number], table());
        }
        let first = tables.find(&[0]).unwrap();
        assert_eq!(first.address(), tables.find(&[0]).unwrap().address());
        tables.keep(vec![1000], table());
        assert!(tables.find(&[1]).is_none());
        assert!(tables.find(&[0]).is_some() && tables.find(&[1000]).is_some());
        assert!(tables.find(&[0, 0]).is_none());
    }
}
