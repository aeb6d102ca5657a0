//! A call of a kernel: its inputs, its outputs and memory for what is between them; and the attributes that a kernel is made with.

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::amdgpu::{Handle, agpu};
use crate::dtype::Dtype;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::streams::{Queue, Stream};
use crate::tensor::{Dims, Tensor, View};
use crate::tensorflow::{self, AllocatorAttributes, Opaque, Status};

/// What TensorFlow has a kernel compute.
pub struct Call<'c> {
    pub context: Opaque,
    /// Where operands are: the device, or the CPU device of libamdgpu for kernels of tensors of the host.
    pub device: Handle,
    pub stream: &'c Queue,
    pub is_host: bool,
    pub status: Status,
    pub name: &'static CStr,
    /// How many bytes the last call of `bytes_of` found.
    last_bytes: Cell<usize>,
}

/// The CPU device of libamdgpu, which computes with tensors of the host.
pub fn host_device() -> Outcome<Handle> {
    static HOST: OnceLock<Handle> = OnceLock::new();
    if let Some(handle) = HOST.get() {
        return Ok(*handle);
    }
    let mut handle = 0;
    agpu!(agpu_device_open(
        c"cpu:0".as_ptr(),
        std::ptr::null(),
        &raw mut handle
    ))?;
    Ok(*HOST.get_or_init(|| handle))
}

impl Call<'_> {
    pub fn of(context: Opaque, name: &'static CStr, is_host: bool) -> Outcome<Self> {
        let status = Status::new()?;
        // SAFETY: a live context and status.
        let stream = unsafe { (tensorflow::get()?.TF_GetStream)(context, status.0) };
        status.done()?;
        // SAFETY: TensorFlow gives the streams that `create_stream` gave it, which live as long as the device.
        let stream = unsafe { stream.cast::<Stream>().as_ref() };
        let stream: &Queue = stream.ok_or_else(|| Failure::refused("the kernel has no stream"))?;
        let device = if is_host {
            host_device()?
        } else {
            stream.device.open()?
        };
        Ok(Self {
            context,
            device,
            stream,
            is_host,
            status,
            name,
            last_bytes: Cell::new(0),
        })
    }

    /// Runs a kernel in the order of the stream.
    pub fn run(&self, kernel: impl FnOnce(&Self) -> Outcome) -> Outcome {
        if self.is_host {
            return kernel(self);
        }
        self.stream.in_order(|| kernel(self))
    }

    pub fn input_count(&self) -> Outcome<usize> {
        // SAFETY: a live context.
        Ok(unsafe { (tensorflow::get()?.TF_NumInputs)(self.context) } as usize)
    }

    pub fn output_count(&self) -> Outcome<usize> {
        // SAFETY: a live context.
        Ok(unsafe { (tensorflow::get()?.TF_NumOutputs)(self.context) } as usize)
    }

    fn raw_input(&self, place: usize) -> Outcome<Opaque> {
        let mut handle = std::ptr::null_mut();
        let place = place as c_int;
        // SAFETY: a live context and status, and a place for the tensor.
        unsafe {
            (tensorflow::get()?.TF_GetInput)(self.context, place, &raw mut handle, self.status.0);
        }
        self.status.done()?;
        Ok(handle)
    }

    /// An input. The context keeps it as long as the kernel runs, so that an output may take its memory over.
    pub fn input(&self, place: usize) -> Outcome<View> {
        Ok((*self.tensor(place)?).clone())
    }

    /// An input with a reference of its own.
    pub fn tensor(&self, place: usize) -> Outcome<Tensor> {
        Tensor::of(self.raw_input(place)?, self.device)
    }

    /// All inputs from a place on.
    pub fn inputs(&self, first: usize) -> Outcome<Vec<View>> {
        (first..self.input_count()?)
            .map(|place| self.input(place))
            .collect()
    }

    /// The whole numbers of an input in the memory of the host.
    pub fn host_ints(&self, place: usize) -> Outcome<Vec<i64>> {
        let tensor = Tensor::of(self.raw_input(place)?, 0)?;
        let count = tensor.len() as usize;
        // SAFETY: memory of the host with so many elements.
        unsafe {
            match tensor.dtype {
                _ if count == 0 => Ok(Vec::new()),
                Dtype::I32 => {
                    let values = std::slice::from_raw_parts(tensor.address.cast::<i32>(), count);
                    Ok(values.iter().map(|value| i64::from(*value)).collect())
                }
                Dtype::I64 => {
                    Ok(std::slice::from_raw_parts(tensor.address.cast::<i64>(), count).to_vec())
                }
                Dtype::U64 => {
                    let values = std::slice::from_raw_parts(tensor.address.cast::<u64>(), count);
                    Ok(values.iter().map(|value| *value as i64).collect())
                }
                other => Err(Failure::no_kernel(format!(
                    "{}: input {place} has dtype number {}, not int32 or int64",
                    self.name.to_string_lossy(),
                    other.0
                ))),
            }
        }
    }

    /// The only whole number of an input in the memory of the host.
    pub fn host_int(&self, place: usize) -> Outcome<i64> {
        match self.host_ints(place)?[..] {
            [value] => Ok(value),
            ref values => Err(Failure::refused(format!(
                "{}: input {place} must be a scalar, but has {} elements",
                self.name.to_string_lossy(),
                values.len()
            ))),
        }
    }

    /// The only number of an input in the memory of the host.
    pub fn host_real(&self, place: usize) -> Outcome<f64> {
        let tensor = Tensor::of(self.raw_input(place)?, 0)?;
        if tensor.len() != 1 {
            return Err(Failure::refused(format!(
                "{}: input {place} must be a scalar, but has {} elements",
                self.name.to_string_lossy(),
                tensor.len()
            )));
        }
        // SAFETY: memory of the host with an element of the dtype.
        Ok(unsafe {
            match tensor.dtype {
                Dtype::F64 => tensor.address.cast::<f64>().read(),
                Dtype::F32 => f64::from(tensor.address.cast::<f32>().read()),
                Dtype::BF16 => f64::from(f32::from_bits(
                    u32::from(tensor.address.cast::<u16>().read()) << 16,
                )),
                Dtype::F16 => half_value(tensor.address.cast::<u16>().read()),
                _ => self.host_int(place)? as f64,
            }
        })
    }

    /// What TensorFlow allocated; where it could not, with the numbers of the device.
    fn allocated(&self, handle: Opaque) -> Outcome<Tensor> {
        self.status.done().map_err(|failure| {
            if failure.kind == FailureKind::OutOfMemory {
                let numbers = self.stream.device.memory_in_words();
                return Failure::out_of_memory(format!(
                    "{} ({} bytes were asked for; {numbers})",
                    failure.message,
                    self.last_bytes.get()
                ));
            }
            failure
        })?;
        Tensor::of(handle, self.device)
    }

    fn bytes_of(&self, dtype: Dtype, shape: &[i64]) -> usize {
        let bytes = shape.iter().product::<i64>() as usize * dtype.item_bytes();
        self.last_bytes.set(bytes);
        bytes
    }

    /// A new output.
    pub fn output(&self, place: usize, dtype: Dtype, shape: &[i64]) -> Outcome<Tensor> {
        let bytes = self.bytes_of(dtype, shape);
        // SAFETY: a live context and status, and as many extents as there are axes.
        let handle = unsafe {
            (tensorflow::get()?.TF_AllocateOutput)(
                self.context,
                place as c_int,
                dtype.0,
                shape.as_ptr(),
                shape.len() as c_int,
                bytes,
                self.status.0,
            )
        };
        self.allocated(handle)
    }

    /// The first output, in the memory of the first of these inputs that nobody else uses and that has its shape, else in new memory. TensorFlow would
    /// also take the memory of one that has as many elements and other axes, which is another view of it than the kernel reads.
    pub fn output_in_place(
        &self,
        inputs: &[c_int],
        dtype: Dtype,
        shape: &[i64],
    ) -> Outcome<Tensor> {
        let fits = |place: &c_int| {
            self.input(*place as usize)
                .map(|own| own.shape[..] == *shape)
        };
        let mut alike: SmallVec<[c_int; 6]> = SmallVec::new();
        for place in inputs {
            if fits(place)? {
                alike.push(*place);
            }
        }
        if alike.is_empty() {
            return self.output(0, dtype, shape);
        }
        self.bytes_of(dtype, shape);
        let mut chosen: c_int = -1;
        // SAFETY: as above.
        let handle = unsafe {
            (tensorflow::get()?.TF_ForwardInputOrAllocateOutput)(
                self.context,
                alike.as_ptr(),
                alike.len() as c_int,
                0,
                shape.as_ptr(),
                shape.len() as c_int,
                &raw mut chosen,
                self.status.0,
            )
        };
        self.allocated(handle)
    }

    /// The dtype that TensorFlow expects of an output.
    pub fn output_dtype(&self, place: usize) -> Outcome<Dtype> {
        // SAFETY: a live context.
        let number =
            unsafe { (tensorflow::get()?.TF_ExpectedOutputDataType)(self.context, place as c_int) };
        Ok(Dtype(number))
    }

    /// Memory that lives until the tensor goes.
    pub fn temporary(&self, dtype: Dtype, shape: &[i64]) -> Outcome<Tensor> {
        self.bytes_of(dtype, shape);
        let mut attributes = AllocatorAttributes {
            struct_size: AllocatorAttributes::STRUCT_SIZE,
            on_host: u8::from(self.is_host),
        };
        // SAFETY: as above.
        let handle = unsafe {
            (tensorflow::get()?.TF_AllocateTemp)(
                self.context,
                dtype.0,
                shape.as_ptr(),
                shape.len() as c_int,
                &raw mut attributes,
                self.status.0,
            )
        };
        self.allocated(handle)
    }

    /// Gives a tensor as an output, under another shape of as many elements, without copying it.
    pub fn set_output(&self, place: usize, tensor: &Tensor, shape: &[i64]) -> Outcome {
        self.set_output_as(place, tensor, tensor.dtype, shape)
    }

    /// The same, with the bytes as elements of another dtype.
    pub fn set_output_as(
        &self,
        place: usize,
        tensor: &Tensor,
        dtype: Dtype,
        shape: &[i64],
    ) -> Outcome {
        let tensorflow = tensorflow::get()?;
        if tensor.shape.as_slice() == shape && tensor.dtype == dtype {
            // SAFETY: a live context, tensor and status.
            unsafe {
                (tensorflow.TF_SetOutput)(
                    self.context,
                    place as c_int,
                    tensor.handle,
                    self.status.0,
                );
            }
            return self.status.done();
        }
        let empty = Dims::from_elem(0, 1);
        // SAFETY: a tensor without elements, which then takes over the memory of the other one.
        unsafe {
            let alias = (tensorflow.TF_AllocateTensor)(dtype.0, empty.as_ptr(), 1, 0);
            (tensorflow.TF_TensorBitcastFrom)(
                tensor.handle,
                dtype.0,
                alias,
                shape.as_ptr(),
                shape.len() as c_int,
                self.status.0,
            );
            let done = self.status.done();
            if done.is_ok() {
                (tensorflow.TF_SetOutput)(self.context, place as c_int, alias, self.status.0);
            }
            (tensorflow.TF_DeleteTensor)(alias);
            done?;
        }
        self.status.done()
    }
}

/// The value of an IEEE binary16.
pub fn half_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// The attributes of a node of a graph.
pub struct Attributes {
    construction: Opaque,
    status: Status,
}

impl Attributes {
    pub fn of(construction: Opaque) -> Outcome<Self> {
        Ok(Self {
            construction,
            status: Status::new()?,
        })
    }

    /// The name of the operation that the node is.
    pub fn operation(&self) -> Outcome<Vec<u8>> {
        let tensorflow = tensorflow::get()?;
        // SAFETY: a live construction and status; the buffer is this function's until it is deleted.
        unsafe {
            let buffer =
                (tensorflow.TF_OpKernelConstruction_GetNodeDef)(self.construction, self.status.0);
            self.status.done()?;
            let name = operation_of_node((*buffer).bytes()).map(<[u8]>::to_vec);
            (tensorflow.TF_DeleteBuffer)(buffer);
            name.ok_or_else(|| Failure::refused("a node of a graph names no operation"))
        }
    }

    /// Length of a list and characters of a text.
    fn size(&self, name: &CStr) -> Outcome<(usize, usize)> {
        let (mut length, mut total) = (0, 0);
        // SAFETY: a live construction and status, and places for two numbers.
        unsafe {
            (tensorflow::get()?.TF_OpKernelConstruction_GetAttrSize)(
                self.construction,
                name.as_ptr(),
                &raw mut length,
                &raw mut total,
                self.status.0,
            );
        }
        self.status.done()?;
        Ok((length.max(0) as usize, total.max(0) as usize))
    }

    pub fn dtype(&self, name: &CStr) -> Outcome<Dtype> {
        let mut value = 0;
        // SAFETY: a live construction and status, and a place for the answer.
        unsafe {
            (tensorflow::get()?.TF_OpKernelConstruction_GetAttrType)(
                self.construction,
                name.as_ptr(),
                &raw mut value,
                self.status.0,
            );
        }
        self.status.done()?;
        Ok(Dtype(value))
    }

    pub fn int(&self, name: &CStr) -> Outcome<i64> {
        let mut value = 0;
        // SAFETY: as above.
        unsafe {
            (tensorflow::get()?.TF_OpKernelConstruction_GetAttrInt64)(
                self.construction,
                name.as_ptr(),
                &raw mut value,
                self.status.0,
            );
        }
        self.status.done()?;
        Ok(value)
    }

    pub fn real(&self, name: &CStr) -> Outcome<f64> {
        let mut value = 0.0;
        // SAFETY: as above.
        unsafe {
            (tensorflow::get()?.TF_OpKernelConstruction_GetAttrFloat)(
                self.construction,
                name.as_ptr(),
                &raw mut value,
                self.status.0,
            );
        }
        self.status.done()?;
        Ok(f64::from(value))
    }

    pub fn flag(&self, name: &CStr) -> Outcome<bool> {
        let mut value = 0;
        // SAFETY: as above.
        unsafe {
            (tensorflow::get()?.TF_OpKernelConstruction_GetAttrBool)(
                self.construction,
                name.as_ptr(),
                &raw mut value,
                self.status.0,
            );
        }
        self.status.done()?;
        Ok(value != 0)
    }

    pub fn text(&self, name: &CStr) -> Outcome<String> {
        let (_, length) = self.size(name)?;
        let mut bytes = vec![0_u8; length];
        // SAFETY: as above, with room for so many characters.
        unsafe {
            (tensorflow::get()?.TF_OpKernelConstruction_GetAttrString)(
                self.construction,
                name.as_ptr(),
                bytes.as_mut_ptr().cast(),
                length,
                self.status.0,
            );
        }
        self.status.done()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn ints(&self, name: &CStr) -> Outcome<Vec<i64>> {
        let (length, _) = self.size(name)?;
        let mut values = vec![0; length];
        // SAFETY: as above, with room for so many numbers.
        unsafe {
            (tensorflow::get()?.TF_OpKernelConstruction_GetAttrInt64List)(
                self.construction,
                name.as_ptr(),
                values.as_mut_ptr(),
                length as c_int,
                self.status.0,
            );
        }
        self.status.done()?;
        Ok(values)
    }
}

/// The field `op`, which is number 2 of `NodeDef` (`tensorflow/core/framework/node_def.proto`), a text as those before it.
fn operation_of_node(mut bytes: &[u8]) -> Option<&[u8]> {
    const NAME: u8 = 1 << 3 | 2;
    const OPERATION: u8 = 2 << 3 | 2;
    while let Some((tag, rest)) = bytes.split_first() {
        let (length, rest) = variable_length(rest)?;
        let text = rest.get(..length)?;
        match *tag {
            OPERATION => return Some(text),
            NAME => bytes = &rest[length..],
            _ => return None,
        }
    }
    None
}

/// A number in groups of seven bits, the lowest first, and what is behind it.
fn variable_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate().take(9) {
        value |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_name_their_operation() {
        let long = vec![b'n'; 200];
        let mut bytes = vec![10, 0xc8, 0x01];
        bytes.extend(&long);
        bytes.extend([18, 5]);
        bytes.extend(b"AddV2");
        bytes.extend([26, 1, b'x']);
        assert_eq!(operation_of_node(&bytes), Some(&b"AddV2"[..]));
        assert_eq!(operation_of_node(&bytes[..100]), None);
        assert_eq!(operation_of_node(&[]), None);
        assert_eq!(operation_of_node(&[10, 0xff, 0xff]), None);
    }
}
