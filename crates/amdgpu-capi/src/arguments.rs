//! kernel.h: arguments of a launch.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use amdgpu_aura::Argument;

use crate::array::ArrayObject;
use crate::borrowed::Items;
use crate::handles::{self, Handle};
use crate::objects::{DeviceObject, KernelObject, MemoryObject, StreamObject};
use crate::status::{Answer, Failure};

const MEMORY: u32 = 1;
const POINTER: u32 = 2;
const INTEGER: u32 = 3;
const UNSIGNED: u32 = 4;
const REAL: u32 = 5;
const BOOLEAN: u32 = 6;
const STRUCT: u32 = 7;
const ARRAY: u32 = 8;

/// `agpu_argument`: what `value` is depends on `kind`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CArgument {
    kind: u32,
    reserved: u32,
    value: u64,
    bytes: u64,
}

/// What a launch works on.
#[derive(Clone, Default)]
pub struct Used {
    pub memory: Vec<Arc<MemoryObject>>,
    pub arrays: Vec<Array>,
}

impl Used {
    /// Before a launch. In a stream: others who read the arrays wait for it, and released memory goes only behind it. Without one: what
    /// streams were given to do with the arrays is done first.
    pub fn order(&self, kernel: &KernelObject, stream: Option<&Arc<StreamObject>>) -> Answer {
        for memory in &self.memory {
            memory.use_in(stream)?;
        }
        for array in &self.arrays {
            array.check_alive()?;
            match array.open_device() {
                Some(device) if !Arc::ptr_eq(device, kernel.kernel.open_device()) => {
                    // The order of what another device has queued is not known to this kernel's streams.
                    device.settle()?;
                }
                _ => {}
            }
            match stream {
                Some(stream) => {
                    let uses = array.storage().uses();
                    uses.note(&stream.queue, kernel.kernel.hal_device());
                }
                None => array.finish_uses()?,
            }
        }
        Ok(())
    }

    /// Behind a launch in a stream: the arrays live until the stream has passed it.
    pub fn keep(&self, kernel: &KernelObject, stream: Option<&Arc<StreamObject>>) -> Answer {
        if let Some(stream) = stream {
            stream.keep(&self.arrays, kernel.kernel.hal_device().as_ref())?;
        }
        Ok(())
    }
}

/// Arguments, and what they work on.
pub struct Converted {
    pub arguments: Vec<Argument>,
    pub used: Used,
}

impl Converted {
    pub fn of(items: Items<CArgument>, count: usize, device: &DeviceObject) -> Answer<Self> {
        let items = items.slice(count, "arguments")?;
        let mut converted = Self {
            arguments: Vec::with_capacity(count),
            used: Used::default(),
        };
        for (index, item) in items.iter().enumerate() {
            let argument = converted.convert(item, index, device)?;
            converted.arguments.push(argument);
        }
        Ok(converted)
    }

    fn convert(
        &mut self,
        item: &CArgument,
        index: usize,
        device: &DeviceObject,
    ) -> Answer<Argument> {
        let pointer = |address: u64, bytes: u64| Argument::Pointer {
            address,
            dtype: None,
            is_read_only: false,
            bytes,
        };
        Ok(match item.kind {
            MEMORY => {
                let handle = Handle::from_bits(item.value);
                let memory = handles::get::<MemoryObject>(handle, &format!("argument {index}"))?;
                if memory.device.name() != device.name() {
                    let (from, to) = (memory.device.name(), device.name());
                    let message = format!(
                        "argument {index} is memory of {from}, and the kernel runs on {to}"
                    );
                    return Err(Failure::new(ErrorCode::WrongDevice, message));
                }
                memory.check_range(&format!("argument {index}"), item.bytes, 0)?;
                let address = memory.block.ptr().offset(item.bytes).address();
                let left = memory.block.len_bytes() - item.bytes;
                self.used.memory.push(memory);
                pointer(address, left)
            }
            ARRAY => self.array(item, index, device)?,
            POINTER => pointer(item.value, item.bytes),
            INTEGER => Argument::Int(i128::from(item.value as i64)),
            UNSIGNED => Argument::Int(i128::from(item.value)),
            REAL => Argument::Float(f64::from_bits(item.value)),
            BOOLEAN => Argument::Bool(item.value != 0),
            STRUCT => {
                let name = format!("the struct of argument {index}");
                let bytes = Items::from_address(item.value).slice(item.bytes as usize, &name)?;
                Argument::Bytes(bytes.into())
            }
            other => {
                return Err(Failure::invalid(format!(
                    "argument {index} is of kind {other}; known are 1 to 8: use the functions agpu_argument_..."
                )));
            }
        })
    }

    fn array(&mut self, item: &CArgument, index: usize, device: &DeviceObject) -> Answer<Argument> {
        let name = format!("argument {index}");
        let object = handles::get::<ArrayObject>(Handle::from_bits(item.value), &name)?;
        let array = &object.array;
        array.check_alive()?;
        if !array.is_contiguous() {
            let message = format!(
                "argument {index} is an array that is not contiguous in row-major order: copy it with agpu_ops_contiguous"
            );
            return Err(Failure::new(ErrorCode::NotContiguous, message));
        }
        if !array.location().is_reachable_by(device.context.info()) {
            let (from, to) = (array.device_name(), device.name());
            let message =
                format!("argument {index} is an array of {from}, and the kernel runs on {to}");
            return Err(Failure::new(ErrorCode::WrongDevice, message));
        }
        self.used.arrays.push(array.clone());
        Ok(Argument::Pointer {
            address: array.data() as u64,
            dtype: Some(array.dtype),
            is_read_only: array.is_read_only,
            bytes: array.bytes() as u64,
        })
    }
}
