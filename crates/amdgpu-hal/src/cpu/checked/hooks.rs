//! The functions that kernels call. An answer that is not zero ends the work-item.

#[cfg(test)]
mod tests;

use super::fault::{Cause, Fault};
use super::shadow::Touch;
use super::{AccessKind, CURRENT, MAX_BARRIERS, PATIENCE, Watch};

/// The address of a hook by the name that kernels call it with.
pub(in super::super) fn address_of(name: &str) -> Option<usize> {
    Some(match name {
        "agpu_checked_access" => access as *const () as usize,
        "agpu_checked_meeting" => meeting as *const () as usize,
        "agpu_checked_turn" => turn as *const () as usize,
        "agpu_checked_work" => work as *const () as usize,
        _ => return None,
    })
}

const GO_ON: i32 = 0;
const STOP: i32 = 1;

const KIND_BARRIER: u32 = 0;
const KIND_WAVE: u32 = 1;

fn with_watch(ask: impl FnOnce(&mut Watch) -> bool) -> i32 {
    // SAFETY: set by `run` for as long as the kernel runs, to a watch that only this thread reaches, one hook at a time.
    let Some(watch) = (unsafe { CURRENT.get().as_mut() }) else {
        // Checked code outside of a checked launch, which nobody makes: it cannot be allowed anything.
        return STOP;
    };
    if ask(watch) { GO_ON } else { STOP }
}

unsafe extern "C" fn access(
    site: u32,
    address: u64,
    bytes: u64,
    base: u64,
    value: u64,
    thread: u32,
    block: u64,
) -> i32 {
    with_watch(|watch| {
        watch.is_going(thread, block) && watch.access(site, address, bytes, base, value, thread)
    })
}

unsafe extern "C" fn meeting(line: u32, kind: u32, thread: u32, block: u64) -> i32 {
    with_watch(|watch| watch.is_going(thread, block) && watch.meeting(line, kind, thread))
}

unsafe extern "C" fn turn(_line: u32, thread: u32, block: u64) -> i32 {
    with_watch(|watch| watch.is_going(thread, block))
}

/// Counts operations; nothing is asked.
unsafe extern "C" fn work(operations: u64) -> i32 {
    with_watch(|watch| {
        watch.work.operations = watch.work.operations.saturating_add(operations);
        true
    })
}

impl Watch {
    /// Whether a work-item may go on at all.
    fn is_going(&mut self, thread: u32, block: u64) -> bool {
        debug_assert_eq!(block, self.block);
        self.patience -= 1;
        if self.patience == 0 {
            self.patience = PATIENCE;
            self.is_cancelled |= self.cancellation.is_requested();
        }
        let item = self.items.get(thread as usize);
        !self.is_cancelled && item.is_some_and(|item| !item.is_stopped)
    }

    fn meeting(&mut self, line: u32, kind: u32, thread: u32) -> bool {
        let item = &mut self.items[thread as usize];
        match kind {
            KIND_BARRIER => {
                let number = item.barriers as usize;
                item.barriers += 1;
                match self.barriers.get(number) {
                    Some(&other) if other != line => {
                        return self.fault(thread, line, Cause::Divergence { other });
                    }
                    None if number < MAX_BARRIERS => self.barriers.push(line),
                    _ => {}
                }
            }
            KIND_WAVE => item.waves += 1,
            _ => self.shadow.fence(self.block, thread),
        }
        true
    }

    fn access(
        &mut self,
        site: u32,
        address: u64,
        bytes: u64,
        base: u64,
        value: u64,
        thread: u32,
    ) -> bool {
        let sites = std::sync::Arc::clone(&self.sites);
        let number = site as usize;
        let Some(site) = sites.get(number) else {
            return false;
        };
        self.lanes.count(number, thread);
        let place = match self.targets.place(site, address, bytes, base) {
            Ok(place) => place,
            Err(cause) => return self.fault(thread, site.line, cause),
        };
        if !address.is_multiple_of(site.align.max(1)) {
            let cause = Cause::Misaligned {
                kind: site.kind,
                place: self.targets.describe(&place),
                align: site.align,
            };
            return self.fault(thread, site.line, cause);
        }
        if !place.is_watched() {
            return true;
        }
        if !place.is_shared() {
            let ways = if site.kind == AccessKind::Atomic {
                2
            } else {
                1
            };
            self.work.bytes = self.work.bytes.saturating_add(ways * bytes);
        }
        let item = self.items[thread as usize];
        let touch = Touch {
            block: self.block,
            thread,
            barriers: item.barriers,
            waves: item.waves,
            line: site.line,
            kind: site.kind,
            is_same: site.kind == AccessKind::Write && is_stored(address, bytes, value),
        };
        match self.shadow.touch(address, bytes, place.is_shared(), touch) {
            None => true,
            Some(other) => {
                let cause = Cause::Race {
                    kind: site.kind,
                    place: self.targets.describe(&place),
                    other,
                };
                self.fault(thread, site.line, cause)
            }
        }
    }

    /// Notes a fault, and that the work-item ends.
    fn fault(&mut self, thread: u32, line: u32, cause: Cause) -> bool {
        self.items[thread as usize].is_stopped = true;
        if self.fault.is_some() {
            self.others += 1;
        } else {
            self.fault = Some(Fault {
                line,
                block: coordinates(self.block, self.grid),
                thread: coordinates(u64::from(thread), self.block_size),
                size: self.block_size,
                grid: self.grid,
                cause,
            });
        }
        false
    }
}

/// Whether memory holds the value already, so that writing it changes nothing for anybody.
fn is_stored(address: u64, bytes: u64, value: u64) -> bool {
    if bytes > 8 {
        return false;
    }
    let mut stored = [0_u8; 8];
    // SAFETY: the range was just found to lie inside of memory of the launch.
    unsafe {
        std::ptr::copy_nonoverlapping(
            std::ptr::with_exposed_provenance::<u8>(address as usize),
            stored.as_mut_ptr(),
            bytes as usize,
        );
    }
    stored[..bytes as usize] == value.to_le_bytes()[..bytes as usize]
}

/// x, y, z of a linear number.
pub(super) fn coordinates(number: u64, size: [u32; 3]) -> [u64; 3] {
    let (width, height) = (u64::from(size[0]).max(1), u64::from(size[1]).max(1));
    [
        number % width,
        number / width % height,
        number / width / height,
    ]
}
