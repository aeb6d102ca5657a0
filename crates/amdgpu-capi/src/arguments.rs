//! kernel.h: arguments of a launch.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_aura::Argument;

use crate::borrowed::Items;
use crate::handles::{self, Handle};
use crate::objects::{DeviceObject, MemoryObject};
use crate::status::{Answer, Failure};

const MEMORY: u32 = 1;
const POINTER: u32 = 2;
const INTEGER: u32 = 3;
const UNSIGNED: u32 = 4;
const REAL: u32 = 5;
const BOOLEAN: u32 = 6;
const STRUCT: u32 = 7;

/// `agpu_argument`: what `value` is depends on `kind`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CArgument {
    kind: u32,
    reserved: u32,
    value: u64,
    bytes: u64,
}

/// Arguments, and the memory among them.
pub struct Converted {
    pub arguments: Vec<Argument>,
    pub memory: Vec<Arc<MemoryObject>>,
}

impl Converted {
    pub fn of(items: Items<CArgument>, count: usize, device: &DeviceObject) -> Answer<Self> {
        let items = items.slice(count, "arguments")?;
        let mut converted = Self {
            arguments: Vec::with_capacity(count),
            memory: Vec::new(),
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
                self.memory.push(memory);
                pointer(address, left)
            }
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
                    "argument {index} is of kind {other}; known are 1 to 7: use the functions agpu_argument_..."
                )));
            }
        })
    }
}
