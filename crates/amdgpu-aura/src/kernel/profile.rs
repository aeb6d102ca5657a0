//! What an instrumented kernel counted.

use amdgpu_compiler::profile::{Constant, Profile};

use super::Kernel;
use crate::arguments::{Argument, ParameterKind};
use crate::error::{Error, Result};

impl Kernel {
    /// The profile of a launch with these arguments, from the words of the variable that the kernel counted in.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit the parameters; a kernel that was not compiled to count.
    pub fn profile(&self, words: &[u64], arguments: &[Argument]) -> Result<Profile> {
        let packed = self.pack_arguments(arguments)?;
        let scalars = self.facts.parameters.iter().filter(|parameter| {
            matches!(parameter.kind, ParameterKind::Scalar { .. })
                && parameter.size_bytes <= size_of::<u64>()
        });
        let constants = scalars.map(|parameter| {
            let mut bits = [0; size_of::<u64>()];
            let from = parameter.offset_bytes;
            bits[..parameter.size_bytes]
                .copy_from_slice(&packed.bytes()[from..from + parameter.size_bytes]);
            Constant {
                name: parameter.name.clone(),
                bits: u64::from_le_bytes(bits),
            }
        });
        let mut kernels = self.unit.facts.kernels.iter();
        let symbol = kernels
            .find(|kernel| kernel.name == self.facts.name)
            .map_or(self.facts.name.as_str(), |kernel| &kernel.symbol);
        let found = Profile::of_run(
            &self.unit.facts.profile_sites,
            words,
            symbol,
            constants.collect(),
            (&self.source, self.options.profile_identity(&self.source)),
            &self.shared.info().name,
        );
        found.ok_or_else(|| Error::Launch {
            kernel: self.facts.name.clone(),
            reason: "the kernel counts nothing; profile_kernel compiles one that does".to_owned(),
        })
    }
}
