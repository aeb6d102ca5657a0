//! The kernels that TensorFlow is told of, and how it makes and calls them.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::call::{Attributes, Call};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome, caught};
use crate::kernels;
use crate::operations;
use crate::tensorflow::{self, Opaque, Status};

/// What a node of a graph computes; made once for each, with its attributes.
pub type Kernel = Box<dyn Fn(&Call) -> Outcome + Send + Sync>;

/// Kernels of an operation of TensorFlow.
pub struct Row {
    pub operation: &'static CStr,
    /// The attributes of type that choose a kernel, with the dtypes that there are kernels for.
    pub types: &'static [(&'static CStr, &'static [Dtype])],
    /// Arguments that are in the memory of the host.
    pub host: &'static [&'static CStr],
    /// Dtypes of the first of `types` whose tensors are all in the memory of the host, as TensorFlow keeps shapes and indices.
    pub host_types: &'static [Dtype],
    /// All arguments, for kernels of `host_types`.
    pub arguments: &'static [&'static CStr],
    pub make: fn(&Attributes) -> Outcome<Kernel>,
}

/// A row and how often its kernels ran.
pub struct Entry {
    pub row: &'static Row,
    pub calls: AtomicU64,
}

/// A kernel of a node.
struct Instance {
    entry: &'static Entry,
    kernel: Kernel,
    is_host: bool,
}

static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
static BY_NAME: OnceLock<HashMap<&'static [u8], &'static Entry>> = OnceLock::new();
static FAILED: Mutex<Option<CString>> = Mutex::new(None);

/// All rows, in the order of their families.
pub fn entries() -> &'static [Entry] {
    ENTRIES.get_or_init(|| {
        let entry = |row| Entry {
            row,
            calls: AtomicU64::new(0),
        };
        kernels::all().map(entry).collect()
    })
}

fn by_name() -> &'static HashMap<&'static [u8], &'static Entry> {
    BY_NAME.get_or_init(|| {
        let named = |entry: &'static Entry| (entry.row.operation.to_bytes(), entry);
        entries().iter().map(named).collect()
    })
}

/// Every choice of one dtype of each attribute.
pub fn choices(types: &[(&'static CStr, &'static [Dtype])]) -> Vec<Vec<(&'static CStr, Dtype)>> {
    let mut all = vec![Vec::new()];
    for (attribute, dtypes) in types {
        all = all
            .into_iter()
            .flat_map(|begun| {
                dtypes.iter().map(move |dtype| {
                    let mut more = begun.clone();
                    more.push((*attribute, *dtype));
                    more
                })
            })
            .collect();
    }
    all
}

/// Tells TensorFlow of every kernel.
pub fn register_all() {
    let done = caught(|| {
        operations::define_all()?;
        for entry in entries() {
            let row = entry.row;
            for choice in choices(row.types) {
                register(row, &choice, row.host)?;
            }
            if let Some((attribute, _)) = row.types.first() {
                for dtype in row.host_types {
                    let mut types = vec![(*attribute, std::slice::from_ref(dtype))];
                    types.extend_from_slice(&row.types[1..]);
                    for choice in choices(&types) {
                        register(row, &choice, row.arguments)?;
                    }
                }
            }
        }
        Ok(())
    });
    if let Err(failure) = done {
        let text = crate::failure::c_text(&failure.message);
        *FAILED.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

/// Why kernels could not be registered; `None` where all are.
pub fn registration_error() -> Option<CString> {
    FAILED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

fn register(row: &Row, choice: &[(&CStr, Dtype)], host: &[&CStr]) -> Outcome {
    let (tensorflow, status) = (tensorflow::get()?, Status::new()?);
    let operation = row.operation.as_ptr();
    // SAFETY: texts that end with null bytes, functions of these types, and a live status; the registration takes the builder over.
    unsafe {
        let builder = (tensorflow.TF_NewKernelBuilder)(
            operation,
            c"RDNA".as_ptr(),
            Some(create),
            Some(compute),
            Some(delete),
        );
        for (attribute, dtype) in choice {
            (tensorflow.TF_KernelBuilder_TypeConstraint)(
                builder,
                attribute.as_ptr(),
                dtype.0,
                status.0,
            );
            status.done()?;
        }
        for argument in host {
            (tensorflow.TF_KernelBuilder_HostMemory)(builder, argument.as_ptr());
        }
        (tensorflow.TF_RegisterKernelBuilder)(operation, builder, status.0);
    }
    status.done()
}

fn make(construction: Opaque) -> Outcome<Instance> {
    let attributes = Attributes::of(construction)?;
    let name = attributes.operation()?;
    let entry = *by_name().get(name.as_slice()).ok_or_else(|| {
        Failure::no_kernel(format!(
            "{} has no kernel for RDNA",
            String::from_utf8_lossy(&name)
        ))
    })?;
    let is_host = match entry.row.types.first() {
        Some((attribute, _)) if !entry.row.host_types.is_empty() => {
            entry.row.host_types.contains(&attributes.dtype(attribute)?)
        }
        _ => false,
    };
    Ok(Instance {
        entry,
        kernel: (entry.row.make)(&attributes)?,
        is_host,
    })
}

extern "C" fn create(construction: Opaque) -> Opaque {
    match caught(|| make(construction)) {
        Ok(instance) => Box::into_raw(Box::new(instance)).cast(),
        Err(failure) => {
            fail(failure, |tensorflow, status| {
                // SAFETY: a live construction and status.
                unsafe { (tensorflow.TF_OpKernelConstruction_Failure)(construction, status) };
            });
            std::ptr::null_mut()
        }
    }
}

fn fail(failure: Failure, told: impl FnOnce(&tensorflow::Functions, Opaque)) {
    let (Ok(tensorflow), Ok(status)) = (tensorflow::get(), Status::new()) else {
        return;
    };
    tensorflow::tell(status.0, Err(failure));
    told(tensorflow, status.0);
}

extern "C" fn compute(kernel: Opaque, context: Opaque) {
    let done = caught(|| {
        // SAFETY: what `create` gave.
        let instance = unsafe { kernel.cast::<Instance>().as_ref() };
        let instance = instance.ok_or_else(|| Failure::refused("the kernel was not made"))?;
        let entry = instance.entry;
        let call = Call::of(context, entry.row.operation, instance.is_host)?;
        call.run(|call| (instance.kernel)(call))?;
        entry.calls.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    if let Err(failure) = done {
        fail_call(context, failure);
    }
}

/// Tells TensorFlow that a kernel failed.
pub fn fail_call(context: Opaque, failure: Failure) {
    fail(failure, |tensorflow, status| {
        // SAFETY: a live context and status.
        unsafe { (tensorflow.TF_OpKernelContext_Failure)(context, status) };
    });
}

extern "C" fn delete(kernel: Opaque) {
    if !kernel.is_null() {
        // SAFETY: what `create` gave, for the last time.
        drop(unsafe { Box::from_raw(kernel.cast::<Instance>()) });
    }
}
