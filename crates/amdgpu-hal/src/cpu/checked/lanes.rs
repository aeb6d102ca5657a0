//! How often each lane of a warp accessed memory at each line of the newest checked launches.
//!
//! A checked launch asks before every access anyway; here the answers are counted by place and lane. A lane is the number of the
//! work-item in its block modulo the warp size, as the CPU device tells it. Variables of a work-item's own are not counted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::{AccessKind, Site, Target};
use crate::clock;

/// Lanes that are told apart: the warp size of the CPU device.
pub const LANES: usize = crate::cpu::WARP_SIZE as usize;
/// Launches that are kept: enough to compare a few, too few to weigh on the process.
pub const KEPT_LAUNCHES: usize = 8;
/// Lines of one launch that are kept, those met first; kernels have tens.
const MAX_ROWS: usize = 1024;

/// One checked launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneActivity {
    pub kernel: String,
    pub file: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// When it began, on the monotonic clock.
    pub started_ns: u64,
    /// Ordered by line; places without an access are missing.
    pub rows: Vec<LaneRow>,
}

/// One line of the source and one kind of access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneRow {
    pub line: u32,
    pub kind: AccessKind,
    pub counts: [u64; LANES],
}

static NEWEST: Mutex<VecDeque<LaneActivity>> = Mutex::new(VecDeque::new());

/// The newest checked launches of this process, newest first.
#[must_use]
pub fn lane_activity() -> Vec<LaneActivity> {
    let newest = NEWEST.lock().unwrap_or_else(PoisonError::into_inner);
    newest.iter().cloned().collect()
}

/// Counts of a launch that runs.
pub(super) struct LaneCounts {
    counts: Vec<[u64; LANES]>,
    started_ns: u64,
}

impl LaneCounts {
    pub fn new(sites: usize) -> Self {
        Self {
            counts: vec![[0; LANES]; sites],
            started_ns: clock::now_ns(),
        }
    }

    pub fn count(&mut self, site: usize, thread: u32) {
        if let Some(lanes) = self.counts.get_mut(site) {
            lanes[thread as usize % LANES] += 1;
        }
    }

    /// Keeps what was counted, and forgets the oldest launch when there are too many.
    pub fn keep(self, sites: &[Site], kernel: &str, file: &str, grid: [u32; 3], block: [u32; 3]) {
        let mut rows: BTreeMap<(u32, u8), LaneRow> = BTreeMap::new();
        for (site, counts) in sites.iter().zip(&self.counts) {
            let is_empty = counts.iter().all(|&count| count == 0);
            let is_own = matches!(site.target, Target::Private { .. });
            let key = (site.line, site.kind as u8);
            if is_empty || is_own || (rows.len() == MAX_ROWS && !rows.contains_key(&key)) {
                continue;
            }
            let row = rows.entry(key).or_insert(LaneRow {
                line: site.line,
                kind: site.kind,
                counts: [0; LANES],
            });
            for (sum, count) in row.counts.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let activity = LaneActivity {
            kernel: kernel.to_owned(),
            file: file.to_owned(),
            grid,
            block,
            started_ns: self.started_ns,
            rows: rows.into_values().collect(),
        };
        let mut newest = NEWEST.lock().unwrap_or_else(PoisonError::into_inner);
        newest.truncate(KEPT_LAUNCHES - 1);
        newest.push_front(activity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(line: u32, kind: AccessKind, target: Target) -> Site {
        Site {
            line,
            kind,
            align: 4,
            target,
        }
    }

    #[test]
    fn accesses_are_counted_by_line_and_lane_and_the_newest_launches_kept() {
        let sites = [
            site(3, AccessKind::Read, Target::Argument(0)),
            site(3, AccessKind::Read, Target::Argument(1)),
            site(3, AccessKind::Write, Target::Argument(1)),
            site(4, AccessKind::Read, Target::Private { bytes: 16 }),
            site(5, AccessKind::Read, Target::Argument(0)),
        ];
        for launch in 0..=KEPT_LAUNCHES {
            let mut counts = LaneCounts::new(sites.len());
            for thread in 0..64 {
                counts.count(0, thread);
                counts.count(3, thread);
                if thread % 2 == 0 {
                    counts.count(1, thread);
                    counts.count(2, thread);
                }
            }
            counts.count(sites.len(), 0);
            counts.keep(
                &sites,
                &format!("lanes_{launch}"),
                "k.hip",
                [2, 1, 1],
                [64, 1, 1],
            );
        }
        let kept = lane_activity();
        let ours: Vec<_> = kept
            .iter()
            .filter(|one| one.kernel.starts_with("lanes_"))
            .collect();
        assert_eq!(kept.len(), KEPT_LAUNCHES);
        assert_eq!(ours[0].kernel, format!("lanes_{KEPT_LAUNCHES}"));
        assert!(ours.iter().all(|one| one.kernel != "lanes_0"));
        let rows: Vec<_> = ours[0]
            .rows
            .iter()
            .map(|row| (row.line, row.kind, row.counts[0], row.counts[1]))
            .collect();
        assert_eq!(
            rows,
            [(3, AccessKind::Read, 4, 2), (3, AccessKind::Write, 2, 0)]
        );
    }
}
