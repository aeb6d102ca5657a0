//! The current device of each thread: the one that is meant where neither an operand nor an argument names a device.

use std::cell::RefCell;

use amdgpu_hal::registry::{self, DeviceSelector};

use crate::error::Result;

thread_local! {
    /// Full name of the device, or `rocm:N` where it was chosen by that; `None` until the thread chooses one.
    static CURRENT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes a device the current one of this thread. It is not opened by this.
///
/// # Errors
///
/// An index that the list of devices does not have, or a name that cannot be one.
pub fn set_current_device(selector: impl Into<DeviceSelector>) -> Result<()> {
    let selector = selector.into();
    let rocm = match &selector {
        DeviceSelector::Name(name) => registry::rocm_id(name)?,
        DeviceSelector::Index(_) => None,
    };
    let name = registry::resolve(selector)?;
    CURRENT.set(Some(rocm.map_or(name, |id| format!("rocm:{id}"))));
    Ok(())
}

/// This thread's current device: the one it chose, by its full name (or as `rocm:N` where it was chosen by that), else the first of the list
/// of devices.
#[must_use]
pub fn current_device() -> DeviceSelector {
    chosen_device().map_or(DeviceSelector::Index(0), DeviceSelector::Name)
}

/// The device that this thread chose.
pub(crate) fn chosen_device() -> Option<String> {
    CURRENT.with_borrow(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_current_device() {
        set_current_device("null:gfx1100").unwrap();
        let elsewhere = std::thread::spawn(|| {
            let before = current_device();
            set_current_device("cpu").unwrap();
            (before, current_device())
        });
        let (before, after) = elsewhere.join().unwrap();
        assert_eq!((before, after), (0.into(), "cpu:0".into()));
        assert_eq!(current_device(), "null:gfx1100".into());
    }

    #[test]
    fn what_is_no_device_leaves_the_current_one_as_it_was() {
        set_current_device("null:gfx90a").unwrap();
        for wrong in [-1, 1000] {
            assert!(set_current_device(wrong).is_err());
        }
        for wrong in ["tpu:0", "rocm:4096", "rocm:x"] {
            assert!(set_current_device(wrong).is_err());
        }
        assert_eq!(current_device(), "null:gfx90a".into());
    }
}
