//! The small blocks that were released last, each still as it was cut.
//!
//! An expression frees and takes blocks of the same few sizes again and again: `a * b + c` needs two. Joining a block with its neighbours and
//! cutting it off again takes longer than a thousand additions.

use super::entry::NONE;

/// Blocks that wait to be joined, at most.
const MOST: usize = 4;

#[derive(Debug)]
pub(super) struct Recent {
    blocks: [u32; MOST],
    /// The one that the next block takes the place of.
    oldest: usize,
    count: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            blocks: [NONE; MOST],
            oldest: 0,
            count: 0,
        }
    }
}

impl Recent {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a block; the one whose place it takes is to be joined now.
    pub fn push(&mut self, idx: u32) -> Option<u32> {
        let place = &mut self.blocks[self.oldest];
        let before = std::mem::replace(place, idx);
        self.oldest = (self.oldest + 1) % MOST;
        if before == NONE {
            self.count += 1;
            return None;
        }
        Some(before)
    }

    /// Takes the newest block out that is wanted.
    pub fn take(&mut self, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let (newer, older) = self.blocks.split_at_mut(self.oldest);
        let known = newer
            .iter_mut()
            .rev()
            .chain(older.iter_mut().rev())
            .find(|idx| **idx != NONE && is_wanted(**idx))?;
        self.count -= 1;
        Some(std::mem::replace(known, NONE))
    }

    /// Takes any block out.
    pub fn pop(&mut self) -> Option<u32> {
        self.take(|_| true)
    }
}
