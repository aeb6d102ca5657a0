//! ops.h: operations on arrays.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use amdgpu_aura::OpenDevice;
use amdgpu_ops::elementwise::{Elementwise, elementwise};
use amdgpu_ops::matmul::{Activation, Matmul, Precision, matmul};
use amdgpu_ops::reduce::{Reduce, ReduceOptions, reduce};
use amdgpu_ops::{DeviceOps, Operand};

use crate::array::ArrayObject;
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::{self, Handle};
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

/// `agpu_ops_elementwise_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ElementwiseOptions {
    size_bytes: u64,
    out: Handle,
    alpha: f64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for ElementwiseOptions {
    const NAME: &'static str = "agpu_ops_elementwise_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_ops_reduce_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CReduceOptions {
    size_bytes: u64,
    out: Handle,
    axes: Items<i64>,
    axis_count: u64,
    correction: f64,
    keeps_axes: u32,
    reserved: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CReduceOptions {
    const NAME: &'static str = "agpu_ops_reduce_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_ops_matmul_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MatmulOptions {
    size_bytes: u64,
    out: Handle,
    bias: Handle,
    residual: Handle,
    activation: Text,
    precision: Text,
    alpha: f64,
    beta: f64,
    has_factors: u32,
    transpose_a: u32,
    transpose_b: u32,
    reserved: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for MatmulOptions {
    const NAME: &'static str = "agpu_ops_matmul_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Operands, and the state of operations on their device.
struct Call {
    ops: Arc<DeviceOps>,
    operands: Vec<Operand>,
    out: Option<Arc<ArrayObject>>,
    first: Arc<ArrayObject>,
}

impl Call {
    fn of(given: &[(Handle, String)], out: Handle) -> Answer<Self> {
        let mut objects = Vec::with_capacity(given.len());
        for (handle, name) in given {
            let object = handles::get::<ArrayObject>(*handle, name)?;
            object.array.check_alive()?;
            objects.push(object);
        }
        let first = objects.first().cloned();
        let first =
            first.ok_or_else(|| Failure::invalid("count is 0; an operation has operands"))?;
        let out = handles::get_optional::<ArrayObject>(out, "out")?;
        // Before the first kernel is generated.
        toolchain::of_process();
        let device = match first.array.open_device() {
            Some(device) => Arc::clone(device),
            None => OpenDevice::open(first.array.device_name())?,
        };
        Ok(Self {
            ops: DeviceOps::of(&device)?,
            operands: objects
                .iter()
                .map(|object| Operand::of_array(object.array.clone()))
                .collect(),
            out,
            first,
        })
    }

    fn out(&self) -> Option<&Array> {
        self.out.as_ref().map(|object| &object.array)
    }

    fn insert(&self, array: Array) -> Handle {
        ArrayObject::insert(array, self.first.device().cloned())
    }
}

fn unknown(what: &str, given: &str, known: impl Iterator<Item = &'static str>) -> Failure {
    let known = known.collect::<Vec<_>>().join(", ");
    Failure::invalid(format!("{what} is {given:?}; known are {known}"))
}

/// `operation(inputs...)`, broadcast.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_elementwise(
    operation: Text,
    inputs: Items<Handle>,
    count: usize,
    options: Options<ElementwiseOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let name = operation.required("operation")?;
        let operation = Elementwise::from_name(name).ok_or_else(|| {
            unknown(
                "operation",
                name,
                Elementwise::ALL.iter().map(|one| one.name()),
            )
        })?;
        let wanted = operation.inputs();
        if wanted.len() != count {
            let message = format!(
                "{name} takes {} arrays ({}); {count} were given",
                wanted.len(),
                wanted.join(", ")
            );
            return Err(Failure::new(ErrorCode::ArgumentCount, message));
        }
        let given = inputs.slice(count, "inputs")?.iter().zip(wanted);
        let given: Vec<_> = given
            .map(|(handle, name)| (*handle, (*name).to_owned()))
            .collect();
        let options = options.read()?;
        let call = Call::of(&given, options.out)?;
        let made = elementwise(
            &call.ops,
            operation,
            &call.operands,
            call.out(),
            options.alpha,
        )?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// `operation(x)` over axes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_reduce(
    operation: Text,
    x: Handle,
    options: Options<CReduceOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let name = operation.required("operation")?;
        let operation = Reduce::from_name(name)
            .ok_or_else(|| unknown("operation", name, Reduce::ALL.into_iter().map(Reduce::name)))?;
        let given = options.read()?;
        let axes = given.axes.slice(given.axis_count as usize, "axes")?;
        let options = ReduceOptions {
            axes: (given.axis_count > 0).then_some(axes),
            keeps_axes: given.keeps_axes != 0,
            correction: given.correction,
            result: None,
            thread_limit: None,
        };
        let call = Call::of(&[(x, "x".to_owned())], given.out)?;
        let made = reduce(
            &call.ops,
            operation,
            &call.operands[0],
            call.out(),
            &options,
        )?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// `activation(alpha * (a @ b) + beta * out + bias + residual)`.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_matmul(
    a: Handle,
    b: Handle,
    options: Options<MatmulOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let options = options.read()?;
        let mut given = vec![(a, "a".to_owned()), (b, "b".to_owned())];
        let extra = [(options.bias, "bias"), (options.residual, "residual")];
        given.extend(
            extra
                .iter()
                .filter(|(handle, _)| !handle.is_null())
                .map(|(handle, name)| (*handle, (*name).to_owned())),
        );
        let call = Call::of(&given, options.out)?;
        let has_bias = !options.bias.is_null();
        let mut description = Matmul::of(&call.operands[0], &call.operands[1]);
        description.out = call.out();
        description.bias = has_bias.then(|| &call.operands[2]);
        description.residual =
            (!options.residual.is_null()).then(|| &call.operands[2 + usize::from(has_bias)]);
        description.transpose_a = options.transpose_a != 0;
        description.transpose_b = options.transpose_b != 0;
        if options.has_factors != 0 {
            (description.alpha, description.beta) = (options.alpha, options.beta);
        }
        if let Some(name) = options.activation.optional("activation")? {
            description.activation = Activation::from_name(name).ok_or_else(|| {
                unknown(
                    "activation",
                    name,
                    Activation::ALL.into_iter().map(Activation::name),
                )
            })?;
        }
        if let Some(name) = options.precision.optional("precision")? {
            description.precision = Some(Precision::from_name(name).ok_or_else(|| {
                unknown(
                    "precision",
                    name,
                    Precision::ALL.into_iter().map(Precision::name),
                )
            })?);
        }
        let made = matmul(&call.ops, &description)?;
        place.write(call.insert(made));
        Ok(())
    })
}
