//! Keeps the spikes of the last steps, for delivery at arrival.

/// Spikes of groups and sources, in a ring of steps.
#[derive(Debug, Default)]
pub(super) struct History {
    /// By group or source; none for those that nobody asks for.
    origins: Vec<Option<Vec<Vec<u32>>>>,
    slots: u64,
    /// Spikes of steps from `begin` on, below `end`, are kept.
    begin: u64,
    end: u64,
}

impl History {
    /// Keeps what the update of a step and later ones can ask for: spikes that are up to `longest` steps under way.
    pub fn new(count: usize, wanted: impl Iterator<Item = usize>, longest: Option<u32>) -> Self {
        let slots = longest.map_or(0, |longest| u64::from(longest) + 1);
        let mut origins = vec![None; count];
        for origin in wanted {
            origins[origin] = Some(vec![Vec::new(); slots as usize]);
        }
        Self {
            origins,
            slots,
            begin: 0,
            end: 0,
        }
    }

    /// Whether anything asks for spikes.
    pub fn is_used(&self) -> bool {
        self.slots > 0
    }

    /// Spikes that arrive in the update of `step` after `delay`.
    pub fn spikes(&self, origin: usize, step: u64, delay: u32) -> Option<&[u32]> {
        let at = step.checked_sub(1 + u64::from(delay))?;
        self.of_step(origin, at)
    }

    /// Spikes of a step that is kept.
    pub fn of_step(&self, origin: usize, step: u64) -> Option<&[u32]> {
        let is_kept = (self.begin..self.end).contains(&step) && step + self.slots >= self.end;
        let slots = self.origins[origin].as_ref()?;
        is_kept.then(|| slots[(step % self.slots) as usize].as_slice())
    }

    /// Steps that are kept.
    pub fn steps(&self) -> std::ops::Range<u64> {
        self.begin.max(self.end.saturating_sub(self.slots))..self.end
    }

    /// Takes the spikes of an origin in a step: pieces in order. Steps follow one another, and [`Self::advance`] ends each.
    pub fn take<'a>(&mut self, origin: usize, step: u64, pieces: impl Iterator<Item = &'a [u32]>) {
        let slot = (step % self.slots.max(1)) as usize;
        if let Some(slots) = &mut self.origins[origin] {
            let spikes = &mut slots[slot];
            spikes.clear();
            pieces.for_each(|piece| spikes.extend_from_slice(piece));
        }
    }

    /// Says that all spikes of a step were taken.
    pub fn advance(&mut self, step: u64) {
        if self.end != step {
            self.begin = step;
        }
        self.end = step + 1;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.begin = self.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(history: &mut History, step: u64, spikes: &[u32]) {
        history.take(1, step, spikes.chunks(2));
        history.advance(step);
    }

    #[test]
    fn spikes_are_found_by_step_until_their_longest_delay_is_over() {
        let mut history = History::new(2, [1].into_iter(), Some(2));
        for step in 5..9 {
            given(&mut history, step, &[step as u32, 100, 200]);
        }
        assert_eq!(history.steps(), 6..9);
        assert_eq!(history.spikes(1, 9, 0), Some([8, 100, 200].as_slice()));
        assert_eq!(history.spikes(1, 9, 2), Some([6, 100, 200].as_slice()));
        assert_eq!(history.spikes(1, 9, 3), None);
        assert_eq!(history.spikes(1, 0, 0), None);
        assert_eq!(history.spikes(0, 9, 0), None);
    }

    #[test]
    fn nothing_is_found_from_before_a_clearing_or_a_jump() {
        let mut history = History::new(2, [1].into_iter(), Some(4));
        given(&mut history, 5, &[1]);
        history.clear();
        given(&mut history, 6, &[2]);
        assert_eq!(history.spikes(1, 7, 1), None);
        assert_eq!(history.spikes(1, 7, 0), Some([2].as_slice()));
        given(&mut history, 20, &[3]);
        assert_eq!(history.steps(), 20..21);
        assert_eq!(history.spikes(1, 21, 0), Some([3].as_slice()));
    }
}
