//! NVML as the driver brings it: opened at run time, called through addresses, every answer checked.
//!
//! Source: the NVML API reference manual and `nvml.h` of CUDA 13. A function that a driver lacks makes its value absent.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::PathBuf;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::super::{Absence, Value};

/// Handle of a GPU; lives until the library is shut down.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Handle(*mut c_void);

// SAFETY: NVML may be called from any thread with any handle; the pointer is never followed on this side.
unsafe impl Send for Handle {}

const SUCCESS: c_int = 0;
const NOT_SUPPORTED: c_int = 3;
const NO_PERMISSION: c_int = 4;
/// `NVML_DEVICE_UUID_V2_BUFFER_SIZE` and `NVML_DEVICE_NAME_V2_BUFFER_SIZE`, the largest of the texts.
const TEXT_BYTES: usize = 96;

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Memory {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct MemoryWithReserved {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlMemory_v2`: the size, and the version above it.
const MEMORY_VERSION: c_uint = size_of::<MemoryWithReserved>() as c_uint | 2 << 24;

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct ViolationTime {
    reference: c_ulonglong,
    violation: c_ulonglong,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct PciInfo {
    legacy_address: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    device_id: c_uint,
    subsystem_id: c_uint,
    address: [c_char; 32],
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: i64,
    latency: i64,
    kind: c_uint,
    status: c_int,
    /// A union of numbers, eight bytes wide.
    value: [u8; 8],
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct ProcessInfo {
    process_id: c_uint,
    used_bytes: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

type Get<T> = unsafe extern "C" fn(Handle, *mut T) -> c_int;
type GetOf<T> = unsafe extern "C" fn(Handle, c_uint, *mut T) -> c_int;
type GetText = unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> c_int;

macro_rules! functions {
    ($($name:ident: $signature:ty = $symbol:literal;)*) => {
        /// Addresses of the functions that the driver has.
        struct Functions {
            $($name: Option<$signature>,)*
        }

        impl Functions {
            fn resolve(library: &Library) -> Self {
                Self {
                    // SAFETY: the names are NVML's, whose signatures the manual gives; the library is never closed.
                    $($name: unsafe { library.get::<$signature>($symbol.to_bytes_with_nul()) }.ok().map(|symbol| *symbol),)*
                }
            }
        }
    };
}

functions! {
    init: unsafe extern "C" fn() -> c_int = c"nvmlInit_v2";
    shutdown: unsafe extern "C" fn() -> c_int = c"nvmlShutdown";
    error_string: unsafe extern "C" fn(c_int) -> *const c_char = c"nvmlErrorString";
    driver_version: unsafe extern "C" fn(*mut c_char, c_uint) -> c_int = c"nvmlSystemGetDriverVersion";
    count: unsafe extern "C" fn(*mut c_uint) -> c_int = c"nvmlDeviceGetCount_v2";
    handle: unsafe extern "C" fn(c_uint, *mut Handle) -> c_int = c"nvmlDeviceGetHandleByIndex_v2";
    uuid: GetText = c"nvmlDeviceGetUUID";
    name: GetText = c"nvmlDeviceGetName";
    pci: Get<PciInfo> = c"nvmlDeviceGetPciInfo_v3";
    capability: unsafe extern "C" fn(Handle, *mut c_int, *mut c_int) -> c_int = c"nvmlDeviceGetCudaComputeCapability";
    utilization: Get<Utilization> = c"nvmlDeviceGetUtilizationRates";
    memory: Get<Memory> = c"nvmlDeviceGetMemoryInfo";
    memory_with_reserved: Get<MemoryWithReserved> = c"nvmlDeviceGetMemoryInfo_v2";
    temperature: GetOf<c_uint> = c"nvmlDeviceGetTemperature";
    power: Get<c_uint> = c"nvmlDeviceGetPowerUsage";
    power_limit: Get<c_uint> = c"nvmlDeviceGetEnforcedPowerLimit";
    energy: Get<c_ulonglong> = c"nvmlDeviceGetTotalEnergyConsumption";
    clock: GetOf<c_uint> = c"nvmlDeviceGetClockInfo";
    throttle_reasons: Get<c_ulonglong> = c"nvmlDeviceGetCurrentClocksThrottleReasons";
    violation: GetOf<ViolationTime> = c"nvmlDeviceGetViolationStatus";
    replays: Get<c_uint> = c"nvmlDeviceGetPcieReplayCounter";
    throughput: GetOf<c_uint> = c"nvmlDeviceGetPcieThroughput";
    fan: Get<c_uint> = c"nvmlDeviceGetFanSpeed";
    errors: unsafe extern "C" fn(Handle, c_uint, c_uint, *mut c_ulonglong) -> c_int = c"nvmlDeviceGetTotalEccErrors";
    encoder: unsafe extern "C" fn(Handle, *mut c_uint, *mut c_uint) -> c_int = c"nvmlDeviceGetEncoderUtilization";
    decoder: unsafe extern "C" fn(Handle, *mut c_uint, *mut c_uint) -> c_int = c"nvmlDeviceGetDecoderUtilization";
    fields: unsafe extern "C" fn(Handle, c_int, *mut FieldValue) -> c_int = c"nvmlDeviceGetFieldValues";
    processes: unsafe extern "C" fn(Handle, *mut c_uint, *mut ProcessInfo) -> c_int = c"nvmlDeviceGetComputeRunningProcesses_v3";
}

/// The library, initialised. Dropping it shuts it down, which closes the devices; its code stays, as drivers want it.
pub(super) struct Nvml {
    functions: Functions,
}

const MISSING: Absence = Absence::new("this driver's NVML has no such function");

impl Nvml {
    /// Opens and initialises the first of `libraries` that can be opened.
    pub(super) fn open(libraries: &[PathBuf]) -> Result<Self, Absence> {
        let mut failures = Vec::new();
        for path in libraries {
            // SAFETY: the driver's library runs its initialisers when it is loaded, as in every program that uses it.
            match unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) } {
                Ok(library) => {
                    let functions = Functions::resolve(&library);
                    std::mem::forget(library);
                    let nvml = Self { functions };
                    let init = nvml.functions.init.ok_or(MISSING)?;
                    // SAFETY: it takes nothing, and may be called again and again.
                    nvml.check(unsafe { init() })?;
                    return Ok(nvml);
                }
                Err(error) => failures.push(error.to_string()),
            }
        }
        Err(format!("NVML cannot be opened ({})", failures.join("; ")).into())
    }

    fn check(&self, status: c_int) -> Result<(), Absence> {
        match status {
            SUCCESS => Ok(()),
            NOT_SUPPORTED => Err(Absence::new("this GPU does not tell it")),
            NO_PERMISSION => Err(Absence::new("the driver tells it to root only")),
            _ => {
                let text = self
                    .error_text(status)
                    .unwrap_or_else(|| "no further reason".to_owned());
                Err(format!("NVML says: {text} ({status})").into())
            }
        }
    }

    fn error_text(&self, status: c_int) -> Option<String> {
        let function = self.functions.error_string?;
        // SAFETY: it takes any number and answers with a string that is never freed.
        let text = unsafe { function(status) };
        if text.is_null() {
            return None;
        }
        // SAFETY: not null, and a string of the library's as above.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    }

    fn get<T: Copy>(
        &self,
        function: Option<Get<T>>,
        gpu: Handle,
        mut place: T,
    ) -> Result<T, Absence> {
        let function = function.ok_or(MISSING)?;
        // SAFETY: the handle is of this library, and `place` has the type that the function fills.
        self.check(unsafe { function(gpu, &raw mut place) })?;
        Ok(place)
    }

    fn get_of<T: Copy>(
        &self,
        function: Option<GetOf<T>>,
        gpu: Handle,
        which: c_uint,
        mut place: T,
    ) -> Result<T, Absence> {
        let function = function.ok_or(MISSING)?;
        // SAFETY: as above; numbers that the library does not know are answered with a status.
        self.check(unsafe { function(gpu, which, &raw mut place) })?;
        Ok(place)
    }

    fn text(&self, ask: impl FnOnce(*mut c_char, c_uint) -> c_int) -> Result<String, Absence> {
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        self.check(ask(text.as_mut_ptr(), TEXT_BYTES as c_uint))?;
        text[TEXT_BYTES - 1] = 0;
        Ok(string(&text))
    }

    pub(super) fn driver_version(&self) -> Result<String, Absence> {
        let function = self.functions.driver_version.ok_or(MISSING)?;
        // SAFETY: the text has the length that is given.
        self.text(|text, bytes| unsafe { function(text, bytes) })
    }

    pub(super) fn count(&self) -> Result<u32, Absence> {
        let function = self.functions.count.ok_or(MISSING)?;
        let mut count = 0;
        // SAFETY: `count` is a place for the answer.
        self.check(unsafe { function(&raw mut count) })?;
        Ok(count)
    }

    pub(super) fn handle(&self, index: u32) -> Result<Handle, Absence> {
        let function = self.functions.handle.ok_or(MISSING)?;
        let mut handle = Handle(std::ptr::null_mut());
        // SAFETY: `handle` is a place for the answer.
        self.check(unsafe { function(index, &raw mut handle) })?;
        Ok(handle)
    }

    pub(super) fn uuid(&self, gpu: Handle) -> Result<String, Absence> {
        let function = self.functions.uuid.ok_or(MISSING)?;
        // SAFETY: the handle is of this library; the text has the length that is given.
        self.text(|text, bytes| unsafe { function(gpu, text, bytes) })
    }

    pub(super) fn name(&self, gpu: Handle) -> Result<String, Absence> {
        let function = self.functions.name.ok_or(MISSING)?;
        // SAFETY: as above.
        self.text(|text, bytes| unsafe { function(gpu, text, bytes) })
    }

    /// As the kernel writes it: `0000:65:00.0`.
    pub(super) fn address(&self, gpu: Handle) -> Result<String, Absence> {
        let empty = PciInfo {
            legacy_address: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            device_id: 0,
            subsystem_id: 0,
            address: [0; 32],
        };
        let info = self.get(self.functions.pci, gpu, empty)?;
        Ok(format!(
            "{:04x}:{:02x}:{:02x}.0",
            info.domain, info.bus, info.device
        ))
    }

    /// `sm_90`.
    pub(super) fn architecture(&self, gpu: Handle) -> Result<String, Absence> {
        let function = self.functions.capability.ok_or(MISSING)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are places for the answer.
        self.check(unsafe { function(gpu, &raw mut major, &raw mut minor) })?;
        Ok(format!("sm_{major}{minor}"))
    }

    /// Loads of the compute units and of the memory, as shares.
    pub(super) fn utilization(&self, gpu: Handle) -> Result<[f64; 2], Absence> {
        let rates = self.get(self.functions.utilization, gpu, Utilization::default())?;
        Ok([rates.gpu, rates.memory].map(|percent| f64::from(percent) / 100.0))
    }

    /// Bytes in use by programs, and all bytes.
    pub(super) fn memory(&self, gpu: Handle) -> Result<[f64; 2], Absence> {
        let versioned = MemoryWithReserved {
            version: MEMORY_VERSION,
            ..MemoryWithReserved::default()
        };
        match self.get(self.functions.memory_with_reserved, gpu, versioned) {
            Ok(memory) => Ok([memory.used as f64, memory.total as f64]),
            // The older form counts what the driver keeps for itself as used.
            Err(reason) => {
                let older = self.get(self.functions.memory, gpu, Memory::default());
                let memory =
                    older.map_err(|other| if reason == MISSING { other } else { reason })?;
                Ok([memory.used as f64, memory.total as f64])
            }
        }
    }

    pub(super) fn celsius(&self, gpu: Handle) -> Value {
        self.get_of(self.functions.temperature, gpu, 0, 0)
            .map(f64::from)
    }

    pub(super) fn watts(&self, gpu: Handle) -> Value {
        self.get(self.functions.power, gpu, 0)
            .map(|milliwatts| f64::from(milliwatts) / 1e3)
    }

    pub(super) fn limit_watts(&self, gpu: Handle) -> Value {
        self.get(self.functions.power_limit, gpu, 0)
            .map(|milliwatts| f64::from(milliwatts) / 1e3)
    }

    pub(super) fn joules(&self, gpu: Handle) -> Value {
        self.get(self.functions.energy, gpu, 0)
            .map(|millijoules| millijoules as f64 / 1e3)
    }

    /// `domain`: 0 graphics, 1 SM, 2 memory, 3 video.
    pub(super) fn hertz(&self, gpu: Handle, domain: u32) -> Value {
        self.get_of(self.functions.clock, gpu, domain, 0)
            .map(|megahertz| f64::from(megahertz) * 1e6)
    }

    pub(super) fn throttle_bits(&self, gpu: Handle) -> Result<u64, Absence> {
        self.get(self.functions.throttle_reasons, gpu, 0)
    }

    /// Seconds for which a policy held the clocks down.
    pub(super) fn violation_seconds(&self, gpu: Handle, policy: u32) -> Value {
        let time = self.get_of(
            self.functions.violation,
            gpu,
            policy,
            ViolationTime::default(),
        )?;
        Ok(time.violation as f64 * 1e-9)
    }

    pub(super) fn replays(&self, gpu: Handle) -> Value {
        self.get(self.functions.replays, gpu, 0).map(f64::from)
    }

    /// `direction`: 0 transmit, 1 receive. Takes 20 ms, in which the driver counts.
    pub(super) fn pcie_bytes_per_second(&self, gpu: Handle, direction: u32) -> Value {
        self.get_of(self.functions.throughput, gpu, direction, 0)
            .map(|kilobytes| f64::from(kilobytes) * 1e3)
    }

    pub(super) fn fan_ratio(&self, gpu: Handle) -> Value {
        self.get(self.functions.fan, gpu, 0)
            .map(|percent| f64::from(percent) / 100.0)
    }

    /// Errors since the driver was loaded; `kind`: 0 corrected, 1 uncorrected.
    pub(super) fn errors(&self, gpu: Handle, kind: u32) -> Value {
        let function = self.functions.errors.ok_or(MISSING)?;
        let mut count = 0;
        // SAFETY: the handle is of this library, and `count` is a place for the answer.
        self.check(unsafe { function(gpu, kind, 0, &raw mut count) })?;
        Ok(count as f64)
    }

    pub(super) fn encoder_ratio(&self, gpu: Handle) -> Value {
        self.engine_ratio(gpu, self.functions.encoder)
    }

    pub(super) fn decoder_ratio(&self, gpu: Handle) -> Value {
        self.engine_ratio(gpu, self.functions.decoder)
    }

    fn engine_ratio(
        &self,
        gpu: Handle,
        function: Option<unsafe extern "C" fn(Handle, *mut c_uint, *mut c_uint) -> c_int>,
    ) -> Value {
        let function = function.ok_or(MISSING)?;
        let (mut percent, mut period) = (0, 0);
        // SAFETY: both are places for the answer.
        self.check(unsafe { function(gpu, &raw mut percent, &raw mut period) })?;
        Ok(f64::from(percent) / 100.0)
    }

    /// Numbers of fields, which one call answers together.
    pub(super) fn fields<const N: usize>(&self, gpu: Handle, numbers: [u32; N]) -> [Value; N] {
        let Some(function) = self.functions.fields else {
            return numbers.map(|_| Err(MISSING));
        };
        let mut values = numbers.map(|field| FieldValue {
            field,
            ..FieldValue::default()
        });
        // SAFETY: `values` holds as many entries as are announced.
        let called = self.check(unsafe { function(gpu, N as c_int, values.as_mut_ptr()) });
        values.map(|value| {
            called.clone()?;
            self.check(value.status)?;
            number_of(value.kind, value.value)
                .ok_or(Absence::new("NVML gave a value of an unknown type"))
        })
    }

    /// Numbers and memory of the processes that compute on a GPU.
    pub(super) fn processes(&self, gpu: Handle) -> Result<Vec<(u32, Option<u64>)>, Absence> {
        /// More than any GPU serves at once.
        const MAX_PROCESSES: usize = 512;
        let function = self.functions.processes.ok_or(MISSING)?;
        let mut count = MAX_PROCESSES as c_uint;
        let mut processes = [ProcessInfo::default(); MAX_PROCESSES];
        // SAFETY: `processes` has room for as many entries as are announced.
        self.check(unsafe { function(gpu, &raw mut count, processes.as_mut_ptr()) })?;
        let known = processes.iter().take((count as usize).min(MAX_PROCESSES));
        Ok(known
            .map(|process| {
                // All ones: the driver does not tell.
                let bytes = (process.used_bytes != u64::MAX).then_some(process.used_bytes);
                (process.process_id, bytes)
            })
            .collect())
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if let Some(shutdown) = self.functions.shutdown {
            // SAFETY: it takes nothing; calls are counted, so that other users of the library in this process keep theirs.
            unsafe { shutdown() };
        }
    }
}

/// The number in a union, by the type beside it.
fn number_of(kind: c_uint, bytes: [u8; 8]) -> Option<f64> {
    let [a, b, c, d, ..] = bytes;
    Some(match kind {
        0 => f64::from_ne_bytes(bytes),
        1 => f64::from(u32::from_ne_bytes([a, b, c, d])),
        2 | 3 => u64::from_ne_bytes(bytes) as f64,
        4 => i64::from_ne_bytes(bytes) as f64,
        5 => f64::from(i32::from_ne_bytes([a, b, c, d])),
        6 => f64::from(u16::from_ne_bytes([a, b])),
        _ => return None,
    })
}

/// The text up to its end, which the caller has made sure of.
fn string(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text
        .iter()
        .map(|&letter| letter.cast_unsigned())
        .take_while(|&letter| letter != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!(size_of::<FieldValue>(), 40);
        assert_eq!(size_of::<MemoryWithReserved>(), 40);
        assert_eq!(size_of::<ProcessInfo>(), 24);
        assert_eq!(size_of::<PciInfo>(), 68);
        assert_eq!(MEMORY_VERSION, 0x0200_0028);
    }

    #[test]
    fn numbers_come_out_of_every_type_of_the_union() {
        let bytes = |number: u64| number.to_ne_bytes();
        assert_eq!(number_of(0, 1.5_f64.to_ne_bytes()), Some(1.5));
        assert_eq!(number_of(1, bytes(0xffff_ffff_0000_0007)), Some(7.0));
        assert_eq!(number_of(3, bytes(1 << 40)), Some((1_u64 << 40) as f64));
        assert_eq!(number_of(4, bytes(u64::MAX)), Some(-1.0));
        assert_eq!(number_of(5, bytes(0xffff_fffe)), Some(-2.0));
        assert_eq!(number_of(6, bytes(0x1_0009)), Some(9.0));
        assert_eq!(number_of(7, bytes(0)), None);
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let Err(reason) = Nvml::open(&[PathBuf::from("/nowhere/libnvidia-ml.so.1")]) else {
            panic!("a library that is not there was opened");
        };
        assert!(
            reason.to_string().contains("/nowhere/libnvidia-ml.so.1"),
            "{reason}"
        );
    }
}
