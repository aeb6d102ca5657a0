//! What a driver tells of a device, without making a context.

use std::ffi::{CStr, c_char};

use super::api::Api;
use crate::{CacheSizes, DeviceInfo, Result};

/// Longer than any product name.
const NAME_BYTES: usize = 256;

pub(super) fn describe(api: &Api, ordinal: i32) -> Result<DeviceInfo> {
    let name = format!("{}:{ordinal}", api.vendor.kind);
    let ask = Asker {
        api,
        name: &name,
        device: device_at(api, &name, ordinal)?,
    };
    let numbers = &api.vendor.attributes;
    let triple = |[x, y, z]: [i32; 3]| -> Result<[u32; 3]> {
        Ok([ask.attribute(x)?, ask.attribute(y)?, ask.attribute(z)?])
    };
    let plain_shared_bytes = ask.attribute(numbers.shared_memory_per_block)?;
    let shared_bytes = numbers
        .shared_memory_per_block_opt_in
        .and_then(|number| ask.optional(number))
        .map_or(plain_shared_bytes, |bytes| bytes.max(plain_shared_bytes));
    Ok(DeviceInfo {
        kind: api.vendor.kind,
        capabilities: api.vendor.capabilities,
        ordinal: ordinal as u32,
        product_name: ask.product_name()?,
        architecture: (api.vendor.architecture)(api, ask.device)?,
        compute_units: ask.optional(numbers.compute_units),
        physical_cores: None,
        logical_cores: None,
        warp_size: ask.attribute(numbers.warp_size)?,
        max_threads_per_block: ask.attribute(numbers.max_threads_per_block)?,
        max_threads_per_unit: ask.optional(numbers.max_threads_per_unit),
        max_block: triple(numbers.max_block)?,
        max_grid: triple(numbers.max_grid)?,
        shared_memory_per_block_bytes: u64::from(shared_bytes),
        total_memory_bytes: ask.memory_bytes()?,
        caches: CacheSizes {
            level2_bytes: ask.optional(numbers.level2_cache).map(u64::from),
            ..CacheSizes::default()
        },
        simd_width_bits: None,
        features: Vec::new(),
        clock_hertz: ask
            .optional(numbers.clock_kilohertz)
            .map(|kilohertz| u64::from(kilohertz) * 1000),
        memory_clock_hertz: ask
            .optional(numbers.memory_clock_kilohertz)
            .map(|kilohertz| u64::from(kilohertz) * 1000),
        memory_bus_bits: ask.optional(numbers.memory_bus_bits),
        uuid: ask.uuid(),
        driver_version: ask.driver_version(),
        name,
    })
}

fn device_at(api: &Api, name: &str, ordinal: i32) -> Result<i32> {
    let mut device = 0;
    // SAFETY: `device` is a valid place for the result.
    let status = unsafe { (api.functions.device_at)(&raw mut device, ordinal) };
    api.check(name, "finding the device", status)?;
    Ok(device)
}

/// One attribute of a device, for what vendors ask beyond the common list.
pub(crate) fn attribute(api: &Api, device: i32, number: i32) -> Result<i32> {
    let mut value = 0;
    // SAFETY: `value` is a valid place for the result.
    let status = unsafe { (api.functions.device_attribute)(&raw mut value, number, device) };
    api.check(api.vendor.name, "asking for a device attribute", status)?;
    Ok(value)
}

struct Asker<'a> {
    api: &'a Api,
    name: &'a str,
    device: i32,
}

impl Asker<'_> {
    fn attribute(&self, number: i32) -> Result<u32> {
        // No attribute in the list is negative.
        attribute(self.api, self.device, number).map(|value| value.max(0) as u32)
    }

    /// What older or newer drivers may not tell; 0 is how they say that they do not know.
    fn optional(&self, number: i32) -> Option<u32> {
        self.attribute(number).ok().filter(|&value| value > 0)
    }

    fn product_name(&self) -> Result<String> {
        let mut text = [0 as c_char; NAME_BYTES];
        // SAFETY: the driver writes at most as many bytes as it is told, with a zero at the end.
        let status = unsafe {
            (self.api.functions.device_name)(text.as_mut_ptr(), NAME_BYTES as i32, self.device)
        };
        self.api
            .check(self.name, "asking for the product name", status)?;
        text[NAME_BYTES - 1] = 0;
        // SAFETY: the last byte is zero.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }
            .to_string_lossy()
            .trim()
            .to_string())
    }

    fn memory_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: `bytes` is a valid place for the result.
        let status =
            unsafe { (self.api.functions.device_memory_bytes)(&raw mut bytes, self.device) };
        self.api
            .check(self.name, "asking for the size of memory", status)?;
        Ok(bytes as u64)
    }

    fn uuid(&self) -> Option<String> {
        let mut bytes = [0_u8; 16];
        // SAFETY: `bytes` is a valid place for the result.
        let status = unsafe { (self.api.functions.device_uuid)(&raw mut bytes, self.device) };
        self.api
            .check(self.name, "asking for the identifier", status)
            .ok()?;
        (self.api.vendor.uuid)(&bytes)
    }

    fn driver_version(&self) -> Option<String> {
        let mut number = 0;
        // SAFETY: `number` is a valid place for the result.
        let status = unsafe { (self.api.functions.driver_version)(&raw mut number) };
        self.api
            .check(self.name, "asking for the version", status)
            .ok()?;
        (number > 0).then(|| (self.api.vendor.version)(number))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::vendor;
    use super::super::vendor::Vendor;
    use super::*;

    /// Attributes of the fake are 100 and their number, and it has none of negative numbers.
    #[test]
    fn shared_memory_is_the_larger_of_what_kernels_have_and_what_they_may_ask_for() {
        static NO_SUCH_THING: Vendor = vendor(None);
        static UNKNOWN: Vendor = vendor(Some(-1));
        static LESS: Vendor = vendor(Some(3));
        static MORE: Vendor = vendor(Some(97));
        for (vendor, bytes) in [
            (&NO_SUCH_THING, 108),
            (&UNKNOWN, 108),
            (&LESS, 108),
            (&MORE, 197),
        ] {
            let info = describe(Api::fake_of(vendor), 0).unwrap();
            assert_eq!(info.shared_memory_per_block_bytes, bytes);
        }
    }
}
