//! Loads `libagpu_neuro.so` (Nim) on first use and calls it.

use std::path::Path;

use amdgpu_abi::library::{NativeLibrary, last_error};
use amdgpu_abi::{
    Activation, Dtype, ErrorCode, Language, MetricId, NeuroSymbols, Status, Str, Tensor,
};
use amdgpu_telemetry::{Boundary, Core, Counter, counter};
use once_cell::race::OnceBox;

use crate::backend::DenseCall;
use crate::error::{Error, Result};

static COMPILE: Boundary = Boundary::preparing(Language::Rust, Language::Nim, "agpu_neuro_compile");
static DENSE_FORWARD: Boundary =
    Boundary::new(Language::Rust, Language::Nim, "agpu_neuro_dense_forward");
static HEBBIAN_UPDATE: Boundary =
    Boundary::new(Language::Rust, Language::Nim, "agpu_neuro_hebbian_update");

/// The Nim library, checked and resolved.
pub struct NeuroLibrary {
    symbols: NeuroSymbols,
    library: NativeLibrary,
    operations: Counter,
}

impl NeuroLibrary {
    /// The library of this process. A failure is not remembered: the file may be there the next time.
    ///
    /// # Errors
    ///
    /// The library is missing or was built from another version.
    pub fn global() -> Result<&'static Self> {
        // A lock would stay taken in a child of `fork()`.
        static LIBRARY: OnceBox<NeuroLibrary> = OnceBox::new();
        LIBRARY.get_or_try_init(|| Self::open().map(Box::new))
    }

    fn open() -> Result<Self> {
        let library = NativeLibrary::open("neuro")?;
        // SAFETY: the library passed the checks of name, version and ABI hash, so its functions have the prototypes of agpu.h.
        let symbols = unsafe { NeuroSymbols::resolve(|name| library.symbol(name)) }
            .map_err(|symbol| library.lacks(symbol))?;
        Ok(Self {
            symbols,
            library,
            operations: counter(
                MetricId::OperationsTotal,
                &["cpu:0", Core::Neuromorphic.name(), Language::Nim.name()],
            ),
        })
    }

    /// Where it was found and what it says of itself.
    #[must_use]
    pub fn native(&self) -> &NativeLibrary {
        &self.library
    }

    fn outcome(&self, status: Status) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function is that of the checked library, called on the thread of the failed call.
        let (_, message) = unsafe { last_error(self.symbols.last_error) };
        Err(match ErrorCode::from_status(status) {
            ErrorCode::NetworkInvalid => Error::Invalid { findings: message },
            kind => Error::Core {
                kind,
                language: Language::Nim,
                message,
            },
        })
    }

    /// Network text to the JSON of its plan. Relative paths of `include` statements start at `base_directory`; empty is the working directory.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every finding.
    pub(crate) fn compile(&self, text: &str, base_directory: &Path) -> Result<String> {
        let _crossing = COMPILE.enter();
        let text = Str::borrow(text);
        let folder = base_directory.as_os_str().as_encoded_bytes();
        let folder = Str {
            ptr: folder.as_ptr().cast(),
            len: folder.len() as u64,
        };
        let mut plan = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call; text and folder are borrowed for its duration only.
        self.outcome(unsafe {
            (self.symbols.compile)(&raw const text, &raw const folder, &raw mut plan)
        })?;
        let mut json = Str::borrow("");
        // SAFETY: the plan was just made; its JSON is copied out before the plan is destroyed, once.
        unsafe {
            let found = self.outcome((self.symbols.plan_json)(plan, &raw mut json));
            let text = json.to_text();
            let destroyed = self.outcome((self.symbols.plan_destroy)(plan));
            found.and(destroyed).map(|()| text)
        }
    }

    pub(crate) fn dense_forward(&self, call: &DenseCall<'_>, out: &mut [f32]) -> Result<()> {
        self.operations.increment();
        let _crossing = DENSE_FORWARD.enter();
        let x_shape = [call.batch as i64, call.inputs as i64];
        let weight_shape = [call.inputs as i64, call.outputs as i64];
        let bias_shape = [call.outputs as i64];
        let out_shape = [call.batch as i64, call.outputs as i64];
        let x = tensor_of(call.x, &x_shape);
        let weight = tensor_of(call.weight, &weight_shape);
        let bias = call.bias.map(|bias| tensor_of(bias, &bias_shape));
        let mut output = tensor_of_mut(out, &out_shape);
        let activation: Activation = call.activation;
        // SAFETY: the tensors describe slices whose lengths `DenseCall::check` compared with their shapes; `out` is the only one written
        // and borrowed exclusively. No executor is handed over.
        self.outcome(unsafe {
            (self.symbols.dense_forward)(
                &raw const x,
                &raw const weight,
                bias.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                &raw mut output,
                &raw const activation,
                std::ptr::null(),
            )
        })
    }

    /// `weight[inputs, outputs] += learning_rate / batch * pre^T @ post`; lengths are the caller's care and checked again by Nim's shapes.
    pub(crate) fn hebbian_update(
        &self,
        weight: &mut [f32],
        pre: &[f32],
        post: &[f32],
        batch: usize,
        learning_rate: f64,
    ) -> Result<()> {
        if batch == 0 {
            return Ok(());
        }
        let (inputs, outputs) = (pre.len() / batch, post.len() / batch);
        if weight.len() != inputs * outputs
            || pre.len() != inputs * batch
            || post.len() != outputs * batch
        {
            return Err(Error::ShapeMismatch(format!(
                "a Hebbian step on {} weights with {} inputs and {} outputs in a batch of {batch}",
                weight.len(),
                pre.len(),
                post.len()
            )));
        }
        self.operations.increment();
        let _crossing = HEBBIAN_UPDATE.enter();
        let weight_shape = [inputs as i64, outputs as i64];
        let pre_shape = [batch as i64, inputs as i64];
        let post_shape = [batch as i64, outputs as i64];
        let mut weight = tensor_of_mut(weight, &weight_shape);
        let pre = tensor_of(pre, &pre_shape);
        let post = tensor_of(post, &post_shape);
        // SAFETY: the slices have the lengths of their shapes, as just checked; only `weight` is written, borrowed exclusively.
        self.outcome(unsafe {
            (self.symbols.hebbian_update)(
                &raw mut weight,
                &raw const pre,
                &raw const post,
                learning_rate,
            )
        })
    }
}

fn tensor_of(values: &[f32], shape: &[i64]) -> Tensor {
    Tensor::host(values.as_ptr().cast_mut().cast(), Dtype::F32, shape, None)
}

fn tensor_of_mut(values: &mut [f32], shape: &[i64]) -> Tensor {
    Tensor::host(values.as_mut_ptr().cast(), Dtype::F32, shape, None)
}
