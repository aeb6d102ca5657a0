"""Random numbers are those of TensorFlow's CPU: the same words of Philox, made into numbers in the same way."""

import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import CPU, RDNA, on, same

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


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers_are_those_of_tensorflow(dtype):
    for function in (
        lambda: tf.random.stateless_normal(SHAPE, SEED, dtype=dtype),
        lambda: raw.RandomStandardNormal(shape=SHAPE, dtype=dtype, seed=5, seed2=6),
    ):
        wanted, found = both(function)
        same(found, wanted)


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
