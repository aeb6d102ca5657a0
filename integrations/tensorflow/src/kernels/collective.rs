//! Collectives of devices of one process, in two operations (`collectives.rs`).

use super::{FLOATS_AND_I64, T, row};
use crate::call::Attributes;
use crate::collectives::{self, Reduction};
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};

pub const ROWS: &[Row] = &[
    row(
        c"RdnaAllReduceStart",
        &[(T, FLOATS_AND_I64)],
        &[c"token"],
        |_| Ok(Box::new(collectives::share)),
    )
    .and_host_int32(&[c"tensors", c"token"]),
    row(
        c"RdnaAllReduceDone",
        &[(T, FLOATS_AND_I64)],
        &[c"tokens"],
        all_reduce,
    )
    .and_host_int32(&[c"tokens", c"results"]),
];

fn all_reduce(a: &Attributes) -> Outcome<Kernel> {
    let (ranks, rank) = (a.int(c"ranks")?, a.int(c"rank")?);
    if !(0..ranks).contains(&rank) {
        return Err(Failure::refused(format!(
            "rank is {rank}, but there are ranks 0 to {}",
            ranks - 1
        )));
    }
    let (ranks, rank) = (ranks as usize, rank as usize);
    let reduction = Reduction::of_name(&a.text(c"reduction")?)?;
    Ok(Box::new(move |c| {
        let all = collectives::shared_by_all(c, ranks)?;
        collectives::all_reduce(c, &all, rank, reduction)?;
        let mut results = all[rank].results.iter().enumerate();
        results.try_for_each(|(place, result)| c.set_output(place, result, &result.shape))
    }))
}
