//! Who touched which memory last, four bytes at a time, to tell races.
//!
//! Two accesses of one byte race when at least one writes, not both are atomic, and nothing orders them. Work-items of a block are ordered
//! by barriers (and within a wave by operations of the wave); blocks are not, unless the writer has executed `__threadfence()` since and
//! the other block has executed an atomic operation, which is how blocks hand work to each other. Not races here: writes of the value that
//! memory holds already, and plain reads beside atomic operations, with which compare-and-swap loops begin.
//!
//! Only the last write and two reads by different work-items are remembered for each four bytes, so that a race may be missed where many
//! work-items write parts of them; what is reported is one.

use std::collections::{HashMap, HashSet};

use super::AccessKind;

/// Remembered groups of four bytes: about 400 MiB. Past it new memory is not watched.
const MAX_CELLS: usize = 1 << 22;
const CELL_BYTES: u64 = 4;
/// Lanes of a wave on the CPU device.
const WAVE_SIZE: u32 = 32;

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touch {
    pub block: u64,
    pub thread: u32,
    pub barriers: u32,
    pub waves: u32,
    pub line: u32,
    pub kind: AccessKind,
    /// Writes what is there already.
    pub is_same: bool,
}

/// An access and the bytes of the cell it concerns.
#[derive(Clone, Copy)]
struct Entry {
    touch: Touch,
    mask: u8,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    write: Option<Entry>,
    reads: [Option<Entry>; 2],
}

#[derive(Default)]
pub(super) struct Shadow {
    global: HashMap<u64, Cell>,
    shared: HashMap<u64, Cell>,
    shared_block: u64,
    /// Work-items that have executed a fence.
    fenced: HashSet<(u64, u32)>,
    /// Blocks that have executed atomic operations.
    atomic: HashSet<u64>,
}

impl Shadow {
    pub fn fence(&mut self, block: u64, thread: u32) {
        self.fenced.insert((block, thread));
    }

    /// Notes an access; gives the one it races with.
    pub fn touch(
        &mut self,
        address: u64,
        bytes: u64,
        is_shared: bool,
        touch: Touch,
    ) -> Option<Touch> {
        if is_shared && self.shared_block != touch.block {
            self.shared.clear();
            self.shared_block = touch.block;
        }
        if touch.kind == AccessKind::Atomic && !is_shared {
            self.atomic.insert(touch.block);
        }
        let mut racing = None;
        let mut at = address;
        let end = address + bytes;
        while at < end {
            let cell = at / CELL_BYTES;
            let (first, last) = (at % CELL_BYTES, (end - cell * CELL_BYTES).min(CELL_BYTES));
            let mask = (first..last).fold(0, |mask, byte| mask | 1_u8 << byte);
            racing = racing.or(self.touch_cell(cell, is_shared, Entry { touch, mask }));
            at = (cell + 1) * CELL_BYTES;
        }
        racing
    }

    fn touch_cell(&mut self, number: u64, is_shared: bool, entry: Entry) -> Option<Touch> {
        let cells = if is_shared {
            &mut self.shared
        } else {
            &mut self.global
        };
        if cells.len() >= MAX_CELLS && !cells.contains_key(&number) {
            return None;
        }
        let cell = cells.entry(number).or_default();
        let before = *cell;
        cell.note(entry);
        let races = |other: &Entry| self.is_race(other, &entry);
        let mut candidates = before.write.iter().chain(before.reads.iter().flatten());
        candidates
            .find(|other| races(other))
            .map(|other| other.touch)
    }

    fn is_race(&self, before: &Entry, now: &Entry) -> bool {
        use AccessKind as K;
        let (a, b) = (&before.touch, &now.touch);
        let conflicts = match (a.kind, b.kind) {
            (K::Read | K::Atomic, K::Read | K::Atomic) => false,
            (K::Write, K::Write) => !b.is_same,
            _ => true,
        };
        if !conflicts || before.mask & now.mask == 0 {
            return false;
        }
        if a.block == b.block {
            let is_one_wave = a.thread / WAVE_SIZE == b.thread / WAVE_SIZE;
            return a.thread != b.thread
                && a.barriers == b.barriers
                && !(is_one_wave && a.waves != b.waves);
        }
        let is_handed_over =
            self.fenced.contains(&(a.block, a.thread)) && self.atomic.contains(&b.block);
        !is_handed_over
    }
}

impl Cell {
    fn note(&mut self, entry: Entry) {
        if entry.touch.kind != AccessKind::Read {
            self.write = Some(entry);
            return;
        }
        let is_mine = |other: &Entry| {
            (other.touch.block, other.touch.thread) == (entry.touch.block, entry.touch.thread)
        };
        match &mut self.reads {
            [Some(first), _] if is_mine(first) => *first = entry,
            [first, second] => {
                *second = first.take();
                *first = Some(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(block: u64, thread: u32, barriers: u32, kind: AccessKind) -> Touch {
        Touch {
            block,
            thread,
            barriers,
            waves: 0,
            line: 1,
            kind,
            is_same: false,
        }
    }

    fn races(is_shared: bool, list: &[Touch]) -> bool {
        let mut shadow = Shadow::default();
        let mut answers = list.iter().map(|one| shadow.touch(64, 4, is_shared, *one));
        answers.any(|answer| answer.is_some())
    }

    #[test]
    fn work_items_of_a_block_are_ordered_by_barriers() {
        use AccessKind::{Atomic, Read, Write};
        assert!(races(true, &[touch(0, 0, 0, Write), touch(0, 1, 0, Read)]));
        assert!(!races(true, &[touch(0, 0, 0, Write), touch(0, 1, 1, Read)]));
        assert!(!races(
            true,
            &[touch(0, 0, 0, Write), touch(0, 0, 0, Write)]
        ));
        assert!(races(
            true,
            &[
                touch(0, 2, 0, Read),
                touch(0, 1, 0, Read),
                touch(0, 1, 0, Write)
            ]
        ));
        assert!(!races(
            true,
            &[touch(0, 0, 0, Atomic), touch(0, 1, 0, Atomic)]
        ));
        assert!(races(
            true,
            &[touch(0, 0, 0, Write), touch(0, 1, 0, Atomic)]
        ));
        assert!(!races(true, &[touch(0, 0, 0, Write), touch(1, 1, 0, Read)]));
    }

    #[test]
    fn blocks_are_ordered_by_nothing_but_fences_with_atomics() {
        use AccessKind::{Atomic, Read, Write};
        assert!(races(false, &[touch(0, 0, 0, Write), touch(1, 0, 5, Read)]));
        let mut shadow = Shadow::default();
        assert!(shadow.touch(64, 4, false, touch(0, 0, 0, Write)).is_none());
        shadow.fence(0, 0);
        assert!(
            shadow
                .touch(128, 4, false, touch(1, 0, 0, Atomic))
                .is_none()
        );
        assert!(shadow.touch(64, 4, false, touch(1, 0, 0, Read)).is_none());
    }

    #[test]
    fn neighbouring_bytes_are_apart() {
        let mut shadow = Shadow::default();
        let write = |thread| touch(0, thread, 0, AccessKind::Write);
        assert!(shadow.touch(64, 1, false, write(0)).is_none());
        assert!(shadow.touch(65, 1, false, write(1)).is_none());
        assert!(shadow.touch(62, 4, false, write(2)).is_some());
    }
}
