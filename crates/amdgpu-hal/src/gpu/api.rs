//! An initialised driver.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::context::Context;
use super::functions::{Functions, Handle, INVALID_DEVICE, NO_DEVICE, SUCCESS, Status};
use super::library::DriverLibrary;
use super::vendor::Vendor;
use crate::fork::ForkMark;
use crate::{Error, Result};

/// `cuFuncSetAttribute`: function, attribute, value.
type SetFunctionAttribute = unsafe extern "C" fn(Handle, i32, i32) -> Status;
/// `hipGetDeviceProperties`: record, device.
type DeviceProperties = unsafe extern "C" fn(*mut c_void, i32) -> Status;

/// The outcome of opening a driver, kept for the life of the process.
pub(crate) struct Loaded {
    outcome: std::result::Result<Api, Failure>,
    mark: ForkMark,
}

enum Failure {
    /// There is nothing to drive; the text says why.
    Absent(String),
    /// The driver is there and refuses to work.
    Broken(Error),
}

/// The functions of an initialised driver.
pub(crate) struct Api {
    pub vendor: &'static Vendor,
    pub functions: Functions,
    pub set_function_attribute: Option<SetFunctionAttribute>,
    pub device_properties: Option<DeviceProperties>,
    /// Contexts in use, by device.
    contexts: Mutex<HashMap<i32, Opened>>,
}

/// A context that was made for a device.
struct Opened {
    context: Weak<Context>,
    /// Whether a fault ended it, also when it is gone.
    is_lost: Arc<AtomicBool>,
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.vendor.name)
    }
}

impl Api {
    /// The driver of a vendor, opened and initialised by the first call. The inner error says why there is none.
    pub fn of(vendor: &'static Vendor) -> Result<std::result::Result<&'static Self, String>> {
        let mark = ForkMark::current();
        let loaded = if let Some(loaded) = vendor.loaded.get() {
            loaded
        } else {
            // A child forked while a thread of its parent was loading the driver would wait inside the driver for that thread.
            mark.claim(&vendor.loading, vendor.driver)?;
            vendor.loaded.get_or_init(|| {
                Box::new(Loaded {
                    outcome: Self::load(vendor),
                    mark,
                })
            })
        };
        match &loaded.outcome {
            Ok(api) => {
                // A driver cannot be used in a child of the process that initialised it; neither vendor supports that.
                loaded.mark.check(vendor.driver)?;
                Ok(Ok(api))
            }
            Err(Failure::Absent(reason)) => Ok(Err(reason.clone())),
            Err(Failure::Broken(error)) => Err(error.clone()),
        }
    }

    fn load(vendor: &'static Vendor) -> std::result::Result<Self, Failure> {
        (vendor.look_for_devices)().map_err(Failure::Absent)?;
        let library = DriverLibrary::open(vendor).map_err(Failure::Absent)?;
        // SAFETY: the library is the vendor's driver, which speaks the vendor's dialect.
        let api = unsafe { Self::with(vendor, |name| library.find(name)) };
        library.keep();
        api
    }

    /// Looks the functions up and initialises the driver.
    ///
    /// # Safety
    /// `find` gives the addresses of the functions of a driver that speaks the vendor's dialect, for good.
    unsafe fn with(
        vendor: &'static Vendor,
        find: impl Fn(&CStr) -> Option<*mut c_void>,
    ) -> std::result::Result<Self, Failure> {
        // SAFETY: the caller's contract.
        let functions = unsafe { Functions::load(vendor.dialect, &find) };
        let functions = functions.map_err(|missing| {
            Failure::Absent(format!(
                "the {} driver is too old: it lacks {}",
                vendor.name,
                missing.to_string_lossy()
            ))
        })?;
        let set_function_attribute = vendor
            .set_function_attribute
            .and_then(&find)
            // SAFETY: the signature is that of `cuFuncSetAttribute`, the only function that is ever named there.
            .map(|address| unsafe {
                std::mem::transmute::<*mut c_void, SetFunctionAttribute>(address)
            });
        let device_properties = vendor
            .properties
            .iter()
            .find_map(|name| find(name))
            // SAFETY: the signature is that of `hipGetDeviceProperties`, the only function that is ever named there.
            .map(|address| unsafe {
                std::mem::transmute::<*mut c_void, DeviceProperties>(address)
            });
        let api = Self {
            vendor,
            functions,
            set_function_attribute,
            device_properties,
            contexts: Mutex::new(HashMap::new()),
        };
        // SAFETY: the flags have to be 0.
        match unsafe { (functions.initialize)(0) } {
            NO_DEVICE | INVALID_DEVICE => Err(Failure::Absent(format!(
                "the {} driver finds no device",
                vendor.name
            ))),
            status => api
                .check(vendor.name, "initialising the driver", status)
                .map(|()| api)
                .map_err(Failure::Broken),
        }
    }

    /// Devices that the driver lets this process see.
    pub fn device_count(&self) -> Result<i32> {
        let mut count = 0;
        // SAFETY: `count` is a valid place for the result.
        match unsafe { (self.functions.device_count)(&raw mut count) } {
            NO_DEVICE => Ok(0),
            status => self
                .check(self.vendor.name, "counting the devices", status)
                .map(|()| count.max(0)),
        }
    }

    /// The context of a device: the one in use, or a new one. After a fault the old one is given up and reset first, which ends every use
    /// of the device in this process, also that of other libraries.
    pub fn context(&'static self, ordinal: i32) -> Result<Arc<Context>> {
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = contexts.get(&ordinal) {
            let context = opened.context.upgrade();
            if opened.is_lost.load(Ordering::Acquire) {
                if let Some(lost) = context {
                    lost.give_up();
                }
                self.reset(ordinal)?;
            } else if let Some(context) = context {
                return Ok(context);
            }
        }
        let was_lost = contexts.contains_key(&ordinal);
        // Drivers may keep answering with the old fault; better said here than by the first use.
        let explain = |error: Error| {
            if was_lost {
                self.unrecoverable(&format!("{}:{ordinal}", self.vendor.kind), &error)
            } else {
                error
            }
        };
        let context = Arc::new(Context::retain(self, ordinal).map_err(explain)?);
        if was_lost {
            super::memory::info(&context).map_err(explain)?;
        }
        let opened = Opened {
            context: Arc::downgrade(&context),
            is_lost: context.loss.flag(),
        };
        contexts.insert(ordinal, opened);
        Ok(context)
    }

    #[cold]
    fn reset(&self, ordinal: i32) -> Result<()> {
        // SAFETY: the number is that of a device; what used its context is given up.
        let status = unsafe { (self.functions.context_reset)(ordinal) };
        let name = format!("{}:{ordinal}", self.vendor.kind);
        self.check(&name, "resetting the device", status)
            .map_err(|error| self.unrecoverable(&name, &error))
    }

    #[cold]
    fn unrecoverable(&self, device: &str, error: &Error) -> Error {
        Error::DeviceLost {
            device: device.to_string(),
            reason: format!(
                "the {} driver does not let this process use it again after a fault ({error}); start a new process",
                self.vendor.name
            ),
        }
    }

    /// Turns a status into a result. `operation` completes "… failed".
    pub fn check(&self, device: &str, operation: &'static str, status: Status) -> Result<()> {
        if status == SUCCESS {
            return Ok(());
        }
        Err(self.error(device, operation, status))
    }

    /// The error of a status that is not success.
    #[cold]
    pub fn error(&self, device: &str, operation: &'static str, status: Status) -> Error {
        let reason = self.describe(status);
        if self.vendor.lost_statuses.contains(&status) {
            Error::DeviceLost {
                device: device.to_string(),
                reason: format!("{operation} failed: {reason}"),
            }
        } else {
            Error::DriverFault {
                device: device.to_string(),
                operation,
                reason,
            }
        }
    }

    /// The driver's own name and text of a status.
    pub fn describe(&self, status: Status) -> String {
        let ask = |function: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text: *const c_char = std::ptr::null();
            // SAFETY: `text` is a valid place for a pointer to a constant of the driver.
            let answer = unsafe { function(status, &raw mut text) };
            if answer != SUCCESS || text.is_null() {
                return None;
            }
            // SAFETY: the driver gave a zero-terminated text that it never frees.
            let text = unsafe { CStr::from_ptr(text) };
            Some(text.to_string_lossy().into_owned())
        };
        match (
            ask(self.functions.error_name),
            ask(self.functions.error_text),
        ) {
            (Some(name), Some(text)) if name != text => format!("{name} ({status}): {text}"),
            (Some(name), _) => format!("{name} ({status})"),
            _ => format!("status {status}"),
        }
    }
}

#[cfg(test)]
impl Api {
    /// A driver that runs commands at once, in host memory.
    pub fn fake() -> &'static Self {
        Self::fake_of(&super::fake::VENDOR)
    }

    /// The same, of a vendor with other numbers.
    pub fn fake_of(vendor: &'static Vendor) -> &'static Self {
        // SAFETY: the functions have the signatures of the table and live for good.
        let outcome = unsafe { Self::with(vendor, super::fake::find) };
        Box::leak(Box::new(
            outcome.unwrap_or_else(|_| panic!("the fake driver refuses to work")),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{self, VENDOR};
    use super::*;

    unsafe extern "C" fn initialize_without_devices(_flags: u32) -> Status {
        NO_DEVICE
    }
    unsafe extern "C" fn initialize_elsewhere(_flags: u32) -> Status {
        INVALID_DEVICE
    }
    unsafe extern "C" fn initialize_in_vain(_flags: u32) -> Status {
        999
    }
    unsafe extern "C" fn no_text(_status: Status, _out: *mut *const c_char) -> Status {
        1
    }
    unsafe extern "C" fn other_text(_status: Status, out: *mut *const c_char) -> Status {
        // SAFETY: callers give valid places.
        unsafe { out.write(c"what it means".as_ptr()) };
        SUCCESS
    }

    /// The fake driver with some functions replaced.
    fn with(replaced: &[(&CStr, *const ())]) -> std::result::Result<Api, Failure> {
        // SAFETY: the functions above have the signatures of the table, and live for good.
        unsafe {
            Api::with(&VENDOR, |name| {
                let other = replaced.iter().find(|(known, _)| *known == name);
                other.map_or_else(|| fake::find(name), |(_, at)| Some(at.cast_mut().cast()))
            })
        }
    }

    fn absent(replaced: &[(&CStr, *const ())]) -> String {
        match with(replaced) {
            Err(Failure::Absent(reason)) => reason,
            Err(Failure::Broken(error)) => panic!("broken: {error}"),
            Ok(_) => panic!("it works"),
        }
    }

    #[test]
    fn a_driver_that_lacks_a_function_is_too_old() {
        assert_eq!(
            absent(&[(c"cuGraphLaunch", std::ptr::null())]),
            "the fake driver is too old: it lacks cuGraphLaunch"
        );
    }

    #[test]
    fn a_driver_without_devices_is_absent_and_one_that_fails_is_broken() {
        for none in [
            initialize_without_devices as *const (),
            initialize_elsewhere as *const (),
        ] {
            assert_eq!(
                absent(&[(c"cuInit", none)]),
                "the fake driver finds no device"
            );
        }
        let Err(Failure::Broken(error)) = with(&[(c"cuInit", initialize_in_vain as *const ())])
        else {
            panic!("a driver that refuses to work is there all the same")
        };
        assert_eq!(
            error.to_string(),
            "fake: initialising the driver failed: FAKE_ERROR (999)"
        );
    }

    #[test]
    fn a_status_has_the_name_and_the_text_of_the_driver() {
        let describe = |name: *const (), text: *const ()| {
            let api = with(&[(c"cuGetErrorName", name), (c"cuGetErrorString", text)]);
            api.unwrap_or_else(|_| panic!("it works")).describe(7)
        };
        let (none, other) = (no_text as *const (), other_text as *const ());
        let own = fake::find(c"cuGetErrorName").unwrap().cast_const().cast();
        assert_eq!(describe(none, none), "status 7");
        assert_eq!(describe(none, other), "status 7");
        assert_eq!(describe(own, none), "FAKE_ERROR (7)");
        assert_eq!(describe(own, own), "FAKE_ERROR (7)");
        assert_eq!(describe(own, other), "FAKE_ERROR (7): what it means");
    }

    #[test]
    fn statuses_that_end_the_context_are_a_loss() {
        let api = Api::fake();
        assert_eq!(api.check("cuda:0", "working", SUCCESS), Ok(()));
        assert_eq!(
            api.check("cuda:0", "working", 700),
            Err(Error::DeviceLost {
                device: "cuda:0".to_string(),
                reason: "working failed: FAKE_ILLEGAL_ADDRESS (700)".to_string(),
            })
        );
        assert_eq!(
            api.check("cuda:0", "working", 701),
            Err(Error::DriverFault {
                device: "cuda:0".to_string(),
                operation: "working",
                reason: "FAKE_ERROR (701)".to_string(),
            })
        );
        assert_eq!(format!("{api:?} {VENDOR:?}"), "fake fake");
    }
}
