"""Functions of one, two and three tensors beside TensorFlow's CPU kernels."""

import inspect

import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import compare, values

raw = tf.raw_ops
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int16", "int8", "uint8")
pytestmark = pytest.mark.usefixtures("hard_placement")

# Functions of one tensor, and where their arguments lie.
UNARY = {
    **dict.fromkeys(
        [
            "Neg",
            "Abs",
            "Sign",
            "Square",
            "Reciprocal",
            "Exp",
            "Expm1",
            "Erf",
            "Erfc",
            "Tanh",
            "Sigmoid",
            "Sin",
            "Cos",
            "Tan",
            "Atan",
            "Sinh",
            "Cosh",
            "Asinh",
            "Floor",
            "Ceil",
            "Round",
            "Relu",
            "Relu6",
            "Elu",
            "Selu",
            "Softplus",
            "Softsign",
            "LeakyRelu",
            "IsNan",
            "IsInf",
            "IsFinite",
            "ZerosLike",
            "OnesLike",
        ],
        (-3.0, 3.0),
    ),
    "Sqrt": (0.0, 4.0),
    "Rsqrt": (0.1, 4.0),
    "Log": (0.1, 4.0),
    "Log1p": (-0.5, 4.0),
    "Asin": (-1.0, 1.0),
    "Acos": (-1.0, 1.0),
    "Acosh": (1.0, 4.0),
    "Atanh": (-0.9, 0.9),
    "Inv": (0.5, 3.0),
}
SHAPES = [((4, 5), (4, 5)), ((4, 1), (5,)), ((), (3,)), ((0, 5), (1, 5))]
DIVISIONS = ("RealDiv", "Div", "FloorDiv", "FloorMod", "DivNoNan", "Xdivy", "Mod", "TruncateDiv", "TruncateMod")


def call(name, *tensors, **attributes):
    """A raw operation of tensors in the order of its parameters."""
    function = getattr(raw, name)
    names = list(inspect.signature(function).parameters)
    return function(**dict(zip(names, tensors, strict=False)), **attributes)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name, dtype):
    low, high = UNARY[name]
    compare(lambda x: call(name, x), values((5, 7), dtype, low=low, high=high))


def test_rint():
    for dtype in ("float32", "float64"):
        compare(raw.Rint, x=np.array([-2.5, -0.5, 0.5, 1.5, 2.4], dtype))


@pytest.mark.parametrize(
    "name", ["IsNan", "IsInf", "IsFinite", "Relu", "Abs", "Erfc", "Sign", "Sqrt", "Log", "Exp", "Tanh"]
)
def test_special_values(name):
    compare(lambda x: call(name, x), np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 5.0, 9.0], "float32"))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "name",
    [
        "AddV2",
        "Sub",
        "Mul",
        "RealDiv",
        "FloorDiv",
        "FloorMod",
        "Maximum",
        "Minimum",
        "SquaredDifference",
        "DivNoNan",
        "MulNoNan",
        "Xdivy",
        "Equal",
        "NotEqual",
        "Less",
        "LessEqual",
        "Greater",
        "GreaterEqual",
        "Atan2",
        "Div",
        "Add",
    ],
)
def test_functions_of_two_tensors_broadcast(name, dtype):
    low = 0.5 if name in DIVISIONS else -3.0
    for first, second in SHAPES:
        compare(lambda x, y: call(name, x, y), values(first, dtype), values(second, dtype, 1, low=low))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "name",
    [
        "AddV2",
        "Sub",
        "Mul",
        "FloorDiv",
        "FloorMod",
        "Maximum",
        "Minimum",
        "Equal",
        "NotEqual",
        "Less",
        "GreaterEqual",
        "TruncateDiv",
    ],
)
def test_integers(name, dtype):
    low = 0 if dtype == "uint8" else -9
    x, y = values((4, 5), dtype, low=low, high=9), values((4, 1), dtype, 1, low=1, high=9)
    compare(lambda x, y: call(name, x, y), x, y)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint32"])
@pytest.mark.parametrize("name", ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"])
def test_bits(name, dtype):
    compare(lambda x, y: call(name, x, y), values((4, 5), dtype, low=0, high=99), values((5,), dtype, 1, low=0, high=6))
    compare(lambda x: raw.Invert(x=x), values((4, 5), dtype, low=0, high=99))


@pytest.mark.filterwarnings("ignore:amdgpu. elementwise does not run as preferred:RuntimeWarning")
def test_powers_logarithms_and_remainders():
    for dtype in FLOATS:
        compare(tf.pow, values((4, 5), dtype, low=0.1), values((5,), dtype, 1, low=-1, high=1), scale=2)
        compare(
            lambda x, y: raw.Xlogy(x=x, y=y), np.array([0, 1, 2], dtype_of(dtype)), np.array([0, 1, 3], dtype_of(dtype))
        )
        compare(
            lambda x, y: raw.Xlog1py(x=x, y=y),
            np.array([0, 1, 2], dtype_of(dtype)),
            np.array([-1, 1, 3], dtype_of(dtype)),
        )
    compare(tf.pow, values((5,), "int64", low=1, high=5), values((5,), "int64", 1, low=0, high=5))
    for dtype in ("float32", "float64", "int64"):
        compare(
            tf.truncatemod,
            values((4, 5), dtype, low=-9, high=9),
            values((5,), dtype, 1, low=1, high=4),
        )


def dtype_of(name):
    return tf.as_dtype(name).as_numpy_dtype


def test_logic_of_truth_values():
    x, y = values((4, 5), "bool"), values((5,), "bool", 1)
    for operation in (tf.logical_and, tf.logical_or, tf.not_equal, tf.equal):
        compare(operation, x, y)
    compare(tf.logical_not, x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad", "TanhGrad", "SigmoidGrad"])
def test_gradients_from_results(name, dtype):
    compare(lambda y, dy: call(name, y, dy), values((4, 5), dtype, low=0.2, high=0.9), values((4, 5), dtype, 1))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "name", ["ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"]
)
def test_gradients_of_activations(name, dtype):
    compare(lambda dy, x: call(name, dy, x), values((4, 5), dtype), values((4, 5), dtype, 1, low=-0.9))


@pytest.mark.parametrize("target", [*FLOATS, "int64", "int32", "bool", "uint8"])
@pytest.mark.parametrize("source", [*FLOATS, "int64", "int32", "bool", "uint8"])
def test_casts(source, target):
    compare(lambda x: tf.cast(x, target), values((3, 4), source, low=0))


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "int32", "bool", "uint8"])
def test_choices(dtype):
    x, y = values((3, 4, 5), dtype), values((3, 4, 5), dtype, 1)
    compare(tf.where, values((4, 1), "bool"), x, y)
    compare(lambda c, x, y: raw.Select(condition=c, x=x, y=y), values((3,), "bool"), x, y)


def test_clipping_and_sums():
    for dtype in FLOATS:
        compare(lambda x: tf.clip_by_value(x, -1, 1), values((3, 4), dtype))
        compare(lambda x: raw.AddN(inputs=x), [values((3, 4), dtype, seed) for seed in range(4)])
        compare(tf.nn.l2_loss, values((6, 5), dtype), scale=4)


def test_shapes_that_do_not_broadcast_are_refused():
    with tf.device("RDNA:0"):
        x, y = tf.zeros((2, 3)), tf.zeros((2, 4))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2,3\] vs. \[2,4\]"):
            raw.AddV2(x=x, y=y)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same size and shape"):
            raw.AddN(inputs=[x, y])
        assert not raw.Equal(x=x, y=y, incompatible_shape_error=False).numpy()


def test_dtypes_without_a_kernel_are_refused():
    with (
        tf.device("RDNA:0"),
        pytest.raises((tf.errors.InvalidArgumentError, tf.errors.NotFoundError), match=r"RDNA|RealDiv"),
    ):
        raw.RealDiv(x=tf.constant([1 + 2j]), y=tf.constant([1j]))


def test_gradients_by_differences():
    with tf.device("RDNA:0"):
        for function in (tf.tanh, tf.sigmoid, tf.math.erf, tf.nn.gelu, tf.nn.softplus, tf.nn.selu, tf.math.rsqrt):
            x = tf.constant(np.linspace(0.3, 2.0, 5))
            theory, practice = tf.test.compute_gradient(function, [x])
            np.testing.assert_allclose(theory[0], practice[0], rtol=1e-4, atol=1e-6)
