//! What tests, benchmarks and the tuner ask about matrix multiplication by archived kernels: ways, choices, and products by one of them.

use std::sync::Arc;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_matrix::vendor::VendorLibrary;
use amdgpu_ops::DeviceOps;
use amdgpu_ops::archived::choice::{Choice, Demand, Situation, is_for_vendor};
use amdgpu_ops::archived::problem::{ArrayProduct, Epilogue, Layout, Number, Problem};
use amdgpu_ops::archived::{self, Archive, Archived, Facts, Gemm};
use amdgpu_ops::tuning;
use pyo3::prelude::*;

use crate::archived::ArchivedKernel;
use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::on_device;

/// Fields of `amdgpu.tuning.Product`: m, n, k, batch, operand, output, layout, epilogue, `is_aligned`.
pub type ProblemFields = (u64, u64, u64, u64, String, String, String, String, bool);
/// A way: its name in the tuning database, its kernel (None for a vector's and a library's), parts of k.
pub type Way = (String, Option<ArchivedKernel>, u64);

/// The problem of these fields.
pub fn problem_of(py: Python<'_>, fields: &ProblemFields) -> PyResult<Problem> {
    let unknown = |what: &str, name: &str| unknown(py, what, name);
    let (m, n, k, batch, operand, output, layout, epilogue, is_aligned) = fields;
    let number =
        |what: &str, name: &str| Number::from_name(name).ok_or_else(|| unknown(what, name));
    Ok(Problem {
        m: *m,
        n: *n,
        k: *k,
        batch: *batch,
        operand: number("operand", operand)?,
        output: number("output", output)?,
        layout: Layout::from_name(layout).ok_or_else(|| unknown("layout", layout))?,
        epilogue: epilogue_of(py, epilogue)?,
        is_aligned: *is_aligned,
    })
}

fn unknown(py: Python<'_>, what: &str, name: &str) -> PyErr {
    let message = format!("{what} is '{name}', which no kernel has");
    raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
}

/// What follows the sums, by its name.
fn epilogue_of(py: Python<'_>, name: &str) -> PyResult<Epilogue> {
    Epilogue::from_name(name).ok_or_else(|| unknown(py, "epilogue", name))
}

/// The fields of a problem.
pub fn fields_of(problem: &Problem) -> ProblemFields {
    (
        problem.m,
        problem.n,
        problem.k,
        problem.batch,
        problem.operand.name().to_owned(),
        problem.output.name().to_owned(),
        problem.layout.name().to_owned(),
        problem.epilogue.name().to_owned(),
        problem.is_aligned,
    )
}

/// The product of two arrays as kernels see it.
#[pyfunction]
#[pyo3(signature = (a, b, *, transpose_a=false, transpose_b=false, is_tf32=false, epilogue="", is_wide=false))]
#[allow(
    clippy::fn_params_excessive_bools,
    reason = "keyword arguments of a Python function"
)]
pub fn matmul_problem(
    a: &Bound<'_, Array>,
    b: &Bound<'_, Array>,
    transpose_a: bool,
    transpose_b: bool,
    is_tf32: bool,
    epilogue: &str,
    is_wide: bool,
) -> PyResult<ProblemFields> {
    let py = a.py();
    let product = ArrayProduct {
        are_transposed: [transpose_a, transpose_b],
        epilogue: epilogue_of(py, epilogue)?,
        is_tf32,
        is_wide,
    };
    let problem = Problem::of_arrays(a.get(), b.get(), product);
    Ok(fields_of(&problem.into_py_result(py)?))
}

fn way_of(choice: Choice, archive: Option<&Archive>) -> Way {
    let (index, parts) = match choice {
        Choice::SplitK { kernel, parts } => (Some(kernel), parts),
        Choice::Tiles { kernel } | Choice::Transposed { kernel } | Choice::Padded { kernel } => {
            (Some(kernel), 1)
        }
        Choice::Vector | Choice::Vendor(_) => (None, 1),
    };
    let kernel = index.zip(archive).and_then(|(index, archive)| {
        let kernel = archive.kernels().get(index)?;
        Some(ArchivedKernel::of(archive, kernel))
    });
    (choice.name(archive), kernel, parts)
}

/// Every way to compute a problem on a device, the vendor's libraries included.
#[pyfunction]
pub fn matmul_ways(
    py: Python<'_>,
    device: &Bound<'_, PyAny>,
    problem: ProblemFields,
) -> PyResult<Vec<Way>> {
    let ops = on_device::ops_of(device)?;
    let problem = problem_of(py, &problem)?;
    let ways = py
        .detach(|| archived::ways(&ops, &problem))
        .into_py_result(py)?;
    let archive = Archived::of(&ops).archive().into_py_result(py)?;
    Ok(ways
        .into_iter()
        .map(|(_, way)| way_of(way, archive))
        .collect())
}

/// The way that a problem is computed on a device; None where nothing of the archive or of a library does.
#[pyfunction]
#[pyo3(signature = (device, problem, *, is_ours=false))]
pub fn matmul_choice(
    py: Python<'_>,
    device: &Bound<'_, PyAny>,
    problem: ProblemFields,
    is_ours: bool,
) -> PyResult<Option<Way>> {
    let ops = on_device::ops_of(device)?;
    let problem = problem_of(py, &problem)?;
    let chosen = py.detach(|| archived::choose(&ops, &problem, is_ours));
    let archive = Archived::of(&ops).archive().into_py_result(py)?;
    Ok(chosen.into_py_result(py)?.map(|way| way_of(way, archive)))
}

/// The vendor's libraries of a device that are there, opened now if they were not.
#[pyfunction]
pub fn matmul_libraries(py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<Vec<&'static str>> {
    let ops = on_device::ops_of(device)?;
    let found = py.detach(|| Archived::of(&ops).libraries(&ops));
    Ok(found.into_iter().map(VendorLibrary::name).collect())
}

/// Whether a library of a device may compute a problem: there, of the same meaning, found right.
#[pyfunction]
pub fn matmul_is_verified(
    py: Python<'_>,
    device: &Bound<'_, PyAny>,
    library: &str,
    problem: ProblemFields,
) -> PyResult<bool> {
    let ops = on_device::ops_of(device)?;
    let problem = problem_of(py, &problem)?;
    let Some(library) = VendorLibrary::from_name(library) else {
        return Ok(false);
    };
    Ok(py.detach(|| Archived::of(&ops).is_verified(&ops, library, &problem)))
}

/// What was chosen on a device so far, in no order; None for problems that nothing of the archive or of a library computes.
#[pyfunction]
pub fn matmul_choices(py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Way>>> {
    let ops = on_device::ops_of(device)?;
    let archive = Archived::of(&ops).archive().into_py_result(py)?;
    let choices = Archived::of(&ops).choices().into_iter();
    Ok(choices
        .map(|choice| choice.map(|way| way_of(way, archive)))
        .collect())
}

/// The way that a problem is computed on a device of these facts, and all ways, without a device: from the archive of the architecture and
/// the tuning database. `libraries` are there, and right where `are_verified` says so; `demand` is auto, ours or vendor.
#[pyfunction]
#[pyo3(signature = (architecture, units, problem, *, libraries=Vec::new(), are_verified=true, demand="auto", is_measured=true))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn matmul_decision(
    py: Python<'_>,
    architecture: String,
    units: u64,
    problem: ProblemFields,
    libraries: Vec<String>,
    are_verified: bool,
    demand: &str,
    is_measured: bool,
) -> PyResult<(Option<Way>, Vec<Way>)> {
    let problem = problem_of(py, &problem)?;
    let archive = Archive::find(&architecture).into_py_result(py)?;
    let libraries: Vec<VendorLibrary> = libraries
        .iter()
        .filter_map(|name| VendorLibrary::from_name(name))
        .filter(|_| is_for_vendor(&problem))
        .collect();
    let product = Problem {
        output: problem.operand.output(),
        ..problem
    };
    let entry = is_measured.then(|| tuning::database_of(&architecture).find(&product));
    let facts = Facts {
        architecture,
        units,
    };
    let situation = Situation {
        facts: &facts,
        archive: archive.as_ref(),
        libraries: &libraries,
        is_verified: &|_| are_verified,
    };
    let demand = match demand {
        "ours" => Demand::Ours,
        "vendor" => Demand::Vendor,
        _ => Demand::Auto,
    };
    let of_vendor = situation
        .first_verified()
        .filter(|_| demand == Demand::Vendor);
    let chosen = match of_vendor {
        Some(library) => Some(Choice::Vendor(library)),
        None => situation.decide(&problem, demand, entry.flatten().as_ref()),
    };
    let way = |choice: Choice| way_of(choice, archive.as_ref());
    let all = situation
        .ways(&problem, true)
        .into_iter()
        .map(way)
        .collect();
    Ok((chosen.map(way), all))
}

/// `out = epilogue(alpha * (a @ b) + beta * out)` of arrays without gaps that lie on the device: by the way of a name, by a kernel of the
/// archive without anything before or after it, or by what is chosen. Each call computes it, in the order of the default stream.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct MatmulCall {
    ops: Arc<DeviceOps>,
    problem: Problem,
    arrays: [amdgpu_array::Array; 3],
    bias: Option<amdgpu_array::Array>,
    alpha: f64,
    beta: f64,
    choice: Option<Choice>,
}

#[pymethods]
impl MatmulCall {
    #[new]
    #[pyo3(signature = (device, problem, a, b, out, *, bias=None, alpha=1.0, beta=0.0, way=None, kernel=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn new(
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        problem: ProblemFields,
        a: &Bound<'_, Array>,
        b: &Bound<'_, Array>,
        out: &Bound<'_, Array>,
        bias: Option<&Bound<'_, Array>>,
        alpha: f64,
        beta: f64,
        way: Option<&str>,
        kernel: Option<&ArchivedKernel>,
    ) -> PyResult<Self> {
        let ops = on_device::ops_of(device)?;
        let problem = problem_of(py, &problem)?;
        check(py, &ops, &problem, [a, b, out], bias)?;
        Ok(Self {
            choice: named(py, &ops, &problem, way, kernel)?,
            ops,
            problem,
            arrays: [a, b, out].map(|array| (**array.get()).clone()),
            bias: bias.map(|bias| (**bias.get()).clone()),
            alpha,
            beta,
        })
    }

    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let [a, b, out] = &self.arrays;
        let call = Gemm {
            problem: self.problem,
            a,
            b,
            out,
            bias: self.bias.as_ref(),
            alpha: self.alpha,
            beta: self.beta,
        };
        py.detach(|| match self.choice {
            Some(choice) => archived::multiply_with(&self.ops, &call, choice),
            None => archived::multiply(&self.ops, &call),
        })
        .into_py_result(py)
    }

    fn __repr__(&self) -> String {
        format!("<amdgpu._native.MatmulCall {:?}>", self.problem)
    }
}

fn named(
    py: Python<'_>,
    ops: &DeviceOps,
    problem: &Problem,
    way: Option<&str>,
    kernel: Option<&ArchivedKernel>,
) -> PyResult<Option<Choice>> {
    let unknown = |name: &str| {
        let message = format!("{name} is no way to compute this on {}", ops.name());
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    };
    if let Some(name) = kernel.map(ArchivedKernel::symbol) {
        let archive = Archived::of(ops).archive().into_py_result(py)?;
        let mut kernels = archive.map_or(&[][..], Archive::kernels).iter();
        let found = kernels.find(|kernel| kernel.name == name);
        let kernel = found.ok_or_else(|| unknown(name))?.index;
        return Ok(Some(Choice::Tiles { kernel }));
    }
    let Some(name) = way else { return Ok(None) };
    let ways = archived::ways(ops, problem).into_py_result(py)?;
    let found = ways.into_iter().find(|(own, _)| own == name);
    found.map(|(_, way)| Some(way)).ok_or_else(|| unknown(name))
}

/// Refuses arrays that do not hold what the problem says, or do not lie on the device without gaps.
fn check(
    py: Python<'_>,
    ops: &DeviceOps,
    problem: &Problem,
    arrays: [&Bound<'_, Array>; 3],
    bias: Option<&Bound<'_, Array>>,
) -> PyResult<()> {
    let items = |[rows, columns]: [u64; 2]| rows * columns * problem.batch;
    let wanted = [
        ("a", items(problem.stored(0)), problem.operand.dtype()),
        ("b", items(problem.stored(1)), problem.operand.dtype()),
        ("out", items([problem.m, problem.n]), problem.output.dtype()),
        ("bias", problem.n, problem.output.dtype()),
    ];
    let given = arrays.into_iter().map(Some).chain([bias]);
    for ((name, count, dtype), array) in wanted.into_iter().zip(given) {
        let Some(array) = array.map(Bound::get) else {
            continue;
        };
        array.check_alive().into_py_result(py)?;
        amdgpu_ops::check_device("matrix_multiply", name, array, ops.device())
            .into_py_result(py)?;
        if array.len() as u64 != count || array.dtype != dtype || !array.is_contiguous() {
            let message = format!(
                "{name} is {}{:?}; the problem wants {count} elements of {} without gaps",
                array.dtype.name().unwrap_or("?"),
                array.shape.as_slice(),
                dtype.name().unwrap_or("?")
            );
            return Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ));
        }
    }
    if bias.is_some() != (problem.epilogue != Epilogue::None) {
        let message = "a problem with an epilogue has a bias, and one without has none";
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            message,
        ));
    }
    Ok(())
}
