//! Generators: a stream that hands out parts of itself, and the seeds that its children come from.

use std::sync::{Mutex, PoisonError};

use amdgpu_abi::ErrorCode;

use super::seed_sequence::SeedSequence;
use super::stream::Stream;
use crate::{Error, Result};

/// Everything that a generator is: two with the same state draw the same numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub stream: Stream,
    pub seeds: SeedSequence,
}

/// A source of random numbers, for any number of threads.
#[derive(Debug)]
pub struct Generator {
    state: Mutex<State>,
}

impl Generator {
    /// The generator of a seed, in words of 32 bits.
    #[must_use]
    pub fn new(entropy: &[u32]) -> Self {
        Self::of_seeds(SeedSequence::new(entropy))
    }

    #[must_use]
    pub fn of_seeds(seeds: SeedSequence) -> Self {
        let stream = Stream {
            key: seeds.key(),
            ..Stream::default()
        };
        Self::of_state(State { stream, seeds })
    }

    #[must_use]
    pub fn of_state(state: State) -> Self {
        Self {
            state: Mutex::new(state),
        }
    }

    #[must_use]
    pub fn state(&self) -> State {
        self.with(|state| state.clone())
    }

    pub fn set_state(&self, state: State) {
        self.with(|own| *own = state);
    }

    /// The place of `count` elements of so many words each, which nobody else gets.
    pub fn take(&self, words_each: u64, count: u64) -> Stream {
        self.with(|state| state.stream.take(words_each, count))
    }

    /// Goes on by so many words of 32 bits, backwards where they are negative.
    pub fn advance(&self, words: i64) {
        self.with(|state| {
            state.stream.position = state.stream.position.wrapping_add_signed(words);
        });
    }

    /// A generator whose numbers are 2^96 blocks further on for each jump.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for more jumps than a counter has.
    pub fn jumped(&self, jumps: u32) -> Result<Self> {
        let mut state = self.state();
        let Some(total) = state.stream.jumps.checked_add(jumps) else {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "jumped: {jumps} jumps behind {} are more than {}; use spawn for more streams",
                    state.stream.jumps,
                    u32::MAX
                ),
            ));
        };
        state.stream.jumps = total;
        Ok(Self::of_state(state))
    }

    /// Generators of keys of their own, as independent as seeds are.
    #[must_use]
    pub fn spawn(&self, count: u32) -> Vec<Self> {
        let children = self.with(|state| state.seeds.spawn(count));
        children.into_iter().map(Self::of_seeds).collect()
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
