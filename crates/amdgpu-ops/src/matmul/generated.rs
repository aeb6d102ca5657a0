//! Matrix multiplication by generated kernels: every shape, stride, dtype and epilogue, and what follows the sums of other kernels.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::is_float;
use amdgpu_array::coalesce_all;
use smallvec::SmallVec;

use super::checked::{Checked, factor};
use crate::generated::matmul::{Memory, Signature, after_sums};
use crate::generated::source;
use crate::tiled::{TiledShape, launch_tiled};
use crate::{Arg, DeviceOps, KernelKey, Operand, Result, elementwise};

/// Compute with one tiled kernel that reads the operands where and as they are.
///
/// # Errors
///
/// What the compiler and the device report.
pub fn multiply(ops: &DeviceOps, checked: &Checked) -> Result<()> {
    let (m, n, k) = checked.extents();
    let bias = checked
        .bias
        .as_ref()
        .map(|bias| bias.broadcast_to(&checked.result.shape));
    let mut all: SmallVec<[(&'static str, &Operand); 6]> = SmallVec::from_slice(&[
        ("a", &checked.a),
        ("b", &checked.b),
        ("out", &checked.result),
    ]);
    all.extend(bias.as_ref().map(|one| ("bias", one)));
    all.extend(checked.residual.as_ref().map(|one| ("residual", one)));
    if checked.reads_result() {
        all.push(("held", &checked.result));
    }
    let batch_axes = checked.batch_shape().len();
    let strides: SmallVec<[&[i64]; 6]> = all
        .iter()
        .map(|(_, one)| &one.strides[..batch_axes])
        .collect();
    let (extents, strides) = coalesce_all(checked.batch_shape(), &strides);
    let memory: SmallVec<[Memory; 6]> = all
        .iter()
        .map(|(name, one)| Memory {
            name,
            dtype: one.dtype,
            is_dense: one.is_dense(),
        })
        .collect();
    let signature = Signature {
        memory: &memory,
        sums: checked.sums,
        rounding: checked.rounding,
        activation: checked.activation.name(),
        rank: extents.len(),
        is_a_inner: checked.a.strides[checked.a.rank() - 1] == 1,
        is_b_inner: checked.b.strides[checked.b.rank() - 2] == 1,
    };
    let mut args: SmallVec<[Arg<'_>; 32]> = SmallVec::new();
    args.extend(all.iter().map(|(_, one)| Arg::pointer(one)));
    for (_, one) in &all {
        args.extend(
            one.strides[one.rank() - 2..]
                .iter()
                .map(|stride| Arg::from(*stride)),
        );
    }
    let factors = [checked.alpha, checked.beta];
    args.extend(factors.map(|value| Arg::from(factor(value, checked.sums))));
    for arg in source::walk_arguments(&extents, &strides) {
        args.push(arg);
    }
    let shape = TiledShape {
        m,
        n,
        k,
        batch: checked.batch(),
        split_k: 1,
    };
    launch_tiled(ops, key_of(&signature), || signature.tiled(), shape, &args)
}

fn key_of(signature: &Signature<'_>) -> KernelKey {
    let mut key = KernelKey::new("matmul")
        .dtype(signature.sums)
        .dtype(signature.rounding.unwrap_or(Dtype::BOOL))
        .text(signature.activation)
        .with(signature.rank as u64)
        .flag(signature.is_a_inner)
        .flag(signature.is_b_inner);
    for one in signature.memory {
        // First letters tell the names apart.
        key = key
            .with(u64::from(one.name.as_bytes()[0]))
            .dtype(one.dtype)
            .flag(one.is_dense);
    }
    key
}

/// Write the result from the sums, of the result's shape: what the call says follows them.
///
/// # Errors
///
/// What the compiler and the device report.
pub fn follow(ops: &DeviceOps, checked: &Checked, sums: Operand) -> Result<()> {
    let mut operands: SmallVec<[Operand; 5]> = SmallVec::new();
    operands.push(sums);
    if checked.reads_result() {
        let wide = if is_float(checked.sums) {
            Dtype::F64
        } else {
            Dtype::I64
        };
        operands.push(checked.result.clone());
        operands.push(Operand::of_number(factor(checked.beta, checked.sums), wide));
    }
    let added = checked.bias.iter().chain(&checked.residual);
    let count = added.clone().count();
    operands.extend(added.cloned());
    let body = after_sums(
        checked.activation.name(),
        checked.sums,
        checked.reads_result(),
        count,
    );
    elementwise::compute(
        ops,
        &body,
        &operands,
        &checked.result,
        checked.sums,
        checked.alpha,
    )
}
