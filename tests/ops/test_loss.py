"""amdgpu.ops: losses and their gradients against their formulas in float64 and finite differences, on the CPU and by generated kernels."""

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from ops_oracle import FLOATS, arrange

# What float16 and bfloat16 round to; float32 loses digits where logarithms cancel.
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6, "float64": 1e-12}
REDUCTIONS = ("none", "mean", "sum")
SHAPES = ((), (1,), (5, 7), (3, 2, 65))


def reduced(terms, reduction, divisor=None):
    with np.errstate(all="ignore"):
        total = terms.sum()
        mean = total / (terms.size if divisor is None else divisor)
    return {"none": terms, "mean": mean, "sum": total}[reduction]


def squared(x, target):
    return (x - target) ** 2


def binary(x, target):
    with np.errstate(all="ignore"):
        return -(target * np.maximum(np.log(x), -100) + (1 - target) * np.maximum(np.log1p(-x), -100))


def logistic(x, target):
    return (1 - target) * x + np.maximum(-x, 0) + np.log1p(np.exp(-np.abs(x)))


def check(result, expected, dtype):
    result = np.asarray(result)
    assert result.dtype == dtype
    assert result.shape == np.shape(expected)
    tolerance = TOLERANCES[np.dtype(dtype).name]
    np.testing.assert_allclose(result.astype(np.float64), expected, tolerance, tolerance)


def differences(terms, x, step=1e-6):
    """The gradient of a sum by central differences."""
    found = np.empty_like(x)
    for place in np.ndindex(x.shape):
        moved = x.copy()
        moved[place] += step
        above = terms(moved)
        moved[place] -= 2 * step
        found[place] = (above - terms(moved)) / (2 * step)
    return found


def wide(array):
    return np.asarray(array).astype(np.float64)


ELEMENTS = {
    "mse": (ops.mse_loss, ops.mse_loss_gradient, squared, {}),
    "bce": (ops.bce_loss, ops.bce_loss_gradient, binary, {}),
    "logits": (ops.bce_loss, ops.bce_loss_gradient, logistic, {"with_logits": True}),
}


def elements_of(name, rng, shape, dtype):
    x = rng.uniform(0.05, 0.95, shape) if name == "bce" else rng.standard_normal(shape) * 2
    return np.asarray(x).astype(dtype), np.asarray(rng.uniform(0, 1, shape)).astype(dtype)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ELEMENTS)
def test_losses_of_elements_are_their_formulas(name, dtype, reduction, rng):
    loss, gradient, terms, options = ELEMENTS[name]
    for shape in SHAPES:
        x, target = elements_of(name, rng, shape, dtype)
        check(loss(x, target, reduction=reduction, **options), reduced(terms(wide(x), wide(target)), reduction), dtype)
        slopes = {
            "mse": 2 * (wide(x) - wide(target)),
            "bce": (wide(x) - wide(target)) / (wide(x) * (1 - wide(x))),
            "logits": 1 / (1 + np.exp(-wide(x))) - wide(target),
        }[name]
        upper = np.asarray(rng.standard_normal(shape if reduction == "none" else ())).astype(dtype)
        slopes = slopes * wide(upper) / (x.size if reduction == "mean" else 1)
        check(gradient(x, target, upper, reduction=reduction, **options), slopes, dtype)


@pytest.mark.parametrize("name", ELEMENTS)
def test_gradients_of_elements_are_finite_differences(name, rng):
    loss, gradient, _, options = ELEMENTS[name]
    x, target = elements_of(name, rng, (4, 3), np.float64)
    weight = rng.uniform(0.5, 2, 3)
    options = {**options, "weight": weight} if name != "mse" else options
    for reduction in ("mean", "sum"):
        expected = differences(lambda at, how=reduction: float(loss(at, target, reduction=how, **options)), x)
        found = gradient(x, target, 1.0, reduction=reduction, **options)
        np.testing.assert_allclose(found, expected, 1e-6, 1e-8)


@pytest.mark.parametrize("layout", ["C", "F", "step", "reversed", "offset"])
def test_losses_take_arrays_with_gaps(layout, rng):
    x, target = elements_of("bce", rng, (6, 5), np.float32)
    labels = rng.integers(0, 5, 6)
    own, other = arrange(x, layout), arrange(target, layout)
    check(ops.bce_loss(own, other), reduced(binary(wide(x), wide(target)), "mean"), np.float32)
    assert np.array_equal(ops.mse_loss_gradient(own, other, 1.0), ops.mse_loss_gradient(x, target, 1.0))
    assert np.array_equal(ops.cross_entropy_loss(own, labels), ops.cross_entropy_loss(x, labels))
    assert np.array_equal(ops.cross_entropy_loss(own, other), ops.cross_entropy_loss(x, target))
    assert np.array_equal(
        ops.cross_entropy_loss_gradient(own, labels, 1.0), ops.cross_entropy_loss_gradient(x, labels, 1.0)
    )


def test_logarithms_are_at_least_minus_100_and_logits_do_not_overflow():
    assert ops.bce_loss([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], reduction="none").tolist() == [100, 100, 0]
    huge = np.array([1e4, -1e4], np.float32)
    assert ops.bce_loss(huge, np.array([0, 1], np.float32), with_logits=True, reduction="none").tolist() == [1e4, 1e4]
    assert ops.bce_loss(huge, np.array([1, 0], np.float32), with_logits=True, reduction="none").tolist() == [0, 0]
    # The divisor is at least 1e-12.
    assert ops.bce_loss_gradient([0.0], [1.0], 1.0).tolist() == [-1e12]
    assert np.isnan(ops.bce_loss([1.5], [1.0]))


def test_sums_of_half_precision_do_not_overflow_on_the_way():
    x = np.array([300, 0], np.float16)
    assert ops.mse_loss(x, np.zeros_like(x)) == np.float16(45_000)
    x = np.full(70_000, 1, np.float16)
    assert ops.mse_loss(x, np.zeros_like(x)) == 1


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_loss_of_nothing(reduction):
    expected = {"none": [], "mean": np.nan, "sum": 0.0}[reduction]
    x = np.zeros(0, np.float32)
    for loss in (ops.mse_loss, ops.bce_loss):
        np.testing.assert_array_equal(loss(x, x, reduction=reduction), np.asarray(expected, np.float32))
    rows, labels = np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    for found in (
        ops.cross_entropy_loss(rows, labels, reduction=reduction),
        ops.nll_loss(rows, labels, reduction=reduction),
    ):
        np.testing.assert_array_equal(found, np.asarray(expected, np.float32))
    upper = np.zeros((0,) if reduction == "none" else (), np.float32)
    assert ops.cross_entropy_loss_gradient(rows, labels, upper, reduction=reduction).shape == (0, 3)


def class_terms(x, target, weight, ignored, smoothing, *, logarithms=False):
    """Terms and weights of rows (n, classes), in float64: what PyTorch's documentation says."""
    classes = x.shape[1]
    shares = target if target.dtype.kind == "f" else (target[:, None] == np.arange(classes)).astype(float)
    rows = np.ones(len(x))
    if target.dtype.kind != "f":
        rows = np.where(target == ignored, 0, weight[np.where(target == ignored, 0, target)])
    shares = weight * ((1 - smoothing) * shares + smoothing / classes)
    if target.dtype.kind != "f":
        shares = np.where((target == ignored)[:, None], 0, shares)
    if logarithms:
        log = x
    else:
        top = x.max(1, keepdims=True)
        log = x - top - np.log(np.exp(x - top).sum(1, keepdims=True))
    slopes = -shares if logarithms else np.exp(log) * shares.sum(1, keepdims=True) - shares
    return -(shares * log).sum(1), rows, slopes


def classes_of(rng, kind, shape, dtype):
    """x with its classes along axis 1, and targets; every fifth label is ignored."""
    x = (rng.standard_normal(shape) * 3).astype(dtype)
    if kind == "shares":
        given = rng.uniform(0, 1, shape)
        return x, (given / given.sum(1, keepdims=True)).astype(dtype)
    labels = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    labels.flat[::5] = -100
    return x, labels.astype(kind)


def flat(array):
    return np.moveaxis(array, 1, -1).reshape(-1, array.shape[1]) if array.ndim > 1 else array


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", ["int32", "int64", "shares"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_cross_entropy_is_its_formula(dtype, kind, reduction, rng):
    for shape, smoothing in (((7, 5), 0.0), ((11, 130), 0.25), ((3, 4, 2, 5), 0.1)):
        x, target = classes_of(rng, kind, shape, dtype)
        for weight in (None, rng.uniform(0.2, 2, shape[1]).astype(dtype)):
            factors = np.ones(shape[1]) if weight is None else wide(weight)
            labels = target.reshape(-1) if kind != "shares" else wide(flat(target))
            terms, rows, slopes = class_terms(wide(flat(x)), labels, factors, -100, smoothing)
            divisor = len(terms) if kind == "shares" else rows.sum()
            expected = reduced(terms, reduction, divisor)
            if reduction == "none":
                expected = expected.reshape(shape[0], *shape[2:])
            options = {"weight": weight, "label_smoothing": smoothing, "reduction": reduction}
            check(ops.cross_entropy_loss(x, target, **options), expected, dtype)
            upper = np.asarray(rng.standard_normal((shape[0], *shape[2:]) if reduction == "none" else ())).astype(dtype)
            slopes = slopes * wide(upper).reshape(-1, 1) / (divisor if reduction == "mean" else 1)
            slopes = np.moveaxis(slopes.reshape(shape[0], *shape[2:], shape[1]), -1, 1)
            check(ops.cross_entropy_loss_gradient(x, target, upper, **options), slopes, dtype)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_negative_log_likelihood_is_its_formula(dtype, reduction, rng):
    x, target = classes_of(rng, "int64", (9, 6), dtype)
    weight = rng.uniform(0.2, 2, 6).astype(dtype)
    terms, rows, slopes = class_terms(wide(x), target, wide(weight), -100, 0.0, logarithms=True)
    options = {"weight": weight, "reduction": reduction}
    check(ops.nll_loss(x, target, **options), reduced(terms, reduction, rows.sum()), dtype)
    upper = np.asarray(rng.standard_normal(9 if reduction == "none" else ())).astype(dtype)
    slopes = slopes * wide(upper).reshape(-1, 1) / (rows.sum() if reduction == "mean" else 1)
    check(ops.nll_loss_gradient(x, target, upper, **options), slopes, dtype)


@pytest.mark.parametrize("kind", ["int64", "shares"])
def test_gradients_of_classes_are_finite_differences(kind, rng):
    x, target = classes_of(rng, kind, (6, 4, 2), np.float64)
    options = {"weight": rng.uniform(0.5, 2, 4), "label_smoothing": 0.3}
    expected = differences(lambda at: float(ops.cross_entropy_loss(at, target, **options)), x)
    np.testing.assert_allclose(ops.cross_entropy_loss_gradient(x, target, 1.0, **options), expected, 1e-6, 1e-8)


def test_a_single_row_has_its_classes_along_axis_0():
    x = np.array([0.0, np.log(3.0)])
    np.testing.assert_allclose(ops.cross_entropy_loss(x, np.int64(1)), -np.log(0.75))
    np.testing.assert_allclose(ops.cross_entropy_loss_gradient(x, np.int64(1), 1.0), [0.25, -0.25])
    np.testing.assert_allclose(ops.cross_entropy_loss(x, np.array([0.5, 0.5])), -(np.log(0.75) + np.log(0.25)) / 2)


def test_ignored_rows_count_for_nothing():
    x = np.array([[1.0, 2.0], [np.nan, np.inf]])
    assert np.isfinite(ops.cross_entropy_loss(x, [0, -100]))
    assert ops.cross_entropy_loss(x, [0, 7], ignore_index=7) == ops.cross_entropy_loss(x, [0, -100])
    assert ops.cross_entropy_loss(x, [0, -100], reduction="none")[1] == 0
    assert ops.cross_entropy_loss_gradient(x, [0, -100], 1.0)[1].tolist() == [0, 0]
    assert np.isnan(ops.cross_entropy_loss(x, [-100, -100]))
    assert ops.cross_entropy_loss_gradient(x, [-100, -100], 1.0).tolist() == [[0, 0], [0, 0]]
    # A class without a share adds nothing, however unlikely it is.
    assert ops.cross_entropy_loss([[0.0, -np.inf]], [[1.0, 0.0]]) == 0


def test_cross_entropy_of_large_numbers_does_not_overflow():
    x = np.array([[1e4, 0, -1e4]], np.float32)
    assert ops.cross_entropy_loss(x, [0]) == 0
    assert ops.cross_entropy_loss(x, [1]) == 1e4
    np.testing.assert_array_equal(ops.cross_entropy_loss_gradient(x, [1], 1.0), [[1, -1, 0]])


X = np.ones((3, 4), np.float32)
LABELS = np.array([0, 1, 3])


@pytest.mark.parametrize("device", ["host", "kernels"])
@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (errors.ShapeMismatchError, r"mse_loss: x has shape \[3, 4\] and target \[4\]", lambda: ops.mse_loss(X, X[0])),
        (errors.UnsupportedDtypeError, "losses are of floats", lambda: ops.mse_loss(LABELS, LABELS)),
        (errors.UnsupportedDtypeError, "target float64; they have one dtype", lambda: ops.mse_loss(X, X.astype("f8"))),
        (
            errors.InvalidArgumentError,
            'reduction is "max"; known are none, mean, sum',
            lambda: ops.mse_loss(X, X, reduction="max"),
        ),
        (errors.InvalidTypeError, "reduction", lambda: ops.bce_loss(X, X, reduction=None)),
        (errors.InvalidTypeError, "with_logits", lambda: ops.bce_loss(X, X, with_logits=1)),
        (errors.ShapeMismatchError, "weight", lambda: ops.bce_loss(X, X, weight=np.ones((2, 3, 4), np.float32))),
        (errors.UnsupportedDtypeError, "weight float64", lambda: ops.bce_loss(X, X, weight=np.ones(4))),
        (
            errors.ShapeMismatchError,
            'mse_loss_gradient: gradient has shape .*; the loss with reduction "none" has',
            lambda: ops.mse_loss_gradient(X, X, 1.0, reduction="none"),
        ),
        (errors.ShapeMismatchError, "gradient has shape", lambda: ops.bce_loss_gradient(X, X, X)),
        (errors.UnsupportedDtypeError, "gradient float64", lambda: ops.mse_loss_gradient(X, X, np.ones(()))),
        (
            errors.IndexOutOfRangeError,
            "class 4 at place 1 of the targets is none of 4 classes",
            lambda: ops.cross_entropy_loss(X, [0, 4, 9]),
        ),
        (errors.IndexOutOfRangeError, "class -1 at place 2", lambda: ops.nll_loss(X, np.array([0, 1, -1], np.int32))),
        (errors.IndexOutOfRangeError, "class 4", lambda: ops.cross_entropy_loss_gradient(X, [0, 4, 9], 1.0)),
        (
            errors.ShapeMismatchError,
            "classes have its shape without axis 1",
            lambda: ops.cross_entropy_loss(X, [[0], [1], [2]]),
        ),
        (errors.ShapeMismatchError, "probabilities have the shape of x", lambda: ops.cross_entropy_loss(X, X[:2])),
        (
            errors.UnsupportedDtypeError,
            "targets are classes as int32 or int64, or",
            lambda: ops.cross_entropy_loss(X, LABELS.astype(np.int8)),
        ),
        (errors.UnsupportedDtypeError, "targets are classes as int32 or int64(?!,)", lambda: ops.nll_loss(X, X)),
        (errors.UnsupportedDtypeError, "target float64", lambda: ops.cross_entropy_loss(X, X.astype("f8"))),
        (errors.UnsupportedDtypeError, "losses are of floats", lambda: ops.cross_entropy_loss(X.astype(int), LABELS)),
        (
            errors.ShapeMismatchError,
            "one value for each of 4 classes",
            lambda: ops.cross_entropy_loss(X, LABELS, weight=np.ones(3, np.float32)),
        ),
        (errors.ShapeMismatchError, "x has no axes", lambda: ops.cross_entropy_loss(np.float32(1), np.int64(0))),
        (
            errors.InvalidArgumentError,
            "label_smoothing is 1.5",
            lambda: ops.cross_entropy_loss(X, LABELS, label_smoothing=1.5),
        ),
        (
            errors.InvalidArgumentError,
            "label_smoothing is NaN",
            lambda: ops.cross_entropy_loss(X, LABELS, label_smoothing=np.nan),
        ),
        (errors.InvalidTypeError, "ignore_index", lambda: ops.nll_loss(X, LABELS, ignore_index=0.5)),
        (
            errors.ShapeMismatchError,
            "gradient has shape",
            lambda: ops.nll_loss_gradient(X, LABELS, np.ones(2, np.float32)),
        ),
    ],
)
def test_what_does_not_fit_is_refused(device, error, message, call, monkeypatch):
    if device == "kernels":
        by_kernels(monkeypatch)
    with pytest.raises(error, match=message):
        call()


def by_kernels(monkeypatch):
    """From here on, generated kernels on the CPU device compute what host memory asks for."""
    device = amdgpu.initialize_device("cpu:0")

    def computed(name):
        function = cases.on_device(name)
        return lambda *arguments, **options: function(*arguments, device=device, **options)

    own = {name: computed(name) for name in ("element_loss", "class_loss")}
    monkeypatch.setattr("amdgpu.dispatch.of_host", own.__getitem__)
