//! ops.h: prefix sums, products, bests and truth values, and where the bests stand.

use amdgpu_ops::complex::scan;
use amdgpu_ops::cumulative_best;
use amdgpu_ops::scan::{Scan, ScanOptions};

use super::{Call, unknown};
use crate::borrowed::{Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// `agpu_ops_scan_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CScanOptions {
    size_bytes: u64,
    out: Handle,
    is_exclusive: u32,
    is_reversed: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CScanOptions {
    const NAME: &'static str = "agpu_ops_scan_options";
    const FIRST_BYTES: usize = size_of::<u64>() + size_of::<Handle>();
}

/// `cumsum` and its like along an axis.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_scan(
    operation: Text,
    x: Handle,
    axis: i64,
    options: Options<CScanOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let name = operation.required("operation")?;
        let known = Scan::ALL.into_iter().map(Scan::name);
        let operation = Scan::from_name(name).ok_or_else(|| unknown("operation", name, known))?;
        let given = options.read()?;
        let call = Call::of(name, &[("x", x)], &[], given.out)?;
        let options = ScanOptions {
            is_exclusive: given.is_exclusive != 0,
            is_reversed: given.is_reversed != 0,
            ..ScanOptions::new(operation, axis)
        };
        let made = scan(&call.ops, call.operand(0), &options, call.out())?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// `cummax` or `cummin` along an axis, and the index of each best value.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_cumulative_best(
    operation: Text,
    x: Handle,
    axis: i64,
    values: Out<Handle>,
    indices: Out<Handle>,
) -> Status {
    answer(|| {
        let places = (values.required("values")?, indices.required("indices")?);
        let name = operation.required("operation")?;
        let known = [Scan::Maximum, Scan::Minimum];
        let found = known.into_iter().find(|one| one.name() == name);
        let operation =
            found.ok_or_else(|| unknown("operation", name, known.into_iter().map(Scan::name)))?;
        let call = Call::of(name, &[("x", x)], &[], Handle::NULL)?;
        let options = ScanOptions::new(operation, axis);
        let made = cumulative_best(&call.ops, call.operand(0), &options)?;
        places.0.write(call.insert(made.0));
        places.1.write(call.insert(made.1));
        Ok(())
    })
}
