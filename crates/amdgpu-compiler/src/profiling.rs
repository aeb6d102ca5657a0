//! Profile-guided optimisation: an instrumented kernel counts what it does into a variable of its module, and a later compilation of the
//! same source uses the counts.
//!
//! Contract
//! - [`instrument`] and [`apply`] work on the same code: kernels as they were lowered, with what they call inlined. So blocks have the same
//!   numbers in both.
//! - Counting uses atomic additions on a `__device__` variable ([`BUFFER`]), so it works on every device. The order of work-items does not
//!   change what is counted.
//! - Applying a profile changes how fast a kernel is and never a bit of its results: loops are unrolled by how often they ran, parameters
//!   that had one value get a copy of the kernel in which they are constants, behind a comparison, and branches get weights.
//! - A profile of another source, or of the same source with other macros, is refused.

mod apply;
mod instrument;

pub(crate) use apply::apply;
pub(crate) use instrument::instrument;

use crate::checks::inline_all;
use crate::globals::GlobalVariable;
use crate::ir::Module;
use crate::profile::{BUFFER, Sites};
use crate::signature::Dtype;

/// Instructions of one kernel up to which what it calls is inlined; that of the pass that inlines.
const MAX_INLINED_INSTRUCTIONS: usize = 20_000;

/// The variable as the host knows it.
pub(crate) fn buffer(sites: &Sites) -> GlobalVariable {
    GlobalVariable {
        name: BUFFER.to_owned(),
        type_name: format!("unsigned long long[{}]", sites.words),
        dtype: Some(Dtype::Uint64),
        shape: vec![sites.words],
        size_bytes: sites.words * 8,
        is_constant: false,
    }
}

/// The code that counts and that counts are applied to.
fn prepare(module: &mut Module) {
    inline_all(module, MAX_INLINED_INSTRUCTIONS);
}
