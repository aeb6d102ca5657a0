"""Optimizers that change variables by operations of their own, beside TensorFlow's CPU."""

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
import tf_rdna
from beside_cpu import CPU, RDNA, same, values
from hypothesis import HealthCheck, given, settings

pytestmark = pytest.mark.usefixtures("hard_placement")
often = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
train = tf.compat.v1.train
OPTIMIZERS = {
    "gradient descent": lambda: train.GradientDescentOptimizer(0.1),
    "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: train.AdamOptimizer(0.1),
    "rmsprop": lambda: train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered rmsprop": lambda: train.RMSPropOptimizer(0.1, centered=True),
    "adagrad": lambda: train.AdagradOptimizer(0.1),
    "adadelta": lambda: train.AdadeltaOptimizer(1.0),
}


def trained(device, make, shape, dtype, is_graph):
    with tf.device(device):
        variable = tf.Variable(values(shape, dtype, 0))
        optimizer = make()

        def step():
            optimizer.apply_gradients([(tf.cast(variable, dtype) * 0.5 + tf.cast(1.0, dtype), variable)])

        step = tf.function(step) if is_graph else step
        for _ in range(3):
            step()
        return variable.numpy()


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("is_graph", [False, True])
def test_steps_are_those_of_the_cpu(name, is_graph):
    tf_rdna.set_fallback_mode("error")
    found, wanted = (trained(device, OPTIMIZERS[name], (3, 5), "float32", is_graph) for device in (RDNA, CPU))
    same(found, wanted, 16)


NUMBERS = {
    "alpha": 0.1,
    "lr": 0.1,
    "momentum": 0.9,
    "rho": 0.8,
    "epsilon": 1e-3,
    "beta1": 0.9,
    "beta2": 0.99,
    "beta1_power": 0.81,
    "beta2_power": 0.98,
}
RAW = {
    "ResourceApplyGradientDescent": ("var", "alpha", "delta"),
    "ResourceApplyMomentum": ("var", "accum", "lr", "grad", "momentum"),
    "ResourceApplyKerasMomentum": ("var", "accum", "lr", "grad", "momentum"),
    "ResourceApplyAdam": ("var", "m", "v", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"),
    "ResourceApplyAdaMax": ("var", "m", "v", "beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"),
    "ResourceApplyRMSProp": ("var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"),
    "ResourceApplyCenteredRMSProp": ("var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"),
    "ResourceApplyAdagrad": ("var", "accum", "lr", "grad"),
    "ResourceApplyAdagradV2": ("var", "accum", "lr", "epsilon", "grad"),
    "ResourceApplyAdadelta": ("var", "accum", "accum_update", "lr", "rho", "epsilon", "grad"),
}


def applied(device, name, shape, dtype, seed, options):
    with tf.device(device):
        variables, given = {}, dict(options)
        for place, argument in enumerate(RAW[name]):
            if argument in NUMBERS:
                given[argument] = tf.cast(NUMBERS[argument], dtype)
            elif argument in ("grad", "delta"):
                given[argument] = tf.constant(values(shape, dtype, seed))
            else:
                # A mean of squares is larger than the square of a mean.
                low, high = (2.0, 3.0) if argument in ("ms", "v", "accum", "accum_update") else (-1.0, 1.0)
                variables[argument] = tf.Variable(values(shape, dtype, seed + place, low, high))
                given[argument] = variables[argument].handle
        getattr(tf.raw_ops, name)(**given)
        return [variable.numpy() for variable in variables.values()]


@often
@given(
    st.sampled_from(list(RAW)),
    st.lists(st.integers(1, 5), max_size=3).map(tuple),
    st.sampled_from(["float32", "float64", "float16"]),
    st.integers(0, 99),
    st.booleans(),
)
def test_raw_operations(name, shape, dtype, seed, flag):
    options = {}
    if name in ("ResourceApplyMomentum", "ResourceApplyKerasMomentum", "ResourceApplyAdam"):
        options["use_nesterov"] = flag
    if name in ("ResourceApplyAdagrad", "ResourceApplyAdagradV2"):
        options["update_slots"] = flag
    found, wanted = (applied(device, name, shape, dtype, seed, options) for device in (RDNA, CPU))
    for one, other in zip(found, wanted, strict=True):
        same(one, other, 8)


def test_a_session_of_the_first_kind_trains():
    results = []
    for device in (RDNA, CPU):
        with tf.Graph().as_default(), tf.device(device):
            variable = tf.compat.v1.get_variable("x", initializer=tf.constant([1.0, -2.0]), use_resource=True)
            loss = tf.reduce_sum(tf.square(variable))
            step = train.AdamOptimizer(0.1).minimize(loss)
            with tf.compat.v1.Session() as session:
                session.run(tf.compat.v1.global_variables_initializer())
                for _ in range(3):
                    session.run(step)
                results.append(session.run(variable))
    np.testing.assert_allclose(*results, rtol=1e-5)
