//! ops.h: operations on lists of tensors at addresses, by one launch for all of them.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_ops::DeviceOps;
use amdgpu_ops::generated::lists::{ListBody, Slot};
use amdgpu_ops::lists::{self, ListItem};

use crate::array::dtype_of;
use crate::borrowed::{Items, Text};
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::raw::array_at;
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

/// `AGPU_LIST_SLOTS` and `AGPU_LIST_NUMBERS`.
const SLOTS: usize = 8;
const NUMBERS: usize = 4;

/// `agpu_list_item`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CListItem {
    elements: u64,
    memory: [*const c_void; SLOTS],
    numbers: [f64; NUMBERS],
}

/// A slot that memory was given for.
type Given = (Slot, Option<Dtype>);

impl CListItem {
    fn item(
        &self,
        device: &Arc<DeviceObject>,
        slots: &[Given],
        numbers: usize,
    ) -> Answer<ListItem> {
        let elements = i64::try_from(self.elements)
            .map_err(|_| Failure::invalid("elements is more than any memory holds"))?;
        let array = |(slot, dtype): &Given, address: *const c_void| -> Answer<Option<Array>> {
            let Some(dtype) = dtype else { return Ok(None) };
            let length = if slot.access.is_each() { elements } else { 1 };
            let layout = (Dims::from_slice(&[length]), Dims::from_slice(&[1]));
            array_at(device, address as u64, *dtype, layout).map(Some)
        };
        let memory = slots.iter().zip(self.memory);
        Ok(ListItem {
            memory: memory
                .map(|(slot, address)| array(slot, address))
                .collect::<Answer<_>>()?,
            numbers: self.numbers[..numbers].into(),
        })
    }
}

/// The slots of an operation with the dtypes that were given.
fn given(body: ListBody, dtypes: Items<Text>) -> Answer<Vec<Given>> {
    let slots = body.slots();
    let names = dtypes.slice(slots.len(), "dtypes")?;
    let dtype = |name: &Text| name.optional("dtype")?.map(dtype_of).transpose();
    let both = slots.iter().zip(names);
    both.map(|(slot, name)| Ok((*slot, dtype(name)?))).collect()
}

/// An operation for every item of lists.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_list_at(
    device: Handle,
    operation: Text,
    dtypes: Items<Text>,
    items: Items<CListItem>,
    count: usize,
    numbers: Items<f64>,
    number_count: usize,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let body = lists::find(operation.required("operation")?)?;
        let slots = given(body, dtypes)?;
        let wanted = body.numbers().len();
        let own = if numbers.is_null() { wanted } else { 0 };
        if own > NUMBERS {
            return Err(Failure::invalid(format!(
                "{} takes {wanted} numbers, which all items share; numbers is NULL",
                body.name()
            )));
        }
        let shared = if numbers.is_null() { 0 } else { number_count };
        let shared = numbers.slice(shared, "numbers")?;
        let items = items.slice(count, "items")?.iter();
        let items: Vec<ListItem> = items
            .map(|item| item.item(&device, &slots, own))
            .collect::<Answer<_>>()?;
        toolchain::of_process();
        let ops = DeviceOps::of(device.context.open_device()?)?;
        lists::list_step(&ops, body, &items, shared)?;
        Ok(())
    })
}
