//! `_native.VendorSession`: a GPU vendor's library on one device, bound to `amdgpu_matrix::vendor`.

use std::path::PathBuf;
use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::{self as core, Dims, Storage, recording};
use amdgpu_aura::{Context, Kernel, OpenDevice};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::vendor::{
    Number, Product, Session, VendorEpilogue, VendorLibrary, Work, Workspace,
};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::arguments::{hold, note};
use crate::array::Array;
use crate::device::Device;
use crate::errors::{IntoPyResult, raise};
use crate::stream::{Stream, check_device};

static MULTIPLY: Boundary =
    Boundary::new(Language::Python, Language::Rust, "VendorSession.multiply");

/// cuBLASLt, hipBLASLt or rocBLAS on a device.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct VendorSession {
    session: Session,
    context: Arc<Context>,
}

/// The arrays of a product.
struct Arrays<'a, 'py> {
    a: &'a Bound<'py, Array>,
    b: &'a Bound<'py, Array>,
    out: &'a Bound<'py, Array>,
    bias: Option<&'a Bound<'py, Array>>,
}

#[pymethods]
impl VendorSession {
    /// Opens a library; `folders` are looked through after the loader's own path.
    #[new]
    fn new(
        py: Python<'_>,
        device: &Bound<'_, Device>,
        library: &str,
        folders: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let found = VendorLibrary::from_name(library);
        let known = Product::LIBRARIES;
        let library = found.filter(|one| known.contains(one)).ok_or_else(|| {
            let known: Vec<_> = known.iter().map(|one| one.name()).collect();
            let known = known.join(", ");
            invalid(py, &format!("library is {library:?}; known are {known}"))
        })?;
        let context = Arc::clone(device.get().context());
        let opened = context.device().into_py_result(py)?;
        let session = py
            .detach(|| Session::open(library, &folders, opened))
            .into_py_result(py)?;
        Ok(Self { session, context })
    }

    /// Name of the library.
    #[getter]
    fn library(&self) -> &'static str {
        self.session.library().name()
    }

    /// `out = epilogue(alpha * (a @ b) + beta * out)` of dense arrays. Without a stream the call queues the product on the
    /// default stream, and waits where others know the memory. False when the library does not
    /// compute it, and nothing was done.
    ///
    /// `extents` are rows and columns of the result, inner dimension, and how many products; `number` is f64, f32, tf32, f16, bf16 or i8;
    /// `bias` is added to each row; `relu` wants a bias.
    #[pyo3(signature = (a, b, out, *, extents, number, transposes=(false, false), bias=None, relu=false, alpha=1.0, beta=0.0, stream=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn multiply(
        &self,
        py: Python<'_>,
        a: &Bound<'_, Array>,
        b: &Bound<'_, Array>,
        out: &Bound<'_, Array>,
        extents: (u64, u64, u64, u64),
        number: &str,
        transposes: (bool, bool),
        bias: Option<&Bound<'_, Array>>,
        relu: bool,
        alpha: f64,
        beta: f64,
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<bool> {
        let _crossing = MULTIPLY.enter();
        if recording::is_recording() {
            return Ok(false);
        }
        let number = Number::from_name(number)
            .filter(|found| found.is_operand())
            .ok_or_else(|| {
                let known: Vec<_> = Number::operands().map(Number::name).collect();
                let known = known.join(", ");
                invalid(py, &format!("number is {number:?}; known are {known}"))
            })?;
        let arrays = Arrays { a, b, out, bias };
        let (rows, columns, depth, batch) = extents;
        let mut product = Product {
            rows,
            columns,
            depth,
            batch,
            number,
            is_transposed: [transposes.0, transposes.1],
            epilogue: match (bias, relu) {
                (None, _) => VendorEpilogue::None,
                (Some(_), false) => VendorEpilogue::Bias,
                (Some(_), true) => VendorEpilogue::BiasRelu,
            },
            alpha,
            beta,
            a: 0,
            b: 0,
            out: 0,
            bias: 0,
        };
        if !self.place(py, &arrays, &mut product)? {
            return Ok(false);
        }
        let device = self.context.open_device().into_py_result(py)?;
        let queue = match stream {
            Some(stream) => {
                check_device(py, "stream", stream.get().device_name(), device.name())?;
                stream.get().inner()
            }
            None => device.device().default_stream(),
        };
        let wanted = py
            .detach(|| self.session.prepare(&product, queue.as_ref()))
            .into_py_result(py)?;
        let Some(bytes) = wanted else {
            return Ok(false);
        };
        arrays.settle(py, device)?;
        device.hold_back(queue.as_ref()).into_py_result(py)?;
        let memory = (bytes > 0)
            .then(|| {
                let shape = Dims::from_slice(&[bytes as i64]);
                core::Array::empty(device, shape, Dtype::I8, MemoryKind::Device).into_py_result(py)
            })
            .transpose()?;
        let workspace = memory
            .as_ref()
            .map_or(Workspace::default(), |memory| Workspace {
                address: memory.data().expose_provenance() as u64,
                bytes,
            });
        let kept: Vec<Arc<Storage>> = [Some(a), Some(b), Some(out), bias]
            .into_iter()
            .flatten()
            .map(|array| Arc::clone(array.get().storage()))
            .chain(memory.as_ref().map(|array| Arc::clone(array.storage())))
            .collect();
        if let Some(stream) = stream {
            note(&kept, stream.get());
        }
        // SAFETY: `place` checked device, size and layout of the arrays. They and the workspace are held by `kept` until the call that waits
        // is over, or by the stream until it has passed the product.
        let submitted =
            py.detach(|| unsafe { self.session.submit(&product, workspace, queue.as_ref()) });
        if let Some(stream) = stream {
            let used = arrays.bytes() + bytes;
            stream
                .get()
                .keep([hold(py, kept)?], used)
                .into_py_result(py)?;
            return submitted.into_py_result(py);
        }
        let is_taken = submitted.into_py_result(py)?;
        if is_taken && arrays.are_private_to(device) {
            // All of it, the workspace too, is memory that the next in the order of this stream gets.
            device.note_queued();
        } else if is_taken {
            py.detach(|| Kernel::wait(queue.as_ref(), None))
                .into_py_result(py)?;
        }
        drop(kept);
        Ok(is_taken)
    }

    fn __repr__(&self) -> String {
        format!("<amdgpu._native.VendorSession {:?}>", self.session)
    }
}

impl VendorSession {
    /// Checks the arrays and fills in their addresses; false for arrays with gaps, and for memory of other libraries that the device does
    /// not reach, about which ours says what is wrong.
    fn place(
        &self,
        py: Python<'_>,
        arrays: &Arrays<'_, '_>,
        product: &mut Product,
    ) -> PyResult<bool> {
        let items = [
            product.rows.saturating_mul(product.depth),
            product.depth.saturating_mul(product.columns),
            product.rows.saturating_mul(product.columns),
        ]
        .map(|items| items.saturating_mul(product.batch));
        let (operand, result) = dtypes(product.number);
        let wanted = [
            ("a", Some(arrays.a), items[0], operand),
            ("b", Some(arrays.b), items[1], operand),
            ("out", Some(arrays.out), items[2], result),
            ("bias", arrays.bias, product.columns, result),
        ];
        let mut addresses = [0; 4];
        for ((name, array, items, dtype), address) in wanted.into_iter().zip(&mut addresses) {
            let Some(array) = array.map(Bound::get) else {
                continue;
            };
            array.check_alive().into_py_result(py)?;
            if !array.is_contiguous() {
                return Ok(false);
            }
            let info = self.context.info();
            if array.open_device().is_some() {
                check_device(py, name, array.device_name(), &info.name)?;
            } else if !array.location().is_reachable_by(info) {
                return Ok(false);
            }
            if array.dtype != dtype || array.shape.iter().product::<i64>() as u64 != items {
                let message =
                    format!("{name} does not hold {items} elements of the product's type");
                return Err(invalid(py, &message));
            }
            if name == "out" && array.is_read_only {
                return Err(raise(
                    py,
                    ErrorCode::ReadOnly,
                    Language::Rust,
                    "out is read-only",
                ));
            }
            *address = array.data().expose_provenance() as u64;
        }
        [product.a, product.b, product.out, product.bias] = addresses;
        Ok(true)
    }
}

impl Arrays<'_, '_> {
    fn are_private_to(&self, device: &Arc<OpenDevice>) -> bool {
        self.all().all(|array| array.get().is_private_to(device))
    }

    /// Waits for what other devices have queued, whose order the library's stream does not know.
    fn settle(&self, py: Python<'_>, own: &Arc<OpenDevice>) -> PyResult<()> {
        self.all()
            .filter_map(|array| array.get().open_device())
            .filter(|device| !Arc::ptr_eq(device, own))
            .try_for_each(|device| py.detach(|| device.settle()).into_py_result(py))
    }

    fn all(&self) -> impl Iterator<Item = &Bound<'_, Array>> {
        [Some(self.a), Some(self.b), Some(self.out), self.bias]
            .into_iter()
            .flatten()
    }

    fn bytes(&self) -> u64 {
        self.all().map(|array| array.get().bytes() as u64).sum()
    }
}

/// Of operands and result.
fn dtypes(number: Number) -> (Dtype, Dtype) {
    (number.dtype(), number.output().dtype())
}

fn invalid(py: Python<'_>, message: &str) -> PyErr {
    raise(py, ErrorCode::InvalidArgument, Language::Rust, message)
}
