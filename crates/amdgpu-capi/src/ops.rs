//! ops.h: operations on arrays, a file for each family. What they share stands here: operands of one device, options, names.

mod at;
mod attention;
mod batch_norm;
mod cast;
mod convolve;
mod elementwise;
mod embedding;
mod fused;
mod geam;
mod in_place;
mod index_checks;
mod indexing;
mod layer_norm;
mod list;
mod loss;
mod matmul;
mod normalize;
mod operand;
mod pool;
mod random;
mod reduce;
mod scan;
mod segments;
mod select;
mod top_k;
mod transpose;

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use amdgpu_ops::pool::ImageLayout;
use amdgpu_ops::{DeviceOps, Operand};

use crate::array::{ArrayObject, dtype_of};
use crate::borrowed::{Options, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure};
use crate::toolchain;

/// `agpu_ops_options`: of functions that take a place for the result and no more.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OpsOptions {
    size_bytes: u64,
    out: Handle,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for OpsOptions {
    const NAME: &'static str = "agpu_ops_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// A handle and the name of its parameter.
type Given<'a> = (&'a str, Handle);

/// Operands, and the state of operations on their device.
struct Call {
    ops: Arc<DeviceOps>,
    /// Those that a call cannot do without.
    operands: Vec<Operand>,
    /// The others, in the order that they were asked for.
    optional: Vec<Option<Operand>>,
    out: Option<Arc<ArrayObject>>,
    first: Arc<ArrayObject>,
}

impl Call {
    /// Operands of one device; the first one says which. `optional` ones and `out` may be null.
    fn of(
        operation: &str,
        operands: &[Given<'_>],
        optional: &[Given<'_>],
        out: Handle,
    ) -> Answer<Self> {
        let (first, others) = operands
            .split_first()
            .ok_or_else(|| Failure::invalid("count is 0; an operation has operands"))?;
        let first = ArrayObject::alive(first.0, first.1)?;
        let beside = |(name, handle): &Given<'_>| -> Answer<Arc<ArrayObject>> {
            let object = ArrayObject::alive(name, *handle)?;
            check_device(operation, name, &object.array, &first.array)?;
            Ok(object)
        };
        let operand = |object: Arc<ArrayObject>| Operand::of_array(object.array.clone());
        let mut all = vec![operand(Arc::clone(&first))];
        for given in others {
            all.push(operand(beside(given)?));
        }
        let mut more = Vec::with_capacity(optional.len());
        for given in optional {
            let object = (!given.1.is_null()).then(|| beside(given)).transpose()?;
            more.push(object.map(operand));
        }
        let out = (!out.is_null())
            .then(|| beside(&("out", out)))
            .transpose()?;
        // Before the first kernel is generated.
        toolchain::of_process();
        let device = first.open_device()?;
        Ok(Self {
            ops: DeviceOps::of(&device)?,
            operands: all,
            optional: more,
            out,
            first,
        })
    }

    fn operand(&self, index: usize) -> &Operand {
        &self.operands[index]
    }

    fn optional(&self, index: usize) -> Option<&Operand> {
        self.optional.get(index).and_then(Option::as_ref)
    }

    fn out(&self) -> Option<&Array> {
        self.out.as_ref().map(|object| &object.array)
    }

    /// A handle of a result.
    fn insert(&self, array: Array) -> Handle {
        ArrayObject::insert(array, self.first.device().cloned())
    }
}

fn check_device(operation: &str, name: &str, array: &Array, first: &Array) -> Answer {
    let (own, wanted) = (array.device_name(), first.device_name());
    if own == wanted {
        return Ok(());
    }
    let message = format!(
        "{operation}: {name} is on {own} and the first operand on {wanted}; copy one of them with agpu_array_copy"
    );
    Err(Failure::new(ErrorCode::WrongDevice, message))
}

impl Options<OpsOptions> {
    fn out(self) -> Answer<Handle> {
        Ok(self.read()?.out)
    }
}

fn unknown(what: &str, given: &str, known: impl Iterator<Item = &'static str>) -> Failure {
    let known = known.collect::<Vec<_>>().join(", ");
    Failure::invalid(format!("{what} is {given:?}; known are {known}"))
}

/// NCHW or NHWC, or what images with other axes have in their place; null is the first.
fn image_layout(layout: Text, spatial: usize) -> Answer<ImageLayout> {
    let Some(name) = layout.optional("layout")? else {
        return Ok(ImageLayout::Nchw);
    };
    ImageLayout::from_name(name, spatial).ok_or_else(|| {
        let names = ImageLayout::names(spatial);
        unknown("layout", name, names.into_iter())
    })
}

/// Depth, rows and columns of an option; zeros are the default.
fn along(depth: i64, [rows, columns]: [i64; 2], default: [i64; 3]) -> [i64; 3] {
    let mut values = [depth, rows, columns];
    for (value, default) in values.iter_mut().zip(default) {
        if *value == 0 {
            *value = default;
        }
    }
    values
}
