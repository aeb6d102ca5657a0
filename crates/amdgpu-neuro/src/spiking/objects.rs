//! Which random numbers belong to what: each use of the generator is an object with a number of its own.

use crate::philox::Stream;

/// Objects of the engine have this bit; those of generated code do not.
const ENGINE: u32 = 1 << 31;

/// What random numbers are drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
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

impl Object {
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
                    Object::Variable(first, second),
                    Object::Parameter(first, second),
                    Object::SynapseVariable(first, second),
                    Object::PreVariable(first, second),
                    Object::PostVariable(first, second),
                ] {
                    assert!(numbers.insert(object.number()), "{object:?}");
                }
            }
            for object in [
                Object::Connectivity(first),
                Object::Weight(first),
                Object::Delay(first),
                Object::Rate(first),
                Object::SourceSpikes(first),
                Object::Drive(first),
            ] {
                assert!(numbers.insert(object.number()), "{object:?}");
            }
        }
        assert!(numbers.iter().all(|number| number & ENGINE != 0));
    }
}
