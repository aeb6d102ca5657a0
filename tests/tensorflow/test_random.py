"""Random numbers are those of TensorFlow's CPU: the same words of Philox, made into numbers in the same way."""

import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import CPU, RDNA, on

raw = tf.raw_ops
FLOATS = ("float32", "float64", "float16", "bfloat16")
SHAPE, SEED = [77, 3], [3, -4]
pytestmark = pytest.mark.usefixtures("hard_placement")


def both(function):
    return on(CPU, function)[0], on(RDNA, function)[0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_are_bit_for_bit_those_of_tensorflow(dtype):
    for function in (
        lambda: tf.random.stateless_uniform(SHAPE, SEED, dtype=dtype),
        lambda: raw.RandomUniform(shape=SHAPE, dtype=dtype, seed=5, seed2=6),
    ):
        wanted, found = both(function)
        np.testing.assert_array_equal(found, wanted)


# Units in the last place between logarithm, sine and cosine of the C library and those of float64, rounded; 16 bits from float32.
UNITS = {"float32": 4, "float64": 8, "float16": 1, "bfloat16": 1}
# Share of many numbers that are not bit for bit those of TensorFlow. Of float64 a third is off in the last places.
MOST_OTHER = {"float32": 0.03, "float64": 0.5, "float16": 1e-3, "bfloat16": 1e-3}
COUNT = 300_001


def is_as_exact_as_its_functions(found, wanted):
    """Whether numbers are those of TensorFlow, as far as float functions of two libraries agree."""
    dtype = str(wanted.dtype)
    assert found.dtype == wanted.dtype
    integer = {2: np.int16, 4: np.int32, 8: np.int64}[wanted.dtype.itemsize]
    units = np.abs(found.view(integer).astype(np.int64) - wanted.view(integer).astype(np.int64))
    most_other = MOST_OTHER[dtype] if found.size >= 1000 else 1.0
    return units.max() <= UNITS[dtype] and (units != 0).mean() <= most_other


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers_are_those_of_tensorflow(dtype):
    for function in (
        lambda: tf.random.stateless_normal([COUNT], SEED, dtype=dtype),
        lambda: raw.RandomStandardNormal(shape=SHAPE, dtype=dtype, seed=5, seed2=6),
    ):
        wanted, found = both(function)
        assert is_as_exact_as_its_functions(found, wanted)


@pytest.mark.parametrize("dtype", FLOATS)
def test_truncated_normal_numbers_are_those_of_tensorflow(dtype):
    """Each group of numbers draws again from words of its own, so that no number moves when another one is refused."""
    for function in (
        lambda: tf.random.stateless_truncated_normal([COUNT], SEED, dtype=dtype),
        lambda: raw.TruncatedNormal(shape=[COUNT], dtype=dtype, seed=5, seed2=6),
        lambda: raw.TruncatedNormal(shape=[3], dtype=dtype, seed=5, seed2=6),
    ):
        wanted, found = both(function)
        assert is_as_exact_as_its_functions(found, wanted)
        assert np.abs(found.astype(np.float64)).max() <= 2


@pytest.mark.parametrize("name", ["StatelessRandomNormalV2", "StatelessTruncatedNormalV2"])
def test_counters_of_normal_numbers_carry_into_their_high_half(name):
    state = {"key": tf.constant([2**63 + 9], tf.uint64), "counter": tf.constant([2**64 - 700, 2**64 - 1], tf.uint64)}
    wanted, found = both(lambda: getattr(raw, name)(shape=[5001], alg=1, dtype=tf.float32, **state))
    assert is_as_exact_as_its_functions(found, wanted)


def test_draws_of_truncated_normal_numbers_go_on():
    def draws():
        tf.random.set_seed(7)
        return tf.stack([tf.random.truncated_normal((7,), seed=3) for _ in range(3)])

    wanted, found = both(draws)
    assert is_as_exact_as_its_functions(found, wanted)
    assert len(np.unique(found)) == 21


@pytest.mark.parametrize(
    "name", ["HeNormal", "GlorotNormal", "LecunNormal", "TruncatedNormal", "RandomNormal", "GlorotUniform"]
)
def test_initial_weights_of_keras_are_drawn_on_the_device(name):
    keras = pytest.importorskip("keras")
    wanted, found = both(lambda: getattr(keras.initializers, name)(seed=3)((64, 33)))
    assert is_as_exact_as_its_functions(found, wanted)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_are_those_of_tensorflow(dtype):
    low, high = tf.constant(-3, dtype), tf.constant(90, dtype)
    for function in (
        lambda: tf.random.stateless_uniform(SHAPE, SEED, -5, 1000, dtype=dtype),
        lambda: raw.RandomUniformInt(shape=SHAPE, minval=low, maxval=high, seed=5, seed2=6),
    ):
        np.testing.assert_array_equal(*both(function))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_words_are_those_of_tensorflow(dtype):
    np.testing.assert_array_equal(*both(lambda: tf.random.stateless_uniform(SHAPE, SEED, None, None, dtype=dtype)))


def test_draws_of_a_graph_go_on():
    """Each run of a node goes on where the last one ended, as TensorFlow's does."""

    def draws():
        tf.random.set_seed(7)

        @tf.function
        def drawn():
            return tf.random.uniform((5,), seed=3)

        return tf.stack([drawn(), drawn(), drawn()])

    wanted, found = both(draws)
    np.testing.assert_array_equal(found, wanted)
    assert len(np.unique(found)) == 15


def test_wrong_bounds_are_refused():
    with tf.device(RDNA), pytest.raises(tf.errors.InvalidArgumentError, match="minval < maxval"):
        tf.random.stateless_uniform([3], SEED, 5, 5, dtype=tf.int32)
