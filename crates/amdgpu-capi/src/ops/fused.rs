//! ops.h: several elementwise steps on memory at addresses, by one kernel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_graph::parse_steps;
use amdgpu_hal::ForkLocal;
use amdgpu_ops::Operand;
use amdgpu_ops::fused::Region;
use smallvec::SmallVec;

use super::at::CallAt;
use super::operand::COperand;
use crate::array::dtype_of;
use crate::borrowed::{Items, Text};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

/// Steps that are kept with what was made of them. More begin anew: a program has as many as its graphs have chains.
const MOST_KEPT: usize = 4096;

type Dtypes = SmallVec<[Dtype; 6]>;
type Kept = HashMap<String, SmallVec<[(Dtypes, Arc<Region>); 1]>>;

static KEPT: ForkLocal<Mutex<Kept>> = ForkLocal::new(Mutex::default);

/// The steps of a text on inputs of these dtypes.
fn region(text: &str, dtypes: Dtypes) -> Answer<Arc<Region>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = kept.get(text).and_then(|regions| {
        let mut regions = regions.iter();
        regions.find_map(|(own, region)| (*own == dtypes).then(|| region.clone()))
    });
    if let Some(region) = found {
        return Ok(region);
    }
    let made = Arc::new(parse_steps(text, &dtypes)?);
    if kept.len() >= MOST_KEPT {
        kept.clear();
    }
    let regions = kept.entry(text.to_owned()).or_default();
    regions.push((dtypes, made.clone()));
    Ok(made)
}

/// The last of several steps into the memory of `out`.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_fused_at(
    device: Handle,
    steps: Text,
    inputs: Items<COperand>,
    count: usize,
    out: Items<COperand>,
) -> Status {
    answer(|| {
        let call = CallAt::of(device)?;
        let text = steps.required("steps")?;
        let given = inputs.slice(count, "inputs")?;
        let dtypes: Answer<Dtypes> = { given.iter() }
            .map(|one| dtype_of(one.dtype.required("dtype")?))
            .collect();
        let region = region(text, dtypes?)?;
        let out = call.array(out, "out")?;
        if region.dtype() != out.dtype {
            let message = format!(
                "the steps give {}, but out has {}",
                region.dtype().name().unwrap_or("?"),
                out.dtype.name().unwrap_or("?")
            );
            return Err(Failure::new(ErrorCode::UnsupportedDtype, message));
        }
        let operands: SmallVec<[Operand; 6]> = (given.iter())
            .map(|one| call.memory(one).map(Operand::of_array))
            .collect::<Answer<_>>()?;
        region.run(&call.ops, &operands, Some(&out))?;
        Ok(())
    })
}
