"""Graphs whose nodes are fused give what they give without it, and only nodes that nobody else reads are fused."""

import contextlib
import os
import subprocess
import sys

import hypothesis.strategies as st
import keras
import numpy as np
import pytest
import small_models
import tensorflow as tf
import tf_rdna
from beside_cpu import CPU, RDNA, same, values
from hypothesis import HealthCheck, given, settings

often = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
floats = st.sampled_from(["float32", "float64", "float16", "bfloat16"])
seeds = st.integers(0, 99)

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "elu": tf.nn.elu,
    "softplus": tf.nn.softplus,
    "gelu": tf.nn.gelu,
    "silu": lambda x: x * tf.sigmoid(x),
}


@pytest.fixture(autouse=True)
def fusion_is_on():
    yield
    tf_rdna.set_fusion_enabled(True)


def report():
    return {fusion.name: (fusion.nodes, fusion.joined) for fusion in tf_rdna.fusion_report()}


def run(function, *arrays, enabled=True, device=RDNA):
    """The results of a graph of its own."""
    tf_rdna.set_fusion_enabled(enabled)
    tf_rdna.reset_fusion_report()
    with tf.device(device):
        results = tf.function(function)(*[tf.constant(array) for array in arrays])
    return [result.numpy() for result in tf.nest.flatten(results)]


def check(function, *arrays, fused=(), scale=4.0):
    """Asserts that fused graphs are right, and that such nodes were fused."""
    found = run(function, *arrays)
    made = report()
    assert set(fused) <= set(made), made
    plain = run(function, *arrays, enabled=False)
    assert not report().keys() - {"lists on the CPU"}
    for one, other, wanted in zip(found, plain, run(function, *arrays, device=CPU), strict=True):
        same(one, other, scale)
        same(one, wanted, scale)
    return made


@often
@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 6),
    floats,
    st.sampled_from(list(ACTIVATIONS)),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_products_with_bias_and_activation(m, depth, n, dtype, activation, transpose_a, transpose_b, seed):
    a = values((depth, m) if transpose_a else (m, depth), dtype, seed)
    b = values((n, depth) if transpose_b else (depth, n), dtype, seed + 1)
    bias = values((n,), dtype, seed + 2)

    def layer(a, b, bias):
        product = tf.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
        return ACTIVATIONS[activation](tf.nn.bias_add(product, bias))

    made = check(layer, a, b, bias, fused=["matmul"], scale=8)
    assert made["matmul"][0] == 1


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_bias_behind_another_shape(dtype):
    a, b, bias = values((10, 6), dtype, 0), values((6, 8), dtype, 1), values((2, 4), dtype, 2)
    made = check(lambda a, b, bias: tf.tanh(tf.reshape(a @ b, (2, 5, 2, 4)) + bias), a, b, bias, fused=["matmul"])
    assert made["matmul"] == (1, 4)
    # An addend of a part of the row is no bias of the product.
    part = values((4,), dtype, 3)
    made = check(lambda a, b, bias: tf.reshape(a @ b, (2, 5, 2, 4)) + bias, a, b, part)
    assert "matmul" not in made


@often
@given(
    st.sampled_from(["float32", "float64", "float16"]),
    st.sampled_from(["SAME", "VALID"]),
    st.integers(1, 2),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["none", "relu", "elu", "tanh", "silu"]),
    seeds,
)
def test_convolutions_with_what_follows(dtype, padding, stride, has_bias, has_norm, has_residual, activation, seed):
    x, filters = values((2, 6, 5, 3), dtype, seed), values((3, 3, 3, 4), dtype, seed + 1, -1, 1)
    vectors = [values((4,), dtype, seed + place, 0.5, 1.5) for place in range(2, 7)]

    def layer(x, filters, bias, mean, variance, scale, shift):
        y = tf.nn.conv2d(x, filters, stride, padding)
        shape = y
        if has_bias:
            y = tf.nn.bias_add(y, bias)
        if has_norm:
            y = tf.nn.batch_normalization(y, mean, variance, shift, scale, 1e-3)
        if has_residual:
            y = tf.ones_like(tf.stop_gradient(tf.zeros(shape.shape, dtype))) + y
        return ACTIVATIONS[activation](y)

    # Factors of channels are not multiplied into filters of half precision.
    is_fused = has_bias or (dtype != "float16" if has_norm else activation != "none")
    check(layer, x, filters, *vectors, fused=["convolution"] if is_fused else [], scale=32)


def test_a_residual_block_is_one_node():
    x, filters = values((2, 6, 5, 4), "float32", 0), values((3, 3, 4, 4), "float32", 1)
    vectors = [values((4,), "float32", place, 0.5, 1.5) for place in range(2, 7)]

    def block(x, filters, bias, mean, variance, scale, shift):
        y = tf.nn.bias_add(tf.nn.conv2d(x, filters, 1, "SAME"), bias)
        return tf.nn.relu(x + tf.nn.batch_normalization(y, mean, variance, shift, scale, 1e-3))

    made = check(block, x, filters, *vectors, fused=["convolution"], scale=16)
    assert made["convolution"][0] == 1


@pytest.mark.parametrize("is_first", [False, True])
def test_two_normalised_convolutions_are_added(is_first):
    x, filters = values((2, 6, 5, 4), "float32", 0), values((3, 3, 4, 4), "float32", 1)
    vectors = [values((1, 1, 1, 4), "float32", place, 0.5, 1.5) for place in range(2, 6)]

    def block(x, filters, mean, variance, scale, shift):
        y, z = tf.nn.conv2d(x, filters, 1, "SAME"), tf.nn.conv2d(tf.nn.relu(x), filters, 1, "SAME")
        y, z = (tf.nn.batch_normalization(one, mean, variance, shift, scale, 1e-3) for one in (y, z))
        return tf.nn.relu(y + z if is_first else z + y)

    check(block, x, filters, *vectors, fused=["convolution"], scale=16)


@pytest.mark.parametrize("has_norm", [False, True])
@pytest.mark.parametrize("is_one_operation", [False, True])
def test_convolutions_of_images_with_channels_first(has_norm, is_one_operation):
    x, filters = values((2, 3, 6, 5), "float32", 0), values((3, 3, 3, 4), "float32", 1)
    vectors = [values((4,), "float32", place, 0.5, 1.5) for place in range(2, 7)]

    def following(y, layout, bias, scale, shift, mean, variance):
        y = tf.nn.bias_add(y, bias, layout)
        if has_norm and is_one_operation:
            y, *_ = tf.compat.v1.nn.fused_batch_norm(y, scale, shift, mean, variance, 1e-3, layout, is_training=False)
        elif has_norm:
            shape = (1, -1, 1, 1) if layout == "NCHW" else (-1,)
            y = tf.nn.batch_normalization(y, *(tf.reshape(one, shape) for one in (mean, variance, shift, scale)), 1e-3)
        return tf.nn.relu(y)

    def layer(x, filters, *vectors):
        return following(tf.nn.conv2d(x, filters, 1, "SAME", "NCHW"), "NCHW", *vectors)

    def layer_of_last(x, filters, *vectors):
        return following(tf.nn.conv2d(x, filters, 1, "SAME"), "NHWC", *vectors)

    found, made = run(layer, x, filters, *vectors), report()
    assert made["convolution"][0] == 1
    same(found[0], run(layer, x, filters, *vectors, enabled=False)[0], 16)
    # TensorFlow's CPU convolves images with channels last only.
    wanted = run(layer_of_last, x.transpose(0, 2, 3, 1), filters, *vectors, device=CPU)[0]
    same(found[0], wanted.transpose(0, 3, 1, 2), 16)


def test_fused_batch_norm_of_inference():
    x, filters = values((2, 6, 5, 3), "float32", 0), values((3, 3, 3, 4), "float32", 1)
    vectors = [values((4,), "float32", place, 0.5, 1.5) for place in range(2, 6)]

    def layer(x, filters, scale, shift, mean, variance):
        y = tf.nn.conv2d(x, filters, 1, "SAME")
        y, *_ = tf.compat.v1.nn.fused_batch_norm(y, scale, shift, mean, variance, is_training=False)
        return tf.nn.relu(y)

    check(layer, x, filters, *vectors, fused=["convolution"], scale=16)


@often
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple),
    floats,
    seeds,
    st.lists(
        st.sampled_from(
            [
                "add",
                "mul",
                "sub",
                "exp",
                "relu",
                "tanh",
                "square",
                "rsqrt",
                "number",
                "max",
                "leaky",
                "elu",
                "power",
                "sign",
            ]
        ),
        min_size=2,
        max_size=8,
    ),
)
def test_chains_of_elements_have_the_same_bits(shape, dtype, seed, operations):
    x, y = values(shape, dtype, seed, 0.5, 1.5), values(shape[-1:], dtype, seed + 1, 0.5, 1.5)
    steps = {
        "add": lambda a, y: a + y,
        "mul": lambda a, y: a * y,
        "sub": lambda a, y: y - a,
        "exp": lambda a, _: tf.exp(-tf.abs(a)),
        "relu": lambda a, _: tf.nn.relu(a),
        "tanh": lambda a, _: tf.tanh(a),
        "square": lambda a, _: tf.square(a),
        "rsqrt": lambda a, _: tf.math.rsqrt(tf.abs(a) + tf.cast(0.5, a.dtype)),
        "number": lambda a, _: a * tf.cast(0.75, a.dtype) + tf.cast(0.5, a.dtype),
        "max": tf.maximum,
        "leaky": lambda a, _: tf.nn.leaky_relu(a, 0.3),
        "elu": lambda a, _: tf.nn.elu(a),
        "power": lambda a, y: tf.pow(tf.abs(a), y),
        "sign": lambda a, _: tf.nn.softsign(a),
    }

    def chain(x, y):
        for name in operations:
            x = steps[name](x, y)
        return x

    np.testing.assert_array_equal(run(chain, x, y)[0], run(chain, x, y, enabled=False)[0])


def test_large_chains_have_the_same_bits():
    x, y = values((300, 513), "float32", 0), values((513,), "float32", 1)

    def chain(x, y):
        return tf.nn.relu(tf.tanh(x * y + 0.5) - tf.square(x)) * 2.0

    np.testing.assert_array_equal(run(chain, x, y)[0], run(chain, x, y, enabled=False)[0])
    run(chain, x, y)
    assert report()["elementwise"][0] == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gelu(dtype):
    # Of float64 TensorFlow rounds the factor to float32, which is another function.
    made = check(tf.nn.gelu, values((40, 7), dtype, 0, -6, 6))
    assert ("gelu" in made) is (dtype == "float32")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_gelu_by_tanh(dtype):
    x = values((40, 7), dtype, 0, -6, 6)
    made = check(lambda x: tf.nn.gelu(x, approximate=True), x, scale=8)
    assert ("gelu" in made) is (dtype != "float64")
    if dtype == "float32":
        made = check(lambda x: keras.activations.gelu(x, approximate=True), x, fused=["gelu"])
        assert made["gelu"][0] == 1
        assert "elementwise" not in made

    def by_products(x):
        half, scale, cubic = (tf.cast(one, dtype) for one in (0.5, 0.7978845608028654, 0.044715))
        return half * x * (1 + tf.tanh(scale * (x + cubic * x * x * x)))

    check(by_products, x, scale=8)


def test_a_layer_with_an_activation_of_keras_is_one_node():
    a, b, bias = values((3, 4), "float32", 0), values((4, 5), "float32", 1), values((5,), "float32", 2)
    made = check(lambda a, b, bias: keras.activations.silu(tf.nn.bias_add(a @ b, bias)), a, b, bias, fused=["matmul"])
    assert made["matmul"] == (1, 4)
    assert "elementwise" not in made


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("is_permuted", [False, True])
def test_attention(dtype, has_mask, is_permuted):
    q, k, v = (values((2, 3, 5, 4), dtype, seed, -1, 1) for seed in range(3))
    mask = values((2, 1, 5, 5) if not is_permuted else (2, 1, 3, 3), dtype, 3)

    def attention(q, k, v, mask):
        if is_permuted:
            q, k, v = (tf.transpose(one, (0, 2, 1, 3)) for one in (q, k, v))
        scores = tf.matmul(q, k, transpose_b=True) * tf.cast(0.5, q.dtype)
        if has_mask:
            scores = scores + mask
        heard = tf.matmul(tf.nn.softmax(scores), v)
        return tf.transpose(heard, (0, 2, 1, 3)) if is_permuted else heard

    check(attention, q, k, v, mask, fused=["attention"], scale=8)


def test_attention_by_equations():
    q, k, v = (values((2, 5, 3, 4), "float32", seed, -1, 1) for seed in range(3))

    def attention(q, k, v):
        scores = tf.einsum("BTNH,BSNH->BNTS", q, k) * 0.5
        return tf.einsum("BNTS,BSNH->BTNH", tf.nn.softmax(scores), v)

    check(attention, q, k, v, fused=["attention"], scale=8)


def test_layer_norm():
    layer = keras.layers.LayerNormalization(epsilon=1e-5)
    x = values((3, 5, 8), "float32", 0)
    with tf.device(RDNA):
        layer.build(x.shape)
        layer.gamma.assign(values((8,), "float32", 1))
        layer.beta.assign(values((8,), "float32", 2))
    plain, found = run(layer, x, enabled=False), run(layer, x)
    assert report()["layer norm"][0] == 1
    same(found[0], plain[0], 4)


def test_results_within_a_pattern_that_are_asked_for():
    a, b, bias = values((3, 4), "float32", 0), values((4, 5), "float32", 1), values((5,), "float32", 2)

    def layer(a, b, bias):
        product = tf.matmul(a, b)
        total = tf.nn.bias_add(product, bias)
        return product, total, tf.nn.relu(total)

    made = check(layer, a, b, bias)
    assert "matmul" not in made


def test_gradients_are_those_without_fusion():
    a, b, bias = values((3, 4), "float32", 0), values((4, 5), "float32", 1), values((5,), "float32", 2)

    def step(a, b, bias):
        with tf.GradientTape() as tape:
            tape.watch([a, b, bias])
            hidden = tf.nn.gelu(tf.nn.bias_add(tf.matmul(a, b), bias))
            loss = tf.reduce_sum(tf.square(tf.nn.relu(hidden + 0.1) * 2.0 - 1.0))
        return [loss, *tape.gradient(loss, [a, b, bias])]

    check(step, a, b, bias, fused=["matmul"], scale=16)


def test_order_between_nodes_stays():
    with tf.device(RDNA):
        counter = tf.Variable(1.0)

    def function(x):
        first = tf.exp(x)
        with tf.control_dependencies([first]):
            counter.assign(counter * 2.0)
        with tf.control_dependencies([counter.assign(counter + 1.0)]):
            second = tf.nn.relu(first * 2.0)
        return second + counter.read_value()

    x = values((4,), "float32", 0)
    results = []
    for enabled in (True, False):
        counter.assign(1.0)
        results.append(run(function, x, enabled=enabled)[0])
        assert float(counter) == 3.0
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], 2 * np.exp(x) + 3, rtol=1e-5)


def test_loops_and_branches():
    def function(x, y):
        for _ in tf.range(5):
            x = tf.nn.relu(x * y + 0.5) - 0.25
            x = tf.tanh(x * 0.5 + y) if tf.reduce_sum(x) > 3.0 else tf.exp(x * 0.125 - y)
        return x

    x, y = values((3, 4), "float32", 0, 0, 1), values((3, 4), "float32", 1, 0, 1)
    made = check(function, x, y, fused=["elementwise"], scale=16)
    assert made["elementwise"][0] >= 2


@pytest.mark.parametrize("name", ["mlp", "resnet", "bert"])
def test_models_train_and_predict_as_without_fusion(name):
    results = []
    for enabled in (True, False):
        tf_rdna.set_fusion_enabled(enabled)
        tf_rdna.reset_fusion_report()
        keras.utils.set_random_seed(1)
        with tf.device(RDNA):
            model, x, y = getattr(small_models, name)()
            model.compile("adamw", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
            predicted = model.predict(x[:8], verbose=0)
            losses = [float(model.train_on_batch(x[:8], y[:8])) for _ in range(2)]
        results.append((predicted, losses))
        assert bool(report().keys() - {"lists on the CPU"}) is enabled
    (predicted, losses), (wanted, other) = results
    np.testing.assert_allclose(predicted, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(losses, other, rtol=1e-4)


def test_fusions_are_counted_by_kind():
    x, filters = values((1, 4, 4, 2), "float32", 0), values((3, 3, 2, 3), "float32", 1)
    run(lambda x, filters: tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME")), x, filters)
    assert tf_rdna.fusion_report() == [tf_rdna.Fusion("convolution", 1, 2)]
    assert tf_rdna.native_report()["RdnaConv2D"] > 0
    tf_rdna.reset_fusion_report()
    assert tf_rdna.fusion_report() == []
    tf_rdna.set_fusion_enabled(False)
    assert not tf_rdna.is_fusion_enabled()


@pytest.mark.parametrize(("value", "wanted"), [("off", "False"), ("on", "True"), ("maybe", None)])
def test_the_environment_switches_fusion(value, wanted):
    program = "import tf_rdna; print(tf_rdna.is_fusion_enabled())"
    environment = {**os.environ, "TF_RDNA_FUSION": value}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    if wanted is None:
        assert "TF_RDNA_FUSION is 'maybe'; known are on and off" in done.stderr
    else:
        assert done.stdout.split() == [wanted]


def test_sessions_of_graphs_of_the_first_kind():
    """Nodes that a session asks for are within patterns of others."""
    with tf.Graph().as_default(), contextlib.ExitStack() as stack:
        with tf.device(RDNA):
            x = tf.compat.v1.placeholder(tf.float32, (2, 3))
            inner = tf.exp(x, name="inner")
            outer = tf.nn.relu(inner * 2.0 - 1.0)
        session = stack.enter_context(tf.compat.v1.Session())
        given = values((2, 3), "float32", 0)
        both = session.run([inner, outer], {x: given})
        alone = session.run(outer, {x: given})
    np.testing.assert_allclose(both[0], np.exp(given), rtol=1e-5)
    np.testing.assert_array_equal(both[1], alone)
