"""Softmax and normalisations over axes on a device: one generated kernel for each operation, pair of dtypes and width of a row.

A block has ROWS x LANES work-items, as in `fold.py`. Sums are carried in float64; the rest is computed, and rounded, step by step as the
CPU's implementation does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.lines import Lines, lines_of, resolve_axes
from amdgpu.device_ops.operand import Operand, lend, target
from amdgpu.device_ops.transpose import dense
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Rows beside each other in memory that a block normalises together.
_COLUMN_ROWS = 32

# SUM and LARGEST fold a value of every place i of a row; EACH does something at every one.
_STEPS = {
    "softmax": """
    const C most = (C)LARGEST((double)x[i]);
    const C factor = (C)(1.0 / SUM(F(exp)((C)x[i] - most)));
    EACH { const C power = F(exp)((C)x[i] - most); out[i] = (R)(power * factor); }
""",
    "log_softmax": """
    const C most = (C)LARGEST((double)x[i]);
    const C taken = (C)log(SUM(F(exp)((C)x[i] - most)));
    EACH out[i] = (R)(((C)x[i] - most) - taken);
""",
    "layer_norm": """
    const W center = (W)(SUM((C)x[i]) / (double)length);
    FACTOR(SUM(squared((W)(C)x[i] - center)));
    const C mean = (C)((double)center * (double)lift);
    EACH { const C value = ((C)x[i] * lift - mean) * factor; out[i] = (R)FINISHED; }
""",
    "rms_norm": """
    FACTOR(SUM(squared((W)(C)x[i])));
    EACH { const C value = (C)x[i] * lift * factor; out[i] = (R)FINISHED; }
""",
}
# x is what was normalised, of softmax its result; `weighted` is the gradient times the scale, where there is one.
_GRADIENTS = {
    "softmax": """
    const C total = (C)SUM((C)x[i] * (C)gradient[i]);
    EACH out[i] = (R)((C)x[i] * ((C)gradient[i] - total));
""",
    "log_softmax": """
    const C total = (C)SUM((C)gradient[i]);
    EACH out[i] = (R)((C)gradient[i] - F(exp)((C)x[i]) * total);
""",
    "layer_norm": """
    const W center = (W)(SUM((C)x[i]) / (double)length);
    FACTOR(SUM(squared((W)(C)x[i] - center)));
    const C mean = (C)((double)center * (double)lift);
    const C level = (C)(SUM(WEIGHTED) / (double)length);
    const C slope = (C)(SUM(WEIGHTED * (((C)x[i] * lift - mean) * factor)) / (double)length);
    EACH out[i] = (R)(lift * (factor * (WEIGHTED - level - ((C)x[i] * lift - mean) * factor * slope)));
""",
    "rms_norm": """
    FACTOR(SUM(squared((W)(C)x[i])));
    const C slope = (C)(SUM(WEIGHTED * ((C)x[i] * lift * factor)) / (double)length);
    EACH out[i] = (R)(lift * (factor * (WEIGHTED - (C)x[i] * lift * factor * slope)));
""",
}
_HELPERS = """
template <typename T> __device__ inline T squared(T a) { return a * a; }

// Every value of the row that this lane has: i is its place in the array, at that in the row.
#define EACH for (unsigned long long at = LANE, i = row.first + at * row.step; at < row.end; at += LANES, i += LANES * row.step)
#define SUM(value) folded(row, shared, 0.0, [&](unsigned long long i) { return (double)(value); }, \\
                          [](double a, double b) { return a + b; })
#define LARGEST(value) folded(row, shared, -(double)INFINITY, [&](unsigned long long i) { return value; }, \\
                              [](double a, double b) { return a != a ? a : b != b ? b : a >= b ? a : b; })

// 1 / sqrt(mean of squares + epsilon) as factor * lift. The lift is 1 unless the whole is outside of what float32 holds in all digits.
#define FACTOR(squares) \\
    const double whole = 1.0 / sqrt((squares) / (double)length + epsilon); \\
    const C lift = (C)(whole > 0x1p64 ? 0x1p64 : whole < 0x1p-64 ? 0x1p-64 : 1.0), factor = (C)(whole / (double)lift)

struct Row { unsigned long long first, step, end; };

// What all values of a row give together; the same for every lane of the row.
template <typename Part, typename Join>
__device__ inline double folded(Row row, double* shared, double start, Part part, Join join) {
    double own = start;
    EACH own = join(own, part(i));
    // The result of the fold before was read by all.
    __syncthreads();
    AT(LANE) = own;
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {
        if (LANE < half) AT(LANE) = join(AT(LANE), AT(LANE + half));
        __syncthreads();
    }
    return AT(0);
}

// Steps of their own: a product is not fused with a sum.
__device__ inline C scaled(C a, C scale) { return a * scale; }
__device__ inline C shifted(C a, C shift) { return a + shift; }
"""


def normalize(
    operation: str,
    x: Any,
    parameters: tuple[Any, ...],
    axes: Sequence[int],
    out: Any = None,
    *,
    row_shape: Sequence[int] | None = None,
    epsilon: float = 0.0,
    device: AMDGPUDevice,
) -> Any:
    """What `amdgpu._native.normalize` does, on a device.

    Raises:
        As the functions of `amdgpu.ops.normalize`.
    """
    values = lend(operation, "x", x, device)
    shape = values.shape
    resolved = _row_axes(operation, shape, axes, row_shape)
    if not epsilon >= 0:
        raise InvalidArgumentError(f"{operation}: eps is {epsilon}; it must not be negative")
    dtype = dtypes.as_float(values.dtype)
    computed = dtypes.compute(dtype)
    row = tuple(shape[axis] for axis in resolved)
    given = [
        _parameter(operation, name, lend(operation, name, parameter, device), row, computed)
        for name, parameter in zip(("scale", "shift"), parameters, strict=False)
    ]
    made = target(operation, device, shape, dtype, out, inputs=(values, *given), may_alias=True)
    if not made.operand.size:
        return made.deliver()
    names = tuple(one.dtype for one in given)
    arrays = [dense(device, values), made.array, *(dense(device, one) for one in given)]
    _launch(
        device,
        (operation, values.dtype, dtype, names),
        arrays,
        lines_of(shape, resolved[0], last=resolved[-1]),
        epsilon,
    )
    return made.deliver()


def normalize_gradient(  # noqa: PLR0917  (the order of the native function)
    operation: str,
    x: Any,
    gradient: Any,
    scale: Any,
    axes: Sequence[int],
    out: Any = None,
    *,
    row_shape: Sequence[int] | None = None,
    epsilon: float = 0.0,
    device: AMDGPUDevice,
) -> Any:
    """What `amdgpu._native.normalize_gradient` does, on a device.

    Raises:
        As the functions of `amdgpu.ops.norm_gradient`.
    """
    name = f"{operation}_gradient"
    values, given = lend(name, "x", x, device), lend(name, "gradient", gradient, device)
    shape, dtype = values.shape, values.dtype
    if given.shape != shape:
        raise ShapeMismatchError(f"{name}: gradient has shape {list(given.shape)}, x {list(shape)}")
    if dtype not in dtypes.FLOATS or given.dtype != dtype:
        raise UnsupportedDtypeError(f"{name}: x has dtype {dtype} and gradient {given.dtype}; both must be one float")
    resolved = _row_axes(name, shape, axes, row_shape)
    if not epsilon >= 0:
        raise InvalidArgumentError(f"{name}: eps is {epsilon}; it must not be negative")
    row = tuple(shape[axis] for axis in resolved)
    factors = [] if scale is None else [lend(name, "weight", scale, device)]
    factors = [_parameter(name, "weight", one, row, dtypes.compute(dtype)) for one in factors]
    made = target(name, device, shape, dtype, out, inputs=(values, given, *factors), may_alias=True)
    if made.operand.size:
        names = tuple(one.dtype for one in factors)
        arrays = [dense(device, one) for one in (values, given, *factors)]
        _launch(device, (operation, dtype, dtype, names), [arrays[0], made.array, *arrays[1:]],
                lines_of(shape, resolved[0], last=resolved[-1]), epsilon, is_gradient=True)  # fmt: skip
    return made.deliver()


def _row_axes(
    operation: str, shape: tuple[int, ...], axes: Sequence[int], row_shape: Sequence[int] | None
) -> tuple[int, ...]:
    """The axes that make a row."""
    if row_shape is not None:
        row = tuple(row_shape)
        if len(row) > len(shape) or shape[len(shape) - len(row) :] != row:
            raise ShapeMismatchError(
                f"{operation}: x has shape {list(shape)}, which does not end in the normalised shape {list(row)}"
            )
        axes = range(len(shape) - len(row), len(shape))
    resolved = resolve_axes(operation, shape, axes)
    if not resolved:
        raise InvalidArgumentError(f"{operation}: no axis is named to normalise over")
    return resolved


def _launch(
    device: AMDGPUDevice,
    kind: tuple[str, str, str, tuple[str, ...]],
    arrays: list[Any],
    lines: Lines,
    epsilon: float,
    *,
    is_gradient: bool = False,
) -> None:
    """Launch the kernel of an operation, dtypes of x and the result, and those of the parameters."""
    lanes = source.BLOCK // _COLUMN_ROWS if lines.inner > 1 else _lanes(lines)
    rows = source.BLOCK // lanes
    is_column = lines.inner > 1
    key = ("normalize", kind, lanes, is_column, is_gradient)
    kernel = source.kernel_for(
        device, key, lambda: normalize_source(kind, lanes, is_column=is_column, is_gradient=is_gradient), "normalize"
    )
    block = (rows, lanes, 1) if is_column else (lanes, rows, 1)
    kernel.queue(-(-lines.count // rows), block, [*arrays, lines.count, lines.length, lines.inner, float(epsilon)])


def _lanes(lines: Lines) -> int:
    lanes = 1
    while lanes < source.BLOCK and lanes * 4 < lines.length:
        lanes *= 2
    return lanes


def _parameter(operation: str, name: str, lent: Operand, row: tuple[int, ...], computed: str) -> Operand:
    if lent.shape != row:
        raise ShapeMismatchError(f"{operation}: {name} has shape {list(lent.shape)}, the normalised axes {list(row)}")
    if dtypes.ITEM_BYTES[dtypes.compute(dtypes.as_float(lent.dtype))] > dtypes.ITEM_BYTES[computed]:
        raise UnsupportedDtypeError(
            f"{operation}: {name} has dtype {lent.dtype}, which is wider than x computed in {computed}"
        )
    return lent


def normalize_source(
    kind: tuple[str, str, str, tuple[str, ...]], lanes: int, *, is_column: bool, is_gradient: bool
) -> str:
    """The kernel of an operation, dtypes of x and the result, and those of the parameters."""
    operation, x, result, parameters = kind
    computed = dtypes.compute(result)
    row, lane = ("x", "y") if is_column else ("y", "x")
    # Neighbours of a block write neighbouring banks of shared memory.
    place = "(lane) * ROWS + ROW" if is_column else "ROW * LANES + (lane)"
    names = {f"P{index}": dtype for index, dtype in enumerate(parameters)}
    given = ", const X* gradient" if is_gradient else ""
    given += "".join(f", const P{index}* parameter{index}" for index in range(len(parameters)))
    finished = "value"
    if parameters:
        finished = "scaled(value, (C)parameter0[at])"
    if len(parameters) > 1:
        finished = f"shifted({finished}, (C)parameter1[at])"
    return (
        source.types(X=x, R=result, C=computed, **names)
        + source.functions(computed)
        + f"""
#define LANES {lanes}
#define ROWS {source.BLOCK // lanes}
#define ROW threadIdx.{row}
#define LANE threadIdx.{lane}
#define AT(lane) shared[{place}]
#define FINISHED {finished}
// Squares of float16 stay within float32; those of what has its range do not.
typedef {"C" if x == "float16" else "double"} W;
#define WEIGHTED {"((C)gradient[i] * (C)parameter0[(i - row.first) / row.step])" if parameters else "(C)gradient[i]"}
"""
        + _HELPERS
        + f"""
extern "C" __global__ void normalize(const X* x, R* out{given}, unsigned long long rows, unsigned long long length,
                                     unsigned long long inner, double epsilon) {{
    __shared__ double shared[{source.BLOCK}];
    const unsigned long long number = (unsigned long long)blockIdx.x * ROWS + ROW;
    Row row;
    row.first = number / inner * length * inner + number % inner;
    row.step = inner;
    row.end = number < rows ? length : 0;
{(_GRADIENTS if is_gradient else _STEPS)[operation].strip(chr(10))}
}}
"""
    )
