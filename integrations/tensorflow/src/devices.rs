//! The devices of libamdgpu that are RDNA:0, RDNA:1, ...

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use crate::amdgpu::{DeviceFacts, Handle, MemoryInfo, MemoryStatistics, agpu};
use crate::failure::{Failure, Outcome};
use crate::streams::StreamState;

/// Set in addresses that TensorFlow sees where `AMDGPU_TENSORFLOW_POISON=1` and all devices are CPU devices. Addresses with this bit are not
/// canonical on x86-64 and lie beyond what other processors translate, so the host cannot use them by mistake.
const POISON_BIT: usize = 1 << 62;

/// A device that TensorFlow may use.
pub struct Device {
    pub name: &'static CStr,
    pub product_name: &'static CStr,
    handle: OnceLock<Handle>,
    pub streams: StreamState,
}

struct Table {
    devices: Vec<Device>,
    poison: usize,
}

static TABLE: OnceLock<Table> = OnceLock::new();

fn text(field: &[u8]) -> &CStr {
    CStr::from_bytes_until_nul(field).unwrap_or_default()
}

fn all_facts() -> Outcome<Vec<DeviceFacts>> {
    let mut count = 0;
    agpu!(agpu_device_count(&raw mut count))?;
    (0..count)
        .map(|place| {
            let mut facts = DeviceFacts::default();
            agpu!(agpu_device_info_at(place, &raw mut facts))?;
            Ok(facts)
        })
        .collect()
}

/// Those that `AMDGPU_TENSORFLOW_DEVICE` names (kinds, or names such as "hip:1", by commas), else the AMD GPUs, else the NVIDIA GPUs.
fn chosen(all: &[DeviceFacts]) -> Vec<&DeviceFacts> {
    let named = |name: &str| -> Vec<&DeviceFacts> {
        let is_meant = |facts: &&DeviceFacts| {
            [&facts.kind[..], &facts.name[..]]
                .iter()
                .any(|field| text(field).to_bytes() == name.as_bytes())
        };
        all.iter().filter(is_meant).collect()
    };
    match std::env::var("AMDGPU_TENSORFLOW_DEVICE") {
        Ok(names) if !names.is_empty() => names.split(',').flat_map(named).collect(),
        _ => {
            let amd = named("hip");
            if amd.is_empty() { named("cuda") } else { amd }
        }
    }
}

fn leaked(field: &[u8]) -> &'static CStr {
    Box::leak(text(field).to_owned().into_boxed_c_str())
}

/// Makes the list of devices, once.
pub fn list() -> Outcome<&'static [Device]> {
    if let Some(table) = TABLE.get() {
        return Ok(&table.devices);
    }
    let all = all_facts()?;
    let chosen = chosen(&all);
    let is_host = chosen.iter().all(|facts| text(&facts.kind) == c"cpu");
    let is_wanted = std::env::var("AMDGPU_TENSORFLOW_POISON").is_ok_and(|value| value == "1");
    let table = Table {
        devices: chosen
            .into_iter()
            .map(|facts| Device {
                name: leaked(&facts.name),
                product_name: leaked(&facts.product_name),
                handle: OnceLock::new(),
                streams: StreamState::default(),
            })
            .collect(),
        poison: if is_host && is_wanted { POISON_BIT } else { 0 },
    };
    Ok(&TABLE.get_or_init(|| table).devices)
}

/// The device RDNA:`ordinal`.
pub fn get(ordinal: i32) -> Outcome<&'static Device> {
    let devices = list()?;
    let found = usize::try_from(ordinal)
        .ok()
        .and_then(|place| devices.get(place));
    found.ok_or_else(|| {
        Failure::refused(format!(
            "RDNA:{ordinal} does not exist; there are {} devices",
            devices.len()
        ))
    })
}

impl Device {
    /// The open device; opens it on first use.
    pub fn open(&self) -> Outcome<Handle> {
        if let Some(handle) = self.handle.get() {
            return Ok(*handle);
        }
        let mut made = 0;
        let name: *const c_char = self.name.as_ptr();
        agpu!(agpu_device_open(name, std::ptr::null(), &raw mut made))?;
        Ok(*self.handle.get_or_init(|| made))
    }

    /// Free and total memory of the device, other processes included.
    pub fn memory(&self) -> Outcome<MemoryInfo> {
        let mut info = MemoryInfo::default();
        agpu!(agpu_device_memory(self.open()?, &raw mut info))?;
        Ok(info)
    }

    /// What the allocator did for memory of this device.
    pub fn statistics(&self) -> Outcome<MemoryStatistics> {
        let mut statistics = MemoryStatistics::default();
        agpu!(agpu_device_memory_statistics(
            self.open()?,
            0,
            &raw mut statistics
        ))?;
        Ok(statistics)
    }

    /// How much memory there is and who has it, for errors.
    pub fn memory_in_words(&self) -> String {
        let (Ok(memory), Ok(statistics)) = (self.memory(), self.statistics()) else {
            return String::new();
        };
        format!(
            "{} has {} bytes, of which {} are free; this process holds {} bytes in {} tensors and keeps {} more",
            self.name.to_string_lossy(),
            memory.total_bytes,
            memory.free_bytes,
            statistics.allocated_bytes,
            statistics.allocations,
            statistics
                .reserved_bytes
                .saturating_sub(statistics.allocated_bytes),
        )
    }
}

fn poison() -> usize {
    TABLE.get().map_or(0, |table| table.poison)
}

/// The address that TensorFlow sees.
pub fn shown(address: *mut std::ffi::c_void) -> *mut std::ffi::c_void {
    if address.is_null() {
        return address;
    }
    address.map_addr(|address| address | poison())
}

/// The address that TensorFlow shows, as it is.
pub fn real(address: *mut std::ffi::c_void) -> *mut std::ffi::c_void {
    address.map_addr(|address| address & !poison())
}
