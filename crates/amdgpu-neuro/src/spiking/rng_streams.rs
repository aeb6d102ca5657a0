//! Streams of random numbers: every use of the generator has a stream, and the number of the stream is part of the generator's counter.

use crate::philox::Stream;

/// Streams of the engine have this bit; those of generated code do not.
const ENGINE: u32 = 1 << 31;

/// The purpose of a stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RngStream {
    /// Initial values: group, variable.
    Variable(usize, usize),
    /// Group, parameter.
    Parameter(usize, usize),
    /// Who is connected with whom, of a projection.
    Connectivity(usize),
    Weight(usize),
    Delay(usize),
    /// Projection, variable.
    SynapseVariable(usize, usize),
    PreVariable(usize, usize),
    PostVariable(usize, usize),
    /// Rates of a source.
    Rate(usize),
    /// Spikes of a source.
    SourceSpikes(usize),
    Drive(usize),
}

impl RngStream {
    /// Four bits of kind, 19 of the first number, 8 of the second: numbers of a plan stay below, or share random numbers.
    pub const fn number(self) -> u32 {
        let (kind, first, second) = match self {
            Self::Variable(group, variable) => (0, group, variable),
            Self::Parameter(group, parameter) => (1, group, parameter),
            Self::Connectivity(projection) => (2, projection, 0),
            Self::Weight(projection) => (2, projection, 1),
            Self::Delay(projection) => (2, projection, 2),
            Self::SynapseVariable(projection, variable) => (3, projection, variable),
            Self::PreVariable(projection, variable) => (4, projection, variable),
            Self::PostVariable(projection, variable) => (5, projection, variable),
            Self::Rate(source) => (6, source, 0),
            Self::SourceSpikes(source) => (6, source, 1),
            Self::Drive(drive) => (7, drive, 0),
        };
        ENGINE | kind << 27 | (first as u32 & 0x7_ffff) << 8 | (second as u32 & 0xff)
    }

    /// Its random numbers at a step.
    pub const fn stream(self, seed: u64, step: u32) -> Stream {
        Stream::new(seed, self.number(), step)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_objects_share_a_number_and_none_is_of_generated_code() {
        let mut numbers = HashSet::new();
        for first in [0, 1, 2, 255, 256, 524_287] {
            for second in [0, 1, 255] {
                for object in [
                    RngStream::Variable(first, second),
                    RngStream::Parameter(first, second),
                    RngStream::SynapseVariable(first, second),
                    RngStream::PreVariable(first, second),
                    RngStream::PostVariable(first, second),
                ] {
                    assert!(numbers.insert(object.number()), "{object:?}");
                }
            }
            for object in [
                RngStream::Connectivity(first),
                RngStream::Weight(first),
                RngStream::Delay(first),
                RngStream::Rate(first),
                RngStream::SourceSpikes(first),
                RngStream::Drive(first),
            ] {
                assert!(numbers.insert(object.number()), "{object:?}");
            }
        }
        assert!(numbers.iter().all(|number| number & ENGINE != 0));
    }
}
