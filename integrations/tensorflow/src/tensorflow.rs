//! Functions of TensorFlow's C interface that the plug-in calls: `tensorflow/c/kernels.h`, `tf_tensor.h` and `tf_status.h`.

#![allow(
    non_snake_case,
    reason = "functions have the names that TensorFlow gives them"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::dynamic::{Library, functions};
use crate::failure::{Failure, FailureKind, Outcome};

/// A pointer to something of TensorFlow's.
pub type Opaque = *mut c_void;
type Text = *const c_char;

/// `TF_AllocatorAttributes`.
#[repr(C)]
pub struct AllocatorAttributes {
    pub struct_size: usize,
    pub on_host: u8,
}

impl AllocatorAttributes {
    /// `TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE`: up to the end of the last field.
    pub const STRUCT_SIZE: usize = std::mem::offset_of!(Self, on_host) + 1;
}

/// Says what shape a node gives: context, status.
pub type InferShape = extern "C" fn(Opaque, Opaque);
/// Frees the memory of a tensor: address, bytes, what `TF_NewTensor` was given.
pub type Deallocate = extern "C" fn(*mut c_void, usize, *mut c_void);
type Create = extern "C" fn(Opaque) -> Opaque;
type Compute = extern "C" fn(Opaque, Opaque);
type Delete = extern "C" fn(Opaque);

functions!(Functions {
    TF_NewStatus: fn() -> Opaque;
    TF_DeleteStatus: fn(Opaque);
    TF_SetStatus: fn(Opaque, c_int, Text);
    TF_GetCode: fn(Opaque) -> c_int;
    TF_Message: fn(Opaque) -> Text;
    TF_NewKernelBuilder: fn(Text, Text, Option<Create>, Option<Compute>, Option<Delete>) -> Opaque;
    TF_KernelBuilder_TypeConstraint: fn(Opaque, Text, c_int, Opaque);
    TF_KernelBuilder_HostMemory: fn(Opaque, Text);
    TF_RegisterKernelBuilder: fn(Text, Opaque, Opaque);
    TF_OpKernelConstruction_GetNodeDef: fn(Opaque, Opaque) -> *const Buffer;
    TF_NewBuffer: fn() -> *mut Buffer;
    TF_DeleteBuffer: fn(*const Buffer);
    TF_NewOpDefinitionBuilder: fn(Text) -> Opaque;
    TF_OpDefinitionBuilderAddAttr: fn(Opaque, Text);
    TF_OpDefinitionBuilderAddInput: fn(Opaque, Text);
    TF_OpDefinitionBuilderAddOutput: fn(Opaque, Text);
    TF_OpDefinitionBuilderSetShapeInferenceFunction: fn(Opaque, InferShape);
    TF_RegisterOpDefinition: fn(Opaque, Opaque);
    TF_ShapeInferenceContextSetUnknownShape: fn(Opaque, Opaque);
    TF_OpKernelConstruction_GetAttrSize: fn(Opaque, Text, *mut i32, *mut i32, Opaque);
    TF_OpKernelConstruction_GetAttrType: fn(Opaque, Text, *mut c_int, Opaque);
    TF_OpKernelConstruction_GetAttrInt64: fn(Opaque, Text, *mut i64, Opaque);
    TF_OpKernelConstruction_GetAttrFloat: fn(Opaque, Text, *mut f32, Opaque);
    TF_OpKernelConstruction_GetAttrBool: fn(Opaque, Text, *mut u8, Opaque);
    TF_OpKernelConstruction_GetAttrString: fn(Opaque, Text, *mut c_char, usize, Opaque);
    TF_OpKernelConstruction_GetAttrInt64List: fn(Opaque, Text, *mut i64, c_int, Opaque);
    TF_OpKernelConstruction_Failure: fn(Opaque, Opaque);
    TF_OpKernelContext_Failure: fn(Opaque, Opaque);
    TF_GetStream: fn(Opaque, Opaque) -> Opaque;
    TF_NumInputs: fn(Opaque) -> c_int;
    TF_NumOutputs: fn(Opaque) -> c_int;
    TF_GetInput: fn(Opaque, c_int, *mut Opaque, Opaque);
    TF_SetOutput: fn(Opaque, c_int, Opaque, Opaque);
    TF_ExpectedOutputDataType: fn(Opaque, c_int) -> c_int;
    TF_AllocateOutput: fn(Opaque, c_int, c_int, *const i64, c_int, usize, Opaque) -> Opaque;
    TF_ForwardInputOrAllocateOutput: fn(Opaque, *const c_int, c_int, c_int, *const i64, c_int, *mut c_int, Opaque) -> Opaque;
    TF_AllocateTemp: fn(Opaque, c_int, *const i64, c_int, *mut AllocatorAttributes, Opaque) -> Opaque;
    TF_AllocateTensor: fn(c_int, *const i64, c_int, usize) -> Opaque;
    TF_NewTensor: fn(c_int, *const i64, c_int, *mut c_void, usize, Deallocate, *mut c_void) -> Opaque;
    TF_TensorBitcastFrom: fn(Opaque, c_int, Opaque, *const i64, c_int, Opaque);
    TF_DeleteTensor: fn(Opaque);
    TF_TensorType: fn(Opaque) -> c_int;
    TF_NumDims: fn(Opaque) -> c_int;
    TF_Dim: fn(Opaque, c_int) -> i64;
    TF_TensorData: fn(Opaque) -> *mut c_void;
});

/// `TF_Buffer`.
#[repr(C)]
pub struct Buffer {
    data: *const c_void,
    length: usize,
    deallocator: Option<extern "C" fn(*mut c_void, usize)>,
}

impl Buffer {
    /// What is in the buffer.
    ///
    /// # Safety
    ///
    /// The buffer is TensorFlow's, and its bytes live as long as it.
    pub unsafe fn bytes(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.length) }
    }

    /// Gives bytes to an empty buffer, which frees them.
    pub fn fill(&mut self, bytes: Vec<u8>) {
        let bytes = Box::leak(bytes.into_boxed_slice());
        self.length = bytes.len();
        self.data = bytes.as_mut_ptr().cast();
        self.deallocator = Some(free_bytes);
    }
}

extern "C" fn free_bytes(data: *mut c_void, length: usize) {
    let bytes = std::ptr::slice_from_raw_parts_mut(data.cast::<u8>(), length);
    // SAFETY: what `fill` leaked.
    drop(unsafe { Box::from_raw(bytes) });
}

functions!(Graphs {
    TF_GetNodesToPreserveListSize: fn(Opaque, *mut c_int, *mut usize, Opaque);
    TF_GetNodesToPreserveList: fn(Opaque, *mut *mut c_char, *mut usize, c_int, *mut c_void, usize, Opaque);
    TF_NewGraphProperties: fn(Opaque) -> Opaque;
    TF_DeleteGraphProperties: fn(Opaque);
    TF_InferStatically: fn(Opaque, u8, u8, u8, u8, Opaque);
    TF_GetOutputPropertiesListSize: fn(Opaque, Text, *mut c_int, Opaque);
    TF_GetOutputPropertiesList: fn(Opaque, Text, *const *mut Buffer, c_int, Opaque);
});

functions!(Updates {
    TF_AssignUpdateVariable: fn(Opaque, c_int, c_int, c_int, c_int, CopyFunction, UpdateFunction, Opaque);
});

/// Copies one tensor to another: context, source, destination, both of which the function takes over.
pub type CopyFunction = extern "C" fn(Opaque, Opaque, Opaque);
/// Changes the tensor of a variable: context, tensor, value, both of which the function takes over, and what is done.
pub type UpdateFunction = extern "C" fn(Opaque, Opaque, Opaque, c_int);

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
static GRAPHS: OnceLock<Option<Graphs>> = OnceLock::new();
static UPDATES: OnceLock<Option<Updates>> = OnceLock::new();

/// Finds the functions in the TensorFlow that the process has loaded.
pub fn find() -> Outcome {
    let framework = Library::loaded(c"libtensorflow_framework.so.2")?;
    let known = Functions::find(framework)?;
    FUNCTIONS.get_or_init(|| known);
    let other = Library::loaded(c"libtensorflow_cc.so.2").unwrap_or(framework);
    GRAPHS.get_or_init(|| Graphs::find(other).ok());
    UPDATES.get_or_init(|| {
        Updates::find(framework)
            .or_else(|_| Updates::find(other))
            .ok()
    });
    Ok(())
}

/// What optimizers of graphs call.
pub fn graphs() -> Outcome<&'static Graphs> {
    let graphs = GRAPHS.get().and_then(Option::as_ref);
    graphs.ok_or_else(|| {
        Failure::no_kernel("this TensorFlow does not export what optimizers of graphs need")
    })
}

/// What updates variables, in versions of TensorFlow that export it.
pub fn updates() -> Option<&'static Updates> {
    UPDATES.get().and_then(Option::as_ref)
}

/// The functions, which [`find`] found.
pub fn get() -> Outcome<&'static Functions> {
    FUNCTIONS
        .get()
        .ok_or_else(|| Failure::refused("SE_InitPlugin was not called before this kernel"))
}

/// Numbers of `TSL_Code` in `xla/tsl/c/tsl_status.h`.
const OK: c_int = 0;
const INVALID_ARGUMENT: c_int = 3;
const RESOURCE_EXHAUSTED: c_int = 8;
const UNIMPLEMENTED: c_int = 12;

fn code_of(kind: FailureKind) -> c_int {
    match kind {
        FailureKind::Refused => INVALID_ARGUMENT,
        FailureKind::NoKernel => UNIMPLEMENTED,
        FailureKind::OutOfMemory => RESOURCE_EXHAUSTED,
    }
}

/// Writes an outcome into a status of TensorFlow's.
pub fn tell(status: Opaque, outcome: Outcome) {
    let Ok(tensorflow) = get() else { return };
    let (code, message) = match outcome {
        Ok(()) => (OK, CString::default()),
        Err(failure) => (
            code_of(failure.kind),
            crate::failure::c_text(&failure.message),
        ),
    };
    // SAFETY: a live status, which copies the text.
    unsafe { (tensorflow.TF_SetStatus)(status, code, message.as_ptr()) };
}

/// A status that functions of TensorFlow answer with.
pub struct Status(pub Opaque);

impl Status {
    pub fn new() -> Outcome<Self> {
        // SAFETY: gives a new status.
        Ok(Self(unsafe { (get()?.TF_NewStatus)() }))
    }

    /// What the last function said.
    pub fn done(&self) -> Outcome {
        let tensorflow = get()?;
        // SAFETY: a live status.
        let code = unsafe { (tensorflow.TF_GetCode)(self.0) };
        if code == OK {
            return Ok(());
        }
        // SAFETY: a text that lives until the status changes.
        let message = unsafe { CStr::from_ptr((tensorflow.TF_Message)(self.0)) };
        let message = message.to_string_lossy();
        Err(match code {
            RESOURCE_EXHAUSTED => Failure::out_of_memory(message),
            UNIMPLEMENTED => Failure::no_kernel(message),
            _ => Failure::refused(message),
        })
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        if let Ok(tensorflow) = get() {
            // SAFETY: a status that this owns.
            unsafe { (tensorflow.TF_DeleteStatus)(self.0) };
        }
    }
}
