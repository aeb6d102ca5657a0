//! Products of matrices and of batches of them.

use std::ffi::{CStr, c_char};

use super::{FLOATS, T, row};
use crate::amdgpu::{Matmul, address_of, agpu};
use crate::call::Call;
use crate::compute::{cast, launch};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Dims, View, broadcast, shown};

pub const ROWS: &[Row] = &[
    row(c"MatMul", &[(T, FLOATS)], &[], |a| {
        kernel([a.flag(c"transpose_a")?, a.flag(c"transpose_b")?])
    }),
    row(c"BatchMatMul", &[(T, FLOATS)], &[], |a| {
        kernel([a.flag(c"adj_x")?, a.flag(c"adj_y")?])
    }),
    row(c"BatchMatMulV2", &[(T, FLOATS)], &[], |a| {
        kernel([a.flag(c"adj_x")?, a.flag(c"adj_y")?])
    }),
    row(c"BatchMatMulV3", &[(c"Ta", FLOATS)], &[], |a| {
        let dtypes = [a.dtype(c"Ta")?, a.dtype(c"Tb")?, a.dtype(c"Tout")?];
        if dtypes.iter().any(|dtype| *dtype != dtypes[0]) {
            return Err(Failure::no_kernel(
                "products of different dtypes have no kernel; cast both to one",
            ));
        }
        kernel([a.flag(c"adj_x")?, a.flag(c"adj_y")?])
    }),
];

fn kernel(transposes: [bool; 2]) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let (a, b) = (c.input(0)?, c.input(1)?);
        let shape = result_shape(&a, &b, transposes)?;
        let out = c.output(0, a.dtype, &shape)?;
        product(c, (&a, &b), transposes, &out)
    }))
}

pub fn result_shape(a: &View, b: &View, [transpose_a, transpose_b]: [bool; 2]) -> Outcome<Dims> {
    let (rank_a, rank_b) = (a.rank(), b.rank());
    if rank_a < 2 || rank_b < 2 {
        return Err(Failure::refused(format!(
            "In[0] and In[1] have different ndims or are no matrices: {} vs. {}",
            shown(&a.shape),
            shown(&b.shape)
        )));
    }
    let sides = |shape: &[i64], is_transposed: bool| {
        let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        if is_transposed {
            (columns, rows)
        } else {
            (rows, columns)
        }
    };
    let ((m, depth), (other, n)) = (sides(&a.shape, transpose_a), sides(&b.shape, transpose_b));
    if depth != other {
        return Err(Failure::refused(format!(
            "Matrix size-incompatible: In[0]: {}, In[1]: {}",
            shown(&a.shape),
            shown(&b.shape)
        )));
    }
    let mut shape = broadcast(&a.shape[..rank_a - 2], &b.shape[..rank_b - 2])?;
    shape.extend([m, n]);
    Ok(shape)
}

/// What products are computed in, which also says the dtype of their results.
fn precision(dtype: Dtype) -> *const c_char {
    match dtype {
        Dtype::F16 => c"fp16".as_ptr(),
        Dtype::BF16 => c"bf16".as_ptr(),
        _ => std::ptr::null(),
    }
}

/// a b of row-major matrices, or batches of them that broadcast.
pub fn product(c: &Call, factors: (&View, &View), transposes: [bool; 2], out: &View) -> Outcome {
    product_with(c, factors, transposes, &Epilogue::default(), out)
}

/// What comes behind a product: an addend of each row, and an activation of libamdgpu.
#[derive(Default)]
pub struct Epilogue<'e> {
    pub bias: Option<&'e View>,
    pub activation: Option<&'e CStr>,
}

/// The same with an epilogue.
pub fn product_with(
    c: &Call,
    (a, b): (&View, &View),
    [transpose_a, transpose_b]: [bool; 2],
    epilogue: &Epilogue<'_>,
    out: &View,
) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    if a.is_empty() || b.is_empty() {
        cast(0_i64, out)?;
        return finish(epilogue, out);
    }
    let (a, b) = (c.contiguous(a)?, c.contiguous(b)?);
    let options = Matmul {
        activation: epilogue.activation.map_or(std::ptr::null(), CStr::as_ptr),
        precision: precision(a.dtype),
        transpose_a: u32::from(transpose_a),
        transpose_b: u32::from(transpose_b),
        ..Matmul::default()
    };
    let (left, right, to) = (a.operand()?, b.operand()?, out.operand()?);
    let bias = epilogue.bias.map(View::operand).transpose()?;
    agpu!(agpu_ops_matmul_at(
        out.place.0,
        &raw const left,
        &raw const right,
        address_of(bias.as_ref()),
        &raw const options,
        &raw const to,
    ))
}

/// The epilogue of a product whose sums are empty.
fn finish(epilogue: &Epilogue<'_>, out: &View) -> Outcome {
    if let Some(bias) = epilogue.bias {
        launch(c"add", &[out.into(), bias.into()], out, 0.0)?;
    }
    match epilogue.activation {
        Some(activation) => launch(activation, &[out.into()], out, 1.0),
        None => Ok(()),
    }
}
