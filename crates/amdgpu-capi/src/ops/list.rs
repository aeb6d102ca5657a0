//! ops.h: operations on lists of tensors at addresses, by one launch for all of them.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, recording};
use amdgpu_aura::OpenDevice;
use amdgpu_ops::DeviceOps;
use amdgpu_ops::generated::lists::{ListBody, Slot};
use amdgpu_ops::lists::{self, AddressItem, ListItem};

use crate::array::dtype_of;
use crate::borrowed::{Items, Text};
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::raw::{are_private, array_at};
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

impl CListItem {
    /// Its memory in the slots that have some: addresses, with the bytes behind them and the size of an element.
    fn ranges(&self, slots: &[Given]) -> impl Iterator<Item = (u64, u64, u64)> {
        slots
            .iter()
            .zip(self.memory)
            .filter_map(|((slot, dtype), address)| {
                let item_bytes = (*dtype)?.size_bytes() as u64;
                let length = if slot.access.is_each() {
                    self.elements
                } else {
                    1
                };
                Some((
                    address as u64,
                    length.saturating_mul(item_bytes),
                    item_bytes,
                ))
            })
    }

    fn by_address(&self, slots: &[Given], numbers: usize) -> AddressItem<'_> {
        AddressItem {
            elements: self.elements as i64,
            addresses: self.ranges(slots).map(|(address, ..)| address).collect(),
            numbers: &self.numbers[..numbers],
        }
    }
}

/// Whether all memory is the device's own and at rest, so that addresses alone say what a launch reaches. Everything else takes the general path,
/// which says what is wrong.
fn is_usual(items: &[CListItem], slots: &[Given], device: &Arc<OpenDevice>) -> bool {
    let ranges = || items.iter().flat_map(|item| item.ranges(slots));
    !recording::is_recording()
        && ranges().all(|(address, _, item_bytes)| address.is_multiple_of(item_bytes))
        && are_private(ranges().map(|(address, bytes, _)| (address, bytes)), device)
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
        let items = items.slice(count, "items")?;
        toolchain::of_process();
        let open = device.context.open_device()?;
        let ops = DeviceOps::of(open)?;
        if is_usual(items, &slots, open) {
            let dtypes: Vec<_> = slots.iter().map(|(_, dtype)| *dtype).collect();
            let items = items.iter().map(|item| item.by_address(&slots, own));
            let items: Vec<AddressItem<'_>> = items.collect();
            // SAFETY: the memory was looked at just now; whoever frees it meanwhile gives it back in the order of the stream.
            unsafe { lists::list_step_at(&ops, body, &dtypes, &items, shared) }?;
            return Ok(());
        }
        let items: Vec<ListItem> = items
            .iter()
            .map(|item| item.item(&device, &slots, own))
            .collect::<Answer<_>>()?;
        Ok(lists::list_step(&ops, body, &items, shared)?)
    })
}
